//! How simulated machines are run, and what is reported of that.

mod mpsoc;
mod records;

use std::fmt::Write;
use std::path::PathBuf;
use std::str::FromStr;

use clap::{Args, ValueHint};
use serde::Serialize;
use wireloom_rtl::sim::{Bin, Distribution, Pace, Report, Settings, Use};

use crate::failure::{Failure, Outcome};
use crate::machine::MachineName;
use crate::output::{self, thousands};

pub use mpsoc::MpsocReport;
pub use records::RecordArgs;

/// What the simulation of a machine came to.
#[derive(Clone, Debug, Serialize)]
#[serde(untagged)]
pub enum Simulated {
    /// A network processor in Verilator.
    Np(Box<SimulationReport>),
    /// A StepNP machine.
    Mpsoc(MpsocReport),
}

impl Simulated {
    /// As text for people.
    pub fn text(&self) -> String {
        match self {
            Self::Np(report) => report.text(),
            Self::Mpsoc(report) => report.text(),
        }
    }
}

/// Options for hardware that is simulated.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Simulated hardware")]
pub struct SimulationArgs {
    /// How packets arrive: as fast as the machine takes them (max, which is the default), at the capture's times (capture), or so many
    /// million a second, evenly; what the machine cannot take is then lost at the input and counted
    #[arg(long, value_name = "max|capture|MPPS")]
    pub rate: Option<Rate>,
    /// Packets that the input buffer holds for each lane or narrow port; 64 by default
    #[arg(long, value_name = "PACKETS", value_parser = clap::value_parser!(u32).range(1..))]
    pub buffer: Option<u32>,
    /// Let the input pause in so many percent of the cycles
    #[arg(long, value_name = "PERCENT", value_parser = clap::value_parser!(u32).range(0..=99))]
    pub idle: Option<u32>,
    /// Take no output in so many percent of the cycles
    #[arg(long, value_name = "PERCENT", value_parser = clap::value_parser!(u32).range(0..=99))]
    pub stall: Option<u32>,
    /// Write waves (FST); the model is slower and built anew for that: take a small machine and few packets
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub waves: Option<PathBuf>,
    /// Check the assertions of the hardware templates while it runs; the model is slower and built anew for that
    #[arg(long)]
    pub assertions: bool,
    /// What is recorded of simulated multiprocessors.
    #[command(flatten)]
    pub records: RecordArgs,
}

/// How packets arrive.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Rate {
    /// As fast as the machine takes them.
    Max,
    /// At the times of the capture.
    Capture,
    /// So many million a second.
    Mpps(f64),
}

impl FromStr for Rate {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "max" => Ok(Self::Max),
            "capture" => Ok(Self::Capture),
            _ => match text.parse::<f64>() {
                Ok(mpps) if mpps.is_finite() && mpps > 0.0 => Ok(Self::Mpps(mpps)),
                _ => Err("say max, capture or a number of million packets a second".into()),
            },
        }
    }
}

impl SimulationArgs {
    /// Refuses options that were given although none of the machines is simulated hardware: they would change nothing.
    ///
    /// # Errors
    /// If there is such an option.
    pub fn check(&self, machines: &[MachineName]) -> Outcome {
        let given = [
            ("--rate", self.rate.is_some()),
            ("--buffer", self.buffer.is_some()),
            ("--idle", self.idle.is_some()),
            ("--stall", self.stall.is_some()),
            ("--waves", self.waves.is_some()),
            ("--assertions", self.assertions),
        ];
        let hardware = given.into_iter().find(|(_, given)| *given).map(|(option, _)| option);
        let count = |is: fn(&MachineName) -> bool| machines.iter().filter(|machine| is(machine)).count();
        let names: Vec<&str> = machines.iter().map(MachineName::as_str).collect();
        let are = if names.len() == 1 { "is" } else { "are" };
        let refused = |option: &str, what: &str, on: &str| {
            let message = format!("{option} is for {what}, which {} {are} not", names.join(" and "));
            Err(Failure::unusable(message).with_help(format!("say --on {on}, or leave out {option}")))
        };
        match (hardware, self.records.given()) {
            (Some(option), _) if count(|machine| matches!(machine, MachineName::Np(_))) == 0 => {
                refused(option, "simulated hardware", "np-C-E-T")
            }
            (_, Some(option)) => match count(|machine| matches!(machine, MachineName::Mpsoc(_))) {
                0 => refused(option, "simulated multiprocessors", "mpsoc-oc48"),
                1 => Ok(()),
                _ => Err(Failure::unusable(format!(
                    "{option} names one file, and several machines have records"
                ))
                .with_help("say --on with one of them at a time")),
            },
            _ => Ok(()),
        }
    }

