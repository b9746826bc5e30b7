//! The workload of the benchmarks: the router with the demonstration's tables, and packets in
//! memory.

use std::path::PathBuf;
use std::time::Instant;

use wireloom_ir::Verdict;
use wireloom_net::Packet;
use wireloom_net::traffic::{AddressSpec, Generator, Labels, Pick, Sizes, Spec};

use super::Settings;
use wireloom_console::{Working, load_store};
use wireloom_machine::Source;
use wireloom_machine::{Error, Result};
use wireloom_machine::{Options, Running};
use wireloom_machines::REGISTRY;

/// Packets of a pass: many more than caches hold of tables and packets, few enough to lie in
/// memory.
pub const PACKETS: u64 = 1 << 18;

impl Settings {
    /// A file of the repository.
    ///
    /// # Errors
    /// If it is not there.
    pub fn file(&self, path: &str) -> Result<PathBuf> {
        let found = self.root.join(path);
        if found.exists() {
            return Ok(found);
        }
        let help = if path.starts_with(".cache") {
            "run 'make data' first"
        } else {
            "run it from the root of the repository, or name that with --root"
        };
        Err(Error::new(format!("{}: not found", found.display())).with_help(help))
    }

    /// The router's source.
    ///
    /// # Errors
    /// If it is not there.
    pub fn router(&self) -> Result<Source> {
        let file = self.file("programs/router.loom")?;
        Ok(Source::of(file))
    }

    /// The routing table of the Internet: 606,138 IPv4 and 27,693 IPv6 prefixes of 1 November 2015.
    ///
    /// # Errors
    /// If it has not been fetched.
    pub fn prefixes(&self) -> Result<PathBuf> {
        self.file(".cache/data/pyasn/usr/lib/python3/dist-packages/data/ipasn6_20151101.dat.gz")
    }

    /// The tables of the demonstration.
    ///
    /// # Errors
    /// If they are not there.
    pub fn tables(&self) -> Result<PathBuf> {
        self.prefixes()?;
        self.file("programs/tables/demo.tables")
    }
}

/// A machine and the packets that it is to forward.
pub struct Workload {
    machine: Running,
    packets: Vec<Packet>,
}

/// Frames of 64 bytes (with frame check sequence) in this mix, their addresses drawn uniformly from
/// the prefixes of the table, their labels from those that the tables know.
///
/// # Errors
/// If the table is not there.
pub fn packets(settings: &Settings, mix: &str) -> Result<Vec<Packet>> {
    let addresses = AddressSpec { prefixes: Some(settings.prefixes()?), pick: Pick::Uniform };
    let spec = Spec {
        count: Some(PACKETS),
        sizes: Sizes::Fixed(64),
        mix: mix.parse().map_err(Error::new)?,
        labels: Labels { first: 16, last: 79 },
        destinations: addresses.clone(),
        sources: addresses,
        ..Spec::default()
    };
    Ok(Generator::new(&spec).map_err(Error::new)?.collect())
}

impl Workload {
    /// The router on a machine, with packets of a mix.
    ///
    /// # Errors
    /// If a file is missing, or the router does not forward the packets.
    pub fn new(settings: &Settings, machine: &str, mix: &str) -> Result<Self> {
        let program = settings.router()?.compiled()?;
        let (store, _) = load_store(&program.optimised, &[settings.tables()?])?;
        let (configured, working) = (REGISTRY.find(machine)?, Working::on("building the machine"));
        let progress = |what: &str| working.now(what);
        let machine = Running::start(configured, &program, store, &Options::default(), &progress)?;
        drop(working);
        let mut workload = Self { machine, packets: packets(settings, mix)? };
        let mut sent = 0u64;
        workload.machine.execute(&workload.packets, &mut |output| {
            sent += u64::from(matches!(output.verdict, Verdict::Sent { .. }));
        })?;
        if sent < PACKETS / 20 * 19 {
            return Err(Error::new(format!(
                "only {sent} of {PACKETS} packets of '{mix}' are forwarded"
            )));
        }
        Ok(workload)
    }

    /// Runs one pass over the packets and returns million packets a second.
    ///
    /// # Errors
    /// If the machine fails.
    pub fn mpps(&mut self) -> Result<f64> {
        let frames: Vec<_> = self.packets.iter().map(Packet::frame).collect();
        let mut outputs = 0u64;
        let begin = Instant::now();
        self.machine.offer(&frames, &mut |_| outputs += 1)?;
        let seconds = begin.elapsed().as_secs_f64();
        assert!(outputs >= PACKETS, "every packet has an outcome");
        Ok(PACKETS as f64 / seconds / 1e6)
    }
}
