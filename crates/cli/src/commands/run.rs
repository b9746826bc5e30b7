//! `wireloom run`: runs a capture through a machine.

use std::path::PathBuf;

use clap::{Args, ValueHint};
use serde::Serialize;
use wireloom_console::{Working, bar, load_store, memory, output, thousands};
use wireloom_io::{CaptureSink, Sink, Source};
use wireloom_ir as ir;
use wireloom_ir::Output;
use wireloom_machine::{
    Knob, Options, Profile, Record, Recordings, Wanted, described, find_offload,
};
use wireloom_report::{Page, Section};

use crate::captures::{warn_of, warn_of_left_out};
use crate::failure::Outcome;
use crate::job::JobArgs;
use crate::leaving::Leaving;
use crate::machine::{self, MachineName};
use crate::pages;
use crate::rows::{self, OffloadReport};
use crate::simulation;
use crate::updates::{Part, UpdatesArgs};
use wireloom_console::{Count, VerdictCounts};

/// See `wireloom run --help`.
#[derive(Args, Debug)]
pub struct Run {
    #[arg(long, value_name = "MACHINE", default_value = "native", help = machine::help("Run on this machine"))]
    on: MachineName,
    /// Write the packets that were sent or handed to the cpu, as pcapng with one interface a port;
    /// if the name ends in .pcap, as plain pcap, which holds only those that were sent
    #[arg(long, value_name = "CAPTURE", value_hint = ValueHint::FilePath)]
    out: Option<PathBuf>,
    /// Also write dropped packets, with the reason as a comment
    #[arg(long, requires = "out")]
    drops: bool,
    /// Show an offload's contents after the run: NAME, or OUTER.NAME inside a called engine (may be
    /// given several times)
    #[arg(long, value_name = "OFFLOAD")]
    dump: Vec<String>,
    /// Show this number of an offload's rows, largest values first; 0 shows all, sorted by key
    #[arg(long, value_name = "N", default_value_t = 20)]
    rows: usize,
    /// Show for each line of the program what threads of a simulated machine did there: the
    /// instructions, and the cycles in which they executed and waited. The report of --json has all
    /// lines, the text the first 20 (--rows)
    #[arg(long)]
    profile: bool,
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
    machine: String,
    /// The machine with every key of its description.
    description: toml::Table,
    table_entries: u64,
    table_load_seconds: f64,
    build_seconds: f64,
    arrived: Count,
    /// Processing time, without reading and writing captures.
    work_seconds: f64,
    /// Packets per second that this computer executed.
    host_pps: f64,
    /// The statistics of a simulated machine.
    #[serde(skip_serializing_if = "Option::is_none")]
    simulation: Option<Record>,
    /// Peak resident memory of the whole process, in KiB.
    peak_memory_kib: u64,
    #[serde(flatten)]
    fates: VerdictCounts,
    /// The work of threads at each line of the program.
    #[serde(skip_serializing_if = "Option::is_none")]
    profile: Option<Profile>,
    offloads: Vec<OffloadReport>,
    /// Offloads of a simulated machine that were not read back: large ones that the user did not
    /// request.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    unread: Vec<String>,
}

