//! Temporary files and folders that are removed however the process ends. SIGKILL is the exception:
//! the next process that builds removes the files of a killed one.
//!
//! Destructors do not run when a signal or [`exit`] ends a process. So everything temporary is
//! registered here: [`remove_on_signals`] removes it and stops child processes before a signal ends
//! the process.

mod children;
mod left;

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use signal_hook::consts::SIGXFSZ;
use signal_hook::low_level::emulate_default_handler;
use tempfile::{Builder, NamedTempFile, TempDir};

use crate::signals::{ending_signals, signals};

/// The existing temporary files and folders. The thread that ends the process keeps the lock, so
/// that nothing new is created meanwhile.
static EXISTING: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());

fn existing() -> MutexGuard<'static, BTreeSet<PathBuf>> {
    EXISTING.lock().unwrap_or_else(PoisonError::into_inner)
}

/// An entry of the registry. Dropping it removes the entry.
#[derive(Debug)]
struct Registered(PathBuf);

impl Drop for Registered {
    fn drop(&mut self) {
        existing().remove(&self.0);
    }
}

/// Creates something temporary and registers it. The lock makes this one step for signal handling.
fn register<T>(
    make: impl FnOnce() -> io::Result<T>,
    path: impl FnOnce(&T) -> &Path,
) -> io::Result<(T, Registered)> {
    let mut existing = existing();
    let made = make()?;
    // An absolute path, since the process may change its working folder later.
    let path = std::path::absolute(path(&made))?;
    existing.insert(path.clone());
    Ok((made, Registered(path)))
}

/// A temporary folder. Dropping it removes the folder with its contents.
#[derive(Debug)]
pub struct TemporaryFolder {
    folder: TempDir,
    _registered: Registered,
    /// The locked file that tells other processes that this folder is in use.
    _owned: Option<File>,
}

impl TemporaryFolder {
    /// Creates a folder that only this user can enter, in the system's folder of temporary files.
    ///
    /// # Errors
    /// If it cannot be created.
    pub fn new() -> io::Result<Self> {
        Self::of_user("wireloom-", &std::env::temp_dir())
    }

    /// Creates a folder that only this user can enter; its name begins with `prefix`. The folder
    /// gets a hidden lock file. Folders next to it that killed processes have left are removed.
    ///
    /// # Errors
    /// If it cannot be created.
    pub fn within(folder: &Path, prefix: &str) -> io::Result<Self> {
        left::remove(folder, prefix);
        loop {
            let mut made = Self::of_user(prefix, folder)?;
            made._owned = left::mark(made.path())?;
            if made._owned.is_some() {
                return Ok(made);
            }
        }
    }

    /// Creates a folder that becomes part of the user's files: the user's umask decides who can
    /// enter.
    ///
    /// # Errors
    /// If it cannot be created.
    pub fn of_result(folder: &Path) -> io::Result<Self> {
        use std::os::unix::fs::PermissionsExt;
        let everyone = fs::Permissions::from_mode(0o777);
        Self::make(Builder::new().prefix(".wireloom-").permissions(everyone), folder)
    }

    fn of_user(prefix: &str, folder: &Path) -> io::Result<Self> {
        use std::os::unix::fs::PermissionsExt;
        // Code is loaded from some folders, so the user's umask does not apply.
        let user = fs::Permissions::from_mode(0o700);
        Self::make(Builder::new().prefix(prefix).permissions(user), folder)
    }

    fn make(builder: &mut Builder<'_, '_>, folder: &Path) -> io::Result<Self> {
        let (folder, _registered) = register(|| builder.tempdir_in(folder), |made| made.path())?;
        Ok(Self { folder, _registered, _owned: None })
    }

    pub fn path(&self) -> &Path {
        self.folder.path()
    }
}

/// A temporary file that is to replace another file. Dropping it before that removes it.
#[derive(Debug)]
pub struct TemporaryFile {
    file: NamedTempFile,
    _registered: Registered,
}

impl TemporaryFile {
    /// Creates a file in the folder of the file that it is to replace. The user's umask decides who
    /// can read it.
    ///
    /// # Errors
    /// If it cannot be created.
    pub fn beside(target: &Path) -> io::Result<Self> {
        use std::os::unix::fs::PermissionsExt;
        let folder = target.parent().filter(|parent| !parent.as_os_str().is_empty());
        let mut builder = Builder::new();
        builder.prefix(".wireloom-").suffix(".tmp");
        builder.permissions(fs::Permissions::from_mode(0o666));
        let make = || builder.tempfile_in(folder.unwrap_or(Path::new(".")));
        let (file, _registered) = register(make, |made| made.path())?;
        Ok(Self { file, _registered })
    }

