//! The state of the step that is being written.

use std::collections::HashMap;

use wireloom_bits::Bits;
use wireloom_compile::analysis::conditions::Holds;
use wireloom_ir::{Op, Value, ValueInfo};

use crate::exits::Conditions;
use crate::lanes::vector::Lane;

/// In which of the lanes that stay on the way an operation happens.
pub(super) enum Applies {
    Always,
    Never,
    Sometimes,
}

/// The state of the step that is being written.
pub(super) struct StepState<'a, 'd> {
    pub(super) values: HashMap<Value, Lane>,
    /// The operations up to the current one, by the values that they compute.
    pub(super) definitions: HashMap<Value, &'a Op>,
    pub(super) ops: Vec<&'a Op>,
    pub(super) infos: &'a [ValueInfo],
    /// For each base that is not a constant, the number of bytes from there that the step reads.
    pub(super) ends: HashMap<Value, u32>,
    /// The number of bytes from the beginning of the packet that the step reads at constant bases.
    pub(super) end: u32,
    pub(super) exit: Option<Value>,
    /// The facts that hold for every packet, and for packets that take the exit.
    pub(super) any: Holds<'d>,
    pub(super) taken: Holds<'d>,
    /// The conditions of guards, if they can be compared.
    pub(super) conditions: Option<Conditions>,
    /// Conditions that have the given value in all live lanes.
    pub(super) narrowed: Vec<(Value, bool)>,
    /// The lanes in which guards hold.
    pub(super) masks: HashMap<Value, Lane>,
}

impl StepState<'_, '_> {
    /// Records that an operation does not happen: its results are zero.
    pub(super) fn never(&mut self, op: &Op) {
        for value in &op.results {
            self.values.insert(*value, Lane::Same(Bits::zero(self.width(*value))));
        }
    }

    pub(super) fn width(&self, value: Value) -> u32 {
        self.infos[value.index()].width
    }

    /// Returns whether an operation uses a value.
    pub(super) fn is_used(&self, value: Value) -> bool {
        self.ops.iter().any(|op| op.guard == Some(value) || op.kind.operands().contains(&value))
    }

    /// Returns the conditions that a guard consists of, each with its required value, if the guard
    /// is a conjunction of conditions. Conditions that follow from `known` are left out. So
    /// are conditions of later operations, since they would read the packet before it changes.
    pub(super) fn literals(&self, guard: Value, known: &Holds<'_>) -> Option<Vec<(Value, bool)>> {
        let conditions = self.conditions.as_ref()?;
        let mut own = known.clone();
        own.extend([(guard, true)]);
        let mut rest = known.clone();
        let mut literals = Vec::new();
        let is_known = |value: &&Value| {
            self.values.contains_key(value) || self.definitions.contains_key(value)
        };
        for value in conditions.single.iter().filter(is_known) {
            for bit in [true, false] {
                if own.must(*value, bit) && !known.must(*value, bit) {
                    rest.extend([(*value, bit)]);
                    literals.push((*value, bit));
                }
            }
        }
        rest.must(guard, true).then_some(literals)
    }

    /// Returns in which of the lanes on the way an operation with a guard happens.
    pub(super) fn applies(&self, guard: Option<Value>) -> Applies {
        let Some(guard) = guard else { return Applies::Always };
        if self.exit == Some(guard) {
            Applies::Always
        } else if self.exit.is_none() || self.conditions.is_none() {
            Applies::Sometimes
        } else if self.taken.must(guard, false) {
            Applies::Never
        } else if self.taken.must(guard, true) {
            Applies::Always
        } else {
            Applies::Sometimes
        }
    }
}
