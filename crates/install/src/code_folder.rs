//! Temporary folders from which code can be loaded.

use std::path::Path;

use wireloom_files::TemporaryFolder;

use crate::owner;
use crate::{Cache, CacheError};

/// Creates a temporary folder from which code can be loaded. Dropping it removes it. It is in the
/// system's folder of temporary files. If that is mounted `noexec`, or other users could replace
/// its contents, it is in the user's cache.
///
/// # Errors
/// If neither place is usable.
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

/// Returns whether a folder's file system is mounted `noexec`.
#[cfg(target_os = "linux")]
pub(crate) fn is_noexec(folder: &Path) -> bool {
    use rustix::fs::StatVfsMountFlags;
    rustix::fs::statvfs(folder).is_ok_and(|about| about.f_flag.contains(StatVfsMountFlags::NOEXEC))
}

/// Returns `false`: this system does not report it, and loading would fail with the reason.
#[cfg(not(target_os = "linux"))]
pub(crate) fn is_noexec(_folder: &Path) -> bool {
    false
}
