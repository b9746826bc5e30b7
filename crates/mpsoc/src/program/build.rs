//! The build from step IR to a program of the processors: C, Debian's cross compilers, the cache.

use std::fs;
use std::path::{Path, PathBuf};

use wireloom_codegen_c::thread::{Elements, LINKER_SCRIPT, Partition, RUNTIME, Refused, generate};
use wireloom_install::Cache;
use wireloom_isa::program::Architecture;

use crate::sources::Sources;
use crate::toolchain::{
    BuildError, Optimisation, STACK_BYTES, Toolchain, file_error, frame_in, is_too_large,
};

/// The program file in a cache folder.
const PROGRAM: &str = "engine.elf";

/// The generated C in a cache folder.
pub const ENGINE_SOURCE: &str = "engine.c";

#[derive(Clone, Debug)]
pub struct BuildOptions {
    pub machine: Architecture,
    /// How the compiler optimises.
    pub optimisation: Optimisation,
    /// The cache that keeps programs between runs.
    pub cache: Cache,
}

impl BuildOptions {
    /// A builder for an instruction set, with the default optimisation and cache.
    pub fn new(machine: Architecture) -> Self {
        let optimisation = Optimisation::default();
        Self { machine, optimisation, cache: Cache::of_user("mpsoc") }
    }
}

/// A program of the processors.
#[derive(Clone, Debug)]
pub struct Built {
    /// The loaded program.
    pub program: wireloom_isa::Program,
    /// The file that it was read from; the C source is next to it.
    pub path: PathBuf,
    /// The number of parts of the main engine.
    pub parts: usize,
    /// The source lines of its instructions.
    pub sources: Sources,
}

/// Builds the program of an engine, or takes it from the cache. The engine is cut into the parts of
/// `partition`. Calls of `elements` are messages.
///
/// # Errors
/// See [`BuildError`].
///
/// # Panics
/// A step is not in region form, or the engine's program does not verify.
pub fn build(
    program: &wireloom_ir::Program,
    partition: &Partition,
    elements: &Elements,
    options: &BuildOptions,
) -> Result<Built, BuildError> {
    let generated = generate(program, partition, elements)?;
    let text = &generated.text;
    let toolchain = Toolchain::of(options.machine);
    let folder =
        options.cache.entry(&key(text, toolchain, options.optimisation)?, |_, finished| {
            compile(text, toolchain, options.optimisation, finished)
        });
    let folder = folder.map_err(|error| refusal(program, error))?;
    let path = folder.join(PROGRAM);
    let built = wireloom_isa::Program::read(&path)
        .map_err(|source| BuildError::Program { path: path.clone(), source })?;
    let sources = Sources::of_engine(&program.files, &generated, &built);
    Ok(Built { program: built, path, parts: partition.parts(), sources })
}

/// The error of a program whose generated C the compiler rejects. If variables exceed a thread's
/// stack, the program is at fault, not the compiler.
fn refusal(program: &wireloom_ir::Program, error: BuildError) -> BuildError {
    let BuildError::Compiler { output, .. } = &error else { return error };
    let engine = &program.engines[program.main.index()].name;
    let message = match frame_in(output) {
        Some(bytes) => format!(
            "engine `{engine}` needs {bytes} bytes for its variables at once, and a thread's stack has \
             {STACK_BYTES}: make its context or its widest values smaller, or keep them in an offload of \
             kind `array`"
        ),
        None if is_too_large(output) => format!(
            "engine `{engine}` becomes more code than the processor's jumps and addresses reach: loop \
             over steps instead of unrolling, or split the engine"
        ),
        None => return error,
    };
    Refused { step: None, offload: None, message }.into()
}

fn compile(
    text: &str,
    toolchain: &Toolchain,
    optimisation: Optimisation,
    folder: &Path,
) -> Result<(), BuildError> {
    let source = folder.join(ENGINE_SOURCE);
    let files = RUNTIME.iter().map(|(name, text)| (folder.join(name), *text));
    for (path, text) in files.chain([(source.clone(), text)]) {
        fs::write(&path, text).map_err(file_error(&path))?;
    }
    let (script, output) = (folder.join(LINKER_SCRIPT), folder.join(PROGRAM));
    toolchain.compile(optimisation, &[], &script, &[source], &output).map(|_| ())
}

/// A key for everything that a program depends on.
fn key(
    text: &str,
    toolchain: &Toolchain,
    optimisation: Optimisation,
) -> Result<String, BuildError> {
    let version = toolchain.version()?;
    let flags: Vec<&str> = toolchain.flags(optimisation).collect();
    Ok(Cache::key((version, flags, RUNTIME, text)))
}
