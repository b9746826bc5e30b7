//! Build results that are kept from one run to the next, and may be loaded as code.
//!
//! A cache is a folder that only the user can write. An entry is a folder named by a hash of
//! everything that its contents depend on. It is written elsewhere in the cache and then renamed,
//! so it is complete or absent, even with concurrent runs. A list of the digests of its files shows
//! whether they are unchanged; a damaged entry is rebuilt. If there are many entries, those that no
//! run has used for a long time are removed.

use std::fmt::Write as _;
use std::fs::{self, DirBuilder, File};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use sha2::{Digest, Sha256};
use wireloom_files::{TemporaryFile, TemporaryFolder};

use crate::code_folder::is_noexec;
use crate::owner;

/// The list of an entry's files with their digests.
const DIGESTS: &str = ".digests";
/// The file that is locked while an entry is renamed.
const LOCK: &str = ".lock";
/// The folder in which an entry's files are put while it is built.
const FINISHED: &str = "finished";

/// The number of entries that stay, however old they are.
const ENTRIES: usize = 200;
/// How long an entry stays after its last use. A run that uses it for longer has loaded it by then.
const UNUSED: Duration = Duration::from_secs(30 * 24 * 3600);

/// The reason why a cache cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum CacheError {
    /// A file or folder cannot be read or written.
    #[error("{}: {error}; WIRELOOM_CACHE names another folder to keep results in", path.display())]
    File { path: PathBuf, error: io::Error },
    /// Another user could have written the code to load.
    #[error(
        "the cache folder {} is not safe: {reason}; or name a folder of your own in WIRELOOM_CACHE",
        path.display()
    )]
    Unsafe { path: PathBuf, reason: String },
    /// The folder's file system does not allow code to be loaded.
    #[error(
        "{} is on a file system that is mounted noexec, so that no code can be loaded from it: \
         name a folder elsewhere in WIRELOOM_CACHE",
        path.display()
    )]
    NoExec { path: PathBuf },
}

fn file_error(path: &Path) -> impl FnOnce(io::Error) -> CacheError + '_ {
    move |error| CacheError::File { path: path.to_owned(), error }
}

/// A folder of results.
#[derive(Clone, Debug)]
pub struct Cache {
    folder: PathBuf,
    /// Whether the user has named the folder. The user then decides who may write to the folders
    /// above it.
    is_named: bool,
}

