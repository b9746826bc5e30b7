//! The router on StepNP machines of any shape: the packets of a line that it forwards, and its use
//! of resources.

use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use serde::Serialize;
use wireloom_description::Description;
use wireloom_ir::Output;
use wireloom_isa::{Arm, Riscv};
use wireloom_mpsoc::engine::MpsocEngine;
use wireloom_mpsoc::program::{
    BuildOptions, Built, Elements, Functional, Partition, Profile, build,
};
use wireloom_mpsoc::spec::Set;
use wireloom_mpsoc::{Options, Spec};
use wireloom_net::Packet;
use wireloom_net::tables::read_prefixes;
use wireloom_net::traffic::{self, Generator, PrefixPool};
use wireloom_offloads::Store;
use wireloom_power::Account;
use wireloom_sim::stats::{Record, Summary, Value};

use super::Settings;
use super::np_traffic::Traffic;
use super::rate::Verdicts;
use wireloom_console::load_store;
use wireloom_machine::{Error, Result};
use wireloom_machine::{Program, Source};

/// Instruction sets with their names.
pub const SETS: [(Set, &str); 2] = [(Set::Armv4, "ARMv4"), (Set::Rv32im, "RV32IM")];

/// Finds the machine of this name.
///
/// # Errors
/// If there is none, or its description is invalid.
pub fn machine(name: &str) -> Result<Spec> {
    let found = Description::find(name).map_err(Error::new)?;
    let (name, description) =
        found.ok_or_else(|| Error::new(format!("there is no machine '{name}'")))?;
    Spec::build(&name, description).map_err(Error::new)
}

/// The router with its tables, for any number of parallel simulations.
pub struct Router {
    program: Program,
    tables: Vec<PathBuf>,
    /// The prefixes from which destinations and sources of traffic are drawn.
    prefixes: PrefixPool,
    sources: PrefixPool,
    /// Stores that no simulation uses at the moment. The counters that earlier packets have changed
    /// in them do not affect timing.
    stores: Mutex<Vec<Store>>,
}

impl Router {
    /// Compiles the router with the tables of the measurements: the routing table of the Internet.
    ///
    /// # Errors
    /// If a file is missing.
    pub fn new(settings: &Settings) -> Result<Self> {
        let prefixes =
            read_prefixes(&settings.prefixes()?).map_err(Error::new)?.into_iter().collect();
        Self::with(&settings.router()?, settings.throughput_tables()?, prefixes)
    }

    /// Compiles a program, with tables that contain these prefixes.
    ///
    /// # Errors
    /// If the program is refused.
    pub fn with(program: &Source, tables: Vec<PathBuf>, prefixes: PrefixPool) -> Result<Self> {
        let mut program = program.compiled()?;
        program.optimised = wireloom_mpsoc::for_threads(program.lowered.clone());
        Ok(Self { program, tables, sources: prefixes.clone(), prefixes, stores: Mutex::default() })
    }

    /// Draws sources from other prefixes than destinations.
    pub fn with_sources(self, sources: PrefixPool) -> Self {
        Self { sources, ..self }
    }

    pub fn program(&self) -> &wireloom_ir::Program {
        &self.program.optimised
    }

    /// Creates offloads with the tables of the files.
    ///
    /// # Errors
    /// If a table is refused.
    pub fn loaded(&self) -> Result<Store> {
        Ok(load_store(&self.program.optimised, &self.tables)?.0)
    }

    /// Returns offloads whose tables are loaded; earlier packets may have changed their counters.
    fn store(&self) -> Result<Store> {
        let free = self.stores.lock().unwrap_or_else(PoisonError::into_inner).pop();
        free.map_or_else(|| self.loaded(), Ok)
    }

    fn give_back(&self, store: Store) {
        self.stores.lock().unwrap_or_else(PoisonError::into_inner).push(store);
    }

