//! The report on one packet, as the `trace` subcommand prints it.

use serde::Serialize;
use wireloom_ir::{Output, Program, Verdict};
use wireloom_machine::trace::Trace;
use wireloom_machine::{
    Compared, Outputs, Passage, Running, compare_outputs, missing_port_text, verdict_text,
};
use wireloom_net::{Packet, dissect};

use crate::{output, thousands};

/// The inputs of a report: a traced packet and its outputs.
pub struct Subject<'a> {
    pub program: &'a Program,
    /// The packet as it arrived.
    pub packet: Packet,
    /// The packet's path on golden, and golden's outputs.
    pub traced: (Trace, Outputs),
    /// The machine and its outputs, if the packet was also run on one.
    pub machine: Option<(Running, Outputs)>,
    /// Whether the machine lost the packet at its input.
    pub is_lost: bool,
    /// Indices, from 0, of the golden outputs that the machine dropped in full queues.
    pub lost_outputs: Vec<usize>,
}

/// The report on a packet.
#[derive(Serialize)]
pub struct PacketReport {
    program: String,
    engine: String,
    /// The packet's number, from 0.
    packet: u64,
    ingress: u16,
    arrival_ns: u64,
    length: usize,
    /// The packet as it arrived, in hexadecimal.
    bytes: String,
    #[serde(flatten)]
    trace: Trace,
    outputs: Vec<OutputReport>,
    #[serde(skip_serializing_if = "Option::is_none")]
    machine: Option<MachineReport>,
}

/// An output of golden.
#[derive(Serialize)]
struct OutputReport {
    verdict: String,
    length: usize,
    bytes: String,
    fields: Vec<FieldReport>,
}

/// A field on arrival and on departure.
#[derive(Serialize)]
struct FieldReport {
    field: String,
    arrived: Option<String>,
    left: Option<String>,
}

/// The path of the packet on another machine.
#[derive(Serialize)]
struct MachineReport {
    machine: String,
    /// Whether the machine lost the packet at its input.
    lost: bool,
    /// Indices, from 0, of the golden outputs that the machine dropped in full queues.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    lost_outputs: Vec<usize>,
    outputs: Vec<MachineOutput>,
    /// For each output that differs from golden's, the fields that differ.
    differences: Vec<Vec<Compared>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    passage: Option<Passage>,
}

/// An output of a machine. Not every machine shows the bytes of what it drops.
#[derive(Serialize)]
struct MachineOutput {
    verdict: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    length: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    bytes: Option<String>,
}

impl PacketReport {
    /// Creates the report on a packet. It keeps at most `most` of the machine's events.
    pub fn new(program: String, number: u64, subject: Subject<'_>, most: u64) -> Self {
        let Subject {
            program: ir,
            packet,
            traced: (trace, outputs),
            machine,
            is_lost,
            lost_outputs,
        } = subject;
        let left = |output: Output<'_>| OutputReport {
            verdict: verdict_text(ir, output.verdict),
            length: output.bytes.len(),
            bytes: hex(output.bytes),
            fields: fields(&packet.bytes, output.bytes),
        };
        Self {
            program,
            engine: ir.engines[ir.main.index()].name.clone(),
            packet: number,
            ingress: packet.ingress,
            arrival_ns: packet.arrival_ns,
            length: packet.bytes.len(),
            bytes: hex(&packet.bytes),
            trace,
            outputs: outputs.iter().map(left).collect(),
            machine: machine.map(|(machine, got)| {
                let lost = (is_lost, lost_outputs);
                MachineReport::new(ir, &machine, lost, &outputs, &got).cut(most)
            }),
        }
    }

    /// Whether the machine's outputs differ from golden's.
    pub fn differs(&self) -> bool {
        self.machine.as_ref().is_some_and(|machine| !machine.differences.is_empty())
    }

    /// Formats the report for people, in lines of about `width` characters.
    pub fn text(&self, width: usize) -> String {
        let mut out = format!(
            "packet {} (counted from 0): from port {}, {} bytes, at {} ns\n\n{}",
            self.packet,
            self.ingress,
            self.length,
            thousands(self.arrival_ns),
            self.trace.text(width)
        );
        if self.outputs.is_empty() {
            out += "nothing was sent\n";
        }
        for (index, left) in self.outputs.iter().enumerate() {
            if self.outputs.len() > 1 {
                out += &format!("output {} of {}: ", index + 1, self.outputs.len());
            }
            out += &format!("{}, {} bytes\n{}\n", left.verdict, left.length, left.table());
        }
        if let Some(machine) = &self.machine {
            out += &format!("\n{}", machine.text());
        }
        out
    }
}

