//! Registered queues between units that act in the same cycles.
//!
//! A word can be read in the cycle after it was written. The room that a read makes can be written
//! in the cycle after the read. So units see a queue as it was before their cycle. Each word
//! carries the time from which it can be read, so queues need no work at the end of a cycle. A
//! queue has one writer and one reader, and each moves at most one word a cycle.

/// Limit on the words of a queue.
const SLOTS: usize = 16;

#[derive(Clone, Debug)]
pub(crate) struct Queue {
    words: [u32; SLOTS],
    /// The cycles after which the words can be read. They increase.
    times: [u64; SLOTS],
    head: u8,
    len: u8,
    capacity: u8,
    /// The cycle of the last read. Cycles begin with 1.
    last_read: u64,
    last_write: u64,
    pub passed: u64,
}

impl Queue {
    pub fn new(capacity: u32) -> Self {
        Self {
            words: [0; SLOTS],
            times: [0; SLOTS],
            head: 0,
            len: 0,
            capacity: capacity as u8,
            last_read: 0,
            last_write: 0,
            passed: 0,
        }
    }

    #[inline]
    pub fn front(&self, now: u64) -> Option<u32> {
        let head = usize::from(self.head);
        let is_there = self.len > 0 && self.times[head] < now && self.last_read != now;
        is_there.then(|| self.words[head])
    }

    #[inline]
    pub fn has_room(&self, now: u64) -> bool {
        self.len + u8::from(self.last_read == now) < self.capacity
    }

    /// Takes the word that [`front`](Self::front) returned.
    #[inline]
    pub fn pop(&mut self, now: u64) {
        self.head = (self.head + 1) % SLOTS as u8;
        self.len -= 1;
        self.last_read = now;
        self.passed += 1;
    }

    /// Writes a word that can be read after cycle `ready`, which may be in the future. Words stay
    /// in order.
    #[inline]
    pub fn push(&mut self, word: u32, ready: u64) {
        let slot = usize::from(self.head + self.len) % SLOTS;
        self.last_write = ready.max(self.last_write + 1);
        (self.words[slot], self.times[slot]) = (word, self.last_write);
        self.len += 1;
    }

    /// Whether the queue stays unchanged until something is read or written: nothing moved in this
    /// cycle, and no word is in flight.
    pub fn is_steady(&self, now: u64) -> bool {
        self.last_read < now && (self.len == 0 || self.last_write < now)
    }

    /// Returns the number of words that can be read.
    pub fn readable(&self, now: u64) -> u32 {
        let place = |number: u8| usize::from(self.head + number) % SLOTS;
        (0..self.len).filter(|number| self.times[place(*number)] < now).count() as u32
    }

    /// Returns the number of words that were written.
    pub fn written(&self) -> u64 {
        self.passed + u64::from(self.len)
    }

    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }
}