    /// Moves the file to its final place and replaces a file there.
    ///
    /// # Errors
    /// If it cannot be moved. The temporary file is then removed.
    pub fn persist(self, target: &Path) -> io::Result<()> {
        self.file.persist(target)?;
        Ok(())
    }
}

impl Write for TemporaryFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        // Writes to the inner file, whose errors do not name it: the user does not know its name.
        self.file.as_file_mut().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.as_file_mut().flush()
    }
}

/// From now on, SIGINT, SIGTERM, SIGHUP and SIGQUIT stop the child processes and remove all
/// temporary files before they end the process. Signals that were ignored at the start (`nohup`)
/// stay ignored.
///
/// # Errors
/// If the system refuses handlers.
pub fn remove_on_signals() -> io::Result<()> {
    let mut asked = signals(ending_signals())?;
    thread::Builder::new().name("signals".into()).spawn(move || {
        let mut signal = [0];
        if asked.read_exact(&mut signal).is_ok() {
            remove_everything();
            let _ = emulate_default_handler(signal[0].into());
        }
    })?;
    Ok(())
}

/// From now on, a write beyond the maximum file size (`ulimit -f`) fails like a write to a full
/// disk. Otherwise SIGXFSZ would end the process at once. Child processes are not changed.
///
/// # Errors
/// If the system refuses the handler.
pub fn fail_at_size_limit() -> io::Result<()> {
    signal_hook::flag::register(SIGXFSZ, Arc::default())?;
    Ok(())
}

/// Ends the process and removes all temporary files.
pub fn exit(status: i32) -> ! {
    remove_everything();
    std::process::exit(status)
}

/// Removes the temporary files of threads that end with the process, and stops their child
/// processes. Must be called last: nothing temporary can be created afterwards.
pub fn leave_nothing() {
    if !existing().is_empty() {
        remove_everything();
    }
}

/// Stops the child processes and removes all registered files. Nothing temporary can be created
/// afterwards.
fn remove_everything() {
    let existing = std::mem::ManuallyDrop::new(existing());
    children::stop();
    // A child that has not ended yet may still write.
    for _ in 0..20 {
        if existing.iter().filter(|path| !remove(path)).count() == 0 {
            return;
        }
        thread::sleep(Duration::from_millis(10));
    }
}

/// Removes a file or folder. Returns whether it no longer exists.
fn remove(path: &Path) -> bool {
    let result = if path.is_dir() { fs::remove_dir_all(path) } else { fs::remove_file(path) };
    match result {
        Ok(()) => true,
        Err(error) => error.kind() == io::ErrorKind::NotFound,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dropped_folder_is_neither_there_nor_registered() {
        let folder = TemporaryFolder::new().expect("a folder");
        let path = folder.path().to_owned();
        fs::write(path.join("file"), "contents").expect("a file");
        assert!(existing().contains(&path));
        drop(folder);
        assert!(!path.exists() && !existing().contains(&path));
    }

    #[test]
    fn only_this_user_enters_a_folder() {
        use std::os::unix::fs::MetadataExt;
        let folder = TemporaryFolder::new().expect("a folder");
        let within = TemporaryFolder::within(folder.path(), "some-").expect("a folder");
        for folder in [&folder, &within] {
            let mode = fs::metadata(folder.path()).expect("a folder").mode();
            assert_eq!(mode & 0o777, 0o700);
        }
    }

    #[test]
    fn a_file_replaces_another_one_or_goes() {
        let folder = TemporaryFolder::new().expect("a folder");
        let target = folder.path().join("result");
        let mut file = TemporaryFile::beside(&target).expect("a file");
        file.write_all(b"half").expect("writes");
        drop(file);
        assert_eq!(fs::read_dir(folder.path()).expect("the folder").count(), 0);
        let mut file = TemporaryFile::beside(&target).expect("a file");
        file.write_all(b"whole").expect("writes");
        file.persist(&target).expect("moves");
        assert_eq!(fs::read(&target).expect("reads"), b"whole");
        assert!(
            existing().iter().all(|path| !path.starts_with(folder.path()) || path == folder.path())
        );
    }
}