    /// Generates traffic whose addresses are drawn from the table.
    ///
    /// # Errors
    /// If the specification is inconsistent, or the table lacks a protocol.
    pub fn traffic(&self, spec: &traffic::Spec) -> Result<Generator> {
        Generator::with_prefixes(spec, self.prefixes.clone(), self.sources.clone())
            .map_err(Error::new)
    }

    /// Generates `count` bare packets of a kind and a length in bytes.
    ///
    /// # Errors
    /// As [`traffic`](Self::traffic).
    pub fn packets(&self, traffic: Traffic, bytes: u32, count: usize) -> Result<Vec<Packet>> {
        Ok(self.traffic(&traffic.bare(bytes))?.take(count).collect())
    }

    /// Makes a machine forward packets that arrive at line rate. The first `warm` packets fill
    /// caches and leave before the measurement, so that none of them waits ahead of the measured
    /// ones: an output line no faster than the input line would never drain the backlog. The
    /// measurement begins when a sixteenth of the other packets have arrived, and ends when the
    /// last one arrives. Only losses are counted over all of the others.
    ///
    /// # Errors
    /// If the program does not fit the machine, or the machine does not forward the packets.
    pub fn forward(
        &self,
        spec: &Spec,
        packets: &[Packet],
        warm: usize,
        seed: u64,
    ) -> Result<Forwarded> {
        let options = Options { seed, ..Options::default() };
        let engine = MpsocEngine::new(spec, self.program(), self.store()?, options);
        let mut engine = engine.map_err(Error::new)?;
        let mut verdicts = Verdicts::default();
        let mut sink = |output: Output<'_>| verdicts.add(output.verdict, output.bytes.len());
        let mut run = |engine: &mut MpsocEngine, to_come| {
            let settled = engine.run(to_come, &mut sink).map_err(Error::new)?;
            Ok::<_, Error>((settled.lost.len() as u64, engine.totals()))
        };
        let (first, others) = packets.split_at(warm);
        engine.offer(first.to_vec());
        let (lost_before, _) = run(&mut engine, 0)?;
        engine.offer(others.to_vec());
        let (lost_first, from) = run(&mut engine, (others.len() - others.len() / 16) as u64)?;
        engine.measure_latencies();
        let (lost, to) = run(&mut engine, 1)?;
        let usage = engine.usage_between(&from, &to);
        let (lost_behind, _) = run(&mut engine, 0)?;
        let lost = lost_first + lost + lost_behind;
        let seconds = (to.now - from.now).as_seconds();
        let bits = packets.iter().map(|packet| packet.bytes.len() * 8).sum::<usize>() as f64;
        verdicts.check_all_sent(&spec.name)?;
        // None is dropped, so all packets that threads have finished leave.
        let done = Verdicts { sent: to.done - from.done, ..Verdicts::default() };
        let mpps = done.rate(seconds).mpps();
        let measured = Forwarded {
            mpps,
            gbps: mpps * bits / packets.len() as f64 / 1e3,
            usage,
            cycles: (to.busy - from.busy) as f64 / (to.done - from.done) as f64,
            offered: others.len() as u64,
            lost,
            lost_before,
            latency: Latencies::of(&engine.record())?,
        };
        self.give_back(engine.into_store());
        Ok(measured)
    }

    /// Makes a machine forward packets from a cold start until the last one has left, and accounts
    /// for all energy of the run.
    ///
    /// # Errors
    /// If the program does not fit the machine.
    pub fn spend(&self, spec: &Spec, packets: &[Packet], seed: u64) -> Result<Spent> {
        let options = Options { seed, ..Options::default() };
        let engine = MpsocEngine::new(spec, self.program(), self.store()?, options);
        let mut engine = engine.map_err(Error::new)?;
        engine.offer(packets.to_vec());
        let mut verdicts = Verdicts::default();
        let mut sink = |output: Output<'_>| verdicts.add(output.verdict, output.bytes.len());
        let lost = engine.finish(&mut sink).map_err(Error::new)?.lost.len() as u64;
        verdicts.check_all_sent(&spec.name)?;
        let spent = Spent { energy: engine.energy(), verdicts, lost };
        self.give_back(engine.into_store());
        Ok(spent)
    }

