//! A running machine, with the times that its start and its work took.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use wireloom_ir::{self as ir, Output, Verdict};
use wireloom_net::tables::TableFile;
use wireloom_net::{Frame, Packet};
use wireloom_offloads::{Store, Update, load_tables};

use crate::{
    Configured, Error, Machine, Options, Program, Record, Result, Settled, Sink, SinkOfPieces,
    UpdateError,
};

/// A machine with a program and its tables, and the host time that it took.
pub struct Running {
    /// The configured machine.
    pub configured: Arc<dyn Configured>,
    pub machine: Box<dyn Machine>,
    /// The time to make the program executable on it, with compilers and translators.
    pub build_time: Duration,
    /// The time spent on packets so far.
    pub work: Duration,
}

/// The result of loading tables.
#[derive(Clone, Debug, Default)]
pub struct LoadedTables {
    /// The number of entries written.
    pub entries: u64,
    /// The time from opening the files to the last entry.
    pub time: Duration,
}

/// Creates the offloads of a program and loads table files into them, in order.
///
/// # Errors
/// If the configuration of an offload, a file or an entry is refused.
pub fn load_store(
    program: &ir::Program,
    tables: &[PathBuf],
    progress: &dyn Fn(&str),
) -> Result<(Store, LoadedTables)> {
    let mut store = ir::store(program).map_err(|refused| Error::new(refused.0))?;
    let mut loaded = LoadedTables::default();
    let begin = Instant::now();
    for path in tables {
        progress(&format!("loading {}", path.display()));
        let file = TableFile::open(path).map_err(Error::new)?;
        loaded.entries += load_tables(&mut store, file).map_err(Error::new)?.entries();
    }
    loaded.time = begin.elapsed();
    Ok((store, loaded))
}

impl Running {
    /// Starts a machine with a program and its offloads.
    ///
    /// # Errors
    /// As [`Configured::start`].
    pub fn start(
        configured: Arc<dyn Configured>,
        program: &Program,
        store: Store,
        options: &Options,
        progress: &dyn Fn(&str),
    ) -> Result<Self> {
        let begin = Instant::now();
        let machine = configured.start(program, store, options, progress)?;
        Ok(Self { configured, machine, build_time: begin.elapsed(), work: Duration::ZERO })
    }

    /// Returns the machine's name, for reports.
    pub fn name(&self) -> &str {
        self.configured.name()
    }

    /// Offers packets that own their bytes; see [`Machine::offer`].
    ///
    /// # Errors
    /// As [`Machine::offer`].
    pub fn execute(&mut self, packets: &[Packet], sink: Sink<'_>) -> Result<Settled> {
        let frames: Vec<Frame<'_>> = packets.iter().map(Packet::frame).collect();
        self.offer(&frames, sink)
    }

    /// Offers frames; see [`Machine::offer`].
    ///
    /// # Errors
    /// As [`Machine::offer`].
    pub fn offer(&mut self, frames: &[Frame<'_>], sink: Sink<'_>) -> Result<Settled> {
        self.timed(|machine| machine.offer(frames, sink))
    }

    /// Offers frames that may leave in two pieces; see [`Machine::offer_in_pieces`].
    ///
    /// # Errors
    /// As [`Machine::offer`].
    pub fn offer_in_pieces(
        &mut self,
        frames: &[Frame<'_>],
        sink: SinkOfPieces<'_>,
    ) -> Result<Settled> {
        self.timed(|machine| machine.offer_in_pieces(frames, sink))
    }

    /// Runs the timers that are due by a time; see [`Machine::advance_to`].
    ///
    /// # Errors
    /// As [`Machine::advance_to`].
    pub fn advance_to(&mut self, time_ns: u64, sink: Sink<'_>) -> Result<Settled> {
        self.timed(|machine| machine.advance_to(time_ns, sink))
    }

    /// Finishes the run; see [`Machine::finish`].
    ///
    /// # Errors
    /// As [`Machine::finish`].
    pub fn finish(&mut self, sink: Sink<'_>) -> Result<Settled> {
        self.timed(|machine| machine.finish(sink))
    }

    /// Applies an update; see [`Machine::update`].
    ///
    /// # Errors
    /// As [`Machine::update`].
    pub fn update(&mut self, update: &Update, sink: Sink<'_>) -> Result<Settled, UpdateError> {
        self.timed(|machine| machine.update(update, sink))
    }

    /// Whether the machine shows the bytes of packets with this verdict.
    pub fn shows(&self, verdict: Verdict) -> bool {
        match verdict {
            Verdict::Dropped(_) => self.configured.capabilities().shows_drops,
            Verdict::Sent { port } => self.machine.has_port(port),
            Verdict::ToCpu(_) => true,
        }
    }

    /// Returns golden's output as this machine shows it: without bytes if the machine does not show
    /// them.
    pub fn shown<'a>(&self, output: Output<'a>) -> Output<'a> {
        let shown = self.shows(output.verdict);
        Output { bytes: if shown { output.bytes } else { &[] }, ..output }
    }

    /// Returns the record of the run, if the machine measures itself.
    pub fn record(&self) -> Option<Record> {
        self.machine.record(self.work)
    }

    fn timed<T>(&mut self, work: impl FnOnce(&mut dyn Machine) -> T) -> T {
        let begin = Instant::now();
        let result = work(self.machine.as_mut());
        self.work += begin.elapsed();
        result
    }
}
