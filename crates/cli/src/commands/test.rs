//! `wireloom test`: runs packet tests on machines.

mod junit;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use clap::{Args, ValueHint};
use serde::Serialize;
use wireloom_console::{Places, Working, output, thousands};
use wireloom_machine::{Compared, Options, Program};
use wireloom_offloads::Store;
use wireloom_testkit::{ActionKind, TestFile, Tester};

use crate::differences;
use crate::failure::{Failure, Outcome};
use crate::machine::{self, MachineName, warn_of_sections};

/// See `wireloom test --help`.
#[derive(Args, Debug)]
pub struct Test {
    /// Files of packet tests (.packets); each names its program and tables
    #[arg(value_name = "FILE", required = true, value_hint = ValueHint::FilePath)]
    files: Vec<PathBuf>,
    #[arg(long, value_name = "MACHINES", value_delimiter = ',', default_value = "golden,native",
        help = machine::help("Run the tests on these machines, separated by commas"))]
    on: Vec<MachineName>,
    /// Write the report as JSON to a file, or to standard output (-)
    #[arg(long, value_name = "FILE|-")]
    json: Option<output::JsonTarget>,
    /// Write the results as JUnit XML to a file, or to standard output (-): a test case for each
    /// test on each machine
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    junit: Option<PathBuf>,
}

#[derive(Serialize)]
struct Report {
    runs: Vec<Run>,
}

/// The results of a file on a machine.
#[derive(Serialize)]
struct Run {
    file: String,
    machine: String,
    /// The number of named tests.
    tests: usize,
    /// The number of packets sent.
    packets: usize,
    failures: Vec<Missed>,
    /// The tests of the file, in order.
    #[serde(skip)]
    names: Vec<Named>,
}

/// A test of a file.
struct Named {
    /// The number of the test in the file.
    number: usize,
    /// The name of the test; empty for the lines before the first name.
    name: String,
    /// The line of the first packet or expectation.
    line: usize,
}

/// An expectation that was not met.
#[derive(Serialize)]
struct Missed {
    test: String,
    /// The number of the test in its file.
    #[serde(skip)]
    number: usize,
    /// The line in the file, from 1.
    line: usize,
    /// The packet to which the fields belong, or the problem.
    #[serde(skip_serializing_if = "String::is_empty")]
    problem: String,
    /// The expected and the actual fields.
    fields: Vec<Compared>,
}

impl Test {
    /// Runs the files on the machines and prints a report.
    pub fn run(self) -> Outcome {
        let places = Places::default().reads(&self.files).writes_json(self.json.as_ref());
        let places = places.writes("--junit", self.junit.as_deref());
        places.check()?;
        // Malformed files are found before any machine is built.
        let files = self.files.iter().map(|path| TestFile::read(path).map_err(Failure::unusable));
        let files = files.collect::<Outcome<Vec<_>>>()?;
        let loaded = |file: &TestFile| {
            let program = file.source().compiled()?;
            let store = file.store(&program.optimised).map_err(Failure::unusable)?;
            file.check(&store, &program.lowered.reasons).map_err(Failure::unusable)?;
            Ok((program, store))
        };
        let loaded = files.iter().map(loaded).collect::<Outcome<Vec<_>>>()?;
        places.check()?;
        let mut runs = Vec::new();
        for ((path, file), (program, store)) in self.files.iter().zip(&files).zip(&loaded) {
            for machine in &self.on {
                runs.push(run(path, file, program, store.clone(), machine)?);
            }
        }
        let report = Report { runs };
        if let Some(path) = &self.junit {
            output::write_file(path, junit::xml(&report).as_bytes())?;
        }
        places.tell(&report.text());
        output::json(self.json.as_ref(), &report)?;
        let is_passed = report.runs.iter().all(|run| run.failures.is_empty());
        if is_passed { Ok(()) } else { Err(Failure::Negative) }
    }
}

/// Runs a file on a machine.
fn run(
    path: &Path,
    file: &TestFile,
    program: &Program,
    store: Store,
    machine: &MachineName,
) -> Outcome<Run> {
    let name = machine.0.name();
    warn_of_sections(machine.0.as_ref(), &program.optimised);
    let working = Working::on(format!("starting {name}"));
    // Tests have few packets, so a model that starts sooner is worth more than a fast one.
    let options = Options { is_short: true, keeps_code: true, ..Options::default() };
    let started = machine.0.start(program, store, &options, &|what| working.now(what))?;
    working.now(&format!("{} on {name}", path.display()));
    let mut tester = Tester::new(started, program.lowered.reasons.clone());
    let missed = tester.failures(&file.actions).into_iter().map(|(action, mismatch)| Missed {
        test: action.test.clone(),
        number: action.number,
        line: action.line,
        problem: mismatch.what,
        fields: mismatch.fields,
    });
    let failures = missed.collect();
    let is_packet = |kind: &ActionKind| matches!(kind, ActionKind::Send(..));
    let names = names(file);
    Ok(Run {
        file: path.display().to_string(),
        machine: name.to_owned(),
        tests: names.len(),
        packets: file.actions.iter().filter(|action| is_packet(&action.kind)).count(),
        failures,
        names,
    })
}

fn names(file: &TestFile) -> Vec<Named> {
    let mut names: Vec<Named> = Vec::new();
    // A time in front of all tests is not one.
    let is_checked =
        |kind: &ActionKind| !matches!(kind, ActionKind::Advance(_, none) if none.is_empty());
    for action in file.actions.iter().filter(|action| is_checked(&action.kind)) {
        if names.last().is_none_or(|last| last.number != action.number) {
            let (number, line) = (action.number, action.line);
            names.push(Named { number, name: action.test.clone(), line });
        }
    }
    names
}

impl Missed {
    /// Formats the failure for people: the place, the problem, and the fields as a table.
    fn text(&self, run: &Run) -> String {
        let mut out = format!("{}:{}: ", run.file, self.line);
        if !self.test.is_empty() {
            out += &format!("{}: ", self.test);
        }
        out += &format!("on {}\n", run.machine);
        if !self.problem.is_empty() {
            out += &format!("{}\n", self.problem);
        }
        if !self.fields.is_empty() {
            out += &format!("{}\n", differences::table(&self.fields, "expected", "got"));
        }
        out
    }
}

impl Report {
    fn text(&self) -> String {
        let mut out = String::new();
        for run in &self.runs {
            for missed in &run.failures {
                out += &format!("{}\n", missed.text(run));
            }
        }
        let mut table = output::table(&["file", "machine", "tests", "packets", "result"], &[2, 3]);
        for run in &self.runs {
            let failed: BTreeSet<_> = run.failures.iter().map(|missed| missed.number).collect();
            let result = match failed.len() {
                0 => "passed".to_owned(),
                n => format!("{} failed", thousands(n as u64)),
            };
            let (tests, packets) = (thousands(run.tests as u64), thousands(run.packets as u64));
            table.add_row([run.file.clone(), run.machine.clone(), tests, packets, result]);
        }
        out + &format!("{table}\n")
    }
}
