//! Commands on their way through the chip.

use wireloom_isa::microengine::{Operation, Order, Signal, Unit};

/// The most words that a command transfers in one direction.
pub const MAX_WORDS: usize = 16;

/// The number of a request among those on their way.
pub type Handle = u32;

/// A command with the operands that it had when it was issued.
#[derive(Clone, Debug)]
pub struct Request {
    /// A number of its own, in the order of issue.
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
    /// What the unit does.
    pub operation: Operation,
    /// The address, in granules of the unit.
    pub address: u32,
    /// Granules to transfer.
    pub count: u8,
    /// The first transfer register, by its number in the file.
    pub register: u16,
    /// The address in a FIFO in quad words, for transfers between FIFOs and SDRAM.
    pub fifo: u16,
    /// The value of a fast write.
    pub value: u32,
    /// The order that its token promises.
    pub order: Order,
    /// The signal of its completion.
    pub signal: Option<Signal>,
    /// Words that the unit pulls from the engine.
    pub words_out: u8,
    /// Words that the unit pushes into the engine.
    pub words_in: u8,
    /// Words that the current bus has carried.
    pub moved: u8,
    /// Whether all words that the unit needs have come.
    pub is_ready: bool,
    /// The words: first those from the engine, then those for it.
    pub data: [u32; MAX_WORDS],
}

impl Request {
    /// Whether the unit writes and returns nothing.
    pub fn is_write(&self) -> bool {
        self.words_in == 0
    }
}

/// The requests on their way.
#[derive(Clone, Debug, Default)]
pub struct Pool {
    slots: Vec<Request>,
    free: Vec<Handle>,
    issued: u64,
}

impl Pool {
    /// Adds a request and gives it its number.
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

    /// Removes a request that is done.
    pub fn remove(&mut self, handle: Handle) {
        self.free.push(handle);
    }

    /// The number of requests on their way.
    pub fn len(&self) -> usize {
        self.slots.len() - self.free.len()
    }

    /// Whether there are none.
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
