//! What the benchmarks run: the router with the demonstration's tables, and packets in memory.

use std::path::PathBuf;
use std::time::Instant;

use wireloom_ir::Verdict;
use wireloom_net::Packet;
use wireloom_net::traffic::{AddressSpec, Generator, Labels, Pick, Sizes, Spec};

use super::Settings;
use crate::failure::{Failure, Outcome};
use crate::machine::{Machine, MachineName};
use crate::program::ProgramArgs;
use crate::simulation::SimulationArgs;

/// Packets of a pass: many more than caches hold of tables and packets, few enough to lie in memory.
pub const PACKETS: u64 = 1 << 18;

impl Settings {
    /// A file of the repository.
    ///
    /// # Errors
    /// If it is not there.
    pub fn file(&self, path: &str) -> Outcome<PathBuf> {
        let found = self.root.join(path);
        if found.exists() {
            return Ok(found);
        }
        let help = if path.starts_with(".cache") {
            "run 'make data' first"
        } else {
            "run it from the root of the repository, or name that with --root"
        };
        Err(Failure::unusable(format!("{}: not found", found.display())).with_help(help))
    }

    /// The router's source.
    ///
    /// # Errors
    /// If it is not there.
    pub fn router(&self) -> Outcome<ProgramArgs> {
        let file = self.file("programs/router.loom")?;
        Ok(ProgramArgs { file, include: Vec::new(), set: Vec::new(), engine: None })
    }

    /// The routing table of the Internet: 606,138 IPv4 and 27,693 IPv6 prefixes of 1 November 2015.
    ///
    /// # Errors
    /// If it has not been fetched.
    pub fn prefixes(&self) -> Outcome<PathBuf> {
        self.file(".cache/data/pyasn/usr/lib/python3/dist-packages/data/ipasn6_20151101.dat.gz")
    }

    /// The tables of the demonstration.
    ///
    /// # Errors
    /// If they are not there.
    pub fn tables(&self) -> Outcome<PathBuf> {
        self.prefixes()?;
        self.file("programs/tables/demo.tables")
    }
}

/// A machine and the packets that it is to forward.
pub struct Workload {
    machine: Machine,
    packets: Vec<Packet>,
}

/// Frames of 64 bytes (with frame check sequence) in this mix, their addresses drawn uniformly from the prefixes of the
/// table, their labels from those that the tables know.
///
/// # Errors
/// If the table is not there.
pub fn packets(settings: &Settings, mix: &str) -> Outcome<Vec<Packet>> {
    let addresses = AddressSpec { prefixes: Some(settings.prefixes()?), pick: Pick::Uniform };
    let spec = Spec {
        count: Some(PACKETS),
        sizes: Sizes::Fixed(64),
        mix: mix.parse().map_err(Failure::unusable)?,
        labels: Labels { first: 16, last: 79 },
        destinations: addresses.clone(),
        sources: addresses,
        ..Spec::default()
    };
    Ok(Generator::new(&spec).map_err(Failure::unusable)?.collect())
}

impl Workload {
    /// The router on a machine, with packets of a mix.
    ///
    /// # Errors
    /// If something is missing, or the router does not forward what it is given.
    pub fn new(settings: &Settings, machine: MachineName, mix: &str) -> Outcome<Self> {
        let program = settings.router()?.compiled()?;
        let machine = Machine::build(machine, &program, &[settings.tables()?], &SimulationArgs::default())?;
        let mut workload = Self { machine, packets: packets(settings, mix)? };
        let mut sent = 0u64;
        workload.machine.execute(&workload.packets, &mut |output| {
            sent += u64::from(matches!(output.verdict, Verdict::Sent { .. }));
        })?;
        if sent < PACKETS / 20 * 19 {
            return Err(Failure::unusable(format!(
                "only {sent} of {PACKETS} packets of '{mix}' are forwarded"
            )));
        }
        Ok(workload)
    }

    /// One pass over the packets: million packets a second.
    ///
    /// # Errors
    /// If the machine fails.
    pub fn mpps(&mut self) -> Outcome<f64> {
        let mut outputs = 0u64;
        let begin = Instant::now();
        self.machine.execute(&self.packets, &mut |_| outputs += 1)?;
        let seconds = begin.elapsed().as_secs_f64();
        assert!(outputs >= PACKETS, "every packet has an outcome");
        Ok(PACKETS as f64 / seconds / 1e6)
    }
}
