//! Machines by name, with their tables loaded.

mod mpsoc;
mod name;
mod np;
mod np_state;
mod np_updates;

use std::path::PathBuf;
use std::time::{Duration, Instant};

use wireloom_ir as ir;
use wireloom_ir::{Execute, Golden, Output};
use wireloom_native::{BuildOptions, Library, Native};
use wireloom_net::Packet;
use wireloom_net::tables::TableFile;
use wireloom_offloads::{Store, Update, load_tables};

use crate::failure::{Failure, Outcome};
use crate::program::Program;
use crate::progress::Working;
use crate::simulation::{Simulated, SimulationArgs};
use crate::updates::Updates;

pub use name::{MachineName, SOFTWARE};
pub use np::{
    Np, Wanted, check_ports, labelled_processor, processor, simulate, warn_of_sections_for_nothing,
};

enum Engine {
    Golden(Box<Golden>),
    Native(Box<Native>),
    Np(Box<Np>),
    Mpsoc(Box<mpsoc::Mpsoc>),
}

/// A machine with a program and its tables.
pub struct Machine {
    /// What it is.
    pub name: MachineName,
    engine: Engine,
    /// How long the program took to become executable on it: nothing for golden, generating and compiling C for native,
    /// generating and translating SystemVerilog for a network processor.
    pub build_time: Duration,
    /// What was loaded.
    pub tables: LoadedTables,
    /// Time that it has worked on packets.
    pub work: Duration,
    /// Packets that it was given.
    given: u64,
}

/// What loading the tables came to.
#[derive(Clone, Debug, Default)]
pub struct LoadedTables {
    /// Entries written.
    pub entries: u64,
    /// Time from opening the files to the last entry.
    pub time: Duration,
}

