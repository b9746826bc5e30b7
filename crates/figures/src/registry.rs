//! The list of all benchmarks.

use std::path::Path;
use std::process::Command;
use std::time::Instant;

use serde_json::Value;
use wireloom_native::{BuildOptions, Library};
use wireloom_net::capture::{Destination, Writer};

use super::changes;
use super::flows::Flows;
use super::ixp;
use super::loads::Load;
use super::mpsoc_speed;
use super::peer::Peer;
use super::specialised;
use super::workload::{Workload, packets};
use super::{Benchmark, Better, Settings};
use wireloom_machine::{Error, Result};

/// All benchmarks, in the order in which they are shown.
pub const BENCHMARKS: &[Benchmark] = &[
    Benchmark {
        name: "check",
        what: "router: from source to optimised step IR",
        unit: "ms",
        better: Better::Lower,
        goal: Some(50.0),
        measure: |settings| {
            let router = settings.router()?;
            samples(settings, || {
                let begin = Instant::now();
                router.compiled()?;
                Ok(begin.elapsed().as_secs_f64() * 1e3)
            })
        },
    },
    Benchmark {
        name: "native-build",
        what: "router: native build from scratch, C compiler and all",
        unit: "s",
        better: Better::Lower,
        goal: Some(5.0),
        measure: |settings| {
            let program = settings.router()?.compiled()?.optimised;
            samples(settings, || {
                let begin = Instant::now();
                Library::build(&program, &BuildOptions::default()).map_err(Error::new)?;
                Ok(begin.elapsed().as_secs_f64())
            })
        },
    },
    Benchmark {
        name: "golden-ipv4",
        what: "golden: router, 64-byte IPv4, 606,138 routes, destinations uniform over the table",
        unit: "Mpps",
        better: Better::Higher,
        goal: Some(0.3),
        measure: |settings| rate(settings, "golden", "ipv4"),
    },
    Benchmark {
        name: "native-ipv4",
        what: "native, one core: router, 64-byte IPv4, 606,138 routes, destinations uniform over the table",
        unit: "Mpps",
        better: Better::Higher,
        goal: Some(10.0),
        measure: |settings| rate(settings, "native", "ipv4"),
    },
    Benchmark {
        name: "native-ipv6",
        what: "native, one core: router, IPv6, 27,693 routes, destinations uniform over the table",
        unit: "Mpps",
        better: Better::Higher,
        goal: Some(6.0),
        measure: |settings| rate(settings, "native", "ipv6"),
    },
    Benchmark {
        name: "native-mpls4",
        what: "native, one core: router, four labels on IPv4: swapped, popped, or popped and looked under",
        unit: "Mpps",
        better: Better::Higher,
        goal: Some(6.0),
        measure: |settings| rate(settings, "native", "mpls4/ipv4"),
    },
    Benchmark {
        name: "native-flowcount",
        what: "native, one core: packets and bytes of each of 1,000,000 flows, 64-byte IPv4, flows in random order",
        unit: "Mpps",
        better: Better::Higher,
        goal: Some(5.0),
        measure: |settings| {
            let mut flows = Flows::counted(settings, "native")?;
            samples(settings, || flows.mpps())
        },
    },
    Benchmark {
        name: "native-nat",
        what: "native, one core: address translation of 1,000,000 flows, 64-byte IPv4, flows and directions in random \
               order",
        unit: "Mpps",
        better: Better::Higher,
        goal: Some(5.0),
        measure: |settings| {
            let mut flows = Flows::translated(settings, "native")?;
            samples(settings, || flows.mpps())
        },
    },
    Benchmark {
        name: "native-firewall",
        what: "native, one core: stateful filter with 1,000,000 flows that live by protocol and phase, 64-byte IPv4, flows and \
               directions in random order",
        unit: "Mpps",
        better: Better::Higher,
        goal: Some(10.0),
        measure: |settings| {
            let mut flows = Flows::filtered(settings, "native")?;
            samples(settings, || flows.mpps())
        },
    },
    Benchmark {
        name: "native-timers",
        what: "native, one core: counting of 1,000,000 flows while a million timers are set and a million end for each ten \
               million packets, as a multiple of its rate without timers, taken in turns",
        unit: "times",
        better: Better::Higher,
        goal: Some(0.8),
        measure: |settings| {
            let mut without = Flows::timed(settings, "native", false)?;
            let mut with = Flows::timed(settings, "native", true)?;
            samples(settings, || {
                let before = with.counted_by("ended")?;
                let ratio = with.mpps()? / without.mpps()?;
                match with.counted_by("ended")? - before {
                    0 => Err(Error::new("no timer ended")),
                    _ => Ok(ratio),
                }
            })
        },
    },
    Benchmark {
        name: "native-syncookies",
        what: "native, one core: SYN segments of 1,000,000 clients in random order, each answered with a cookie",
        unit: "Mpps",
        better: Better::Higher,
        goal: Some(10.0),
        measure: |settings| {
            let mut load = Load::flood(settings, "native")?;
            samples(settings, || load.mpps())
        },
    },
    Benchmark {
        name: "native-balancer",
        what: "native, one core: load balancer with 1,000,000 recorded connections in random order, three servers",
        unit: "Mpps",
        better: Better::Higher,
        goal: Some(10.0),
        measure: |settings| {
            let mut load = Load::balanced(settings, "native")?;
            samples(settings, || load.mpps())
        },
    },
    Benchmark {
        name: "native-match",
        what: "native, one core: 256 bytes of TCP payload searched for 100 patterns, in random order",
        unit: "Mpps",
        better: Better::Higher,
        goal: Some(3.0),
        measure: |settings| {
            let mut load = Load::searched(settings, "native")?;
            samples(settings, || load.mpps())
        },
    },
    Benchmark {
        name: "native-fragment",
        what: "native, one core: IPv4 packets of 2,000 bytes in random order, each sent in two pieces",
        unit: "Mpps",
        better: Better::Higher,
        goal: Some(2.0),
        measure: |settings| {
            let mut load = Load::fragmented(settings, "native")?;
            samples(settings, || load.mpps())
        },
    },
    Benchmark {
        name: "native-specialised",
        what: "native-ipv4, specialised to tables without tags and labels, as a multiple of the general engine with \
               the same tables, taken in turns",
        unit: "times",
        better: Better::Higher,
        goal: None,
        measure: |settings| samples(settings, specialised::sampler(settings)?),
    },
    Benchmark {
        name: "native-changes",
        what: "native-ipv4 while another thread makes 50,000 changes a second of routes and next hops, as a \
               multiple of its rate without changes, of processor time, taken in turns; no frame has \
               a mix of two next hops",
        unit: "times",
        better: Better::Higher,
        goal: Some(0.95),
        measure: |settings| samples(settings, changes::sampler(settings)?),
    },
    Benchmark {
        name: "native-to-golden",
        what: "native-ipv4 as a multiple of golden-ipv4, taken in turns",
        unit: "times",
        better: Better::Higher,
        goal: Some(30.0),
        measure: |settings| {
            let mut golden = Workload::new(settings, "golden", "ipv4")?;
            let mut native = Workload::new(settings, "native", "ipv4")?;
            samples(settings, || Ok(native.mpps()? / golden.mpps()?))
        },
    },
    Benchmark {
        name: "native-to-dpdk",
        what: "native-ipv4 (the whole router) as a multiple of a DPDK rte_fib lookup loop over the same prefixes and \
               destinations, taken in turns",
        unit: "times",
        better: Better::Higher,
        goal: None,
        measure: |settings| {
            let mut peer = peer(settings)?;
            let mut native = Workload::new(settings, "native", "ipv4")?;
            samples(settings, || Ok(native.mpps()? / peer.look_up()?.mpps))
        },
    },
    Benchmark {
        name: "dpdk-lookup",
        what: "DPDK's rte_fib (DIR-24-8), bulk lookups of the destinations of native-ipv4 and nothing else",
        unit: "M/s",
        better: Better::Higher,
        goal: None,
        measure: |settings| {
            let mut peer = peer(settings)?;
            samples(settings, || Ok(peer.look_up()?.mpps))
        },
    },
    Benchmark {
        name: "table-load",
        what: "606,138 IPv4 and 27,693 IPv6 prefixes, from a file of a fresh process into longest-prefix match",
        unit: "s",
        better: Better::Lower,
        goal: Some(2.0),
        measure: |settings| {
            let tables = RouteTables::new(settings)?;
            samples(settings, || tables.number("load_seconds"))
        },
    },
    Benchmark {
        name: "table-memory",
        what: "growth of that process by loading them",
        unit: "MiB",
        better: Better::Lower,
        goal: Some(64.0),
        measure: |settings| {
            let tables = RouteTables::new(settings)?;
            samples(settings, || tables.number("memory_mib"))
        },
    },
    Benchmark {
        name: "streaming-memory",
        what: "growth of peak memory from a capture of 10,000 packets to one of 1,000,000 of the same flows",
        unit: "MiB",
        better: Better::Lower,
        goal: Some(2.0),
        measure: |settings| streaming_memory(settings, "native", [10_000, 1_000_000]),
    },
    Benchmark {
        name: "streaming-memory-mpsoc",
        what: "the same on mpsoc-oc48, from 100,000 packets, which fill its queues, to 1,000,000",
        unit: "MiB",
        better: Better::Lower,
        goal: Some(2.0),
        measure: |settings| streaming_memory(settings, "mpsoc-oc48", [100_000, 1_000_000]),
    },
    Benchmark {
        name: "mpsoc-speed",
        what: "simulation on one core: the router on mpsoc-oc192, 40,000 IPv4 packets of 60 bytes at 10 Gb/s",
        unit: "million instructions a second",
        better: Better::Higher,
        goal: Some(20.0),
        measure: mpsoc_speed::instructions_a_second,
    },
    Benchmark {
        name: "ixp-speed",
        what: "simulation on one core: ipfwdr on the six engines of ixp1200, under load",
        unit: "million engine cycles a second",
        better: Better::Higher,
        goal: Some(5.0),
        measure: ixp::speed::cycles_a_second,
    },
];

