//! `wireloom verify`: machines held to golden, packet by packet.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use clap::{Args, ValueHint};
use serde::Serialize;
use wireloom_ir as ir;
use wireloom_ir::Output;
use wireloom_net::{Packet, dissect};

use crate::failure::{Failure, Outcome};
use crate::machine::{Machine, MachineName};
use crate::output::{self, JsonTarget, thousands};
use crate::outputs::Outputs;
use crate::packets::Batches;
use crate::program::ProgramArgs;
use crate::progress;
use crate::report::{Count, Fates, Tally, verdict_text};
use crate::rows;

/// See `wireloom verify --help`.
#[derive(Args, Debug)]
pub struct Verify {
    #[command(flatten)]
    program: ProgramArgs,
    /// The machines to compare with golden, separated by commas
    #[arg(long, value_name = "MACHINES", value_delimiter = ',', default_value = "native")]
    on: Vec<MachineName>,
    /// Load a table file (may be given several times; later entries replace earlier ones)
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    tables: Vec<PathBuf>,
    /// Read packets from a capture: pcap or pcapng, also gzipped (may be given several times)
    #[arg(long = "in", value_name = "CAPTURE", required = true, value_hint = ValueHint::FilePath)]
    input: Vec<PathBuf>,
    /// Stop after so many packets
    #[arg(long, value_name = "N")]
    packets: Option<u64>,
    /// Write the report as JSON, to a file or to standard output (-)
    #[arg(long, value_name = "FILE|-")]
    json: Option<JsonTarget>,
}

#[derive(Serialize)]
struct Report {
    program: String,
    engine: String,
    arrived: Count,
    outputs: u64,
    machines: Vec<MachineReport>,
    differences: Vec<Difference>,
    #[serde(flatten)]
    fates: Fates,
}

#[derive(Serialize)]
struct MachineReport {
    machine: &'static str,
    work_seconds: f64,
    mpps: f64,
}

/// The first thing in which a machine differs from golden.
#[derive(Serialize)]
struct Difference {
    machine: &'static str,
    /// Number of the packet that arrived, from 0; `None` for the state after the last one.
    sequence: Option<u64>,
    /// What each has to say: name, golden's value, the machine's.
    fields: Vec<Compared>,
}

#[derive(Serialize)]
struct Compared {
    field: String,
    expected: String,
    got: String,
}

/// A machine under comparison.
struct Contender {
    machine: Machine,
    outputs: Outputs,
    work: Duration,
    difference: Option<Difference>,
}

impl Contender {
    fn new(machine: Machine) -> Self {
        Self { machine, outputs: Outputs::default(), work: Duration::ZERO, difference: None }
    }

    fn execute(&mut self, batch: &[Packet]) {
        let begin = Instant::now();
        self.outputs.execute(&mut self.machine, batch);
        self.work += begin.elapsed();
    }

    fn report(&self, packets: u64) -> MachineReport {
        let seconds = self.work.as_secs_f64();
        let mpps = if seconds > 0.0 { packets as f64 / seconds / 1e6 } else { 0.0 };
        MachineReport { machine: self.machine.name.as_str(), work_seconds: seconds, mpps }
    }
}

impl Verify {
    /// Compares the machines and reports.
    pub fn run(self) -> Outcome {
        let program = self.program.optimised()?;
        let mut batches = Batches::open(&self.input, self.packets)?;
        let mut golden = Contender::new(Machine::build(MachineName::Golden, &program, &self.tables)?);
        let mut others = Vec::new();
        for &name in &self.on {
            others.push(Contender::new(Machine::build(name, &program, &self.tables)?));
        }

        let mut arrived = Count::default();
        let mut tally = Tally::default();
        let mut outputs = 0;
        let bar = progress::bar(self.packets, "packets");
        while others.iter().any(|other| other.difference.is_none()) {
            let batch = batches.next_batch()?;
            if batch.is_empty() {
                break;
            }
            arrived.packets += batch.len() as u64;
            arrived.bytes += batch.iter().map(|packet| packet.bytes.len() as u64).sum::<u64>();
            golden.execute(batch);
            golden.outputs.iter().for_each(|output| tally.count(output.verdict, output.bytes.len()));
            outputs += golden.outputs.len() as u64;
            for other in others.iter_mut().filter(|other| other.difference.is_none()) {
                other.execute(batch);
                other.difference =
                    first_difference(&program, other.machine.name.as_str(), &golden.outputs, &other.outputs);
            }
            bar.set_position(arrived.packets);
        }
        bar.finish_and_clear();
        for other in others.iter_mut().filter(|other| other.difference.is_none()) {
            other.difference = state_difference(&golden.machine, &other.machine);
        }

        let machines =
            std::iter::once(&golden).chain(&others).map(|machine| machine.report(arrived.packets)).collect();
        let report = Report {
            program: self.program.file.display().to_string(),
            engine: program.engines[program.main.index()].name.clone(),
            arrived,
            outputs,
            machines,
            differences: others.into_iter().filter_map(|other| other.difference).collect(),
            fates: tally.fates(&program),
        };
        if output::for_people(self.json.as_ref()) {
            output::print(&report.text());
        }
        if let Some(target) = &self.json {
            output::write_json(target, &report)?;
        }
        if report.differences.is_empty() { Ok(()) } else { Err(Failure::Negative) }
    }
}

