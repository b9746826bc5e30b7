//! The state of the step that is being written.

use std::collections::HashMap;

use wireloom_bits::Bits;
use wireloom_ir::{Op, Value, ValueInfo};

use crate::exits::Tables;
use crate::lanes::vector::Lane;

/// Whether a guard holds in the lanes that stay on the way.
pub(super) enum Holds {
    Always,
    Never,
    Sometimes,
}

/// The state of the step that is being written.
pub(super) struct StepState<'a> {
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
    pub(super) truths: Option<Tables>,
    /// Conditions that have the given value in all live lanes.
    pub(super) narrowed: Vec<(Value, bool)>,
    /// The lanes in which guards hold.
    pub(super) masks: HashMap<Value, Lane>,
}

impl StepState<'_> {
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
    /// is a conjunction of conditions. Conditions that the guard `known` implies are left out. So
    /// are conditions of later operations, since they would read the packet before it changes.
    pub(super) fn literals(
        &self,
        guard: Value,
        known: Option<Value>,
    ) -> Option<Vec<(Value, bool)>> {
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
        let is_known = |value: &&Value| {
            self.values.contains_key(value) || self.definitions.contains_key(value)
        };
        for value in truths.conditions.iter().filter(is_known) {
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

    pub(super) fn holds(&self, guard: Option<Value>) -> Holds {
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
