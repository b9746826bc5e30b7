//! `wireloom verify`: machines held to golden, packet by packet.

use std::collections::BTreeMap;

use clap::Args;
use serde::Serialize;
use wireloom_ir as ir;
use wireloom_ir::{Output, Verdict};
use wireloom_net::{Packet, dissect};
use wireloom_offloads::Update;

use crate::failure::{Failure, Outcome};
use crate::job::JobArgs;
use crate::machine::{Machine, MachineName, Settled, Wanted};
use crate::output::{self, thousands};
use crate::outputs::Outputs;
use crate::packets::Batches;
use crate::program::Program;
use crate::progress;
use crate::report::{Count, Fates, Tally, verdict_text};
use crate::rows;
use crate::simulation::Simulated;
use crate::updates::{Part, UpdatesArgs};

/// See `wireloom verify --help`.
#[derive(Args, Debug)]
pub struct Verify {
    #[command(flatten)]
    job: JobArgs,
    #[command(flatten)]
    updates: UpdatesArgs,
    /// The machines to compare with golden, separated by commas: native, np-C-E-T (clusters, engines, threads), or
    /// descriptions (.toml)
    #[arg(long, value_name = "MACHINES", value_delimiter = ',', default_value = "native")]
    on: Vec<MachineName>,
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
    machine: String,
    /// Packets that were compared; those that a simulated machine lost at its input are not.
    compared: u64,
    work_seconds: f64,
    /// Packets in that time, in millions a second.
    mpps: f64,
    /// Of a simulated machine: what it would have come to.
    #[serde(skip_serializing_if = "Option::is_none")]
    simulation: Option<Simulated>,
}

/// The first thing in which a machine differs from golden.
#[derive(Serialize)]
struct Difference {
    machine: String,
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

/// A machine under comparison, and a golden one that is given what the machine has taken in.
struct Contender {
    machine: Machine,
    golden: Machine,
    /// Packets of which the machine has not told all, by number, and how many it was given.
    open: BTreeMap<u64, Packet>,
    given: u64,
    compared: u64,
    outputs: Outputs,
    expected: Outputs,
    difference: Option<Difference>,
}

impl Contender {
    fn new(name: MachineName, program: &Program, job: &JobArgs) -> Outcome<Self> {
        let build = |name| Machine::build(name, program, &job.tables, &job.simulation);
        Ok(Self {
            golden: build(MachineName::Golden)?,
            machine: build(name)?,
            open: BTreeMap::new(),
            given: 0,
            compared: 0,
            outputs: Outputs::default(),
            expected: Outputs::default(),
            difference: None,
        })
    }

    /// Executes a batch and compares what is known of the packets then; an empty one is the end.
    fn execute(&mut self, program: &ir::Program, batch: &[Packet], tally: &mut Tally) -> Outcome {
        self.outputs.clear();
        let mut keep = |output: Output<'_>| self.outputs.keep(output);
        let settled = if batch.is_empty() {
            self.machine.finish(&mut keep)?
        } else {
            self.machine.execute(batch, &mut keep)?
        };
        self.open.extend((self.given..).zip(batch.iter().cloned()));
        self.given += batch.len() as u64;
        self.expect(&settled, tally)?;
        self.difference =
            first_difference(program, self.machine.name.as_str(), &self.expected, &self.outputs);
        Ok(())
    }

    /// Changes an entry of both between two packets: the machine has told of all those before.
    fn update(&mut self, update: &Update) -> Result<(), String> {
        self.golden.update(update)?;
        self.machine.update(update)
    }

    /// Has golden execute the packets that have settled, without those that were lost, in the order in which the machine took them.
    fn expect(&mut self, settled: &Settled, tally: &mut Tally) -> Outcome {
        settled.lost.iter().for_each(|number| {
            self.open.remove(number);
        });
        let kept = &settled.taken;
        let taken: Vec<Packet> = kept.iter().filter_map(|number| self.open.remove(number)).collect();
        self.expected.clear();
        // Golden numbers the packets that it is given; reports speak of those that arrived.
        let base = self.compared;
        self.compared += kept.len() as u64;
        let shows_drops = self.machine.shows_drops();
        self.golden.execute(&taken, &mut |output| {
            let sequence = kept[(output.sequence - base) as usize];
            tally.count(output.verdict, output.bytes.len());
            let shown = match output.verdict {
                Verdict::Dropped(_) => shows_drops,
                Verdict::Sent { port } => self.machine.has_port(port),
                Verdict::ToCpu(_) => true,
            };
            let bytes = if shown { output.bytes } else { &[] };
            self.expected.keep(Output { sequence, bytes, ..output });
        })?;
        Ok(())
    }

    fn report(&self) -> MachineReport {
        MachineReport::new(&self.machine, self.compared)
    }
}

impl MachineReport {
    fn new(machine: &Machine, compared: u64) -> Self {
        let seconds = machine.work.as_secs_f64();
        Self {
            machine: machine.name.as_str().to_owned(),
            compared,
            work_seconds: seconds,
            mpps: if seconds > 0.0 { compared as f64 / seconds / 1e6 } else { 0.0 },
            simulation: machine.simulation(),
        }
    }
}

/// All machines under comparison.
struct Comparison {
    contenders: Vec<Contender>,
    tally: Tally,
    outputs: u64,
}

impl Comparison {
    /// Whether there is a machine that has not differed.
    fn goes_on(&self) -> bool {
        self.contenders.iter().any(|contender| contender.difference.is_none())
    }

