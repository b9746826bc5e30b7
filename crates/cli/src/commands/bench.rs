//! `wireloom bench`: measurements.

use std::path::PathBuf;

use clap::builder::RangedU64ValueParser;
use clap::{Args, ValueHint};
use serde::Serialize;

use crate::failure::{Failure, Outcome};
use crate::pages;
use wireloom_console::Places;
use wireloom_console::Working;
use wireloom_console::output::{self, JsonTarget};
use wireloom_figures::store::{Cost, computer};
use wireloom_figures::{
    self, BENCHMARKS, Benchmark, Choice, Drawn, FIGURES, Figure, Measurement, Settings, publish,
};
use wireloom_report::{Page, Section, Table};

/// See `wireloom bench --help`.
#[derive(Args, Debug)]
pub struct Bench {
    /// Benchmarks and figures by name; `all` of them; `cheap` for the figures that take some
    /// minutes at most; or `list` to print the names
    #[arg(value_name = "NAME", required_unless_present = "write_docs")]
    names: Vec<String>,
    /// Take this number of samples of each benchmark and report the median
    #[arg(long, value_name = "N", default_value_t = 7, value_parser = RangedU64ValueParser::<usize>::new().range(1..))]
    runs: usize,
    /// Set the root of the repository, which contains programs and data
    #[arg(long, value_name = "DIR", default_value = ".", value_hint = ValueHint::DirPath)]
    root: PathBuf,
    /// Show where the time goes instead: `native --profile` is `native-profile`
    #[arg(long, requires = "names")]
    profile: bool,
    /// In figures that compare machines, measure only this one (may be given several times); a
    /// figure without it lists the machines that it has
    #[arg(long = "on", value_name = "MACHINE")]
    only: Vec<String>,
    /// Write a table, JSON and a plot into this folder
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    out: Option<PathBuf>,
    /// Write the measurements as JSON to a file, or to standard output (-)
    #[arg(long, value_name = "FILE|-")]
    json: Option<JsonTarget>,
    /// Write tables and plots as an HTML page, to a file or to standard output (-). The page needs
    /// no network
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    report: Option<PathBuf>,
    /// Keep the measurements in the checkout that --root names, and write the numbers, tables and
    /// images of its documentation from them. Without NAME nothing is measured
    #[arg(long, conflicts_with = "only")]
    write_docs: bool,
}

#[derive(Serialize)]
struct Report {
    computer: String,
    measurements: Vec<Measurement>,
    figures: Vec<Made>,
    /// Measurements that were impossible, violated an invariant, or missed their goal.
    failed: Vec<Failed>,
}

#[derive(Serialize)]
struct Failed {
    name: &'static str,
    why: String,
}

/// A reproduced figure of a paper.
#[derive(Serialize)]
struct Made {
    #[serde(skip)]
    figure: &'static Figure,
    name: &'static str,
    what: &'static str,
    #[serde(flatten)]
    drawn: Drawn,
}

/// The suffix of the names of profiles.
const PROFILE: &str = "-profile";

