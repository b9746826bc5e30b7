//! `wireloom mpsoc application`: runs a program of threads and objects in C on a simulated
//! multiprocessor.

use std::fmt::Write;
use std::path::PathBuf;
use std::time::Instant;

use clap::{Args, ValueHint};
use serde::Serialize;
use wireloom_mpsoc::application::{self, Application as Running, Ended, Source, compile};
use wireloom_mpsoc::{Delivered, Options, Spec, Verdict};
use wireloom_net::Packet;
use wireloom_net::capture::{Destination, Format, Writer};
use wireloom_sim::Time;
use wireloom_sim::stats::Record;

use crate::captures::{CaptureArgs, warn_of, warn_of_left_out};
use crate::failure::{Failure, Outcome};
use crate::machine::MachineName;
use crate::services::in_hardware;
use crate::simulation::RecordArgs;
use wireloom_console::Places;
use wireloom_console::Working;
use wireloom_console::output::{self, JsonTarget};
use wireloom_console::thousands;
use wireloom_io::{Captures, Source as _};
use wireloom_machine::Recordings;

/// See `wireloom mpsoc application --help`.
#[derive(Args, Debug)]
pub struct Application {
    /// Files of the program in C; at most one interface file (.sidl), whose wrappers they include
    /// as NAME.h; and one file with engines (.loom) if the machine has services in hardware
    #[arg(required = true, value_hint = ValueHint::FilePath)]
    files: Vec<PathBuf>,
    /// Run on this machine: mpsoc-oc48, mpsoc-oc192, or a description (.toml)
    #[arg(long, value_name = "MACHINE", default_value = "mpsoc-oc48")]
    on: MachineName,
    /// Define a macro for the compiler (may be given several times)
    #[arg(short = 'D', long = "define", value_name = "NAME[=VALUE]")]
    define: Vec<String>,
    /// Load a table file into the engines of services in hardware (may be given several times)
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    tables: Vec<PathBuf>,
    /// Feed the packets of a capture to the machine's line (may be given several times)
    #[arg(long = "in", value_name = "CAPTURE", value_hint = ValueHint::FilePath)]
    input: Vec<PathBuf>,
    #[command(flatten)]
    captures: CaptureArgs,
    /// Limit the number of packets read
    #[arg(long, value_name = "N", requires = "input")]
    packets: Option<u64>,
    /// Write the packets that were sent, as pcapng with one interface a port
    #[arg(long, value_name = "CAPTURE", requires = "input", value_hint = ValueHint::FilePath)]
    out: Option<PathBuf>,
    /// Report data races: unordered accesses of two threads to a variable, at least one of them a
    /// write
    #[arg(long)]
    races: bool,
    /// Stop after this much simulated time, in microseconds
    #[arg(long, value_name = "US", default_value_t = 1_000_000, value_parser = clap::value_parser!(u64).range(1..=1_000_000_000))]
    limit_us: u64,
    /// Seed the random number generator, which sets the network's jitter
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// Write the report as JSON to a file, or to standard output (-)
    #[arg(long, value_name = "FILE|-")]
    json: Option<JsonTarget>,
    #[command(flatten)]
    records: RecordArgs,
}

#[derive(Serialize)]
struct Report {
    files: Vec<String>,
    machine: String,
    /// `done`, `idle` (all threads wait for packets or calls) or `running` (the time limit was
    /// reached).
    ended: &'static str,
    /// The return value of `main`.
    #[serde(skip_serializing_if = "Option::is_none")]
    value: Option<u32>,
    printed: String,
    /// Simulated time, in microseconds.
    time_us: f64,
    instructions: u64,
    /// Share of the cycles in which processors issued instructions.
    usage: f64,
    packets: Packets,
    /// The data races, if they were requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    races: Option<Vec<String>>,
    /// Wall-clock time of the simulation.
    work_seconds: f64,
    statistics: Record,
}

/// Counts of packets by outcome.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
struct Packets {
    arrived: u64,
    sent: u64,
    dropped: u64,
    to_cpu: u64,
    lost: u64,
}

