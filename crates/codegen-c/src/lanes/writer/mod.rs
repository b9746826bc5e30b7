//! Writes one way through an engine as vector code: the computations of each step on it, up to the
//! effects that are left to the end.

mod packet;
mod requests;
mod state;

use std::collections::HashMap;

use wireloom_bits::Bits;
use wireloom_compile::analysis::Definitions;
use wireloom_compile::analysis::conditions::Holds;
use wireloom_ir::{Exit, Op, OpKind, UnaryOp, Value};
use wireloom_net::packet as packet_in_hand;

use self::state::{Applies, StepState};
use super::vector::{self, Lane};
use crate::engine::PacketEngine;
use crate::exits::Conditions;
use crate::names::Names;
use crate::plan;
use crate::tree::{Declaration, Expr, Stmt, Type};

/// The bytes of a packet in its window at arrival, the longest window, and the longest packet.
const WINDOW: u32 = packet_in_hand::WINDOW as u32;
const LONGEST_WINDOW: u32 = (packet_in_hand::WINDOW + packet_in_hand::HEADROOM) as u32;
const LONGEST: u32 = packet_in_hand::MAX_LENGTH as u32;

/// The most statements of a way.
const MOST: usize = 1_000;

/// A statement and its declaration, if it has one.
pub struct Line {
    pub declared: Option<(&'static str, String)>,
    pub statement: Stmt,
}

/// A change of a packet.
#[derive(Clone)]
pub struct Effect {
    /// The lanes to which the effect applies. `None`: all lanes that reach the end.
    pub guard: Option<Expr>,
    pub kind: EffectKind,
}

#[derive(Clone)]
pub enum EffectKind {
    /// Counts a packet and bytes.
    Count {
        slot: usize,
        index: Lane,
        bytes: Lane,
    },
    /// Cuts the packet off.
    Truncate {
        length: Lane,
    },
    /// Writes a field. `window` is the length of the packet's window at that point. The field may
    /// lie outside the window.
    Write {
        base: Lane,
        bit: u32,
        value: Lane,
        width: u32,
        window: Expr,
    },
    Egress {
        port: Lane,
    },
    /// Inserts bytes. `moved` is their number, or zero where the guard does not hold. `window` is
    /// the length of the window before.
    Insert {
        offset: Lane,
        count: Lane,
        moved: Expr,
        window: Expr,
    },
    Remove {
        offset: Lane,
        count: Lane,
        moved: Expr,
    },
}

/// The writer of a way.
pub struct Writer<'a> {
    engine: &'a PacketEngine<'a>,
    names: Names,
    /// The code between two waits, for each phase.
    pub phases: Vec<Vec<Line>>,
    /// Conditions on the offloads that must hold before lanes go this way.
    pub ready: Vec<Expr>,
    pub effects: Vec<Effect>,
    context: Vec<Lane>,
    /// The number of bytes of the arriving packet that may be read, and the packet's present window
    /// and length.
    pub limit: Expr,
    pub window: Expr,
    pub length: Expr,
    egress: Option<Lane>,
    /// Whether the packet's bytes differ from the bytes at arrival.
    is_changed: bool,
    loads: Vec<(Expr, u32, u32, Expr)>,
    addresses: Vec<(Expr, Expr)>,
    checked: Vec<(Expr, u32)>,
}

fn name(name: &str) -> Expr {
    Expr::name(name)
}

fn alive() -> Expr {
    name("alive")
}

fn constant(value: u32) -> Expr {
    Expr::call("wl_v_set", [Expr::number(value)])
}

impl<'a> Writer<'a> {
    pub fn new(engine: &'a PacketEngine<'a>) -> Self {
        let mut names = Names::default();
        for taken in ["alive", "packets", "l", "first", "i", "arrived", "special", "left", "count"]
        {
            names.give(taken);
        }
        let zero = |var: &wireloom_ir::ContextVar| Lane::Same(Bits::zero(var.width));
        let mut writer = Self {
            engine,
            names,
            phases: vec![Vec::new()],
            ready: Vec::new(),
            effects: Vec::new(),
            context: engine.engine.context.iter().map(zero).collect(),
            limit: name("window"),
            window: name("window"),
            length: name("length"),
            egress: Some(Lane::Same(Bits::zero(16))),
            is_changed: false,
            loads: Vec::new(),
            addresses: Vec::new(),
            checked: Vec::new(),
        };
        let arrived = || name("arrived");
        writer.length = writer.declare("wl_v", "length", arrived().member("length"));
        let least = [writer.length.clone(), constant(WINDOW)];
        writer.window = writer.declare("wl_v", "window", Expr::call("wl_v_least", least));
        writer.limit = writer.window.clone();
        let address = writer.declare("wl_q", "address", arrived().member("address"));
        writer.addresses.push((Expr::number(0), address));
        writer
    }

