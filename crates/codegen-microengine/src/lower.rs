//! Steps to instructions: each operation after the other, values in registers, or in the frame or local
//! memory if there are too many.

use std::collections::{BTreeSet, HashMap};
use std::ops::Range;

use wireloom_codegen::context;
use wireloom_codegen::refused::Refused;
use wireloom_codegen::steps::ops;
use wireloom_ir::{BinaryOp, Engine, Op, OpKind, Step, Value};

use super::calls;
use super::code::{Code, Operand, Register, TRANSFERS, Target};
use super::frame::{self, State};
use super::grouped::{Group, Planned};
use super::homes::{Homes, LOCAL, Local, Room, bytes};
use super::inline::Inlined;
use super::known;
use super::layout::Layout;
use super::order::Order;
use super::reach;
use super::routines::{Pass, Routine, Turn};
use super::spread;
use super::wide::is_wide;
use super::window;
use super::words::{self, Words};

/// Writes a step of the engine that takes packets.
pub struct Lower<'a> {
    /// The files of the source.
    files: &'a [String],
    /// The engine that takes packets.
    pub engine: &'a Engine,
    pub(super) step: &'a Step,
    /// Its operations, in order.
    pub(super) ops: Vec<&'a Op>,
    pub(super) number: usize,
    /// Whether the step is of a called engine.
    pub(super) is_called: bool,
    /// The arrays of the context that the step clears.
    clears: Range<usize>,
    /// Where tables are.
    pub layout: &'a Layout,
    /// The offloads that are called in the order of packets.
    pub order: &'a Order,
    /// The text.
    pub code: &'a mut Code,
    /// The thread's state.
    pub state: State,
    pub(super) values: HashMap<Value, Place>,
    /// The positions at which each value is used.
    pub(super) uses: HashMap<Value, Vec<usize>>,
    pub(super) at: usize,
    /// Where the context is, and what values may take.
    pub(super) homes: &'a Homes,
    /// What they have taken.
    pub(super) room: Room,
    /// Words of the frame that are needed.
    pub(super) most: &'a mut u32,
    /// Words of the window that several operations use, and the number of values made for them.
    pub(super) groups: Vec<Group>,
    pub(super) made: u32,
    /// Words of values that are kept in registers at a time: the others are in the frame.
    pub(super) kept: usize,
    /// Whether the operation is one before whose instructions all that it reads is in registers.
    pub(super) reads_first: bool,
    /// The numbers of reasons.
    pub(super) reasons: &'a mut Vec<(u32, u16)>,
}

/// Where a value is.
#[derive(Clone, Debug, Default)]
pub(super) struct Place {
    pub words: Option<Words>,
    /// The first word of the frame or of local memory that has it.
    pub slot: Option<u32>,
    /// The words that it has taken.
    pub own: Option<Range<u32>>,
}

impl Place {
    /// The registers in which its words are.
    pub(super) fn registers(&self) -> usize {
        let words = self.words.as_ref().map_or(&[][..], Vec::as_slice);
        words.iter().filter(|word| matches!(word, Operand::Register(_))).count()
    }
}

/// The label of a step.
pub(super) fn label(step: usize) -> String {
    format!("step{step}")
}

/// A step in microcode.
#[derive(Clone, Debug)]
pub struct Written {
    /// The instructions, with labels and declarations of its own.
    pub text: String,
    /// The words that they take in a control store at most.
    pub words: usize,
    /// The routines that it calls.
    pub routines: Vec<Routine>,
    /// The registers that it shares with them.
    pub shared: Vec<String>,
}

impl Written {
    /// What has been written.
    pub fn of(code: Code) -> Self {
        let (routines, shared) = (code.routines.clone(), code.shared_names());
        let text = code.finish();
        Self { words: spread::words(&text), text, routines, shared }
    }
}

/// Writes all steps, with at most so many words of values in registers of each. Returns them and the
/// words of the frame that they need.
///
/// # Errors
/// What has no place.
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
    let fronts = known::fronts(engine);
    let windows = window::homes(engine, local);
    for (number, step) in engine.steps.iter().enumerate() {
        let mut code = Code::new(number, &frame::PINNED);
        let state = State { known: fronts[number], home: windows[number], ..State::of(&code) };
        let mut lower = Lower {
            files: &program.files,
            engine,
            step,
            ops: ops(step),
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
    /// Clears what a thread may read before it has written it.
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

    /// Clears words of the frame or of the scratchpad, and those of others between them: nothing is in them yet.
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
            self.reads_first = known::computes(op) || known::is_exit(op);
            self.make_room(op, planned.as_ref().map_or(0, Planned::count));
            if let Some(planned) = planned {
                self.read_group(planned);
            }
            if let (OpKind::Exit(exit), true) = (&op.kind, at + 1 == count) {
                // Exactly one exit is taken: the last one, if none before it was.
                return self.exit(exit);
            }
            let is_far = self.is_far(op) && !self.restores(op);
            if is_far {
                self.put_all_away(op);
            }
            let home = self.state.home;
            self.op(op)?;
            self.state.home = window::after(self.engine, &self.ops, op, home);
            if known::moves_front(self.engine, op) {
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

    /// Refuses something of this step.
    pub fn refuse(&self, offload: Option<&str>, message: String) -> Refused {
        Refused { offload: offload.map(str::to_owned), step: Some(self.step.name.clone()), message }
    }

    /// The width of a value.
    pub fn width(&self, value: Value) -> u32 {
        reach::width(self.step, value)
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

    /// Writes a value to the bytes of a word that it shares with others.
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
                // What the next operations read near it comes with it.
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

    /// The words of a value, read from the frame again: a routine has been called.
    pub fn again(&mut self, value: Value) -> Words {
        if let Some(place) = self.values.get_mut(&value)
            && place.slot.is_some()
        {
            place.words = None;
        }
        self.get(value)
    }

    /// A word in a register.
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

    /// Does something if the guard of an operation holds. The result is 0 otherwise.
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
        // What it reads comes from the frame before the branch, unless it calls a routine: then no
        // register is kept after it anyway.
        let is_far = self.is_far(op);
        for operand in op.kind.operands() {
            if !is_far && !is_wide(self.width(operand)) {
                self.get(operand);
            }
        }
        let guard = self.get(guard)[0];
        let guard = self.in_register(guard);
        if let OpKind::Exit(_) = op.kind {
            // Most packets go on.
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

    /// The largest value that a value can have, as far as its operation shows.
    pub(super) fn most(&self, value: Value) -> u32 {
        reach::most(self.step, &self.ops, value)
    }

    /// Whether an operation calls a routine.
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

    /// Waits until all packets before have given up an offload. Returns whether it is called in
    /// order.
    pub(super) fn wait_for_turn(&mut self, offload: usize) -> bool {
        let Some(gate) = self.order.gate(offload) else { return false };
        let turn = Turn::of(self.code);
        self.code.set(turn.gate, Operand::Number(gate));
        self.code.call(&Turn::ROUTINE);
        true
    }

    /// Gives up the offloads that the thread no longer calls: when it goes on at a step, or ends.
    pub(super) fn pass(&mut self, to: Option<usize>) {
        for gate in self.order.passed(self.number, to) {
            let pass = Pass::of(self.code);
            self.code.set(pass.gate, Operand::Number(gate));
            self.code.call(&Pass::ROUTINE);
        }
    }
}