impl OutputReport {
    fn table(&self) -> output::Table {
        let mut table = output::table(&["", "field", "arrived", "left"], &[]);
        let text = |value: &Option<String>| value.clone().unwrap_or_else(|| "-".to_owned());
        for row in &self.fields {
            let differs = row.arrived != row.left;
            let is_rest = row.field.starts_with("payload") || row.field.starts_with("padding");
            if differs || !is_rest {
                let mark = if differs { "*" } else { "" };
                table.add_row([mark, &row.field, &text(&row.arrived), &text(&row.left)]);
            }
        }
        table
    }
}

impl MachineReport {
    fn new(
        program: &Program,
        machine: &Running,
        (lost, lost_outputs): (bool, Vec<usize>),
        all: &Outputs,
        got: &Outputs,
    ) -> Self {
        let mut golden = Outputs::default();
        let kept = all.iter().enumerate().filter(|(index, _)| !lost_outputs.contains(index));
        kept.for_each(|(_, output)| golden.keep(output));
        let count = if lost { 0 } else { golden.len().max(got.len()) };
        let compared = (0..count).filter_map(|index| {
            // Golden numbers only the packets that the machine accepted.
            let got = got.at(index);
            let expected = golden.at(index).map(|output| Output {
                sequence: got.map_or(output.sequence, |got| got.sequence),
                ..machine.shown(output)
            });
            (expected != got).then(|| compare_outputs(program, expected, got))
        });
        let differences = compared.map(|mut fields| {
            fields.retain(|row| row.expected != row.got);
            fields
        });
        let verdict = |verdict| match verdict {
            Verdict::Sent { port } if !machine.machine.has_port(port) => missing_port_text(port),
            _ => verdict_text(program, verdict),
        };
        let left = |output: Output<'_>| {
            let shown = machine.shows(output.verdict).then_some(output.bytes);
            MachineOutput {
                verdict: verdict(output.verdict),
                length: shown.map(<[u8]>::len),
                bytes: shown.map(hex),
            }
        };
        Self {
            machine: machine.name().to_owned(),
            lost,
            lost_outputs,
            differences: differences.collect(),
            outputs: got.iter().map(left).collect(),
            passage: machine.machine.followed(),
        }
    }

    /// Keeps at most `most` events.
    fn cut(mut self, most: u64) -> Self {
        if let Some(passage) = &mut self.passage {
            let more = (passage.milestones.len() as u64).saturating_sub(most);
            passage.omitted += more;
            passage.milestones.truncate(most.min(usize::MAX as u64) as usize);
        }
        self
    }

    fn text(&self) -> String {
        let mut out = format!("{}: ", self.machine);
        let sent = self.outputs.iter().map(|left| left.verdict.as_str());
        let dropped = self.lost_outputs.iter().map(|_| "dropped in a full queue");
        let verdicts: Vec<&str> = sent.chain(dropped).collect();
        out += &match &verdicts[..] {
            _ if self.lost => {
                "lost at the input; the steps are those that golden would take".into()
            }
            [] => "nothing was sent".to_owned(),
            verdicts => verdicts.join("; "),
        };
        match (self.lost, self.differences.is_empty()) {
            (true, _) => out.push('\n'),
            (false, true) => out += "; no difference from golden\n",
            (false, false) => out += "; differs from golden\n",
        }
        for fields in &self.differences {
            let heads = ["field", "expected (golden)", &format!("got ({})", self.machine)];
            let mut table = output::table(&heads, &[]);
            for row in fields {
                table.add_row([&row.field, &row.expected, &row.got]);
            }
            out += &format!("{table}\n");
        }
        if let Some(passage) = &self.passage {
            out += &format!("{}\n", course(passage));
            if passage.omitted > 0 {
                out += &format!(
                    "{} more events are not shown (--steps)\n",
                    thousands(passage.omitted)
                );
            }
            for line in &passage.lines {
                out += &format!("{}: {}\n", line.name, line.text);
            }
        } else if !self.lost {
            out += "it keeps no times; its steps are those above\n";
        }
        out
    }
}

