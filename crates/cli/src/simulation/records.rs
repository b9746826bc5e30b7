//! Recordings of simulated processors over time, as files.

use std::path::{Path, PathBuf};

use clap::{Args, ValueHint};
use wireloom_console::{Places, output, thousands};
use wireloom_machine::{Knob, Recordings};
use wireloom_plot::Lines;
use wireloom_sim::Time;
use wireloom_sim::stats::Series;

use crate::failure::{Failure, Outcome};

/// Options that choose what is recorded.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Records of simulated processors")]
pub struct RecordArgs {
    /// Write the activity of each hardware thread as Chrome trace JSON, for ui.perfetto.dev, from
    /// the start of the run for the time that --timeline-us sets
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub timeline: Option<PathBuf>,
    /// Set the simulated time that a timeline covers, in microseconds; 100 by default
    #[arg(long, value_name = "US", requires = "timeline", value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    pub timeline_us: Option<u64>,
    /// Write a time series as CSV: utilisation of each processor and of all, million packets a
    /// second, packets lost
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub series: Option<PathBuf>,
    /// Plot the utilisation of the processors over time (SVG)
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub plot: Option<PathBuf>,
    /// Set the sampling interval of --series and --plot, in nanoseconds; 1,000 by default
    #[arg(long, value_name = "NS", value_parser = clap::value_parser!(u64).range(10..=1_000_000_000))]
    pub interval_ns: Option<u64>,
    /// Write each event of a command on the chip as CSV: cycle, event, engine, context, unit,
    /// operation, address, words
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub events: Option<PathBuf>,
    /// Set the number of events that are kept at most, from the start; 1,000,000 by default
    #[arg(long, value_name = "N", requires = "events", value_parser = clap::value_parser!(u64).range(1..=100_000_000))]
    pub events_most: Option<u64>,
}

impl RecordArgs {
    /// Returns the options that were given, each with its knob.
    pub fn given(&self) -> impl Iterator<Item = (&'static str, Knob)> {
        let given = [
            ("--timeline", Knob::Timeline, self.timeline.is_some()),
            ("--series", Knob::Series, self.series.is_some()),
            ("--plot", Knob::Series, self.plot.is_some()),
            ("--interval-ns", Knob::Series, self.interval_ns.is_some()),
            ("--events", Knob::Events, self.events.is_some()),
        ];
        let given = given.into_iter().filter(|(.., given)| *given);
        given.map(|(option, knob, _)| (option, knob))
    }

    /// Adds the output files.
    pub fn places(&self, places: Places) -> Places {
        places
            .writes("--timeline", self.timeline.as_deref())
            .writes("--series", self.series.as_deref())
            .writes("--plot", self.plot.as_deref())
            .writes("--events", self.events.as_deref())
    }

    /// Returns the simulated time that a timeline covers, in nanoseconds, if a timeline was
    /// requested.
    pub fn timeline_ns(&self) -> Option<u64> {
        self.timeline.as_ref().map(|_| 1000 * self.timeline_us.unwrap_or(100))
    }

    /// Returns the sampling interval in nanoseconds, if a time series was requested.
    ///
    /// # Errors
    /// If an interval is given without a file that uses it.
    pub fn interval_ns(&self) -> Outcome<Option<u64>> {
        let samples = self.series.is_some() || self.plot.is_some();
        if self.interval_ns.is_some() && !samples {
            return Err(Failure::unusable(
                "--interval-ns is that of --series and --plot, and neither is there",
            ));
        }
        Ok(samples.then(|| self.interval_ns.unwrap_or(1000)))
    }

    /// Returns the number of events that are kept.
    pub fn events_most(&self) -> usize {
        let most = self.events_most.unwrap_or(1_000_000) as usize;
        if self.events.is_some() { most } else { 0 }
    }

    /// Writes the requested files; `machine` is the machine's name.
    ///
    /// # Errors
    /// If a file cannot be written.
    pub fn write(&self, machine: &str, recordings: Recordings<'_>) -> Outcome {
        let Recordings { timeline, series, events } = recordings;
        if let (Some(path), Some(events)) = (&self.events, events) {
            write(path, |to| events.write_csv(to))?;
            if events.left_out() > 0 {
                output::note(format!(
                    "warning: {}: {} events were left out: say a larger --events-most, or fewer packets",
                    path.display(),
                    thousands(events.left_out())
                ));
            }
        }
        if let (Some(path), Some(timeline)) = (&self.timeline, timeline) {
            write(path, |to| timeline.write_trace(to))?;
            if timeline.left_out() > 0 {
                output::note(format!(
                    "warning: {}: {} spans were left out: say a shorter --timeline-us",
                    path.display(),
                    thousands(timeline.left_out())
                ));
            }
        }
        let Some(series) = series else { return Ok(()) };
        let (wanted, interval) = (self.interval_ns.unwrap_or(1000), series.interval());
        if interval > Time::nanoseconds(wanted) {
            output::note(format!(
                "note: the run was long: the time series has a row each {} ns, not each {} ns",
                thousands(interval.0 / 1000),
                thousands(wanted)
            ));
        }
        if let Some(path) = &self.series {
            write(path, |to| series.write_csv(to))?;
        }
        if let Some(path) = &self.plot {
            output::write_file(path, usage(machine, series).as_bytes())?;
        }
        Ok(())
    }
}

/// Plots the utilisation of all processors as SVG.
pub fn usage(machine: &str, series: &Series) -> String {
    let own = series.columns().find(|(name, _)| *name == "use");
    let percent: Vec<f64> =
        own.map_or(&[][..], |(_, shares)| shares).iter().map(|share| 100.0 * share).collect();
    let title = format!("Use of the processors of {machine}");
    let interval = series.interval().as_nanoseconds();
    Lines::over_time(&title, "use, %", interval, &[("all processors", &percent)]).svg()
}

fn write(path: &Path, fill: impl FnOnce(&mut Vec<u8>) -> std::io::Result<()>) -> Outcome {
    let mut bytes = Vec::new();
    fill(&mut bytes).map_err(|error| Failure::unusable(format!("{}: {error}", path.display())))?;
    Ok(output::write_file(path, &bytes)?)
}