    /// How packets arrive at a core clock of so many MHz.
    pub fn pace(&self, clock_mhz: u32) -> Pace {
        match self.rate.unwrap_or(Rate::Max) {
            Rate::Max => Pace::Most,
            Rate::Capture => Pace::Timed { clock_mhz },
            Rate::Mpps(mpps) => Pace::PerCycle(mpps / f64::from(clock_mhz)),
        }
    }

    /// The same as settings of a simulation.
    pub fn settings(&self, clock_mhz: u32) -> Settings {
        Settings {
            buffer: self.buffer.unwrap_or(64),
            idle_percent: self.idle.unwrap_or(0),
            stall_percent: self.stall.unwrap_or(0),
            clock_mhz,
            waves: self.waves.clone(),
            assertions: self.assertions,
            ..Settings::default()
        }
    }
}

/// What a simulation came to.
#[derive(Clone, Debug, Serialize)]
pub struct SimulationReport {
    /// The core's clock.
    pub clock_mhz: u32,
    /// Million packets a second at that clock, over the middle of the run.
    pub mpps: Option<f64>,
    /// Time that the model took to build, or to load from the cache.
    pub model_seconds: f64,
    /// Everything in cycles.
    #[serde(flatten)]
    pub run: Report,
}

impl SimulationReport {
    /// As text for people.
    pub fn text(&self) -> String {
        let run = &self.run;
        let mut out = String::new();
        let speed = run.cycles as f64 / run.seconds.max(1e-9);
        let rate = match (self.mpps, run.packets_per_cycle) {
            (Some(mpps), Some(rate)) => {
                format!("{mpps:.1} MPPS at {} MHz ({rate:.3} packets a cycle)", self.clock_mhz)
            }
            _ => "too few packets to tell".to_owned(),
        };
        let lines = [
            ("rate", rate),
            ("latency", distribution(&run.latency)),
            ("waited", distribution(&run.wait)),
            ("lost at input", format!("{} packets", thousands(run.lost))),
            ("simulated", format!("{} cycles, {} a second", thousands(run.cycles), thousands(speed as u64))),
        ];
        let unported = run.unported.map(|packets| {
            (
                "no such port",
                format!("{} packets dropped, for their egress port does not exist", thousands(packets)),
            )
        });
        for (what, text) in lines.into_iter().chain(unported) {
            writeln!(out, "{what:13}  {text}").expect("a string takes everything");
        }
        if !run.updates.is_empty() {
            let cycles = |of: fn(u64, u64) -> u64| {
                run.updates.iter().map(|update| update.done - update.begun).reduce(of).unwrap_or(0)
            };
            let between = run.updates.iter().map(|update| update.between).sum();
            writeln!(
                out,
                "{:13}  {} while packets flowed, {} to {} cycles each; {} packets were inside during one",
                "updates",
                thousands(run.updates.len() as u64),
                cycles(u64::min),
                cycles(u64::max),
                thousands(between)
            )
            .expect("a string takes everything");
        }
        out.push_str(&histogram(&run.latency.bins));
        if !run.uses.is_empty() {
            write!(out, "\n{}\n", uses(&run.uses)).expect("a string takes everything");
        }
        out
    }
}

