//! The files that a subcommand reads and writes. They are checked before any work, so that no
//! output overwrites an input or another output, and so that long work does not end without a place
//! for its result.

use std::fs::{self, Metadata};
use std::io;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

use wireloom_files::{TemporaryFile, is_standard_stream};
use wireloom_machine::{Error, Result};

use crate::output::{self, JsonTarget};

/// The files of a subcommand, each with the option that names it.
#[derive(Debug, Default)]
pub struct Places {
    read: Vec<PathBuf>,
    written: Vec<(&'static str, PathBuf)>,
}

/// The identity of a file: two names with equal identities name one file.
#[derive(PartialEq, Eq)]
enum Identity {
    /// Standard input for a file that is read, standard output for one that is written.
    Standard,
    /// Device and inode.
    Existing(u64, u64),
    /// A file that does not exist, in a folder that does.
    New(PathBuf),
}

impl Places {
    /// Adds input files; `-` is standard input.
    #[must_use]
    pub fn reads<P: AsRef<Path>>(mut self, paths: impl IntoIterator<Item = P>) -> Self {
        self.read.extend(paths.into_iter().map(|path| path.as_ref().to_owned()));
        self
    }

    /// Adds the output file of an option, if the option is given; `-` is standard output.
    #[must_use]
    pub fn writes(mut self, option: &'static str, path: Option<&Path>) -> Self {
        self.written.extend(path.map(|path| (option, path.to_owned())));
        self
    }

    /// Adds the destination of JSON, if `--json` is given.
    #[must_use]
    pub fn writes_json(self, target: Option<&JsonTarget>) -> Self {
        let path = target.map(|target| match target {
            JsonTarget::Stdout => Path::new(wireloom_files::STANDARD_STREAM),
            JsonTarget::File(path) => path,
        });
        self.writes("--json", path)
    }

    /// Prints text for people on standard output, unless an output goes there. Then the text goes
    /// to standard error, or nowhere if that output is the same report as JSON.
    pub fn tell(&self, text: &str) {
        match self.written.iter().find(|(_, path)| is_standard_stream(path)) {
            None => output::print(&output::fitted(text)),
            Some(("--json", _)) => {}
            Some(_) => output::note(text.trim_end()),
        }
    }

    /// Checks that all outputs can be written, that none is an input and that no two are equal.
    /// Inputs are the files that were added and every file that the process has read so far. Call
    /// it before anything is read, and again after everything is read.
    ///
    /// # Errors
    /// If an output fails the check, or standard input would be read twice.
    pub fn check(&self) -> Result {
        if self.read.iter().filter(|path| is_standard_stream(path)).count() > 1 {
            return Err(Error::new("-: standard input can be read once only"));
        }
        let inputs: Vec<_> = self
            .read
            .iter()
            .filter(|path| !is_standard_stream(path))
            .map(|path| identity(path))
            .collect();
        let mut outputs: Vec<(&str, Identity)> = Vec::new();
        for (option, path) in &self.written {
            let Some(own) = identity(path) else {
                try_to_write(option, path)?;
                continue;
            };
            // A file that was read may have named further inputs.
            let is_read = || wireloom_files::was_read(path);
            if inputs.iter().flatten().any(|input| *input == own) || is_read() {
                let message = format!("{}: {option} would overwrite an input", path.display());
                return Err(Error::new(message).with_help("name another file"));
            }
            if let Some((other, _)) = outputs.iter().find(|(_, other)| *other == own) {
                let message =
                    format!("{}: {other} and {option} would both be written there", path.display());
                return Err(Error::new(message).with_help("name another file for one of them"));
            }
            try_to_write(option, path)?;
            outputs.push((option, own));
        }
        Ok(())
    }
}

/// Returns the identity of a file; `None` for devices and pipes, which any number of outputs may
/// share, and for files in folders that do not exist.
fn identity(path: &Path) -> Option<Identity> {
    if is_standard_stream(path) {
        return Some(Identity::Standard);
    }
    match fs::metadata(path) {
        Ok(about) if about.is_file() => Some(Identity::Existing(about.dev(), about.ino())),
        Ok(_) => None,
        Err(_) => {
            let folder = fs::canonicalize(folder(path)).ok()?;
            Some(Identity::New(folder.join(path.file_name()?)))
        }
    }
}

fn folder(path: &Path) -> &Path {
    path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Tries whether a file can be written, and leaves no trace of the attempt.
fn try_to_write(option: &str, path: &Path) -> Result {
    let tried = match fs::metadata(path) {
        _ if is_standard_stream(path) => wireloom_files::standard_output().map(drop),
        // Opening a pipe for writing blocks until a reader opens it.
        Ok(about) if is_pipe(&about) => Ok(()),
        Ok(about) if about.is_dir() => Err(io::Error::from(io::ErrorKind::IsADirectory)),
        Ok(about) if !about.is_file() => fs::File::options().write(true).open(path).map(drop),
        // A file is written next to its place first.
        Ok(_) | Err(_) => TemporaryFile::beside(path).map(drop),
    };
    tried.map_err(|error| {
        Error::new(format!("{}: {option} cannot be written: {error}", path.display()))
    })
}

fn is_pipe(about: &Metadata) -> bool {
    about.file_type().is_fifo() || about.file_type().is_socket()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(places: &Places) -> String {
        places.check().expect_err("refused").message
    }

    #[test]
    fn an_output_is_no_input_under_any_name() {
        let folder = tempfile::tempdir().expect("a folder");
        let (input, link) = (folder.path().join("t.loom"), folder.path().join("link"));
        fs::write(&input, "source").expect("writes");
        std::os::unix::fs::symlink(&input, &link).expect("links");
        let reads = || Places::default().reads([&input]);
        for name in [input.clone(), link, folder.path().join("./t.loom")] {
            assert!(
                refusal(&reads().writes("--svg", Some(&name)))
                    .contains("--svg would overwrite an input")
            );
        }
        assert!(reads().writes("--svg", Some(&folder.path().join("t.svg"))).check().is_ok());
        assert_eq!(fs::read_dir(folder.path()).expect("reads").count(), 2, "nothing is left");
    }

    #[test]
    fn outputs_differ_unless_they_are_devices() {
        let folder = tempfile::tempdir().expect("a folder");
        let new = folder.path().join("f");
        let both = |path: &Path| {
            Places::default().writes("--out", Some(path)).writes("--plot", Some(path))
        };
        assert!(refusal(&both(&new)).contains("--out and --plot"));
        assert!(refusal(&both(Path::new("-"))).contains("--out and --plot"));
        assert!(both(Path::new("/dev/null")).check().is_ok());
    }

    #[test]
    fn an_output_without_a_place_is_refused() {
        let folder = tempfile::tempdir().expect("a folder");
        let writes = |path: &Path| refusal(&Places::default().writes("--out", Some(path)));
        assert!(writes(folder.path()).contains("cannot be written"));
        assert!(writes(&folder.path().join("no/file")).contains("cannot be written"));
    }

    #[test]
    fn standard_input_is_read_once() {
        assert!(refusal(&Places::default().reads(["-", "-"])).contains("once"));
        assert!(
            Places::default().reads(["-"]).writes("--out", Some(Path::new("-"))).check().is_ok()
        );
    }
}