/// Packets of which all has been told now, by their numbers among those that the machine was given.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Settled {
    /// Those that it took, in the order in which it did: that of arrival, unless several ports have lines of their own.
    pub taken: Vec<u64>,
    /// Those that it lost at its input.
    pub lost: Vec<u64>,
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
    /// If the tables are refused, the machine has no place for the program, or a compiler fails.
    pub fn build(
        name: MachineName,
        program: &Program,
        tables: &[PathBuf],
        simulation: &SimulationArgs,
    ) -> Outcome<Self> {
        let (store, tables) = load_store(&program.optimised, tables)?;
        let begin = Instant::now();
        let engine = match &name {
            MachineName::Golden => Engine::Golden(Box::new(Golden::new(program.optimised.clone(), store))),
            MachineName::Native => {
                let _working = Working::on("compiling C");
                let library = Library::build(&program.optimised, &BuildOptions::default())
                    .map_err(Failure::unusable)?;
                Engine::Native(Box::new(Native::new(library, store)))
            }
            MachineName::Np(description) => {
                warn_of_sections_for_nothing(description, &program.optimised);
                Engine::Np(Box::new(Np::build(description, program, store, simulation)?))
            }
            MachineName::Mpsoc(spec) => {
                Engine::Mpsoc(Box::new(mpsoc::Mpsoc::build(spec, program, store, &simulation.records)?))
            }
        };
        Ok(Self { name, engine, build_time: begin.elapsed(), tables, work: Duration::ZERO, given: 0 })
    }

    /// Gives packets to the machine, numbered on from those before, and hands on what leaves: grouped by arriving packet,
    /// those in the order in which it took them. What becomes of the last packets may be told later.
    ///
    /// # Errors
    /// If a simulated machine fails.
    pub fn execute(&mut self, packets: &[Packet], sink: &mut dyn FnMut(Output<'_>)) -> Outcome<Settled> {
        let numbers = self.given..self.given + packets.len() as u64;
        self.given = numbers.end;
        let begin = Instant::now();
        let settled = match &mut self.engine {
            Engine::Golden(machine) => {
                machine.execute(packets, sink);
                None
            }
            Engine::Native(machine) => {
                machine.execute(packets, sink);
                None
            }
            Engine::Np(machine) => Some(machine.execute(packets, sink)?),
            Engine::Mpsoc(machine) => Some(machine.execute(packets, sink)?),
        };
        self.work += begin.elapsed();
        Ok(settled.unwrap_or_else(|| Settled { taken: numbers.collect(), lost: Vec::new() }))
    }

    /// There are no more packets: tells what became of those of which it has not been told.
    ///
    /// # Errors
    /// If a simulated machine fails.
    pub fn finish(&mut self, sink: &mut dyn FnMut(Output<'_>)) -> Outcome<Settled> {
        let begin = Instant::now();
        let settled = match &mut self.engine {
            Engine::Golden(_) | Engine::Native(_) => return Ok(Settled::default()),
            Engine::Np(machine) => machine.finish(sink)?,
            Engine::Mpsoc(machine) => machine.finish(sink)?,
        };
        self.work += begin.elapsed();
        Ok(settled)
    }

    /// Has a machine that works on many packets at once make the updates by itself, while packets flow; leaves those that are to be made
    /// between the packets of any other machine.
    ///
    /// # Errors
    /// If an update does not suit its offload, or there is no room for it.
    pub fn schedule(&mut self, updates: &mut Updates) -> Outcome {
        let Engine::Np(machine) = &mut self.engine else { return Ok(()) };
        for update in updates.take() {
            machine.schedule(&update).map_err(|what| updates.failure(update.line, what))?;
        }
        Ok(())
    }

    /// Changes an entry of an offload. A simulated machine is to be at rest: [`finish`](Self::finish) before.
    ///
    /// # Errors
    /// If the update does not suit the offload, there is no room, or a simulated machine fails: a sentence.
    pub fn update(&mut self, update: &Update) -> Result<(), String> {
        match &mut self.engine {
            Engine::Golden(machine) => update.apply(machine.store_mut()).map_err(|refused| refused.0),
            Engine::Native(machine) => update.apply(machine.store_mut()).map_err(|refused| refused.0),
            Engine::Np(machine) => machine.update(update),
            Engine::Mpsoc(machine) => update.apply(machine.store_mut()).map_err(|refused| refused.0),
        }
    }

    /// Brings the offloads of a simulated machine that has finished up to date; answers the names of those that were left out
    /// because they were not asked for and are large.
    ///
    /// # Errors
    /// If a simulated machine fails.
    pub fn read_back(&mut self, wanted: Wanted<'_>) -> Outcome<Vec<String>> {
        match &mut self.engine {
            Engine::Np(machine) => machine.read_back(wanted),
            _ => Ok(Vec::new()),
        }
    }

    /// Whether it shows the bytes of packets that it drops. Hardware tells of them, with the reason, and forgets them.
    pub fn shows_drops(&self) -> bool {
        !matches!(self.engine, Engine::Np(_))
    }

    /// Whether packets can leave by a port; those for others are dropped and counted.
    pub fn has_port(&self, number: u16) -> bool {
        match &self.engine {
            Engine::Np(machine) => machine.has_port(number),
            _ => true,
        }
    }

    /// Its offloads with their state: of a simulated machine, as it was last read back.
    pub fn store(&self) -> &Store {
        match &self.engine {
            Engine::Golden(machine) => machine.store(),
            Engine::Native(machine) => machine.store(),
            Engine::Np(machine) => machine.store(),
            Engine::Mpsoc(machine) => machine.store(),
        }
    }

    /// Writes what was asked for of what a simulated multiprocessor did over time.
    ///
    /// # Errors
    /// If a file cannot be written.
    pub fn write_records(&self, options: &SimulationArgs) -> Outcome {
        match &self.engine {
            Engine::Mpsoc(machine) => machine.write_records(&options.records, self.name.as_str()),
            _ => Ok(()),
        }
    }

    /// What the simulation came to, if the machine is simulated.
    pub fn simulation(&self) -> Option<Simulated> {
        match &self.engine {
            Engine::Np(machine) => Some(Simulated::Np(Box::new(machine.report(self.build_time)))),
            Engine::Mpsoc(machine) => Some(Simulated::Mpsoc(machine.report(self.work))),
            _ => None,
        }
    }
}