/// The first output of a batch in which a machine differs from golden.
fn first_difference(
    program: &ir::Program,
    machine: &'static str,
    golden: &Outputs,
    other: &Outputs,
) -> Option<Difference> {
    let count = golden.len().max(other.len());
    (0..count).find_map(|index| {
        let (expected, got) = (golden.at(index), other.at(index));
        if expected == got {
            return None;
        }
        let sequence = match (&expected, &got) {
            (Some(a), Some(b)) => a.sequence.min(b.sequence),
            (one, two) => one.or(*two).map_or(0, |output| output.sequence),
        };
        // Where one machine is already at a later packet, it lacks this output.
        let expected = expected.filter(|output| output.sequence == sequence);
        let got = got.filter(|output| output.sequence == sequence);
        Some(Difference { machine, sequence: Some(sequence), fields: compare(program, expected, got) })
    })
}

/// What two outputs say, side by side: the verdict, the length and every dissected field.
fn compare(program: &ir::Program, expected: Option<Output<'_>>, got: Option<Output<'_>>) -> Vec<Compared> {
    let says = |output: &Option<Output<'_>>| {
        output.map_or("nothing was sent".to_owned(), |output| verdict_text(program, output.verdict))
    };
    let mut fields = vec![Compared { field: "verdict".into(), expected: says(&expected), got: says(&got) }];
    let (Some(expected), Some(got)) = (expected, got) else { return fields };
    let number = |field: &str, a: u64, b: u64| Compared {
        field: field.into(),
        expected: a.to_string(),
        got: b.to_string(),
    };
    fields.push(number("ingress port", expected.ingress.into(), got.ingress.into()));
    fields.push(number("arrival, ns", expected.arrival_ns, got.arrival_ns));
    fields.push(number("length", expected.bytes.len() as u64, got.bytes.len() as u64));
    let missing = || "-".to_owned();
    fields.extend(dissect::compare(expected.bytes, got.bytes).into_iter().map(|field| Compared {
        field: field.name,
        expected: field.expected.unwrap_or_else(missing),
        got: field.got.unwrap_or_else(missing),
    }));
    fields
}

/// The first difference between the offloads of two machines after the same packets.
fn state_difference(golden: &Machine, other: &Machine) -> Option<Difference> {
    let found = rows::differences(golden.store(), other.store());
    if found.is_empty() {
        return None;
    }
    let text = |fields: Option<Vec<(String, wireloom_bits::Bits)>>| {
        fields.map_or("no such row".to_owned(), |fields| {
            fields.iter().map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join(" ")
        })
    };
    let fields = found
        .into_iter()
        .map(|row| Compared {
            field: format!("{} {}", row.offload, row.key),
            expected: text(row.expected),
            got: text(row.got),
        })
        .collect();
    Some(Difference { machine: other.name.as_str(), sequence: None, fields })
}

