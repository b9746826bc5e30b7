//! `wireloom forward`: live packets between network interfaces.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use clap::{Args, ValueEnum, ValueHint};
use serde::Serialize;
use wireloom_console::output::{self, JsonTarget};
use wireloom_console::{Places, load_store, thousands};
use wireloom_ir as ir;
use wireloom_ir::{Reason, Verdict};
use wireloom_lang::suggest::suggest_or_list;
use wireloom_live::{
    Capability, Forwarder, Io, LOCAL_AND_MAIN, Limits, MIRROR_RIGHTS, Mirror, MirrorCounters,
    Observer, PortCounters, Stop, give_up_all_but,
};
use wireloom_machine::{Error, Options, reason_name};
use wireloom_machines::REGISTRY;

use crate::failure::Outcome;
use crate::machine::MachineName;
use crate::program::ProgramArgs;
use crate::report::{Fates, Tally};

/// See `wireloom forward --help`.
#[derive(Args, Debug)]
pub struct Forward {
    #[command(flatten)]
    program: ProgramArgs,
    /// Forward on this interface: ports 0, 1, ... of the program in the order given. `tap:NAME`
    /// creates a TAP device, whose kernel side is the other end of the cable; `pcap:FILE@RATE` plays
    /// a capture (RATE as of `run --rate`) and discards what is sent there
    #[arg(long = "port", value_name = "INTERFACE", required = true)]
    ports: Vec<String>,
    /// Load a table file at the start (may be given several times); entries from the kernel replace
    /// those of a file with the same key
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    tables: Vec<PathBuf>,
    /// Do not follow the kernel's routes and neighbours: table files say everything
    #[arg(long = "static")]
    is_static: bool,
    /// Compare the tables with the kernel's state every so many seconds, even without a
    /// notification of a change, and have it verify the neighbours in use
    #[arg(long, value_name = "SECONDS", default_value_t = 30, conflicts_with = "is_static",
        value_parser = clap::value_parser!(u64).range(1..))]
    reconcile: u64,
    /// Follow this routing table of the kernel, by name or number (may be given several times). Of
    /// several, the first one that has a route for an address decides, as with `ip rule`; by
    /// default local, then main
    #[arg(long = "table", value_name = "TABLE", conflicts_with = "is_static",
        value_parser = kernel_table)]
    kernel_tables: Vec<u32>,
    /// Hand at most so many packets a second to the kernel for each reason, or for one reason (may
    /// be given several times); 0 hands over none
    #[arg(long, value_name = "[REASON=]PACKETS", value_parser = CpuRate::parse)]
    cpu_rate: Vec<CpuRate>,
    /// Exchange frames with the interfaces in this way
    #[arg(long, value_enum, value_name = "WAY", default_value_t = Way::Auto)]
    io: Way,
    /// Never sleep: a core is busy all the time, and packets wait less
    #[arg(long)]
    busy: bool,
    /// Print the counters every so many seconds
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..))]
    interval: Option<u64>,
    /// Write the counters as JSON at the end, to a file or to standard output (-)
    #[arg(long, value_name = "FILE|-")]
    json: Option<JsonTarget>,
}

/// A limit on packets to the kernel.
#[derive(Clone, Debug)]
struct CpuRate {
    /// Every reason without a limit of its own, if absent.
    reason: Option<String>,
    packets: u64,
}

impl CpuRate {
    fn parse(text: &str) -> Result<Self, String> {
        let (reason, packets) = match text.split_once('=') {
            Some((reason, packets)) => (Some(reason.to_owned()), packets),
            None => (None, text),
        };
        let packets = packets.parse().map_err(|_| "write it as PACKETS or REASON=PACKETS")?;
        Ok(Self { reason, packets })
    }
}

/// See [`Io`].
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Way {
    /// AF_XDP where the driver and the rights allow it, otherwise packet sockets
    Auto,
    /// AF_XDP sockets
    Xdp,
    /// Packet sockets
    Packet,
}

#[derive(Serialize)]
struct Report {
    program: String,
    engine: String,
    /// From the first packet that could arrive to the end.
    seconds: f64,
    ports: Vec<PortCounters>,
    /// Packets that the program sent to ports that there are not.
    without_port: u64,
    #[serde(flatten)]
    fates: Fates,
    /// Packets that were not handed to the kernel, since there were more than the limit allows.
    policed: Vec<Policed>,
    /// What was taken over from the kernel; absent with `--static`.
    #[serde(skip_serializing_if = "Option::is_none")]
    kernel: Option<Kernel>,
}

