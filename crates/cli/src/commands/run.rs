//! `wireloom run`: a capture through a machine.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use clap::{Args, ValueHint};
use serde::Serialize;
use wireloom_ir as ir;
use wireloom_ir::{Output, Verdict};
use wireloom_net::capture::{Destination, Writer};

use crate::failure::{Failure, Outcome};
use crate::machine::{Machine, MachineName};
use crate::memory;
use crate::output::{self, JsonTarget, thousands};
use crate::outputs::Outputs;
use crate::packets::Batches;
use crate::program::ProgramArgs;
use crate::progress;
use crate::report::{Count, Fates, Tally, reason_name};
use crate::rows::{self, OffloadReport};

/// See `wireloom run --help`.
#[derive(Args, Debug)]
pub struct Run {
    #[command(flatten)]
    program: ProgramArgs,
    /// The machine
    #[arg(long, value_name = "MACHINE", default_value = "native")]
    on: MachineName,
    /// Load a table file (may be given several times; later entries replace earlier ones)
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    tables: Vec<PathBuf>,
    /// Read packets from a capture: pcap or pcapng, also gzipped (may be given several times)
    #[arg(long = "in", value_name = "CAPTURE", required = true, value_hint = ValueHint::FilePath)]
    input: Vec<PathBuf>,
    /// Write the packets that were sent or handed to the cpu, as pcapng with an interface for each port
    #[arg(long, value_name = "CAPTURE", value_hint = ValueHint::FilePath)]
    out: Option<PathBuf>,
    /// Write dropped packets too, with the reason as comment
    #[arg(long, requires = "out")]
    drops: bool,
    /// Stop after so many packets
    #[arg(long, value_name = "N")]
    packets: Option<u64>,
    /// Show an offload's contents after the run: NAME, or OUTER.NAME inside an engine that is called (may be given
    /// several times)
    #[arg(long, value_name = "OFFLOAD")]
    dump: Vec<String>,
    /// How many rows of an offload to show, those with the largest values first; 0 shows all, by key
    #[arg(long, value_name = "N", default_value_t = 20)]
    rows: usize,
    /// Write the report as JSON, to a file or to standard output (-)
    #[arg(long, value_name = "FILE|-")]
    json: Option<JsonTarget>,
}

#[derive(Serialize)]
struct Report {
    program: String,
    engine: String,
    machine: &'static str,
    table_entries: u64,
    table_load_seconds: f64,
    build_seconds: f64,
    arrived: Count,
    /// Time that the machine worked on packets, without reading and writing captures.
    work_seconds: f64,
    mpps: f64,
    /// Resident memory at its highest, in KiB, of the whole process.
    peak_memory_kib: u64,
    #[serde(flatten)]
    fates: Fates,
    offloads: Vec<OffloadReport>,
}

impl Run {
    /// Runs the packets through the machine and reports.
    pub fn run(self) -> Outcome {
        let program = self.program.optimised()?;
        let mut batches = Batches::open(&self.input, self.packets)?;
        let mut machine = Machine::build(self.on, &program, &self.tables)?;
        for name in &self.dump {
            rows::find(machine.store(), name)?;
        }
        let mut writer = self.out.as_deref().map(Writer::create).transpose()?;

        let mut tally = Tally::default();
        let mut arrived = Count::default();
        let mut work = Duration::ZERO;
        let mut outputs = Outputs::default();
        let bar = progress::bar(self.packets, "packets");
        loop {
            let batch = batches.next_batch()?;
            if batch.is_empty() {
                break;
            }
            let begin = Instant::now();
            outputs.execute(&mut machine, batch);
            work += begin.elapsed();
            arrived.packets += batch.len() as u64;
            arrived.bytes += batch.iter().map(|packet| packet.bytes.len() as u64).sum::<u64>();
            for output in outputs.iter() {
                tally.count(output.verdict, output.bytes.len());
                if let Some(writer) = &mut writer {
                    write(writer, &program, output, self.drops)?;
                }
            }
            bar.set_position(arrived.packets);
        }
        bar.finish_and_clear();
        writer.map(Writer::finish).transpose()?;

        let seconds = work.as_secs_f64();
        let report = Report {
            program: self.program.file.display().to_string(),
            engine: program.engines[program.main.index()].name.clone(),
            machine: machine.name.as_str(),
            table_entries: machine.tables.entries,
            table_load_seconds: machine.tables.time.as_secs_f64(),
            build_seconds: machine.build_time.as_secs_f64(),
            arrived,
            work_seconds: seconds,
            mpps: if seconds > 0.0 { arrived.packets as f64 / seconds / 1e6 } else { 0.0 },
            peak_memory_kib: memory::peak_kib(),
            fates: tally.fates(&program),
            offloads: rows::summary(&program, machine.store(), &self.dump, self.rows),
        };
        if output::for_people(self.json.as_ref()) {
            output::print(&report.text());
            if let Some(out) = &self.out {
                output::say(format!("packets are in {}", out.display()));
            }
        }
        self.json.map_or(Ok(()), |target| output::write_json(&target, &report))
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
            "\n{} packets, {} bytes in {:.3} s: {:.2} Mpps\n\n{}",
            thousands(self.arrived.packets),
            thousands(self.arrived.bytes),
            self.work_seconds,
            self.mpps,
            self.fates.text(),
        );
        out += &rows::text(&self.offloads);
        out
    }
}
