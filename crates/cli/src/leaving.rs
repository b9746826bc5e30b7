//! Handles the outputs of a machine during a run: counts them, and writes them to a capture.
//!
//! Outputs are kept while the machine works, so that reports show its own speed, and settled
//! between batches. A packet may send 65,536 copies: after [`MOST`] bytes the outputs are settled
//! at once, and the time for this is not counted as the machine's.

use std::time::{Duration, Instant};

use wireloom_io::{CaptureSink, Sink};
use wireloom_ir::{Output, Verdict};
use wireloom_machine::{Error, Outputs, Result, Running};

use wireloom_console::Tally;

/// The most bytes of outputs that are kept, except for the last output.
const MOST: usize = 16 << 20;

/// The outputs of a run.
pub struct Leaving<'a> {
    /// The counts of all outputs so far.
    pub tally: Tally,
    /// The capture, if there is one.
    pub sink: Option<CaptureSink<'a>>,
    kept: Outputs,
    /// Whether the machine has a port, by port number.
    ports: Vec<bool>,
    /// Whether the machine reports the bytes of dropped packets.
    shows_drops: bool,
    /// Time spent here during the machine's working time.
    aside: Duration,
    failure: Option<Error>,
}

impl<'a> Leaving<'a> {
    /// Counts the outputs of a machine and passes them on.
    pub fn new(sink: Option<CaptureSink<'a>>, machine: &Running) -> Self {
        Self {
            tally: Tally::default(),
            sink,
            kept: Outputs::default(),
            ports: (0..=u16::MAX).map(|port| machine.machine.has_port(port)).collect(),
            shows_drops: machine.configured.capabilities().shows_drops,
            aside: Duration::ZERO,
            failure: None,
        }
    }

    /// Takes an output while the machine works.
    pub fn take(&mut self, output: Output<'_>) {
        self.kept.keep(output);
        if self.kept.bytes() > MOST {
            let begin = Instant::now();
            self.pass_on();
            self.aside += begin.elapsed();
        }
    }

    /// Settles the kept outputs, between batches. Returns the time to subtract from the machine's
    /// measured working time.
    ///
    /// # Errors
    /// If the capture cannot be written.
    pub fn settle(&mut self) -> Result<Duration> {
        self.pass_on();
        self.failure.take().map_or(Ok(std::mem::take(&mut self.aside)), Err)
    }

    fn pass_on(&mut self) {
        let leaves = |output: &Output<'_>| match output.verdict {
            Verdict::Sent { port } => self.ports[usize::from(port)],
            _ => true,
        };
        for output in self.kept.iter().filter(leaves) {
            let is_shown = self.shows_drops || !matches!(output.verdict, Verdict::Dropped(_));
            self.tally.count(output.verdict, is_shown.then_some(output.bytes.len()));
            if let (Some(sink), None) = (&mut self.sink, &self.failure) {
                self.failure = sink.take(output).err();
            }
        }
        self.kept.clear();
    }
}
