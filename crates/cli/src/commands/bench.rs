//! `wireloom bench`: measurements.

use std::path::PathBuf;

use clap::{Args, ValueHint};
use serde::Serialize;

use crate::bench::{self, BENCHMARKS, Benchmark, Measurement, Settings};
use crate::failure::{Failure, Outcome};
use crate::output::{self, JsonTarget};
use crate::progress::Working;

/// See `wireloom bench --help`.
#[derive(Args, Debug)]
pub struct Bench {
    /// Benchmarks by name; `all`; or `list` to see what there is
    #[arg(value_name = "NAME", required = true)]
    names: Vec<String>,
    /// Samples of each; the median counts
    #[arg(long, value_name = "N", default_value_t = 7)]
    runs: usize,
    /// Root of the repository: programs and data are found from here
    #[arg(long, value_name = "DIR", default_value = ".", value_hint = ValueHint::DirPath)]
    root: PathBuf,
    /// Write a table, JSON and a plot into this folder
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    out: Option<PathBuf>,
    /// Write the measurements as JSON, to a file or to standard output (-)
    #[arg(long, value_name = "FILE|-")]
    json: Option<JsonTarget>,
}

#[derive(Serialize)]
struct Report {
    computer: String,
    measurements: Vec<Measurement>,
}

impl Bench {
    /// Measures, or lists what can be measured.
    pub fn run(self) -> Outcome {
        if self.names.iter().any(|name| name == "list") {
            output::say(list());
            return Ok(());
        }
        let mut chosen: Vec<&Benchmark> = Vec::new();
        for name in &self.names {
            match BENCHMARKS.iter().find(|benchmark| benchmark.name == name) {
                Some(benchmark) => chosen.push(benchmark),
                None if name == "all" => chosen.extend(BENCHMARKS),
                None => {
                    let names: Vec<_> = BENCHMARKS.iter().map(|benchmark| benchmark.name).collect();
                    return Err(Failure::unusable(format!("there is no benchmark '{name}'"))
                        .with_help(format!("there are {}, and 'all'", names.join(", "))));
                }
            }
        }
        let many = chosen.len() > 1;
        let settings = Settings { root: self.root, runs: self.runs };
        let mut measurements = Vec::new();
        for benchmark in chosen {
            let working = Working::on(format!("{}: {}", benchmark.name, benchmark.what));
            match benchmark.run(&settings) {
                Ok(measurement) => measurements.push(measurement),
                // One that cannot be taken here does not take the others with it.
                Err(failure) if many => {
                    drop(working);
                    eprintln!("{}: left out", benchmark.name);
                    failure.report();
                }
                Err(failure) => return Err(failure),
            }
        }
        let report = Report { computer: computer(), measurements };
        let text = format!("{}\n{}\n", report.computer, bench::table(&report.measurements));
        if output::for_people(self.json.as_ref()) {
            output::print(&text);
        }
        if let Some(target) = &self.json {
            output::write_json(target, &report)?;
        }
        if let Some(folder) = &self.out {
            std::fs::create_dir_all(folder).map_err(|error| {
                Failure::unusable(format!("{}: cannot be made: {error}", folder.display()))
            })?;
            output::write_file(&folder.join("bench.txt"), text.as_bytes())?;
            output::write_json(&JsonTarget::File(folder.join("bench.json")), &report)?;
            output::write_file(
                &folder.join("bench.svg"),
                bench::plot::bars(&report.measurements)?.as_bytes(),
            )?;
            if output::for_people(self.json.as_ref()) {
                output::say(format!("{0}/bench.txt, {0}/bench.json, {0}/bench.svg", folder.display()));
            }
        }
        Ok(())
    }
}

fn list() -> String {
    let mut table = output::table(&["benchmark", "what is measured", "goal"], &[]);
    for benchmark in BENCHMARKS {
        table.add_row([benchmark.name, benchmark.what, &benchmark.goal_text()]);
    }
    table.to_string()
}

/// The processor and how many cores of it there are.
fn computer() -> String {
    let text = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model =
        text.lines().find_map(|line| line.strip_prefix("model name")?.split(": ").nth(1).map(str::trim));
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    format!("{}, {cores} cores", model.unwrap_or("unknown processor"))
}
