//! The compiler for BPF.

use std::fs;
use std::io;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use wireloom_codegen_c::bpf::{FLAGS, RUNTIME};
use wireloom_install::apart::{self, Running};
use wireloom_install::{Cache, CacheError};
use wireloom_machine::{Error, Result};

use crate::compiled::Source;
use crate::steps::in_messages;

/// The command of the compiler.
pub const COMPILER: &str = "bpf-gcc";

/// The compiler's message about a function whose values do not fit the stack.
const STACK: &str = "stack limit exceeded";

const HELP: &str = "the Debian package gcc-bpf has it: apt-get install gcc-bpf";

/// Whether steps are part of the function that executes them, or separate functions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// Steps are part of the function that executes them.
    Joined,
    /// Steps are separate functions.
    Apart,
}

/// The name of the object file.
const OBJECT: &str = "engine.o";

/// Why a cache entry could not be made.
enum Failed {
    Cache,
    Compiler(Error),
}

impl From<CacheError> for Failed {
    fn from(_: CacheError) -> Self {
        Self::Cache
    }
}

/// Compiles C for BPF, unless the cache has the object file. Returns the object file.
///
/// # Errors
/// If the compiler is missing or fails.
pub fn compile(source: &Source, form: Form, cache: Option<&Cache>) -> Result<Vec<u8>> {
    let key = cache.and_then(|cache| Some((cache, key(&source.text, form)?)));
    let kept = key.map(|(cache, key)| {
        let build = |folder: &Path, finished: &Path| {
            compile_in(folder, &finished.join(OBJECT), source, form).map_err(Failed::Compiler)
        };
        let entry = cache.entry(&key, build)?;
        fs::read(entry.join(OBJECT)).map_err(|_| Failed::Cache)
    });
    match kept {
        Some(Ok(object)) => return Ok(object),
        Some(Err(Failed::Compiler(error))) => return Err(error),
        // A cache error, for example a full disk, must not stop forwarding.
        Some(Err(Failed::Cache)) | None => {}
    }
    let folder = wireloom_files::TemporaryFolder::new();
    let folder = folder.map_err(|error| problem("a temporary folder", &error))?;
    let object = folder.path().join(OBJECT);
    compile_in(folder.path(), &object, source, form)?;
    fs::read(&object).map_err(|error| problem("the object file", &error))
}

/// Returns the key of an object file; `None` if the compiler's version is unknown.
fn key(text: &str, form: Form) -> Option<String> {
    let mut command = Command::new(COMPILER);
    command.arg("--version");
    let version = output(command).ok()?;
    let is_joined = form == Form::Joined;
    version.status.success().then(|| Cache::key((version.stdout, FLAGS, RUNTIME, is_joined, text)))
}

fn output(mut command: Command) -> io::Result<Output> {
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    apart::start(command, |_| ()).and_then(Running::output)
}

fn problem(what: &str, error: &dyn std::fmt::Display) -> Error {
    Error::new(format!("{what}: {error}"))
}

/// Compiles C in a folder.
fn compile_in(folder: &Path, object: &Path, source: &Source, form: Form) -> Result {
    for (name, text) in RUNTIME.iter().copied().chain([("engine.c", source.text.as_str())]) {
        fs::write(folder.join(name), text).map_err(|error| problem(name, &error))?;
    }
    run(folder, object, source, form)
}

fn run(folder: &Path, object: &Path, source: &Source, form: Form) -> Result {
    let mut command = Command::new(COMPILER);
    command.args((form == Form::Joined).then_some("-DWL_JOINED"));
    // With this locale the compiler's messages name functions in ASCII quotes.
    command.env("LC_ALL", "C");
    command.args(FLAGS).arg("-c").arg("-o").arg(object).arg(folder.join("engine.c"));
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    let words: Vec<_> = words.map(|word| word.to_string_lossy().into_owned()).collect();
    let output = output(command).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => {
            Error::missing_tool(format!("{COMPILER}, the C compiler for BPF, is not installed"))
                .with_help(HELP)
        }
        _ => Error::missing_tool(format!("{COMPILER} does not start: {error}")).with_help(HELP),
    })?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    let first = said.lines().find(|line| line.contains("error")).unwrap_or_default().to_owned();
    let log = Cache::of_user("xdp").log("compiler", &words.join(" "), &said);
    let log = log.map(|log| format!("its command and messages are in {}", log.display()));
    let why = if first.contains(STACK) {
        "its values do not fit the kernel's stack of 512 bytes: divide it, or use smaller values"
            .to_owned()
    } else {
        format!("{COMPILER} refuses it: {}", first.trim())
    };
    let error = source.steps.refused(in_messages(&said), &why);
    Err(match log {
        Some(log) => error.with_help(log),
        None => error,
    })
}
