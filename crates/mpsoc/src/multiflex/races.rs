//! Data races: two accesses to the same byte by unordered threads, at least one of them a write.
//!
//! Threads are ordered by the replies of the thread manager, by object calls, and by
//! synchronisation words (the words that were ever exchanged with SWP). Each thread has a vector
//! clock; each byte remembers its last write and the reads since, as FastTrack does (Flanagan and
//! Freund, PLDI 2009).
//!
//! A race is found if both accesses happened in this run and nothing ordered them in this run, in
//! whichever order they came. Other runs are not considered. Two accesses may be ordered by luck,
//! because between them the threads happened to enter a monitor or to take a semaphore one after
//! the other. They are no race here, although they would race with another order of entering. Every
//! report is a race; a run without a report does not prove that there is none.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet, HashMap};

use wireloom_isa::Access;

use super::threads::Thread;

/// The time of an event: a thread, and a time in its own clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Epoch {
    thread: Thread,
    time: u32,
}

/// A vector clock: for each thread, the time up to which its past is known.
#[derive(Clone, Debug, Default)]
struct VectorClock(Vec<u32>);

impl VectorClock {
    fn time(&self, thread: Thread) -> u32 {
        self.0.get(thread as usize).copied().unwrap_or(0)
    }

    fn set(&mut self, thread: Thread, time: u32) {
        if self.0.len() <= thread as usize {
            self.0.resize(thread as usize + 1, 0);
        }
        self.0[thread as usize] = time;
    }

    fn join(&mut self, other: &Self) {
        for (thread, &time) in (0..).zip(&other.0) {
            if time > self.time(thread) {
                self.set(thread, time);
            }
        }
    }

    fn knows(&self, epoch: Epoch) -> bool {
        epoch.time <= self.time(epoch.thread)
    }
}

/// A synchronisation point of threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Meeting {
    /// The start of a thread, and its end.
    Thread(Thread),
    /// A monitor; a wait for a condition leaves and enters it.
    Monitor(u32),
    Semaphore(u32),
    /// An object call, by its number in the machine: client to server, and server to client.
    Call(u64),
    /// A word of memory that threads use to synchronise.
    Word(u32),
}

/// The kind of an access to memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Usage {
    Read,
    Write,
    /// An atomic read and write, which threads use to synchronise.
    Exchange,
}

/// One of the two accesses of a race.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Party {
    pub thread: Thread,
    /// The address of the instruction.
    pub instruction: u32,
    pub usage: Usage,
}

/// Two unordered accesses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Race {
    /// The first byte that both access.
    pub address: u32,
    /// The access that came first in this run.
    pub first: Party,
    /// The access that came second.
    pub second: Party,
}

/// The state of a byte.
#[derive(Clone, Debug, Default)]
struct Byte {
    write: Option<(Epoch, Party)>,
    /// The reads since the last write, one for each thread.
    reads: Vec<(Epoch, Party)>,
}

/// The race detector for threads that share memory.
#[derive(Clone, Debug, Default)]
pub struct Watch {
    clocks: Vec<VectorClock>,
    meetings: BTreeMap<Meeting, VectorClock>,
    bytes: HashMap<u32, Byte>,
    /// The races by the instructions of both accesses: one report for each pair.
    races: BTreeMap<(u32, u32), Race>,
    words: BTreeSet<u32>,
}

impl Watch {
    /// Publishes the past of a thread at a synchronisation point: the thread leaves a monitor,
    /// gives to a semaphore, creates a thread, ends, or makes a call.
    pub fn publish(&mut self, thread: Thread, at: Meeting) {
        let clock = self.clock(thread).clone();
        self.meetings.entry(at).or_default().join(&clock);
        // Other threads do not learn what the thread does from now on.
        let time = clock.time(thread) + 1;
        self.clock(thread).set(thread, time);
    }

