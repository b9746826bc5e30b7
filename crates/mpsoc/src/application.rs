//! Applications: programs in C of threads and objects (the paper, section 4), on the machine.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

use wireloom_isa::{Program, Symbols};
use wireloom_net::Packet;
use wireloom_sidl::Interfaces;
use wireloom_sim::stats::{Record, Series};
use wireloom_sim::{SpecError, Time, Timeline};

use super::any::{AnyMachine, each};
use super::code::Code;
use super::io::Delivered;
use super::machine::{Multiprocessor, RunError};
use super::options::Options;
use super::services::Services;
use super::spec::{Set, Spec};
use super::toolchain::{BuildError, Optimisation, Toolchain, file_error};
use super::totals::Totals;
use crate::multiflex::races::{Party, Race, Usage};

/// Sources for the compilation of applications: names and texts of the runtime headers and of the
/// start file.
pub const RUNTIME: &[(&str, &str)] = &[
    ("wl_platform.h", include_str!("../runtime/wl_platform.h")),
    ("wl_dsoc.h", include_str!("../runtime/wl_dsoc.h")),
    ("wl_threads.h", include_str!("../runtime/wl_threads.h")),
    ("wl_packets.h", include_str!("../runtime/wl_packets.h")),
    ("wl_print.h", include_str!("../runtime/wl_print.h")),
    (START, include_str!("../runtime/wl_start.c")),
    (SCRIPT, include_str!("../runtime/application.ld")),
];

const START: &str = "wl_start.c";
const SCRIPT: &str = "application.ld";

/// The reason why an application cannot run on a machine.
#[derive(Debug, thiserror::Error)]
pub enum ApplicationError {
    /// The compiler refuses the application's source, with this text.
    #[error("the application does not compile:\n{0}")]
    Source(String),
    /// The application cannot be built.
    #[error(transparent)]
    Build(#[from] BuildError),
    /// The interface file is invalid.
    #[error(transparent)]
    Interfaces(#[from] wireloom_sidl::Refused),
    /// The machine cannot hold the application.
    #[error("machine {machine}: {message}")]
    Machine {
        /// The name of the machine.
        machine: String,
        /// The reason, as a sentence.
        message: String,
    },
}

/// A compiled application.
#[derive(Clone, Debug)]
pub struct Compiled {
    pub program: Program,
    pub warnings: String,
}

/// The source of an application.
#[derive(Clone, Copy, Debug)]
pub struct Source<'a> {
    /// The C files.
    pub files: &'a [PathBuf],
    /// Interfaces. The C files include their wrappers by the name of the interface file, with `.h`
    /// instead of `.sidl`.
    pub interfaces: Option<&'a Interfaces>,
    /// Macros in compiler syntax: `NAME` or `NAME=VALUE`.
    pub define: &'a [String],
}

/// Reads a file of interfaces.
///
/// # Errors
/// The file cannot be read or is invalid.
pub fn interfaces(path: &Path) -> Result<Interfaces, ApplicationError> {
    let text = wireloom_files::read_text(path, wireloom_files::MAX_TEXT_BYTES)
        .map_err(file_error(path))?;
    Ok(wireloom_sidl::read(&path.display().to_string(), &text)?)
}

/// Compiles an application.
///
/// # Errors
/// See [`ApplicationError`].
pub fn compile(source: &Source<'_>, set: Set) -> Result<Compiled, ApplicationError> {
    let folder =
        wireloom_files::TemporaryFolder::new().map_err(file_error(&std::env::temp_dir()))?;
    for (name, text) in RUNTIME {
        let path = folder.path().join(name);
        fs::write(&path, text).map_err(file_error(&path))?;
    }
    if let Some(interfaces) = source.interfaces {
        let name = Path::new(&interfaces.source).file_name().unwrap_or_default();
        let header = folder.path().join(Path::new(name).with_extension("h"));
        fs::write(&header, wireloom_sidl::generate::c(interfaces)).map_err(file_error(&header))?;
    }
    let (output, start) = (folder.path().join("application.elf"), folder.path().join(START));
    let files: Vec<PathBuf> = source.files.iter().cloned().chain([start]).collect();
    let mut options = ["-Wall", "-Wextra", "-I"].map(OsStr::new).to_vec();
    options.push(folder.path().as_os_str());
    options.extend(source.define.iter().flat_map(|name| ["-D", name]).map(OsStr::new));
    let script = folder.path().join(SCRIPT);
    let toolchain = Toolchain::of(set.into());
    let compiled = toolchain.compile(Optimisation::Tuned, &options, &script, &files, &output);
    let warnings = compiled.map_err(|error| match error {
        // The source is the user's, so the compiler's messages are for the user.
        BuildError::Compiler { output, .. } => ApplicationError::Source(output),
        other => other.into(),
    })?;
    let program = Program::read(&output)
        .map_err(|source| BuildError::Program { path: output.clone(), source })?;
    Ok(Compiled { program, warnings })
}

/// An application on a machine.
pub struct Application {
    machine: AnyMachine<Services>,
    symbols: Symbols,
}

/// The state in which the run of an application stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// The first thread has ended with this value.
    Done(u32),
    /// All threads are idle: they wait for packets or calls.
    Idle,
    /// The application still runs at the time limit.
    Running,
}

