//! A machine that runs.

use std::ops::Range;

use wireloom_ir::Output;
use wireloom_net::Frame;
use wireloom_offloads::{Kind, Store, Update};
use wireloom_sim::Timeline;
use wireloom_sim::stats::Series;

use crate::watch::Watched;
use crate::{Error, Passage, Profile, Record, Result, Snapshot};

/// Receives the outputs of a machine. A packet's bytes are valid during the call only.
pub type Sink<'a> = &'a mut dyn FnMut(Output<'_>);

/// Receives outputs in two pieces: [`Output::bytes`], and the bytes that follow, if there are any.
pub type SinkOfPieces<'a> = &'a mut dyn FnMut(Output<'_>, &[u8]);

/// A machine with a program and its offloads.
///
/// Frames are numbered from 0 in the order in which they are offered. Outputs are passed on grouped
/// by arriving packet, the outputs of one packet in the order in which it sent them.
pub trait Machine {
    /// Accepts frames and works as long as there is enough to do. Outputs of some frames may be
    /// delivered by a later call.
    ///
    /// # Errors
    /// If the machine fails, or a frame comes from a port that it does not have.
    fn offer(&mut self, frames: &[Frame<'_>], sink: Sink<'_>) -> Result<Settled>;

    /// Like [`offer`](Self::offer), for sinks that take packets in two pieces. A machine that leaves
    /// the end of a long packet where it arrived then need not copy it.
    ///
    /// # Errors
    /// As [`offer`](Self::offer).
    fn offer_in_pieces(&mut self, frames: &[Frame<'_>], sink: SinkOfPieces<'_>) -> Result<Settled> {
        self.offer(frames, &mut |output| sink(output, &[]))
    }

    /// Works on without new frames for about this number of cycles of its main clock, or until
    /// every packet has settled: a machine at rest stays at its time. A machine without a time of
    /// its own has settled all packets when [`offer`](Self::offer) returns.
    ///
    /// # Errors
    /// If the machine fails.
    fn advance(&mut self, cycles: u64, sink: Sink<'_>) -> Result<Settled> {
        let _ = (cycles, sink);
        Ok(Settled::default())
    }

    /// Works on without new frames until every packet that it was offered has settled.
    ///
    /// # Errors
    /// If the machine fails.
    fn finish(&mut self, sink: Sink<'_>) -> Result<Settled>;

    /// Changes an entry between two packets: all that were offered before it find the old entry,
    /// all that are offered after it the new one. A machine that works on several packets at once
    /// finishes those that it has first.
    ///
    /// # Errors
    /// If the update does not suit its offload, there is no room for it, or the machine fails.
    fn update(&mut self, update: &Update, sink: Sink<'_>) -> Result<Settled, UpdateError>;

    /// Accepts an update that the machine applies itself while packets flow, when packet
    /// [`Update::packet`] arrives; each packet under way finds the old entry or the new one. Must
    /// be called before that packet is offered. Only machines with
    /// [`Capabilities::updates_in_flight`] accept it.
    ///
    /// # Errors
    /// If the update does not suit its offload or there is no room for it.
    fn schedule(&mut self, update: &Update) -> Result<(), UpdateError> {
        Err(UpdateError::Refused(format!(
            "`{}`: this machine makes no updates while packets flow",
            update.offload
        )))
    }

    /// Returns its offloads with their state. A machine that keeps state elsewhere (in simulated
    /// memories) returns it as it was last read back.
    fn store(&self) -> &Store;

    /// Returns its offloads, for the control plane to change between two packets, if the machine keeps
    /// them nowhere else. Instances may be exchanged for others of the same configuration.
    fn store_mut(&mut self) -> Option<&mut Store> {
        None
    }

    /// Lends its offloads as they are now. Nothing changes in the machine: what the borrower does to
    /// them is undone. Returns whether the machine can do that.
    ///
    /// # Errors
    /// If the machine fails.
    fn lend(&mut self, look: &mut dyn FnMut(&mut Store)) -> Result<bool> {
        let _ = look;
        Ok(false)
    }

    /// Updates [`store`](Self::store) from a machine that has finished. Returns the names of
    /// offloads that were left out because they are large and not requested; [`Wanted::All`]
    /// leaves out none.
    ///
    /// # Errors
    /// If the machine fails.
    fn read_back(&mut self, wanted: Wanted<'_>, progress: &dyn Fn(&str)) -> Result<Vec<String>> {
        let _ = (wanted, progress);
        Ok(Vec::new())
    }

    /// The state of all offloads, of a machine that has finished.
    ///
    /// # Errors
    /// If the machine fails.
    fn snapshot(&mut self) -> Result<Snapshot> {
        self.read_back(Wanted::All, &|_| ())?;
        Ok(Snapshot::of(self.store()))
    }

    /// Restores the state of a snapshot of the same program, on a machine that has finished: all
    /// entries of tables with their ages, the buckets of meters, parked packets. Any machine's
    /// snapshot will do.
    ///
    /// # Errors
    /// If the snapshot is another program's, or the machine fails.
    fn restore(&mut self, snapshot: &Snapshot) -> Result;

    /// Whether packets can leave by a port; a machine drops and counts those for others.
    fn has_port(&self, number: u16) -> bool {
        let _ = number;
        true
    }

    /// Returns the record of the run so far, for a machine that measures itself. `work` is the
    /// host's time in [`offer`](Self::offer) and [`finish`](Self::finish).
    fn record(&self, work: std::time::Duration) -> Option<Record> {
        let _ = work;
        None
    }

    /// Returns how often packets began steps and called offloads, if the machine counts that.
    fn counts(&self) -> Option<Counts> {
        None
    }

    /// Returns what threads did at each line of the program, of a machine that counts it
    /// ([`Knob::Profile`](crate::Knob)).
    fn profile(&self) -> Option<Profile> {
        None
    }

    /// Keeps the way of one packet, for [`followed`](Self::followed). Must be called before that
    /// packet is offered; the packet followed before is forgotten. A machine that was started
    /// without [`Options::follows`](crate::Options::follows) may keep less, and one without times
    /// of its own keeps nothing.
    fn follow(&mut self, packet: u64) {
        let _ = packet;
    }

    /// Returns what it has kept of the packet that it [follows](Self::follow), if that has settled
    /// and was not lost.
    fn followed(&self) -> Option<Passage> {
        None
    }

    /// Returns its recordings over time.
    fn recordings(&self) -> Recordings<'_> {
        Recordings::default()
    }

    /// Returns the machine for a debugger or a monitor, if it can be watched and stepped.
    fn watch(&mut self) -> Option<&mut dyn Watched> {
        None
    }
}

/// How often packets began the steps of an engine and called its offloads.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// How often a thread began each step of the engine that takes packets, in its order.
    pub steps: Vec<u64>,
    /// The calls of each method of each offload, in the order of [`Store::paths`]. Calls by the
    /// steps of called engines are among them.
    pub calls: Vec<Vec<Calls>>,
}

/// The calls of a method.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Calls {
    /// All of them.
    pub all: u64,
    /// Those that found an entry, of a method that searches. A search of an `lpm` table counts if it
    /// found something else than the miss value.
    pub found: Option<u64>,
}

impl Calls {
    /// The calls of each method of a kind, from two numbers for each: all calls, and those that
    /// found something.
    pub fn of(kind: &Kind, numbers: &[u64]) -> Vec<Self> {
        let calls = kind.methods.iter().zip(numbers.chunks_exact(2));
        let calls = calls.map(|(method, numbers)| Self {
            all: numbers[0],
            found: kind.counts_found(method).then_some(numbers[1]),
        });
        calls.collect()
    }
}

impl Counts {
    /// Adds what another machine with the same program counted.
    pub fn add(&mut self, other: &Self) {
        self.steps.iter_mut().zip(&other.steps).for_each(|(own, other)| *own += other);
        let calls = self.calls.iter_mut().flatten().zip(other.calls.iter().flatten());
        for (own, other) in calls {
            own.all += other.all;
            own.found = own.found.zip(other.found).map(|(own, other)| own + other);
        }
    }
}

/// The capabilities of a machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Capabilities {
    /// Whether it shows the bytes of packets that it drops. Hardware reports the reason only.
    pub shows_drops: bool,
    /// Whether its times are those of the modelled machine, not the host's.
    pub times: bool,
    /// Whether it accounts for energy.
    pub energy: bool,
    /// Whether it makes updates itself while packets flow ([`Machine::schedule`]).
    pub updates_in_flight: bool,
    /// Whether it may lose packets at its input.
    pub loses: bool,
    /// Whether starting it takes many seconds, since a tool translates a model of the machine.
    pub translates: bool,
}

impl Default for Capabilities {
    /// Returns the capabilities of a machine in software.
    fn default() -> Self {
        Self {
            shows_drops: true,
            times: false,
            energy: false,
            updates_in_flight: false,
            loses: false,
            translates: false,
        }
    }
}

/// Packets that have settled: all that becomes of them has been handed on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Settled {
    /// The packets that the machine accepted, in its order: that of arrival, unless several ports
    /// have queues of their own.
    pub taken: Numbers,
    /// The packets that it lost at its input.
    pub lost: Numbers,
    /// What it lost at its outputs of packets that it accepted.
    pub lost_outputs: Vec<LostOutput>,
}

/// A packet that a machine would have sent, but for a queue at its port that was full.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LostOutput {
    /// The number of the packet that arrived.
    pub packet: u64,
    /// The number of the output among those of that packet, from 0.
    pub output: usize,
    /// The port to which it would have gone.
    pub port: u16,
}

