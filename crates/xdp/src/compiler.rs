//! The compiler for BPF.

use std::path::Path;
use std::process::Command;

use wireloom_codegen::c::bpf::{FLAGS, RUNTIME};
use wireloom_install::Cache;
use wireloom_machine::{Error, Result};

/// Its name.
pub const COMPILER: &str = "bpf-gcc";

const HELP: &str = "the Debian package gcc-bpf has it: apt-get install gcc-bpf";

/// Whether steps are part of the function that executes them, or functions of their own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// Part of it.
    Joined,
    /// Functions of their own.
    Apart,
}

/// Compiles C for BPF; returns the object file.
///
/// # Errors
/// If the compiler is missing or fails.
pub fn compile(text: &str, form: Form) -> Result<Vec<u8>> {
    let problem =
        |what: &str, error: &dyn std::fmt::Display| Error::new(format!("{what}: {error}"));
    let folder = wireloom_files::TemporaryFolder::new()
        .map_err(|error| problem("a temporary folder", &error))?;
    let write = |name: &str, text: &str| {
        std::fs::write(folder.path().join(name), text).map_err(|error| problem(name, &error))
    };
    for (name, text) in RUNTIME {
        write(name, text)?;
    }
    write("engine.c", text)?;
    let object = folder.path().join("engine.o");
    run(folder.path(), &object, form)?;
    std::fs::read(&object).map_err(|error| problem("the object file", &error))
}

fn run(folder: &Path, object: &Path, form: Form) -> Result {
    let mut command = Command::new(COMPILER);
    command.args((form == Form::Joined).then_some("-DWL_JOINED"));
    command.args(FLAGS).arg("-c").arg("-o").arg(object).arg(folder.join("engine.c"));
    let output = command.output().map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound => {
            Error::missing_tool(format!("{COMPILER}, the C compiler for BPF, is not installed"))
                .with_help(HELP)
        }
        _ => Error::missing_tool(format!("{COMPILER} does not start: {error}")).with_help(HELP),
    })?;
    if output.status.success() {
        return Ok(());
    }
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    let words: Vec<_> = words.map(|word| word.to_string_lossy().into_owned()).collect();
    let said = String::from_utf8_lossy(&output.stderr);
    let first = said.lines().find(|line| line.contains("error")).unwrap_or_default().to_owned();
    let log = Cache::of_user("xdp").log("compiler", &words.join(" "), &said);
    let log = log.map(|log| format!("its command and messages are in {}", log.display()));
    let error = Error::new(format!("{COMPILER} refuses the program: {}", first.trim()));
    Err(match log {
        Some(log) => error.with_help(log),
        None => error,
    })
}
