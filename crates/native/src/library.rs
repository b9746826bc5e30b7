//! Builds C into a shared object, and loads it.

use std::io;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;

use rustix::process::{Pid, setpriority_process};
use wireloom_codegen_c::{self as c, RUNTIME, Unit};
use wireloom_install::apart::{self, Running};
use wireloom_install::{Cache, complaint};
use wireloom_ir::Program;

use crate::abi;

/// Options of a build.
#[derive(Clone, Debug)]
pub struct BuildOptions {
    /// The compiler, gcc or clang, as a command with arguments, such as `ccache gcc`.
    pub cc: String,
    /// Flags for the machine, and further flags. They follow the optimisation level, which depends
    /// on the size of the code, and can override it.
    pub flags: Vec<String>,
    /// A folder that keeps the sources and the shared object. Without it they are in a temporary
    /// folder, which is deleted when the library has been loaded.
    pub keep_dir: Option<PathBuf>,
    /// Keeps shared objects for later runs. Use it for engines that are built repeatedly; other
    /// engines would only fill the cache.
    pub cache: Option<Cache>,
    /// Whether the engine counts steps and calls ([`Native::counts`](crate::Native::counts)). Each
    /// takes some instructions, and no step is executed before its turn.
    pub counts: bool,
    /// Whether the compiler runs at the lowest priority.
    pub yields: bool,
    /// Whether the run is short, so that the compiler need not optimise much.
    pub is_short: bool,
}

impl Default for BuildOptions {
    /// `$CC` or `cc`, `-march=native`, and the flags in `$WIRELOOM_NATIVE_CFLAGS`, such as
    /// `-fsanitize=undefined`. A processor in these flags replaces `native`, which cross compilers
    /// do not know.
    fn default() -> Self {
        let more = std::env::var("WIRELOOM_NATIVE_CFLAGS").unwrap_or_default();
        let more = more.split_whitespace();
        let names_processor =
            |flag: &str| flag.starts_with("-march=") || flag.starts_with("-mcpu=");
        let native = (!more.clone().any(names_processor)).then_some("-march=native");
        let flags = native.into_iter().chain(more).map(str::to_owned).collect();
        let named = std::env::var("CC").ok().filter(|named| !named.trim().is_empty());
        Self {
            cc: named.unwrap_or_else(|| "cc".into()),
            flags,
            keep_dir: None,
            cache: None,
            counts: false,
            yields: false,
            is_short: false,
        }
    }
}

impl BuildOptions {
    /// Sets the user's cache for shared objects.
    pub fn cached(self) -> Self {
        Self { cache: Some(Cache::of_user("native")), ..self }
    }
}

/// Why a program could not be built.
#[derive(Debug, thiserror::Error)]
pub enum BuildError {
    /// A file could not be written.
    #[error("{}: cannot be written: {source}", path.display())]
    File { path: PathBuf, source: io::Error },
    /// No temporary folder allows loading code.
    #[error(transparent)]
    Scratch(#[from] wireloom_install::CacheError),
    /// The compiler could not be started.
    #[error("the C compiler `{command}` does not start: {source}; install gcc or set CC")]
    NoCompiler { command: String, source: io::Error },
    /// The compiler refused the code.
    #[error("{}", refused(command, why, log.as_deref()))]
    Compiler {
        /// The compiler, as a command with arguments.
        command: String,
        /// The line with the reason.
        why: String,
        /// The file with the whole command and its output; none if the file could not be written.
        log: Option<PathBuf>,
    },
    /// The shared object could not be loaded.
    #[error(
        "what the C compiler `{command}` wrote cannot be loaded ({reason}): CC and \
         WIRELOOM_NATIVE_CFLAGS must name a working compiler and linker for this computer, and \
         programs in {} must be allowed to execute",
        folder.display()
    )]
    Load {
        /// The compiler, as a command with arguments.
        command: String,
        /// The folder of the shared object.
        folder: PathBuf,
        reason: String,
    },
}

/// A compiled program, ready to execute. Clones are cheap.
#[derive(Clone)]
pub struct Library {
    /// Keeps the code of `engine` in memory.
    _object: Arc<libloading::Library>,
    engine: &'static abi::EngineAbi,
    program: Arc<Program>,
    counts: bool,
}

