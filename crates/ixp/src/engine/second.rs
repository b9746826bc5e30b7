//! The state that microengines of version 2 have in addition to version 1: local memory, the CAM,
//! next-neighbour registers, products, and writable control registers.

use std::collections::VecDeque;

use wireloom_isa::microengine::{
    CamPointer, Destination, Index, MultiplyStep, Sizes, Source, Step, compute,
};

/// Engine cycles until a register write takes effect.
const LATE: u64 = 4;
/// The control register with pointer 0 into local memory.
const POINTER: u8 = 7;
const CAM: usize = 16;
/// The maximum number of contexts.
const CONTEXTS: usize = 8;

/// An effect of an engine outside itself, or on itself at a later time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outside {
    /// Writes a next-neighbour register of the next engine.
    Neighbour { register: u8, value: u32 },
    /// Signals a context of the engine at distance `engine`.
    Signal { engine: i8, context: u8, signal: u8 },
    /// Signals an own context after `cycles` engine cycles.
    Later { cycles: u64, context: u8, signal: u8 },
}

/// A register write that has not taken effect yet.
#[derive(Clone, Copy, Debug)]
struct Late {
    due: u64,
    context: u8,
    csr: u8,
    value: u32,
}

/// The version 2 state of a context.
#[derive(Clone, Copy, Debug, Default)]
struct Own {
    /// Pointers into local memory, in words.
    pointers: [u16; 2],
    /// The transfer register that `*$index` addresses, relative to the context.
    index: u8,
    /// The signal that `future_count` raises.
    future: u8,
}

/// A CAM: tags that are all compared with a key at once. Each tag has a state.
#[derive(Clone, Copy, Debug)]
struct Cam {
    tags: [u32; CAM],
    states: [u8; CAM],
    /// Entries from least to most recently used.
    order: [u8; CAM],
}

impl Cam {
    fn new() -> Self {
        Self { tags: [0; CAM], states: [0; CAM], order: std::array::from_fn(|entry| entry as u8) }
    }

    /// Makes an entry the most recently used one.
    fn touch(&mut self, entry: usize) {
        let at = self.order.iter().position(|other| usize::from(*other) == entry).unwrap_or(0);
        self.order[at..].rotate_left(1);
    }

    /// Looks up a key. Bit 7 of the result is set on a hit; bits 6 to 3 are the entry, and bits 11
    /// to 8 its state. On a miss the entry is the least recently used one.
    fn look_up(&mut self, key: u32) -> u32 {
        match self.tags.iter().position(|tag| *tag == key) {
            Some(entry) => {
                self.touch(entry);
                u32::from(self.states[entry]) << 8 | 1 << 7 | (entry as u32) << 3
            }
            None => u32::from(self.order[0]) << 3,
        }
    }

    fn write(&mut self, entry: u32, tag: u32, state: u8) {
        let entry = entry as usize % CAM;
        (self.tags[entry], self.states[entry]) = (tag, state);
        self.touch(entry);
    }
}

/// The state that only version 2 has.
#[derive(Clone, Debug)]
pub struct Second {
    local: Vec<u32>,
    own: [Own; CONTEXTS],
    /// Next-neighbour registers. The previous engine writes them.
    neighbours: Vec<u32>,
    /// Whether writes to next-neighbour registers go to this engine's own registers.
    keeps: bool,
    put: u8,
    get: u8,
    cam: Cam,
    operands: (u32, u32),
    product: u64,
    pub remainder: u32,
    pub byte_index: u32,
    random: u32,
    late: VecDeque<Late>,
    /// Effects that the chip must carry out.
    pub outside: Vec<Outside>,
}

/// The reason why an operand or a register cannot be used.
pub type Wrong = String;

impl Second {
    /// Creates the state of an engine with memories of these sizes.
    pub fn new(number: u8, sizes: Sizes) -> Self {
        Self {
            local: vec![0; sizes.local],
            own: [Own::default(); CONTEXTS],
            neighbours: vec![0; sizes.neighbour],
            keeps: false,
            put: 0,
            get: 0,
            cam: Cam::new(),
            operands: (0, 0),
            product: 0,
            remainder: 0,
            byte_index: 0,
            random: 0x9e37_79b9 ^ u32::from(number),
            late: VecDeque::new(),
            outside: Vec::new(),
        }
    }

