//! `wireloom trace`: reports the path of one packet, and the reasons.

mod executed;

use std::path::PathBuf;

use clap::{Args, ValueHint};
use wireloom_compile::names::Names;
use wireloom_console::output::JsonTarget;
use wireloom_console::traced::PacketReport;
use wireloom_console::{Working, load_store, output};
use wireloom_io::{BATCH, Captures, Input, Source};
use wireloom_ir::Golden;
use wireloom_machine::{Options, Program, golden};
use wireloom_net::{Frame, Packet};
use wireloom_testkit::notation::{self, Headers};

use crate::captures::{CaptureArgs, input_parser};
use crate::failure::{Failure, Outcome};
use crate::machine::{self, MachineName};
use crate::program::ProgramArgs;
use crate::simulation::SimulationArgs;
use crate::updates::{Part, UpdatesArgs};
use executed::Executed;

/// From this number of packets before the traced one, optimising a machine's model pays.
const SHORT: u64 = 10_000;

/// See `wireloom trace --help`.
#[derive(Args, Debug)]
pub struct Trace {
    #[command(flatten)]
    program: ProgramArgs,
    /// Load a table file (may be given several times; later entries replace earlier ones)
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    tables: Vec<PathBuf>,
    /// Read packets from a capture: pcap or pcapng, optionally gzipped (may be given several
    /// times). PORT:CAPTURE brings all packets on that port, and merges all captures by time
    #[arg(
        long = "in",
        value_name = "[PORT:]CAPTURE",
        required_unless_present = "text",
        value_parser = input_parser(),
        value_hint = ValueHint::FilePath
    )]
    input: Vec<Input>,
    #[command(flatten)]
    captures: CaptureArgs,
    /// Take a packet from this text instead, as packet tests have it: its port and its layers (may
    /// be given several times)
    #[arg(long, value_name = "PORT LAYERS", conflicts_with = "input")]
    text: Vec<String>,
    /// Trace this packet, counted from 0; of packets from text, the last one by default
    #[arg(long, value_name = "N", required_unless_present = "text")]
    packet: Option<u64>,
    #[arg(
        long,
        value_name = "MACHINE",
        help = machine::help("Run the packets on this machine too, and show what it did with the packet")
    )]
    on: Option<MachineName>,
    #[command(flatten)]
    updates: UpdatesArgs,
    /// Show at most this number of steps, those of called engines included, and of events on a
    /// machine; 0 shows all
    #[arg(long, value_name = "N", default_value_t = 1000)]
    steps: u64,
    /// Write the trace as JSON to a file, or to standard output (-)
    #[arg(long, value_name = "FILE|-")]
    json: Option<JsonTarget>,
    #[command(flatten)]
    simulation: SimulationArgs,
}

/// Reads packets from text, with the headers that the program declares.
fn packets(texts: &[String], headers: &Headers) -> Outcome<Vec<Packet>> {
    let packet = |text: &String| {
        let (ingress, packet) = notation::port_and_packet(text, headers)
            .map_err(|what| Failure::unusable(format!("--text '{text}': {what}")))?;
        Ok(Packet { ingress, arrival_ns: 0, bytes: packet.bytes })
    };
    texts.iter().map(packet).collect()
}

impl Trace {
    /// Runs the packets up to the traced one, and prints its trace.
    pub fn run(self) -> Outcome {
        let machine = self.on.clone().unwrap_or(MachineName(golden::machine()));
        self.simulation.check(&[machine])?;
        let places = self.program.places().reads(&self.tables);
        let places = self.updates.places(places.reads(&self.input));
        let places = self.simulation.places(places).writes_json(self.json.as_ref());
        places.check()?;
        let checked = self.program.checked()?;
        let program = Program::new(&checked);
        places.check()?;
        let text = packets(&self.text, &checked.headers())?;
        let report = self.traced(&program, &Names::new(&checked), &text)?;
        places.tell(&report.text(output::width().map_or(100, usize::from)));
        output::json(self.json.as_ref(), &report)?;
        if report.differs() { Err(Failure::Negative) } else { Ok(()) }
    }

    fn traced(&self, program: &Program, names: &Names, text: &[Packet]) -> Outcome<PacketReport> {
        let number = self.packet.unwrap_or((text.len() as u64).saturating_sub(1));
        let mut source: Box<dyn Source> = if text.is_empty() {
            let count = number.saturating_add(1);
            Box::new(Captures::open_inputs(&self.input, Some(count), self.captures.options())?)
        } else {
            Box::new(Given(text))
        };
        let mut updates = self.updates.open(program)?;
        let (store, _) = load_store(&program.lowered, &self.tables)?;
        let machine = match &self.on {
            Some(name) => {
                // The model with internal visibility is built for this trace only. A short build
                // matters more than speed, unless many packets precede the traced one.
                let is_short = number < SHORT;
                let options = Options { follows: true, is_short, ..self.simulation.options()? };
                let mut machine = name.start(program, store.clone(), &options)?;
                machine.machine.follow(number);
                Some(machine)
            }
            None => None,
        };
        let golden = Golden::new(program.lowered.clone(), store);
        let most_steps = if self.steps == 0 { u64::MAX } else { self.steps };
        let mut executed =
            Executed::new(&program.lowered, names, golden, machine, number, most_steps);

        let working = Working::on("running the packets before");
        let mut arrived = 0;
        while arrived <= number {
            let batch = source.next_batch()?;
            if batch.is_empty() {
                return Err(no_such_packet(number, arrived));
            }
            let wanted = (number - arrived).saturating_add(1).min(batch.len() as u64);
            for part in updates.cut(arrived, &batch[..wanted as usize]) {
                match part {
                    Part::Frames(frames) => executed.offer(frames)?,
                    Part::Update(update) => {
                        executed.update(&update).map_err(|why| updates.failure(&update, why))?;
                    }
                }
            }
            arrived += wanted;
        }
        executed.finish()?;
        drop(working);
        if let Some(machine) = executed.machine() {
            let recordings = machine.machine.recordings();
            self.simulation.records.write(machine.name(), recordings)?;
        }
        let subject = executed.subject().ok_or_else(|| no_such_packet(number, arrived))?;
        Ok(PacketReport::new(self.program.file.display().to_string(), number, subject, most_steps))
    }
}

/// Packets from the command line.
struct Given<'a>(&'a [Packet]);

impl Source for Given<'_> {
    fn next_batch(&mut self) -> wireloom_machine::Result<Vec<Frame<'_>>> {
        let (batch, rest) = self.0.split_at(self.0.len().min(BATCH));
        self.0 = rest;
        Ok(batch.iter().map(Packet::frame).collect())
    }
}

fn no_such_packet(number: u64, count: u64) -> Failure {
    let packets = if count == 1 { "packet" } else { "packets" };
    let failure = Failure::unusable(format!("--packet {number}: there are only {count} {packets}"));
    match count.checked_sub(1) {
        Some(last) => failure
            .with_help(format!("the last one is --packet {last}, since they are counted from 0")),
        None => failure,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_packet_of_text_has_a_port() {
        let read = |text: &str| packets(&[text.to_owned()], &[]);
        let packet = &read("3 hex(00 11)").expect("a packet")[0];
        assert_eq!((packet.ingress, &packet.bytes[..]), (3, &[0, 0x11][..]));
        for wrong in ["", "hex(00)", "70000 hex(00)", "0 zeros(99999999999999999999)", "0 eth()"] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
    }
}
