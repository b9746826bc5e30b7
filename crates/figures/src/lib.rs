//! Benchmarks: speed, time and memory of the software machines, and the papers' figures of network
//! processors and simulated machines.
//!
//! A benchmark returns samples of one number. Its result is the median, and the spread is shown
//! next to it.

mod callgrind;
mod changes;
mod cores;
pub mod figure;
mod figures;
mod flows;
pub mod ixp;
mod live;
mod loads;
mod lookups;
mod mpsoc;
mod mpsoc_ablation;
mod mpsoc_calls;
mod mpsoc_million;
mod mpsoc_order;
mod mpsoc_partition;
mod mpsoc_policies;
mod mpsoc_power;
mod mpsoc_programs;
mod mpsoc_rig;
mod mpsoc_router;
mod mpsoc_smallest;
mod mpsoc_speed;
mod native;
mod native_profile;
mod np_arbitration;
mod np_area;
mod np_channels;
mod np_million;
mod np_mixes;
mod np_modules;
mod np_pins;
mod np_rig;
mod np_routed;
mod np_search;
mod np_shells;
mod np_sizes;
mod np_storage;
mod np_threads;
mod np_throughput;
mod np_traffic;
mod np_units;
mod np_virtual;
mod overview;
pub mod pages;
pub mod peer;
mod processors;
pub mod publish;
mod rate;
pub mod raw;
pub mod registry;
mod shares;
mod specialised;
mod steps;
pub mod store;
mod table;
pub mod values;
pub mod workload;

use std::path::PathBuf;

use serde::Serialize;
use wireloom_np::description::NpSpec;

use wireloom_console::output;
use wireloom_machine::{Error, Result};

pub use figure::{Choice, Drawn, Figure, Kept};
pub use figures::FIGURES;
pub use overview::overview;
pub use registry::BENCHMARKS;

/// The settings of a benchmark.
pub struct Settings {
    /// The root of the repository, where programs, tables and the data cache are.
    pub root: PathBuf,
    /// The number of samples.
    pub runs: usize,
    /// The values of `--on`: in figures that compare machines, the only machines to measure. Empty
    /// means all. [`Choice`] has already checked the values.
    pub only: Vec<String>,
}

impl Settings {
    /// Returns a network processor with these numbers of clusters, engines and threads.
    ///
    /// # Errors
    /// If no such processor is possible.
    pub fn np(&self, clusters: usize, engines: usize, threads: usize) -> Result<NpSpec> {
        NpSpec::find(&format!("np-{clusters}-{engines}-{threads}")).map_err(Error::new)
    }

    /// Whether a figure includes the machine or configuration of this name.
    pub fn wants(&self, machine: &str) -> bool {
        self.only.is_empty() || self.only.iter().any(|wanted| wanted == machine)
    }
}

/// The direction in which a number improves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Better {
    /// The number is a rate.
    Higher,
    /// The number is a time or a size.
    Lower,
}

pub struct Benchmark {
    /// The name on the command line.
    pub name: &'static str,
    /// One sentence on the measured quantity.
    pub what: &'static str,
    /// The unit of the samples.
    pub unit: &'static str,
    pub better: Better,
    /// The goal in the unit; `None` if there is none.
    pub goal: Option<f64>,
    /// Takes the samples.
    pub measure: fn(&Settings) -> Result<Vec<f64>>,
}

/// The result of a benchmark.
#[derive(Clone, Debug, Serialize)]
pub struct Measurement {
    /// The name of the benchmark.
    pub name: &'static str,
    /// One sentence on the measured quantity.
    pub what: &'static str,
    /// The unit of the numbers.
    pub unit: &'static str,
    pub better: Better,
    /// The goal in the unit; `None` if there is none.
    pub goal: Option<f64>,
    /// Whether the goal was reached; `None` without a goal.
    pub reached: Option<bool>,
    /// The median sample.
    pub median: f64,
    /// The smallest sample.
    pub least: f64,
    /// The largest sample.
    pub greatest: f64,
    /// All samples, in the order in which they were taken.
    pub samples: Vec<f64>,
}

