//! The files that the process has read.

use std::collections::BTreeSet;
use std::fs::{self, File, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

/// Device and inode number of each file.
static READ: Mutex<BTreeSet<(u64, u64)>> = Mutex::new(BTreeSet::new());

fn identity(about: &Metadata) -> Option<(u64, u64)> {
    about.is_file().then(|| (about.dev(), about.ino()))
}

/// Opens a user's file for reading and remembers it. No output may replace a file that was read,
/// even one that another file names.
///
/// # Errors
/// If it cannot be opened.
pub fn open(path: &Path) -> io::Result<File> {
    let file = File::open(path)?;
    let own = identity(&file.metadata()?);
    READ.lock().unwrap_or_else(PoisonError::into_inner).extend(own);
    Ok(file)
}

/// Returns whether [`open`] has opened this file, under any name.
pub fn was_read(path: &Path) -> bool {
    let own = fs::metadata(path).ok().and_then(|about| identity(&about));
    let read = READ.lock().unwrap_or_else(PoisonError::into_inner);
    own.is_some_and(|own| read.contains(&own))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_known_by_all_its_names() {
        let folder = tempfile::tempdir().expect("a folder");
        let [file, link, other] = ["file", "link", "other"].map(|name| folder.path().join(name));
        fs::write(&file, "text").expect("a file");
        fs::write(&other, "text").expect("a file");
        fs::hard_link(&file, &link).expect("a link");
        assert!(!was_read(&file));
        open(&file).expect("it is there");
        assert!(was_read(&file) && was_read(&link));
        assert!(!was_read(&other) && !was_read(&folder.path().join("none")));
        open(Path::new("/dev/null")).expect("a device");
        assert!(!was_read(Path::new("/dev/null")));
    }
}