    /// Reads an operand that is outside the register files.
    ///
    /// # Errors
    /// If the address is outside local memory.
    pub fn read(&mut self, source: Source, context: u8) -> Result<u32, Wrong> {
        Ok(match source {
            Source::Neighbour(index) => {
                let at = neighbour(index, context, self.neighbours.len());
                self.neighbours.get(at).copied().unwrap_or_default()
            }
            Source::NeighbourRing => {
                let value = self.neighbours.get(usize::from(self.get)).copied();
                self.get = self.after(self.get);
                value.unwrap_or_default()
            }
            Source::Local { pointer, offset, step } => {
                let at = self.local_at(pointer, offset, step, context)?;
                self.local[at]
            }
            _ => 0,
        })
    }

    /// The transfer register that `*$index` addresses, relative to the context, which has `most` of
    /// them. Then steps the index.
    pub fn indexed(&mut self, context: u8, step: Step, most: usize) -> u8 {
        let own = &mut self.own[usize::from(context) % CONTEXTS];
        let index = own.index;
        own.index = moved(index.into(), step, most) as u8;
        index
    }

    /// Writes a result to a destination outside the register files.
    ///
    /// # Errors
    /// If the address is outside local memory.
    pub fn write(&mut self, to: Destination, context: u8, value: u32) -> Result<(), Wrong> {
        match to {
            Destination::Neighbour(index) => {
                let register = neighbour(index, context, self.neighbours.len());
                self.put_neighbour(register as u8, value);
            }
            Destination::NeighbourRing => {
                let register = self.put;
                self.put = self.after(register);
                self.put_neighbour(register, value);
            }
            Destination::Local { pointer, offset, step } => {
                let at = self.local_at(pointer, offset, step, context)?;
                self.local[at] = value;
            }
            _ => {}
        }
        Ok(())
    }

    fn put_neighbour(&mut self, register: u8, value: u32) {
        if self.keeps {
            self.take_neighbour(register, value);
        } else {
            self.outside.push(Outside::Neighbour { register, value });
        }
    }

    /// Stores the value that the previous engine writes to a next-neighbour register.
    pub fn take_neighbour(&mut self, register: u8, value: u32) {
        if let Some(place) = self.neighbours.get_mut(usize::from(register)) {
            *place = value;
        }
    }

    fn after(&self, register: u8) -> u8 {
        ((usize::from(register) + 1) % self.neighbours.len().max(1)) as u8
    }

    fn local_at(
        &mut self,
        pointer: u8,
        offset: u8,
        step: Step,
        context: u8,
    ) -> Result<usize, Wrong> {
        let own = &mut self.own[usize::from(context) % CONTEXTS];
        let pointer = &mut own.pointers[usize::from(pointer & 1)];
        let at = usize::from(*pointer) + usize::from(offset);
        let most = self.local.len();
        if at >= most {
            return Err(format!("uses word {at} of local memory, which has {most}"));
        }
        *pointer = moved((*pointer).into(), step, most) as u16;
        Ok(at)
    }

    /// Performs a multiplication step. Returns the value that it writes.
    pub fn multiply(&mut self, step: MultiplyStep, a: u32, b: u32) -> u32 {
        match step {
            MultiplyStep::Start => (self.operands, self.product) = ((a, b), 0),
            MultiplyStep::Step(step) => {
                let (a, b) = self.operands;
                self.product = self.product.wrapping_add(compute::multiply_step(a, b, step));
            }
            MultiplyStep::Last => return self.product as u32,
            MultiplyStep::Last2 => return (self.product >> 32) as u32,
        }
        0
    }

    /// Executes `cam_lookup`. The pointer into local memory takes effect as late as a register
    /// write.
    pub fn look_up(
        &mut self,
        key: u32,
        pointer: Option<CamPointer>,
        context: u8,
        cycle: u64,
    ) -> u32 {
        let found = self.cam.look_up(key);
        if let Some(CamPointer { pointer, block }) = pointer {
            // Bits 6 to 3 of the result are the entry.
            let value = u32::from(block) << 10 | (found >> 3 & 15) << 6;
            let csr = POINTER + pointer;
            self.late.push_back(Late { due: cycle + LATE, context, csr, value });
        }
        found
    }

    /// Executes `cam_write`.
    pub fn write_cam(&mut self, entry: u32, tag: u32, state: u8) {
        self.cam.write(entry, tag, state);
    }

    /// Executes `cam_write_state`.
    pub fn write_cam_state(&mut self, entry: u32, state: u8) {
        self.cam.states[entry as usize % CAM] = state;
    }

    /// Reads the tag and the state of an entry.
    pub fn cam_entry(&self, entry: u32) -> (u32, u8) {
        let entry = entry as usize % CAM;
        (self.cam.tags[entry], self.cam.states[entry])
    }

    /// Executes `cam_clear`.
    pub fn clear_cam(&mut self) {
        self.cam = Cam::new();
    }