/// The simulated time between two checks of the machine.
const STEP: Time = Time::nanoseconds(100_000);

impl Application {
    /// Loads a program onto a machine with the services that the program has in hardware. The line
    /// brings these packets.
    ///
    /// # Errors
    /// See [`ApplicationError`].
    pub fn new(
        spec: &Spec,
        program: &Program,
        services: Services,
        packets: Vec<Packet>,
        options: Options,
    ) -> Result<Self, ApplicationError> {
        let refused =
            |message: String| ApplicationError::Machine { machine: spec.name.clone(), message };
        let wrong = |error: SpecError| refused(error.to_string());
        let mut machine = match spec.processor.instruction_set {
            Set::Armv4 => {
                let code = Code::application(program, spec).map_err(refused)?;
                AnyMachine::Arm(Box::new(
                    Multiprocessor::new(spec, code, services, options).map_err(wrong)?,
                ))
            }
            Set::Rv32im => {
                let code = Code::application(program, spec).map_err(refused)?;
                AnyMachine::Riscv(Box::new(
                    Multiprocessor::new(spec, code, services, options).map_err(wrong)?,
                ))
            }
        };
        if !packets.is_empty() {
            machine.offer(packets);
        }
        Ok(Self { machine, symbols: program.symbols.clone() })
    }

    /// Runs until the application ends, all threads are idle, or the time limit is reached. Passes
    /// the application's output to `print`.
    ///
    /// # Errors
    /// A thread raises an exception, or threads deadlock.
    pub fn run(&mut self, limit: Time, print: &mut dyn FnMut(&[u8])) -> Result<Ended, RunError> {
        each!(&mut self.machine, machine => loop {
            let until = limit.min(machine.totals().now + STEP);
            let result = machine.run(until);
            let printed = machine.printed();
            if !printed.is_empty() {
                print(&printed);
            }
            result?;
            if let Some(value) = machine.ended() {
                return Ok(Ended::Done(value));
            }
            let now = machine.totals().now;
            if now < until {
                return Ok(Ended::Idle);
            }
            if now >= limit {
                return Ok(Ended::Running);
            }
        })
    }

    /// The names of the program's functions and variables.
    pub fn symbols(&self) -> &Symbols {
        &self.symbols
    }

    /// Takes the packets that have left the machine.
    pub fn delivered(&mut self) -> Vec<Delivered> {
        each!(&mut self.machine, machine => machine.delivered())
    }

    /// The totals up to now.
    pub fn totals(&self) -> Totals {
        self.machine.totals()
    }

    /// The share of cycles in which processors issued instructions.
    pub fn usage(&self) -> f64 {
        self.machine.usage(&Totals::default(), &self.totals())
    }

    /// The time series, if sampling is on: see [`Multiprocessor::series`].
    pub fn series(&self) -> Option<&Series> {
        self.machine.series()
    }

    /// All statistics.
    pub fn record(&self) -> Record {
        self.machine.record()
    }

    /// The timeline of the threads.
    pub fn timeline(&self) -> &Timeline {
        self.machine.timeline()
    }

    /// Data races as text, if race detection is on. Each names the variable, both accesses and
    /// their threads.
    pub fn races(&self) -> Vec<String> {
        each!(&self.machine, machine => machine.races())
            .iter()
            .map(|race| self.told(race))
            .collect()
    }

    fn told(&self, Race { address, first, second }: &Race) -> String {
        let party = |party: &Party| {
            let usage = match party.usage {
                Usage::Read => "read",
                Usage::Write => "written",
                Usage::Exchange => "exchanged",
            };
            let place = match self.symbols.at(party.instruction) {
                Some((function, offset)) => format!("{}+0x{offset:x}", function.name),
                None => format!("0x{:08x}", party.instruction),
            };
            format!("{usage} by thread {} in {place}", party.thread)
        };
        let variable = match self.symbols.variable_at(*address) {
            Some((name, 0)) => name.to_owned(),
            Some((name, offset)) => format!("{name}+0x{offset:x}"),
            None => "shared memory".to_owned(),
        };
        format!(
            "{variable} (0x{address:08x}): {}, then {}; nothing orders them",
            party(first),
            party(second)
        )
    }
}