/// Takes the number of samples in the settings.
fn samples(settings: &Settings, mut sample: impl FnMut() -> Result<f64>) -> Result<Vec<f64>> {
    (0..settings.runs).map(|_| sample()).collect()
}

fn rate(settings: &Settings, machine: &str, mix: &str) -> Result<Vec<f64>> {
    let mut workload = Workload::new(settings, machine, mix)?;
    samples(settings, || workload.mpps())
}

/// Starts DPDK with the tables of the router and the packets of native-ipv4.
fn peer(settings: &Settings) -> Result<Peer> {
    Peer::start(settings, &settings.store()?, 4, &packets(settings, "ipv4")?)
}

/// Returns a command that runs this program in another process.
///
/// # Errors
/// If the program's file cannot be found.
pub fn command() -> Result<Command> {
    let path =
        std::env::current_exe().map_err(|e| Error::new(format!("this program's own path: {e}")))?;
    Ok(Command::new(path))
}

/// Runs a command that writes JSON.
///
/// # Errors
/// If the command fails, or its output is not JSON.
pub fn json(command: &mut Command) -> Result<Value> {
    let output = command.output().map_err(|e| Error::new(format!("wireloom in wireloom: {e}")))?;
    // Status 1 means that machines differ; the report has the details.
    if !matches!(output.status.code(), Some(0 | 1)) {
        return Err(Error::new(String::from_utf8_lossy(&output.stderr)));
    }
    serde_json::from_slice(&output.stdout)
        .map_err(|e| Error::new(format!("wireloom in wireloom: {e}")))
}

