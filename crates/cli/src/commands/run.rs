//! `wireloom run`: a capture through a machine.

use std::path::PathBuf;

use clap::{Args, ValueHint};
use serde::Serialize;
use wireloom_ir as ir;
use wireloom_ir::{Output, Verdict};
use wireloom_net::capture::{Destination, Writer};

use crate::failure::{Failure, Outcome};
use crate::job::JobArgs;
use crate::machine::{Machine, MachineName, Wanted};
use crate::memory;
use crate::output::{self, thousands};
use crate::outputs::Outputs;
use crate::packets::Batches;
use crate::progress;
use crate::report::{Count, Fates, Tally, reason_name};
use crate::rows::{self, OffloadReport};
use crate::simulation::Simulated;
use crate::updates::{Part, UpdatesArgs};

/// See `wireloom run --help`.
#[derive(Args, Debug)]
pub struct Run {
    #[command(flatten)]
    job: JobArgs,
    #[command(flatten)]
    updates: UpdatesArgs,
    /// The machine: golden, native, np-C-E-T (clusters, engines, threads), or a description (.toml)
    #[arg(long, value_name = "MACHINE", default_value = "native")]
    on: MachineName,
    /// Write the packets that were sent or handed to the cpu, as pcapng with an interface for each port
    #[arg(long, value_name = "CAPTURE", value_hint = ValueHint::FilePath)]
    out: Option<PathBuf>,
    /// Write dropped packets too, with the reason as comment
    #[arg(long, requires = "out")]
    drops: bool,
    /// Show an offload's contents after the run: NAME, or OUTER.NAME inside an engine that is called (may be given
    /// several times)
    #[arg(long, value_name = "OFFLOAD")]
    dump: Vec<String>,
    /// How many rows of an offload to show, those with the largest values first; 0 shows all, by key
    #[arg(long, value_name = "N", default_value_t = 20)]
    rows: usize,
}

#[derive(Serialize)]
struct Report {
    program: String,
    engine: String,
    machine: String,
    table_entries: u64,
    table_load_seconds: f64,
    build_seconds: f64,
    arrived: Count,
    /// Time that the machine worked on packets, without reading and writing captures.
    work_seconds: f64,
    /// Packets in that time, in millions a second.
    mpps: f64,
    /// Of a simulated machine: what it would have come to.
    #[serde(skip_serializing_if = "Option::is_none")]
    simulation: Option<Simulated>,
    /// Resident memory at its highest, in KiB, of the whole process.
    peak_memory_kib: u64,
    #[serde(flatten)]
    fates: Fates,
    offloads: Vec<OffloadReport>,
    /// Offloads of a simulated machine that were not read back: large ones that were not asked for.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    unread: Vec<String>,
}

impl Run {
    /// Runs the packets through the machine and reports.
    pub fn run(self) -> Outcome {
        let job = self.job;
        job.simulation.check(std::slice::from_ref(&self.on))?;
        let compiled = job.program.compiled()?;
        let program = &compiled.optimised;
        let mut updates = self.updates.open(&compiled)?;
        let mut batches = Batches::open(&job.input, job.packets)?;
        let mut machine = Machine::build(self.on, &compiled, &job.tables, &job.simulation)?;
        for name in &self.dump {
            rows::find(machine.store(), name)?;
        }
        machine.schedule(&mut updates)?;
        let mut writer = self.out.as_deref().map(Writer::create).transpose()?;

        let mut tally = Tally::default();
        let mut arrived = Count::default();
        let mut outputs = Outputs::default();
        let bar = progress::bar(job.packets, "packets");
        loop {
            let batch = batches.next_batch()?;
            outputs.clear();
            let end = batch.is_empty();
            let mut keep = |output: Output<'_>| outputs.keep(output);
            for part in updates.cut(arrived.packets, batch) {
                match part {
                    Part::Packets(packets) => {
                        machine.execute(packets, &mut keep)?;
                    }
                    Part::Update(update) => {
                        machine.update(&update).map_err(|what| updates.failure(update.line, what))?;
                    }
                }
            }
            if end {
                machine.finish(&mut keep)?;
            }
            arrived.packets += batch.len() as u64;
            arrived.bytes += batch.iter().map(|packet| packet.bytes.len() as u64).sum::<u64>();
            let leaves = |output: &Output<'_>| match output.verdict {
                Verdict::Sent { port } => machine.has_port(port),
                _ => true,
            };
            for output in outputs.iter().filter(leaves) {
                tally.count(output.verdict, output.bytes.len());
                if let Some(writer) = &mut writer {
                    write(writer, program, output, self.drops)?;
                }
            }
            bar.set_position(arrived.packets);
            if end {
                break;
            }
        }
        bar.finish_and_clear();
        writer.map(Writer::finish).transpose()?;
        machine.write_records(&job.simulation)?;
        let unread = machine.read_back(Wanted::Shown(&self.dump))?;
        let mut offloads = rows::summary(program, machine.store(), &self.dump, self.rows);
        offloads.retain(|offload| !unread.contains(&offload.name));

        let seconds = machine.work.as_secs_f64();
        let report = Report {
            program: job.program.file.display().to_string(),
            engine: program.engines[program.main.index()].name.clone(),
            machine: machine.name.as_str().to_owned(),
            table_entries: machine.tables.entries,
            table_load_seconds: machine.tables.time.as_secs_f64(),
            build_seconds: machine.build_time.as_secs_f64(),
            arrived,
            work_seconds: seconds,
            mpps: if seconds > 0.0 { arrived.packets as f64 / seconds / 1e6 } else { 0.0 },
            simulation: machine.simulation(),
            peak_memory_kib: memory::peak_kib(),
            fates: tally.fates(program),
            offloads,
            unread,
        };
        if output::for_people(job.json.as_ref()) {
            output::print(&report.text());
            if let Some(out) = &self.out {
                output::say(format!("packets are in {}", out.display()));
            }
        }
        job.json.map_or(Ok(()), |target| output::write_json(&target, &report))
    }
}

/// Writes an output where it belongs in the capture.
fn write(writer: &mut Writer, program: &ir::Program, output: Output<'_>, drops: bool) -> Outcome {
    let name;
    let destination = match output.verdict {
        Verdict::Sent { port } => Destination::Port(port),
        Verdict::ToCpu(reason) => {
            name = reason_name(program, reason);
            Destination::Cpu(&name)
        }
        Verdict::Dropped(_) if !drops => return Ok(()),
        Verdict::Dropped(reason) => {
            name = reason_name(program, reason);
            Destination::Drop(&name)
        }
    };
    writer.write(destination, output.arrival_ns, output.bytes).map_err(Failure::from)
}

impl Report {
    fn text(&self) -> String {
        let mut out = format!("{} on {}", self.engine, self.machine);
        if self.build_seconds >= 0.01 {
            out += &format!(", built in {:.2} s", self.build_seconds);
        }
        out += &format!("; {} table entries loaded", thousands(self.table_entries));
        if self.table_entries > 0 {
            out += &format!(" in {:.2} s", self.table_load_seconds);
        }
        out += &format!(
            "\n{} packets, {} bytes",
            thousands(self.arrived.packets),
            thousands(self.arrived.bytes)
        );
        match &self.simulation {
            Some(simulation) => out += &format!("\n\n{}", simulation.text()),
            None => out += &format!(" in {:.3} s: {:.2} Mpps\n", self.work_seconds, self.mpps),
        }
        out += &format!("\n{}", self.fates.text());
        out += &rows::text(&self.offloads);
        for name in &self.unread {
            out += &format!("\n{name}: not read back, which takes long; --dump {name} does it\n");
        }
        out
    }
}
