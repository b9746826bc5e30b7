//! `wireloom np search`: the smallest network processor that carries given traffic without loss.

use std::path::PathBuf;
use std::str::FromStr;

use clap::{Args, ValueHint};
use serde::Serialize;
use wireloom_net::Packet;
use wireloom_np::area::{Cost, FAMILIES, Part, parts};
use wireloom_np::description::NpSpec;

use crate::captures::{CaptureArgs, warn_of};
use crate::failure::{Failure, Outcome};
use crate::machine::warn_of_sections;
use crate::program::ProgramArgs;
use wireloom_console::output::{self, JsonTarget};
use wireloom_console::thousands;
use wireloom_explore::rig::Loaded;
use wireloom_explore::search::{self, Found, MachineShapes, Shape, Tried, Wanted};
use wireloom_figures::number;
use wireloom_io::{Captures, Source as _};
use wireloom_machine::described;

/// See `wireloom np search --help`.
#[derive(Args, Debug)]
pub struct Search {
    #[command(flatten)]
    program: ProgramArgs,
    /// Load a table file (may be given several times; later entries replace earlier ones)
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    tables: Vec<PathBuf>,
    /// Read the traffic from a capture; if given several times, the machine must carry each capture
    /// by itself. The program must send every packet
    #[arg(long = "in", value_name = "CAPTURE", required = true, value_hint = ValueHint::FilePath)]
    input: Vec<PathBuf>,
    #[command(flatten)]
    captures: CaptureArgs,
    /// Read this number of packets from each capture
    #[arg(long, value_name = "N", default_value_t = 8000, value_parser = clap::value_parser!(u64).range(100..))]
    packets: u64,
    /// Require this rate, in million packets a second
    #[arg(long, value_name = "MPPS")]
    rate: f64,
    /// Take everything except clusters, engines and threads from this machine; if given several
    /// times, the smallest result of all is chosen
    #[arg(long, value_name = "MACHINE", default_value = "np")]
    like: Vec<String>,
    /// Try these numbers of clusters
    #[arg(long, value_name = "N,M..", default_value = "1,2,3,4,6,8,12,16,20,24,32")]
    clusters: Numbers,
    /// Try these numbers of engines a cluster
    #[arg(long, value_name = "N,M..", default_value = "1,2,3,4,6,8")]
    engines: Numbers,
    /// Try these numbers of threads an engine
    #[arg(long, value_name = "N,M..", default_value = "1,2,4,8")]
    threads: Numbers,
    /// Estimate for this device family
    #[arg(long, value_name = "FAMILY", default_value = "xc7", value_parser = ["xc5v", "xc6v", "xc7"], conflicts_with = "part")]
    family: String,
    /// Require that LUTs and block RAMs fit this part, such as XC7VH870T; a wrong name lists them
    /// all
    #[arg(long, value_name = "PART")]
    part: Option<String>,
    /// Write the result as JSON to a file, or to standard output (-)
    #[arg(long, value_name = "FILE|-")]
    json: Option<JsonTarget>,
}

/// Numbers to try, separated by commas.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Numbers(pub Vec<usize>);

impl FromStr for Numbers {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let number =
            |word: &str| word.trim().parse().ok().filter(|number| (1..=64).contains(number));
        let numbers: Option<Vec<usize>> = text.split(',').map(number).collect();
        numbers.map(Self).ok_or_else(|| "write numbers from 1 to 64, separated by commas".into())
    }
}

/// A configuration that was simulated.
#[derive(Serialize)]
struct Row {
    #[serde(flatten)]
    tried: Tried,
    /// The machine with every key of its description.
    description: toml::Table,
}

/// The result of a search.
#[derive(Serialize)]
struct Report {
    program: String,
    mpps: f64,
    family: &'static str,
    part: Option<String>,
    shapes: usize,
    possible: usize,
    fitting: usize,
    tried: Vec<Row>,
    /// The smallest machine that carries the traffic.
    machine: Option<String>,
    /// The machine's estimate, with every unit synthesised.
    cost: Option<Cost>,
}