impl Cache {
    /// Returns the user's cache for one kind of result, such as `np`: in the folder that
    /// `WIRELOOM_CACHE` names, else in `wireloom` below `XDG_CACHE_HOME`, else below `~/.cache`.
    /// Without a home folder it is in a folder of the user among the temporary files.
    pub fn of_user(kind: &str) -> Self {
        let variable = |name: &str| {
            std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from)
        };
        if let Some(named) = variable("WIRELOOM_CACHE") {
            return Self::at(named.join(kind));
        }
        let absolute = |name: &str| variable(name).filter(|path| path.is_absolute());
        let cache = absolute("XDG_CACHE_HOME").or_else(|| Some(absolute("HOME")?.join(".cache")));
        let own = cache.map(|cache| cache.join("wireloom"));
        let temporary = || std::env::temp_dir().join(format!("wireloom-{}", owner::user()));
        Self { folder: own.unwrap_or_else(temporary).join(kind), is_named: false }
    }

    /// Returns the cache in a folder, which is created on first use.
    pub fn at(folder: impl Into<PathBuf>) -> Self {
        Self { folder: folder.into(), is_named: true }
    }

    /// Returns the folder, to which no other user can write, and creates it if it does not exist.
    ///
    /// # Errors
    /// If it cannot be created, or another user owns it or could write to it.
    pub fn open(&self) -> Result<&Path, CacheError> {
        let made = DirBuilder::new().recursive(true).mode(0o700).create(&self.folder);
        made.map_err(file_error(&self.folder))?;
        let above = || {
            if self.is_named {
                owner::open_to_all(&self.folder)
            } else {
                owner::fault_above(&self.folder)
            }
        };
        match owner::fault(&self.folder).or_else(above) {
            Some(reason) => Err(CacheError::Unsafe { path: self.folder.clone(), reason }),
            None => Ok(&self.folder),
        }
    }

    /// Returns the folder like [`open`](Self::open), if code can be loaded from it.
    ///
    /// # Errors
    /// As [`open`](Self::open), and if its file system is mounted `noexec`.
    pub fn open_for_code(&self) -> Result<&Path, CacheError> {
        let folder = self.open()?;
        if is_noexec(folder) {
            return Err(CacheError::NoExec { path: folder.to_owned() });
        }
        Ok(folder)
    }

    /// Returns the key of an entry that depends only on `of`: 128 bits in hexadecimal digits.
    pub fn key(of: impl Hash) -> String {
        let half = |number: u32| {
            let mut hash = DefaultHasher::new();
            (number, &of).hash(&mut hash);
            hash.finish()
        };
        format!("{:016x}{:016x}", half(0), half(1))
    }

    /// Returns the folder of an entry. If it is absent or damaged, `build` creates it: `build` gets
    /// a folder to work in and, inside it, a folder for the files of the entry.
    ///
    /// # Errors
    /// As [`open`](Self::open), if a file cannot be written, and all errors of `build`.
    pub fn entry<E: From<CacheError>>(
        &self,
        key: &str,
        build: impl FnOnce(&Path, &Path) -> Result<(), E>,
    ) -> Result<PathBuf, E> {
        let folder = self.open()?;
        let entry = folder.join(key);
        if is_whole(&entry) {
            mark_used(&entry);
            return Ok(entry);
        }
        let place = TemporaryFolder::within(folder, "building-");
        let place = place.map_err(file_error(folder))?;
        let finished = place.path().join(FINISHED);
        fs::create_dir(&finished).map_err(file_error(&finished))?;
        build(place.path(), &finished)?;
        let list = digests(&finished).map_err(file_error(&finished))?;
        fs::write(finished.join(DIGESTS), list).map_err(file_error(&finished))?;
        self.keep(place.path(), &entry)?;
        Ok(entry)
    }

    /// Renames a finished entry to its final name. If another run was faster, its entry is
    /// equivalent; a damaged entry is removed with the folder that the entry was built in.
    fn keep(&self, place: &Path, entry: &Path) -> Result<(), CacheError> {
        let lock = self.folder.join(LOCK);
        let file =
            File::options().create(true).append(true).open(&lock).map_err(file_error(&lock))?;
        file.lock().map_err(file_error(&lock))?;
        if is_whole(entry) {
            return Ok(());
        }
        if entry.symlink_metadata().is_ok() {
            fs::rename(entry, place.join("damaged")).map_err(file_error(entry))?;
        }
        fs::rename(place.join(FINISHED), entry).map_err(file_error(entry))?;
        self.forget(place);
        Ok(())
    }

    /// Moves entries that have not been used for a long time to the folder in which the new entry
    /// was built, which is removed. Entries that cannot be read or moved stay.
    fn forget(&self, place: &Path) {
        let Ok(names) = fs::read_dir(&self.folder) else { return };
        let used = |path: &Path| fs::metadata(path.join(DIGESTS)).ok()?.modified().ok();
        let entries = names.filter_map(|name| {
            let path = name.ok()?.path();
            Some((used(&path)?, path))
        });
        let mut entries: Vec<_> = entries.collect();
        entries.sort();
        let many = entries.len().saturating_sub(ENTRIES);
        for (used, path) in &entries[..many] {
            let is_old = SystemTime::now().duration_since(*used).is_ok_and(|age| age > UNUSED);
            if let (true, Some(name)) = (is_old, path.file_name()) {
                let _ = fs::rename(path, place.join(name));
            }
        }
    }

    /// Returns a single cached file, or `None` if it is absent or damaged.
    pub fn load(&self, name: &str) -> Option<Vec<u8>> {
        let mut bytes = fs::read(self.open().ok()?.join(name)).ok()?;
        let body = bytes.len().checked_sub(DIGEST_BYTES)?;
        let kept = bytes.split_off(body);
        (kept == Sha256::digest(&bytes)[..]).then_some(bytes)
    }

    /// Writes a compiler's command and output to a file with its name, for people to read. Returns
    /// the file, or `None` if it cannot be written.
    pub fn log(&self, compiler: &str, command: &str, output: &str) -> Option<PathBuf> {
        let target = self.open().ok()?.join(format!("{compiler}.log"));
        let write = || -> io::Result<()> {
            let mut file = TemporaryFile::beside(&target)?;
            io::Write::write_all(&mut file, format!("{command}\n{output}").as_bytes())?;
            file.persist(&target)
        };
        write().ok().map(|()| target)
    }

    /// Stores a single file. If it cannot be written, the next run finds nothing.
    pub fn store(&self, name: &str, bytes: &[u8]) {
        let write = || -> io::Result<()> {
            let folder = self.open().map_err(io::Error::other)?;
            let target = folder.join(name);
            let mut file = TemporaryFile::beside(&target)?;
            io::Write::write_all(&mut file, bytes)?;
            io::Write::write_all(&mut file, &Sha256::digest(bytes))?;
            file.persist(&target)
        };
        let _ = write();
    }
}

