//! SRAM with locks, bit operations and lists, in one or several interleaved channels.

use std::collections::VecDeque;

use wireloom_isa::microengine::{BitOperation, Operation};

use super::queue::{Class, Queues};
use super::queue_array::QueueArray;
use super::rings::{Rings, Scale};
use super::{Refused, Served, Started};
use crate::request::{Handle, Pool};
use crate::spec::SramSpec;

#[derive(Clone, Debug)]
pub struct Sram {
    spec: SramSpec,
    words: Vec<u32>,
    /// The channels. Each has its own pins.
    pub channels: Vec<Channel>,
    /// The addresses on each list, newest last. The chip's links in memory are not modelled.
    lists: Vec<Vec<u32>>,
    rings: Rings,
}

#[derive(Clone, Debug)]
pub struct Channel {
    /// Commands waiting for service.
    pub queues: Queues,
    /// Commands blocked on an address lock, in the order of arrival.
    blocked: VecDeque<(Handle, u32)>,
    locked: Vec<u32>,
    /// The number of addresses that can be locked at a time.
    locks: usize,
    /// The Q_array (version 2).
    array: QueueArray,
    free: u64,
    was_write: bool,
    /// Counts of the channel's work.
    pub served: Served,
}

impl Channel {
    fn new(spec: SramSpec) -> Self {
        Self {
            queues: Queues::new(spec.queue, Class::Ordered),
            blocked: VecDeque::new(),
            locked: Vec::new(),
            locks: spec.locks as usize,
            array: QueueArray::default(),
            free: 0,
            was_write: false,
            served: Served::default(),
        }
    }

    /// Whether a command may begin in a later cycle without a new command. A command blocked on a
    /// lock that is held cannot: only another command releases locks.
    pub fn has_work(&self) -> bool {
        !self.queues.is_empty() || self.next_owner().is_some()
    }

    /// Whether an address can be locked now.
    fn can_lock(&self, address: u32) -> bool {
        self.locked.len() < self.locks && !self.locked.contains(&address)
    }

    /// The position of the first blocked command whose lock is available.
    fn next_owner(&self) -> Option<usize> {
        self.blocked.iter().position(|(_, address)| self.can_lock(*address))
    }
}

impl Sram {
    /// Creates a memory of zeros.
    pub fn new(spec: SramSpec) -> Self {
        Self {
            spec,
            words: vec![0; spec.bytes as usize / 4],
            channels: vec![Channel::new(spec); spec.channels as usize],
            lists: vec![Vec::new(); spec.lists as usize],
            rings: Rings::new(Scale::SRAM),
        }
    }

    /// The channel of an address in words.
    pub fn channel(&self, address: u32) -> usize {
        (address / (self.spec.interleave_bytes / 4) % self.spec.channels) as usize
    }

    /// The counts of all channels, including the future cycles of commands that have begun.
    pub fn served(&self) -> Served {
        self.channels.iter().map(|channel| channel.served).sum()
    }

    /// The counts of all channels up to a cycle.
    pub fn served_at(&self, now: u64) -> Served {
        self.channels.iter().map(|channel| channel.served.at(now, channel.free)).sum()
    }

    /// The number of commands that wait for service.
    pub fn waiting(&self) -> usize {
        self.channels.iter().map(|channel| channel.queues.len()).sum()
    }

    /// The number of commands blocked on a lock.
    pub fn blocked(&self) -> usize {
        self.channels.iter().map(|channel| channel.blocked.len()).sum()
    }

    /// The largest number of commands that waited in one channel.
    pub fn most(&self) -> usize {
        self.channels.iter().map(|channel| channel.queues.most()).max().unwrap_or(0)
    }

    /// The contents.
    pub fn words(&self) -> &[u32] {
        &self.words
    }

    /// The contents, for a loader.
    pub fn words_mut(&mut self) -> &mut [u32] {
        &mut self.words
    }

    /// The addresses on a list of push and pop, newest last; `None` if the list does not exist.
    pub fn list(&self, list: usize) -> Option<&[u32]> {
        self.lists.get(list).map(Vec::as_slice)
    }

    /// The addresses on a list of push and pop, for a loader; `None` if the list does not exist.
    pub fn list_mut(&mut self, list: usize) -> Option<&mut Vec<u32>> {
        self.lists.get_mut(list)
    }

    /// Sets up a ring from its register value.
    ///
    /// # Errors
    /// If the ring does not lie within the memory.
    pub fn set_ring(&mut self, number: usize, value: u32) -> Result<(), Refused> {
        self.rings.set(number, value, self.words.len())
    }

    pub fn locked(&self) -> Vec<u32> {
        self.channels.iter().flat_map(|channel| channel.locked.iter().copied()).collect()
    }

