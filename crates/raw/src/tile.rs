//! Tile processors. They execute one instruction a cycle in order, and forward results as soon as
//! they are ready.
//!
//! An instruction issues when its registers are ready, its network inputs have a word and its
//! network output has room. All its effects happen then, and its result is ready after the latency
//! of its class. The pipeline stages appear only as the cycles of a misprediction, a load or a
//! multiplication.

mod memory;

use std::collections::VecDeque;

use wireloom_isa::raw::tile::{self, Instruction, Op, Special, Timing};
use wireloom_isa::raw::{Network, Register};
use wireloom_machine::LineCounts;

use crate::cache::{Cache, LINE_WORDS};
use crate::layout::{Layout, PROCESSOR};
use crate::message::Header;
use crate::queue::Queue;
use crate::spec::Spec;
use crate::spent::TileCycles;
use crate::switch::{Block, Doing};

/// Kinds of messages of the memory protocol, as user bits (assumed).
pub(crate) mod kind {
    pub const READ_LINE: u8 = 1;
    pub const WRITE_LINE: u8 = 2;
    pub const LINE: u8 = 3;
    pub const STREAM_READ: u8 = 4;
    pub const STREAM_WRITE: u8 = 5;
    pub const DMA_READ: u8 = 6;
    pub const DMA_WRITE: u8 = 7;
    /// To an output card, on the general network: a packet whose tail is in a memory.
    pub const FETCH: u8 = 8;
    /// To an output card, on the general network: a packet whose tail is kept by an input card.
    pub const FETCH_KEPT: u8 = 9;
    /// To a memory: asks for a confirmation once all earlier lines are written. The confirmation is
    /// a message without words under the header in this message.
    pub const CONFIRM: u8 = 10;
    /// Between devices, on the general network: requests a packet tail from a line card.
    pub const REST: u8 = 11;
    /// A reply with a tail. The three kinds after this one allow several tails in flight.
    pub const REST_COMES: u8 = 12;
    /// From a device, on the memory network, without words: interrupts the tile.
    pub const INTERRUPT: u8 = 15;
}

/// The timer's bit among the causes of interrupts.
const TIMER: u32 = 1 << 1;

/// A range of addresses and the memory that holds it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Region {
    pub base: u32,
    pub bytes: u32,
    /// The header of a message to the memory, without length and kind.
    pub header: Header,
}

/// A line that is being fetched.
#[derive(Clone, Debug)]
struct Miss {
    address: u32,
    got: Vec<u32>,
}

#[derive(Clone, Debug)]
pub(crate) struct Tile {
    number: usize,
    pub program: Vec<Instruction>,
    /// How often each instruction of the program was executed.
    pub times: Vec<u64>,
    /// Cycles that the processor waited at each instruction.
    waits: Vec<u64>,
    pub pc: u32,
    pub registers: [u32; 32],
    /// For each register the first cycle in which an instruction that reads it can issue.
    ready: [u64; 32],
    pub hi_lo: (u32, u32),
    hi_lo_ready: u64,
    pub is_halted: bool,
    ready_at: u64,
    epc: u32,
    vector: u32,
    mask: u32,
    timer: Option<u32>,
    /// Interrupts of devices since the program last read their number.
    external: u32,
    interrupts_on: bool,
    cache: Cache,
    miss: Option<Miss>,
    to_send: VecDeque<u32>,
    /// Words still to come of the message at the input of the memory network.
    memory_left: u8,
    pub executed: u64,
    /// The number of lines that were written back.
    pub written_back: u64,
    pub cycles: TileCycles,
}

impl Tile {
    pub fn new(number: usize, program: &[Instruction], spec: &Spec) -> Self {
        Self {
            number,
            program: program.to_vec(),
            times: vec![0; program.len()],
            waits: vec![0; program.len()],
            pc: 0,
            registers: [0; 32],
            ready: [0; 32],
            hi_lo: (0, 0),
            hi_lo_ready: 0,
            is_halted: program.is_empty(),
            ready_at: 0,
            epc: 0,
            vector: 0,
            mask: 0,
            timer: None,
            external: 0,
            interrupts_on: false,
            cache: Cache::new(spec.cache.kilobytes),
            miss: None,
            to_send: VecDeque::new(),
            memory_left: 0,
            executed: 0,
            written_back: 0,
            cycles: TileCycles::default(),
        }
    }