    /// Counts the instructions of packets on one thread that gets every reply at once.
    ///
    /// # Errors
    /// If the program cannot be compiled.
    pub fn count(&self, set: Set, packets: &[Packet]) -> Result<Instructions> {
        let built = build(
            self.program(),
            &Partition::whole(),
            &Elements::none(),
            &BuildOptions::new(set.into()),
        )
        .map_err(Error::new)?;
        let store = self.store()?;
        let (profile, code_bytes, store) = match set {
            Set::Armv4 => profile::<Arm>(&built, self.program(), store, packets)?,
            Set::Rv32im => profile::<Riscv>(&built, self.program(), store, packets)?,
        };
        self.give_back(store);
        let instructions = profile.total.instructions as f64;
        Ok(Instructions {
            instructions: instructions / packets.len() as f64,
            communication: profile.total.communication as f64 / instructions,
            code_bytes,
        })
    }
}

/// The energy of a run.
#[derive(Clone, Debug)]
pub struct Spent {
    /// The energy account of the whole run.
    pub energy: Account,
    /// Counts of packets by verdict.
    pub verdicts: Verdicts,
    /// Packets that were lost at the input.
    pub lost: u64,
}

/// Returns the instructions of all packets, the bytes of the program's code, and the offloads.
fn profile<S: wireloom_isa::Compiled>(
    built: &Built,
    program: &wireloom_ir::Program,
    store: Store,
    packets: &[Packet],
) -> Result<(Profile, u64, Store)> {
    let code = built.program.text::<S>().map_err(Error::new)?;
    let code_bytes = code.instructions().count() as u64 * u64::from(S::PC_STEP);
    let mut functional =
        Functional::<S>::new(built, program, &Elements::none(), store).map_err(Error::new)?;
    for packet in packets {
        functional.process(packet.frame(), &mut |_| {}).map_err(Error::new)?;
    }
    Ok((functional.profile(), code_bytes, functional.into_store()))
}

/// The result of a machine that forwards the packets of a line.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Forwarded {
    /// The forwarding rate in million packets per second. A run in which the program drops a packet
    /// is refused.
    pub mpps: f64,
    /// The rate in Gb/s, with bytes as the line counts arrivals.
    pub gbps: f64,
    /// The share of cycles in which processors issued instructions.
    pub usage: f64,
    /// Cycles per packet in which processors issued instructions.
    pub cycles: f64,
    /// Packets that arrived after the ones that filled caches.
    pub offered: u64,
    /// Lost packets among them.
    pub lost: u64,
    /// Packets that were lost earlier, while caches were cold.
    pub lost_before: u64,
    #[serde(flatten)]
    pub latency: Latencies,
}

/// The latencies of packets that arrived during the measurement, and their parts, in microseconds
/// from the last received bit.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Latencies {
    /// The mean until the last bit is sent in order.
    pub latency_us: f64,
    /// The 99th percentile of the same.
    pub latency_99_us: f64,
    /// The part of the mean until packet I/O has the packet back from its thread.
    pub processing_us: f64,
    /// The part of `processing_us` in which the thread waits for the network.
    pub network_us: f64,
    /// The part of `processing_us` in which an instruction of the thread is in the pipeline.
    pub compute_us: f64,
    /// Network accesses and calls per packet.
    pub accesses: f64,
}

impl Latencies {
    fn of(record: &Record) -> Result<Self> {
        let summary = |name: &str| match record.value(&format!("platform.io.latency.{name}")) {
            Some(Value::Summary(summary)) => Ok(summary),
            _ => Err(Error::new(format!("the machine's record has no latency '{name}'"))),
        };
        let us = |name: &str| summary(name).map(|Summary { mean, .. }| mean / 1e3);
        Ok(Self {
            latency_us: us("total")?,
            latency_99_us: summary("total")?.p99 / 1e3,
            processing_us: us("processing")?,
            network_us: us("network")?,
            compute_us: us("compute")?,
            accesses: summary("accesses")?.mean,
        })
    }
}

