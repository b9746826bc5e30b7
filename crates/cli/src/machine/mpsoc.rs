//! StepNP machines: a program compiled for their processors, simulated with time.

use std::time::Duration;

use wireloom_ir::Output;
use wireloom_machines::mpsoc::Spec;
use wireloom_machines::mpsoc::engine::Engine;
use wireloom_net::Packet;
use wireloom_offloads::Store;

use super::Settled;
use crate::failure::{Failure, Outcome};
use crate::program::Program;
use crate::progress::Working;
use crate::simulation::{MpsocReport, RecordArgs};

/// A program on a StepNP machine.
pub struct Mpsoc {
    engine: Engine,
}

impl Mpsoc {
    /// Compiles the program and puts it on the machine.
    ///
    /// # Errors
    /// If the program cannot be compiled, or the machine has no place for it.
    pub fn build(spec: &Spec, program: &Program, store: Store, records: &RecordArgs) -> Outcome<Self> {
        let options = records.options()?;
        let _working = Working::on(format!("compiling for {}", spec.name));
        let engine = Engine::new(spec, &program.optimised, store, options);
        Ok(Self { engine: engine.map_err(Failure::unusable)? })
    }

    /// As [`super::Machine::execute`].
    pub fn execute(&mut self, packets: &[Packet], sink: &mut dyn FnMut(Output<'_>)) -> Outcome<Settled> {
        let settled = self.engine.execute(packets, sink).map_err(Failure::unusable)?;
        Ok(Settled { taken: settled.taken, lost: settled.lost })
    }

    /// As [`super::Machine::finish`].
    pub fn finish(&mut self, sink: &mut dyn FnMut(Output<'_>)) -> Outcome<Settled> {
        let settled = self.engine.finish(sink).map_err(Failure::unusable)?;
        Ok(Settled { taken: settled.taken, lost: settled.lost })
    }

    /// The offloads with their state.
    pub fn store(&self) -> &Store {
        self.engine.store()
    }

    /// The same, for updates while the machine is at rest.
    pub fn store_mut(&mut self) -> &mut Store {
        self.engine.store_mut()
    }

    /// Writes what was asked for of what it did over time.
    ///
    /// # Errors
    /// If a file cannot be written.
    pub fn write_records(&self, records: &RecordArgs, name: &str) -> Outcome {
        records.write(name, self.engine.timeline(), self.engine.series())
    }

    /// What the simulation came to, which has taken so long.
    pub fn report(&self, work: Duration) -> MpsocReport {
        let totals = self.engine.totals();
        let seconds = totals.now.as_seconds();
        let a = |part: f64, whole: f64| if whole > 0.0 { part / whole } else { 0.0 };
        MpsocReport {
            time_us: seconds * 1e6,
            mpps: a(totals.done as f64, seconds) / 1e6,
            lost: totals.lost,
            instructions: totals.instructions,
            instructions_a_packet: a(totals.instructions as f64, totals.done as f64),
            usage: self.engine.usage(),
            instructions_a_second: a(totals.instructions as f64, work.as_secs_f64()),
            statistics: self.engine.record(),
        }
    }
}
