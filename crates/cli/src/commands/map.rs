//! `wireloom raw map`: chooses the tiles of a tiled processor that execute an engine.

use std::path::PathBuf;

use clap::{Args, ValueHint};
use serde::Serialize;
use wireloom_console::Working;
use wireloom_console::output::{self, JsonTarget};
use wireloom_io::{Captures, Source as _};
use wireloom_machine::{described, load_store};
use wireloom_machines::REGISTRY;
use wireloom_raw::mapper::{self, Found, MachineSpec, Mapping, Rates};

use crate::captures::{CaptureArgs, warn_of};
use crate::failure::{Failure, Outcome};
use crate::program::ProgramArgs;

/// See `wireloom raw map --help`.
#[derive(Args, Debug)]
pub struct Map {
    #[command(flatten)]
    program: ProgramArgs,
    /// Load a table file (may be given several times; later entries replace earlier ones)
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    tables: Vec<PathBuf>,
    /// Read the traffic from a capture. The program must send every packet
    #[arg(long = "in", value_name = "CAPTURE", required = true, value_hint = ValueHint::FilePath)]
    input: Vec<PathBuf>,
    #[command(flatten)]
    captures: CaptureArgs,
    /// Read this number of packets
    #[arg(long, value_name = "N", default_value_t = 4000, value_parser = clap::value_parser!(u64).range(100..))]
    packets: u64,
    /// Map onto the chip of this machine
    #[arg(long, value_name = "MACHINE", default_value = "raw")]
    on: String,
    /// Require this rate, in million packets a second, of as few tiles as possible; without it the
    /// fastest mapping is chosen
    #[arg(long, value_name = "MPPS")]
    rate: Option<f64>,
    /// Write the mapping to a machine description
    #[arg(short, long, value_name = "FILE.toml", value_hint = ValueHint::FilePath)]
    out: Option<PathBuf>,
    /// Write the result as JSON to a file, or to standard output (-)
    #[arg(long, value_name = "FILE|-")]
    json: Option<JsonTarget>,
}

/// A mapping that was tried.
#[derive(Serialize)]
struct Row<'a> {
    mapping: &'a str,
    tiles: usize,
    is_chosen: bool,
    #[serde(flatten)]
    rates: Option<Rates>,
    refused: Option<&'a str>,
    /// The machine with every key of its description.
    description: toml::Table,
}

impl Map {
    /// Searches and prints the result.
    pub fn run(self) -> Outcome {
        if self.rate.is_some_and(|rate| !(rate.is_finite() && rate > 0.0)) {
            return Err(Failure::unusable(
                "--rate is a number of million packets a second, above zero",
            ));
        }
        let places = self.program.places().reads(&self.tables).reads(&self.input);
        let places = places.writes("--out", self.out.as_deref()).writes_json(self.json.as_ref());
        places.check()?;
        let machine = REGISTRY.find(&self.on)?;
        let Some(spec) = machine.downcast_ref::<MachineSpec>() else {
            return Err(Failure::unusable(format!("--on: '{}' has no tiles to map onto", self.on))
                .with_help("name a machine of kind 'raw' or a file that extends one"));
        };
        let program = self.program.compiled()?;
        let working = Working::on("mapping");
        let progress = |what: &str| working.now(what);
        let (store, _) = load_store(&program.optimised, &self.tables, &progress)?;
        let options = self.captures.options();
        let mut captures = Captures::open(&self.input, Some(self.packets), options)?;
        let packets = captures.all()?;
        warn_of(&captures);
        if packets.len() < 100 {
            let count = packets.len();
            return Err(Failure::unusable(format!("{count} packets are too few to tell a rate"))
                .with_help("give it at least 100; 'wireloom traffic' makes some thousand"));
        }
        let found =
            mapper::search(spec, &program.optimised, &store, &packets, self.rate, &progress)?;
        drop(working);
        if output::for_people(self.json.as_ref()) {
            output::print(&text(spec, &found));
        }
        if let Some(target) = &self.json {
            output::write_json(target, &rows(spec, &found))?;
        }
        let Some(best) = found.best else { return Err(Failure::Negative) };
        if let Some(path) = &self.out {
            let candidate = &found.tried[best].candidate;
            let program = self.program.file.display();
            let about = format!("{} for {program}: {}", self.on, candidate.name);
            let description = candidate.description(&self.on, &about);
            output::write_file(path, description.as_bytes())?;
        }
        Ok(())
    }
}

fn rows<'a>(spec: &MachineSpec, found: &'a Found) -> Vec<Row<'a>> {
    let machine = |mapping: &Mapping| MachineSpec { mapping: mapping.clone(), ..spec.clone() };
    let tried = found.tried.iter().enumerate();
    tried
        .map(|(at, tried)| Row {
            mapping: &tried.candidate.name,
            tiles: tried.candidate.tiles(),
            is_chosen: found.best == Some(at),
            rates: tried.rates.as_ref().ok().copied(),
            refused: tried.rates.as_ref().err().map(String::as_str),
            description: described(&machine(&tried.candidate.mapping)),
        })
        .collect()
}

fn text(spec: &MachineSpec, found: &Found) -> String {
    let heads = ["mapping", "tiles", "Mpps", "Gb/s", "cycles a packet", "latency, cycles", ""];
    let mut table = output::table(&heads, &[1, 2, 3, 4, 5]);
    for row in rows(spec, found) {
        let number = |of: fn(&Rates) -> f64, digits: usize| {
            row.rates.as_ref().map_or(String::new(), |rates| format!("{:.digits$}", of(rates)))
        };
        let remark = if row.is_chosen { "chosen" } else { row.refused.unwrap_or_default() };
        table.add_row([
            row.mapping.to_owned(),
            row.tiles.to_string(),
            number(|rates| rates.mpps, 2),
            number(|rates| rates.gbps, 2),
            number(|rates| rates.cycles, 1),
            number(|rates| rates.latency, 0),
            remark.to_owned(),
        ]);
    }
    let end = match found.best {
        Some(best) => {
            let tried = &found.tried[best];
            format!("{}: {:.2} Mpps", tried.candidate.name, tried.mpps())
        }
        None => "No mapping carries it.".to_owned(),
    };
    format!("{table}\n\n{end}\n")
}