/// Tabulates the events of a packet, each with the cycles since the one before.
fn course(passage: &Passage) -> output::Table {
    let heads = ["cycle", "ns", "after", "where", "what"];
    let mut table = output::table(&heads, &[0, 1, 2]);
    let mut before = None;
    for milestone in &passage.milestones {
        let after = before.map(|before| thousands(milestone.cycle - before));
        before = Some(milestone.cycle);
        table.add_row([
            thousands(milestone.cycle),
            format!("{:.1}", milestone.ns),
            after.unwrap_or_default(),
            milestone.place.clone(),
            milestone.what.clone(),
        ]);
    }
    table
}

fn fields(arrived: &[u8], left: &[u8]) -> Vec<FieldReport> {
    let compared = dissect::compare(arrived, left).into_iter();
    compared
        .map(|row| FieldReport { field: row.name, arrived: row.expected, left: row.got })
        .collect()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use wireloom_lang::check_source;
    use wireloom_machine::{Options, Program, golden};

    use super::*;

    fn sent(port: u16, sequence: u64, bytes: &[u8]) -> Outputs {
        let verdict = Verdict::Sent { port };
        let mut outputs = Outputs::default();
        outputs.keep(Output { sequence, arrival_ns: 0, ingress: 0, verdict, bytes });
        outputs
    }

    #[test]
    fn a_machine_that_does_something_else_differs_by_field() {
        let checked =
            check_source("e.loom", "engine e() { step s { finish; } }", &Default::default());
        let program = Program::new(&checked.program.expect("a program"));
        let store = wireloom_ir::store(&program.lowered).expect("offloads");
        let start = golden::machine();
        let machine =
            Running::start(Arc::clone(&start), &program, store, &Options::default(), &|_| ())
                .expect("golden starts");
        let report = |lost, got: &Outputs| {
            let lost = (lost, Vec::new());
            MachineReport::new(&program.lowered, &machine, lost, &sent(1, 0, &[0; 60]), got)
        };
        // Golden does not see the packets that the machine lost, so its numbers differ.
        let same = report(false, &sent(1, 7, &[0; 60]));
        assert!(same.differences.is_empty() && same.text().contains("no difference"));
        let other = report(false, &sent(2, 7, &[0; 60]));
        let fields: Vec<&str> = other.differences[0].iter().map(|row| row.field.as_str()).collect();
        assert_eq!(fields, ["verdict"]);
        assert!(other.text().contains("differs from golden"), "{}", other.text());
        assert_eq!(report(false, &Outputs::default()).differences[0][0].got, "nothing was sent");
        let lost = report(true, &Outputs::default());
        assert!(lost.differences.is_empty() && lost.text().contains("lost at the input"));
        let (lost, golden) = ((false, vec![0]), sent(1, 0, &[0; 60]));
        let none = Outputs::default();
        let dropped = MachineReport::new(&program.lowered, &machine, lost, &golden, &none);
        assert!(dropped.differences.is_empty());
        assert!(dropped.text().contains("dropped in a full queue; no difference"));
    }
}