    /// As [`Contender::execute`], of those that have not differed.
    fn execute(&mut self, program: &ir::Program, batch: &[Packet]) -> Outcome {
        for (index, contender) in self.contenders.iter_mut().enumerate() {
            if contender.difference.is_some() {
                continue;
            }
            // All golden machines that lose nothing tell the same; the first speaks for them.
            let mut unheard = Tally::default();
            contender.execute(program, batch, if index == 0 { &mut self.tally } else { &mut unheard })?;
            if index == 0 {
                self.outputs += contender.expected.len() as u64;
            }
        }
        Ok(())
    }

    /// As [`Contender::update`].
    fn update(&mut self, update: &Update) -> Result<(), String> {
        let mut going = self.contenders.iter_mut().filter(|contender| contender.difference.is_none());
        going.try_for_each(|contender| contender.update(update))
    }
}

impl Verify {
    /// Compares the machines and reports.
    pub fn run(self) -> Outcome {
        let job = self.job;
        job.simulation.check(&self.on)?;
        let compiled = job.program.compiled()?;
        let program = &compiled.optimised;
        let mut batches = Batches::open(&job.input, job.packets)?;
        let mut updates = self.updates.open(&compiled)?;
        let contenders: Outcome<Vec<Contender>> =
            self.on.into_iter().map(|name| Contender::new(name, &compiled, &job)).collect();
        let mut compared = Comparison { contenders: contenders?, tally: Tally::default(), outputs: 0 };

        let mut arrived = Count::default();
        let bar = progress::bar(job.packets, "packets");
        let mut end = false;
        while !end && compared.goes_on() {
            let batch = batches.next_batch()?;
            end = batch.is_empty();
            // Before an update, and at the end, machines tell of all that they were given.
            for part in updates.cut(arrived.packets, batch) {
                match part {
                    Part::Packets(packets) => compared.execute(program, packets)?,
                    Part::Update(update) => {
                        compared.execute(program, &[])?;
                        compared.update(&update).map_err(|what| updates.failure(update.line, what))?;
                    }
                }
            }
            if end {
                compared.execute(program, &[])?;
            }
            arrived.packets += batch.len() as u64;
            arrived.bytes += batch.iter().map(|packet| packet.bytes.len() as u64).sum::<u64>();
            bar.set_position(arrived.packets);
        }
        bar.finish_and_clear();
        let Comparison { mut contenders, tally, outputs } = compared;
        for contender in contenders.iter_mut().filter(|contender| contender.difference.is_none()) {
            let unread = contender.machine.read_back(Wanted::Like(contender.golden.store()))?;
            contender.difference = state_difference(&contender.golden, &contender.machine, &unread);
        }

        for contender in &contenders {
            contender.machine.write_records(&job.simulation)?;
        }

        let golden = contenders.first().map(|first| MachineReport::new(&first.golden, first.compared));
        let machines = golden.into_iter().chain(contenders.iter().map(Contender::report)).collect();
        let report = Report {
            program: job.program.file.display().to_string(),
            engine: program.engines[program.main.index()].name.clone(),
            arrived,
            outputs,
            machines,
            differences: contenders.into_iter().filter_map(|contender| contender.difference).collect(),
            fates: tally.fates(program),
        };
        if output::for_people(job.json.as_ref()) {
            output::print(&report.text());
        }
        if let Some(target) = &job.json {
            output::write_json(target, &report)?;
        }
        if report.differences.is_empty() { Ok(()) } else { Err(Failure::Negative) }
    }
}

/// The first output of a batch in which a machine differs from golden.
fn first_difference(
    program: &ir::Program,
    machine: &str,
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
        Some(Difference {
            machine: machine.to_owned(),
            sequence: Some(sequence),
            fields: compare(program, expected, got),
        })
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
fn state_difference(golden: &Machine, other: &Machine, unread: &[String]) -> Option<Difference> {
    let mut found = rows::differences(golden.store(), other.store());
    found.retain(|row| !unread.contains(&row.offload));
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
    Some(Difference { machine: other.name.as_str().to_owned(), sequence: None, fields })
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
            table.add_row([machine.machine.clone(), format!("{:.2}", machine.mpps), verdict]);
        }
        out += &format!("{table}\n\n");
        for machine in &self.machines {
            if let Some(simulation) = &machine.simulation {
                out += &format!("{}\n{}\n", machine.machine, simulation.text());
            }
        }
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
    use wireloom_ir::{EngineId, Execute};

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
        Fake { odd: None, copies: 1, spoil }.execute(&packets, &mut |output| golden.keep(output));
        Fake { odd: Some(2), copies, spoil }.execute(&packets, &mut |output| other.keep(output));
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
