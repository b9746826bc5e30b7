//! `wireloom bench`: measurements.

use std::path::PathBuf;

use clap::{Args, ValueHint};
use serde::Serialize;

use crate::bench::{self, BENCHMARKS, Benchmark, Drawn, FIGURES, Figure, Measurement, Settings};
use crate::failure::{Failure, Outcome};
use crate::output::{self, JsonTarget};
use crate::progress::Working;

/// See `wireloom bench --help`.
#[derive(Args, Debug)]
pub struct Bench {
    /// Benchmarks and figures by name; `all`; or `list` to see what there is
    #[arg(value_name = "NAME", required = true)]
    names: Vec<String>,
    /// Samples of each; the median counts
    #[arg(long, value_name = "N", default_value_t = 7)]
    runs: usize,
    /// Root of the repository: programs and data are found from here
    #[arg(long, value_name = "DIR", default_value = ".", value_hint = ValueHint::DirPath)]
    root: PathBuf,
    /// Of figures that compare network processors, measure only this one (may be given several times)
    #[arg(long = "on", value_name = "MACHINE")]
    only: Vec<String>,
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
    figures: Vec<Made>,
}

/// A figure of a paper, made.
#[derive(Serialize)]
struct Made {
    name: &'static str,
    what: &'static str,
    #[serde(flatten)]
    drawn: Drawn,
}

/// What is to be done.
#[derive(Clone, Copy)]
enum Chosen {
    Benchmark(&'static Benchmark),
    Figure(&'static Figure),
}

impl Chosen {
    /// Everything there is, in order.
    fn all() -> impl Iterator<Item = Self> {
        BENCHMARKS.iter().map(Self::Benchmark).chain(FIGURES.iter().map(Self::Figure))
    }

    fn name(self) -> &'static str {
        match self {
            Self::Benchmark(benchmark) => benchmark.name,
            Self::Figure(figure) => figure.name,
        }
    }

    fn what(self) -> &'static str {
        match self {
            Self::Benchmark(benchmark) => benchmark.what,
            Self::Figure(figure) => figure.what,
        }
    }
}

impl Bench {
    /// Measures, or lists what can be measured.
    pub fn run(self) -> Outcome {
        if self.names.iter().any(|name| name == "list") {
            output::say(list());
            return Ok(());
        }
        let mut chosen: Vec<Chosen> = Vec::new();
        for name in &self.names {
            match Chosen::all().find(|one| one.name() == name) {
                Some(one) => chosen.push(one),
                None if name == "all" => chosen.extend(Chosen::all()),
                None => {
                    let names: Vec<_> = Chosen::all().map(Chosen::name).collect();
                    return Err(Failure::unusable(format!("there is no benchmark '{name}'"))
                        .with_help(format!("there are {}, and 'all'", names.join(", "))));
                }
            }
        }
        let many = chosen.len() > 1;
        let settings = Settings { root: self.root.clone(), runs: self.runs, only: self.only.clone() };
        let mut report = Report { computer: computer(), measurements: Vec::new(), figures: Vec::new() };
        for one in chosen {
            let working = Working::on(format!("{}: {}", one.name(), one.what()));
            let done = match one {
                Chosen::Benchmark(benchmark) => {
                    benchmark.run(&settings).map(|measurement| report.measurements.push(measurement))
                }
                Chosen::Figure(figure) => (figure.make)(&settings).map(|drawn| {
                    report.figures.push(Made { name: figure.name, what: figure.what, drawn });
                }),
            };
            match done {
                Ok(()) => {}
                // One that cannot be taken here does not take the others with it.
                Err(failure) if many => {
                    drop(working);
                    eprintln!("{}: left out", one.name());
                    failure.report();
                }
                Err(failure) => return Err(failure),
            }
        }
        self.show(&report)
    }

    /// Prints the report and writes its files.
    fn show(&self, report: &Report) -> Outcome {
        let measured = (!report.measurements.is_empty())
            .then(|| format!("{}\n{}\n", report.computer, bench::table(&report.measurements)));
        if output::for_people(self.json.as_ref()) {
            measured.iter().for_each(|text| output::print(text));
            for made in &report.figures {
                output::print(&format!("{}\n{}", made.what, made.drawn.text));
            }
        }
        if let Some(target) = &self.json {
            output::write_json(target, report)?;
        }
        let Some(folder) = &self.out else { return Ok(()) };
        std::fs::create_dir_all(folder)
            .map_err(|error| Failure::unusable(format!("{}: cannot be made: {error}", folder.display())))?;
        let mut names = Vec::new();
        if let Some(text) = measured {
            output::write_file(&folder.join("bench.txt"), text.as_bytes())?;
            output::write_json(&JsonTarget::File(folder.join("bench.json")), report)?;
            let plot = bench::plot::bars(&report.measurements)?;
            output::write_file(&folder.join("bench.svg"), plot.as_bytes())?;
            names.push("bench");
        }
        for made in &report.figures {
            let file = |end: &str| folder.join(format!("{}.{end}", made.name));
            output::write_file(&file("txt"), format!("{}\n{}", made.what, made.drawn.text).as_bytes())?;
            output::write_json(&JsonTarget::File(file("json")), &made)?;
            output::write_file(&file("svg"), made.drawn.svg.as_bytes())?;
            names.push(made.name);
        }
        if output::for_people(self.json.as_ref()) {
            for name in names {
                output::say(format!("{0}/{name}.txt, {0}/{name}.json, {0}/{name}.svg", folder.display()));
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
    for figure in FIGURES {
        table.add_row([figure.name, figure.what, ""]);
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
