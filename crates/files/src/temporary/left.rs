//! What processes left that were killed.
//!
//! Nothing runs at SIGKILL, or when the computer stops. So a temporary folder has a file that its process
//! keeps locked. Who makes a folder beside it removes those whose file nobody locks. A folder without
//! such a file is not ours, whatever its name.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use rustix::process::geteuid;

/// The file that is locked.
const OWNED: &str = ".wireloom-owned";

/// Marks a new folder as in use until the file is closed. `None` if another process took it for one
/// that was left, and removed it.
pub(super) fn mark(folder: &Path) -> io::Result<Option<File>> {
    let path = folder.join(OWNED);
    let owned = match File::create(&path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        created => created?,
    };
    match owned.lock() {
        Ok(()) => Ok(path.exists().then_some(owned)),
        // A file system without locks: a folder without the file stays.
        Err(_) => fs::remove_file(&path).map(|()| Some(owned)),
    }
}

/// Removes this user's folders whose names begin with `prefix` and that processes left. What cannot be
/// read or removed stays.
pub(super) fn remove(within: &Path, prefix: &str) {
    let Ok(names) = fs::read_dir(within) else { return };
    for name in names.flatten() {
        if name.file_name().to_str().is_some_and(|name| name.starts_with(prefix))
            // Links are not followed. Nobody else writes into such a folder.
            && name.metadata().is_ok_and(|about| {
                about.is_dir() && about.uid() == geteuid().as_raw() && about.mode() & 0o077 == 0
            })
            && let Some(_locked) = owned_by_none(&name.path())
        {
            let _ = fs::remove_dir_all(name.path());
        }
    }
}

/// The file of a folder that no process has locked.
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
