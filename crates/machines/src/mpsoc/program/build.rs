//! From step IR to a program of the processors: C, Debian's cross compilers, the cache.

use std::ffi::OsStr;
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use wireloom_isa::program::Machine;
use wireloom_native::thread::{LINKER_SCRIPT, RUNTIME, Refused, generate};

/// What both compilers are told. There is no library but the compiler's own, and no loop may become a call of one. Small code
/// is also the quickest here, with conditions that leave as soon as they are decided: engines branch more than they loop. A
/// function whose variables do not fit into a thread's stack is refused.
const FLAGS: &[&str] = &[
    "-std=gnu11",
    "-Os",
    "--param=logical-op-non-short-circuit=0",
    "-ffreestanding",
    "-nostdlib",
    "-static",
    "-fno-tree-loop-distribute-patterns",
    "-fno-asynchronous-unwind-tables",
    "-Werror=frame-larger-than=2048",
    "-Wl,--build-id=none",
    "-Wl,-z,max-page-size=4096",
];

/// `-march=armv4` also lets the compiler tell the linker to replace BX, which is in its library but not in ARMv4. Constants that
/// were kept in registers from one packet to the next would leave too few of the sixteen.
const ARM: Toolchain = Toolchain {
    compiler: "arm-none-eabi-gcc",
    flags: &["-march=armv4", "-marm", "-mfloat-abi=soft", "-fno-tree-loop-im", "-fno-move-loop-invariants"],
};
const RISCV: Toolchain =
    Toolchain { compiler: "riscv64-unknown-elf-gcc", flags: &["-march=rv32im", "-mabi=ilp32"] };

/// The file in a folder of the cache that is the program.
const PROGRAM: &str = "engine.elf";

struct Toolchain {
    compiler: &'static str,
    flags: &'static [&'static str],
}

/// How to build.
#[derive(Clone, Debug)]
pub struct BuildOptions {
    /// Which instruction set.
    pub machine: Machine,
    /// Where programs are kept from one run to the next: each in a folder named by its contents.
    pub cache: PathBuf,
}

impl BuildOptions {
    /// For an instruction set, with the usual cache: `WIRELOOM_CACHE` if it is set, else `.cache` of the repository that
    /// this was built from, or where that is gone, of the user; in it `mpsoc`.
    pub fn new(machine: Machine) -> Self {
        Self { machine, cache: cache() }
    }
}

/// A program of the processors.
#[derive(Clone, Debug)]
pub struct Built {
    /// To be loaded.
    pub program: wireloom_isa::Program,
    /// The file that it was read from; the C beside it is what it was compiled from.
    pub path: PathBuf,
}

/// Why there is no program.
#[derive(Debug, thiserror::Error)]
pub enum BuildError {
    /// The engine does what the processors' threads cannot.
    #[error(transparent)]
    Refused(#[from] Refused),
    /// A file could not be written or read.
    #[error("{}: {source}", path.display())]
    File {
        /// Which.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The compiler could not be started.
    #[error("the cross compiler `{compiler}` does not start: {source}; `make tools` installs it")]
    NoCompiler {
        /// Its name.
        compiler: &'static str,
        /// Why.
        source: io::Error,
    },
    /// The compiler refused the code.
    #[error("the cross compiler failed: {command}\n{output}")]
    Compiler {
        /// The whole command.
        command: String,
        /// What it printed.
        output: String,
    },
    /// What it made is no program.
    #[error("{}: {source}", path.display())]
    Program {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        source: wireloom_isa::program::Error,
    },
}

/// Builds the program of an engine, whose steps are in the form of regions, or takes it from the cache.
///
/// # Errors
/// See [`BuildError`].
///
/// # Panics
/// If a step is not in that form, or the engine's program does not verify.
pub fn build(program: &wireloom_ir::Program, options: &BuildOptions) -> Result<Built, BuildError> {
    let text = generate(program)?;
    let toolchain = match options.machine {
        Machine::Arm => ARM,
        Machine::Riscv => RISCV,
    };
    let folder = options.cache.join(key(&text, &toolchain)?);
    if !folder.join(PROGRAM).exists() {
        fs::create_dir_all(&options.cache).map_err(file_error(&options.cache))?;
        let place = tempfile::Builder::new().prefix("building-").tempdir_in(&options.cache);
        let place = place.map_err(file_error(&options.cache))?;
        compile(&text, &toolchain, place.path())?;
        keep(place.path(), &folder)?;
    }
    let path = folder.join(PROGRAM);
    let program = wireloom_isa::Program::read(&path)
        .map_err(|source| BuildError::Program { path: path.clone(), source })?;
    Ok(Built { program, path })
}

fn compile(text: &str, toolchain: &Toolchain, folder: &Path) -> Result<(), BuildError> {
    let source = folder.join("engine.c");
    let files = RUNTIME.iter().map(|(name, text)| (folder.join(name), *text));
    for (path, text) in files.chain([(source.clone(), text)]) {
        fs::write(&path, text).map_err(file_error(&path))?;
    }
    let mut command = Command::new(toolchain.compiler);
    command.args(toolchain.flags).args(FLAGS).arg("-T").arg(folder.join(LINKER_SCRIPT));
    command.arg(source).arg("-lgcc").arg("-o").arg(folder.join(PROGRAM));
    let output = command.output().map_err(no_compiler(toolchain))?;
    if output.status.success() {
        return Ok(());
    }
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    let words: Vec<_> = words.map(OsStr::to_string_lossy).collect();
    Err(BuildError::Compiler {
        command: words.join(" "),
        output: String::from_utf8_lossy(&output.stderr).into_owned(),
    })
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
    let version =
        Command::new(toolchain.compiler).arg("--version").output().map_err(no_compiler(toolchain))?;
    let half = |number: u32| {
        let mut hash = DefaultHasher::new();
        (number, &version.stdout, toolchain.flags, FLAGS, RUNTIME, text).hash(&mut hash);
        hash.finish()
    };
    Ok(format!("{:016x}{:016x}", half(0), half(1)))
}

fn cache() -> PathBuf {
    if let Some(folder) = std::env::var_os("WIRELOOM_CACHE") {
        return PathBuf::from(folder).join("mpsoc");
    }
    let repository = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2);
    if let Some(repository) = repository.filter(|folder| folder.join("Cargo.toml").exists()) {
        return repository.join(".cache/mpsoc");
    }
    let home = || std::env::var_os("HOME").map(|home| Path::new(&home).join(".cache"));
    let user = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from).or_else(home);
    user.unwrap_or_else(std::env::temp_dir).join("wireloom/mpsoc")
}

fn file_error(path: &Path) -> impl FnOnce(io::Error) -> BuildError {
    let path = path.to_owned();
    move |source| BuildError::File { path, source }
}

fn no_compiler(toolchain: &Toolchain) -> impl FnOnce(io::Error) -> BuildError {
    let compiler = toolchain.compiler;
    move |source| BuildError::NoCompiler { compiler, source }
}