/// How many packets took how long: a line for each bin, the longest of so many marks.
fn histogram(bins: &[Bin]) -> String {
    const MARKS: u64 = 50;
    let most = bins.iter().map(|bin| bin.packets).max().unwrap_or(1);
    let mut out = String::new();
    for (index, bin) in bins.iter().enumerate() {
        let what = if index == 0 { "cycles" } else { "" };
        let marks = "#".repeat((bin.packets * MARKS).div_ceil(most) as usize);
        let range = format!("{} to {}", thousands(bin.from), thousands(bin.to));
        writeln!(out, "{what:13}  {range:>18} {:>10} {marks}", thousands(bin.packets))
            .expect("a string takes everything");
    }
    out
}

/// How much was used, parts of a kind together.
pub fn uses(parts: &[Use]) -> comfy_table::Table {
    let mut kinds: Vec<(&str, Vec<f64>)> = Vec::new();
    for part in parts {
        match kinds.iter_mut().find(|(kind, _)| *kind == part.kind) {
            Some((_, shares)) => shares.push(part.share),
            None => kinds.push((&part.kind, vec![part.share])),
        }
    }
    let mut table = output::table(&["used", "parts", "least", "mean", "most"], &[1, 2, 3, 4]);
    let percent = |share: f64| format!("{:.1} %", 100.0 * share);
    for (kind, shares) in kinds {
        let mean = shares.iter().sum::<f64>() / shares.len() as f64;
        let least = shares.iter().copied().fold(f64::INFINITY, f64::min);
        let most = shares.iter().copied().fold(0.0, f64::max);
        let count = shares.len().to_string();
        table.add_row([kind.to_owned(), count, percent(least), percent(mean), percent(most)]);
    }
    table
}

fn distribution(d: &Distribution) -> String {
    format!(
        "{} to {} cycles, mean {:.1}; 50 % within {}, 99 % within {}, 99.9 % within {}",
        d.least, d.most, d.mean, d.p50, d.p99, d.p999
    )
}

#[cfg(test)]
mod tests {
    use wireloom_rtl::sim::Updated;

    use super::*;

    #[test]
    fn rates_are_words_or_numbers() {
        assert_eq!("max".parse(), Ok(Rate::Max));
        assert_eq!("capture".parse(), Ok(Rate::Capture));
        assert_eq!("187.5".parse(), Ok(Rate::Mpps(187.5)));
        for text in ["", "0", "-1", "inf", "fast"] {
            assert!(text.parse::<Rate>().is_err(), "{text}");
        }
    }

    #[test]
    fn parts_of_a_kind_are_told_together() {
        let part = |name: &str, kind: &str, share| Use { name: name.into(), kind: kind.into(), share };
        let report = SimulationReport {
            clock_mhz: 100,
            mpps: Some(150.0),
            model_seconds: 1.0,
            run: Report {
                cycles: 10_000,
                seconds: 2.0,
                packets_per_cycle: Some(1.5),
                lost: 1234,
                unported: None,
                latency: Distribution {
                    least: 60,
                    most: 90,
                    p50: 70,
                    bins: vec![Bin { from: 56, to: 63, packets: 1 }, Bin { from: 64, to: 79, packets: 2000 }],
                    ..Distribution::default()
                },
                wait: Distribution::default(),
                uses: vec![part("a", "engine", 0.25), part("c", "input", 1.0), part("b", "engine", 0.75)],
                updates: vec![Updated { packet: 7, begun: 100, done: 340, between: 55 }],
            },
        };
        let text = report.text();
        for part in [
            "150.0 MPPS at 100 MHz (1.500",
            "60 to 90 cycles",
            "56 to 63          1 #\n",
            &format!("64 to 79      2,000 {}\n", "#".repeat(50)),
            "1,234 packets",
            "10,000 cycles, 5,000 a second",
            "1 while packets flowed, 240 to 240 cycles each; 55 packets",
        ] {
            assert!(text.contains(part), "no {part} in\n{text}");
        }
        let row = text.lines().find(|line| line.contains("engine")).expect("a row");
        let words: Vec<_> = row.split_whitespace().collect();
        assert_eq!(words, ["engine", "2", "25.0", "%", "50.0", "%", "75.0", "%"]);
    }
}