#[derive(Serialize)]
struct Policed {
    reason: String,
    packets: u64,
}

#[derive(Serialize)]
struct Kernel {
    routes: u64,
    neighbours: u64,
    updates: u64,
    repairs: u64,
    reads: u64,
    overruns: u64,
    failures: u64,
}

impl Forward {
    /// The limits on packets to the kernel, by the reasons of the program.
    fn limits(&self, program: &ir::Program) -> Result<Limits, Error> {
        let mut limits = Limits::default();
        let sets = program.reasons.iter().zip(0..).flat_map(|(set, number)| {
            let reason = move |value: u64| Reason::Program(ir::ReasonSetId(number), value as u16);
            set.members.iter().map(move |(value, _)| reason(*value))
        });
        let known: BTreeMap<String, Reason> =
            sets.map(|reason| (reason_name(program, reason), reason)).collect();
        for CpuRate { reason, packets } in &self.cpu_rate {
            let Some(name) = reason else {
                limits.rate = *packets;
                continue;
            };
            let Some(&reason) = known.get(name) else {
                let names = known.keys().map(String::as_str);
                let error = Error::new(format!(
                    "--cpu-rate {name}={packets}: the program has no reason `{name}`"
                ));
                return Err(match suggest_or_list(name, "its reasons are", names) {
                    Some(help) => error.with_help(help),
                    None => error,
                });
            };
            limits.exceptions.insert(reason, *packets);
        }
        Ok(limits)
    }

    fn kernel_tables(&self) -> Vec<u32> {
        match self.kernel_tables[..] {
            [] => LOCAL_AND_MAIN.to_vec(),
            _ => self.kernel_tables.clone(),
        }
    }

    /// Forwards until a signal asks it to stop, and prints the counters.
    pub fn run(self) -> Outcome {
        let stop = Stop::on_signals()?;
        let places = Places::default().reads([&self.program.file]).reads(&self.tables);
        let places = places.writes_json(self.json.as_ref());
        places.check()?;
        let compiled = self.program.compiled()?;
        let program = &compiled.optimised;
        let (mut store, _) = load_store(program, &self.tables)?;
        let mirror = match self.is_static {
            true => None,
            false => Some(Mirror::start(&self.ports, &self.kernel_tables(), program, &mut store)?),
        };
        let machine = MachineName(REGISTRY.find("native")?);
        let mut machine = machine.start(&compiled, store, &Options::default())?;
        let io = match self.io {
            Way::Auto => Io::Auto,
            Way::Xdp => Io::Xdp,
            Way::Packet => Io::Packet,
        };
        let limits = self.limits(program)?;
        let mut forwarder = Forwarder::open(&self.ports, io, &mut output::note)?;
        forwarder.limit(limits);
        warn_of_forwarding(&self.ports);
        // Writing into the folder of another user needs the first one, at the end.
        let writes = self.json.as_ref().map(|_| Capability::CAP_DAC_OVERRIDE);
        let kept: Vec<_> = writes.into_iter().chain(MIRROR_RIGHTS).collect();
        give_up_all_but(&kept)?;
        let reconcile = Duration::from_secs(self.reconcile);
        let following = mirror.map(|mirror| mirror.follow(reconcile)).transpose()?;
        give_up_all_but(writes.as_slice())?;
        let (mut control, counters) = match following {
            Some((control, counters)) => (Some(control), Some(counters)),
            None => (None, None),
        };
        let mut observing = Observing {
            tally: Tally::default(),
            program,
            names: (
                self.program.file.display().to_string(),
                program.engines[program.main.index()].name.clone(),
            ),
            kernel: counters,
            begin: Instant::now(),
            is_shown: output::for_people(self.json.as_ref()),
        };
        if observing.is_shown {
            let names = self.ports.iter().enumerate();
            let names: Vec<_> = names.map(|(number, name)| format!("{number} {name}")).collect();
            output::say(format!("forwarding on ports {}", names.join(", ")));
        }
        let interval = self.interval.map(Duration::from_secs);
        let machine = machine.machine.as_mut();
        forwarder.run(machine, control.as_mut(), &stop, self.busy, interval, &mut observing)?;
        let report = observing.report(&mut forwarder);
        // The interfaces are the kernel's again before anything can block.
        drop(forwarder);
        if observing.is_shown {
            output::print(&report.text());
        }
        Ok(output::json(self.json.as_ref(), &report)?)
    }
}