/// One benchmark or figure to run.
#[derive(Clone, Copy)]
enum Chosen {
    Benchmark(&'static Benchmark),
    Figure(&'static Figure),
}

/// A row of `bench list` as JSON.
#[derive(Serialize)]
struct Listed {
    name: &'static str,
    what: &'static str,
    /// `benchmark`: samples of one number; `figure`: a table of many.
    kind: &'static str,
    /// The unit of a benchmark's samples.
    #[serde(skip_serializing_if = "Option::is_none")]
    unit: Option<&'static str>,
    /// A benchmark's goal in that unit.
    #[serde(skip_serializing_if = "Option::is_none")]
    goal: Option<f64>,
    /// Whether a figure takes some minutes at most, so that `cheap` includes it.
    #[serde(skip_serializing_if = "Option::is_none")]
    cheap: Option<bool>,
}

impl From<Chosen> for Listed {
    fn from(one: Chosen) -> Self {
        let (name, what) = (one.name(), one.what());
        match one {
            Chosen::Benchmark(&Benchmark { unit, goal, .. }) => {
                Self { name, what, kind: "benchmark", unit: Some(unit), goal, cheap: None }
            }
            Chosen::Figure(_) => {
                let cheap = Some(one.is_cheap());
                Self { name, what, kind: "figure", unit: None, goal: None, cheap }
            }
        }
    }
}

impl Chosen {
    /// Returns all benchmarks and figures, in order.
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

    /// Whether it is a figure that takes some minutes at most.
    fn is_cheap(self) -> bool {
        matches!(self, Self::Figure(figure) if figure.kept.cost == Cost::Cheap)
    }

    fn goal_text(self) -> String {
        match self {
            Self::Benchmark(benchmark) => benchmark.goal_text(),
            Self::Figure(_) => String::new(),
        }
    }

    fn choice(self) -> &'static Choice {
        match self {
            Self::Benchmark(_) => &Choice::None,
            Self::Figure(figure) => &figure.choice,
        }
    }
}

impl Bench {
    /// Lists the names of benchmarks and figures.
    fn list(&self) -> Outcome {
        let useless = [
            ("another NAME", self.names.len() > 1),
            ("--profile", self.profile),
            ("--on", !self.only.is_empty()),
            ("--out", self.out.is_some()),
            ("--report", self.report.is_some()),
            ("--write-docs", self.write_docs),
        ];
        if let Some((option, _)) = useless.iter().find(|(_, given)| *given) {
            return Err(Failure::unusable(format!("{option} has no effect on 'bench list'")));
        }
        Places::default().writes_json(self.json.as_ref()).check()?;
        if output::for_people(self.json.as_ref()) {
            let mut table = output::table(&["benchmark", "what is measured", "goal"], &[]);
            for one in Chosen::all() {
                table.add_row([one.name(), one.what(), &one.goal_text()]);
            }
            output::say(table.to_string());
        }
        let entries: Vec<Listed> = Chosen::all().map(Listed::from).collect();
        Ok(output::json(self.json.as_ref(), &entries)?)
    }

    /// Measures, or lists the names.
    pub fn run(self) -> Outcome {
        if self.names.iter().any(|name| name == "list") {
            return self.list();
        }
        let mut chosen: Vec<Chosen> = Vec::new();
        for name in &self.names {
            let profile = format!("{name}{PROFILE}");
            let name = if self.profile { &profile } else { name };
            match Chosen::all().find(|one| one.name() == name) {
                Some(one) => chosen.push(one),
                None if name == "all" => chosen.extend(Chosen::all()),
                None if name == "cheap" => {
                    chosen.extend(Chosen::all().filter(|one| one.is_cheap()))
                }
                None if self.profile => {
                    let profiles = Chosen::all().filter_map(|one| one.name().strip_suffix(PROFILE));
                    let profiles: Vec<_> = profiles.collect();
                    let what = name.trim_end_matches(PROFILE);
                    return Err(Failure::unusable(format!("there is no profile of '{what}'"))
                        .with_help(format!("there are profiles of {}", profiles.join(", "))));
                }
                None => {
                    let names: Vec<_> = Chosen::all().map(Chosen::name).collect();
                    return Err(Failure::unusable(format!("there is no benchmark '{name}'"))
                        .with_help(format!("there are {}, 'all' and 'cheap'", names.join(", "))));
                }
            }
        }
        chosen.iter().try_for_each(|one| one.choice().check(one.name(), &self.only))?;
        let places = Places::default().writes_json(self.json.as_ref());
        let places = places.writes("--report", self.report.as_deref());
        places.check()?;
        let many = chosen.len() > 1;
        let settings =
            Settings { root: self.root.clone(), runs: self.runs, only: self.only.clone() };
        let mut report = Report {
            computer: computer(),
            measurements: Vec::new(),
            figures: Vec::new(),
            failed: Vec::new(),
        };
        for one in chosen {
            let working = Working::on(format!("{}: {}", one.name(), one.what()));
            let done = report.take(one, &settings);
            drop(working);
            match done {
                Ok(()) => {}
                // If a measurement is not possible here, the others continue.
                Err(failure) if many && failure.is_optional() => {
                    output::note(format!("{}: left out", one.name()));
                    failure.report();
                }
                Err(failure) if many => {
                    output::note(format!("{}: cannot be measured", one.name()));
                    failure.report();
                    report
                        .failed
                        .push(Failed { name: one.name(), why: "it cannot be measured".to_owned() });
                }
                Err(failure) => return Err(failure),
            }
        }
        self.show(&report, &places)?;
        if self.write_docs {
            self.write_docs(&report, &places)?;
        }
        if report.failed.is_empty() {
            return Ok(());
        }
        for Failed { name, why } in &report.failed {
            output::note(format!("failed: {name}: {why}"));
        }
        Err(Failure::Negative)
    }

