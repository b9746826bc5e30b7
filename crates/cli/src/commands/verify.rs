//! `wireloom verify`: compares machines with golden, packet by packet.

use std::sync::Arc;

use clap::Args;
use serde::Serialize;
use wireloom_console::{Working, bar, load_store, output, thousands};
use wireloom_io::{Captures, Source};
use wireloom_ir as ir;
use wireloom_ir::Output;
use wireloom_machine::{Contender, Difference, Record, Running};

use crate::captures::warn_of;
use crate::failure::{Failure, Outcome};
use crate::job::JobArgs;
use crate::machine::{self, MachineName, warn_of_sections};
use crate::report::{Count, Fates, Tally};
use crate::simulation;
use crate::updates::{Part, UpdatesArgs};

/// See `wireloom verify --help`.
#[derive(Args, Debug)]
pub struct Verify {
    #[command(flatten)]
    job: JobArgs,
    #[command(flatten)]
    updates: UpdatesArgs,
    #[arg(long, value_name = "MACHINES", value_delimiter = ',', default_value = "native",
        help = machine::help("Compare these machines with golden, separated by commas"))]
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
    /// The number of packets compared. Packets that a simulated machine lost at its input do not
    /// count.
    compared: u64,
    work_seconds: f64,
    /// The rate over that time, in million packets a second.
    mpps: f64,
    /// The statistics of a simulated machine.
    #[serde(skip_serializing_if = "Option::is_none")]
    simulation: Option<Record>,
}

impl MachineReport {
    fn new(machine: &Running, compared: u64) -> Self {
        let seconds = machine.work.as_secs_f64();
        Self {
            machine: machine.name().to_owned(),
            compared,
            work_seconds: seconds,
            mpps: if seconds > 0.0 { compared as f64 / seconds / 1e6 } else { 0.0 },
            simulation: machine.record(),
        }
    }
}

/// All machines under comparison.
struct Comparison<'a> {
    program: &'a ir::Program,
    contenders: Vec<Contender>,
    tally: Tally,
}