    /// Reads a control register other than the context and flag registers; `None` if it does not
    /// exist.
    pub fn csr(&mut self, csr: u8, context: u8, cycle: u64) -> Option<u32> {
        let own = self.own[usize::from(context) % CONTEXTS];
        Some(match csr {
            5 => (cycle / 16) as u32,
            6 => ((cycle / 16) >> 32) as u32,
            7 | 8 => u32::from(own.pointers[usize::from(csr - 7)]) * 4,
            9 => own.index.into(),
            10 => self.byte_index,
            14 => {
                // A xorshift generator by Marsaglia. The chip's own generator is not public.
                self.random ^= self.random << 13;
                self.random ^= self.random >> 17;
                self.random ^= self.random << 5;
                self.random
            }
            16 => own.future.into(),
            17 => cycle as u32,
            18 => self.put.into(),
            19 => self.get.into(),
            20 => self.remainder,
            _ => return None,
        })
    }

    /// Writes a control register. Signals are sent at once; values that programs can read take
    /// effect later.
    ///
    /// # Errors
    /// If the register does not exist or is read-only.
    pub fn write_csr(&mut self, csr: u8, context: u8, value: u32, cycle: u64) -> Result<(), Wrong> {
        let signalled = |engine| Outside::Signal {
            engine,
            context: (value & 7) as u8,
            signal: (value >> 3 & 15) as u8,
        };
        match csr {
            11 => self.outside.push(signalled(0)),
            12 => self.outside.push(signalled(1)),
            13 => self.outside.push(signalled(-1)),
            15 => {
                // The value is the low word of a future timestamp.
                let ahead = value.wrapping_sub((cycle / 16) as u32);
                let signal = self.own[usize::from(context) % CONTEXTS].future;
                let cycles = u64::from(ahead) * 16;
                self.outside.push(Outside::Later { cycles, context, signal });
            }
            2 | 7..=10 | 16 | 18..=20 => {
                self.late.push_back(Late { due: cycle + LATE, context, csr, value });
            }
            _ => return Err(format!("writes register {csr}, which cannot be written")),
        }
        Ok(())
    }

    /// Whether a write has not taken effect yet.
    #[inline]
    pub fn has_late(&self) -> bool {
        !self.late.is_empty()
    }

    /// Applies writes that are due.
    pub fn settle(&mut self, cycle: u64) {
        while let Some(Late { due, context, csr, value }) = self.late.front().copied()
            && due <= cycle
        {
            self.late.pop_front();
            let own = &mut self.own[usize::from(context) % CONTEXTS];
            let neighbours = self.neighbours.len().max(1) as u32;
            match csr {
                2 => self.keeps = value >> 20 & 1 != 0,
                7 | 8 => own.pointers[usize::from(csr - 7)] = (value >> 2) as u16 & 0x3ff,
                9 => own.index = value as u8 & 15,
                10 => self.byte_index = value & 3,
                16 => own.future = value as u8 & 15,
                18 => self.put = (value % neighbours) as u8,
                19 => self.get = (value % neighbours) as u8,
                _ => self.remainder = value,
            }
        }
    }
}

/// The index of a next-neighbour register in the file.
fn neighbour(index: Index, context: u8, all: usize) -> usize {
    index.absolute(context.into(), all / CONTEXTS) % all.max(1)
}

fn moved(at: usize, step: Step, most: usize) -> usize {
    match step {
        Step::None => at,
        Step::Increment => (at + 1) % most.max(1),
        Step::Decrement => (at + most.max(1) - 1) % most.max(1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cam_replaces_the_entry_that_was_used_the_longest_ago() {
        // The model is a list in order of use, with the most recent at its end.
        let mut rng = wireloom_sim::Rng::new(1, "cam");
        let mut cam = Cam::new();
        let mut model: Vec<(u8, u32, u8)> = (0..16).map(|entry| (entry, 0, 0)).collect();
        for _ in 0..20_000 {
            let key = 1 + rng.below(24) as u32;
            let found = cam.look_up(key);
            let known = model.iter().position(|(_, tag, _)| *tag == key);
            match known {
                Some(at) => {
                    let (entry, tag, state) = model.remove(at);
                    model.push((entry, tag, state));
                    assert_eq!(found, u32::from(state) << 8 | 0x80 | u32::from(entry) << 3);
                }
                None => {
                    let (entry, ..) = model.remove(0);
                    assert_eq!(found, u32::from(entry) << 3);
                    let state = rng.below(16) as u8;
                    cam.write(entry.into(), key, state);
                    model.push((entry, key, state));
                }
            }
        }
    }
}
