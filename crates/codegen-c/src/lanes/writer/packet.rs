//! The packet in lanes: its fields as it arrived, its length, and the operations that change the
//! length.

use wireloom_bits::Bits;
use wireloom_ir::{Meta, Op, Value};

use super::state::StepState;
use super::{Effect, EffectKind, LONGEST, LONGEST_WINDOW, Writer, alive, constant, name};
use crate::lanes::vector::{self, Lane};
use crate::tree::{Binary, Expr};

impl<'a> Writer<'a> {
    /// Returns metadata. Returns `None` for metadata that lanes do not know.
    pub(super) fn meta(&self, meta: Meta) -> Option<Lane> {
        match meta {
            Meta::Ingress => Some(Lane::Word(name("arrived").member("ingress"))),
            Meta::Length => Some(Lane::Word(self.length.clone())),
            Meta::Window => Some(Lane::Word(self.window.clone())),
            Meta::Egress => self.egress.clone(),
            Meta::Arrival => None,
        }
    }

    /// Truncates a packet. That never makes it longer.
    pub(super) fn truncate(
        &mut self,
        state: &mut StepState<'a, '_>,
        op: &Op,
        length: Lane,
    ) -> Option<()> {
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

    /// Writes an insertion or a removal. Lanes in which it would fail leave the way.
    pub(super) fn resize(
        &mut self,
        state: &mut StepState<'a, '_>,
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
        let window = self.window.clone();
        let longer = window.clone().binary(operator, moved.clone());
        self.window = self.declare("wl_v", "window", longer);
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
            true => EffectKind::Insert { offset, count, moved, window },
            false => EffectKind::Remove { offset, count, moved },
        };
        self.effects.push(Effect { guard, kind });
        Some(())
    }

    /// Reads a field of the packet as it arrived. A lane leaves the way if its window has fewer
    /// than `end` bytes from the base on (from the beginning of the packet, if the base is a
    /// constant).
    pub(super) fn field(&mut self, base: &Lane, bit: u32, width: u32, end: u32) -> Option<Lane> {
        // A constant base is added to the byte offset.
        let (key, offset) = match base {
            Lane::Same(at) => (Expr::number(0), at.low_u64() as u32),
            _ => (base.word(), 0),
        };
        self.field_behind(&key, 8 * offset + bit, width, end)
    }

    fn field_behind(&mut self, base: &Expr, bit: u32, width: u32, end: u32) -> Option<Lane> {
        // Wide fields are split, from the least significant end, into parts that one load covers.
        let mut parts = Vec::new();
        let mut high = width;
        while (bit + high).div_ceil(8) - bit / 8 > 8 {
            let is_whole = bit.is_multiple_of(8) && high.is_multiple_of(64);
            let low = if is_whole { 64 } else { 32 };
            high -= low;
            parts.push((self.part(base, bit + high, low, end)?, low));
        }
        parts.push((self.part(base, bit, high, end)?, high));
        parts.reverse();
        vector::concat(&parts)
    }

    /// Reads a field that lies within eight bytes.
    fn part(&mut self, base: &Expr, bit: u32, width: u32, end: u32) -> Option<Lane> {
        let (from, to) = (bit / 8, (bit + width).div_ceil(8));
        // A load of eight bytes costs as much as a load of four, and its other half may be needed
        // too.
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