impl Library {
    /// Generates C for a program whose steps are in the form of regions, then compiles and loads
    /// it.
    ///
    /// # Errors
    /// If a file cannot be written, or the compiler is missing or fails.
    ///
    /// # Panics
    /// As [`wireloom_codegen_c::unit`].
    pub fn build(program: &Program, options: &BuildOptions) -> Result<Self, BuildError> {
        let unit = || vec![c::unit(program, "", options.counts)];
        let mut libraries = Self::compile(std::slice::from_ref(program), unit, options)?;
        Ok(libraries.pop().expect("one program gives one library"))
    }

    /// Builds many programs in one shared object with one run of the compiler.
    ///
    /// # Errors
    /// As [`build`](Self::build).
    ///
    /// # Panics
    /// As [`build`](Self::build).
    pub fn build_many(
        programs: &[Program],
        options: &BuildOptions,
    ) -> Result<Vec<Self>, BuildError> {
        let unit = |(index, program)| c::unit(program, &format!("e{index}_"), options.counts);
        Self::compile(programs, || programs.iter().enumerate().map(unit).collect(), options)
    }

    fn compile(
        programs: &[Program],
        units: impl FnOnce() -> Vec<Unit>,
        options: &BuildOptions,
    ) -> Result<Vec<Self>, BuildError> {
        // The compiler reports its version while the code is generated.
        let cache = options.cache.as_ref().filter(|_| options.keep_dir.is_none());
        let asked = cache.and_then(|cache| Asked::of(options, cache));
        let units = units();
        let text: Vec<&str> = units.iter().map(|unit| unit.text.as_str()).collect();
        let text = text.join("\n");
        let temporary;
        let object = match &options.keep_dir {
            Some(dir) => build_in(dir, &text, options)?,
            None => match asked.and_then(|asked| Some(asked.kept(&text)?.object(&text, options))) {
                // A cache error, for example a full disk, must not stop forwarding.
                None | Some(Err(BuildError::Scratch(_) | BuildError::File { .. })) => {
                    temporary = wireloom_install::code_folder("native")?;
                    build_in(temporary.path(), &text, options)?
                }
                Some(object) => object?,
            },
        };
        let loaded = load(&object, programs, &units, options.counts);
        loaded.map_err(|reason| BuildError::Load {
            command: options.cc.clone(),
            folder: object.ancestors().nth(2).unwrap_or(&object).to_owned(),
            reason,
        })
    }

    pub(crate) fn engine(&self) -> &'static abi::EngineAbi {
        self.engine
    }

    pub(crate) fn counts(&self) -> bool {
        self.counts
    }

    pub(crate) fn program(&self) -> &Arc<Program> {
        &self.program
    }
}

/// The file name of the code.
const OBJECT: &str = "engines.so";

/// An entry of a cache that allows loading code.
struct Kept<'a> {
    cache: &'a Cache,
    key: String,
}

/// A cache, and a compiler whose version is being queried.
struct Asked<'a> {
    options: &'a BuildOptions,
    cache: &'a Cache,
    compiler: Running,
}

impl<'a> Asked<'a> {
    /// Queries the compiler's version. `None` if no code can be loaded from the cache: then the
    /// code is built.
    fn of(options: &'a BuildOptions, cache: &'a Cache) -> Option<Self> {
        cache.open_for_code().ok()?;
        let mut version = compiler(&options.cc);
        version.arg("--version").stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
        Some(Self { options, cache, compiler: apart::start(version, |_| ()).ok()? })
    }

    /// Returns the cache entry for this code. `None` if not all dependencies of the object are
    /// known.
    fn kept(self, text: &str) -> Option<Kept<'a>> {
        let Self { options, cache, compiler } = self;
        let version = compiler.output().ok()?.stdout;
        // Code for this processor (-march=native) need not run on another one.
        let processor = std::fs::read_to_string("/proc/cpuinfo").ok()?;
        let processor = processor.split("\n\n").next()?;
        let is_kind = |line: &&str| {
            const KIND: [&str; 8] =
                ["vendor", "cpu family", "model", "stepping", "flags", "Features", "CPU ", "isa"];
            KIND.iter().any(|name| line.starts_with(name))
        };
        let processor: Vec<&str> = processor.lines().filter(is_kind).collect();
        let built_by = (&options.cc, version, &options.flags, options.is_short, processor);
        Some(Kept { cache, key: Cache::key((built_by, c::FLAGS, RUNTIME, text)) })
    }
}

impl Kept<'_> {
    fn object(&self, text: &str, options: &BuildOptions) -> Result<PathBuf, BuildError> {
        let entry = self.cache.entry(&self.key, |folder, finished| {
            let object = build_in(folder, text, options)?;
            let kept = finished.join(OBJECT);
            let renamed = std::fs::rename(object, &kept);
            renamed.map_err(|source| BuildError::File { path: kept, source })
        });
        entry.map(|entry| entry.join(OBJECT))
    }
}

