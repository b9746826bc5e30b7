//! `wireloom example`: programs to try, with tables, captures and tests.

use std::path::PathBuf;

use clap::{Args, ValueHint};
use wireloom_console::{Staged, output};
use wireloom_guide::examples::{ALL, Example, find};
use wireloom_guide::files;
use wireloom_lang::suggest::suggest_or_list;

use crate::failure::{Failure, Outcome};

/// See `wireloom example --help`.
#[derive(Args, Debug)]
pub struct ExampleArgs {
    /// The example; without it, they are listed
    #[arg(value_name = "NAME")]
    name: Option<String>,
    /// Write its files into this folder; by default one with the name of the example
    #[arg(short = 'o', long = "out", value_name = "DIR", value_hint = ValueHint::DirPath, requires = "name")]
    out: Option<PathBuf>,
}

impl ExampleArgs {
    /// Writes the folder of an example, or lists them all.
    pub fn run(self) -> Outcome {
        let Some(name) = &self.name else {
            let mut table = output::table(&["example", "what it is"], &[]);
            for example in ALL {
                table.add_row([example.name, example.about]);
            }
            output::say(table.to_string());
            return Ok(());
        };
        let example = find(name).ok_or_else(|| {
            let names = ALL.iter().map(|example| example.name);
            let failure = Failure::unusable(format!("no example is called '{name}'"));
            match suggest_or_list(name, "examples", names) {
                Some(help) => failure.with_help(help),
                None => failure,
            }
        })?;
        write(example, self.out.unwrap_or_else(|| PathBuf::from(example.name)))
    }
}

/// Writes the files of an example, and prints how to use them.
fn write(example: &Example, folder: PathBuf) -> Outcome {
    let staged = Staged::at(&folder)?;
    let names = example.names();
    for name in &names {
        let contents = files::read(name).expect("examples are embedded");
        staged.write(name, contents)?;
    }
    staged.install()?;
    output::say(format!("{}: {} files. Try:", folder.display(), names.len()));
    output::say(format!("  cd {}", folder.display()));
    for command in example.commands {
        output::say(format!("  {command}"));
    }
    Ok(())
}
