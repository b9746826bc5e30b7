//! Fields at an offset that depends on the packet. Fields with the same offset are taken from the
//! same words, which are read and aligned once.

use wireloom_ir::{Op, OpKind, Value};

use super::lower::{Group, Lower, Place};
use super::operand::Operand;
use super::words::{self, Words};

/// The most aligned words of a group. One more is read to align them.
const MOST: u32 = 7;

/// Words that a group would contain.
#[derive(Clone, Debug)]
pub struct Planned {
    base: Value,
    first: u32,
    count: u32,
    /// The positions of the operations that read the words.
    uses: Vec<usize>,
}

impl Planned {
    /// Returns the number of registers that they take.
    pub fn count(&self) -> usize {
        self.count as usize
    }
}

impl Lower<'_> {
    /// Returns whether an operation may change bytes of the header window.
    fn changes_window(&self, op: &Op) -> bool {
        match &op.kind {
            OpKind::WritePacket { .. }
            | OpKind::Insert { .. }
            | OpKind::Remove { .. }
            | OpKind::Reset { .. } => true,
            _ => self
                .layout
                .kinds
                .called(self.engine, op)
                .is_some_and(|(kind, method)| kind.changes_window(method)),
        }
    }

    /// Drops the groups whose words an operation may have changed.
    pub(super) fn keep_groups(&mut self, op: &Op) {
        if self.changes_window(op) {
            self.groups.clear();
        }
    }

    /// Returns the group to read for an operation. There is one if the operation reads a field that
    /// no group has, and later operations read fields at the same offset.
    pub(super) fn planned(&self, op: &Op) -> Option<Planned> {
        let OpKind::ReadPacket { base, bit } = op.kind else { return None };
        let width = self.width(*op.results.first()?);
        if self.field(base, bit, width).is_some() || self.group(base, bit, width).is_some() {
            return None;
        }
        let (mut first, mut end) = (bit & !7, bit + width);
        if (end - first).div_ceil(32) > MOST {
            return None;
        }
        let mut uses = vec![self.at];
        for (at, op) in self.ops.iter().enumerate().skip(self.at + 1) {
            if self.changes_window(op) {
                break;
            }
            let OpKind::ReadPacket { base: other, bit } = op.kind else { continue };
            if other != base {
                continue;
            }
            let width = op.results.first().map_or(0, |value| self.width(*value));
            let (low, high) = (first.min(bit & !7), end.max(bit + width));
            if (high - low).div_ceil(32) <= MOST {
                (first, end) = (low, high);
                uses.push(at);
            }
        }
        let count = (end - first).div_ceil(32);
        (uses.len() > 1).then_some(Planned { base, first, count, uses })
    }

    /// Reads and aligns the words of a group.
    pub(super) fn read_group(&mut self, planned: Planned) {
        let Planned { base, first, count, uses } = planned;
        let most = self.most(base);
        let offset = self.get(base)[0];
        let aligned = self.state.read(self.code, offset, most, first, 32 * count);
        let words = aligned.into_iter().rev().map(|word| {
            let value = Value(self.step.values.len() as u32 + self.made);
            self.made += 1;
            self.uses.insert(value, uses.clone());
            self.values.insert(value, Place { words: Some(vec![word]), ..Place::default() });
            value
        });
        let words = words.collect();
        self.groups.push(Group { base, first, words });
    }

    fn group(&self, base: Value, bit: u32, width: u32) -> Option<&Group> {
        self.groups.iter().find(|group| {
            let end = group.first + 32 * group.words.len() as u32;
            group.base == base
                && group.first <= bit
                && bit + width <= end
                && group.words.iter().all(|word| self.values.contains_key(word))
        })
    }

    /// Reads a field from the words of a group that has it.
    pub(super) fn field_of_group(&mut self, base: Value, bit: u32, width: u32) -> Option<Words> {
        let group = self.group(base, bit, width)?;
        let from = (bit - group.first) / 32;
        let to = (bit + width - group.first).div_ceil(32);
        let parts: Vec<Value> = group.words[from as usize..to as usize].to_vec();
        let lo = group.first + 32 * to - bit - width;
        let words: Vec<Operand> = parts.iter().rev().map(|part| self.get(*part)[0]).collect();
        Some(words::slice(self.code, &words, lo, width))
    }
}
