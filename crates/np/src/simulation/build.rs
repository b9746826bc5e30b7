//! Builds a loaded model from SystemVerilog with Verilator, the C++ compiler and the cache.

use std::fs;
use std::io::{self, BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};

use super::error::BuildError;
use super::follow::Followed;
use super::model::Model;
use super::source::{Geometry, Source};
use crate::processor::design::Hash;
use wireloom_install::{Cache, complaint, tools};

/// The files of the harness, which also determine the version of its interface to Rust. The first
/// file includes the others.
pub(crate) const HARNESS: [(&str, &str); 7] = [
    ("harness.cpp", include_str!("harness.cpp")),
    ("layout.h", include_str!("layout.h")),
    ("follow.h", include_str!("follow.h")),
    ("line.h", include_str!("line.h")),
    ("lanes.h", include_str!("lanes.h")),
    ("ports.h", include_str!("ports.h")),
    ("routers.h", include_str!("routers.h")),
];

/// The finished model in its folder.
const OBJECT: &str = "np_model.so";
/// The additional file that is compiled: the parameters of the machine, followed by the harness.
const DRIVER: &str = "np_driver";
/// A function of the harness, which is in one object file with the model. The linker takes the
/// object file from an archive only if this symbol is requested.
const ENTRY: &str = "wl_open";

/// Options of the C++ compiler for all models with the harness.
pub(crate) const STANDARD: [&str; 5] = [
    "-std=c++17",
    "-DVL_TIME_CONTEXT",
    "-DVL_USER_FATAL=1",
    "-DVL_USER_STOP=1",
    "-DVL_USER_FINISH=1",
];

#[derive(Clone, Debug)]
pub struct BuildOptions {
    /// Whether waves can be written. Such a model is slower, and each instance of a module is
    /// translated separately because Verilator does not trace blocks that it translates once.
    pub waves: bool,
    /// Whether the model shows the signals that trace a packet ([`Source::followed`]). Each
    /// instance of a module is then translated separately.
    pub follows: bool,
    /// Whether the model checks the assertions of the templates.
    pub assertions: bool,
    /// Optimisation level of the C++ compiler, 0 to 3.
    pub optimise: u8,
    /// Number of compilers that run at the same time.
    pub jobs: usize,
    /// The cache of finished models.
    pub cache: Cache,
}

impl Default for BuildOptions {
    /// Returns options for fast models, one compiler per core, and the usual cache.
    fn default() -> Self {
        let jobs = std::thread::available_parallelism().map_or(1, usize::from);
        Self {
            waves: false,
            follows: false,
            assertions: false,
            optimise: 2,
            jobs,
            cache: Cache::of_user("np"),
        }
    }
}

fn file_error(path: &Path) -> impl FnOnce(io::Error) -> BuildError + '_ {
    move |error| BuildError::File { path: path.to_owned(), error }
}

/// Builds the model of a design, or loads it from the cache. `progress` reports each activity.
///
/// # Errors
/// If a tool is missing or refuses the design.
pub fn build(
    source: &Source,
    options: &BuildOptions,
    progress: &mut dyn FnMut(&str),
) -> Result<Model, BuildError> {
    let mut verilator = tools::verilator().map_err(BuildError::Tool)?;
    let arguments = arguments(source, options);
    options.cache.open_for_code()?;
    let folder = options.cache.entry(&key(source, options, &arguments)?, |place, finished| {
        verilator.args(&arguments);
        verilate(verilator, source, options, place, progress)?;
        for (from, name) in [(place.join("build"), OBJECT), (place.to_owned(), "build.log")] {
            fs::rename(from.join(name), finished.join(name)).map_err(file_error(&from))?;
        }
        Ok::<(), BuildError>(())
    })?;
    Model::load(&folder.join(OBJECT), source.geometry.clone())
}

/// Returns the cache key of the model, which covers everything that the model depends on.
fn key(
    source: &Source,
    options: &BuildOptions,
    arguments: &[String],
) -> Result<String, BuildError> {
    let mut hash = Hash::default();
    hash.text(&tools::verilator_version().map_err(BuildError::Tool)?);
    HARNESS.iter().for_each(|(_, text)| hash.text(text));
    hash.text(&driver(source, options));
    arguments
        .iter()
        .chain(&make_flags(options))
        .chain(&source.blocks)
        .for_each(|word| hash.text(word));
    hash.text(&readable(source, options));
    for file in &source.files {
        hash.text(&file.name);
        hash.text(&file.text);
    }
    Ok(hash.finish())
}

