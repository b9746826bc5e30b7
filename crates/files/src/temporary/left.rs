//! Folders that killed processes have left.
//!
//! No code runs at SIGKILL, or when the computer stops. So a temporary folder has a file that its
//! process keeps locked. A process that creates a folder next to it removes every folder whose file
//! is not locked. A folder without such a file is not ours, whatever its name.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use rustix::process::geteuid;

/// The name of the lock file.
const OWNED: &str = ".wireloom-owned";

/// Marks a new folder as in use until the file is closed. Returns `None` if another process took
/// the folder for an abandoned one and removed it.
pub(super) fn mark(folder: &Path) -> io::Result<Option<File>> {
    let path = folder.join(OWNED);
    let owned = match File::create(&path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        created => created?,
    };
    match owned.lock() {
        Ok(()) => Ok(path.exists().then_some(owned)),
        // The file system has no locks. A folder without the file is never removed.
        Err(_) => fs::remove_file(&path).map(|()| Some(owned)),
    }
}

/// Removes this user's abandoned folders whose names begin with `prefix`. Folders that cannot be
/// read or removed stay.
pub(super) fn remove(within: &Path, prefix: &str) {
    let Ok(names) = fs::read_dir(within) else { return };
    for name in names.flatten() {
        if name.file_name().to_str().is_some_and(|name| name.starts_with(prefix))
            // Links are not followed. The mode ensures that nobody else writes into the folder.
            && name.metadata().is_ok_and(|about| {
                about.is_dir() && about.uid() == geteuid().as_raw() && about.mode() & 0o077 == 0
            })
            && let Some(_locked) = owned_by_none(&name.path())
        {
            let _ = fs::remove_dir_all(name.path());
        }
    }
}

/// Locks and returns the file of a folder if no process has locked it.
fn owned_by_none(folder: &Path) -> Option<File> {
    let owned = File::open(folder.join(OWNED)).ok()?;
    owned.try_lock().is_ok().then_some(owned)
}

#[cfg(test)]
mod tests {
    use std::fs::DirBuilder;
    use std::os::unix::fs::DirBuilderExt;

    use super::*;
    use crate::TemporaryFolder;

    #[test]
    fn what_killed_processes_left_is_removed_and_nothing_else() {
        let folder = TemporaryFolder::new().expect("a folder");
        let make = |name: &str, mode, is_marked: bool| {
            let path = folder.path().join(name);
            DirBuilder::new().mode(mode).create(&path).expect("a folder");
            fs::write(path.join("file"), "contents").expect("a file");
            if is_marked {
                fs::write(path.join(OWNED), "").expect("a file");
            }
            path
        };
        let left = make("some-left", 0o700, true);
        let stay = [
            make("other-left", 0o700, true),
            make("some-not-marked", 0o700, false),
            make("some-of-all", 0o777, true),
        ];
        let used = TemporaryFolder::within(folder.path(), "some-").expect("a folder");
        assert!(!left.exists(), "nobody has it locked");
        let again = TemporaryFolder::within(folder.path(), "some-").expect("a folder");
        for path in stay.iter().map(|path| &**path).chain([used.path(), again.path()]) {
            assert!(path.exists(), "{}", path.display());
        }
    }

    #[test]
    fn a_folder_that_was_taken_for_one_that_was_left_is_not_marked() {
        let folder = TemporaryFolder::new().expect("a folder");
        let gone = folder.path().join("gone");
        assert!(mark(&gone).expect("no other error").is_none());
    }
}
