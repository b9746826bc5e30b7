//! Switch processors.

use wireloom_isa::raw::switch::{Control, Instruction, Source};
use wireloom_machine::LineCounts;

use crate::layout::{Layout, PROCESSOR};
use crate::queue::Queue;
use crate::spent::SwitchCycles;

/// Why a unit cannot act: a queue, by its number, is empty or full.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Block {
    Empty(usize),
    Full(usize),
}

/// The state of a processor in a cycle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Doing {
    /// There is no program, or it has halted.
    Stopped,
    /// An instruction executes.
    Running,
    /// The processor waits for a result, or recovers from a misprediction.
    Pipeline,
    /// The cache waits for a line, or writes one back.
    Memory,
    /// The processor waits for a word, or for room.
    Network(Block),
}

/// An instruction with its queues resolved.
#[derive(Clone, Debug)]
struct Ready {
    control: Control,
    destination: usize,
    source: usize,
    constant: u32,
    /// The queues that are read.
    sources: Vec<u32>,
    /// For each move an index into `sources`, and the queue that is written.
    moves: Vec<(u8, u32)>,
    /// The index into `sources` of the word that the switch itself takes.
    own: usize,
    times: u64,
    /// Cycles that the switch spent waiting at this instruction.
    waits: u64,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Switch {
    tile: usize,
    program: Vec<Ready>,
    pub pc: u32,
    pub registers: [u32; 4],
    pub is_halted: bool,
    ready_at: u64,
    pub moved: u64,
    pub executed: u64,
    pub cycles: SwitchCycles,
}

impl Switch {
    /// Creates the switch of a tile with its program. Without a program the switch is halted.
    pub fn new(program: &[Instruction], tile: usize, layout: &Layout) -> Self {
        let program: Vec<_> =
            program.iter().map(|instruction| ready(instruction, tile, layout)).collect();
        Self { tile, is_halted: program.is_empty(), program, ..Self::default() }
    }

    /// Returns the control operations that the switch has executed, each with its count.
    pub fn operations(&self) -> impl Iterator<Item = (Control, u64)> {
        self.program.iter().map(|instruction| (instruction.control, instruction.times))
    }

    /// Returns the first queue that the switch waits for.
    pub fn block(&self, queues: &[Queue], now: u64) -> Option<Block> {
        let instruction = self.program.get(self.pc as usize).filter(|_| !self.is_halted)?;
        let is_empty = |queue: &&u32| queues[**queue as usize].front(now).is_none();
        if let Some(queue) = instruction.sources.iter().find(is_empty) {
            return Some(Block::Empty(*queue as usize));
        }
        let is_full = |queue: &&(u8, u32)| !queues[queue.1 as usize].has_room(now);
        instruction.moves.iter().find(is_full).map(|queue| Block::Full(queue.1 as usize))
    }

    /// Returns the state of the switch in cycle `now`, which has not been simulated.
    pub fn doing(&self, queues: &[Queue], now: u64) -> Doing {
        match self.block(queues, now) {
            _ if self.is_halted => Doing::Stopped,
            _ if now < self.ready_at => Doing::Pipeline,
            Some(block) => Doing::Network(block),
            None => Doing::Running,
        }
    }

    /// Counts cycles in which the switch waits for a queue, if it waits.
    pub fn rest(&mut self, queues: &[Queue], now: u64, cycles: u64) {
        if let Some(block) = self.block(queues, now) {
            self.cycles.blocked(block, self.tile, cycles);
            self.waits(cycles);
        }
    }

    /// Counts cycles in which the switch waits at its next instruction.
    #[inline]
    fn waits(&mut self, cycles: u64) {
        if let Some(instruction) = self.program.get_mut(self.pc as usize) {
            instruction.waits += cycles;
        }
    }

    /// Returns the counts of each instruction.
    pub fn counts(&self) -> impl Iterator<Item = LineCounts> + '_ {
        self.program.iter().map(|instruction| LineCounts {
            instructions: instruction.times,
            executing: instruction.times,
            waiting: instruction.waits,
        })
    }

    /// Acts for a cycle. Returns whether the switch executed an instruction.
    ///
    /// # Errors
    /// If the program has no instruction at its counter.
    pub fn cycle(&mut self, queues: &mut [Queue], now: u64, penalty: u64) -> Result<bool, String> {
        if self.is_halted || now < self.ready_at {
            if !self.is_halted {
                self.cycles.branches += 1;
                self.waits(1);
            }
            return Ok(!self.is_halted);
        }
        if self.program.len() <= self.pc as usize {
            return Err(format!("instruction {} is past the program's end", self.pc));
        }
        if let Some(block) = self.block(queues, now) {
            self.cycles.blocked(block, self.tile, 1);
            self.waits(1);
            return Ok(false);
        }
        self.cycles.executed += 1;
        let instruction = &mut self.program[self.pc as usize];
        instruction.times += 1;
        let mut words = [0; 11];
        for (word, queue) in words.iter_mut().zip(&instruction.sources) {
            let queue = &mut queues[*queue as usize];
            *word = queue.front(now).unwrap_or_default();
            queue.pop(now);
        }
        for (source, queue) in &instruction.moves {
            queues[*queue as usize].push(words[usize::from(*source)], now);
        }
        self.moved += instruction.moves.len() as u64;
        self.executed += 1;
        let value = self.registers[instruction.source];
        let target = instruction.constant;
        // Backward branches are predicted taken.
        let branch = |is_taken: bool| {
            let is_missed = is_taken != (target <= self.pc);
            (if is_taken { target } else { self.pc + 1 }, is_missed)
        };
        let (next, is_missed) = match instruction.control {
            Control::Jump => (target, false),
            Control::JumpRegister => (value, true),
            Control::Bnez | Control::Bnezd => branch(value != 0),
            Control::Beqz => branch(value == 0),
            _ => (self.pc + 1, false),
        };
        let written = match instruction.control {
            Control::Move => Some(value),
            Control::Set => Some(target),
            Control::Bnezd => Some(value.wrapping_sub(1)),
            Control::Receive => words.get(instruction.own).copied(),
            _ => None,
        };
        self.is_halted = instruction.control == Control::Halt;
        if let Some(written) = written {
            self.registers[instruction.destination] = written;
        }
        self.pc = next;
        self.ready_at = now + 1 + if is_missed { penalty } else { 0 };
        Ok(true)
    }
}

fn ready(instruction: &Instruction, tile: usize, layout: &Layout) -> Ready {
    let mut sources: Vec<u32> = Vec::new();
    let mut moves = Vec::new();
    let place_of = |sources: &mut Vec<u32>, queue: usize| {
        let place = sources.iter().position(|other| *other == queue as u32);
        place.unwrap_or_else(|| {
            sources.push(queue as u32);
            sources.len() - 1
        })
    };
    for (network, routes) in instruction.routes.iter().enumerate() {
        for (end, source) in routes.iter().enumerate() {
            let Some(source) = source else { continue };
            let queue = layout.input(tile, network, *source as usize - Source::North as usize);
            let place = place_of(&mut sources, queue);
            moves.push((place as u8, layout.output(tile, network, end) as u32));
        }
    }
    let mut own = 0;
    if instruction.control == Control::Receive {
        let end = instruction.own.map_or(PROCESSOR, |from| from as usize - Source::North as usize);
        own = place_of(&mut sources, layout.input(tile, 0, end));
    }
    Ready {
        control: instruction.control,
        destination: usize::from(instruction.destination),
        source: usize::from(instruction.source),
        constant: u32::from(instruction.constant),
        sources,
        moves,
        own,
        times: 0,
        waits: 0,
    }
}
