//! Folders that a subcommand writes: files are made next to their place and moved into it when all
//! are complete.
//!
//! The folder itself lists the files of a build, so that the next build removes these and leaves
//! everything else alone.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Component, Path, PathBuf};

use wireloom_files::TemporaryFolder;

use crate::output;
use wireloom_machine::{Error, Result};

/// The file that lists a build's files: one path per line, relative to the folder.
const LIST: &str = ".wireloom-files";

/// A folder under construction.
pub struct Staged {
    place: PathBuf,
    made: TemporaryFolder,
}

impl Staged {
    /// Begins a folder for `place`, whose current contents stay until [`Self::install`].
    ///
    /// # Errors
    /// If the temporary folder cannot be created.
    pub fn at(place: &Path) -> Result<Self> {
        // Files are moved, so both places have to be on one file system: the new folder is inside
        // `place` if that exists, else next to it.
        let here = |path: &&Path| path.as_os_str().is_empty() || path.exists();
        let near = place.ancestors().find(here).filter(|path| !path.as_os_str().is_empty());
        let near = near.unwrap_or(Path::new("."));
        if !near.is_dir() {
            return Err(Error::new(format!("{}: is not a folder", near.display())));
        }
        let made = TemporaryFolder::of_result(near).map_err(cannot_be_made(place))?;
        Ok(Self { place: place.to_owned(), made })
    }

    /// Writes a folder of these files and reports how many it has. File names may contain folders.
    ///
    /// # Errors
    /// As [`Self::at`], [`Self::write_all`] and [`Self::install`].
    pub fn write_folder(place: &Path, files: &[(String, String)]) -> Result {
        let staged = Self::at(place)?;
        staged.write_all(files)?;
        staged.install()?;
        for (name, text) in files {
            let (path, lines) = (place.join(name), text.lines().count());
            output::say(format!("{}: {lines} lines", path.display()));
        }
        Ok(())
    }

    /// Returns the folder to write the files to.
    pub fn path(&self) -> &Path {
        self.made.path()
    }

    /// Writes a file. Its name may contain folders.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn write(&self, name: &str, contents: impl AsRef<[u8]>) -> Result {
        let path = self.path().join(name);
        let folder = path.parent().unwrap_or(self.path());
        fs::create_dir_all(folder).map_err(cannot_be_made(&self.place))?;
        output::write_file(&path, contents.as_ref())
    }

    /// Writes files. Their names may contain folders.
    ///
    /// # Errors
    /// If one cannot be written.
    pub fn write_all(&self, files: &[(String, String)]) -> Result {
        files.iter().try_for_each(|(name, text)| self.write(name, text))
    }

    /// Installs the folder: removes the files of the last build, moves the new ones in and leaves
    /// all others alone.
    ///
    /// # Errors
    /// If a file that no build has made is in the way; nothing is changed then. If the files cannot
    /// be moved.
    pub fn install(self) -> Result {
        let Self { place, made } = self;
        let failed = cannot_be_made(&place);
        let new = files(made.path()).map_err(&failed)?;
        let old = listed(&place);
        if let Some(own) = new
            .iter()
            .find(|file| !old.contains(*file) && fs::symlink_metadata(place.join(file)).is_ok())
        {
            let message = format!(
                "{}: was not made by a build, and would be overwritten",
                place.join(own).display()
            );
            return Err(Error::new(message)
                .with_help("name another folder with -o, or take away what is in this one"));
        }
        replace(&place, made.path(), &old, &new).map_err(failed)
    }
}