    /// Returns the word at an address if the cache has changed it and memory does not have it yet.
    pub fn changed(&self, address: u32) -> Option<u32> {
        self.cache.changed(address)
    }

    /// Returns all lines that the cache has changed and memory does not have yet.
    pub fn changed_lines(&self) -> impl Iterator<Item = (u32, &[u32; LINE_WORDS])> {
        self.cache.changed_lines()
    }

    /// Changes the word at an address from outside, if its line is cached.
    pub fn replace_word(&mut self, address: u32, word: u32) {
        self.cache.replace(address, word);
    }

    pub fn cache_counts(&self) -> (u64, u64) {
        (self.cache.hits, self.cache.misses)
    }

    /// Returns the queue that the processor waits for, if it waits for one.
    pub fn block(&self, layout: &Layout, queues: &[Queue], now: u64) -> Option<Block> {
        if self.is_halted {
            return None;
        }
        if !self.to_send.is_empty() || self.miss.is_some() {
            let (to, from) = self.memory_queues(layout);
            if !self.to_send.is_empty() {
                return (!queues[to].has_room(now)).then_some(Block::Full(to));
            }
            return queues[from].front(now).is_none().then_some(Block::Empty(from));
        }
        let instruction = self.program.get((self.pc / 4) as usize)?;
        self.network_block(instruction, layout, queues, now)
    }

    /// Whether a processor that did not act has halted, or waits for a word or for room, but not
    /// for a line or its timer.
    pub fn waits_for_networks(&self) -> bool {
        let waits_for_timer = self.interrupts_on && self.mask & TIMER != 0 && self.timer.is_some();
        let waits_for_line = self.miss.is_some() || !self.to_send.is_empty();
        self.is_halted || !waits_for_line && !waits_for_timer
    }

    /// Returns the state of the processor in cycle `now`, which has not been simulated.
    pub fn doing(&self, layout: &Layout, queues: &[Queue], now: u64) -> Doing {
        if self.is_halted {
            return Doing::Stopped;
        }
        if self.miss.is_some() || !self.to_send.is_empty() {
            return Doing::Memory;
        }
        let instruction = self.program.get((self.pc / 4) as usize);
        let is_late = |register: &Register| self.ready[usize::from(register.0)] > now;
        let operands = instruction.map(Instruction::read).into_iter().flatten().flatten();
        if now < self.ready_at || operands.into_iter().any(|register| is_late(&register)) {
            return Doing::Pipeline;
        }
        self.block(layout, queues, now).map_or(Doing::Running, Doing::Network)
    }

    /// Counts cycles in which the processor waits at its next instruction.
    #[inline]
    pub fn waits(&mut self, cycles: u64) {
        if let Some(waits) = self.waits.get_mut((self.pc / 4) as usize) {
            *waits += cycles;
        }
    }