    /// Lets a thread learn the published past of others: it enters a monitor, takes from a
    /// semaphore, begins, has joined, or gets a call or its reply.
    pub fn learn(&mut self, thread: Thread, at: Meeting) {
        if let Some(known) = self.meetings.get(&at) {
            let known = known.clone();
            self.clock(thread).join(&known);
        }
    }

    /// Forgets a synchronisation point that will not be used again, such as a finished call.
    pub fn forget(&mut self, at: Meeting) {
        self.meetings.remove(&at);
    }

    /// Checks an access of a thread to memory.
    pub fn access(&mut self, party: Party, access: Access) {
        let word = access.address & !3;
        if party.usage == Usage::Exchange {
            self.words.insert(word);
        }
        if self.words.contains(&word) {
            // An exchanged word orders threads and is not data: a write publishes, a read learns.
            if party.usage != Usage::Write {
                self.learn(party.thread, Meeting::Word(word));
            }
            if party.usage != Usage::Read {
                self.publish(party.thread, Meeting::Word(word));
            }
            return;
        }
        self.clock(party.thread);
        let Self { clocks, bytes, races, .. } = self;
        let clock = &clocks[party.thread as usize];
        let epoch = Epoch { thread: party.thread, time: clock.time(party.thread) };
        let mut told = false;
        for address in access.address..access.address.saturating_add(access.size.bytes()) {
            let byte = bytes.entry(address).or_default();
            let unordered =
                byte.write.iter().chain(byte.reads.iter().filter(|_| party.usage == Usage::Write));
            let race = unordered.into_iter().find(|(before, _)| !clock.knows(*before));
            if let Some(&(_, first)) = race
                && !told
            {
                told = true;
                let instructions = (first.instruction, party.instruction);
                if let Entry::Vacant(place) = races.entry(instructions) {
                    place.insert(Race { address, first, second: party });
                }
            }
            if party.usage == Usage::Write {
                *byte = Byte { write: Some((epoch, party)), reads: Vec::new() };
            } else {
                byte.reads.retain(|(before, _)| before.thread != party.thread);
                byte.reads.push((epoch, party));
            }
        }
    }

    /// The races so far, one for each pair of instructions, in the order of their addresses.
    pub fn races(&self) -> Vec<Race> {
        let mut races: Vec<Race> = self.races.values().copied().collect();
        races.sort();
        races
    }

    fn clock(&mut self, thread: Thread) -> &mut VectorClock {
        while self.clocks.len() <= thread as usize {
            // Each thread begins at time 1: all threads know its time 0.
            let mut clock = VectorClock::default();
            clock.set(self.clocks.len() as Thread, 1);
            self.clocks.push(clock);
        }
        &mut self.clocks[thread as usize]
    }
}

#[cfg(test)]
mod tests {
    use wireloom_isa::Size;

    use super::*;

    fn access(watch: &mut Watch, thread: Thread, usage: Usage, address: u32, size: Size) {
        let party = Party { thread, instruction: 0x1000 * (thread + 1), usage };
        watch.access(party, Access::single(address, size));
    }

    fn word(watch: &mut Watch, thread: Thread, usage: Usage, address: u32) {
        access(watch, thread, usage, address, Size::Word);
    }

    fn hand_over(watch: &mut Watch, from: Thread, to: Thread, at: Meeting) {
        watch.publish(from, at);
        watch.learn(to, at);
    }

    #[test]
    fn accesses_that_nothing_orders_race_if_one_of_them_writes() {
        for (first, second, race) in [
            (Usage::Read, Usage::Read, false),
            (Usage::Read, Usage::Write, true),
            (Usage::Write, Usage::Read, true),
            (Usage::Write, Usage::Write, true),
        ] {
            let mut watch = Watch::default();
            word(&mut watch, 0, first, 64);
            word(&mut watch, 1, second, 64);
            assert_eq!(!watch.races().is_empty(), race, "{first:?}, {second:?}");
        }
    }

