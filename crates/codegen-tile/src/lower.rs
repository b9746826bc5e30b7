//! The translation of a step: what code knows of its values and of the packet, and the instructions
//! that all parts of the translation use.

use std::collections::{HashMap, HashSet};

use wireloom_codegen::refused::Refused;
use wireloom_ir::{Op, Program, Step, Value};
use wireloom_isa::raw::tile::Op as Do;

use super::aligned::Aligned;
use super::code::{Code, FRAME, NOTHING, Operand, Register, ZERO};
use super::layout::{Instance, Layout};
use super::reach::StateOwner;
use super::stages::Stages;
use super::view::{Origin, View};
use super::words::Words;

/// The translation of a step.
pub struct Lower<'a> {
    pub program: &'a Program,
    pub layout: &'a Layout<'a>,
    /// The number of the tile among the tiles with frames.
    pub tile: u32,
    /// The engine of the step.
    pub instance: &'a Instance<'a>,
    /// The stages, for the packet engine.
    pub stages: Option<&'a Stages>,
    /// The tile that makes the calls of offloads that packets change, if it is another tile.
    pub state_owner: Option<StateOwner>,
    pub step: &'a Step,
    /// The index of the step.
    pub number: usize,
    pub code: Code,
    pub values: HashMap<Value, Words>,
    /// The operations in order. `at` is the index of the current one.
    pub ops: Vec<&'a Op>,
    pub at: usize,
    /// The context variables modulo 4.
    pub aligned: &'a Aligned,
    /// The values of conditions on the fast way.
    pub facts: HashMap<Value, bool>,
    /// The conditions that other conditions imply.
    pub implied: HashSet<Value>,
    /// Whether a condition was tested.
    pub has_tests: bool,
    /// The address of the front modulo 4, if it is the same for all packets.
    pub front: Option<u32>,
    /// The bytes of the packet that were made readable last.
    pub view: Option<View>,
    /// For each origin, a number of bytes from there that are always in the window.
    pub window: HashMap<Origin, u32>,
    /// The label of the whole step, on the fast way before the first effect.
    pub leave: Option<String>,
    /// The offset in the frame of copies of packets, which spill slots follow. `views` is the
    /// number of bytes of the copies.
    pub base: u32,
    pub views: u32,
}

impl<'a> Lower<'a> {
    /// Begins the translation of a step of an engine that is not cut into stages and makes all its
    /// calls itself. Nothing is known yet, and there are no operations.
    pub fn new(
        program: &'a Program,
        layout: &'a Layout<'a>,
        tile: u32,
        instance: &'a Instance<'a>,
        step: &'a Step,
        aligned: &'a Aligned,
        code: Code,
    ) -> Self {
        Self {
            program,
            layout,
            tile,
            instance,
            stages: None,
            state_owner: None,
            step,
            number: 0,
            code,
            values: HashMap::new(),
            ops: Vec::new(),
            at: 0,
            aligned,
            facts: HashMap::new(),
            implied: HashSet::new(),
            has_tests: false,
            front: None,
            view: None,
            window: HashMap::new(),
            leave: None,
            base: layout.end,
            views: 0,
        }
    }

    /// Returns a refusal that names this step.
    pub fn refuse(&self, offload: Option<&str>, message: String) -> Refused {
        Refused { offload: offload.map(str::to_owned), step: Some(self.step.name.clone()), message }
    }

    /// Returns the width of a value in bits.
    pub fn width(&self, value: Value) -> u32 {
        self.step.values[value.index()].width
    }

    /// Returns the words of a value.
    pub fn get(&self, value: Value) -> Words {
        self.values[&value].clone()
    }

    /// Returns the lowest word of a value.
    pub fn word(&self, value: Value) -> Operand {
        self.values[&value][0]
    }

    /// Loads words of the frame.
    pub fn load(&mut self, offset: u32, count: usize) -> Words {
        let word = |at| self.code.load(FRAME, (offset + 4 * at) as i32).into();
        (0..count as u32).map(word).collect()
    }

    /// Stores words into the frame.
    pub fn store(&mut self, offset: u32, words: &[Operand]) {
        for (at, word) in words.iter().enumerate() {
            self.code.store(*word, FRAME, offset as i32 + 4 * at as i32);
        }
    }

    /// Returns a register with the address of an element. The code branches to `otherwise` if the
    /// index is out of range. Returns `None` if a constant index is out of range.
    pub fn inside(
        &mut self,
        base: u32,
        stride: u32,
        count: u32,
        index: Operand,
        otherwise: &str,
    ) -> Option<Register> {
        if let Operand::Number(index) = index {
            let address = Operand::Number(base.wrapping_add(index.wrapping_mul(stride)));
            return (index < count).then(|| self.code.in_register(address));
        }
        let is_inside = self.code.two(Do::Sltu, index, Operand::Number(count));
        if is_inside != Operand::Number(1) {
            let is_inside = self.code.in_register(is_inside);
            self.code.branch(Do::Beq, is_inside, ZERO, otherwise);
        }
        let offset = self.code.two(Do::Mul, index, Operand::Number(stride));
        let address = self.code.two(Do::Addu, offset, Operand::Number(base));
        Some(self.code.in_register(address))
    }

    /// Returns a result that is 0 unless the code that `write` writes is executed to its end. The
    /// code may branch to the label that `write` gets.
    pub fn or_zero(
        &mut self,
        count: usize,
        write: impl FnOnce(&mut Self, &str) -> Option<Words>,
    ) -> Words {
        let result: Vec<_> = (0..count).map(|_| self.code.fresh(NOTHING)).collect();
        let done = self.code.label();
        if let Some(words) = write(self, &done) {
            for (to, word) in result.iter().zip(words) {
                self.code.copy(*to, word);
            }
        }
        self.code.place(&done);
        result.into_iter().map(Operand::from).collect()
    }

    /// Branches if a condition is 0.
    pub fn unless(&mut self, condition: Operand, label: &str) {
        let condition = self.code.in_register(condition);
        self.code.branch(Do::Beq, condition, ZERO, label);
    }

    /// Returns an element, or 0 if the index is out of range.
    pub fn element(
        &mut self,
        base: u32,
        stride: u32,
        size: u32,
        index: Operand,
        count: usize,
    ) -> Words {
        if let Operand::In(register) = index
            && self.code.bits(register) < 32
            && size >= 1 << self.code.bits(register)
        {
            // Every possible index is in range.
            let offset = self.code.two(Do::Mul, index, Operand::Number(stride));
            let (at, lower) = self.code.address(offset, base);
            return (0..count)
                .map(|word| self.code.load(at, lower + 4 * word as i32).into())
                .collect();
        }
        let result: Vec<_> = (0..count).map(|_| self.code.fresh(NOTHING)).collect();
        let done = self.code.label();
        if let Some(at) = self.inside(base, stride, size, index, &done) {
            for (place, word) in result.iter().enumerate() {
                self.code.memory(Do::Lw, *word, at, 4 * place as i32);
            }
        }
        self.code.place(&done);
        result.into_iter().map(Operand::from).collect()
    }
}
