//! Writes the calls of a step: the fetches, the waits, and the replies.

use wireloom_bits::Bits;
use wireloom_ir::{OffloadId, OffloadTarget, Op, OpKind};
use wireloom_offloads::lpm::{DIRECT_BITS, SHORT_KEYS, STRIDE};
use wireloom_offloads::{Config, registry};

use super::state::{Applies, StepState};
use super::{EffectKind, Writer, alive, slots};
use crate::calls::split_phase;
use crate::kinds::{self, InLanes};
use crate::lanes::vector::{self, Lane};
use crate::tree::{Expr, Stmt};

/// A search in a prefix table that has begun.
struct Search<'a> {
    op: &'a Op,
    slot: Expr,
    key: Lane,
    key_width: u32,
    state: String,
}

impl<'a> Writer<'a> {
    /// Writes the calls of a step: the fetches, the waits, and the replies.
    pub(super) fn requests(&mut self, state: &mut StepState<'a, '_>, ops: &'a [Op]) -> Option<()> {
        let mut searches = Vec::new();
        let mut reads = Vec::new();
        let mut pauses = 0;
        for op in ops {
            let OpKind::Call { offload, method, args } = &op.kind else {
                self.edit(state, op)?;
                continue;
            };
            match state.applies(op.guard) {
                Applies::Never => {
                    state.never(op);
                    continue;
                }
                Applies::Always => {
                    if let Some(guard) = op.guard {
                        self.narrow(state, guard)?;
                    }
                }
                Applies::Sometimes => {}
            }
            let config = self.config(*offload)?;
            let called = &registry::kind(&config.kind)?.methods[*method];
            let slot = self.engine.slot(*offload);
            let place = slots().at(slot);
            let is_far = split_phase(self.engine.engine, &op.kind).is_some();
            let key = self.make(state, *args.first()?)?;
            let key_width = state.width(args[0]);
            match kinds::in_lanes(config, called)? {
                InLanes::Search => {
                    let search = self.begin(op, slot, key, key_width)?;
                    pauses = pauses.max(search.walks() + 1);
                    searches.push(search);
                }
                form @ (InLanes::Read { words } | InLanes::Count { words }) if key_width <= 32 => {
                    let index = self.named(key, "index");
                    if is_far {
                        pauses = pauses.max(1);
                        let arguments =
                            [place.clone().address(), index.word(), Expr::number(words)];
                        self.line(None, Stmt::call("wl_lanes_element_fetch", arguments));
                    }
                    if matches!(form, InLanes::Read { .. }) {
                        let arguments = [place.clone().address(), Expr::number(words)];
                        self.need(Expr::call("wl_lanes_can_read", arguments));
                        reads.push((op, place, index, words));
                    } else {
                        let bytes = self.make(state, args[1])?;
                        let bytes = self.named(bytes, "bytes");
                        self.effect(state, op, EffectKind::Count { slot, index, bytes })?;
                    }
                }
                InLanes::Truncate if op.results.iter().all(|r| !state.is_used(*r)) => {
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

    /// Records the reply of a call, which is zero where its guard does not hold.
    fn reply(&mut self, state: &mut StepState<'a, '_>, op: &Op, reply: Lane) -> Option<()> {
        let [result] = op.results[..] else { return Some(()) };
        let reply = match (state.applies(op.guard), op.guard) {
            (Applies::Sometimes, Some(guard)) => {
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

    /// Advances a search from one access to the next.
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

    /// Returns the value that a search found.
    fn found(&mut self, state: &StepState<'a, '_>, search: &Search<'_>) -> Option<Lane> {
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

    /// Reads an element of an array. The result is zero if the index is out of range.
    fn element(
        &mut self,
        state: &StepState<'a, '_>,
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
}

impl Search<'_> {
    fn is_short(&self) -> bool {
        SHORT_KEYS.contains(&self.key_width)
    }

    /// Returns the number of accesses with a separate wait, after the direct entry's. For IPv6
    /// these suffice for prefixes of 48 bits.
    fn walks(&self) -> usize {
        if self.is_short() { 2 } else { 5 }
    }

    /// Returns bits of the key, which is aligned to the upper end, as an index.
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
