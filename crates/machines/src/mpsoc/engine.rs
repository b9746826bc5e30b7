//! Engines on the machine: their program on all threads, their offloads as objects.

use wireloom_ir::{EngineId, Output, Program};
use wireloom_isa::InstructionSet;
use wireloom_net::Packet;
use wireloom_offloads::Store;
use wireloom_sim::stats::{Record, Series};
use wireloom_sim::{Time, Timeline};

use super::any::{AnyMachine, each};
use super::code::Code;
use super::io::{self, Delivered};
use super::machine::{Machine, Options, RunError, Totals};
use super::objects::Objects as _;
use super::program::marshal::Offloads;
use super::program::{BuildOptions, Elements, Partition, build};
use super::spec::{CallOrder, Set, Spec};
use super::toolchain::BuildError;

/// An engine on a machine.
pub struct Engine {
    machine: AnyMachine<Offloads>,
    /// Until when was simulated.
    until: Time,
    /// What has left of a packet of which more is to come.
    open: Vec<Delivered>,
}

/// Why an engine cannot be had on a machine.
#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// Its program cannot be built.
    #[error(transparent)]
    Build(#[from] BuildError),
    /// The machine has no place for it: a sentence.
    #[error("machine {machine}: {message}")]
    Machine {
        /// Its name.
        machine: String,
        /// What does not fit.
        message: String,
    },
}

/// How an engine is cut, and what each part has to do.
struct Threads<'a> {
    partition: &'a Partition,
    work: &'a [u64],
}

/// A machine that executes what was built of a program; a sentence, if it cannot.
fn machine<S: InstructionSet>(
    spec: &Spec,
    program: &Program,
    threads: &Threads<'_>,
    built: &wireloom_isa::Program,
    offloads: Offloads,
    options: Options,
) -> Result<Box<Machine<Code<S>, Offloads>>, String> {
    let offloads = match spec.call_order {
        CallOrder::Arrival => offloads,
        CallOrder::Coming => offloads.without_order(),
    };
    let ordered = offloads.interfaces().iter().find(|object| object.is_ordered);
    if let Some(object) = ordered
        && threads.partition.goes_back(&program.engines[program.main.index()])
    {
        return Err(format!(
            "packets can come back to a part that they have left, so calls of '{}' cannot be made in the order of arrival: cut elsewhere, or say `call_order = \"coming\"`",
            object.name
        ));
    }
    let mut code = Code::<S>::new(built, spec, offloads.interfaces())?;
    if threads.partition.parts() > 1 {
        let of_thread = spec.partition.threads(threads.work, [spec.processors, spec.threads])?;
        code = code.cut(threads.partition.names(program), of_thread);
    }
    Machine::new(spec, code, offloads, options).map(Box::new).map_err(|error| error.to_string())
}

/// How far simulated time goes on before the machine is looked at.
const STEP: Time = Time::nanoseconds(20_000);
/// Packets that are still to come when more can be offered: more than any line brings while time goes on by a step, so that it never falls silent
/// between two lots (of packets of 54 bytes 40 Gb/s bring 1,852).
const AHEAD: u64 = 8192;

impl Engine {
    /// Builds the program of an engine and puts it on a machine, with the offloads that `wireloom_ir::store` has made for it.
    ///
    /// # Errors
    /// See [`EngineError`].
    ///
    /// # Panics
    /// If the store is another program's.
    pub fn new(spec: &Spec, program: &Program, store: Store, options: Options) -> Result<Self, EngineError> {
        let refused = |message: String| EngineError::Machine { machine: spec.name.clone(), message };
        if spec.io.order == io::Order::Done {
            return Err(refused(
                "packets of engines leave in order: say `[io] order = \"arrival\"`".to_owned(),
            ));
        }
        if let Some(name) = spec.element.iter().find_map(|(name, element)| element.places.map(|_| name)) {
            return Err(refused(format!(
                "`element.{name}.places` is for services of applications; an engine's calls wait at its element"
            )));
        }
        let names = spec.element.keys().map(String::as_str);
        let elements = Elements::named(program, names).map_err(BuildError::from)?;
        let partition = spec.partition.partition(program, &elements).map_err(BuildError::from)?;
        let built =
            build(program, &partition, &elements, &BuildOptions::new(spec.processor.instruction_set.into()))?
                .program;
        let times = |path: &str, engine: EngineId| {
            let element = spec.element(path, &program.engines[engine.index()].name);
            element.expect("an element is one of the machine's").times(spec, program, engine)
        };
        let offloads = Offloads::new(program, &elements, store).with_times(times).map_err(refused)?;
        let threads = Threads { partition: &partition, work: &partition.work(program, &elements) };
        let machine = match spec.processor.instruction_set {
            Set::Armv4 => machine(spec, program, &threads, &built, offloads, options).map(AnyMachine::Arm),
            Set::Rv32im => machine(spec, program, &threads, &built, offloads, options).map(AnyMachine::Riscv),
        };
        let machine = machine.map_err(refused)?;
        Ok(Self { machine, until: Time::ZERO, open: Vec::new() })
    }

