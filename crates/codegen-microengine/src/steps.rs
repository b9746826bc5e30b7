//! Lowers the steps of a program to instructions, one operation after the other. Values are in
//! registers; when there are too many, they are spilled to the frame or to local memory.

use std::collections::{BTreeSet, HashMap};

use wireloom_codegen::context;
use wireloom_codegen::refused::Refused;
use wireloom_ir::OpKind;

use super::code::Code;
use super::commands::TRANSFERS;
use super::fixed_fields;
use super::flow::label;
use super::frame;
use super::inline::Inlined;
use super::kinds;
use super::layout::Layout;
use super::lower::Lower;
use super::offset_groups::Planned;
use super::operand::{Operand, Target};
use super::order::Order;
use super::spill_slots::{Homes, LOCAL, Local, Room};
use super::state::{PINNED, State};
use super::step_facts::{computes, is_exit};
use super::window_home;
use super::words;
use super::written::Written;

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
    let order = Order::of(engine, &layout.kinds, layout.gates, layout.ring, layout.first_gate);
    let fronts = fixed_fields::fronts(engine, &layout.kinds);
    let windows = window_home::homes(engine, &layout.kinds, local);
    let methods = kinds::methods(engine);
    for (number, step) in engine.steps.iter().enumerate() {
        let mut code = Code::new(number, &PINNED);
        let state = State { known: fronts[number], home: windows[number], ..State::new() };
        let mut lower = Lower {
            files: &program.files,
            engine,
            step,
            ops: step.ops().collect(),
            number,
            is_called: inlined.parts[number].is_called,
            clears: inlined.parts[number].clears.clone(),
            layout,
            methods: &methods,
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
            self.reads_first = computes(op) || is_exit(op);
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
            self.state.home =
                window_home::after(self.engine, &self.layout.kinds, &self.ops, op, home);
            if fixed_fields::moves_front(self.engine, &self.layout.kinds, op) {
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
}