/// Only the routes of the demonstration.
struct RouteTables<'a> {
    settings: &'a Settings,
    folder: wireloom_files::TemporaryFolder,
}

impl<'a> RouteTables<'a> {
    fn new(settings: &'a Settings) -> Result<Self> {
        let folder = scratch()?;
        let prefixes = std::path::absolute(settings.prefixes()?)
            .map_err(|e| Error::new(format!("the prefixes' path: {e}")))?;
        let mut text = String::new();
        for family in [4, 6] {
            text += &format!(
                "table destinations{family}\nimport pyasn \"{}\" family={family} next_hop=(asn % 16) kind=1\n",
                prefixes.display()
            );
        }
        std::fs::write(folder.path().join("routes.tables"), text)
            .map_err(|e| Error::new(format!("routes.tables: {e}")))?;
        Ok(Self { settings, folder })
    }

    fn number(&self, name: &str) -> Result<f64> {
        let router = self.settings.router()?.file;
        let tables = self.folder.path().join("routes.tables");
        let report = json(
            command()?.arg("tables").arg(router).arg("--tables").arg(tables).args(["--json", "-"]),
        )?;
        report[name].as_f64().ok_or_else(|| Error::new(format!("the report has no '{name}'")))
    }
}

/// Creates a temporary folder for a benchmark.
///
/// # Errors
/// If it cannot be created.
pub fn scratch() -> Result<wireloom_files::TemporaryFolder> {
    wireloom_files::TemporaryFolder::new()
        .map_err(|e| Error::new(format!("a temporary folder: {e}")))
}

/// Returns the growth of peak memory, in MiB, from a capture of `packets[0]` packets to one of
/// `packets[1]`. Both captures repeat the same packets: each new flow would occupy an entry of the
/// flow table, but the benchmark measures the effect of a capture's length alone.
fn streaming_memory(settings: &Settings, machine: &str, packets: [u64; 2]) -> Result<Vec<f64>> {
    /// The number of distinct packets, which then repeat.
    const FLOWS: u64 = 10_000;
    let folder = scratch()?;
    let source = self::packets(settings, "ipv4=5,ipv6=3,mpls1..4=2")?;
    let write = |name: &str, count: u64| -> Result<std::path::PathBuf> {
        let path = folder.path().join(name);
        let mut writer = Writer::create(&path)?;
        for index in 0..count {
            let packet = &source[(index % FLOWS) as usize];
            writer.write(Destination::Port(packet.ingress), index, &packet.bytes)?;
        }
        writer.finish()?;
        Ok(path)
    };
    let captures = [write("small.pcapng", packets[0])?, write("large.pcapng", packets[1])?];
    let router = settings.router()?.file;
    let tables = settings.tables()?;
    let peak = |capture: &Path| -> Result<f64> {
        let mut command = command()?;
        command.arg("run").arg(&router).arg("--tables").arg(&tables).arg("--in").arg(capture);
        command
            .args(["--on", machine])
            .arg("--out")
            .arg(folder.path().join("out.pcapng"))
            .args(["--json", "-"]);
        let report = json(&mut command)?;
        report["peak_memory_kib"]
            .as_f64()
            .map(|kib| kib / 1024.0)
            .ok_or_else(|| Error::new("the report has no 'peak_memory_kib'"))
    };
    samples(settings, || {
        let (small, large) = (peak(&captures[0])?, peak(&captures[1])?);
        Ok((large - small).max(0.0))
    })
}