impl Benchmark {
    /// Takes the samples and summarises them.
    ///
    /// # Errors
    /// If a requirement of the benchmark is missing.
    pub fn run(&self, settings: &Settings) -> Result<Measurement> {
        let samples = (self.measure)(settings)?;
        Ok(self.measurement(samples))
    }

    /// Summarises samples.
    fn measurement(&self, samples: Vec<f64>) -> Measurement {
        let median = median(&samples);
        Measurement {
            name: self.name,
            what: self.what,
            unit: self.unit,
            better: self.better,
            goal: self.goal,
            reached: self.goal.map(|goal| match self.better {
                Better::Higher => median >= goal,
                Better::Lower => median <= goal,
            }),
            median,
            least: samples.iter().copied().fold(f64::INFINITY, f64::min),
            greatest: samples.iter().copied().fold(f64::NEG_INFINITY, f64::max),
            samples,
        }
    }
}

impl Measurement {
    /// Returns the row of a table whose heads are [`HEADS`].
    pub fn cells(&self) -> [String; 7] {
        let reached = match self.reached {
            Some(true) => "reached",
            Some(false) => "MISSED",
            None => "",
        };
        [
            self.name.to_owned(),
            number(self.median),
            number(self.least),
            number(self.greatest),
            self.unit.to_owned(),
            goal_text(self.goal, self.better, self.unit),
            reached.to_owned(),
        ]
    }

    /// Returns a sentence if the goal was missed, else `None`.
    pub fn missed(&self) -> Option<String> {
        let goal = goal_text(self.goal, self.better, self.unit);
        (self.reached == Some(false))
            .then(|| format!("{} {}, and {goal} is the goal", number(self.median), self.unit))
    }
}

impl Benchmark {
    /// Returns the goal in words.
    pub fn goal_text(&self) -> String {
        goal_text(self.goal, self.better, self.unit)
    }
}

fn goal_text(goal: Option<f64>, better: Better, unit: &str) -> String {
    let bound = match better {
        Better::Higher => "at least",
        Better::Lower => "at most",
    };
    goal.map_or(String::new(), |goal| format!("{bound} {goal} {unit}"))
}

/// Returns the median; for an even number of samples, the lower of the two in the middle.
///
/// # Panics
/// If there are no samples.
pub fn median(samples: &[f64]) -> f64 {
    let mut sorted = samples.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted[(sorted.len() - 1) / 2]
}

/// Formats a number with three significant digits.
pub fn number(value: f64) -> String {
    let digits = if value == 0.0 { 0 } else { value.abs().log10().floor() as i32 };
    format!("{value:.*}", usize::try_from(2 - digits).unwrap_or(0))
}

/// The heads of a table of measurements; columns 1 to 3 hold numbers.
pub const HEADS: [&str; 7] = ["benchmark", "median", "least", "most", "unit", "goal", ""];

/// Formats measurements as a table for people.
pub fn table(measurements: &[Measurement]) -> String {
    let mut table = output::table(&HEADS, &[1, 2, 3]);
    measurements.iter().for_each(|measurement| {
        table.add_row(measurement.cells());
    });
    table.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_the_sample_in_the_middle() {
        assert_eq!(median(&[3.0, 1.0, 2.0]), 2.0);
        assert_eq!(median(&[4.0, 1.0, 3.0, 2.0]), 2.0);
        assert_eq!(median(&[7.0]), 7.0);
    }

    #[test]
    fn numbers_have_three_digits() {
        for (value, text) in [
            (0.0, "0.00"),
            (12.345, "12.3"),
            (0.012345, "0.0123"),
            (606_138.0, "606138"),
            (9.87, "9.87"),
        ] {
            assert_eq!(number(value), text);
        }
    }

    #[test]
    fn names_of_benchmarks_are_distinct() {
        let figures = FIGURES.iter().map(|figure| figure.name);
        let mut names: Vec<_> = BENCHMARKS.iter().map(|b| b.name).chain(figures).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), BENCHMARKS.len() + FIGURES.len());
    }
}
