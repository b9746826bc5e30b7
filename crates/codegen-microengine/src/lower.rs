//! A step while its instructions are written.

use std::collections::HashMap;
use std::ops::Range;

use wireloom_codegen::refused::Refused;
use wireloom_ir::{Engine, Op, Step, Value};

use super::calls::Methods;
use super::code::Code;
use super::layout::Layout;
use super::operand::Operand;
use super::order::Order;
use super::routines::{Pass, Turn};
use super::spill_slots::{Homes, Room};
use super::state::State;
use super::step_facts;
use super::words::Words;

/// Writes a step of the engine that takes packets.
pub struct Lower<'a> {
    /// The files of the source.
    pub(super) files: &'a [String],
    /// The engine that takes packets.
    pub engine: &'a Engine,
    pub(super) step: &'a Step,
    /// The operations of the step, in order.
    pub(super) ops: Vec<&'a Op>,
    pub(super) number: usize,
    /// Whether the step is of a called engine.
    pub(super) is_called: bool,
    /// The arrays of the context that the step clears.
    pub(super) clears: Range<usize>,
    pub layout: &'a Layout,
    /// The methods of each offload, if microengines have its kind.
    pub(super) methods: &'a [Option<&'static dyn Methods>],
    /// The offloads that are called in the order of packets.
    pub order: &'a Order,
    pub code: &'a mut Code,
    /// The registers with the thread's state.
    pub state: State,
    pub(super) values: HashMap<Value, Place>,
    /// The positions of the operations that use each value.
    pub(super) uses: HashMap<Value, Vec<usize>>,
    pub(super) at: usize,
    /// The places of the context, and the words that values may take.
    pub(super) homes: &'a Homes,
    /// The words that values have taken.
    pub(super) room: Room,
    /// The number of words of the frame that are needed.
    pub(super) most: &'a mut u32,
    /// Words of the window that several operations use, and the number of values made for them.
    pub(super) groups: Vec<Group>,
    pub(super) made: u32,
    /// The most words of values in registers at a time. Other values are in the frame.
    pub(super) kept: usize,
    /// Whether all operands of the operation must be in registers before its first instruction.
    pub(super) reads_first: bool,
    /// The numbers of reasons.
    pub(super) reasons: &'a mut Vec<(u32, u16)>,
}

/// The place of a value.
#[derive(Clone, Debug, Default)]
pub(super) struct Place {
    pub words: Option<Words>,
    /// The first word with it in the frame or in local memory.
    pub slot: Option<u32>,
    /// The words that it has taken.
    pub own: Option<Range<u32>>,
}

impl Place {
    /// Returns the number of registers that hold it.
    pub(super) fn registers(&self) -> usize {
        let words = self.words.as_ref().map_or(&[][..], Vec::as_slice);
        words.iter().filter(|word| matches!(word, Operand::Register(_))).count()
    }
}

/// Consecutive words, from a byte after an offset, that hold the fields of several operations.
#[derive(Clone, Debug)]
pub(super) struct Group {
    pub base: Value,
    /// The first bit, counted from the offset: a multiple of 8.
    pub first: u32,
    /// A value for each word, in the order of the packet.
    pub words: Vec<Value>,
}

impl Lower<'_> {
    /// Returns a refusal that names this step.
    pub fn refuse(&self, offload: Option<&str>, message: String) -> Refused {
        Refused { offload: offload.map(str::to_owned), step: Some(self.step.name.clone()), message }
    }

    /// The width of a value.
    pub fn width(&self, value: Value) -> u32 {
        step_facts::width(self.step, value)
    }

    /// Returns the value of a constant, wherever this step defines it.
    pub(super) fn constant(&self, value: Value) -> Option<u32> {
        step_facts::constant(&self.ops, value)
    }

    /// Returns the largest value that a value can have, as far as its operation shows.
    pub(super) fn most(&self, value: Value) -> u32 {
        step_facts::most(self.step, &self.ops, value)
    }

    /// Waits for the turn at an offload. Returns whether the offload is called in order.
    pub(super) fn wait_for_turn(&mut self, offload: usize) -> bool {
        let Some(gate) = self.order.gate(offload) else { return false };
        let turn = Turn::of(self.code);
        self.code.set(turn.gate, Operand::Number(gate));
        self.code.call(&Turn::ROUTINE);
        true
    }

    /// Passes on the turns at offloads that the thread no longer calls, when it goes to step `to`
    /// or ends.
    pub(super) fn pass(&mut self, to: Option<usize>) {
        for gate in self.order.passed(self.number, to) {
            let pass = Pass::of(self.code);
            self.code.set(pass.gate, Operand::Number(gate));
            self.code.call(&Pass::ROUTINE);
        }
    }
}