/// Numbers of packets in an order; runs of successive numbers take no room.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Numbers {
    runs: Vec<Range<u64>>,
}

impl Settled {
    /// Adds packets that settled later.
    pub fn extend(&mut self, later: &Self) {
        later.taken.iter().for_each(|number| self.taken.push(number));
        later.lost.iter().for_each(|number| self.lost.push(number));
        self.lost_outputs.extend(&later.lost_outputs);
    }
}

impl Numbers {
    /// Adds a number.
    pub fn push(&mut self, number: u64) {
        match self.runs.last_mut() {
            Some(run) if run.end == number => run.end += 1,
            _ => self.runs.push(number..number + 1),
        }
    }

    /// Returns all numbers, in order.
    pub fn iter(&self) -> impl Iterator<Item = u64> + '_ {
        self.runs.iter().cloned().flatten()
    }

    /// Returns the number of numbers.
    pub fn len(&self) -> usize {
        self.runs.iter().map(|run| (run.end - run.start) as usize).sum()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl From<Range<u64>> for Numbers {
    fn from(run: Range<u64>) -> Self {
        Self { runs: vec![run] }
    }
}

impl FromIterator<u64> for Numbers {
    fn from_iter<I: IntoIterator<Item = u64>>(numbers: I) -> Self {
        let mut all = Self::default();
        numbers.into_iter().for_each(|number| all.push(number));
        all
    }
}

/// The extent of reading back offloads that packets change.
#[derive(Clone, Copy)]
pub enum Wanted<'a> {
    /// Small offloads, and these.
    Shown(&'a [String]),
    /// For large offloads, the entries that this store of another machine has, and some next to
    /// them.
    Like(&'a Store),
    /// Everything.
    All,
}

/// Why an update was not made.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UpdateError {
    /// It does not suit its offload, or there is no room for it: a sentence.
    #[error("{0}")]
    Refused(String),
    /// The machine has failed.
    #[error(transparent)]
    Failed(#[from] Error),
}

/// The recordings of a machine over time.
#[derive(Clone, Copy, Debug, Default)]
pub struct Recordings<'a> {
    /// The activity of its threads.
    pub timeline: Option<&'a Timeline>,
    /// Numbers over time.
    pub series: Option<&'a Series>,
    /// The events of its parts.
    pub events: Option<&'a dyn Events>,
}

/// The events of a machine's parts, in the order in which they happened.
pub trait Events: std::fmt::Debug {
    /// Writes them as CSV, one a line, with a heading.
    ///
    /// # Errors
    /// If they cannot be written.
    fn write_csv(&self, to: &mut dyn std::io::Write) -> std::io::Result<()>;

    /// Events that found no room.
    fn left_out(&self) -> u64;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_keep_their_order() {
        let numbers: Numbers = [3, 4, 5, 1, 2, 9].into_iter().collect();
        assert_eq!(numbers.iter().collect::<Vec<_>>(), [3, 4, 5, 1, 2, 9]);
        assert_eq!((numbers.runs.len(), numbers.len()), (3, 6));
        assert!(Numbers::from(7..7).is_empty() && Numbers::from(7..7).iter().next().is_none());
    }
}