/// The instructions of a program per packet.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Instructions {
    pub instructions: f64,
    /// The share of instructions that access the message passing engine, or the memory of arguments
    /// and replies.
    pub communication: f64,
    pub code_bytes: u64,
}

#[cfg(test)]
pub mod tests {
    use std::fmt::Write;
    use std::path::Path;

    use super::*;
    use wireloom_net::tables::Prefix;

    /// The router with one IPv4 route, for 16 ports that take every frame. The folder holds its
    /// table.
    pub fn router() -> (Router, wireloom_files::TemporaryFolder) {
        let folder = wireloom_files::TemporaryFolder::new().expect("a folder");
        let mut text = "table ports\n".to_owned();
        (0..16).for_each(|port| {
            writeln!(text, "{port} mac=02:00:00:00:00:01 any_mac=true").expect("a text")
        });
        text += "table next_hops\n0 port=0 dst=02:00:00:00:01:00 src=02:00:00:00:00:00 mtu=1500\n\
                 table destinations4\n10.0.0.0/8 next_hop=0 class=1 kind=1\ntable sources4\n10.0.0.0/8 class=2 kind=1\n";
        let table = folder.path().join("one.tables");
        std::fs::write(&table, text).expect("a file");
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let settings = Settings { root, runs: 1, only: Vec::new() };
        let prefixes = ["10.0.0.0/8"].map(|text| text.parse::<Prefix>().expect("a prefix"));
        let program = settings.router().expect("the router");
        let router = Router::with(&program, vec![table], prefixes.into_iter().collect());
        (router.expect("it is compiled"), folder)
    }

    #[test]
    fn what_a_machine_carries_and_loses_is_told_apart_from_its_beginning() {
        let (router, _folder) = router();
        let ipv4 = Traffic::named("IPv4").expect("it is there");
        let packets = router.packets(ipv4, 54, 1500).expect("packets");
        let shaped = |gbps| {
            wireloom_mpsoc::evaluation::shaped(
                &Spec::base(),
                1,
                8,
                wireloom_sim::Time::nanoseconds(40),
                gbps,
            )
        };
        let enough = router.forward(&shaped(0.4), &packets, 500, 1).expect("it runs");
        assert_eq!((enough.lost_before, enough.lost), (0, 0));
        assert!((enough.gbps / 0.4 - 1.0).abs() < 0.03, "{enough:?}");
        let counted = router.count(Set::Armv4, &packets[..200]).expect("it is counted");
        assert!(
            (enough.cycles / counted.instructions - 1.0).abs() < 0.02,
            "{enough:?} {counted:?}"
        );
        assert!((0.03..0.15).contains(&counted.communication), "{counted:?}");
        let Latencies { latency_us, latency_99_us, processing_us, network_us, compute_us, .. } =
            enough.latency;
        assert!(latency_99_us >= latency_us && latency_us > processing_us, "{enough:?}");
        assert!(processing_us > network_us + compute_us, "{enough:?}");
        // Twice the capacity of one processor: the processor is always busy, and half of the
        // packets are lost once the queue is full.
        let busy = router.forward(&shaped(2.0), &packets, 500, 1).expect("it runs");
        assert!(busy.usage > 0.99 && busy.gbps < 1.1 && busy.lost > 100, "{busy:?}");
        assert!(busy.offered == 1000 && busy.lost < busy.offered, "{busy:?}");
    }

    #[test]
    fn a_machine_that_nobody_has_described_is_refused() {
        assert!(machine("mpsoc-oc3").is_err());
        assert_eq!(machine("mpsoc-oc192").expect("it is there").processors, 48);
    }
}