const DIGEST_BYTES: usize = 32;

/// Marks an entry as used by setting the time of its list. If the time cannot be changed, the entry
/// looks older than it is.
fn mark_used(entry: &Path) {
    let list = File::open(entry.join(DIGESTS));
    let _ = list.and_then(|list| list.set_modified(SystemTime::now()));
}

/// Returns whether all files of an entry are complete and unchanged.
fn is_whole(entry: &Path) -> bool {
    let kept = fs::read_to_string(entry.join(DIGESTS));
    kept.is_ok_and(|kept| digests(entry).is_ok_and(|found| found == kept))
}

/// Returns a line for each file of a folder except the list itself: its digest and its name.
fn digests(folder: &Path) -> io::Result<String> {
    let mut names = Vec::new();
    for entry in fs::read_dir(folder)? {
        names.push(entry?.file_name());
    }
    names.retain(|name| name != DIGESTS);
    names.sort();
    let mut list = String::new();
    for name in names {
        let digest = Sha256::digest(fs::read(folder.join(&name))?);
        digest.iter().for_each(|byte| write!(list, "{byte:02x}").expect("a string takes text"));
        writeln!(list, "  {}", name.to_string_lossy()).expect("a string takes text");
    }
    Ok(list)
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    /// Returns the contents of the entry `key`, and how often this call built it.
    fn ask(cache: &Cache) -> (String, u32) {
        let built = Cell::new(0);
        let entry = cache.entry("key", |place, finished| -> Result<(), CacheError> {
            built.set(built.get() + 1);
            fs::write(place.join("rest"), "not kept").expect("a file");
            fs::write(finished.join("object"), "contents").expect("a file");
            Ok(())
        });
        let entry = entry.expect("an entry");
        assert!(!entry.join("rest").exists());
        (fs::read_to_string(entry.join("object")).expect("the file"), built.get())
    }

    #[test]
    fn an_entry_is_built_once_and_anew_when_it_is_damaged() {
        let folder = tempfile::tempdir().expect("a folder");
        let cache = Cache::at(folder.path().join("a/cache"));
        assert_eq!(ask(&cache), ("contents".to_owned(), 1));
        assert_eq!(ask(&cache), ("contents".to_owned(), 0));
        let object = folder.path().join("a/cache/key/object");
        let damages: [&dyn Fn(); 5] = [
            &|| fs::write(&object, "conte").expect("truncated"),
            &|| fs::write(&object, "Contents").expect("other bytes"),
            &|| fs::remove_file(&object).expect("gone"),
            &|| fs::write(object.with_file_name("more"), "").expect("a file too many"),
            &|| fs::remove_file(object.with_file_name(DIGESTS)).expect("no list"),
        ];
        for damage in damages {
            damage();
            assert_eq!(ask(&cache), ("contents".to_owned(), 1));
            assert_eq!(ask(&cache).1, 0);
        }
        // Builds and damaged entries leave nothing behind.
        let names = fs::read_dir(folder.path().join("a/cache")).expect("the cache");
        let mut names: Vec<_> = names.map(|entry| entry.expect("an entry").file_name()).collect();
        names.sort();
        assert_eq!(names, [LOCK, "key"]);
    }

    #[test]
    fn an_entry_that_is_not_finished_is_not_kept() {
        let folder = tempfile::tempdir().expect("a folder");
        let cache = Cache::at(folder.path());
        let failed = cache.entry("key", |_, finished| {
            fs::write(finished.join("object"), "half").expect("a file");
            Err(CacheError::NoExec { path: PathBuf::new() })
        });
        assert!(failed.is_err());
        assert_eq!(fs::read_dir(folder.path()).expect("the cache").count(), 0);
    }

    #[test]
    fn of_many_entries_those_are_removed_that_were_not_used_for_long() {
        let folder = tempfile::tempdir().expect("a folder");
        let cache = Cache::at(folder.path());
        let ask = |key: &str| {
            let build = |_: &Path, finished: &Path| -> Result<(), CacheError> {
                fs::write(finished.join("object"), key).expect("a file");
                Ok(())
            };
            cache.entry(key, build).expect("an entry")
        };
        let age = |entry: &Path, age: Duration| {
            let list = File::open(entry.join(DIGESTS)).expect("a list");
            list.set_modified(SystemTime::now() - age).expect("a time");
        };
        let is_there = |key: &str| folder.path().join(key).exists();
        for number in 0..ENTRIES {
            ask(&format!("recent{number}"));
        }
        for key in ["old", "older", "used"] {
            age(&ask(key), 2 * UNUSED);
        }
        age(&ask("month"), UNUSED - Duration::from_secs(3600));
        // The new entry removed the old ones; the newest entries stay until the next build.
        assert!(!is_there("old") && !is_there("older") && !is_there("used"));
        assert!(is_there("month"));
        age(&ask("again"), 2 * UNUSED);
        ask("again");
        ask("new");
        assert!(is_there("again") && is_there("month") && is_there("new"));
        let count = fs::read_dir(folder.path()).expect("the cache").count();
        assert_eq!(count, ENTRIES + 3 + 1, "entries and the lock");
    }

    /// A cache with few entries keeps them all, however old they are.
    #[test]
    fn few_entries_stay() {
        let folder = tempfile::tempdir().expect("a folder");
        let cache = Cache::at(folder.path());
        ask(&cache);
        let list = File::open(folder.path().join("key").join(DIGESTS)).expect("a list");
        list.set_modified(SystemTime::now() - 2 * UNUSED).expect("a time");
        let build = |_: &Path, _: &Path| Ok::<_, CacheError>(());
        cache.entry("other", build).expect("an entry");
        assert_eq!(ask(&cache), ("contents".to_owned(), 0));
    }

    #[test]
    fn runs_at_the_same_time_share_an_entry() {
        let folder = tempfile::tempdir().expect("a folder");
        let cache = Cache::at(folder.path());
        let damaged = folder.path().join("key");
        fs::create_dir(&damaged).expect("a folder");
        fs::write(damaged.join("object"), "damaged").expect("a file");
        let everybody_builds = std::sync::Barrier::new(8);
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    let entry = cache.entry("key", |_, finished| -> Result<(), CacheError> {
                        fs::write(finished.join("object"), "contents").expect("a file");
                        everybody_builds.wait();
                        Ok(())
                    });
                    let object = entry.expect("an entry").join("object");
                    assert_eq!(fs::read_to_string(object).expect("the file"), "contents");
                });
            }
        });
    }

    #[test]
    fn a_folder_is_the_users_alone() {
        let folder = tempfile::tempdir().expect("a folder");
        let cache = Cache::at(folder.path().join("cache"));
        let path = cache.open().expect("a cache").to_owned();
        let mode =
            |path: &Path| fs::metadata(path).expect("it is there").permissions().mode() & 0o777;
        assert_eq!(mode(&path), 0o700);
        fs::set_permissions(&path, fs::Permissions::from_mode(0o777)).expect("it is ours");
        let refused = cache.open().expect_err("everybody can write to it").to_string();
        assert!(refused.contains("not safe") && refused.contains("WIRELOOM_CACHE"), "{refused}");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("it is ours");
        cache.open().expect("others only read");
        // Only root can make a folder of another user.
        if owner::user() == 0 {
            std::os::unix::fs::chown(&path, Some(12345), None).expect("root can");
            let refused = cache.open().expect_err("it is another user's").to_string();
            assert!(refused.contains("belongs to user 12345"), "{refused}");
        }
    }

    #[test]
    fn single_files_are_kept_with_their_digest() {
        let folder = tempfile::tempdir().expect("a folder");
        let cache = Cache::at(folder.path());
        assert_eq!(cache.load("a.json"), None);
        cache.store("a.json", b"{}");
        assert_eq!(cache.load("a.json").as_deref(), Some(&b"{}"[..]));
        let path = folder.path().join("a.json");
        let bytes = fs::read(&path).expect("the file");
        fs::write(&path, &bytes[1..]).expect("damaged");
        assert_eq!(cache.load("a.json"), None);
    }
}
