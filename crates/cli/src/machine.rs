//! Machines by name, with their tables loaded.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use clap::ValueEnum;
use wireloom_ir as ir;
use wireloom_ir::{Execute, Golden, Output};
use wireloom_native::{BuildOptions, Library, Native};
use wireloom_net::Packet;
use wireloom_net::tables::TableFile;
use wireloom_offloads::{Store, load_tables};

use crate::failure::{Failure, Outcome};
use crate::progress::Working;

/// A machine that executes packets in software.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum MachineName {
    /// The interpreter that defines what programs mean
    Golden,
    /// C, compiled by the system's compiler and run on one core of this computer
    Native,
}

impl MachineName {
    /// As on the command line.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Golden => "golden",
            Self::Native => "native",
        }
    }
}

enum Engine {
    Golden(Box<Golden>),
    Native(Box<Native>),
}

/// A machine with a program and its tables.
pub struct Machine {
    /// What it is.
    pub name: MachineName,
    engine: Engine,
    /// How long the program took to become executable on it: nothing for golden, generating and compiling C for native.
    pub build_time: Duration,
    /// What was loaded.
    pub tables: LoadedTables,
}

/// What loading the tables came to.
#[derive(Clone, Debug, Default)]
pub struct LoadedTables {
    /// Entries written.
    pub entries: u64,
    /// Time from opening the files to the last entry.
    pub time: Duration,
}

/// Brings the offloads of a program into being and loads table files into them, in order.
///
/// # Errors
/// If an offload's configuration, a file or an entry is refused.
pub fn load_store(program: &ir::Program, tables: &[PathBuf]) -> Outcome<(Store, LoadedTables)> {
    let mut store = ir::store(program).map_err(|refused| Failure::unusable(refused.0))?;
    let mut loaded = LoadedTables::default();
    let begin = Instant::now();
    for path in tables {
        let _working = Working::on(format!("loading {}", path.display()));
        let file = TableFile::open(path).map_err(Failure::unusable)?;
        loaded.entries += load_tables(&mut store, &file).map_err(Failure::unusable)?.entries();
    }
    loaded.time = begin.elapsed();
    Ok((store, loaded))
}

impl Machine {
    /// Builds the machine for a program and loads its tables.
    ///
    /// # Errors
    /// If the tables are refused or the C compiler fails.
    pub fn build(name: MachineName, program: &ir::Program, tables: &[PathBuf]) -> Outcome<Self> {
        let (store, tables) = load_store(program, tables)?;
        let begin = Instant::now();
        let engine = match name {
            MachineName::Golden => Engine::Golden(Box::new(Golden::new(program.clone(), store))),
            MachineName::Native => {
                let _working = Working::on("compiling C");
                let library = Library::build(program, &BuildOptions::default()).map_err(Failure::unusable)?;
                Engine::Native(Box::new(Native::new(library, store)))
            }
        };
        Ok(Self { name, engine, build_time: begin.elapsed(), tables })
    }

    /// Its offloads with their state.
    pub fn store(&self) -> &Store {
        match &self.engine {
            Engine::Golden(machine) => machine.store(),
            Engine::Native(machine) => machine.store(),
        }
    }
}

impl Execute for Machine {
    fn execute(&mut self, packets: &[Packet], sink: &mut dyn FnMut(Output<'_>)) {
        match &mut self.engine {
            Engine::Golden(machine) => machine.execute(packets, sink),
            Engine::Native(machine) => machine.execute(packets, sink),
        }
    }
}