impl Run {
    /// Runs the packets through the machine and prints a report.
    pub fn run(self) -> Outcome {
        let job = self.job;
        job.simulation.check(std::slice::from_ref(&self.on))?;
        if self.profile {
            simulation::check_knob("--profile", Knob::Profile, &self.on)?;
        }
        let places = self.updates.places(job.places()).writes("--out", self.out.as_deref());
        places.check()?;
        let options = Options { profile: self.profile, ..job.simulation.options()? };
        let (compiled, own) = self.on.program(&job.program, &options)?;
        let program = &compiled.optimised;
        let mut updates = self.updates.open(&compiled)?;
        let mut captures = job.input.open()?;
        let (store, tables) = load_store(program, &job.tables)?;
        places.check()?;
        for name in &self.dump {
            find_offload(&store, name)?;
        }
        let mut machine = match own {
            Some(machine) => self.on.running(machine, &store, &job.tables)?,
            None => self.on.start(&compiled, store, &options)?,
        };
        if machine.configured.capabilities().updates_in_flight {
            for update in updates.take() {
                machine.machine.schedule(&update).map_err(|why| updates.failure(&update, why))?;
            }
        }
        let out = self.out.as_deref();
        let sink = out.map(|path| CaptureSink::create(path, program, self.drops)).transpose()?;

        let (mut arrived, mut last_ns) = (Count::default(), 0);
        let mut leaving = Leaving::new(sink, &machine);
        let bar = bar(job.input.packets);
        loop {
            let batch = captures.next_batch()?;
            let end = batch.is_empty();
            let mut keep = |output: Output<'_>| leaving.take(output);
            for part in updates.cut(arrived.packets, &batch) {
                match part {
                    Part::Frames(frames) => {
                        machine.offer(frames, &mut keep)?;
                    }
                    Part::Update(update) => {
                        let made = machine.update(&update, &mut keep);
                        made.map_err(|why| updates.failure(&update, why))?;
                    }
                }
            }
            batch.iter().for_each(|frame| {
                arrived.count(frame.bytes.len());
                last_ns = last_ns.max(frame.arrival_ns);
            });
            if end {
                if let Some(until) = job.until {
                    machine.advance_to(until.after(last_ns), &mut keep)?;
                }
                machine.finish(&mut keep)?;
            }
            let aside = leaving.settle()?;
            machine.work = machine.work.saturating_sub(aside);
            bar.set_position(arrived.packets);
            if end {
                break;
            }
        }
        bar.finish_and_clear();
        let Leaving { tally, sink, .. } = leaving;
        job.simulation.check_warm(tally.outputs())?;
        warn_of(&captures);
        if let Some(sink) = sink {
            let left_out = sink.left_out();
            Box::new(sink).finish()?;
            warn_of_left_out(left_out);
        }
        job.simulation.records.write(machine.name(), machine.machine.recordings())?;
        let unread = {
            let working = Working::on("reading back");
            machine.machine.read_back(Wanted::Shown(&self.dump), &|what| working.now(what))?
        };
        let mut offloads = rows::summary(program, machine.machine.store(), &self.dump, self.rows);
        offloads.retain(|offload| !unread.contains(&offload.name));

        let seconds = machine.work.as_secs_f64();
        let report = Report {
            program: job.program.file.display().to_string(),
            engine: program.engines[program.main.index()].name.clone(),
            machine: machine.name().to_owned(),
            description: described(machine.configured.as_ref()),
            table_entries: tables.entries,
            table_load_seconds: tables.time.as_secs_f64(),
            build_seconds: machine.build_time.as_secs_f64(),
            arrived,
            work_seconds: seconds,
            host_pps: if seconds > 0.0 { arrived.packets as f64 / seconds } else { 0.0 },
            simulation: machine.record(),
            peak_memory_kib: memory::peak_kib(),
            fates: tally.fates(program),
            profile: self.profile.then(|| machine.machine.profile()).flatten(),
            offloads,
            unread,
        };
        if let Some(path) = &job.report {
            let page = report.page(program, &machine.machine.recordings());
            output::write_file(path, page.html().as_bytes())?;
        }
        let mut text = report.text(self.rows);
        if let Some(out) = self.out.as_ref().filter(|out| out.as_os_str() != "-") {
            text += &format!("packets are in {}\n", out.display());
        }
        if let Some(path) = &job.report {
            text += &format!("the report is in {}\n", path.display());
        }
        places.tell(&text);
        Ok(output::json(job.json.as_ref(), &report)?)
    }
}

impl Report {
    fn page(&self, program: &ir::Program, recordings: &Recordings<'_>) -> Page {
        let mut page = Page::new(format!("{} on {}", self.engine, self.machine));
        let mut facts = vec![
            ("program", self.program.clone()),
            ("engine", self.engine.clone()),
            ("machine", self.machine.clone()),
            ("command", pages::command_line()),
            ("arrived", self.arrived.text()),
        ];
        if self.simulation.is_none() {
            facts.push(("time", format!("{:.3} s", self.work_seconds)));
            facts.push(("on this computer", output::packet_rate(self.host_pps)));
        }
        facts.extend([
            ("table entries", thousands(self.table_entries)),
            ("time to load tables", format!("{:.2} s", self.table_load_seconds)),
            ("time to build", format!("{:.2} s", self.build_seconds)),
            ("peak memory", format!("{} KiB", thousands(self.peak_memory_kib))),
        ]);
        page.add(Section::new("The run").facts(facts));
        page.add(pages::fates(&self.fates));
        if let Some(record) = &self.simulation {
            page.add(pages::simulation(&self.machine, record, recordings));
        }
        page.add(pages::offloads(&self.offloads, &self.unread));
        page.add(pages::step_graph(program));
        page
    }

    /// Returns the report for people, with at most `rows` lines of the profile; 0 shows all lines.
    fn text(&self, rows: usize) -> String {
        let mut out = format!("{} on {}", self.engine, self.machine);
        if self.build_seconds >= 0.01 {
            out += &format!(", ready in {:.2} s", self.build_seconds);
        }
        let entries = if self.table_entries == 1 { "entry" } else { "entries" };
        out += &format!("; {} table {entries} loaded", thousands(self.table_entries));
        if self.table_entries > 0 {
            out += &format!(" in {:.2} s", self.table_load_seconds);
        }
        out += &format!("\n{}", self.arrived.text());
        match &self.simulation {
            Some(record) => out += &format!("\n\n{}", simulation::text(record)),
            None => {
                let rate = output::packet_rate(self.host_pps);
                out += &format!(" in {:.3} s: {rate}\n", self.work_seconds);
            }
        }
        out += &format!("\n{}", self.fates.text());
        if let Some(profile) = &self.profile {
            out += &simulation::profile_text(profile, rows);
        }
        out += &rows::text(&self.offloads);
        for name in &self.unread {
            out += &format!("\n{name}: not read back, which takes long; --dump {name} does it\n");
        }
        out
    }
}