impl Application {
    /// Compiles and runs the application, and prints a report.
    pub fn run(self) -> Outcome {
        let Some(spec) = self.on.of_kind::<Spec>() else {
            let message = format!("{} does not run applications", self.on.0.name());
            return Err(Failure::unusable(message)
                .with_help("say --on mpsoc-oc48, or a description of that kind"));
        };
        let places = Places::default().reads(&self.files).reads(&self.tables).reads(&self.input);
        let places = self.records.places(places).writes("--out", self.out.as_deref());
        let places = places.writes_json(self.json.as_ref());
        places.check()?;
        let recording = Options::recording(self.records.timeline_ns(), self.records.interval_ns()?);
        let options = Options { races: self.races, seed: self.seed, ..recording };
        let packets = self.packets()?;
        let mut report = Packets { arrived: packets.len() as u64, ..Packets::default() };
        let mut running = self.build(spec, packets, options)?;

        let mut printed = Vec::new();
        let begin = Instant::now();
        let result = running.run(Time::nanoseconds(1000 * self.limit_us), &mut |text| {
            places.tell(&String::from_utf8_lossy(text));
            printed.extend_from_slice(text);
        });
        // Recordings are written after a failure too, since they show what led to it.
        let recordings = Recordings {
            timeline: Some(running.timeline()),
            series: running.series(),
            events: None,
        };
        self.records.write(spec.name.as_str(), recordings)?;
        let ended = result.map_err(Failure::unusable)?;
        let work_seconds = begin.elapsed().as_secs_f64();

        let mut writer = self.out.as_deref().map(Writer::create).transpose()?;
        let mut left_out = 0;
        for delivered in running.delivered() {
            report.count(delivered.verdict);
            match &mut writer {
                Some(writer) if can_hold(writer.format(), delivered.verdict) => {
                    write(writer, &delivered)?;
                }
                Some(_) => left_out += 1,
                None => {}
            }
        }
        writer.map(Writer::finish).transpose()?;
        warn_of_left_out(left_out);
        let totals = running.totals();
        report.lost = totals.lost;
        let races = self.races.then(|| running.races());
        let is_right = matches!(ended, Ended::Done(0) | Ended::Idle);
        let report = Report {
            files: self.files.iter().map(|file| file.display().to_string()).collect(),
            machine: spec.name.clone(),
            ended: match ended {
                Ended::Done(_) => "done",
                Ended::Idle => "idle",
                Ended::Running => "running",
            },
            value: if let Ended::Done(value) = ended { Some(value) } else { None },
            printed: String::from_utf8_lossy(&printed).into_owned(),
            time_us: totals.now.as_seconds() * 1e6,
            instructions: totals.instructions,
            usage: running.usage(),
            packets: report,
            races,
            work_seconds,
            statistics: running.record(),
        };
        places.tell(&report.text());
        if let Some(target) = &self.json {
            output::write_json(target, &report)?;
        }
        let has_races = report.races.is_some_and(|races| !races.is_empty());
        if is_right && !has_races { Ok(()) } else { Err(Failure::Negative) }
    }

    fn packets(&self) -> Outcome<Vec<Packet>> {
        if self.input.is_empty() {
            return Ok(Vec::new());
        }
        let mut captures = Captures::open(&self.input, self.packets, self.captures.options())?;
        let packets = captures.all()?;
        warn_of(&captures);
        Ok(packets)
    }