/// Compiles in a folder. Returns the shared object.
fn build_in(dir: &Path, text: &str, options: &BuildOptions) -> Result<PathBuf, BuildError> {
    let runtime = dir.join("runtime");
    std::fs::create_dir_all(&runtime)
        .map_err(|source| BuildError::File { path: runtime.clone(), source })?;
    for (name, text) in RUNTIME {
        write(&runtime.join(name), text)?;
    }
    let source = dir.join("engines.c");
    write(&source, text)?;
    let object = dir.join(OBJECT);
    let level = if options.is_short { "-O0" } else { c::level(text) };
    run_compiler(options, level, &source, &runtime, &object)?;
    Ok(object)
}

fn write(path: &Path, text: &str) -> Result<(), BuildError> {
    std::fs::write(path, text).map_err(|source| BuildError::File { path: path.to_owned(), source })
}

fn run_compiler(
    options: &BuildOptions,
    level: &str,
    source: &Path,
    runtime: &Path,
    object: &Path,
) -> Result<(), BuildError> {
    let mut command = compiler(&options.cc);
    command
        .args(["-std=gnu11", level])
        .args(c::FLAGS)
        .args(&options.flags)
        .args(["-fPIC", "-shared", "-I"]);
    command.arg(runtime).arg("-o").arg(object).arg(source);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    let words: Vec<_> = words.map(|word| word.to_string_lossy().into_owned()).collect();
    let yields = options.yields;
    let started = move |child: &Child| {
        if yields {
            yield_to_others(child);
        }
    };
    let output = apart::start(command, started)
        .and_then(Running::output)
        .map_err(|source| BuildError::NoCompiler { command: options.cc.clone(), source })?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    let log = Cache::of_user("native").log("compiler", &words.join(" "), &said);
    let why = complaint(output.status, &said);
    Err(BuildError::Compiler { command: options.cc.clone(), why, log })
}

/// Gives the compiler and its child processes the lowest priority. If that fails, the compiler
/// shares the processor.
fn yield_to_others(child: &Child) {
    const LOWEST: i32 = 19;
    let process = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    let _ = process.map(|process| setpriority_process(Some(process), LOWEST));
}

/// Returns the message about a compiler that fails on code that a working one accepts.
fn refused(command: &str, why: &str, log: Option<&Path>) -> String {
    let log = log.map(|log| format!(" Its command and messages are in {}.", log.display()));
    format!(
        "the C compiler `{command}` failed on code that gcc and clang accept: {why}. CC and \
         WIRELOOM_NATIVE_CFLAGS name the compiler and its options.{}",
        log.unwrap_or_default()
    )
}

/// Returns the command in `CC`: a program, optionally with arguments. A path with blanks is a
/// program if there is a file of that name.
fn compiler(cc: &str) -> Command {
    let mut words = cc.split_whitespace();
    match words.next() {
        Some(program) if !Path::new(cc).is_file() => {
            let mut command = Command::new(program);
            command.args(words);
            command
        }
        _ => Command::new(cc),
    }
}

/// Loads the libraries. The error is the reason.
fn load(
    object: &Path,
    programs: &[Program],
    units: &[Unit],
    counts: bool,
) -> Result<Vec<Library>, String> {
    if !object.is_file() {
        return Err("it wrote no file".to_owned());
    }
    // SAFETY: the object was just built from our own code, which has no initialisers.
    let shared = unsafe { libloading::Library::new(object) }.map_err(|e| e.to_string())?;
    let shared = Arc::new(shared);
    let mut libraries = Vec::new();
    for (program, unit) in programs.iter().zip(units) {
        // SAFETY: the symbol is an object of that type in the object's read-only memory; it lives
        // as long as `shared`, which every `Library` holds.
        let engine: &'static abi::EngineAbi = unsafe {
            let symbol = shared.get::<*const abi::EngineAbi>(unit.symbol.as_bytes());
            &**symbol.map_err(|e| e.to_string())?
        };
        if engine.abi != abi::ABI {
            return Err(format!("runtime {} where {} was expected", engine.abi, abi::ABI));
        }
        let program = Arc::new(program.clone());
        libraries.push(Library { _object: Arc::clone(&shared), engine, program, counts });
    }
    Ok(libraries)
}