    /// Writes the measurements into the documentation.
    fn write_docs(&self, report: &Report, places: &Places) -> Outcome {
        for measurement in &report.measurements {
            publish::benchmark(&self.root, measurement)?;
        }
        for made in &report.figures {
            publish::figure(&self.root, made.figure, &made.drawn)?;
        }
        for page in publish::documents(&self.root)? {
            places.tell(&format!("{} has new numbers\n", page.display()));
        }
        Ok(())
    }

    /// Prints the report and writes its files.
    fn show(&self, report: &Report, places: &Places) -> Outcome {
        let measured = (!report.measurements.is_empty()).then(|| {
            format!("{}\n{}\n", report.computer, wireloom_figures::table(&report.measurements))
        });
        let figures = report.figures.iter();
        let figures = figures.map(|made| format!("{}\n{}", made.what, made.drawn.text));
        places.tell(&measured.iter().cloned().chain(figures).collect::<String>());
        output::json(self.json.as_ref(), report)?;
        if let Some(path) = &self.report {
            output::write_file(path, report.page().html().as_bytes())?;
            places.tell(&format!("the report is in {}\n", path.display()));
        }
        let Some(folder) = &self.out else { return Ok(()) };
        std::fs::create_dir_all(folder).map_err(|error| {
            Failure::unusable(format!("{}: cannot be made: {error}", folder.display()))
        })?;
        let mut names = Vec::new();
        if let Some(text) = measured {
            output::write_file(&folder.join("bench.txt"), text.as_bytes())?;
            output::write_json(&JsonTarget::File(folder.join("bench.json")), report)?;
            let plot = wireloom_figures::overview(&report.measurements);
            output::write_file(&folder.join("bench.svg"), plot.as_bytes())?;
            names.push("bench");
        }
        for made in &report.figures {
            let file = |end: &str| folder.join(format!("{}.{end}", made.name));
            output::write_file(
                &file("txt"),
                format!("{}\n{}", made.what, made.drawn.text).as_bytes(),
            )?;
            output::write_json(&JsonTarget::File(file("json")), &made)?;
            output::write_file(&file("svg"), made.drawn.svg.as_bytes())?;
            names.push(made.name);
        }
        for name in names {
            places.tell(&format!(
                "{0}/{name}.txt, {0}/{name}.json, {0}/{name}.svg\n",
                folder.display()
            ));
        }
        Ok(())
    }
}

impl Report {
    /// Runs one benchmark or figure, and records its failures.
    fn take(&mut self, one: Chosen, settings: &Settings) -> Outcome {
        let wrong: Vec<String> = match one {
            Chosen::Benchmark(benchmark) => {
                let measurement = benchmark.run(settings)?;
                let missed = measurement.missed();
                self.measurements.push(measurement);
                missed.into_iter().collect()
            }
            Chosen::Figure(figure) => {
                let drawn = (figure.make)(settings)?;
                let faults = drawn.faults.clone();
                self.figures.push(Made { figure, name: figure.name, what: figure.what, drawn });
                faults
            }
        };
        self.failed.extend(wrong.into_iter().map(|why| Failed { name: one.name(), why }));
        Ok(())
    }
}

impl Report {
    fn page(&self) -> Page {
        let names = self.measurements.iter().map(|measured| measured.name);
        let names: Vec<_> = names.chain(self.figures.iter().map(|made| made.name)).collect();
        let mut page = Page::new(format!("Measurements: {}", names.join(", ")));
        match self.failed.len() {
            0 => page.state(true, "Nothing failed."),
            count => page.state(false, format!("Failures: {count}.")),
        }
        let section = Section::new("The measurements");
        let section = section
            .facts([("computer", self.computer.clone()), ("command", pages::command_line())]);
        page.add(match self.failed.is_empty() {
            true => section,
            false => {
                let mut table = Table::new(["failed", "why"], &[]);
                self.failed.iter().for_each(|failed| table.row([failed.name, &failed.why]));
                section.table(table)
            }
        });
        if !self.measurements.is_empty() {
            let mut table = Table::new(wireloom_figures::HEADS, &[1, 2, 3]);
            for measured in &self.measurements {
                match measured.reached {
                    Some(false) => table.marked_row(measured.cells()),
                    _ => table.row(measured.cells()),
                }
            }
            let plot = wireloom_figures::overview(&self.measurements);
            let description = "Medians of the benchmarks, as multiples of their goals";
            page.add(Section::new("Benchmarks").table(table).picture(&plot, description));
        }
        for made in &self.figures {
            let section = Section::new(format!("{}: {}", made.name, made.what));
            let section = section.picture(&made.drawn.svg, made.what);
            page.add(section.preformatted(made.drawn.text.as_str()));
        }
        page
    }
}

#[cfg(test)]
mod tests {
    use wireloom_figures::{Better, Kept};

