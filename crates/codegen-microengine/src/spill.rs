//! Values without a register, which are spilled to the frame or to local memory.

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use wireloom_ir::{BinaryOp, Op, OpKind, Value};

use super::lower::{Lower, Place};
use super::operand::{Operand, Register};
use super::spill_slots::LOCAL;
use super::words::{self, MOST, is_wide};

impl Lower<'_> {
    /// Spills the values that are used last, so that registers suffice for the operands and results
    /// of the operation and for `more` other words.
    pub(super) fn make_room(&mut self, op: &Op, more: usize) {
        let now: Vec<Value> = op.kind.operands().into_iter().chain(op.guard).collect();
        let kept = Place::registers;
        let narrow = op.results.iter().filter(|value| !is_wide(self.width(**value)));
        let coming: usize = narrow.map(|value| words::count(self.width(*value))).sum();
        let loaded = now
            .iter()
            .filter(|value| self.values.get(value).is_some_and(|place| place.words.is_none()))
            .filter(|value| !is_wide(self.width(**value)));
        let loaded: usize = loaded.map(|value| words::count(self.width(*value))).sum();
        loop {
            let all: usize = self.values.values().map(kept).sum();
            if all + coming + loaded + more <= self.kept {
                return;
            }
            let next = |value: &Value| {
                let uses = &self.uses[value];
                uses.iter().copied().find(|used| *used > self.at).unwrap_or(usize::MAX)
            };
            let spare =
                self.values.iter().filter(|(value, place)| !now.contains(value) && kept(place) > 0);
            let Some(value) = spare.map(|(value, _)| *value).max_by_key(|v| (next(v), v.index()))
            else {
                return;
            };
            self.put_away(value);
        }
    }

    /// Spills every value that an operation reads or that is needed after it, since a routine keeps
    /// no register.
    pub(super) fn put_all_away(&mut self, op: &Op) {
        let now = op.kind.operands();
        let mut all: Vec<Value> = self.values.keys().copied().collect();
        all.sort_unstable_by_key(|value| value.index());
        for value in all {
            let words = self.values.get(&value).and_then(|place| place.words.clone());
            let Some(words) = words else { continue };
            let is_constant = words.iter().all(|word| matches!(word, Operand::Number(_)));
            let is_needed = now.contains(&value)
                || self.uses.get(&value).is_some_and(|uses| uses.iter().any(|at| *at > self.at));
            if is_constant || !is_needed && op.guard != Some(value) {
                continue;
            }
            if is_needed {
                self.put_away(value);
            }
            // The guard is read before any routine is called.
            if op.guard == Some(value)
                && let Some(place) = self.values.get_mut(&value)
            {
                place.words = Some(words);
            }
        }
    }

    /// Forgets the registers of all values except the results of an operation.
    pub(super) fn forget_registers(&mut self, op: &Op) {
        for (value, place) in &mut self.values {
            let words = place.words.as_ref().map_or(&[][..], Vec::as_slice);
            let is_constant = words.iter().all(|word| matches!(word, Operand::Number(_)));
            if !is_constant && !op.results.contains(value) {
                place.words = None;
            }
        }
    }

    /// Returns whether an operation calls a routine, which leaves no register as it was.
    pub(super) fn is_far(&self, op: &Op) -> bool {
        match &op.kind {
            OpKind::Binary(BinaryOp::Mul | BinaryOp::Udiv | BinaryOp::Urem, ..)
            | OpKind::Insert { .. }
            | OpKind::Reset { .. } => true,
            OpKind::Remove { offset, .. } => self.constant(*offset) != Some(0),
            OpKind::Exit(_) => false,
            OpKind::Call { offload, .. } | OpKind::Evaluate { offload, .. } => {
                let called = self.layout.kinds.called(self.engine, op);
                let keeps_registers =
                    called.is_some_and(|(kind, method)| kind.keeps_registers(method));
                self.order.gate(offload.index()).is_some() || !keeps_registers
            }
            _ => false,
        }
    }

    /// Returns whether an operation calls a routine for few packets only, and changes the places of
    /// bytes of the packet. Registers are spilled only around the routine then.
    pub(super) fn restores(&self, op: &Op) -> bool {
        let resizes =
            matches!(op.kind, OpKind::Insert { .. } | OpKind::Remove { .. } | OpKind::Reset { .. });
        resizes
            && op.guard.is_some()
            && op.results.iter().all(|result| !is_wide(self.width(*result)))
    }

    /// Spills all values until [`Self::restore`]. Returns their places before.
    pub(super) fn save(&mut self, op: &Op) -> HashMap<Value, Place> {
        let before = self.values.clone();
        self.put_all_away(op);
        before
    }

    /// Reads the values that are needed later back into their registers.
    pub(super) fn restore(&mut self, before: HashMap<Value, Place>) {
        let now = std::mem::replace(&mut self.values, before);
        let mut words: Vec<(u32, Register)> = Vec::new();
        for (value, place) in now {
            let Some(was) = self.values.get(&value) else { continue };
            if let (Some(slot), Some(registers)) = (place.slot, &was.words) {
                let own = (slot..).zip(registers).filter_map(|(word, register)| match register {
                    Operand::Register(register) => Some((word, *register)),
                    _ => None,
                });
                words.extend(own);
            }
            if let (Some(own), None) = (&place.own, &was.own) {
                self.room.free(own);
            }
        }
        // A register may hold several values.
        words.sort_unstable();
        let mut seen = HashSet::new();
        words.retain(|(_, register)| seen.insert(*register));
        for part in words.chunk_by(|(a, _), (b, _)| a + 1 == *b).flat_map(|part| part.chunks(8)) {
            let first = part[0].0;
            if self.homes.local(first).is_some() {
                let read = self.load(first, part.len());
                for ((_, register), word) in part.iter().zip(read) {
                    self.code.set(*register, word.into());
                }
                continue;
            }
            let read = self.state.fetch(self.code, first, part.len() as u32);
            for (transfer, (_, register)) in (read..).zip(part) {
                self.code.set(*register, Operand::Transfer(transfer));
            }
        }
    }

    fn put_away(&mut self, value: Value) {
        let Some(place) = self.values.get_mut(&value) else { return };
        let Some(words) = place.words.take() else { return };
        if place.slot.is_some() {
            return;
        }
        let own = self.take(words.len());
        let first = own.start;
        if let Some(place) = self.values.get_mut(&value) {
            place.slot = Some(first);
            place.own = Some(own);
        }
        self.store(first, &words);
    }

    /// Takes consecutive words for a value.
    pub(super) fn take(&mut self, count: usize) -> Range<u32> {
        let own = self.room.take(self.homes, count as u32, count <= MOST);
        if own.start < LOCAL {
            *self.most = (*self.most).max(own.end);
        }
        own
    }
}