impl Report {
    fn text(&self) -> String {
        let mut out = format!(
            "{}: {} packets, {} bytes; {} outputs compared\n\n",
            self.engine,
            thousands(self.arrived.packets),
            thousands(self.arrived.bytes),
            thousands(self.outputs),
        );
        let mut table = output::table(&["machine", "Mpps", "compared with golden"], &[1]);
        for machine in &self.machines {
            let verdict = match self.differences.iter().find(|d| d.machine == machine.machine) {
                _ if machine.machine == "golden" => "-".to_owned(),
                None => "no difference".to_owned(),
                Some(Difference { sequence: Some(sequence), .. }) => format!("differs at packet {sequence}"),
                Some(_) => "packets agree, offloads differ".to_owned(),
            };
            table.add_row([machine.machine.to_owned(), format!("{:.2}", machine.mpps), verdict]);
        }
        out += &format!("{table}\n\n");
        if self.differences.is_empty() {
            out += &self.fates.text();
            return out;
        }
        for difference in &self.differences {
            out += &difference.text();
        }
        out
    }
}

impl Difference {
    fn text(&self) -> String {
        let title = match self.sequence {
            Some(sequence) => format!("packet {sequence} (counted from 0)"),
            None => "contents of the offloads after the last packet".to_owned(),
        };
        let mut table =
            output::table(&["", "field", "expected (golden)", &format!("got ({})", self.machine)], &[]);
        for row in &self.fields {
            let mark = if row.expected == row.got { "" } else { "!" };
            table.add_row([mark, &row.field, &row.expected, &row.got]);
        }
        format!("{title}\n{table}\n\n")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wireloom_ir::{EngineId, Execute, Verdict};

    /// A machine that sends each packet to its ingress port, but does something else with packet `odd`.
    struct Fake {
        odd: Option<u64>,
        copies: usize,
        spoil: fn(&mut Vec<u8>),
    }

    impl Execute for Fake {
        fn execute(&mut self, packets: &[Packet], sink: &mut dyn FnMut(Output<'_>)) {
            for (sequence, packet) in (0..).zip(packets) {
                let odd = self.odd == Some(sequence);
                let mut bytes = packet.bytes.clone();
                if odd {
                    (self.spoil)(&mut bytes);
                }
                for _ in 0..if odd { self.copies } else { 1 } {
                    let verdict = Verdict::Sent { port: packet.ingress };
                    let (ingress, arrival_ns) = (packet.ingress, packet.arrival_ns);
                    sink(Output { sequence, arrival_ns, ingress, verdict, bytes: &bytes });
                }
            }
        }
    }

    fn difference(copies: usize, spoil: fn(&mut Vec<u8>)) -> Option<Difference> {
        let program =
            ir::Program { files: Vec::new(), reasons: Vec::new(), engines: Vec::new(), main: EngineId(0) };
        let packets = vec![Packet { ingress: 3, arrival_ns: 5, bytes: vec![0x45; 60] }; 4];
        let (mut golden, mut other) = (Outputs::default(), Outputs::default());
        golden.execute(&mut Fake { odd: None, copies: 1, spoil }, &packets);
        other.execute(&mut Fake { odd: Some(2), copies, spoil }, &packets);
        first_difference(&program, "fake", &golden, &other)
    }

    fn differing(difference: &Difference) -> Vec<&str> {
        let rows = difference.fields.iter().filter(|row| row.expected != row.got);
        rows.map(|row| row.field.as_str()).collect()
    }

    #[test]
    fn equal_outputs_do_not_differ() {
        assert!(difference(1, |_| {}).is_none());
    }

    #[test]
    fn a_changed_byte_is_shown_as_the_field_that_it_is_in() {
        let found = difference(1, |bytes| bytes[0] = 0x46).expect("a difference");
        assert_eq!(found.sequence, Some(2));
        assert_eq!(differing(&found), ["ethernet.dst"]);
    }

    #[test]
    fn a_missing_packet_is_told_from_the_next_one() {
        let found = difference(0, |_| {}).expect("a difference");
        assert_eq!(found.sequence, Some(2));
        assert_eq!(
            (found.fields[0].expected.as_str(), found.fields[0].got.as_str()),
            ("sent to port 3", "nothing was sent")
        );
    }

    #[test]
    fn a_packet_too_many_is_a_difference() {
        let found = difference(2, |_| {}).expect("a difference");
        assert_eq!(found.sequence, Some(2));
        assert_eq!(found.fields[0].expected, "nothing was sent");
    }

    #[test]
    fn a_different_length_is_said() {
        let found = difference(1, |bytes| bytes.truncate(59)).expect("a difference");
        assert!(differing(&found).contains(&"length"), "{:?}", differing(&found));
    }
}
