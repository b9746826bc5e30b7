//! The interface of a running machine.

use std::ops::Range;

use wireloom_ir::Output;
use wireloom_net::Frame;
use wireloom_offloads::{OffloadKind, Store, Update};
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
/// Frames are numbered from 0 in the order in which they are offered. Outputs are grouped by
/// arriving packet, with each packet's outputs in the order in which it sent them.
pub trait Machine {
    /// Accepts frames and works while there is enough to do. A later call may deliver outputs of
    /// some frames.
    ///
    /// # Errors
    /// If the machine fails, or if a frame comes from a port that the machine does not have.
    fn offer(&mut self, frames: &[Frame<'_>], sink: Sink<'_>) -> Result<Settled>;

    /// Offers frames like [`offer`](Self::offer), to a sink that takes packets in two pieces. This
    /// saves a copy for a machine that leaves the end of a long packet where it arrived.
    ///
    /// # Errors
    /// As [`offer`](Self::offer).
    fn offer_in_pieces(&mut self, frames: &[Frame<'_>], sink: SinkOfPieces<'_>) -> Result<Settled> {
        self.offer(frames, &mut |output| sink(output, &[]))
    }

    /// Continues without new frames for about this number of main clock cycles, or until every
    /// packet has settled; the time of an idle machine does not advance. A machine without its own
    /// time has settled all packets when [`offer`](Self::offer) returns.
    ///
    /// # Errors
    /// If the machine fails.
    fn advance(&mut self, cycles: u64, sink: Sink<'_>) -> Result<Settled> {
        let _ = (cycles, sink);
        Ok(Settled::default())
    }

    /// Runs the timers that are due by a time, in nanoseconds, as if a packet arrived then. Only
    /// machines that take programs with timers need this.
    ///
    /// # Errors
    /// If the machine fails.
    fn advance_to(&mut self, time_ns: u64, sink: Sink<'_>) -> Result<Settled> {
        let _ = (time_ns, sink);
        Ok(Settled::default())
    }

    /// Returns a time before which no timer is due, in nanoseconds; `None` if no timer is set.
    fn next_timer(&self) -> Option<u64> {
        None
    }

    /// Continues without new frames until every offered packet has settled.
    ///
    /// # Errors
    /// If the machine fails.
    fn finish(&mut self, sink: Sink<'_>) -> Result<Settled>;

    /// Changes an entry between two packets: packets that were offered before find the old entry,
    /// later ones the new entry. A machine that works on several packets at once first finishes the
    /// packets in flight.
    ///
    /// # Errors
    /// If the update does not suit its offload, if there is no room for it, or if the machine
    /// fails.
    fn update(&mut self, update: &Update, sink: Sink<'_>) -> Result<Settled, UpdateError>;

    /// Accepts an update that the machine applies itself while packets flow, when packet
    /// [`Update::packet`] arrives. Each packet in flight finds the old or the new entry. This must
    /// be called before that packet is offered. Only machines with
    /// [`Capabilities::updates_in_flight`] accept it.
    ///
    /// # Errors
    /// If the update does not suit its offload, or if there is no room for it.
    fn schedule(&mut self, update: &Update) -> Result<(), UpdateError> {
        Err(UpdateError::Refused(format!(
            "`{}`: this machine makes no updates while packets flow",
            update.offload
        )))
    }

    /// Returns the offloads with their state. A machine that keeps the state elsewhere (in
    /// simulated memories) returns the state of the last read-back.
    fn store(&self) -> &Store;

    /// Returns the offloads, for the control plane to change between two packets; `None` if the
    /// machine also keeps them elsewhere. An instance may be replaced by another one of the same
    /// configuration.
    fn store_mut(&mut self) -> Option<&mut Store> {
        None
    }

    /// Lends the offloads in their current state. The machine does not change: the borrower's
    /// changes are undone. Returns whether the machine supports this.
    ///
    /// # Errors
    /// If the machine fails.
    fn lend(&mut self, look: &mut dyn FnMut(&mut Store)) -> Result<bool> {
        let _ = look;
        Ok(false)
    }

    /// Updates [`store`](Self::store) from a finished machine, at least from the offloads that are
    /// wanted. Returns the names of those that were left out; [`Wanted::All`] leaves out none.
    ///
    /// # Errors
    /// If the machine fails.
    fn read_back(&mut self, wanted: Wanted<'_>, progress: &dyn Fn(&str)) -> Result<Vec<String>> {
        let _ = (wanted, progress);
        Ok(Vec::new())
    }

    /// Returns the state of all offloads of a finished machine.
    ///
    /// # Errors
    /// If the machine fails.
    fn snapshot(&mut self) -> Result<Snapshot> {
        self.read_back(Wanted::All, &|_| ())?;
        Ok(Snapshot::of(self.store()))
    }

    /// Restores the state of a snapshot of the same program, on a finished machine: all table
    /// entries with their ages, the buckets of meters, and parked packets. The snapshot can come
    /// from any machine.
    ///
    /// # Errors
    /// If the snapshot is of another program, or if the machine fails.
    fn restore(&mut self, snapshot: &Snapshot) -> Result;

    /// Whether packets can leave by a port. The machine drops and counts packets for other ports.
    fn has_port(&self, number: u16) -> bool {
        let _ = number;
        true
    }

    /// Returns the record of the run so far, if the machine measures itself. `work` is the host's
    /// time in [`offer`](Self::offer) and [`finish`](Self::finish).
    fn record(&self, work: std::time::Duration) -> Option<Record> {
        let _ = work;
        None
    }

    /// Returns how often packets began steps and called offloads, if the machine counts that.
    fn counts(&self) -> Option<Counts> {
        None
    }

    /// Returns the profile of the program's lines, if the machine keeps one
    /// ([`Knob::Profile`](crate::Knob)).
    fn profile(&self) -> Option<Profile> {
        None
    }

    /// Records the passage of one packet, for [`followed`](Self::followed). This must be called
    /// before that packet is offered, and replaces the previous choice. A machine that was started
    /// without [`Options::follows`](crate::Options::follows) may record less, and a machine without
    /// its own times records nothing.
    fn follow(&mut self, packet: u64) {
        let _ = packet;
    }

    /// Returns the recorded passage of the [followed](Self::follow) packet, if the packet has
    /// settled and was not lost.
    fn followed(&self) -> Option<Passage> {
        None
    }

    /// Returns the recordings over time.
    fn recordings(&self) -> Recordings<'_> {
        Recordings::default()
    }

    /// Returns the machine for a debugger or a monitor, if it can be watched and stepped.
    fn watch(&mut self) -> Option<&mut dyn Watched> {
        None
    }
}

/// The number of times that packets began the steps of an engine and called its offloads.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// The number of times that a thread began each step of the packet engine, in the engine's
    /// order.
    pub steps: Vec<u64>,
    /// The calls of each method of each offload, in the order of [`Store::paths`], including calls
    /// by the steps of called engines.
    pub calls: Vec<Vec<Calls>>,
}

/// The calls of a method.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Calls {
    /// The number of all calls.
    pub all: u64,
    /// For a search method, the number of calls that found an entry. In an `lpm` table, a search
    /// counts if it finds a value other than the miss value.
    pub found: Option<u64>,
}

impl Calls {
    /// Builds the calls of each method of a kind from two numbers for each: all calls, and the
    /// calls that found something.
    pub fn of(kind: &OffloadKind, numbers: &[u64]) -> Vec<Self> {
        let calls = kind.methods.iter().zip(numbers.chunks_exact(2));
        let calls = calls.map(|(method, numbers)| Self {
            all: numbers[0],
            found: kind.counts_found(method).then_some(numbers[1]),
        });
        calls.collect()
    }
}

impl Counts {
    /// Adds the counts of another machine with the same program.
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
    /// Whether it shows the bytes of dropped packets. Hardware reports the reason only.
    pub shows_drops: bool,
    /// Whether its times are modelled times, not times of the host.
    pub times: bool,
    /// Whether it accounts for energy.
    pub energy: bool,
    /// Whether it applies updates itself while packets flow ([`Machine::schedule`]).
    pub updates_in_flight: bool,
    /// Whether it may lose packets at its input.
    pub loses: bool,
    /// Whether its start takes many seconds, because a tool translates a model of it.
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

/// Packets that have settled: all of their outputs have been passed on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Settled {
    /// The packets that the machine accepted, in its order. This is the order of arrival, unless
    /// several ports have their own queues.
    pub taken: Numbers,
    /// The packets that the machine lost at its input.
    pub lost: Numbers,
    /// The outputs of accepted packets that the machine lost at its output ports.
    pub lost_outputs: Vec<LostOutput>,
}

/// An output that was lost because the queue at its port was full.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LostOutput {
    /// The number of the arriving packet.
    pub packet: u64,
    /// The number of the output within that packet, from 0.
    pub output: usize,
    /// The port of the lost output.
    pub port: u16,
}

/// A sequence of packet numbers. Runs of consecutive numbers are stored as one range.
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

    /// Returns the count of numbers.
    pub fn len(&self) -> usize {
        self.runs.iter().map(|run| (run.end - run.start) as usize).sum()
    }

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

/// The offloads to read back.
#[derive(Clone, Copy)]
pub enum Wanted<'a> {
    /// Small offloads, and the named ones.
    Shown(&'a [String]),
    /// All offloads; of large ones, the entries that this store of another machine has, and some
    /// next to them.
    Like(&'a Store),
    /// The offload of this name.
    Only(&'a str),
    /// All offloads.
    All,
}

/// The reason why an update was not made.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UpdateError {
    /// The update does not suit its offload, or there is no room for it. The text is a sentence.
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
    /// Measurements over time.
    pub series: Option<&'a Series>,
    /// The events of its parts.
    pub events: Option<&'a dyn Events>,
}

/// The events of a machine's parts, oldest first.
pub trait Events: std::fmt::Debug {
    /// Writes the events as CSV, one on each line, after a heading.
    ///
    /// # Errors
    /// If writing fails.
    fn write_csv(&self, to: &mut dyn std::io::Write) -> std::io::Result<()>;

    /// The number of events that found no room.
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