    /// Declares a constant in the current phase.
    fn declare(&mut self, ty: &'static str, hint: &str, value: Expr) -> Expr {
        if let Expr::Name(_) = value {
            return value;
        }
        let name = self.names.give(hint);
        let declaration = Declaration::new(Type::named(ty).constant(), &name).with(value);
        self.line(Some((ty, name.clone())), declaration.into());
        Expr::name(name)
    }

    fn line(&mut self, declared: Option<(&'static str, String)>, statement: Stmt) {
        self.phases.last_mut().expect("there is one").push(Line { declared, statement });
    }

    /// Names a value, so that it is computed once.
    fn named(&mut self, lane: Lane, hint: &str) -> Lane {
        match lane {
            Lane::Same(_) => lane,
            Lane::Mask(c) => Lane::Mask(self.declare("wl_m", hint, c)),
            Lane::Word(c) => Lane::Word(self.declare("wl_v", hint, c)),
            Lane::Quads(words) => {
                let words = words.into_iter();
                Lane::Quads(words.map(|word| self.declare("wl_q", hint, word)).collect())
            }
        }
    }

    /// Keeps only the lanes in which the condition holds on the way.
    fn require(&mut self, condition: Expr) {
        let both = Expr::call("wl_m_and", [alive(), condition]);
        self.line(None, Stmt::Assign(alive(), both));
    }

    /// Writes a step for packets that leave it by an exit. Returns `None` if that is not possible.
    pub fn step(&mut self, index: usize, exit: usize) -> Option<()> {
        let step = &self.engine.engine.steps[index];
        let [request, ..] = plan::regions(step)?;
        let ops: Vec<&Op> = step.ops().collect();
        let definitions = Definitions::of(step);
        let mut state = StepState {
            values: HashMap::new(),
            definitions: HashMap::new(),
            ops: ops.clone(),
            infos: &step.values,
            ends: HashMap::new(),
            end: 0,
            exit: ops[exit].guard,
            any: Holds::new(&definitions, []),
            taken: Holds::new(&definitions, ops[exit].guard.map(|guard| (guard, true))),
            conditions: Conditions::of(&step.ops().cloned().collect::<Vec<_>>()),
            narrowed: Vec::new(),
            masks: HashMap::new(),
        };
        let mut constants = HashMap::new();
        for op in &ops {
            if let OpKind::Const(bits) = &op.kind {
                constants.insert(op.results[0], bits.low_u64() as u32);
            }
            if let OpKind::ReadPacket { base, bit } = op.kind {
                let end = (bit + state.width(op.results[0])).div_ceil(8);
                if let Some(at) = constants.get(&base) {
                    state.end = state.end.max(at + end);
                } else {
                    let known = state.ends.entry(base).or_default();
                    *known = end.max(*known);
                }
            }
        }
        self.requests(&mut state, &request.ops)?;
        for op in &ops[request.ops.len()..] {
            self.edit(&mut state, op)?;
        }
        if let Some(guard) = state.exit {
            self.narrow(&mut state, guard)?;
        }
        let written: usize = self.phases.iter().map(Vec::len).sum();
        (written <= MOST).then_some(())
    }

    /// Keeps only the lanes in which a guard of the exit holds.
    fn narrow(&mut self, state: &mut StepState<'a, '_>, guard: Value) -> Option<()> {
        let known = state.literals(guard, &state.any);
        for (value, holds) in known.unwrap_or_else(|| vec![(guard, true)]) {
            if state.narrowed.contains(&(value, holds)) {
                continue;
            }
            state.narrowed.push((value, holds));
            match self.make(state, value)? {
                // No lane would ever take this way.
                Lane::Same(bits) if bits.is_zero() == holds => return None,
                Lane::Same(_) => {}
                lane => {
                    let function = if holds { "wl_m_and" } else { "wl_m_but" };
                    let alive = Expr::call(function, [alive(), lane.mask()]);
                    self.line(None, Stmt::Assign(self::alive(), alive));
                }
            }
        }
        Some(())
    }

    /// Returns the lanes in which a guard holds, among the lanes that stay on the way.
    fn mask(&mut self, state: &mut StepState<'a, '_>, guard: Value) -> Option<Lane> {
        if let Some(known) = state.masks.get(&guard) {
            return Some(known.clone());
        }
        let Some(literals) = state.literals(guard, &state.taken) else {
            return self.make(state, guard);
        };
        let mut all = Lane::Same(Bits::bool(true));
        for (value, holds) in literals {
            let mut one = self.make(state, value)?;
            if !holds {
                one = vector::unary(UnaryOp::Not, &one, 1)?;
            }
            all = vector::both(&all, &one);
        }
        let all = self.named(all, "where");
        state.masks.insert(guard, all.clone());
        Some(all)
    }

    /// Writes an operation other than a call.
    fn edit(&mut self, state: &mut StepState<'a, '_>, op: &'a Op) -> Option<()> {
        // Lanes read the packet as it arrived. So after a change, no field has a value.
        if !(self.is_changed && matches!(op.kind, OpKind::ReadPacket { .. })) {
            state.definitions.extend(op.results.iter().map(|result| (*result, op)));
        }
        if matches!(state.applies(op.guard), Applies::Never) {
            state.never(op);
            return Some(());
        }
        match &op.kind {
            OpKind::ReadContext(id) => {
                state.values.insert(op.results[0], self.context[id.index()].clone());
            }
            OpKind::ReadMeta(meta) => {
                if let Some(lane) = self.meta(*meta) {
                    state.values.insert(op.results[0], lane);
                }
            }
            OpKind::WriteContext(id, value) => {
                let new = self.make(state, *value)?;
                let new = match (state.applies(op.guard), op.guard) {
                    (Applies::Sometimes, Some(guard)) => {
                        let guard = self.mask(state, guard)?;
                        let old = &self.context[id.index()];
                        vector::select(&guard, &new, old, state.width(*value))
                    }
                    _ => new,
                };
                let hint = self.engine.engine.context[id.index()].name.clone();
                self.context[id.index()] = self.named(new, &hint);
            }
            OpKind::WritePacket { base, bit, value } => {
                let width = state.width(*value);
                if width > 128 {
                    return None;
                }
                let (base, value) = (self.make(state, *base)?, self.make(state, *value)?);
                self.is_changed = true;
                let window = self.window.clone();
                let write = EffectKind::Write { base, bit: *bit, value, width, window };
                self.effect(state, op, write)?;
            }
            OpKind::WriteMeta(_, value) => {
                let port = self.make(state, *value)?;
                self.egress = None;
                self.effect(state, op, EffectKind::Egress { port })?;
            }
            OpKind::Insert { offset, count } => self.resize(state, op, *offset, *count, true)?,
            OpKind::Remove { offset, count } => self.resize(state, op, *offset, *count, false)?,
            OpKind::Exit(_) => {}
            kind if kind.has_effect() => return None,
            _ => {}
        }
        Some(())
    }

    /// Records an effect and computes its operands here.
    fn effect(&mut self, state: &mut StepState<'a, '_>, op: &Op, kind: EffectKind) -> Option<()> {
        let guard = self.condition(state, op)?;
        self.effects.push(Effect { guard, kind });
        Some(())
    }

    /// Returns the lanes to which an operation applies. The inner `None` means all lanes.
    fn condition(&mut self, state: &mut StepState<'a, '_>, op: &Op) -> Option<Option<Expr>> {
        match (state.applies(op.guard), op.guard) {
            (Applies::Sometimes, Some(guard)) => Some(Some(self.mask(state, guard)?.mask())),
            _ => Some(None),
        }
    }

    /// Returns a value. Writes its computation, unless that has been written.
    fn make(&mut self, state: &mut StepState<'a, '_>, value: Value) -> Option<Lane> {
        if let Some(known) = state.values.get(&value) {
            return Some(known.clone());
        }
        let op = *state.definitions.get(&value)?;
        let width = state.width(value);
        let lane = match &op.kind {
            OpKind::Const(bits) => Lane::Same(bits.clone()),
            OpKind::Unary(op, a) => vector::unary(*op, &self.make(state, *a)?, width)?,
            OpKind::Binary(op, a, b) => {
                let (x, y) = (self.make(state, *a)?, self.make(state, *b)?);
                vector::binary(*op, &x, &y, state.width(*a), state.width(*b))?
            }
            OpKind::Select(c, a, b) => {
                let c = self.make(state, *c)?;
                let (a, b) = (self.make(state, *a)?, self.make(state, *b)?);
                vector::select(&c, &a, &b, width)
            }
            OpKind::Extend(a) => vector::extend(&self.make(state, *a)?, width),
            OpKind::Slice(a, lo) => {
                vector::slice(&self.make(state, *a)?, state.width(*a), *lo, width)?
            }
            OpKind::Concat(parts) => {
                let part = |value: &Value| Some((self.make(state, *value)?, state.width(*value)));
                let parts: Option<Vec<_>> = parts.iter().map(part).collect();
                vector::concat(&parts?)?
            }
            OpKind::ReadPacket { base, bit } => {
                let at = self.make(state, *base)?;
                let end = match at {
                    Lane::Same(_) => state.end,
                    _ => state.ends.get(base).copied().unwrap_or(0),
                };
                self.field(&at, *bit, width, end)?
            }
            _ => return None,
        };
        let hint = state.infos[value.index()].name.clone();
        let lane = self.named(lane, hint.as_deref().unwrap_or("x"));
        state.values.insert(value, lane.clone());
        Some(lane)
    }
}

/// Returns the offloads' slots.
pub fn slots() -> Expr {
    name("m").arrow("machine").member("slots")
}

/// Returns the target of an exit to a later step.
pub fn leads_on(op: &Op, from: usize) -> Option<usize> {
    match &op.kind {
        OpKind::Exit(Exit::Next(to)) if to.index() > from => Some(to.index()),
        _ => None,
    }
}
