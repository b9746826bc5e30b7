//! `wireloom verify`: compares machines with golden, packet by packet.

use std::sync::Arc;

use clap::Args;
use serde::Serialize;
use wireloom_console::{Working, bar, counted, load_store, output, thousands};
use wireloom_io::Source;
use wireloom_ir as ir;
use wireloom_ir::{Output, TIMERS};
use wireloom_machine::{Contender, Difference, Record, Recordings, Running, described};
use wireloom_report::{Page, Section, Table};

use crate::captures::warn_of;
use crate::differences;
use crate::failure::{Failure, Outcome};
use crate::job::JobArgs;
use crate::machine::{self, MachineName, warn_of_sections};
use crate::pages;
use crate::simulation;
use crate::updates::{Part, UpdatesArgs};
use wireloom_console::{Count, Tally, VerdictCounts};

/// See `wireloom verify --help`.
#[derive(Args, Debug)]
pub struct Verify {
    #[arg(long, value_name = "MACHINES", value_delimiter = ',', default_value = "native",
        help = machine::help("Compare these machines with golden, separated by commas"))]
    on: Vec<MachineName>,
    #[command(flatten)]
    updates: UpdatesArgs,
    /// Last: its groups of options would go on.
    #[command(flatten)]
    job: JobArgs,
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
    fates: VerdictCounts,
}

#[derive(Serialize)]
struct MachineReport {
    machine: String,
    /// The machine with every key of its description.
    description: toml::Table,
    /// The number of packets compared. Packets that a simulated machine lost at its input do not
    /// count.
    compared: u64,
    /// Outputs that a simulated machine dropped in full queues. They are not compared.
    lost_outputs: u64,
    work_seconds: f64,
    /// Packets per second that this computer executed.
    host_pps: f64,
    /// The statistics of a simulated machine.
    #[serde(skip_serializing_if = "Option::is_none")]
    simulation: Option<Record>,
}

impl MachineReport {
    fn new(machine: &Running, compared: u64, lost_outputs: u64) -> Self {
        let seconds = machine.work.as_secs_f64();
        Self {
            machine: machine.name().to_owned(),
            description: described(machine.configured.as_ref()),
            compared,
            lost_outputs,
            work_seconds: seconds,
            host_pps: if seconds > 0.0 { compared as f64 / seconds } else { 0.0 },
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
                    tally.count(output.verdict, Some(output.bytes.len()));
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
        let program = &compiled.optimised;
        let mut captures = job.input.open()?;
        let mut updates = self.updates.open(&compiled)?;
        let (store, _) = load_store(program, &job.tables)?;
        places.check()?;
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

        let (mut arrived, mut last_ns) = (Count::default(), 0);
        let bar = bar(job.input.packets);
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
            batch.iter().for_each(|frame| {
                arrived.count(frame.bytes.len());
                last_ns = last_ns.max(frame.arrival_ns);
            });
            if end {
                if let Some(until) = job.until {
                    compared.work(|contender, program, heard| {
                        contender.advance_to(program, until.after(last_ns), heard)
                    })?;
                }
                compared.work(Contender::finish)?;
            }
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
        job.simulation.check_warm(outputs)?;
        let golden =
            contenders.first().map(|first| MachineReport::new(&first.golden, first.compared, 0));
        let own = contenders
            .iter()
            .map(|own| MachineReport::new(&own.machine, own.compared, own.lost_outputs));
        let machines = golden.into_iter().chain(own).collect();
        let report = Report {
            program: job.program.file.display().to_string(),
            engine: program.engines[program.main.index()].name.clone(),
            arrived,
            outputs,
            machines,
            differences: contenders.iter_mut().filter_map(|own| own.difference.take()).collect(),
            fates: tally.fates(program),
        };
        let recordings: Vec<_> = contenders
            .iter()
            .map(|own| (own.machine.name(), own.machine.machine.recordings()))
            .collect();
        if let Some(path) = &job.report {
            let page = report.page(program, &recordings);
            output::write_file(path, page.html().as_bytes())?;
        }
        let mut text = report.text();
        if let Some(path) = &job.report {
            text += &format!("the report is in {}\n", path.display());
        }
        places.tell(&text);
        if let Some(target) = &job.json {
            output::write_json(target, &report)?;
        }
        if report.differences.is_empty() { Ok(()) } else { Err(Failure::Negative) }
    }
}

impl Report {
    /// Says whether a machine agrees with golden.
    fn verdict(&self, machine: &str) -> String {
        match self.differences.iter().find(|difference| difference.machine == machine) {
            _ if machine == "golden" => "-".to_owned(),
            None => match self.machines.iter().find(|own| own.machine == machine) {
                Some(MachineReport { lost_outputs: lost @ 1.., .. }) => {
                    let lost = counted(*lost, "output");
                    format!("no difference; {lost} dropped in full queues")
                }
                _ => "no difference".to_owned(),
            },
            Some(Difference { sequence: Some(timer @ TIMERS..), .. }) => {
                format!("differs at timer {}", timer - TIMERS)
            }
            Some(Difference { sequence: Some(sequence), .. }) => {
                format!("differs at packet {sequence}")
            }
            Some(_) => "packets agree, offloads differ".to_owned(),
        }
    }

