//! The workload of the benchmarks: the router with the demonstration's tables, and packets in
//! memory.

use std::path::PathBuf;
use std::time::Instant;

use wireloom_ir::Verdict;
use wireloom_net::Packet;
use wireloom_net::traffic::{AddressSpec, Generator, Labels, Pick, Sizes, Spec};

use super::Settings;
use super::rate::Verdicts;
use super::registry::scratch;
use wireloom_console::{Working, load_store};
use wireloom_machine::Source;
use wireloom_machine::{Error, Result};
use wireloom_machine::{Options, Running};
use wireloom_machines::REGISTRY;
use wireloom_offloads::Store;

/// Packets per pass.
const PACKETS: u64 = 1 << 18;

impl Settings {
    /// Returns the path of a file of the repository.
    ///
    /// # Errors
    /// If it does not exist.
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

    /// Returns the router's source.
    ///
    /// # Errors
    /// If it does not exist.
    pub fn router(&self) -> Result<Source> {
        let file = self.file("programs/router.loom")?;
        Ok(Source::of(file))
    }

    /// Returns the path of the Internet's routing table: 606,138 IPv4 and 27,693 IPv6 prefixes of 1
    /// November 2015.
    ///
    /// # Errors
    /// If it has not been fetched.
    pub fn prefixes(&self) -> Result<PathBuf> {
        self.file(".cache/data/pyasn/usr/lib/python3/dist-packages/data/ipasn6_20151101.dat.gz")
    }

    /// Creates the router's offloads with the tables of the demonstration.
    ///
    /// # Errors
    /// If a file is missing.
    pub fn store(&self) -> Result<Store> {
        let program = self.router()?.compiled()?;
        Ok(load_store(&program.optimised, &[self.tables()?])?.0)
    }

    /// Returns the path of the demonstration's tables.
    ///
    /// # Errors
    /// If they are missing.
    pub fn tables(&self) -> Result<PathBuf> {
        self.prefixes()?;
        self.file("programs/tables/demo.tables")
    }
}

/// A machine, and the packets for it to forward.
pub struct Workload {
    machine: Running,
    packets: Vec<Packet>,
}

/// Starts an engine on a machine, with a table file.
///
/// # Errors
/// If the engine or the tables are wrong, or the machine does not start.
fn start(machine: &str, source: &Source, tables: PathBuf) -> Result<Running> {
    let program = source.compiled()?;
    let (store, _) = load_store(&program.optimised, &[tables])?;
    let (configured, working) = (REGISTRY.find(machine)?, Working::on("building the machine"));
    let progress = |what: &str| working.now(what);
    Running::start(configured, &program, store, &Options::default(), &progress)
}

/// Starts an engine on a machine, with tables in the notation of table files.
///
/// # Errors
/// If the engine or the tables are wrong, or the machine does not start.
pub fn start_with(machine: &str, source: &Source, tables: &str) -> Result<Running> {
    let folder = scratch()?;
    let file = folder.path().join("bench.tables");
    std::fs::write(&file, tables).map_err(|e| Error::new(format!("bench.tables: {e}")))?;
    start(machine, source, file)
}

/// Generates frames of 64 bytes (with frame check sequence) in this mix. Addresses are drawn
/// uniformly from the prefixes of the table, and labels from the ones in the tables.
///
/// # Errors
/// If the table is missing.
pub fn packets(settings: &Settings, mix: &str) -> Result<Vec<Packet>> {
    picked_packets(settings, mix, Pick::Uniform, PACKETS)
}

/// Generates `count` such frames, with destinations picked in another way.
///
/// # Errors
/// If the table is missing.
pub fn picked_packets(
    settings: &Settings,
    mix: &str,
    pick: Pick,
    count: u64,
) -> Result<Vec<Packet>> {
    let prefixes = Some(settings.prefixes()?);
    let spec = Spec {
        count: Some(count),
        sizes: Sizes::Fixed(64),
        mix: mix.parse().map_err(Error::new)?,
        labels: Labels { first: 16, last: 79 },
        destinations: AddressSpec { prefixes: prefixes.clone(), pick },
        sources: AddressSpec { prefixes, pick: Pick::Uniform },
        ..Spec::default()
    };
    Ok(Generator::new(&spec).map_err(Error::new)?.collect())
}

impl Workload {
    /// Starts the router on a machine, with packets of a mix.
    ///
    /// # Errors
    /// If a file is missing, or the router does not forward the packets.
    pub fn new(settings: &Settings, machine: &str, mix: &str) -> Result<Self> {
        Self::of(settings, settings.router()?, machine, packets(settings, mix)?)
    }

    /// Starts a router with its constants on a machine, with these packets.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn of(
        settings: &Settings,
        source: Source,
        machine: &str,
        packets: Vec<Packet>,
    ) -> Result<Self> {
        let running = start(machine, &source, settings.tables()?)?;
        let mut workload = Self { machine: running, packets };
        let sent = workload.sent()?.len() as u64;
        let dropped = (workload.packets.len() as u64).saturating_sub(sent);
        Verdicts { sent, dropped, ..Verdicts::default() }.check_all_sent(machine)?;
        Ok(workload)
    }

    /// Returns the packets that the machine sends, with their ports.
    ///
    /// # Errors
    /// If the machine fails.
    pub fn sent(&mut self) -> Result<Vec<(u16, Vec<u8>)>> {
        let mut sent = Vec::new();
        self.machine.execute(&self.packets, &mut |output| {
            if let Verdict::Sent { port } = output.verdict {
                sent.push((port, output.bytes.to_vec()));
            }
        })?;
        Ok(sent)
    }

    /// Runs one pass over the packets. Returns the rate in million packets per second.
    ///
    /// # Errors
    /// If the machine fails.
    pub fn mpps(&mut self) -> Result<f64> {
        let frames: Vec<_> = self.packets.iter().map(Packet::frame).collect();
        let mut outputs = 0;
        let begin = Instant::now();
        self.machine.offer_in_pieces(&frames, &mut |_, _| outputs += 1)?;
        let seconds = begin.elapsed().as_secs_f64();
        assert!(outputs >= frames.len(), "every packet has an outcome");
        Ok(frames.len() as f64 / seconds / 1e6)
    }
}