impl Search {
    /// Searches and prints the result.
    pub fn run(self) -> Outcome {
        if !(self.rate.is_finite() && self.rate > 0.0) {
            return Err(Failure::unusable(
                "--rate is a number of million packets a second, above zero",
            ));
        }
        let places = self.program.places().reads(&self.tables).reads(&self.input);
        let places = places.writes_json(self.json.as_ref());
        places.check()?;
        let loaded = Loaded::new(&self.program.source(), &self.tables)?;
        places.check()?;
        let kinds =
            self.like.iter().map(|like| self.kind(like, &loaded)).collect::<Outcome<Vec<_>>>()?;
        let traffic = self.input.iter().map(|path| self.read(path)).collect::<Outcome<Vec<_>>>()?;
        let part = self.part()?;
        let family = part.as_ref().map_or(self.family.as_str(), |part| part.family.as_str());
        let (family, _) =
            FAMILIES.into_iter().find(|(name, _)| *name == family).expect("all are known");
        let wanted = Wanted {
            loaded: &loaded,
            kinds: &kinds,
            traffic: &traffic,
            mpps: self.rate,
            part: part.as_ref(),
        };
        let (found, best) = search::find_with_cost(&wanted, family, family)?;
        let (machine, cost) = best.unzip();
        let row = |tried: Tried| {
            let candidate = &tried.candidate;
            let machine = candidate.shape.of(&kinds[candidate.kind].like)?;
            Ok(Row { description: described(&machine), tried })
        };
        let Found { shapes, possible, fitting, tried } = found;
        let report = Report {
            program: self.program.file.display().to_string(),
            mpps: self.rate,
            family,
            part: part.map(|part| part.name),
            shapes,
            possible,
            fitting,
            tried: tried.into_iter().map(row).collect::<Outcome<_>>()?,
            machine: machine.map(|machine| machine.name),
            cost,
        };
        if output::for_people(self.json.as_ref()) {
            output::print(&report.text());
        }
        if let Some(target) = &self.json {
            output::write_json(target, &report)?;
        }
        if report.machine.is_some() { Ok(()) } else { Err(Failure::Negative) }
    }

    /// Returns the shapes to try that are based on one machine.
    fn kind(&self, like: &str, loaded: &Loaded) -> Outcome<MachineShapes> {
        let like = NpSpec::find(like).map_err(Failure::unusable)?;
        warn_of_sections(&like, &loaded.program().optimised);
        Ok(MachineShapes { like, shapes: shapes(&self.clusters, &self.engines, &self.threads) })
    }

    fn part(&self) -> Outcome<Option<Part>> {
        let Some(name) = &self.part else { return Ok(None) };
        let known = parts();
        let names: Vec<String> = known.iter().map(|part| part.name.clone()).collect();
        let part = known.into_iter().find(|part| part.name.eq_ignore_ascii_case(name));
        let unknown = || {
            Failure::unusable(format!("--part: '{name}' is unknown"))
                .with_help(format!("known: {}", names.join(", ")))
        };
        part.map(Some).ok_or_else(unknown)
    }

    /// Reads the first packets of a capture.
    fn read(&self, path: &PathBuf) -> Outcome<Vec<Packet>> {
        let input = std::slice::from_ref(path);
        let mut captures = Captures::open(input, Some(self.packets), self.captures.options())?;
        let packets = captures.all()?;
        warn_of(&captures);
        if packets.len() < 100 {
            return Err(Failure::unusable(format!(
                "{}: {} packets are too few to tell a rate",
                path.display(),
                packets.len()
            ))
            .with_help("give it at least 100; 'wireloom traffic' makes some thousand"));
        }
        Ok(packets)
    }
}

/// Returns every shape of these numbers.
pub fn shapes(clusters: &Numbers, engines: &Numbers, threads: &Numbers) -> Vec<Shape> {
    let mut shapes = Vec::new();
    for &clusters in &clusters.0 {
        for &engines in &engines.0 {
            shapes.extend(threads.0.iter().map(|&threads| Shape { clusters, engines, threads }));
        }
    }
    shapes
}

impl Report {
    fn text(&self) -> String {
        let mut text = format!(
            "{} configurations, {} of which could carry {} million packets a second by their threads, slots and ports{}\n\n",
            self.shapes,
            self.possible,
            number(self.mpps),
            self.part.as_ref().map_or(String::new(), |part| format!(
                "; {} of these fit into {part}",
                self.fitting
            ))
        );
        let heads = ["machine", "LUTs, estimated", "block RAMs", "at most", "carried", ""];
        let mut table = output::table(&heads, &[1, 2, 3, 4]);
        for Row { tried, .. } in &self.tried {
            table.add_row([
                tried.candidate.machine.clone(),
                thousands(tried.candidate.luts),
                thousands(tried.candidate.block_rams_18k.div_ceil(2)),
                number(tried.candidate.bound),
                number(tried.mpps),
                if tried.carries { "no loss" } else { "loss" }.to_owned(),
            ]);
        }
        text += &format!("{table}\n\n");
        text += &match (&self.machine, self.cost) {
            (Some(machine), Some(cost)) => format!(
                "{machine} is the smallest that loses nothing: {} LUTs and {} block RAMs of 36 Kb with every unit synthesised ({})\n",
                thousands(cost.luts),
                thousands(cost.block_rams()),
                self.family
            ),
            _ => "None carries it without loss.\n".to_owned(),
        };
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_to_try_are_a_list() {
        assert_eq!("1, 2,16".parse(), Ok(Numbers(vec![1, 2, 16])));
        for text in ["", "0", "65", "1-4", "1,,2"] {
            assert!(text.parse::<Numbers>().is_err(), "{text}");
        }
    }
}