/// Returns Verilator's arguments, without the files.
fn arguments(source: &Source, options: &BuildOptions) -> Vec<String> {
    let mut words: Vec<String> =
        ["--cc", "--exe", "-O3", "--no-timing", "-Wno-fatal", "-Wno-lint", "-Wno-style"]
            .map(str::to_owned)
            .to_vec();
    words.extend([
        "--prefix".to_owned(),
        "np_model".to_owned(),
        "--top-module".to_owned(),
        source.top.clone(),
    ]);
    if options.assertions {
        words.extend(["--assert", "-DFORMAL"].map(str::to_owned));
    } else {
        words.push("--no-assert".to_owned());
    }
    if !is_in_parts(options) {
        // This generates half as much text as -O3, which copies a repeated module into each place
        // of use.
        words.extend(["--inline-mult", "1", "--decorations", "none"].map(str::to_owned));
    }
    if options.waves {
        words.extend(["--trace-fst", "--trace-structs"].map(str::to_owned));
    } else if is_hierarchical(source, options) {
        words.push("--hierarchical".to_owned());
    }
    // Models that are loaded into one process must not find each other's symbols. All models have
    // the same flags, so the compiler cache holds Verilator's run-time library for all of them.
    words.extend(["-CFLAGS".to_owned(), format!("-fPIC -fno-gnu-unique {}", STANDARD.join(" "))]);
    words.push("-LDFLAGS".to_owned());
    words.push(format!("-shared -Wl,-Bsymbolic -Wl,-u,{ENTRY}"));
    words.extend(["-o".to_owned(), OBJECT.to_owned()]);
    words
}

/// Returns the harness parameters of a machine: names and values of C++ preprocessor macros.
pub(crate) fn definitions(geometry: &Geometry) -> Vec<(&'static str, String)> {
    let (narrow, bytes) =
        geometry.ports.as_ref().map_or((0, 0), |ports| (ports.numbers.len(), ports.bytes));
    let numbers: Vec<String> =
        geometry.ports.iter().flat_map(|ports| &ports.numbers).map(u16::to_string).collect();
    let router_lanes: Vec<String> =
        geometry.routers.iter().flat_map(|routers| &routers.lanes).map(usize::to_string).collect();
    let values = [
        ("WL_LANES", geometry.lanes),
        ("WL_PORTS", narrow),
        ("WL_PORT_BYTES", bytes),
        ("WL_USER_BITS", geometry.user_bits),
        ("WL_ARRIVAL", usize::from(geometry.arrival)),
        ("WL_MEMORY_RATIO", geometry.memory_ratio),
        ("WL_PROBE_BITS", geometry.probe_bits()),
        ("WL_ROUTERS", router_lanes.len()),
        ("WL_EVENTS", geometry.routers.as_ref().map_or(0, |routers| routers.processors)),
        ("WL_CLEARING", geometry.clearing),
        ("WL_LONGEST_PAUSE", geometry.longest_pause),
    ];
    let values = values.map(|(name, value)| (name, value.to_string()));
    let lists =
        [("WL_PORT_NUMBERS", numbers.join(",")), ("WL_ROUTER_LANES", router_lanes.join(","))];
    values.into_iter().chain(lists).collect()
}

/// Returns the description of the signals that the harness reads, if it follows packets.
fn followed<'a>(source: &'a Source, options: &BuildOptions) -> Option<&'a Followed> {
    source.followed.as_ref().filter(|_| options.follows)
}

/// Returns the configuration of Verilator that makes these signals readable; empty if no packet is
/// followed.
fn readable(source: &Source, options: &BuildOptions) -> String {
    followed(source, options).map_or_else(String::new, Followed::configuration)
}

/// Returns the text of [`DRIVER`].
fn driver(source: &Source, options: &BuildOptions) -> String {
    let waves = ("WL_WAVES", u8::from(options.waves).to_string());
    let follow = followed(source, options);
    let follows = ("WL_FOLLOW", u8::from(follow.is_some()).to_string());
    let signals = follow.map_or_else(Vec::new, Followed::definitions);
    let definitions =
        definitions(&source.geometry).into_iter().chain([waves, follows]).chain(signals);
    let definitions = definitions.map(|(name, value)| format!("#define {name} {value}\n"));
    format!("{}#include \"../{}\"\n", definitions.collect::<String>(), HARNESS[0].0)
}

/// Returns the flags of `make`. The installed makefile has not been configured, so it lacks the
/// compiler's flags.
fn make_flags(options: &BuildOptions) -> [String; 6] {
    let level = options.optimise;
    [
        format!("VM_PARALLEL_BUILDS={}", u8::from(is_in_parts(options))),
        "CFG_CXXFLAGS_PCH_I=-include".to_owned(),
        "CFG_LDLIBS_THREADS=-pthread".to_owned(),
        format!("OPT_FAST=-O{level}"),
        "OPT_SLOW=-O0".to_owned(),
        format!("OPT_GLOBAL=-O{level} -DVL_PRINTF=wl_print -include ../print.h"),
    ]
}

/// Returns whether the files of a model are compiled separately. Without optimisation the compiler
/// spends most of its time on headers, so the model is then a single file that reads them once.
fn is_in_parts(options: &BuildOptions) -> bool {
    options.optimise > 0
}

