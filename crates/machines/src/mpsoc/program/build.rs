//! From step IR to a program of the processors: C, Debian's cross compilers, the cache.

use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};

use wireloom_isa::program::Machine;
use wireloom_native::thread::{Elements, LINKER_SCRIPT, Partition, RUNTIME, generate};
use wireloom_rtl::sim::cache_folder;

use crate::mpsoc::toolchain::{BuildError, Toolchain, file_error};

/// The file in a folder of the cache that is the program.
const PROGRAM: &str = "engine.elf";

/// How to build.
#[derive(Clone, Debug)]
pub struct BuildOptions {
    /// Which instruction set.
    pub machine: Machine,
    /// Where programs are kept from one run to the next: each in a folder named by its contents.
    pub cache: PathBuf,
}

impl BuildOptions {
    /// For an instruction set, with the usual cache.
    pub fn new(machine: Machine) -> Self {
        Self { machine, cache: cache_folder("mpsoc") }
    }
}

/// A program of the processors.
#[derive(Clone, Debug)]
pub struct Built {
    /// To be loaded.
    pub program: wireloom_isa::Program,
    /// The file that it was read from; the C beside it is what it was compiled from.
    pub path: PathBuf,
    /// Parts that its main engine is cut into.
    pub parts: usize,
}

/// Builds the program of an engine, whose steps are in the form of regions and which is cut like this, or takes it from the cache. Calls
/// of `elements` are messages.
///
/// # Errors
/// See [`BuildError`].
///
/// # Panics
/// If a step is not in that form, or the engine's program does not verify.
pub fn build(
    program: &wireloom_ir::Program,
    partition: &Partition,
    elements: &Elements,
    options: &BuildOptions,
) -> Result<Built, BuildError> {
    let text = generate(program, partition, elements)?;
    let toolchain = Toolchain::of(options.machine);
    let folder = options.cache.join(key(&text, toolchain)?);
    if !folder.join(PROGRAM).exists() {
        fs::create_dir_all(&options.cache).map_err(file_error(&options.cache))?;
        let place = tempfile::Builder::new().prefix("building-").tempdir_in(&options.cache);
        let place = place.map_err(file_error(&options.cache))?;
        compile(&text, toolchain, place.path())?;
        keep(place.path(), &folder)?;
    }
    let path = folder.join(PROGRAM);
    let program = wireloom_isa::Program::read(&path)
        .map_err(|source| BuildError::Program { path: path.clone(), source })?;
    Ok(Built { program, path, parts: partition.parts() })
}

fn compile(text: &str, toolchain: &Toolchain, folder: &Path) -> Result<(), BuildError> {
    let source = folder.join("engine.c");
    let files = RUNTIME.iter().map(|(name, text)| (folder.join(name), *text));
    for (path, text) in files.chain([(source.clone(), text)]) {
        fs::write(&path, text).map_err(file_error(&path))?;
    }
    toolchain.compile(&[], &folder.join(LINKER_SCRIPT), &[source], &folder.join(PROGRAM)).map(|_| ())
}

/// Gives a finished folder its name. If another process has been faster, its folder is as good.
fn keep(place: &Path, folder: &Path) -> Result<(), BuildError> {
    match fs::rename(place, folder) {
        Err(_) if folder.join(PROGRAM).exists() => Ok(()),
        result => result.map_err(file_error(folder)),
    }
}

/// A name for everything that a program depends on.
fn key(text: &str, toolchain: &Toolchain) -> Result<String, BuildError> {
    let version = toolchain.version()?;
    let half = |number: u32| {
        let mut hash = DefaultHasher::new();
        (number, &version, toolchain.flags(), RUNTIME, text).hash(&mut hash);
        hash.finish()
    };
    Ok(format!("{:016x}{:016x}", half(0), half(1)))
}
