//! Lowers steps to instructions, one operation after the other. Values are in registers; when there
//! are too many, they are spilled to the frame or to local memory.

use std::collections::{BTreeSet, HashMap};
use std::ops::Range;

use wireloom_codegen::context;
use wireloom_codegen::refused::Refused;
use wireloom_ir::{BinaryOp, Engine, Op, OpKind, Step, Value};

use super::calls;
use super::code::{Code, Operand, Register, TRANSFERS, Target};
use super::fixed_fields;
use super::frame::{self, State};
use super::inline::Inlined;
use super::layout::Layout;
use super::offset_groups::{Group, Planned};
use super::order::Order;
use super::routines::{Pass, Routine, Turn};
use super::spill_slots::{Homes, LOCAL, Local, Room, bytes};
use super::spread;
use super::wide::is_wide;
use super::window;
use super::words::{self, Words};
use super::zero_tail;

/// Writes a step of the engine that takes packets.
pub struct Lower<'a> {
    /// The files of the source.
    files: &'a [String],
    /// The engine that takes packets.
    pub engine: &'a Engine,
    pub(super) step: &'a Step,
    /// The operations of the step, in order.
    pub(super) ops: Vec<&'a Op>,
    pub(super) number: usize,
    /// Whether the step is of a called engine.
    pub(super) is_called: bool,
    /// The arrays of the context that the step clears.
    clears: Range<usize>,
    pub layout: &'a Layout,
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

/// Returns the label of a step.
pub(super) fn label(step: usize) -> String {
    format!("step{step}")
}

/// A step in microcode.
#[derive(Clone, Debug)]
pub struct Written {
    /// The instructions, with labels and declarations.
    pub text: String,
    /// The most words that they take in a control store.
    pub words: usize,
    /// The routines that the step calls.
    pub routines: Vec<Routine>,
    /// The registers that the step shares with routines.
    pub shared: Vec<String>,
}

impl Written {
    /// Returns the finished text of a step.
    pub fn of(code: Code) -> Self {
        let (routines, shared) = (code.routines.clone(), code.shared_names());
        let text = code.finish();
        Self { words: spread::words(&text), text, routines, shared }
    }
}

/// Writes all steps. `kept` is the most words of values in registers, for each step. Returns the
/// steps and the number of words of the frame that they need.
///
/// # Errors
/// The parts of the program that are refused.
pub fn steps(
    inlined: &Inlined,
    layout: &Layout,
    kept: &[usize],
    local: Local,
    reasons: &mut Vec<(u32, u16)>,
) -> Result<(Vec<Written>, u32), Vec<Refused>> {
    let program = &inlined.program;
    let engine = &program.engines[program.main.index()];
    let homes = Homes::of(engine, local);
    let mut most = homes.words;
    let mut refused = Vec::new();
    let mut steps = Vec::new();
    let order = Order::of(engine, layout.gates, layout.ring, layout.first_gate);
    let fronts = fixed_fields::fronts(engine);
    let windows = window::homes(engine, local);
    for (number, step) in engine.steps.iter().enumerate() {
        let mut code = Code::new(number, &frame::PINNED);
        let state = State { known: fronts[number], home: windows[number], ..State::of(&code) };
        let mut lower = Lower {
            files: &program.files,
            engine,
            step,
            ops: step.ops().collect(),
            number,
            is_called: inlined.parts[number].is_called,
            clears: inlined.parts[number].clears.clone(),
            layout,
            order: &order,
            code: &mut code,
            state,
            values: HashMap::new(),
            uses: HashMap::new(),
            at: 0,
            homes: &homes,
            room: Room::default(),
            most: &mut most,
            groups: Vec::new(),
            made: 0,
            kept: kept[number],
            reads_first: false,
            reasons,
        };
        if number == 0 {
            lower.clear();
        }
        refused.extend(lower.step().err());
        steps.push(Written::of(code));
    }
    if refused.is_empty() { Ok((steps, most)) } else { Err(refused) }
}