    /// Offers packets behind those before, and simulates until few of them are still to come. Hands on what has left, by the numbers in which packets were
    /// offered.
    ///
    /// # Errors
    /// If the program causes an exception, or the machine does not get on.
    pub fn execute(
        &mut self,
        packets: &[Packet],
        sink: &mut dyn FnMut(Output<'_>),
    ) -> Result<Settled, RunError> {
        self.offer(packets.to_vec());
        self.run(AHEAD, sink)
    }

    /// Offers packets behind those before, and simulates nothing.
    pub fn offer(&mut self, packets: Vec<Packet>) {
        self.machine.offer(packets);
    }

    /// Simulates until all packets have left, and hands them on.
    ///
    /// # Errors
    /// As [`execute`](Self::execute).
    pub fn finish(&mut self, sink: &mut dyn FnMut(Output<'_>)) -> Result<Settled, RunError> {
        self.run(0, sink)
    }

    /// Simulates until so many packets of those that were offered are still to come at most; none: until all have left. Hands on what has left.
    ///
    /// # Errors
    /// As [`execute`](Self::execute).
    pub fn run(&mut self, ahead: u64, sink: &mut dyn FnMut(Output<'_>)) -> Result<Settled, RunError> {
        let mut settled = Settled::default();
        each!(&mut self.machine, machine => {
            while machine.to_come() > ahead || (ahead == 0 && !machine.is_done()) {
                // A machine that was silent stands at its last event.
                self.until = machine.totals().now.max(self.until) + STEP;
                machine.run(self.until)?;
            }
            for delivered in machine.delivered() {
                let is_last = delivered.is_last;
                self.open.push(delivered);
                if is_last {
                    settled.note(&self.open, sink);
                    self.open.clear();
                }
            }
            settled.lost = machine.lost();
        });
        Ok(settled)
    }

    /// The offloads with their state.
    pub fn store(&self) -> &Store {
        each!(&self.machine, machine => machine.objects().store())
    }

    /// As [`store`](Self::store), for the control plane to change while no packet is there.
    pub fn store_mut(&mut self) -> &mut Store {
        each!(&mut self.machine, machine => machine.objects_mut().store_mut())
    }

    /// What has happened until now.
    pub fn totals(&self) -> Totals {
        self.machine.totals()
    }

    /// The share of cycles in which processors have issued instructions.
    pub fn usage(&self) -> f64 {
        self.usage_between(&Totals::default(), &self.totals())
    }

    /// The same, between two times.
    pub fn usage_between(&self, from: &Totals, to: &Totals) -> f64 {
        self.machine.usage(from, to)
    }

    /// Latencies in the [`record`](Self::record) are those of packets that arrive from now on.
    pub fn measure_latencies(&mut self) {
        each!(&mut self.machine, machine => machine.measure_latencies());
    }

    /// The offloads with their state, for another machine.
    pub fn into_store(mut self) -> Store {
        std::mem::take(self.store_mut())
    }

    /// Numbers over time, if it was told to keep them: see [`Machine::series`].
    pub fn series(&self) -> Option<&Series> {
        self.machine.series()
    }

    /// Everything that is counted.
    pub fn record(&self) -> Record {
        self.machine.record()
    }

    /// What threads did.
    pub fn timeline(&self) -> &Timeline {
        self.machine.timeline()
    }
}

/// Packets of which all has been told, by the numbers in which they were offered.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Settled {
    /// Those that left, in the order in which they were taken.
    pub taken: Vec<u64>,
    /// Those that were lost on the way in.
    pub lost: Vec<u64>,
}

impl Settled {
    /// All that has left of one packet.
    fn note(&mut self, packet: &[Delivered], sink: &mut dyn FnMut(Output<'_>)) {
        self.taken.extend(packet.first().map(|first| first.offered));
        for Delivered { offered, ingress, arrival_ns, verdict, bytes, .. } in packet {
            if let Some(verdict) = verdict.meaning() {
                sink(Output {
                    sequence: *offered,
                    arrival_ns: *arrival_ns,
                    ingress: *ingress,
                    verdict,
                    bytes,
                });
            }
        }
    }
}
