//! Timelines of threads, for Perfetto and for plots.

use std::io::{self, Write};

use crate::Time;
use crate::stats::Series;

/// Spans of time on tracks. A timeline that is off keeps nothing, and costs one comparison for each
/// span.
#[derive(Clone, Debug, Default)]
pub struct Timeline {
    processes: Vec<String>,
    tracks: Vec<(usize, String)>,
    labels: Vec<String>,
    spans: Vec<Span>,
    from: Time,
    until: Time,
    /// The maximum number of spans.
    bound: usize,
    left_out: u64,
}

/// A row of the timeline. In the trace format it is a thread of a process; in a machine it is a
/// thread of a processor or a port of a memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Track(u32);

/// An activity of a track.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Label(u32);

#[derive(Clone, Copy, Debug)]
struct Span {
    begin: Time,
    end: Time,
    track: Track,
    label: Label,
}

impl Timeline {
    /// Creates a timeline that records nothing.
    pub fn off() -> Self {
        Self::default()
    }

    /// Creates a timeline of at most `bound` spans. It records the spans that overlap this window.
    pub fn within(from: Time, until: Time, bound: usize) -> Self {
        Self { from, until, bound, ..Self::default() }
    }

    pub fn is_on(&self) -> bool {
        self.until > Time::ZERO
    }

    /// Adds a track. Tracks of one process are shown together.
    pub fn track(&mut self, process: &str, thread: &str) -> Track {
        let process = match self.processes.iter().position(|name| name == process) {
            Some(number) => number,
            None => {
                self.processes.push(process.to_owned());
                self.processes.len() - 1
            }
        };
        self.tracks.push((process, thread.to_owned()));
        Track(self.tracks.len() as u32 - 1)
    }

    /// Returns the label with this text.
    pub fn label(&mut self, text: &str) -> Label {
        if let Some(number) = self.labels.iter().position(|label| label == text) {
            return Label(number as u32);
        }
        self.labels.push(text.to_owned());
        Label(self.labels.len() as u32 - 1)
    }

    /// Records an activity of a track from one time to another.
    #[inline]
    pub fn span(&mut self, track: Track, label: Label, begin: Time, end: Time) {
        if begin < self.until && end > self.from {
            self.keep(Span { begin, end, track, label });
        }
    }

    fn keep(&mut self, span: Span) {
        if self.spans.len() == self.bound {
            self.left_out += 1;
            return;
        }
        self.spans.push(span);
    }

    /// The number of spans that found no room.
    pub fn left_out(&self) -> u64 {
        self.left_out
    }

    /// Returns the average number of threads of each process with matching activities in each
    /// interval, with one column for each process.
    pub fn series(&self, interval: Time, counts: impl Fn(&str) -> bool) -> Series {
        let mut series = Series::new(interval);
        let columns: Vec<_> = self.processes.iter().map(|name| series.column(name)).collect();
        let counted: Vec<bool> = self.labels.iter().map(|label| counts(label)).collect();
        for span in &self.spans {
            if counted[span.label.0 as usize] {
                let process = self.tracks[span.track.0 as usize].0;
                series.spread(
                    columns[process],
                    span.begin.max(self.from),
                    span.end.min(self.until),
                );
            }
        }
        series
    }

    /// Writes the timeline in the trace event format (JSON object format: complete events and
    /// metadata), which ui.perfetto.dev and chrome://tracing open. Times are in microseconds with
    /// six decimal places, so that no picosecond is lost.
    ///
    /// # Errors
    /// If the writer fails.
    pub fn write_trace(&self, to: &mut impl Write) -> io::Result<()> {
        write!(to, "{{\"displayTimeUnit\":\"ns\",\"traceEvents\":[")?;
        let mut comma = "";
        for (number, name) in self.processes.iter().enumerate() {
            let name = serde_json::to_string(name)?;
            let order = format!(
                "{{\"name\":\"process_sort_index\",\"ph\":\"M\",\"pid\":{number},\"args\":{{\"sort_index\":{number}}}}}"
            );
            write!(
                to,
                "{comma}\n{{\"name\":\"process_name\",\"ph\":\"M\",\"pid\":{number},\"args\":{{\"name\":{name}}}}},\n{order}"
            )?;
            comma = ",";
        }
        for (number, (process, name)) in self.tracks.iter().enumerate() {
            let name = serde_json::to_string(name)?;
            write!(
                to,
                "{comma}\n{{\"name\":\"thread_name\",\"ph\":\"M\",\"pid\":{process},\"tid\":{number},\"args\":{{\"name\":{name}}}}}"
            )?;
            comma = ",";
        }
        let labels =
            self.labels.iter().map(serde_json::to_string).collect::<Result<Vec<_>, _>>()?;
        for Span { begin, end, track: Track(thread), label } in &self.spans {
            let (process, label) = (self.tracks[*thread as usize].0, &labels[label.0 as usize]);
            let (begin, length) = (microseconds(*begin), microseconds(end.since(*begin)));
            write!(
                to,
                "{comma}\n{{\"name\":{label},\"ph\":\"X\",\"ts\":{begin},\"dur\":{length},\"pid\":{process},\"tid\":{thread}}}"
            )?;
            comma = ",";
        }
        writeln!(to, "\n]}}")
    }
}

