//! The machine kind `mpsoc`.

use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;
use wireloom_codegen_c::thread::Refused;
use wireloom_compile::passes::PassOptions;
use wireloom_compile::pipeline;
use wireloom_ir as ir;
use wireloom_machine::watch::Watched;
use wireloom_machine::{
    Capabilities, Configured, Described, Error, Knob, Line, Machine, MachineKind, Milestone,
    Passage, Profile, Program, Recordings, Refusal, Result, Settled, Sink, Snapshot, Throughput,
    UpdateError, thousands,
};
use wireloom_net::Frame;
use wireloom_offloads::{Store, Update};
use wireloom_power::Account;
use wireloom_sim::stats::{Record as Statistics, Summary, Value};
use wireloom_sim::{Effort, Time, Timeline};

use crate::energy::groups;
use crate::engine::{self, MpsocEngine};
use crate::program::{Elements, build};
use crate::toolchain::BuildError;
use crate::totals::Totals;
use crate::watch::{PROGRAM, Watching};
use crate::{Options, RunError, Spec};

/// The machine kind `mpsoc`.
pub static KIND: &dyn MachineKind = &Described {
    name: NAME,
    schema: include_str!("../../../machines/mpsoc.toml"),
    example: "mpsoc-oc48",
    configure: |name, description| {
        Ok(Arc::new(Spec::build(name, description).map_err(Error::new)?))
    },
    patterned: None,
};

const NAME: &str = "mpsoc";

/// The maximum number of spans in a timeline: some hundred megabytes.
const SPANS: usize = 4_000_000;

impl Configured for Spec {
    fn kind(&self) -> &'static str {
        NAME
    }

    fn name(&self) -> &str {
        &self.name
    }

    fn about(&self) -> &str {
        &self.about
    }

    fn settings(&self) -> Option<toml::Table> {
        toml::Table::try_from(self).ok()
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities {
            shows_drops: true,
            times: true,
            energy: true,
            updates_in_flight: false,
            loses: true,
            translates: false,
        }
    }

    fn can_be_watched(&self) -> bool {
        true
    }

    fn knobs(&self) -> &'static [Knob] {
        &[
            Knob::Rate,
            Knob::Buffer,
            Knob::Warm,
            Knob::Timeline,
            Knob::Series,
            Knob::Seed,
            Knob::Profile,
        ]
    }

    fn sections_without_effect(&self, program: &ir::Program) -> Vec<String> {
        let engine = &program.engines[program.main.index()];
        let offloads: Vec<&str> =
            engine.offloads.iter().map(|offload| offload.name.as_str()).collect();
        let explain = |section: String| {
            format!(
                "machine {}: [object.{section}] changes nothing here: `{}` has no such offload, and it \
                 is no kind\nhelp: offloads are {}",
                self.name,
                engine.name,
                if offloads.is_empty() { "none".to_owned() } else { offloads.join(", ") },
            )
        };
        self.sections_for_nothing(program).into_iter().map(explain).collect()
    }

    fn refusals(&self, program: &Program) -> Vec<Refusal> {
        match built(self, &for_threads(program.lowered.clone())) {
            Ok(()) => Vec::new(),
            Err(refused) => vec![refused.into()],
        }
    }

    fn start(
        &self,
        program: &Program,
        store: Store,
        options: &wireloom_machine::Options,
        progress: &dyn Fn(&str),
    ) -> Result<Box<dyn Machine>> {
        progress(&format!("compiling for {}", self.name));
        let recording = Options::recording(options.timeline_ns, options.interval_ns);
        let seed = options.seed.unwrap_or(recording.seed);
        let profile = options.profile;
        let effort = if options.watched || profile { Effort::Naive } else { recording.effort };
        let mut spec = self.clone();
        if let Some(packets) = options.buffer {
            spec.io.input.queue_packets = packets.into();
        }
        let (warm, rate) = (options.warm, options.rate);
        let options = Options { seed, warm, rate, effort, profile, ..recording };
        let engine = MpsocEngine::new(&spec, &for_threads(program.lowered.clone()), store, options)
            .map_err(Error::new)?;
        Ok(Box::new(Mpsoc { engine, watching: Watching::new(&spec) }))
    }
}

/// The platform's objects compute hashes and random numbers for hardware threads. A hash takes a
/// processor of 32 bits hundreds of cycles, and a processor does not know the sequence number of
/// its packet.
const PASSES: PassOptions =
    PassOptions { header: None, served: &["hash", "crc", "random"], scalars: true };

/// Optimises a program for hardware threads.
pub fn for_threads(mut program: ir::Program) -> ir::Program {
    pipeline::optimise(&mut program, &PASSES);
    program
}

