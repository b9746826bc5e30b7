//! Commands in flight through the chip.

use wireloom_isa::microengine::{Operation, Order, Signal, Unit};

/// The most words that a command transfers in one direction.
pub const MAX_WORDS: usize = 16;

/// The index of a request in the pool.
pub type Handle = u32;

/// A command with its operands at the time of issue.
#[derive(Clone, Debug)]
pub struct Request {
    /// A unique number, in the order of issue.
    pub id: u64,
    /// The engine that issued it.
    pub engine: u8,
    /// The context that issued it.
    pub context: u8,
    /// The context that gets the signal.
    pub receiver: u8,
    /// The unit that serves it.
    pub unit: Unit,
    /// The channel of the unit.
    pub channel: u8,
    /// The cluster of the engine.
    pub cluster: u8,
    pub operation: Operation,
    /// The address, in granules of the unit.
    pub address: u32,
    /// The number of granules to transfer.
    pub count: u8,
    /// The first transfer register, by its number in the file.
    pub register: u16,
    /// The address in a FIFO in quad words, for transfers between a FIFO and SDRAM.
    pub fifo: u16,
    /// The value of a fast write.
    pub value: u32,
    /// The ordering that its token promises.
    pub order: Order,
    /// The signal that announces its completion.
    pub signal: Option<Signal>,
    /// Words that the unit pulls from the engine.
    pub words_out: u8,
    /// Words that the unit pushes into the engine.
    pub words_in: u8,
    /// Words of the current burst that the bus has carried so far.
    pub moved: u8,
    /// Whether the unit has received all words that it needs.
    pub is_ready: bool,
    /// The words: first those from the engine, then those for it.
    pub data: [u32; MAX_WORDS],
}

impl Request {
    /// Whether the unit writes and returns no words.
    pub fn is_write(&self) -> bool {
        self.words_in == 0
    }
}

/// The requests in flight.
#[derive(Clone, Debug, Default)]
pub struct Pool {
    slots: Vec<Request>,
    free: Vec<Handle>,
    issued: u64,
}

impl Pool {
    /// Adds a request and numbers it.
    pub fn insert(&mut self, mut request: Request) -> Handle {
        request.id = self.issued;
        self.issued += 1;
        match self.free.pop() {
            Some(handle) => {
                self.slots[handle as usize] = request;
                handle
            }
            None => {
                self.slots.push(request);
                self.slots.len() as Handle - 1
            }
        }
    }

    /// Removes a completed request.
    pub fn remove(&mut self, handle: Handle) {
        self.free.push(handle);
    }

    /// The number of requests in flight.
    pub fn len(&self) -> usize {
        self.slots.len() - self.free.len()
    }

    /// Whether no request is in flight.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl std::ops::Index<Handle> for Pool {
    type Output = Request;
    fn index(&self, handle: Handle) -> &Request {
        &self.slots[handle as usize]
    }
}

impl std::ops::IndexMut<Handle> for Pool {
    fn index_mut(&mut self, handle: Handle) -> &mut Request {
        &mut self.slots[handle as usize]
    }
}