/// Returns whether repeated modules are translated once. Verilator cannot trace such modules, and
/// without optimisation their code compiles faster than the headers of their separate files.
fn is_hierarchical(source: &Source, options: &BuildOptions) -> bool {
    !options.waves
        && followed(source, options).is_none()
        && is_in_parts(options)
        && !source.blocks.is_empty()
}

fn verilate(
    mut verilator: Command,
    source: &Source,
    options: &BuildOptions,
    place: &Path,
    progress: &mut dyn FnMut(&str),
) -> Result<(), BuildError> {
    let write = |name: &str, text: &str| {
        let path = place.join(name);
        let folder = path.parent().unwrap_or(place);
        fs::create_dir_all(folder)
            .and_then(|()| fs::write(&path, text))
            .map_err(file_error(&path))?;
        Ok(path)
    };
    for (name, text) in HARNESS {
        write(name, text)?;
    }
    let driver = write(&format!("build/{DRIVER}.cpp"), &driver(source, options))?;
    if is_in_parts(options) {
        verilator.arg(driver);
    }
    let blocks = source.blocks.iter().map(|block| format!("hier_block -module \"{block}\"\n"));
    let blocks =
        write("blocks.vlt", &format!("`verilator_config\n{}", blocks.collect::<String>()))?;
    let hierarchical = is_hierarchical(source, options);
    if hierarchical {
        verilator.arg(blocks);
    }
    let readable = readable(source, options);
    if !readable.is_empty() {
        verilator.arg(write("readable.vlt", &readable)?);
    }
    write("print.h", "void wl_print(const char *format, ...);\n")?;
    let files: Result<Vec<PathBuf>, BuildError> =
        source.files.iter().map(|file| write(&file.name, &file.text)).collect();
    verilator.args(files?).arg("--Mdir").arg(place.join("build")).current_dir(place);

    let mut log = Log { text: String::new(), files: 0, compiled: 0, progress };
    (log.progress)("translating SystemVerilog");
    let mut status = log.run(&mut verilator, place)?;
    if status.success() {
        let folder = place.join("build");
        if !is_in_parts(options) {
            let list = folder.join("np_model_classes.mk");
            let file = fs::OpenOptions::new().append(true).open(&list);
            let added = file.and_then(|mut file| writeln!(file, "VM_CLASSES_FAST += {DRIVER}"));
            added.map_err(file_error(&list))?;
        }
        let makefile = if hierarchical { "np_model_hier.mk" } else { "np_model.mk" };
        let mut make = Command::new("make");
        make.args(["-f", makefile, "-j"]).arg(options.jobs.to_string()).args(make_flags(options));
        make.current_dir(&folder);
        tools::prepare_make(&mut make);
        log.files = sources(&folder) + 1;
        status = log.run(&mut make, place)?;
    }
    if status.success() {
        write("build.log", &log.text)?;
        return Ok(());
    }
    let path = options.cache.open()?.join("failed.log");
    fs::write(&path, &log.text).map_err(file_error(&path))?;
    Err(BuildError::Verilator { why: complaint(status, &log.text), log: path })
}

/// Returns the number of C++ files that Verilator has written to a folder and its subfolders.
fn sources(folder: &Path) -> usize {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    entries
        .map(|path| {
            if path.is_dir() {
                sources(&path)
            } else {
                usize::from(path.extension().is_some_and(|e| e == "cpp"))
            }
        })
        .sum()
}

/// The output of Verilator, make and the compiler, read while they run.
struct Log<'a> {
    text: String,
    /// Number of files to compile, and number of files whose compilation has started.
    files: usize,
    compiled: usize,
    progress: &'a mut dyn FnMut(&str),
}

impl Log<'_> {
    /// Runs a command. Returns how it ended.
    fn run(&mut self, command: &mut Command, place: &Path) -> Result<ExitStatus, BuildError> {
        let program = command.get_program().to_string_lossy().into_owned();
        let missing = |error| {
            BuildError::Tool(format!(
                "'{program}' cannot be started: {error}; run `wireloom tools --fetch hardware`"
            ))
        };
        let errors = place.join("stderr.log");
        command.stderr(fs::File::create(&errors).map_err(file_error(&errors))?);
        let mut child = command.stdout(Stdio::piped()).spawn().map_err(missing)?;
        for line in BufReader::new(child.stdout.take().expect("it is piped")).lines() {
            let line = line.map_err(file_error(Path::new(&program)))?;
            if line.contains(" -c ") {
                self.compiled += 1;
                let name = line.rsplit(['/', ' ']).next().unwrap_or_default();
                (self.progress)(&format!(
                    "compiling {name}, {} of {}",
                    self.compiled,
                    self.files.max(self.compiled)
                ));
            }
            self.text += &line;
            self.text.push('\n');
        }
        let status = child.wait().map_err(file_error(Path::new(&program)))?;
        self.text += &fs::read_to_string(&errors).map_err(file_error(&errors))?;
        Ok(status)
    }
}
