//! Temporary folders that code can be loaded from.

use std::path::Path;

use wireloom_files::TemporaryFolder;

use crate::owner;
use crate::{Cache, CacheError};

/// A temporary folder of this process, removed when it is dropped, whose files can be loaded as
/// code. It lies in the system's folder of temporary files; if that is mounted `noexec`, or other
/// users could replace its contents, it lies in the user's cache.
///
/// # Errors
/// If there is no such place.
pub fn code_folder(kind: &str) -> Result<TemporaryFolder, CacheError> {
    let temporary = std::env::temp_dir();
    let usable = !is_noexec(&temporary) && owner::open_to_all(&temporary).is_none();
    if usable && let Ok(folder) = within(&temporary, kind) {
        return Ok(folder);
    }
    let cache = Cache::of_user(kind);
    let folder = cache.open_for_code()?;
    within(folder, kind).map_err(|error| CacheError::File { path: folder.to_owned(), error })
}

fn within(folder: &Path, kind: &str) -> std::io::Result<TemporaryFolder> {
    TemporaryFolder::within(folder, &format!("wireloom-{kind}-"))
}

/// Whether nothing in a folder can be run, since its file system is mounted so.
#[cfg(target_os = "linux")]
pub(crate) fn is_noexec(folder: &Path) -> bool {
    use rustix::fs::StatVfsMountFlags;
    rustix::fs::statvfs(folder).is_ok_and(|about| about.f_flag.contains(StatVfsMountFlags::NOEXEC))
}

/// Whether nothing in a folder can be run: not known on this system, where loading would say so.
#[cfg(not(target_os = "linux"))]
pub(crate) fn is_noexec(_folder: &Path) -> bool {
    false
}