    #[test]
    fn a_race_says_who_with_what_where() {
        let mut watch = Watch::default();
        access(&mut watch, 2, Usage::Write, 64, Size::Half);
        access(&mut watch, 1, Usage::Read, 65, Size::Byte);
        let party = |thread, usage| Party { thread, instruction: 0x1000 * (thread + 1), usage };
        let race =
            Race { address: 65, first: party(2, Usage::Write), second: party(1, Usage::Read) };
        assert_eq!(watch.races(), [race]);
        access(&mut watch, 2, Usage::Write, 64, Size::Half);
        access(&mut watch, 1, Usage::Read, 65, Size::Byte);
        assert_eq!(watch.races().len(), 2, "each two instructions once, in either order");
    }

    #[test]
    fn threads_on_bytes_of_their_own_do_not_race() {
        let mut watch = Watch::default();
        access(&mut watch, 0, Usage::Write, 64, Size::Byte);
        access(&mut watch, 1, Usage::Write, 65, Size::Byte);
        assert!(watch.races().is_empty());
    }

    #[test]
    fn whatever_orders_threads_saves_from_races() {
        for at in [Meeting::Thread(1), Meeting::Monitor(1), Meeting::Semaphore(1), Meeting::Call(1)]
        {
            let mut watch = Watch::default();
            word(&mut watch, 0, Usage::Write, 64);
            hand_over(&mut watch, 0, 1, at);
            word(&mut watch, 1, Usage::Write, 64);
            assert!(watch.races().is_empty(), "{at:?}");
            // There is no order in the other direction: thread 0 has learned nothing.
            word(&mut watch, 0, Usage::Read, 64);
            assert_eq!(watch.races().len(), 1, "{at:?}");
        }
    }

    #[test]
    fn order_is_handed_on() {
        let mut watch = Watch::default();
        word(&mut watch, 0, Usage::Write, 64);
        hand_over(&mut watch, 0, 1, Meeting::Monitor(1));
        hand_over(&mut watch, 1, 2, Meeting::Semaphore(2));
        word(&mut watch, 2, Usage::Read, 64);
        assert!(watch.races().is_empty());
    }

    #[test]
    fn what_was_done_after_the_meeting_is_not_ordered_by_it() {
        let mut watch = Watch::default();
        watch.publish(0, Meeting::Monitor(1));
        word(&mut watch, 0, Usage::Write, 64);
        watch.learn(1, Meeting::Monitor(1));
        word(&mut watch, 1, Usage::Read, 64);
        assert_eq!(watch.races().len(), 1);
    }

    #[test]
    fn different_monitors_do_not_order() {
        let mut watch = Watch::default();
        for thread in 0..2 {
            watch.learn(thread, Meeting::Monitor(thread));
            word(&mut watch, thread, Usage::Write, 64);
            watch.publish(thread, Meeting::Monitor(thread));
        }
        assert_eq!(watch.races().len(), 1);
    }

    #[test]
    fn a_word_that_is_exchanged_is_a_lock_and_no_data() {
        let mut watch = Watch::default();
        for thread in [0, 1, 0] {
            word(&mut watch, thread, Usage::Exchange, 128);
            word(&mut watch, thread, Usage::Write, 64);
            word(&mut watch, thread, Usage::Write, 128);
        }
        assert!(watch.races().is_empty());
    }

    #[test]
    fn reads_of_several_threads_are_all_remembered() {
        let mut watch = Watch::default();
        word(&mut watch, 0, Usage::Read, 64);
        word(&mut watch, 1, Usage::Read, 64);
        hand_over(&mut watch, 1, 2, Meeting::Monitor(1));
        word(&mut watch, 2, Usage::Write, 64);
        assert_eq!(
            watch.races().len(),
            1,
            "thread 0 is not ordered with thread 2, though thread 1 is"
        );
        assert_eq!(watch.races()[0].first.thread, 0);
    }
}
