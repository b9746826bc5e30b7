//! One way through an engine as vector code: what each step on it computes, up to the effects that are
//! left to the end.

use std::collections::HashMap;

use wireloom_bits::Bits;
use wireloom_ir::{
    BinaryOp, Exit, Meta, OffloadId, OffloadTarget, Op, OpKind, UnaryOp, Value, ValueInfo,
};
use wireloom_offloads::lpm::{DIRECT_BITS, SHORT_KEYS, STRIDE};
use wireloom_offloads::{Config, Layout, registry};

use super::vector::{self, Lane};
use crate::c::calls::split_phase;
use crate::c::engine::PacketEngine;
use crate::c::exits::Tables;
use crate::c::names::Names;
use crate::c::plan;
use crate::c::tree::{Binary, Declaration, Expr, Stmt, Type};

/// The bytes of a packet in its window, and the longest window and packet.
const WINDOW: u32 = 128;
const LONGEST_WINDOW: u32 = 256;
const LONGEST: u32 = 65_535;

/// The most statements of a way.
const MOST: usize = 1_000;

/// A statement, and what it declares.
pub struct Line {
    pub declared: Option<(&'static str, String)>,
    pub statement: Stmt,
}

/// What a packet changes, in order.
#[derive(Clone)]
pub struct Effect {
    /// The lanes to which it applies; `None`: all that come to the end.
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
    /// Writes a field, of which the window that the packet has then may miss a part.
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
    /// Inserts bytes; `moved` is how many, zero where the guard does not hold.
    Insert {
        offset: Lane,
        count: Lane,
        moved: Expr,
    },
    Remove {
        offset: Lane,
        count: Lane,
        moved: Expr,
    },
}

/// What is always so of a guard in the lanes that stay on the way.
enum Holds {
    Always,
    Never,
    Sometimes,
}

/// A search in a prefix table that has begun.
struct Search<'a> {
    op: &'a Op,
    slot: Expr,
    key: Lane,
    key_width: u32,
    state: String,
}

/// Writes a way.
pub struct Writer<'a> {
    engine: &'a PacketEngine<'a>,
    names: Names,
    /// The code between two waits.
    pub phases: Vec<Vec<Line>>,
    /// What has to hold of the offloads for lanes to go this way.
    pub ready: Vec<Expr>,
    pub effects: Vec<Effect>,
    context: Vec<Lane>,
    /// The bytes of the packet as it arrived that may be read, and its window and length now.
    pub limit: Expr,
    pub window: Expr,
    pub length: Expr,
    egress: Option<Lane>,
    /// Whether the packet's bytes differ from those that arrived.
    is_changed: bool,
    loads: Vec<(Expr, u32, u32, Expr)>,
    addresses: Vec<(Expr, Expr)>,
    checked: Vec<(Expr, u32)>,
}