impl Options {
    /// The default options, with a timeline of the first `timeline_ns` nanoseconds, and a time
    /// series with an interval of `interval_ns` nanoseconds.
    pub fn recording(timeline_ns: Option<u64>, interval_ns: Option<u64>) -> Self {
        Self {
            timeline: match timeline_ns {
                Some(within) => Timeline::within(Time::ZERO, Time::nanoseconds(within), SPANS),
                None => Timeline::off(),
            },
            sampling: interval_ns.map(Time::nanoseconds),
            ..Self::default()
        }
    }
}

/// Checks that a machine's processors can execute a program. Returns the reason if not. Only the
/// compiler knows the stack use of variables; without it, that is not checked.
fn built(spec: &Spec, program: &ir::Program) -> Result<(), Refused> {
    let elements = Elements::named(program, spec.element.keys().map(String::as_str))?;
    let partition = spec.partition.partition(program, &elements)?;
    match build(program, &partition, &elements, &spec.processor.build_options()) {
        Err(BuildError::Refused(refused)) => Err(refused),
        _ => Ok(()),
    }
}

/// A program on a StepNP machine.
pub(crate) struct Mpsoc {
    pub(crate) engine: MpsocEngine,
    pub(crate) watching: Watching,
}

pub(crate) fn settled(settled: Result<engine::Settled, RunError>) -> Result<Settled> {
    let engine::Settled { taken, lost } = settled.map_err(Error::new)?;
    let (taken, lost) = (taken.into_iter().collect(), lost.into_iter().collect());
    Ok(Settled { taken, lost, ..Settled::default() })
}

impl Machine for Mpsoc {
    fn offer(&mut self, frames: &[Frame<'_>], sink: Sink<'_>) -> Result<Settled> {
        let packets: Vec<_> = frames.iter().map(Frame::to_packet).collect();
        settled(self.engine.execute(&packets, sink))
    }

    fn advance(&mut self, cycles: u64, sink: Sink<'_>) -> Result<Settled> {
        settled(self.engine.advance(cycles, sink))
    }

    fn advance_to(&mut self, time_ns: u64, sink: Sink<'_>) -> Result<Settled> {
        settled(self.engine.advance_to(time_ns, sink))
    }

    fn next_timer(&self) -> Option<u64> {
        self.engine.next_timer()
    }

    fn finish(&mut self, sink: Sink<'_>) -> Result<Settled> {
        settled(self.engine.finish(sink))
    }

    fn update(&mut self, update: &Update, sink: Sink<'_>) -> Result<Settled, UpdateError> {
        let changed = self.engine.change(sink, |store| update.apply(store));
        let (changed, made) = changed.map_err(Error::new)?;
        made.map_err(|refused| UpdateError::Refused(refused.0))?;
        settled(Ok(changed)).map_err(UpdateError::from)
    }

    fn store(&self) -> &Store {
        self.engine.store()
    }

    fn restore(&mut self, snapshot: &Snapshot) -> Result {
        snapshot.restore(self.engine.store_mut())
    }

    fn follow(&mut self, packet: u64) {
        self.engine.follow(packet);
    }

    fn followed(&self) -> Option<Passage> {
        let followed = self.engine.followed()?;
        let milestone = |place: String, what: String, at: Time| Milestone {
            place,
            what,
            cycle: self.engine.cycle(at),
            ns: at.as_nanoseconds(),
        };
        let outside = |what: &str, at| milestone(String::new(), what.to_owned(), at);
        let (course, omitted) = self.engine.course();
        let mut milestones = vec![outside("last bit in", followed.arrived?)];
        let inside = course.into_iter();
        milestones.extend(inside.map(|event| milestone(event.place, event.what, event.at)));
        milestones.extend(followed.left.iter().map(|at| outside("last bit out or drop", *at)));
        // Copies can leave while the packet's thread continues.
        milestones.sort_by(|a, b| a.ns.total_cmp(&b.ns));
        let lines = vec![
            Line::new("instructions", followed.instructions.to_string()),
            Line::new("in the pipeline", format!("{:.1} ns", followed.compute.as_nanoseconds())),
            Line::new(
                "on the network",
                format!(
                    "{:.1} ns, for {} accesses",
                    followed.network.as_nanoseconds(),
                    followed.accesses
                ),
            ),
        ];
        Some(Passage { milestones, omitted, lines })
    }

    fn record(&self, work: Duration) -> Option<wireloom_machine::Record> {
        let (from, all) = (self.engine.counted_from(), self.engine.totals());
        let totals = all.since(&from);
        let latency = self.engine.arrival_to_departure();
        let energy = self.engine.energy();
        let ratio = |part: f64, whole: f64| if whole > 0.0 { part / whole } else { 0.0 };
        let values = Values {
            throughput: Throughput::between(&common(&from), &common(&all), latency),
            instructions: totals.instructions,
            instructions_a_packet: ratio(totals.instructions as f64, totals.done as f64),
            usage: self.engine.usage(),
            instructions_a_second: ratio(totals.instructions as f64, work.as_secs_f64()),
            watts: energy.total().mean_watts(energy.time()),
            nanojoules_a_packet: ratio(energy.total().as_joules() * 1e9, totals.done as f64),
            power: energy.record(),
            statistics: self.engine.record(),
        };
        Some(values.record(&energy))
    }

    fn profile(&self) -> Option<Profile> {
        self.engine.profile(PROGRAM)
    }

    fn watch(&mut self) -> Option<&mut dyn Watched> {
        Some(self)
    }

    fn recordings(&self) -> Recordings<'_> {
        Recordings {
            timeline: Some(self.engine.timeline()),
            series: self.engine.series(),
            events: None,
        }
    }
}