    /// Starts the command that can begin in this cycle in a channel.
    ///
    /// # Errors
    /// If a command accesses an address or a list that does not exist.
    pub fn cycle(
        &mut self,
        number: usize,
        now: u64,
        pool: &mut Pool,
    ) -> Result<Option<Started>, Refused> {
        let channel = &mut self.channels[number];
        if now < channel.free {
            return Ok(None);
        }
        let owner = channel.next_owner().and_then(|place| channel.blocked.remove(place));
        let handle = match owner {
            Some((handle, _)) => handle,
            None => {
                let was_write = channel.was_write;
                let cost = |handle: Handle| Some(u32::from(pool[handle].is_write() != was_write));
                let Some(handle) = channel.queues.take(pool, cost) else { return Ok(None) };
                let request = &pool[handle];
                if request.operation == Operation::ReadLock && !channel.can_lock(request.address) {
                    // The failed attempt to lock also occupies the unit.
                    channel.free = now + u64::from(self.spec.word_cycles);
                    channel.served.busy += channel.free - now;
                    channel.blocked.push_back((handle, request.address));
                    return Ok(None);
                }
                handle
            }
        };
        let words = u64::from(pool[handle].words_in.max(pool[handle].words_out).max(1));
        let is_write = pool[handle].is_write();
        let turn = if is_write == channel.was_write { 0 } else { self.spec.turnaround_cycles };
        let start = now + if channel.served.commands == 0 { 0 } else { u64::from(turn) };
        channel.was_write = is_write;
        channel.free = start + words * u64::from(self.spec.word_cycles);
        channel.served.commands += 1;
        channel.served.words += words;
        channel.served.busy += channel.free - now;
        self.serve(number, handle, pool)?;
        let first = if is_write {
            start
                + (words - 1) * u64::from(self.spec.word_cycles)
                + u64::from(self.spec.write_cycles)
        } else {
            start + u64::from(self.spec.access_cycles)
        };
        let interval = u64::from(self.spec.word_cycles);
        Ok(Some(Started { handle, first, interval, granule: 1 }))
    }

    /// Whether a command may begin in a later cycle without a new command.
    pub fn is_waiting(&self) -> bool {
        self.channels.iter().any(Channel::has_work)
    }

    fn serve(&mut self, channel: usize, handle: Handle, pool: &mut Pool) -> Result<(), Refused> {
        let locked = &mut self.channels[channel].locked;
        let request = &mut pool[handle];
        let address = request.address as usize;
        let list = usize::from(request.count);
        match request.operation {
            Operation::Read | Operation::ReadLock => {
                let words = range(&self.words, address, request.count)?;
                request.data[..words.len()].copy_from_slice(words);
                if request.operation == Operation::ReadLock {
                    locked.push(request.address);
                }
            }
            Operation::Write | Operation::WriteUnlock => {
                let count = usize::from(request.count);
                range_mut(&mut self.words, address, request.count)?
                    .copy_from_slice(&request.data[..count]);
                if request.operation == Operation::WriteUnlock {
                    locked.retain(|locked| *locked != request.address);
                }
            }
            Operation::Unlock => locked.retain(|locked| *locked != request.address),
            Operation::Bits(bits) => {
                let word = &mut range_mut(&mut self.words, address, 1)?[0];
                request.data[0] = modify(word, bits, request.data[0]);
            }
            Operation::Put => {
                let data = &request.data[..usize::from(request.count)];
                self.rings.put(&mut self.words, address, data)?;
            }
            Operation::Get => {
                let data = &mut request.data[..usize::from(request.count)];
                self.rings.get(&self.words, address, data)?;
            }
            Operation::Queue(operation) => {
                let array = &mut self.channels[channel].array;
                array.serve(operation, &mut self.words, request)?;
            }
            Operation::Push => match self.lists.get_mut(list) {
                Some(list) => list.push(request.address),
                None => return Err(Refused(format!("push: there is no list {list}"))),
            },
            Operation::Pop => match self.lists.get_mut(list) {
                Some(list) => request.data[0] = list.pop().unwrap_or(0),
                None => return Err(Refused(format!("pop: there is no list {list}"))),
            },
            operation => {
                let word = &mut range_mut(&mut self.words, address, 1)?[0];
                let before = arithmetic(word, operation, request.data[0])
                    .ok_or_else(|| Refused(format!("SRAM does not know {operation:?}")))?;
                request.data[0] = before;
            }
        }
        Ok(())
    }
}

/// Changes bits of a word. Returns the old word.
pub(super) fn modify(word: &mut u32, operation: BitOperation, mask: u32) -> u32 {
    let before = *word;
    match operation {
        BitOperation::Set | BitOperation::TestAndSet => *word |= mask,
        BitOperation::Clear | BitOperation::TestAndClear => *word &= !mask,
    }
    before
}

/// Adds to a word or exchanges it. Returns the old word, or `None` for other operations.
pub(super) fn arithmetic(word: &mut u32, operation: Operation, operand: u32) -> Option<u32> {
    let before = *word;
    *word = match operation {
        Operation::Increment => before.wrapping_add(1),
        Operation::Add | Operation::TestAndAdd => before.wrapping_add(operand),
        Operation::Swap => operand,
        _ => return None,
    };
    Some(before)
}

/// A range of words of a memory.
pub(super) fn range(words: &[u32], address: usize, count: u8) -> Result<&[u32], Refused> {
    words.get(address..address + usize::from(count)).ok_or_else(|| outside(words, address, count))
}

/// A mutable range of words of a memory.
pub(super) fn range_mut(
    words: &mut [u32],
    address: usize,
    count: u8,
) -> Result<&mut [u32], Refused> {
    let end = address + usize::from(count);
    if end > words.len() {
        return Err(outside(words, address, count));
    }
    Ok(&mut words[address..end])
}

fn outside(words: &[u32], address: usize, count: u8) -> Refused {
    Refused(format!("{count} words from word {address} on: the memory has {} words", words.len()))
}