    /// Returns the counts of each instruction.
    pub fn counts(&self) -> impl Iterator<Item = LineCounts> + '_ {
        let both = self.times.iter().zip(&self.waits);
        both.map(|(times, waits)| LineCounts {
            instructions: *times,
            executing: *times,
            waiting: *waits,
        })
    }

    fn memory_queues(&self, layout: &Layout) -> (usize, usize) {
        let network = Network::Memory as usize;
        (layout.input(self.number, network, PROCESSOR), layout.to_processor(self.number, network))
    }

    #[inline]
    fn network_block(
        &self,
        instruction: &Instruction,
        layout: &Layout,
        queues: &[Queue],
        now: u64,
    ) -> Option<Block> {
        for register in instruction.read().into_iter().flatten() {
            if let Some(network) = register.network() {
                let queue = layout.to_processor(self.number, network as usize);
                if queues[queue].front(now).is_none() {
                    return Some(Block::Empty(queue));
                }
            }
        }
        let network = instruction.written().and_then(Register::network)?;
        let queue = layout.input(self.number, network as usize, PROCESSOR);
        (!queues[queue].has_room(now)).then_some(Block::Full(queue))
    }

    /// Acts for a cycle. Returns whether anything happened.
    ///
    /// # Errors
    /// If the program does something that a tile does not support.
    #[inline]
    pub fn cycle(
        &mut self,
        spec: &Spec,
        layout: &Layout,
        regions: &[Region],
        queues: &mut [Queue],
        now: u64,
    ) -> Result<bool, String> {
        if self.is_halted {
            return Ok(false);
        }
        self.take_interrupt(layout, queues, now);
        if self.miss.is_some() || !self.to_send.is_empty() {
            self.cycles.misses += 1;
            self.waits(1);
            return self.memory_cycle(layout, queues, now);
        }
        if now < self.ready_at {
            // Long operations end without input, so waiting for one is progress.
            self.cycles.branches += 1;
            self.waits(1);
            return Ok(true);
        }
        if self.interrupts_on && self.causes(layout, queues, now) & self.mask != 0 {
            (self.epc, self.pc, self.interrupts_on) = (self.pc, self.vector, false);
            self.ready_at = now + 1 + u64::from(spec.tile.mispredicted_cycles);
            self.cycles.branches += 1;
            self.waits(1);
            return Ok(true);
        }
        let Some(&instruction) = self.program.get((self.pc / 4) as usize) else {
            return Err(format!("address {:#x} is past the program's end", self.pc));
        };
        let is_late = |register: Register| self.ready[usize::from(register.0)] > now;
        let [rs, rt] = instruction.read();
        if rs.is_some_and(is_late) || rt.is_some_and(is_late) {
            self.cycles.operands += 1;
            self.waits(1);
            return Ok(true);
        }
        let uses_hi_lo = matches!(
            instruction.op,
            Op::Mfhi | Op::Mflo | Op::Mthi | Op::Mtlo | Op::Mult | Op::Multu | Op::Div | Op::Divu
        );
        if uses_hi_lo && self.hi_lo_ready > now {
            self.cycles.operands += 1;
            self.waits(1);
            return Ok(true);
        }
        if let Some(block) = self.network_block(&instruction, layout, queues, now) {
            self.cycles.blocked(block, 1);
            self.waits(1);
            return Ok(false);
        }
        let executed = self.executed;
        self.execute(&instruction, spec, layout, regions, queues, now)?;
        // An instruction that has to wait for a line is executed again.
        self.cycles.executed += self.executed - executed;
        if self.executed == executed {
            self.cycles.misses += 1;
            self.waits(1);
        }
        Ok(true)
    }

    fn value(
        &self,
        register: Option<Register>,
        layout: &Layout,
        queues: &[Queue],
        now: u64,
    ) -> u32 {
        let Some(register) = register else { return 0 };
        match register.network() {
            None => self.registers[usize::from(register.0)],
            Some(network) => {
                let queue = layout.to_processor(self.number, network as usize);
                queues[queue].front(now).unwrap_or_default()
            }
        }
    }

    #[inline]
    fn execute(
        &mut self,
        instruction: &Instruction,
        spec: &Spec,
        layout: &Layout,
        regions: &[Region],
        queues: &mut [Queue],
        now: u64,
    ) -> Result<(), String> {
        let op = instruction.op;
        let read = instruction.read();
        let [a, b] = read.map(|register| self.value(register, layout, queues, now));
        let mut result = tile::compute(op, a, b, instruction.immediate);
        let penalty = u64::from(spec.tile.mispredicted_cycles);
        let (mut next, mut lost) = (self.pc.wrapping_add(4), 0);
        let mut written = instruction.written();
        let latency = u64::from(match op.row().timing {
            Timing::Alu => 1,
            Timing::Load => spec.tile.load_cycles,
            Timing::Multiply => spec.tile.multiply_cycles,
            Timing::Divide => spec.tile.divide_cycles,
        });
        if let Some(is_taken) = tile::branches(op, a, b) {
            let target = next.wrapping_add(instruction.immediate << 2);
            let is_predicted = target <= self.pc;
            if is_taken {
                next = target;
            }
            lost = if is_taken == is_predicted { 0 } else { penalty };
        } else if let Some(hi_lo) = tile::hi_lo(op, a, b) {
            (self.hi_lo, self.hi_lo_ready) = (hi_lo, now + latency);
        }
        match op {
            Op::J | Op::Jal => (result, next) = (next, instruction.immediate << 2),
            Op::Jr | Op::Jalr => (result, next, lost) = (next, a, penalty),
            Op::Eret => (next, lost, self.interrupts_on) = (self.epc, penalty, true),
            Op::Movz if b != 0 => written = None,
            Op::Movn if b == 0 => written = None,
            Op::Mfhi => result = self.hi_lo.0,
            Op::Mflo => result = self.hi_lo.1,
            Op::Mthi => self.hi_lo.0 = a,
            Op::Mtlo => self.hi_lo.1 = a,
            Op::Intoff => self.interrupts_on = false,
            Op::Inton => self.interrupts_on = true,
            Op::Halt => self.is_halted = true,
            Op::Mfsr => {
                result = self.special(instruction.rd, layout, queues, now);
                if tile::SPECIAL[usize::from(instruction.rd.0)].0 == Special::External {
                    self.external = 0;
                }
            }
            Op::Mtsr => self.set_special(instruction.rd, b),
            Op::Lb | Op::Lbu | Op::Lh | Op::Lhu | Op::Lw | Op::Sb | Op::Sh | Op::Sw | Op::Wbinv => {
                let address = a.wrapping_add(instruction.immediate);
                match self.access(op, address, b, regions)? {
                    Some(value) => result = value,
                    None => return Ok(()),
                }
            }
            _ => {}
        }
        if next & 3 != 0 {
            return Err(format!("jump to {next:#x}, which is no multiple of 4"));
        }
        let [first, second] = read.map(|register| register.and_then(Register::network));
        for network in [first, second.filter(|_| first != second)].into_iter().flatten() {
            let queue = &mut queues[layout.to_processor(self.number, network as usize)];
            match network {
                Network::Memory => self.pop_memory(queue, now),
                _ => queue.pop(now),
            }
        }
        if let Some(register) = written {
            match register.network() {
                Some(network) => {
                    let queue = layout.input(self.number, network as usize, PROCESSOR);
                    queues[queue].push(result, now + latency - 1);
                }
                None if register.0 != 0 => {
                    self.registers[usize::from(register.0)] = result;
                    self.ready[usize::from(register.0)] = now + latency;
                }
                None => {}
            }
        }
        self.times[(self.pc / 4) as usize] += 1;
        self.pc = next;
        self.ready_at = now + 1 + lost;
        self.executed += 1;
        Ok(())
    }

    fn causes(&self, layout: &Layout, queues: &[Queue], now: u64) -> u32 {
        let general = layout.to_processor(self.number, Network::General as usize);
        let has_word = queues[general].front(now).is_some();
        let is_late = self.timer.is_some_and(|timer| (now as u32).wrapping_sub(timer) < 1 << 31);
        let is_late = if is_late { TIMER } else { 0 };
        u32::from(has_word) | is_late | u32::from(self.external > 0) << 2
    }

    fn special(&self, number: Register, layout: &Layout, queues: &[Queue], now: u64) -> u32 {
        let (x, y) = (self.number % layout.columns, self.number / layout.columns);
        match tile::SPECIAL[usize::from(number.0)].0 {
            Special::Cycle => now as u32,
            Special::Coordinates => (y << 5 | x) as u32,
            Special::Epc => self.epc,
            Special::Vector => self.vector,
            Special::Mask => self.mask,
            Special::Cause => self.causes(layout, queues, now),
            Special::Timer => self.timer.unwrap_or(0),
            Special::Available => Network::ALL.iter().fold(0, |word, network| {
                let number = *network as usize;
                let queue = &queues[layout.to_processor(self.number, number)];
                word | queue.readable(now) << (8 * number)
            }),
            Special::External => self.external,
        }
    }

    fn set_special(&mut self, number: Register, value: u32) {
        match tile::SPECIAL[usize::from(number.0)].0 {
            Special::Epc => self.epc = value,
            Special::Vector => self.vector = value,
            Special::Mask => self.mask = value,
            Special::Timer => self.timer = Some(value),
            Special::Cycle | Special::Coordinates | Special::Cause => {}
            Special::Available | Special::External => {}
        }
    }
}
