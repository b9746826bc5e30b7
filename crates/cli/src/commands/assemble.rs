//! `wireloom assemble`: programs of microengines.

use std::path::{Path, PathBuf};

use clap::{Args, ValueHint};
use wireloom_console::Places;
use wireloom_console::output;
use wireloom_microcode::{Options, assemble, disassemble, read_object, write_object};

use crate::failure::{Failure, Outcome};

/// See `wireloom assemble --help`.
#[derive(Args, Debug)]
pub struct Assemble {
    /// Program (.uc), or with --disassemble an object file (.uo)
    #[arg(value_hint = ValueHint::FilePath)]
    file: PathBuf,
    /// Write the object file here. With --disassemble, the text, which goes to standard output
    /// otherwise
    #[arg(short = 'o', long = "out", value_name = "FILE", value_hint = ValueHint::FilePath)]
    out: Option<PathBuf>,
    /// Write the instructions of the file, as a program that assembles to the same words
    #[arg(long)]
    disassemble: bool,
    /// Define a name before the first line (may be given several times)
    #[arg(short = 'D', long = "define", value_name = "NAME[=VALUE]")]
    define: Vec<String>,
    /// Fill defer slots, as `.optimise` in the text does
    #[arg(short = 'O', long)]
    optimise: bool,
    /// Words of the control store, at most those of the version
    #[arg(long, value_name = "WORDS")]
    control_store: Option<usize>,
}

fn read(path: &Path) -> Result<String, String> {
    wireloom_files::read_text(path, wireloom_files::MAX_TEXT_BYTES)
        .map_err(|error| error.to_string())
}

impl Assemble {
    /// Assembles or disassembles.
    pub fn run(self) -> Outcome {
        let places = Places::default().reads([&self.file]).writes("--out", self.out.as_deref());
        places.check()?;
        let name = self.file.display().to_string();
        let text = read(&self.file).map_err(|why| Failure::unusable(format!("{name}: {why}")))?;
        let written = if self.disassemble {
            if !self.define.is_empty() || self.control_store.is_some() || self.optimise {
                let message =
                    "--define, --control-store and --optimise have no effect with --disassemble";
                return Err(Failure::unusable(message));
            }
            let image = if text.starts_with("wireloom microcode") {
                read_object(&text).map_err(|why| Failure::unusable(format!("{name}: {why}")))?
            } else {
                self.assemble(&name, &text)?
            };
            disassemble(&image)
        } else {
            if self.out.is_none() {
                return Err(Failure::unusable("an object file needs a name")
                    .with_help("give it by -o FILE.uo"));
            }
            let image = self.assemble(&name, &text)?;
            let object = write_object(&image);
            let count = image.words.len();
            let most = image.version.sizes().control_store;
            // Standard output is the object's alone if that goes there.
            if self.out.as_ref().is_some_and(|out| out.as_os_str() != "-") {
                output::say(format!("{name}: {count} of {most} instructions"));
            }
            object
        };
        places.check()?;
        match &self.out {
            Some(out) => Ok(output::write_file(out, written.as_bytes())?),
            None => {
                output::print(&written);
                Ok(())
            }
        }
    }

    fn assemble(&self, name: &str, text: &str) -> Outcome<wireloom_isa::microengine::Image> {
        let definition = |text: &String| match text.split_once('=') {
            Some((name, value)) => (name.to_owned(), value.to_owned()),
            None => (text.clone(), "1".to_owned()),
        };
        let options = Options {
            definitions: self.define.iter().map(definition).collect(),
            version: None,
            control_store: self.control_store,
            optimise: self.optimise,
        };
        assemble(name, text, &options, &mut read).map_err(|refused| {
            output::note(refused.render(output::has_colors()));
            Failure::Negative
        })
    }
}