/// The totals that all machines have.
fn common(totals: &Totals) -> wireloom_machine::Totals {
    wireloom_machine::Totals {
        seconds: totals.now.as_seconds(),
        packets: totals.done,
        sent: totals.sent,
        sent_bytes: totals.sent_bytes,
        lost: totals.lost,
    }
}

/// The summary of a simulation from the time at which packets began to count.
#[derive(Clone, Debug, Serialize)]
struct Values {
    #[serde(flatten)]
    throughput: Throughput,
    /// The number of instructions of all processors.
    instructions: u64,
    instructions_a_packet: f64,
    /// The share of cycles in which processors issued instructions.
    usage: f64,
    /// Simulated instructions per second of host time.
    instructions_a_second: f64,
    /// The mean power, and the energy per packet that threads finished.
    watts: f64,
    nanojoules_a_packet: f64,
    power: Statistics,
    /// All other statistics.
    statistics: Statistics,
}

impl Values {
    fn record(self, energy: &Account) -> wireloom_machine::Record {
        let latency = |part: &str| match self
            .statistics
            .value(&format!("platform.io.latency.{part}"))
        {
            Some(Value::Summary(Summary { mean, p50, p99, max, .. })) => {
                format!(
                    "mean {mean:.0} ns; 50 % within {p50:.0}, 99 % within {p99:.0}, at most {max:.0}"
                )
            }
            _ => "not known".to_owned(),
        };
        let mut lines = Vec::from_iter(self.throughput.measured_from());
        lines.extend([
            self.throughput.rate(),
            Line::new("use", format!("{:.1} % of the processors' cycles", 100.0 * self.usage)),
            Line::new("instructions", format!("{:.1} a packet", self.instructions_a_packet)),
            Line::new("latency", latency("total")),
            Line::new("processing", latency("processing")),
            Line::new("network", latency("network")),
            Line::new("pipeline", latency("compute")),
            Line::new("power", energy.line(self.watts, self.nanojoules_a_packet, groups(energy))),
            self.throughput.lost(),
            Line::new(
                "simulated",
                format!(
                    "{} instructions, {} a second",
                    thousands(self.instructions),
                    thousands(self.instructions_a_second as u64)
                ),
            ),
        ]);
        let (bars, parts) = (Vec::new(), Vec::new());
        wireloom_machine::Record { lines, bars, parts, values: Box::new(self) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::energy::plan;

    #[test]
    fn what_people_read_is_what_was_counted() {
        let values = Values {
            throughput: Throughput::default(),
            instructions: 40_000,
            instructions_a_packet: 400.0,
            usage: 0.5,
            instructions_a_second: 2e6,
            watts: 0.25,
            nanojoules_a_packet: 77.0,
            power: Statistics::new(),
            statistics: Statistics::new(),
        };
        let plan = plan(&Spec::base(), &[], 0).expect("a plan");
        let lines = values.record(&Account::new(plan, None).expect("an account")).lines;
        let text = |name: &str| &lines.iter().find(|line| line.name == name).expect("a line").text;
        assert_eq!(text("use"), "50.0 % of the processors' cycles");
        assert_eq!(text("instructions"), "400.0 a packet");
        assert_eq!(text("latency"), "not known");
        assert!(text("power").starts_with("0.250 W, 77.0 nJ a packet: processors 0.000, local"));
        assert_eq!(text("simulated"), "40,000 instructions, 2,000,000 a second");
    }
}