/// The number of a routing table.
fn kernel_table(text: &str) -> Result<u32, String> {
    match text {
        "local" => Ok(255),
        "main" => Ok(254),
        "default" => Ok(253),
        _ => text
            .parse()
            .ok()
            .filter(|number| *number > 0)
            .ok_or_else(|| "write a number from 1, or local, main or default".into()),
    }
}

/// Says on standard error where the kernel would not do its part.
fn warn_of_forwarding(ports: &[String]) {
    for (family, setting) in [("ipv4", "net.ipv4.conf"), ("ipv6", "net.ipv6.conf")] {
        for port in ports {
            let path = format!("/proc/sys/net/{family}/conf/{port}/forwarding");
            if fs::read_to_string(path).is_ok_and(|text| text.trim() == "0") {
                output::note(format!(
                    "warning: {setting}.{port}.forwarding is 0: the kernel sends no ICMP errors for \
                     packets that this router cannot forward, and resolves no neighbours for them"
                ));
            }
        }
    }
}

/// Counts, and prints the counters at intervals.
struct Observing<'a> {
    tally: Tally,
    program: &'a ir::Program,
    /// Of the program's file and of the engine.
    names: (String, String),
    kernel: Option<Arc<MirrorCounters>>,
    begin: Instant,
    is_shown: bool,
}

impl Observer for Observing<'_> {
    fn output(&mut self, verdict: Verdict, length: usize) {
        self.tally.count(verdict, length);
    }

    fn interval(&mut self, forwarder: &mut Forwarder) {
        let text = self.report(forwarder).text();
        match self.is_shown {
            true => output::print(&text),
            false => output::note(text),
        }
    }
}

impl Observing<'_> {
    fn report(&self, forwarder: &mut Forwarder) -> Report {
        let value = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let (program, engine) = self.names.clone();
        Report {
            program,
            engine,
            seconds: self.begin.elapsed().as_secs_f64(),
            ports: forwarder.counters(),
            without_port: forwarder.without_port(),
            fates: self.tally.fates(self.program),
            policed: forwarder
                .policed()
                .into_iter()
                .map(|(reason, packets)| Policed {
                    reason: reason_name(self.program, reason),
                    packets,
                })
                .collect(),
            kernel: self.kernel.as_ref().map(|counters| Kernel {
                routes: value(&counters.routes),
                neighbours: value(&counters.neighbours),
                updates: value(&counters.updates),
                repairs: value(&counters.repairs),
                reads: value(&counters.reads),
                overruns: value(&counters.overruns),
                failures: value(&counters.failures),
            }),
        }
    }
}

impl Report {
    fn text(&self) -> String {
        let heads = ["port", "by", "received", "sent", "lost in", "lost out", "lost to kernel"];
        let mut table = output::table(&heads, &[2, 3, 4, 5, 6]);
        for (number, port) in self.ports.iter().enumerate() {
            let counts = [
                port.received_packets,
                port.sent_packets,
                port.lost_at_input,
                port.lost_at_output,
                port.lost_to_kernel,
            ];
            let name = format!("{number} {}", port.name);
            let by = port.exchange.words().to_owned();
            table.add_row([name, by].into_iter().chain(counts.map(thousands)));
        }
        let mut text = format!("after {:.1} s\n{table}\n\n{}", self.seconds, self.fates.text());
        for Policed { reason, packets } in &self.policed {
            text += &format!("policed: {reason}: {}\n", thousands(*packets));
        }
        if self.without_port > 0 {
            text += &format!("to ports that there are not: {}\n", thousands(self.without_port));
        }
        if let Some(kernel) = &self.kernel {
            text += &format!(
                "kernel: {} routes, {} neighbours; rows updated: {}, repaired: {}; reads of \
                 everything: {}, failed: {}; overruns: {}\n",
                thousands(kernel.routes),
                thousands(kernel.neighbours),
                thousands(kernel.updates),
                thousands(kernel.repairs),
                thousands(kernel.reads),
                thousands(kernel.failures),
                thousands(kernel.overruns)
            );
        }
        text
    }
}
