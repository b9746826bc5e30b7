//! Simulation options, and the report of a simulated run.

mod records;

use std::fmt::Write;
use std::path::PathBuf;

use clap::{Args, ValueHint};
use wireloom_console::{Places, output, thousands};
use wireloom_machine::{Bar, Knob, LineCounts, Options, Part, Profile, Rate, Record};
use wireloom_machines::REGISTRY;

use crate::failure::{Failure, Outcome};
use crate::machine::MachineName;

pub use records::{RecordArgs, usage};

/// Options for simulated hardware.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Simulated hardware")]
pub struct SimulationArgs {
    /// Set the arrival times of packets at the whole machine: as fast as it accepts them (max), as
    /// recorded in the capture (capture), or evenly at a rate in million packets a second. The
    /// speed of lines in its description then has no effect. Packets that find no room are lost at
    /// the input and counted; at max, and on lines of tiled processors without --buffer, they wait.
    /// Default: as the description says, or max
    #[arg(long, value_name = "max|capture|MPPS")]
    pub rate: Option<Rate>,
    /// Set the size of the input buffer of each lane, port or line card, in packets. Default: as
    /// the description says, or 64; lines of tiled processors have none and wait
    #[arg(long, value_name = "PACKETS", value_parser = clap::value_parser!(u32).range(1..))]
    pub buffer: Option<u32>,
    /// Pause the input in this percentage of the cycles
    #[arg(long, value_name = "PERCENT", value_parser = clap::value_parser!(u32).range(0..=99))]
    pub idle: Option<u32>,
    /// Stall the output in this percentage of the cycles
    #[arg(long, value_name = "PERCENT", value_parser = clap::value_parser!(u32).range(0..=99))]
    pub stall: Option<u32>,
    /// Write waveforms (FST). The model is rebuilt and runs more slowly: use a small machine and
    /// few packets
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub waves: Option<PathBuf>,
    /// Check the assertions of the hardware templates during the run, or those over the events of a
    /// simulated processor. The model is rebuilt, or keeps events, and runs more slowly
    #[arg(long)]
    pub assertions: bool,
    /// Check the rules of a file over the events of a simulated processor, beside its own
    /// (`wireloom docs machines/ixp` describes the language)
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub rules: Option<PathBuf>,
    /// Seed the machine's random number generator, which sets for example network jitter
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
    /// Exclude the first packets from rates, utilisation and latencies, so that caches and queues
    /// are warm. Losses count from the start; the report says how many were lost in the warm-up
    #[arg(long, value_name = "PACKETS")]
    pub warm: Option<u64>,
    /// Options for the records of simulated multiprocessors.
    #[command(flatten)]
    pub records: RecordArgs,
}

impl SimulationArgs {
    /// Returns the options that were given, each with its knob.
    fn given(&self) -> Vec<(&'static str, Knob)> {
        let records = self.records.given();
        let given = [
            ("--rate", Knob::Rate, self.rate.is_some()),
            ("--buffer", Knob::Buffer, self.buffer.is_some()),
            ("--idle", Knob::Idle, self.idle.is_some()),
            ("--stall", Knob::Stall, self.stall.is_some()),
            ("--waves", Knob::Waves, self.waves.is_some()),
            ("--assertions", Knob::Assertions, self.assertions),
            ("--rules", Knob::Rules, self.rules.is_some()),
            ("--seed", Knob::Seed, self.seed.is_some()),
            ("--warm", Knob::Warm, self.warm.is_some()),
        ];
        let given = given.into_iter().filter(|(.., given)| *given);
        given.map(|(option, knob, _)| (option, knob)).chain(records).collect()
    }

    /// Adds the output files.
    pub fn places(&self, places: Places) -> Places {
        let places = self.records.places(places).writes("--waves", self.waves.as_deref());
        places.reads(&self.rules)
    }