/// What is known of the step that is written.
struct StepState<'a> {
    values: HashMap<Value, Lane>,
    definitions: HashMap<Value, &'a Op>,
    ops: Vec<&'a Op>,
    infos: &'a [ValueInfo],
    /// The end of what the step reads behind each base, and from the beginning of the packet.
    ends: HashMap<Value, u32>,
    end: u32,
    exit: Option<Value>,
    truths: Option<Tables>,
    /// What holds in all lanes that are alive.
    narrowed: Vec<(Value, bool)>,
    /// The lanes in which guards hold.
    masks: HashMap<Value, Lane>,
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

    /// Gives a value names, so that it is computed once.
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

    /// Only lanes in which the condition holds stay on the way.
    fn require(&mut self, condition: Expr) {
        let both = Expr::call("wl_m_and", [alive(), condition]);
        self.line(None, Stmt::Assign(alive(), both));
    }

    /// Writes what a step does for packets that leave it by an exit. `None` if that is not possible.
    pub fn step(&mut self, index: usize, exit: usize) -> Option<()> {
        let step = &self.engine.engine.steps[index];
        let [request, ..] = plan::regions(step)?;
        let ops: Vec<&Op> = plan::ops(step).collect();
        let mut state = StepState {
            values: HashMap::new(),
            definitions: ops.iter().flat_map(|op| op.results.iter().map(|r| (*r, *op))).collect(),
            ops: ops.clone(),
            infos: &step.values,
            ends: HashMap::new(),
            end: 0,
            exit: ops[exit].guard,
            truths: Tables::of(&ops.iter().map(|op| (*op).clone()).collect::<Vec<_>>()),
            narrowed: Vec::new(),
            masks: HashMap::new(),
        };
        for op in &ops {
            if let OpKind::ReadPacket { base, bit } = op.kind {
                let end = (bit + state.width(op.results[0])).div_ceil(8);
                let base_op = state.definitions.get(&base).map(|op| &op.kind);
                if let Some(OpKind::Const(at)) = base_op {
                    state.end = state.end.max(at.low_u64() as u32 + end);
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

    /// Leaves only the lanes in which a guard of the exit holds.
    fn narrow(&mut self, state: &mut StepState<'a>, guard: Value) -> Option<()> {
        let known = state.literals(guard, None);
        for (value, holds) in known.unwrap_or_else(|| vec![(guard, true)]) {
            if state.narrowed.contains(&(value, holds)) {
                continue;
            }
            state.narrowed.push((value, holds));
            match self.make(state, value)? {
                // The lanes would never come this way.
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

    /// The lanes in which a guard holds, of those that stay on the way.
    fn mask(&mut self, state: &mut StepState<'a>, guard: Value) -> Option<Lane> {
        if let Some(known) = state.masks.get(&guard) {
            return Some(known.clone());
        }
        let Some(literals) = state.literals(guard, state.exit) else {
            return self.make(state, guard);
        };
        let mut all = Lane::Same(Bits::bool(true));
        for (value, holds) in literals {
            let mut one = self.make(state, value)?;
            if !holds {
                one = vector::unary(UnaryOp::Not, &one, 1)?;
            }
            all = match all {
                Lane::Same(_) => one,
                _ => vector::binary(BinaryOp::And, &all, &one, 1, 1)?,
            };
        }
        let all = self.named(all, "where");
        state.masks.insert(guard, all.clone());
        Some(all)
    }

    /// Writes the calls of a step: what is fetched, the waits, and the replies.
    fn requests(&mut self, state: &mut StepState<'a>, ops: &'a [Op]) -> Option<()> {
        let mut searches = Vec::new();
        let mut reads = Vec::new();
        let mut pauses = 0;
        for op in ops {
            let OpKind::Call { offload, method, args } = &op.kind else {
                self.edit(state, op)?;
                continue;
            };
            match state.holds(op.guard) {
                Holds::Never => {
                    let zero =
                        |value: &Value| (*value, Lane::Same(Bits::zero(state.width(*value))));
                    let results: Vec<_> = op.results.iter().map(zero).collect();
                    state.values.extend(results);
                    continue;
                }
                Holds::Always => {
                    if let Some(guard) = op.guard {
                        self.narrow(state, guard)?;
                    }
                }
                Holds::Sometimes => {}
            }
            let config = self.config(*offload)?;
            let called = &registry::kind(&config.kind)?.methods[*method];
            let slot = self.engine.slot(*offload);
            let place = slots().at(slot);
            let is_far = split_phase(self.engine.engine, &op.kind).is_some();
            let key = self.make(state, *args.first()?)?;
            let key_width = state.width(args[0]);
            match (config.kind.as_str(), called.name) {
                ("lpm", "search") => {
                    let search = self.begin(op, slot, key, key_width)?;
                    pauses = pauses.max(search.walks() + 1);
                    searches.push(search);
                }
                ("array", "read") | ("counter", "count") if key_width <= 32 => {
                    let words = match called.name {
                        "count" => 2,
                        _ => vector::quads(config.value.as_ref().map_or(1, Layout::width)),
                    };
                    let index = self.named(key, "index");
                    if is_far {
                        pauses = pauses.max(1);
                        let arguments =
                            [place.clone().address(), index.word(), Expr::number(words)];
                        self.line(None, Stmt::call("wl_lanes_element_fetch", arguments));
                    }
                    if called.name == "read" {
                        let arguments = [place.clone().address(), Expr::number(words)];
                        self.need(Expr::call("wl_lanes_can_read", arguments));
                        reads.push((op, place, index, words));
                    } else {
                        let bytes = self.make(state, args[1])?;
                        let bytes = self.named(bytes, "bytes");
                        self.effect(state, op, EffectKind::Count { slot, index, bytes })?;
                    }
                }
                ("payload", "truncate") if op.results.iter().all(|r| !state.is_used(*r)) => {
                    self.truncate(state, op, key)?;
                }
                _ => return None,
            }
        }
        for pause in 0..pauses {
            self.phases.push(Vec::new());
            searches.iter_mut().for_each(|search| self.walk(search, pause));
        }
        for search in searches {
            let reply = self.found(state, &search)?;
            self.reply(state, search.op, reply)?;
        }
        for (op, slot, index, words) in reads {
            let reply = self.element(state, op, slot, &index, words)?;
            self.reply(state, op, reply)?;
        }
        Some(())
    }

    /// Notes the reply of a call, which is zero where its guard does not hold.
    fn reply(&mut self, state: &mut StepState<'a>, op: &Op, reply: Lane) -> Option<()> {
        let [result] = op.results[..] else { return Some(()) };
        let reply = match (state.holds(op.guard), op.guard) {
            (Holds::Sometimes, Some(guard)) => {
                let guard = self.mask(state, guard)?.mask();
                let reply = reply.under(&guard, state.width(result));
                self.named(reply, "reply")
            }
            _ => reply,
        };
        state.values.insert(result, reply);
        Some(())
    }

    fn config(&self, offload: OffloadId) -> Option<&'a Config> {
        match &self.engine.engine.offloads[offload.index()].target {
            OffloadTarget::Kind(config) => Some(config),
            OffloadTarget::Engine(_) => None,
        }
    }

    fn need(&mut self, condition: Expr) {
        if !self.ready.contains(&condition) {
            self.ready.push(condition);
        }
    }

    /// Fetches the direct entries of a search.
    fn begin(&mut self, op: &'a Op, slot: usize, key: Lane, width: u32) -> Option<Search<'a>> {
        if !(*SHORT_KEYS.start()..=128).contains(&width) {
            return None;
        }
        self.need(Expr::call("wl_lanes_can_search", [slots().at(slot).address()]));
        let key = self.named(key, "key");
        let slot = slots().at(slot);
        let search = Search { op, slot, key, key_width: width, state: String::new() };
        let chunk = search.chunk(0, DIRECT_BITS)?;
        self.line(None, Stmt::call("wl_lanes_lpm_fetch", [search.slot.clone().address(), chunk]));
        Some(search)
    }

    /// Takes a search from one access to the next.
    fn walk(&mut self, search: &mut Search<'_>, pause: usize) {
        if pause >= search.walks() {
            return;
        }
        let at = DIRECT_BITS + STRIDE * pause as u32;
        let chunk = search.chunk(at, STRIDE).expect("the first is");
        let walk = if pause == 0 {
            let direct = search.chunk(0, DIRECT_BITS).expect("it was");
            let size = Expr::number(if search.is_short() { 1 } else { 2 });
            Expr::call("wl_lanes_lpm_begin", [search.slot.clone().address(), direct, chunk, size])
        } else {
            let state = Expr::name(&search.state);
            let function = match search.is_short() {
                true => "wl_lanes_lpm_short_walk",
                false => "wl_lanes_lpm_walk",
            };
            Expr::call(function, [search.slot.clone().address(), state, chunk])
        };
        let walk = self.declare("struct wl_lanes_walk", "walk", walk);
        let Expr::Name(name) = walk else { unreachable!("it was declared") };
        search.state = name;
    }

    /// What a search found.
    fn found(&mut self, state: &StepState<'a>, search: &Search<'_>) -> Option<Lane> {
        let width = state.width(*search.op.results.first()?);
        let (slot, walk) = (search.slot.clone().address(), Expr::name(&search.state));
        let number = if search.is_short() {
            Expr::call("wl_lanes_lpm_short_number", [slot, walk, alive().address()])
        } else {
            let spare = 128 - search.key_width;
            let key = [
                (search.key.clone(), search.key_width),
                (Lane::Same(Bits::zero(spare.max(1))), spare),
            ];
            let mut words = vector::concat(&key)?.quads(2);
            let at = Expr::number(DIRECT_BITS + STRIDE * search.walks() as u32);
            let (high, low) = (words.pop()?, words.pop()?);
            Expr::call("wl_lanes_lpm_number", [slot, walk, high, low, at])
        };
        let number = self.declare("wl_v", "number", number);
        let values = search.slot.clone().member("values");
        Some(self.load_words(&values, &number, vector::quads(width), width, alive()))
    }

    /// Loads the words of an element.
    fn load_words(
        &mut self,
        first: &Expr,
        index: &Expr,
        words: usize,
        width: u32,
        mask: Expr,
    ) -> Lane {
        let count = Expr::number(words);
        let short = || {
            let arguments = [first.clone(), index.clone(), count.clone(), mask.clone()];
            Expr::call("wl_v_element", arguments)
        };
        let lane = match width {
            1 => Lane::Mask(Expr::call("wl_v_test", [short(), Expr::number("1u")])),
            2..=32 => Lane::Word(short()),
            _ => {
                let word = |at: usize| {
                    let at = Expr::number(at);
                    let arguments = [first.clone(), index.clone(), count.clone(), at, mask.clone()];
                    Expr::call("wl_q_element", arguments)
                };
                Lane::Quads((0..words).map(word).collect())
            }
        };
        self.named(lane, "reply")
    }

    /// Reads an element of an array; zero if there is none.
    fn element(
        &mut self,
        state: &StepState<'a>,
        op: &Op,
        slot: Expr,
        index: &Lane,
        words: usize,
    ) -> Option<Lane> {
        let width = state.width(*op.results.first()?);
        let inside = Expr::call("wl_lanes_inside", [slot.clone().address(), index.word()]);
        let inside = self.declare("wl_m", "inside", inside);
        let data = slot.member("data");
        Some(self.load_words(&data, &index.word(), words, width, inside))
    }

    /// Writes an operation other than a call.
    fn edit(&mut self, state: &mut StepState<'a>, op: &'a Op) -> Option<()> {
        if matches!(state.holds(op.guard), Holds::Never) {
            let zero = |value: &Value| (*value, Lane::Same(Bits::zero(state.width(*value))));
            let results: Vec<_> = op.results.iter().map(zero).collect();
            state.values.extend(results);
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
            // It would have to see what was written before.
            OpKind::ReadPacket { .. } if self.is_changed => {
                state.definitions.remove(&op.results[0]);
            }
            OpKind::WriteContext(id, value) => {
                let new = self.make(state, *value)?;
                let new = match (state.holds(op.guard), op.guard) {
                    (Holds::Sometimes, Some(guard)) => {
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

    /// Metadata; `None` if it is not known to the lanes.
    fn meta(&self, meta: Meta) -> Option<Lane> {
        match meta {
            Meta::Ingress => Some(Lane::Word(name("arrived").member("ingress"))),
            Meta::Length => Some(Lane::Word(self.length.clone())),
            Meta::Window => Some(Lane::Word(self.window.clone())),
            Meta::Egress => self.egress.clone(),
            Meta::Arrival => None,
        }
    }

    /// Notes an effect, whose operands are computed here.
    fn effect(&mut self, state: &mut StepState<'a>, op: &Op, kind: EffectKind) -> Option<()> {
        let guard = self.condition(state, op)?;
        self.effects.push(Effect { guard, kind });
        Some(())
    }

    /// The lanes to which an operation applies; `None` inside: to all.
    fn condition(&mut self, state: &mut StepState<'a>, op: &Op) -> Option<Option<Expr>> {
        match (state.holds(op.guard), op.guard) {
            (Holds::Sometimes, Some(guard)) => Some(Some(self.mask(state, guard)?.mask())),
            _ => Some(None),
        }
    }

    /// Cuts a packet off, which never makes it longer.
    fn truncate(&mut self, state: &mut StepState<'a>, op: &Op, length: Lane) -> Option<()> {
        let guard = self.condition(state, op)?;
        let length = self.named(length, "cut").word();
        for is_window in [false, true] {
            let old = if is_window { self.window.clone() } else { self.length.clone() };
            let least = Expr::call("wl_v_least", [old.clone(), length.clone()]);
            let new = match &guard {
                Some(guard) => Expr::call("wl_v_select", [guard.clone(), least, old]),
                None => least,
            };
            let new = self.declare("wl_v", if is_window { "window" } else { "length" }, new);
            *(if is_window { &mut self.window } else { &mut self.length }) = new;
        }
        if !self.is_changed {
            self.limit = self.window.clone();
            self.checked.clear();
        }
        let length = Lane::Word(length);
        self.effects.push(Effect { guard, kind: EffectKind::Truncate { length } });
        Some(())
    }

    /// Writes an insertion or a removal. Lanes in which it would fail leave.
    fn resize(
        &mut self,
        state: &mut StepState<'a>,
        op: &Op,
        offset: Value,
        count: Value,
        inserts: bool,
    ) -> Option<()> {
        let guard = self.condition(state, op)?;
        let (offset, count) = (self.make(state, offset)?, self.make(state, count)?);
        let (offset, count) = (self.named(offset, "offset"), self.named(count, "bytes"));
        let at_most = |a: Expr, b: Expr| Expr::call("wl_v_less_equal", [a, b]);
        let plus = |a: &Expr| a.clone().binary(Binary::Add, count.word());
        let both = |a: Expr, b: Expr| Expr::call("wl_m_and", [a, b]);
        let succeeds = if inserts {
            let window = at_most(plus(&self.window), constant(LONGEST_WINDOW));
            let length = at_most(plus(&self.length), constant(LONGEST));
            both(at_most(offset.word(), self.window.clone()), both(window, length))
        } else {
            at_most(plus(&offset.word()), self.window.clone())
        };
        let holds = guard.clone().unwrap_or_else(|| Expr::number("0xffff"));
        self.require(match &guard {
            Some(guard) => {
                Expr::call("wl_m_or", [succeeds, Expr::call("wl_m_not", [guard.clone()])])
            }
            None => succeeds,
        });
        let operator = if inserts { Binary::Add } else { Binary::Sub };
        let moved = Expr::call("wl_v_where", [holds.clone(), count.word()]);
        let moved = self.declare("wl_v", "moved", moved);
        let window = self.window.clone().binary(operator, moved.clone());
        self.window = self.declare("wl_v", "window", window);
        let length = self.length.clone().binary(operator, moved.clone());
        self.length = self.declare("wl_v", "length", length);
        self.is_changed = true;
        if let Some(result) = op.results.first() {
            let result_lane = match &guard {
                Some(guard) => Lane::Mask(guard.clone()),
                None => Lane::Same(Bits::bool(true)),
            };
            state.values.insert(*result, result_lane);
        }
        let kind = match inserts {
            true => EffectKind::Insert { offset, count, moved },
            false => EffectKind::Remove { offset, count, moved },
        };
        self.effects.push(Effect { guard, kind });
        Some(())
    }

    /// Returns a value, and writes what computes it if that is not done yet.
    fn make(&mut self, state: &mut StepState<'a>, value: Value) -> Option<Lane> {
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

    /// Reads a field of the packet as it arrived. Lanes whose window ends before byte `end` behind the
    /// base leave.
    fn field(&mut self, base: &Lane, bit: u32, width: u32, end: u32) -> Option<Lane> {
        // A constant base is added to the byte.
        let (key, offset) = match base {
            Lane::Same(at) => (Expr::number(0), at.low_u64() as u32),
            _ => (base.word(), 0),
        };
        self.field_behind(&key, 8 * offset + bit, width, end)
    }

    fn field_behind(&mut self, base: &Expr, bit: u32, width: u32, end: u32) -> Option<Lane> {
        let (from, to) = (bit / 8, (bit + width).div_ceil(8));
        if to - from > 8 {
            let is_whole = bit.is_multiple_of(8) && width.is_multiple_of(64);
            let low = if is_whole { 64 } else { 32 };
            let high = width - low;
            let parts = [
                (self.field_behind(base, bit, high, end)?, high),
                (self.field_behind(base, bit + high, low, end)?, low),
            ];
            return vector::concat(&parts);
        }
        // A load of eight bytes costs as much as one of four, and its other half may be needed too.
        let covers = |size: u32| {
            let aligned = from & !(size - 1);
            (aligned + size >= to && aligned + size <= end).then_some((aligned, size))
        };
        let shortest = if to - from <= 4 { 4 } else { 8 };
        let (start, size) = covers(8)
            .or_else(|| covers(shortest))
            .unwrap_or_else(|| (to.saturating_sub(shortest), shortest));
        let whole = self.bytes(base, start, size, end);
        let lo = 8 * (start + size) - (bit + width);
        let whole = if size == 4 { Lane::Word(whole) } else { Lane::Quads(vec![whole]) };
        vector::slice(&whole, 8 * size, lo, width)
    }

    /// Loads bytes of the packet as it arrived, in network order.
    fn bytes(&mut self, base: &Expr, start: u32, size: u32, end: u32) -> Expr {
        let end = end.max(start + size);
        let known = self.checked.iter().find(|(own, _)| own == base).map_or(0, |(_, end)| *end);
        if known < end {
            let needed = match base {
                Expr::Number(_) => constant(end),
                _ => base.clone().binary(Binary::Add, constant(end)),
            };
            self.require(Expr::call("wl_v_less_equal", [needed, self.limit.clone()]));
            self.checked.retain(|(own, _)| own != base);
            self.checked.push((base.clone(), end));
        }
        let same = |(own, at, bytes, _): &&(Expr, u32, u32, Expr)| {
            own == base && *at == start && *bytes == size
        };
        if let Some((.., loaded)) = self.loads.iter().find(same) {
            return loaded.clone();
        }
        let address = match self.addresses.iter().find(|(own, _)| own == base) {
            Some((_, address)) => address.clone(),
            None => {
                let offset = Expr::call("wl_q_of_v", [base.clone()]);
                let whole = self.addresses[0].1.clone();
                let at = Expr::call("wl_q_add", [whole, offset]);
                let at = self.declare("wl_q", "header", at);
                self.addresses.push((base.clone(), at.clone()));
                at
            }
        };
        let kind = if size == 4 { "v" } else { "q" };
        let load = [address, Expr::number(start), alive()];
        let load = Expr::call(format!("wl_{kind}_load"), load);
        let swapped = Expr::call(format!("wl_{kind}_swap"), [load]);
        let ty = if size == 4 { "wl_v" } else { "wl_q" };
        let loaded = self.declare(ty, "bytes", swapped);
        self.loads.push((base.clone(), start, size, loaded.clone()));
        loaded
    }
}

impl StepState<'_> {
    fn width(&self, value: Value) -> u32 {
        self.infos[value.index()].width
    }

    /// Whether an operation uses a value.
    fn is_used(&self, value: Value) -> bool {
        self.ops.iter().any(|op| op.guard == Some(value) || op.kind.operands().contains(&value))
    }

    /// The conditions that a guard asks for, each with its answer, if it asks for nothing else; those
    /// that another guard implies are left out.
    fn literals(&self, guard: Value, known: Option<Value>) -> Option<Vec<(Value, bool)>> {
        let truths = self.truths.as_ref()?;
        let always = vec![u64::MAX; truths.words];
        let known = match known {
            Some(known) => truths.known.get(&known)?,
            None => &always,
        };
        let own: Vec<u64> =
            truths.known.get(&guard)?.iter().zip(known).map(|(own, known)| own & known).collect();
        let implies = |cases: &[u64], condition: &[u64], holds: bool| {
            let flip = if holds { 0 } else { u64::MAX };
            cases.iter().zip(condition).all(|(case, condition)| case & !(condition ^ flip) == 0)
        };
        let mut rest = known.clone();
        let mut literals = Vec::new();
        for value in &truths.conditions {
            let condition = &truths.known[value];
            for holds in [true, false] {
                if implies(&own, condition, holds) && !implies(known, condition, holds) {
                    let flip = if holds { 0 } else { u64::MAX };
                    rest.iter_mut().zip(condition).for_each(|(rest, c)| *rest &= c ^ flip);
                    literals.push((*value, holds));
                }
            }
        }
        (rest == own).then_some(literals)
    }

    fn holds(&self, guard: Option<Value>) -> Holds {
        let Some(guard) = guard else { return Holds::Always };
        if self.exit == Some(guard) {
            return Holds::Always;
        }
        let Some(exit) = self.exit else { return Holds::Sometimes };
        let truths = self.truths.as_ref();
        let both = truths.and_then(|all| Some((all.known.get(&exit)?, all.known.get(&guard)?)));
        let Some((exit, guard)) = both else { return Holds::Sometimes };
        let mut pairs = exit.iter().zip(guard);
        if pairs.clone().all(|(exit, guard)| exit & guard == 0) {
            Holds::Never
        } else if pairs.all(|(exit, guard)| exit & !guard == 0) {
            Holds::Always
        } else {
            Holds::Sometimes
        }
    }
}

impl Search<'_> {
    fn is_short(&self) -> bool {
        SHORT_KEYS.contains(&self.key_width)
    }

    /// The number of accesses that have a wait of their own after that of the direct entry. For IPv6 these
    /// are enough for prefixes of 48 bits.
    fn walks(&self) -> usize {
        if self.is_short() { 2 } else { 5 }
    }

    /// Bits of the key, which is aligned to the upper end, as an index.
    fn chunk(&self, at: u32, count: u32) -> Option<Expr> {
        let (key, width) = (&self.key, self.key_width);
        let chunk = if at + count <= width {
            vector::slice(key, width, width - at - count, count)?
        } else if at < width {
            let inside = width - at;
            let bits = vector::slice(key, width, 0, inside)?;
            vector::concat(&[
                (bits, inside),
                (Lane::Same(Bits::zero(count - inside)), count - inside),
            ])?
        } else {
            Lane::Same(Bits::zero(count))
        };
        Some(chunk.word())
    }
}

/// The offloads' slots.
pub fn slots() -> Expr {
    name("m").arrow("machine").member("slots")
}

/// Whether an exit leads to another step, further on.
pub fn leads_on(op: &Op, from: usize) -> Option<usize> {
    match &op.kind {
        OpKind::Exit(Exit::Next(to)) if to.index() > from => Some(to.index()),
        _ => None,
    }
}