    fn page(&self, program: &ir::Program, recordings: &[(&str, Recordings<'_>)]) -> Page {
        let names: Vec<&str> =
            self.machines.iter().skip(1).map(|own| own.machine.as_str()).collect();
        let mut page = Page::new(format!("{} on {} and golden", self.engine, names.join(", ")));
        match self.differences.len() {
            0 => page.state(true, "All machines agree with golden."),
            1 => page.state(false, "One machine differs from golden."),
            count => page.state(false, format!("{count} machines differ from golden.")),
        }
        let mut table =
            Table::new(["machine", "on this computer", "packets compared", "result"], &[1, 2]);
        for own in &self.machines {
            let (rate, compared) = (output::packet_rate(own.host_pps), thousands(own.compared));
            table.row([own.machine.clone(), rate, compared, self.verdict(&own.machine)]);
        }
        let section = Section::new("The comparison").facts([
            ("program", self.program.clone()),
            ("engine", self.engine.clone()),
            ("command", pages::command_line()),
            ("arrived", self.arrived.text()),
            ("outputs compared", thousands(self.outputs)),
        ]);
        page.add(section.table(table));
        self.differences.iter().for_each(|difference| page.add(difference_section(difference)));
        page.add(pages::fates(&self.fates));
        for own in &self.machines {
            let Some(record) = &own.simulation else { continue };
            let recorded = recordings.iter().find(|(name, _)| *name == own.machine);
            let none = Recordings::default();
            let recorded = recorded.map_or(&none, |(_, recorded)| recorded);
            page.add(pages::simulation(&own.machine, record, recorded));
        }
        page.add(pages::step_graph(program));
        page
    }

    fn text(&self) -> String {
        let mut out = format!(
            "{}: {}; {} compared\n\n",
            self.engine,
            self.arrived.text(),
            counted(self.outputs, "output"),
        );
        let mut table =
            output::table(&["machine", "on this computer", "compared with golden"], &[1]);
        for machine in &self.machines {
            let verdict = self.verdict(&machine.machine);
            let rate = output::packet_rate(machine.host_pps);
            table.add_row([machine.machine.clone(), rate, verdict]);
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

/// Says where a difference is.
fn place(difference: &Difference) -> String {
    match difference.sequence {
        Some(timer @ TIMERS..) => {
            format!("timer {} (of those that ran, counted from 0)", timer - TIMERS)
        }
        Some(sequence) => format!("packet {sequence} (counted from 0)"),
        None => "contents of the offloads after the last packet".to_owned(),
    }
}

/// Shows a difference field by field, then byte by byte.
fn difference_section(difference: &Difference) -> Section {
    let got = format!("got ({})", difference.machine);
    let mut table = Table::new(["", "field", "expected (golden)", &got], &[]);
    for row in difference.fields.iter().filter(|row| row.tells()) {
        let cells = |mark: &str| [mark, &row.field, &row.expected, &row.got].map(str::to_owned);
        match row.same() {
            true => table.row(cells("")),
            false => table.marked_row(cells("\u{2260}")),
        }
    }
    let heading = format!("First difference of {}: {}", difference.machine, place(difference));
    let section = Section::new(heading).table(table);
    match &difference.bytes {
        [None, None] => section,
        [expected, got] => section.bytes(expected.clone(), got.clone()),
    }
}

/// Formats a difference for people.
fn difference_text(difference: &Difference) -> String {
    let got = format!("got ({})", difference.machine);
    let table = differences::table(&difference.fields, "expected (golden)", &got);
    format!("{}\n{table}\n\n", place(difference))
}