impl Comparison<'_> {
    /// Whether any machine is still without a difference.
    fn continues(&self) -> bool {
        self.contenders.iter().any(|contender| contender.difference.is_none())
    }

    /// Runs the machines that are still without a difference. All lossless golden machines give
    /// equal results; the first one is counted.
    fn work<E>(
        &mut self,
        mut work: impl FnMut(&mut Contender, &ir::Program, &mut dyn FnMut(Output<'_>)) -> Result<(), E>,
    ) -> Result<(), E> {
        for (index, contender) in self.contenders.iter_mut().enumerate() {
            if contender.difference.is_some() {
                continue;
            }
            let tally = &mut self.tally;
            work(contender, self.program, &mut |output| {
                if index == 0 {
                    tally.count(output.verdict, output.bytes.len());
                }
            })?;
        }
        Ok(())
    }
}

impl Verify {
    /// Compares the machines and prints a report.
    pub fn run(self) -> Outcome {
        let job = self.job;
        if let Some(golden) = self.on.iter().find(|machine| machine.0.name() == "golden") {
            let message = format!("--on {}: machines are compared with it", golden.0.name());
            return Err(Failure::unusable(message).with_help("name the machines to compare"));
        }
        job.simulation.check(&self.on)?;
        let places = self.updates.places(job.places());
        places.check()?;
        let compiled = job.program.compiled()?;
        let places = places.reads(job.program.included(&compiled.optimised.files));
        places.check()?;
        let program = &compiled.optimised;
        let mut captures = Captures::open(&job.input, job.packets, job.captures.options())?;
        let mut updates = self.updates.open(&compiled)?;
        let (store, _) = load_store(program, &job.tables)?;
        let options = job.simulation.options()?;
        let contenders = self.on.iter().map(|name| -> Outcome<Contender> {
            warn_of_sections(name.0.as_ref(), program);
            let working = Working::on(format!("starting {}", name.0.name()));
            let progress = |what: &str| working.now(what);
            Ok(Contender::new(Arc::clone(&name.0), &compiled, &store, &options, &progress)?)
        });
        let contenders = contenders.collect::<Outcome<Vec<Contender>>>()?;
        drop(store);
        let mut compared = Comparison { program, contenders, tally: Tally::default() };

        let mut arrived = Count::default();
        let bar = bar(job.packets, "packets");
        let mut end = false;
        while !end && compared.continues() {
            let batch = captures.next_batch()?;
            end = batch.is_empty();
            for part in updates.cut(arrived.packets, &batch) {
                match part {
                    Part::Frames(frames) => {
                        compared.work(|contender, program, heard| {
                            contender.offer(program, frames, heard)
                        })?;
                    }
                    Part::Update(update) => compared
                        .work(|contender, program, heard| contender.update(program, &update, heard))
                        .map_err(|why| updates.failure(&update, why))?,
                }
            }
            if end {
                compared.work(Contender::finish)?;
            }
            arrived.packets += batch.len() as u64;
            arrived.bytes += batch.iter().map(|frame| frame.bytes.len() as u64).sum::<u64>();
            bar.set_position(arrived.packets);
        }
        bar.finish_and_clear();
        warn_of(&captures);
        let Comparison { mut contenders, tally, .. } = compared;
        let working = Working::on("comparing the offloads");
        for contender in &mut contenders {
            contender.compare_state(&|what| working.now(what))?;
            let machine = &contender.machine;
            job.simulation.records.write(machine.name(), machine.machine.recordings())?;
        }
        drop(working);

        let outputs = contenders.first().map_or(0, |first| first.outputs);
        let golden =
            contenders.first().map(|first| MachineReport::new(&first.golden, first.compared));
        let own = contenders.iter().map(|own| MachineReport::new(&own.machine, own.compared));
        let machines = golden.into_iter().chain(own).collect();
        let report = Report {
            program: job.program.file.display().to_string(),
            engine: program.engines[program.main.index()].name.clone(),
            arrived,
            outputs,
            machines,
            differences: contenders
                .into_iter()
                .filter_map(|contender| contender.difference)
                .collect(),
            fates: tally.fates(program),
        };
        places.tell(&report.text());
        if let Some(target) = &job.json {
            output::write_json(target, &report)?;
        }
        if report.differences.is_empty() { Ok(()) } else { Err(Failure::Negative) }
    }
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
        let mut table = output::table(&["machine", "rate", "compared with golden"], &[1]);
        for machine in &self.machines {
            let verdict = match self.differences.iter().find(|d| d.machine == machine.machine) {
                _ if machine.machine == "golden" => "-".to_owned(),
                None => "no difference".to_owned(),
                Some(Difference { sequence: Some(sequence), .. }) => {
                    format!("differs at packet {sequence}")
                }
                Some(_) => "packets agree, offloads differ".to_owned(),
            };
            table.add_row([
                machine.machine.clone(),
                output::packet_rate(machine.mpps * 1e6),
                verdict,
            ]);
        }
        out += &format!("{table}\n\n");
        for machine in &self.machines {
            if let Some(record) = &machine.simulation {
                out += &format!("{}\n{}\n", machine.machine, simulation::text(record));
            }
        }
        if self.differences.is_empty() {
            out += &self.fates.text();
            return out;
        }
        for difference in &self.differences {
            out += &difference_text(difference);
        }
        out
    }
}

/// Formats a difference for people.
fn difference_text(difference: &Difference) -> String {
    let title = match difference.sequence {
        Some(sequence) => format!("packet {sequence} (counted from 0)"),
        None => "contents of the offloads after the last packet".to_owned(),
    };
    let mut table = output::table(
        &["", "field", "expected (golden)", &format!("got ({})", difference.machine)],
        &[],
    );
    for row in &difference.fields {
        let mark = if row.expected == row.got { "" } else { "!" };
        table.add_row([mark, &row.field, &row.expected, &row.got]);
    }
    format!("{title}\n{table}\n\n")
}