/// Moves the new files over the old ones. Until that is done, the list names both, so that an
/// interrupted build leaves no unlisted files.
fn replace(
    place: &Path,
    made: &Path,
    old: &BTreeSet<PathBuf>,
    new: &BTreeSet<PathBuf>,
) -> io::Result<()> {
    fs::create_dir_all(place)?;
    list(place, &old.union(new).cloned().collect())?;
    for file in old.difference(new) {
        match fs::remove_file(place.join(file)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        // Remove folders that are empty now, up to the first that is not.
        for folder in file.ancestors().skip(1).filter(|folder| !folder.as_os_str().is_empty()) {
            if fs::remove_dir(place.join(folder)).is_err() {
                break;
            }
        }
    }
    for file in new {
        let to = place.join(file);
        fs::create_dir_all(to.parent().unwrap_or(place))?;
        fs::rename(made.join(file), to)?;
    }
    list(place, new)
}

/// Writes the list of a folder's files.
fn list(place: &Path, files: &BTreeSet<PathBuf>) -> io::Result<()> {
    let text: String = files.iter().map(|file| format!("{}\n", file.display())).collect();
    fs::write(place.join(LIST), text)
}

/// Returns the files that the last build made in a folder. Paths outside the folder are ignored.
fn listed(place: &Path) -> BTreeSet<PathBuf> {
    let text = fs::read_to_string(place.join(LIST)).unwrap_or_default();
    let inside = |file: &PathBuf| {
        file.components().all(|part| matches!(part, Component::Normal(_)))
            && file.components().next().is_some()
    };
    text.lines().map(PathBuf::from).filter(inside).collect()
}

/// Returns all files in a folder, as paths relative to it.
fn files(folder: &Path) -> io::Result<BTreeSet<PathBuf>> {
    let mut found = BTreeSet::new();
    let mut open = vec![folder.to_owned()];
    while let Some(next) = open.pop() {
        for entry in fs::read_dir(next)? {
            let path = entry?.path();
            if path.is_dir() {
                open.push(path);
            } else {
                found.extend(path.strip_prefix(folder).map(Path::to_owned));
            }
        }
    }
    Ok(found)
}

/// Returns the error for a folder that cannot be made.
fn cannot_be_made(path: &Path) -> impl Fn(io::Error) -> Error + '_ {
    move |error| Error::new(format!("{}: cannot be made: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Builds files whose contents are their names.
    fn build(place: &Path, names: &[&str]) -> Result {
        let staged = Staged::at(place)?;
        for name in names {
            let path = staged.path().join(name);
            fs::create_dir_all(path.parent().expect("a folder")).expect("it is made");
            fs::write(path, name).expect("it is written");
        }
        staged.install()
    }

    fn there(place: &Path) -> Vec<String> {
        let names =
            files(place).expect("the folder").into_iter().map(|file| file.display().to_string());
        names.filter(|name| name != LIST).collect()
    }

    #[test]
    fn what_the_last_build_made_goes_and_the_users_own_stays() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let place = folder.path().join("deep/np");
        build(&place, &["a.sv", "rtl/b.sv", "rtl/old/c.sv"]).expect("builds");
        fs::write(place.join("rtl/mine.sv"), "mine").expect("writes");
        build(&place, &["a.sv", "d.sv"]).expect("builds");
        assert_eq!(there(&place), ["a.sv", "d.sv", "rtl/mine.sv"]);
        assert!(!place.join("rtl/old").exists());
        build(&place, &["a.sv"]).expect("builds");
        assert_eq!(there(&place), ["a.sv", "rtl/mine.sv"]);
        assert_eq!(fs::read_dir(folder.path().join("deep")).expect("the folder").count(), 1);
    }

    #[test]
    fn a_users_file_in_the_way_changes_nothing() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        fs::write(folder.path().join("README.md"), "mine").expect("writes");
        assert!(build(folder.path(), &["a.sv", "README.md"]).is_err());
        assert_eq!(there(folder.path()), ["README.md"]);
        assert_eq!(fs::read(folder.path().join("README.md")).expect("reads"), b"mine");
        assert!(build(&folder.path().join("README.md"), &["a.sv"]).is_err(), "a file is no folder");
    }

    #[test]
    fn a_build_that_is_given_up_leaves_nothing() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let place = folder.path().join("np");
        let staged = Staged::at(&place).expect("begins");
        fs::write(staged.path().join("a.sv"), "a").expect("writes");
        drop(staged);
        assert_eq!(there(folder.path()), [] as [&str; 0]);
        assert!(!place.exists());
    }

    #[test]
    fn a_list_cannot_name_files_outside() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let place = folder.path().join("np");
        build(&place, &["a.sv"]).expect("builds");
        fs::write(folder.path().join("mine"), "mine").expect("writes");
        let outside = format!("a.sv\n../mine\n{}\n", folder.path().join("mine").display());
        fs::write(place.join(LIST), outside).expect("writes");
        build(&place, &["b.sv"]).expect("builds");
        assert_eq!(there(folder.path()), ["mine", &format!("np/{LIST}"), "np/b.sv"]);
    }
}
