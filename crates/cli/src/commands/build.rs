//! `wireloom build`: the program as source for a machine.

use std::path::PathBuf;

use clap::{Args, ValueHint};
use wireloom_native::generate;

use crate::failure::{Failure, Outcome};
use crate::machine::MachineName;
use crate::output;
use crate::program::ProgramArgs;

/// See `wireloom build --help`.
#[derive(Args, Debug)]
pub struct Build {
    #[command(flatten)]
    program: ProgramArgs,
    /// The machine to build for
    #[arg(long, value_name = "MACHINE", default_value = "native")]
    on: MachineName,
    /// The folder to write to; it is made if it is missing
    #[arg(short = 'o', long = "out", value_name = "DIR", value_hint = ValueHint::DirPath)]
    out: PathBuf,
}

impl Build {
    /// Writes the generated files.
    pub fn run(self) -> Outcome {
        if self.on == MachineName::Golden {
            return Err(Failure::unusable("golden interprets programs: there is nothing to build for it")
                .with_help("build --on native writes C; explain --ir shows the step IR that golden runs"));
        }
        let files = generate(&self.program.optimised()?).files;
        for (name, text) in files {
            let path = self.out.join(name);
            let folder = path.parent().unwrap_or(&self.out);
            std::fs::create_dir_all(folder).map_err(|error| {
                Failure::unusable(format!("{}: cannot be made: {error}", folder.display()))
            })?;
            output::write_file(&path, text.as_bytes())?;
            output::say(format!("{}: {} lines", path.display(), text.lines().count()));
        }
        Ok(())
    }
}