    /// Refuses options that have no effect on any of the machines, and output files that several
    /// machines would write.
    ///
    /// # Errors
    /// If there is such an option.
    pub fn check(&self, machines: &[MachineName]) -> Outcome {
        for (option, knob) in self.given() {
            let takes = |machine: &&MachineName| machine.0.knobs().contains(&knob);
            match machines.iter().filter(takes).count() {
                0 => {
                    let names: Vec<&str> =
                        machines.iter().map(|machine| machine.0.name()).collect();
                    let message = format!("{option} has no effect on {}", names.join(" and "));
                    return Err(Failure::unusable(message).with_help(help(option, knob)));
                }
                2.. if matches!(knob, Knob::Timeline | Knob::Series | Knob::Events) => {
                    return Err(Failure::unusable(format!(
                        "{option} names one file, and several machines have records"
                    ))
                    .with_help("say --on with one of them at a time"));
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Refuses a run whose packets were all excluded by `--warm`; `done` is their number.
    ///
    /// # Errors
    /// If no packet counts.
    pub fn check_warm(&self, done: u64) -> Outcome {
        match self.warm {
            Some(warm) if done <= warm => Err(Failure::unusable(format!(
                "--warm {warm}: {done} packets got through, so that none counts"
            ))
            .with_help("say a smaller number, or give more packets")),
            _ => Ok(()),
        }
    }

    /// Returns the options of a run.
    ///
    /// # Errors
    /// If an interval is given without a file that uses it.
    pub fn options(&self) -> Outcome<Options> {
        Ok(Options {
            rate: self.rate,
            buffer: self.buffer,
            idle_percent: self.idle.unwrap_or(0),
            stall_percent: self.stall.unwrap_or(0),
            waves: self.waves.clone(),
            assertions: self.assertions,
            rules: self.rules.clone(),
            events: self.records.events_most(),
            timeline_ns: self.records.timeline_ns(),
            interval_ns: self.records.interval_ns()?,
            seed: self.seed,
            warm: self.warm.unwrap_or(0),
            is_short: false,
            keeps_code: true,
            follows: false,
            watched: false,
            profile: false,
        })
    }
}

/// Refuses an option that has no effect on a machine.
///
/// # Errors
/// If it has none.
pub fn check_knob(option: &str, knob: Knob, machine: &MachineName) -> Outcome {
    if machine.0.knobs().contains(&knob) {
        return Ok(());
    }
    let message = format!("{option} has no effect on {}", machine.0.name());
    Err(Failure::unusable(message).with_help(help(option, knob)))
}

/// Tabulates the first lines of a profile, or all of them if `rows` is 0.
pub fn profile_text(profile: &Profile, rows: usize) -> String {
    let all = profile.total.cycles().max(1) as f64;
    let share = |cycles: u64| format!("{:.1} %", 100.0 * cycles as f64 / all);
    let headings = ["line", "instructions", "cycles", "share", "executing", "waiting"];
    let mut table = output::table(&headings, &[1, 2, 3, 4, 5]);
    let shown = if rows == 0 { profile.lines.len() } else { rows.min(profile.lines.len()) };
    let row = |name: &str, counts: LineCounts| {
        [
            name.to_owned(),
            thousands(counts.instructions),
            thousands(counts.cycles()),
            share(counts.cycles()),
            share(counts.executing),
            share(counts.waiting),
        ]
    };
    for line in &profile.lines[..shown] {
        table.add_row(row(&line.place, line.counts));
    }
    table.add_row(row("all lines", profile.total));
    let mut out = format!("\n{table}\n");
    let more = profile.lines.len() - shown;
    if more > 0 {
        writeln!(out, "and {more} lines with fewer cycles: --rows 0 shows all")
            .expect("a string takes everything");
    }
    out
}

/// Says which machines take an option.
fn help(option: &str, knob: Knob) -> String {
    let examples = REGISTRY.kinds().filter_map(|kind| REGISTRY.find(kind.example()).ok());
    let taker = examples.into_iter().find(|machine| machine.knobs().contains(&knob));
    match taker {
        Some(machine) => format!("say --on {}, or leave out {option}", machine.name()),
        None => format!("leave out {option}"),
    }
}

/// Formats the statistics of a run for people.
pub fn text(record: &Record) -> String {
    let mut out = String::new();
    for line in &record.lines {
        writeln!(out, "{:13}  {}", line.name, line.text).expect("a string takes everything");
    }
    out.push_str(&histogram(&record.bars));
    if !record.parts.is_empty() {
        write!(out, "\n{}\n", uses(&record.parts)).expect("a string takes everything");
    }
    out
}

/// Formats a latency histogram: one line per bin, with bars scaled to the longest.
fn histogram(bars: &[Bar]) -> String {
    const MARKS: u64 = 50;
    let most = bars.iter().map(|bar| bar.packets).max().unwrap_or(1);
    let mut out = String::new();
    for (index, bar) in bars.iter().enumerate() {
        let what = if index == 0 { "cycles" } else { "" };
        let marks = "#".repeat((bar.packets * MARKS).div_ceil(most) as usize);
        let range = format!("{} to {}", thousands(bar.from), thousands(bar.to));
        writeln!(out, "{what:13}  {range:>18} {:>10} {marks}", thousands(bar.packets))
            .expect("a string takes everything");
    }
    out
}

/// Tabulates utilisation, with parts of the same kind together.
pub fn uses(parts: &[Part]) -> output::Table {
    let mut table = output::table(&["used", "parts", "least", "mean", "most"], &[1, 2, 3, 4]);
    for kind in kinds(parts) {
        table.add_row(kind.cells());
    }
    table
}

/// The utilisation of the parts of a kind, as shares of 1.
pub struct Use<'a> {
    pub kind: &'a str,
    parts: usize,
    /// The utilisation of the least used part.
    pub least: f64,
    /// The mean of all parts.
    pub mean: f64,
    /// The utilisation of the most used part.
    pub most: f64,
}

impl Use<'_> {
    /// Returns the cells of a row: kind, number of parts, least, mean and most.
    pub fn cells(&self) -> [String; 5] {
        let percent = |share: f64| format!("{:.1} %", 100.0 * share);
        let [least, mean, most] = [self.least, self.mean, self.most].map(percent);
        [self.kind.to_owned(), self.parts.to_string(), least, mean, most]
    }
}

/// Returns the utilisation of each kind of parts.
pub fn kinds(parts: &[Part]) -> Vec<Use<'_>> {
    let mut kinds: Vec<(&str, Vec<f64>)> = Vec::new();
    for part in parts {
        match kinds.iter_mut().find(|(kind, _)| *kind == part.kind) {
            Some((_, shares)) => shares.push(part.share),
            None => kinds.push((&part.kind, vec![part.share])),
        }
    }
    let kind = |(kind, shares): (_, Vec<f64>)| Use {
        kind,
        parts: shares.len(),
        least: shares.iter().copied().fold(f64::INFINITY, f64::min),
        mean: shares.iter().sum::<f64>() / shares.len() as f64,
        most: shares.iter().copied().fold(0.0, f64::max),
    };
    kinds.into_iter().map(kind).collect()
}

#[cfg(test)]
mod tests {
    use wireloom_machine::Line;

    use super::*;

    #[test]
    fn parts_of_a_kind_are_told_together() {
        let part = |kind: &str, share| Part { kind: kind.into(), share };
        let record = Record {
            lines: vec![Line::new("lost at input", "1,234 packets")],
            bars: vec![
                Bar { from: 56, to: 63, packets: 1 },
                Bar { from: 64, to: 79, packets: 2000 },
            ],
            parts: vec![part("engine", 0.25), part("input", 1.0), part("engine", 0.75)],
            values: Box::new(()),
        };
        let text = text(&record);
        for part in [
            "lost at input  1,234 packets",
            "56 to 63          1 #\n",
            &format!("64 to 79      2,000 {}\n", "#".repeat(50)),
        ] {
            assert!(text.contains(part), "no {part} in\n{text}");
        }
        let row = text.lines().find(|line| line.contains("engine")).expect("a row");
        let words: Vec<_> = row.split_whitespace().collect();
        assert_eq!(words, ["engine", "2", "25.0", "%", "50.0", "%", "75.0", "%"]);
    }
}