    fn build(&self, spec: &Spec, packets: Vec<Packet>, options: Options) -> Outcome<Running> {
        let ends = |extension: &'static str| {
            move |path: &PathBuf| path.extension().is_some_and(|its| its == extension)
        };
        let files = self.files.iter().cloned();
        let (interfaces, files): (Vec<PathBuf>, Vec<PathBuf>) = files.partition(ends("sidl"));
        let (engines, files): (Vec<PathBuf>, Vec<PathBuf>) =
            files.into_iter().partition(ends("loom"));
        if let [_, second, ..] = &interfaces[..] {
            let message = format!("{}: a program has one file of interfaces", second.display());
            return Err(
                Failure::unusable(message).with_help("put the interfaces of both into one file")
            );
        }
        if files.is_empty() {
            return Err(Failure::unusable(
                "no file in C is given: interfaces and engines are no program",
            ));
        }
        if let Some(missing) = self.files.iter().find(|path| !path.is_file()) {
            return Err(Failure::unusable(format!("{}: there is no such file", missing.display())));
        }
        let interfaces = interfaces.first().map(|path| application::interfaces(path)).transpose();
        let interfaces = interfaces.map_err(Failure::unusable)?;
        let services = in_hardware(spec, interfaces.as_ref(), &engines, &self.tables)?;
        let compiled = {
            let _working = Working::on(format!("compiling for {}", spec.name));
            let source =
                Source { files: &files, interfaces: interfaces.as_ref(), define: &self.define };
            compile(&source, spec.processor.instruction_set).map_err(Failure::unusable)?
        };
        if !compiled.warnings.is_empty() {
            output::note(compiled.warnings.trim_end());
        }
        Running::new(spec, &compiled.program, services, packets, options).map_err(Failure::unusable)
    }
}

impl Packets {
    fn count(&mut self, verdict: Verdict) {
        match verdict {
            Verdict::Sent { .. } => self.sent += 1,
            Verdict::Dropped(_) | Verdict::Runaway => self.dropped += 1,
            Verdict::ToCpu(_) => self.to_cpu += 1,
            Verdict::Gone => {}
        }
    }
}

/// Whether captures of a format have a place for such packets.
fn can_hold(format: Format, verdict: Verdict) -> bool {
    format == Format::Pcapng || !matches!(verdict, Verdict::ToCpu(_))
}

/// Writes a sent packet to its place in the capture.
fn write(writer: &mut Writer, delivered: &Delivered) -> Outcome {
    let destination = match delivered.verdict {
        Verdict::Sent { port } => Destination::Port(port),
        Verdict::ToCpu(_) => Destination::Cpu("application"),
        Verdict::Dropped(_) | Verdict::Runaway | Verdict::Gone => return Ok(()),
    };
    writer.write(destination, delivered.arrival_ns, &delivered.bytes).map_err(Failure::from)
}

impl Report {
    fn text(&self) -> String {
        let ended = match (self.ended, self.value) {
            (_, Some(value)) => format!("main has ended with {value}"),
            ("idle", _) => "all wait for packets or calls".to_owned(),
            _ => "it was still running: say a longer --limit-us".to_owned(),
        };
        let mut lines = vec![
            ("ended", ended),
            ("time", format!("{:.3} us", self.time_us)),
            (
                "instructions",
                format!(
                    "{}; the processors of {} issued them in {:.1} % of their cycles",
                    thousands(self.instructions),
                    self.machine,
                    100.0 * self.usage
                ),
            ),
        ];
        let Packets { arrived, sent, dropped, to_cpu, lost } = self.packets;
        if arrived > 0 {
            lines.push((
                "packets",
                format!(
                    "{} arrived, {} lost at the input; {} sent, {} dropped, {} to the control processor",
                    thousands(arrived),
                    thousands(lost),
                    thousands(sent),
                    thousands(dropped),
                    thousands(to_cpu)
                ),
            ));
        }
        let mut out = String::new();
        for (what, text) in lines {
            writeln!(out, "{what:13}  {text}").expect("a string takes everything");
        }
        for race in self.races.iter().flatten() {
            writeln!(out, "data race      {race}").expect("a string takes everything");
        }
        if self.races.as_ref().is_some_and(Vec::is_empty) {
            out += "data race      none in this run\n";
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_are_counted_by_what_became_of_them() {
        let mut packets = Packets::default();
        let reason = wireloom_mpsoc::Reason { set: 0, number: 1 };
        for verdict in [
            Verdict::Sent { port: 3 },
            Verdict::Dropped(reason),
            Verdict::Runaway,
            Verdict::ToCpu(reason),
            Verdict::Gone,
        ] {
            packets.count(verdict);
        }
        assert_eq!(packets, Packets { arrived: 0, sent: 1, dropped: 2, to_cpu: 1, lost: 0 });
    }
}