fn microseconds(time: Time) -> String {
    format!("{}.{:06}", time.0 / 1_000_000, time.0 % 1_000_000)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;

    fn timeline(bound: usize) -> Timeline {
        let mut timeline = Timeline::within(Time::nanoseconds(100), Time::nanoseconds(200), bound);
        let tracks = [("cpu 0", "thread 0"), ("cpu \"1\"", "thread 0"), ("cpu 0", "thread 1")];
        let tracks = tracks.map(|(process, thread)| timeline.track(process, thread));
        let (runs, waits) = (timeline.label("runs"), timeline.label("waits"));
        assert_eq!(timeline.label("runs"), runs);
        timeline.span(tracks[0], runs, Time(0), Time(100_000));
        timeline.span(tracks[0], runs, Time(90_000), Time(150_000));
        timeline.span(tracks[2], runs, Time(110_001), Time(120_001));
        timeline.span(tracks[1], waits, Time(100_000), Time(300_000));
        timeline.span(tracks[1], runs, Time(200_000), Time(300_000));
        timeline
    }

    #[test]
    fn a_trace_names_its_tracks_and_loses_no_picosecond() {
        let mut text = Vec::new();
        timeline(10).write_trace(&mut text).unwrap();
        let trace: Value = serde_json::from_slice(&text).unwrap();
        let events = trace["traceEvents"].as_array().unwrap();
        let kind =
            |kind: &str| events.iter().filter(|event| event["ph"] == kind).collect::<Vec<_>>();
        let names: Vec<_> =
            kind("M").iter().filter_map(|event| event["args"]["name"].as_str()).collect();
        assert_eq!(names, ["cpu 0", "cpu \"1\"", "thread 0", "thread 0", "thread 1"]);
        let spans = kind("X");
        assert_eq!(spans.len(), 3);
        assert_eq!(
            (spans[1]["ts"].as_f64(), spans[1]["dur"].as_f64()),
            (Some(0.110_001), Some(0.01))
        );
        assert_eq!(
            (&spans[1]["pid"], &spans[1]["tid"], &spans[1]["name"]),
            (&0.into(), &2.into(), &"runs".into())
        );
        assert_eq!(
            (&spans[2]["pid"], &spans[2]["tid"], &spans[2]["name"]),
            (&1.into(), &1.into(), &"waits".into())
        );
    }

    #[test]
    fn use_over_time_counts_threads_of_a_process() {
        let series = timeline(10).series(Time::nanoseconds(50), |label| label == "runs");
        let columns: Vec<_> =
            series.columns().map(|(name, cells)| (name.to_owned(), cells.to_vec())).collect();
        assert_eq!(
            columns,
            [("cpu 0".to_owned(), vec![0.0, 0.0, 1.2]), ("cpu \"1\"".to_owned(), vec![])]
        );
    }

    #[test]
    fn no_more_is_kept_than_allowed_and_nothing_when_off() {
        let timeline = timeline(2);
        assert_eq!((timeline.spans.len(), timeline.left_out()), (2, 1));
        let mut off = Timeline::off();
        let (track, label) = (off.track("cpu", "thread"), off.label("runs"));
        off.span(track, label, Time(0), Time(10));
        assert_eq!((off.is_on(), off.spans.len(), off.left_out()), (false, 0, 0));
    }
}
