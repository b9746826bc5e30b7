//! What simulated multiprocessors did over time, as files.

use std::path::{Path, PathBuf};

use clap::{Args, ValueHint};
use wireloom_machines::mpsoc::Options;
use wireloom_sim::stats::Series;
use wireloom_sim::{Time, Timeline, plot};

use crate::failure::{Failure, Outcome};
use crate::output;

/// Options for what is recorded.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Records of simulated multiprocessors")]
pub struct RecordArgs {
    /// Write what each hardware thread did, for ui.perfetto.dev (Chrome trace JSON), from the beginning on for as long as --timeline-us says
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub timeline: Option<PathBuf>,
    /// How much simulated time a timeline shows, in microseconds; 100 by default
    #[arg(long, value_name = "US", requires = "timeline", value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    pub timeline_us: Option<u64>,
    /// Write numbers over time (CSV): use of all processors and of each, million packets a second, packets lost
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub series: Option<PathBuf>,
    /// Draw the use of the processors over time (SVG)
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub plot: Option<PathBuf>,
    /// The interval of --series and --plot, in nanoseconds; 1,000 by default
    #[arg(long, value_name = "NS", value_parser = clap::value_parser!(u64).range(10..=1_000_000_000))]
    pub interval_ns: Option<u64>,
}

/// Spans of a timeline at most: some hundred megabytes.
const SPANS: usize = 4_000_000;

impl RecordArgs {
    /// The first option that was given.
    pub fn given(&self) -> Option<&'static str> {
        let given = [
            ("--timeline", self.timeline.is_some()),
            ("--series", self.series.is_some()),
            ("--plot", self.plot.is_some()),
            ("--interval-ns", self.interval_ns.is_some()),
        ];
        given.into_iter().find(|(_, given)| *given).map(|(option, _)| option)
    }

    /// How a machine is to be run for that.
    ///
    /// # Errors
    /// If an interval is given for nothing.
    pub fn options(&self) -> Outcome<Options> {
        let samples = self.series.is_some() || self.plot.is_some();
        if self.interval_ns.is_some() && !samples {
            return Err(Failure::unusable(
                "--interval-ns is that of --series and --plot, and neither is there",
            ));
        }
        let microseconds = self.timeline_us.unwrap_or(100);
        Ok(Options {
            timeline: match self.timeline {
                Some(_) => Timeline::within(Time::ZERO, Time::nanoseconds(1000 * microseconds), SPANS),
                None => Timeline::off(),
            },
            sampling: samples.then(|| Time::nanoseconds(self.interval_ns.unwrap_or(1000))),
            ..Options::default()
        })
    }

    /// Writes what was asked for; `machine` is what it is called.
    ///
    /// # Errors
    /// If a file cannot be written.
    pub fn write(&self, machine: &str, timeline: &Timeline, series: Option<&Series>) -> Outcome {
        if let Some(path) = &self.timeline {
            write(path, |to| timeline.write_trace(to))?;
            if timeline.left_out() > 0 {
                eprintln!(
                    "warning: {}: {} spans were left out: say a shorter --timeline-us",
                    path.display(),
                    output::thousands(timeline.left_out())
                );
            }
        }
        let Some(series) = series else { return Ok(()) };
        if let Some(path) = &self.series {
            write(path, |to| series.write_csv(to))?;
        }
        if let Some(path) = &self.plot {
            let title = format!("use of the processors of {machine}");
            let svg = plot::over_time(&title, "%", &usage(series)).map_err(Failure::unusable)?;
            output::write_file(path, svg.as_bytes())?;
        }
        Ok(())
    }
}

/// The use of all processors, in percent.
fn usage(series: &Series) -> Series {
    let mut drawn = Series::new(series.interval());
    let column = drawn.column("use");
    for (_, cells) in series.columns().filter(|(name, _)| *name == "use") {
        for (row, share) in (0..).zip(cells) {
            drawn.add(column, Time(series.interval().0 * row), 100.0 * share);
        }
    }
    drawn
}

fn write(path: &Path, fill: impl FnOnce(&mut Vec<u8>) -> std::io::Result<()>) -> Outcome {
    let mut bytes = Vec::new();
    fill(&mut bytes).map_err(|error| Failure::unusable(format!("{}: {error}", path.display())))?;
    output::write_file(path, &bytes)
}