impl Lower<'_> {
    /// Clears the variables and arrays that a thread may read before it writes them.
    fn clear(&mut self) {
        self.code.line("begin#:");
        let mut words = BTreeSet::new();
        for variable in context::read_unwritten(self.engine) {
            let width = self.engine.context[variable].width;
            let first = self.homes.variables[variable];
            words.extend(first..first + words::count(width) as u32);
        }
        let near = words.split_off(&LOCAL);
        self.clear_context(&words);
        match self.homes.is_scratch {
            true => self.clear_context(&near),
            false => near.into_iter().for_each(|word| self.store(word, &[Operand::Number(0)])),
        }
        let all = 0..self.engine.arrays.len();
        self.clear_arrays(all);
        if context::parks(self.engine) && context::uses_arrival(self.engine) {
            let pair = self.load(frame::ARRIVAL, 2);
            self.state.store(self.code, Operand::Number(frame::HAND), &words::of(&pair));
        }
    }

    /// Clears words of the frame or of the scratchpad, and the words between them, which are still
    /// unused.
    fn clear_context(&mut self, words: &BTreeSet<u32>) {
        let Some(mut at) = words.first().copied() else { return };
        let zeros = self.code.write_transfers(TRANSFERS);
        for transfer in zeros..zeros + TRANSFERS as u8 {
            self.code.set(Target::Transfer(transfer), Operand::Number(0));
        }
        while let Some(last) = words.range(at..at + TRANSFERS).next_back() {
            let (what, base, first) = match at.checked_sub(LOCAL) {
                None => ("sram[write", self.state.frame, at),
                Some(word) => ("scratch[write", self.state.near, word),
            };
            let (zeros, first) = (Target::Transfer(zeros), Operand::Number(first));
            self.code.write_command(what, zeros, base.into(), first, last + 1 - at);
            let Some(next) = words.range(last + 1..).next() else { return };
            at = *next;
        }
    }

    fn step(&mut self) -> Result<(), Refused> {
        let ops = self.ops.clone();
        for (at, op) in ops.iter().enumerate() {
            let used = op.kind.operands().into_iter().chain(op.guard);
            used.for_each(|value| self.uses.entry(value).or_default().push(at));
        }
        self.code.line("");
        self.code.line(&format!("; Step `{}`.", self.step.name));
        self.code.line(&format!("{}#:", label(self.number)));
        self.clear_arrays(self.clears.clone());
        let count = ops.len();
        let mut place = (0, 0);
        for (at, op) in ops.into_iter().enumerate() {
            self.at = at;
            if op.loc.line != 0 && (op.loc.file, op.loc.line) != place {
                place = (op.loc.file, op.loc.line);
                let name = wireloom_codegen::files::short_name(self.files, op.loc.file as usize);
                self.code.line(&format!("    ; {name}:{}", op.loc.line));
            }
            let planned = self.planned(op);
            self.reads_first = fixed_fields::computes(op) || fixed_fields::is_exit(op);
            self.make_room(op, planned.as_ref().map_or(0, Planned::count));
            if let Some(planned) = planned {
                self.read_group(planned);
            }
            if let (OpKind::Exit(exit), true) = (&op.kind, at + 1 == count) {
                // Exactly one exit is taken. The last one needs no condition.
                return self.exit(exit);
            }
            let is_far = self.is_far(op) && !self.restores(op);
            if is_far {
                self.put_all_away(op);
            }
            let home = self.state.home;
            self.op(op)?;
            self.state.home = window::after(self.engine, &self.ops, op, home);
            if fixed_fields::moves_front(self.engine, op) {
                self.state.known = None;
            }
            self.keep_groups(op);
            if is_far {
                self.forget_registers(op);
            }
            // Values without further use give their registers back.
            let (values, uses, room) = (&mut self.values, &self.uses, &mut self.room);
            values.retain(|value, place| {
                let lives = uses.get(value).is_some_and(|uses| uses.iter().any(|used| *used > at));
                if let (false, Some(own)) = (lives, &place.own) {
                    room.free(own);
                }
                lives
            });
        }
        Ok(())
    }

    /// Returns a refusal that names this step.
    pub fn refuse(&self, offload: Option<&str>, message: String) -> Refused {
        Refused { offload: offload.map(str::to_owned), step: Some(self.step.name.clone()), message }
    }

    /// The width of a value.
    pub fn width(&self, value: Value) -> u32 {
        zero_tail::width(self.step, value)
    }

    /// Writes words of the frame, of the scratchpad, or of local memory.
    pub(super) fn store(&mut self, first: u32, all: &[Operand]) {
        if let Some(local) = self.homes.local(first) {
            for (word, value) in (local..).zip(all) {
                self.code.store_local(word, *value);
            }
            return;
        }
        for (index, part) in all.chunks(8).enumerate() {
            let at = Operand::Number(first + 8 * index as u32);
            self.state.store(self.code, at, part);
        }
    }

    /// Writes a value to its bytes of a word that it shares with others.
    pub(super) fn store_part(&mut self, word: u32, byte: u32, value: Value) {
        let size = bytes(self.width(value));
        let part = self.get(value)[0];
        let part = self.in_register(part);
        let all = self.load(word, 1)[0];
        self.code.load_field(all, byte..byte + size, part);
        self.store(word, &[all.into()]);
    }

    /// Reads words of the frame, of the scratchpad, or of local memory.
    pub(super) fn load(&mut self, first: u32, count: usize) -> Vec<Register> {
        if let Some(local) = self.homes.local(first) {
            return (local..local + count as u32).map(|word| self.code.load_local(word)).collect();
        }
        let transfer = match self.code.here().and_then(|here| here.transfer_of(first, count as u32))
        {
            Some(transfer) => transfer,
            None if count <= 8 => {
                // The command also reads nearby words that the next operations read.
                let (from, words) = self.with_near(first, count as u32);
                self.state.fetch(self.code, from, words) + (first - from) as u8
            }
            None => {
                let parts =
                    (0..count).step_by(8).map(|at| (first + at as u32, (count - at).min(8)));
                return parts.flat_map(|(at, part)| self.load(at, part)).collect();
            }
        };
        let registers = (transfer..transfer + count as u8).map(Operand::Transfer);
        registers.map(|register| self.code.copy(register)).collect()
    }

    /// The words of a value.
    pub fn get(&mut self, value: Value) -> Words {
        let place = self.values.get(&value).cloned().unwrap_or_default();
        if let Some(words) = place.words {
            return words;
        }
        let count = words::count(self.width(value));
        let words = words::of(&self.load(place.slot.unwrap_or_default(), count));
        self.values.entry(value).or_default().words = Some(words.clone());
        self.take_near();
        words
    }

    /// Returns the words of a value, read from the frame again, since a routine has been called.
    pub fn again(&mut self, value: Value) -> Words {
        if let Some(place) = self.values.get_mut(&value)
            && place.slot.is_some()
        {
            place.words = None;
        }
        self.get(value)
    }

    /// Returns a word in a register.
    pub fn in_register(&mut self, word: Operand) -> Register {
        match word {
            Operand::Register(register) => register,
            other => self.code.copy(other),
        }
    }

    pub(super) fn define(&mut self, op: &Op, words: Words) {
        if let Some(result) = op.results.first() {
            self.values.insert(*result, Place { words: Some(words), ..Place::default() });
        }
    }

    /// Writes operations that are executed if the guard of an operation holds. Otherwise the result
    /// is 0.
    pub(super) fn guarded(
        &mut self,
        op: &Op,
        what: impl FnOnce(&mut Self) -> Result<Option<Words>, Refused>,
    ) -> Result<(), Refused> {
        let Some(guard) = op.guard else {
            if let Some(words) = what(self)? {
                self.define(op, words);
            }
            return Ok(());
        };
        // Operands are read from the frame before the branch. If the operation calls a routine, no
        // register keeps its value anyway.
        let is_far = self.is_far(op);
        for operand in op.kind.operands() {
            if !is_far && !is_wide(self.width(operand)) {
                self.get(operand);
            }
        }
        let guard = self.get(guard)[0];
        let guard = self.in_register(guard);
        if let OpKind::Exit(_) = op.kind {
            // Most packets do not take an exit.
            let away = self.code.label();
            self.code.branch_set(guard, 0, away);
            let main = self.code.set_apart();
            self.code.place(away);
            let done = what(self).map(|_| ());
            self.code.rejoin(main);
            return done;
        }
        let (skip, done) = (self.code.label(), self.code.label());
        self.code.branch_clear(guard, 0, skip);
        let saved = self.restores(op).then(|| self.save(op));
        let words = what(self)?;
        let Some(result) = op.results.first().copied() else {
            saved.into_iter().for_each(|saved| self.restore(saved));
            self.code.place(skip);
            return Ok(());
        };
        let width = self.width(result);
        let zero = Operand::Number(0);
        let Some(words) = words else {
            // The result is in the frame.
            self.code.branch("br", done);
            self.code.place(skip);
            let slot = self.values.get(&result).and_then(|place| place.slot);
            for at in (0..words::count(width)).step_by(8) {
                let part = vec![zero; (words::count(width) - at).min(8)];
                self.store(slot.unwrap_or_default() + at as u32, &part);
            }
            self.code.place(done);
            return Ok(());
        };
        let registers = words::registers(self.code, width);
        for (register, word) in registers.iter().zip(words) {
            self.code.set(*register, word);
        }
        saved.into_iter().for_each(|saved| self.restore(saved));
        self.code.branch("br", done);
        self.code.place(skip);
        registers.iter().for_each(|word| self.code.set(*word, zero));
        self.code.place(done);
        self.define(op, words::of(&registers));
        Ok(())
    }

    /// Returns the largest value that a value can have, as far as its operation shows.
    pub(super) fn most(&self, value: Value) -> u32 {
        zero_tail::most(self.step, &self.ops, value)
    }

    /// Returns whether an operation calls a routine.
    fn is_far(&self, op: &Op) -> bool {
        match &op.kind {
            OpKind::Binary(BinaryOp::Mul | BinaryOp::Udiv | BinaryOp::Urem, ..)
            | OpKind::Insert { .. }
            | OpKind::Reset { .. } => true,
            OpKind::Remove { offset, .. } => self.constant(*offset) != Some(0),
            OpKind::Exit(_) => false,
            _ => calls::is_far(self, op),
        }
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