    use super::*;

    static SLOW: Benchmark = Benchmark {
        name: "slow",
        what: "a rate that is too low",
        unit: "Mpps",
        better: Better::Higher,
        goal: Some(10.0),
        measure: |_| Ok(vec![9.0, 8.0]),
    };
    static WRONG: Figure = Figure {
        name: "wrong",
        what: "packets that differ",
        choice: Choice::None,
        kept: Kept { cost: Cost::Cheap, built: "", names: &[], skip: &[], tools: &[], tables: &[] },
        make: |_| {
            let (text, svg) = ("lost & <found>".to_owned(), String::new());
            Ok(Drawn {
                text,
                data: serde_json::Value::Null,
                svg,
                faults: vec!["np: 2 packets are lost".to_owned()],
            })
        },
    };

    #[test]
    fn a_missed_goal_and_a_wrong_figure_have_failed() {
        let settings = Settings { root: PathBuf::new(), runs: 2, only: Vec::new() };
        let mut report = Report {
            computer: String::new(),
            measurements: Vec::new(),
            figures: Vec::new(),
            failed: Vec::new(),
        };
        for one in [Chosen::Benchmark(&SLOW), Chosen::Figure(&WRONG)] {
            report.take(one, &settings).expect("it can be measured");
        }
        let failed: Vec<(&str, &str)> =
            report.failed.iter().map(|one| (one.name, one.why.as_str())).collect();
        assert_eq!(
            failed,
            [
                ("slow", "8.00 Mpps, and at least 10 Mpps is the goal"),
                ("wrong", "np: 2 packets are lost")
            ]
        );
        let page = report.page().html();
        for part in [
            "Failures: 2.",
            "<td>slow</td><td>8.00 Mpps, and at least 10 Mpps is the goal</td>",
            "<tr class=\"changed\"><td>slow</td><td class=\"number\">8.00</td>",
            "times better than the goal",
            "wrong: packets that differ",
            "lost &amp; &lt;found&gt;",
        ] {
            assert!(page.contains(part), "no {part} in\n{page}");
        }
        assert_eq!(
            (report.measurements.len(), report.figures.len()),
            (1, 1),
            "both are shown all the same"
        );
    }
}
