//! `wireloom new`: begins an engine, with its tables, tests and a description.

use std::path::{Path, PathBuf};

use clap::{Args, ValueHint};
use wireloom_console::{Staged, output};
use wireloom_install::embedded;
use wireloom_lang::{Options, check_source};

use crate::failure::{Failure, Outcome};

/// See `wireloom new --help`.
#[derive(Args, Debug)]
pub struct New {
    /// The folder to make; its name becomes that of the engine
    #[arg(value_name = "DIR", value_hint = ValueHint::DirPath)]
    folder: PathBuf,
}

/// The files of a new engine: endings or names, and texts in which `NAME` is the engine's name.
const FILES: [(&str, &str); 4] = [
    ("NAME.loom", include_str!("new/engine.loom")),
    ("NAME.tables", include_str!("new/engine.tables")),
    ("NAME.packets", include_str!("new/engine.packets")),
    ("README.md", include_str!("new/readme.md")),
];

impl New {
    /// Writes the folder.
    pub fn run(self) -> Outcome {
        let name = engine_name(&self.folder)?;
        if self.folder.symlink_metadata().is_ok() {
            let message = format!("{}: is there already", self.folder.display());
            return Err(Failure::unusable(message).with_help("name a folder that is not there"));
        }
        let files: Vec<(String, String)> = FILES
            .iter()
            .map(|(file, text)| (file.replace("NAME", name), text.replace("NAME", name)))
            .collect();
        // The name may be a word of the language, or one that the engine declares.
        let (file, text) = &files[0];
        let options = Options { library: Some(embedded::find), ..Options::default() };
        let checked = check_source(&self.folder.join(file).display().to_string(), text, &options);
        if let Some(diagnostic) = checked.diagnostics.first() {
            let message = format!(
                "{}: '{name}' cannot name the engine: {}",
                self.folder.display(),
                diagnostic.message
            );
            return Err(Failure::unusable(message).with_help("name another folder"));
        }
        Staged::write_folder(&self.folder, &files)?;
        let folder = self.folder.display();
        output::say(format!("try: cd {folder} && wireloom test {name}.packets"));
        Ok(())
    }
}

/// The name of the engine in a folder: that of the folder, which must be an identifier.
fn engine_name(folder: &Path) -> Outcome<&str> {
    let is_identifier = |name: &&str| {
        let mut letters = name.chars();
        letters.next().is_some_and(|first| first.is_ascii_lowercase())
            && letters.all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_')
    };
    let name = folder.file_name().and_then(|name| name.to_str()).filter(is_identifier);
    name.ok_or_else(|| {
        Failure::unusable(format!("{}: does not end in the name of an engine", folder.display()))
            .with_help("use small letters, digits and _, beginning with a letter")
    })
}
