//! `wireloom assemble`: programs of microengines and of tiled processors.

use std::path::{Path, PathBuf};

use clap::{Args, ValueHint};
use wireloom_console::Places;
use wireloom_console::output;
use wireloom_microcode::{Options, assemble, disassemble, read_object, write_object};
use wireloom_raw::asm as tiled;

use crate::failure::{Failure, Outcome};
use crate::program::say_how_to_learn_more;

/// See `wireloom assemble --help`.
#[derive(Args, Debug)]
pub struct Assemble {
    /// Program (.uc of microengines, .rasm of tiles and switches), or with --disassemble an object
    /// file (.uo, .robj)
    #[arg(value_hint = ValueHint::FilePath)]
    file: PathBuf,
    /// Write the object file here. With --disassemble, the text, which goes to standard output
    /// otherwise
    #[arg(short = 'o', long = "out", value_name = "FILE", value_hint = ValueHint::FilePath)]
    out: Option<PathBuf>,
    /// Write the instructions of the file, as a program that assembles to the same words
    #[arg(long)]
    disassemble: bool,
    /// Define a name before the first line of a .uc (may be given several times)
    #[arg(short = 'D', long = "define", value_name = "NAME[=VALUE]")]
    define: Vec<String>,
    /// Fill defer slots of a .uc, as `.optimise` in the text does
    #[arg(short = 'O', long)]
    optimise: bool,
    /// Words of the control store of a .uc, at most those of the version
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
        let is_tiled =
            text.starts_with("wireloom raw") || self.file.extension().is_some_and(|e| e == "rasm");
        if is_tiled || self.disassemble {
            self.refuse_options(is_tiled)?;
        }
        let written = if is_tiled {
            self.tiled(&name, &text)?
        } else if self.disassemble {
            let image = if text.starts_with("wireloom microcode") {
                read_object(&text).map_err(|why| Failure::unusable(format!("{name}: {why}")))?
            } else {
                self.assemble(&name, &text)?
            };
            disassemble(&image)
        } else {
            self.need_name("FILE.uo")?;
            let image = self.assemble(&name, &text)?;
            let object = write_object(&image);
            let count = image.words.len();
            let most = image.version.sizes().control_store;
            self.say(&format!("{name}: {count} of {most} instructions"));
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

    fn refuse_options(&self, is_tiled: bool) -> Outcome {
        if self.define.is_empty() && self.control_store.is_none() && !self.optimise {
            return Ok(());
        }
        let what = if is_tiled { "for programs of tiles" } else { "with --disassemble" };
        let options = "--define, --control-store and --optimise have no effect";
        Err(Failure::unusable(format!("{options} {what}")))
    }

    fn need_name(&self, form: &str) -> Outcome {
        match self.out {
            Some(_) => Ok(()),
            None => Err(Failure::unusable("an object file needs a name")
                .with_help(format!("give it by -o {form}"))),
        }
    }

    /// Prints a line, unless standard output holds the object file.
    fn say(&self, text: &str) {
        if self.out.as_ref().is_some_and(|out| out.as_os_str() != "-") {
            output::say(text);
        }
    }

    /// Returns the object file of a program of tiles and switches, or its text.
    fn tiled(&self, name: &str, text: &str) -> Outcome<String> {
        let unusable = |why| Failure::unusable(format!("{name}: {why}"));
        let is_object = text.starts_with("wireloom raw");
        if !self.disassemble {
            if is_object {
                return Err(unusable("an object file already".to_owned())
                    .with_help("--disassemble writes its text"));
            }
            self.need_name("FILE.robj")?;
        }
        let program = if is_object {
            tiled::read_object(text).map_err(unusable)?
        } else {
            let folder = self.file.parent().unwrap_or(Path::new(""));
            let include = |name: &str| read(&folder.join(name));
            tiled::assemble_with(name, text, &include).map(|(program, _)| program).map_err(
                |refused| {
                    output::note(refused.render());
                    Failure::Negative
                },
            )?
        };
        if self.disassemble {
            return tiled::listing(&program).map_err(unusable);
        }
        let words = |count: fn((&[u32], &[u64])) -> usize| -> usize {
            program.tiles().map(|place| count(program.of(place))).sum()
        };
        let data: usize = program.data().map(|(_, words)| words.len()).sum();
        self.say(&format!(
            "{name}: {} instructions of tiles, {} of switches, {data} words of data",
            words(|(tile, _)| tile.len()),
            words(|(_, switch)| switch.len()),
        ));
        Ok(tiled::write_object(&program))
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
            output::note(refused.render(output::has_colors()).trim_end());
            say_how_to_learn_more(refused.diagnostics.iter().map(|diagnostic| diagnostic.code));
            Failure::Negative
        })
    }
}
