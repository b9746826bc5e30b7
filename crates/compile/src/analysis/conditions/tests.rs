//! Random conditions against all assignments of the bits that they are made of.

use std::collections::HashMap;

use wireloom_ir::builder::{EngineBuilder, program_of};
use wireloom_ir::{BinaryOp, Exit, OpKind, Step, UnaryOp, Value};

use super::super::Definitions;
use super::{Comparisons, Holds, exits};

const BITS: u32 = 5;

/// Pseudo-random numbers (xorshift).
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % limit as u64) as usize
    }
}

/// Returns a step whose exits have random conditions of `BITS` bits of the packet as guards. The last
/// exit has none.
fn step(random: &mut Random, dropped: usize) -> Step {
    let mut engine = EngineBuilder::packet("e");
    engine.step("only", |s| {
        let zero = s.constant(16, 0);
        let mut values: Vec<Value> = (0..BITS).map(|bit| s.read_packet(zero, bit, 1)).collect();
        for _ in 0..12 {
            let [a, b] = [0; 2].map(|_| values[random.below(values.len())]);
            values.push(match random.below(3) {
                0 => s.unary(UnaryOp::Not, a),
                1 => s.binary(BinaryOp::And, a, b),
                _ => s.binary(BinaryOp::Or, a, b),
            });
        }
        for _ in 0..dropped {
            let guard = values[random.below(values.len())];
            s.when(guard).exit(Exit::Done);
        }
        s.exit(Exit::Finish);
    });
    program_of(engine).engines[0].steps[0].clone()
}

/// Returns the bit of each one-bit value if the packet's first bits are these.
fn assigned(step: &Step, bits: u32) -> HashMap<Value, bool> {
    let mut known: HashMap<Value, bool> = HashMap::new();
    for op in step.ops() {
        let bit = match &op.kind {
            OpKind::ReadPacket { bit, .. } => bits >> bit & 1 == 1,
            OpKind::Unary(UnaryOp::Not, a) => !known[a],
            OpKind::Binary(BinaryOp::And, a, b) => known[a] && known[b],
            OpKind::Binary(BinaryOp::Or, a, b) => known[a] || known[b],
            _ => continue,
        };
        known.insert(op.results[0], bit);
    }
    known
}

#[test]
fn what_follows_where_an_exit_is_taken_is_true_for_all_packets_that_take_it() {
    let mut random = Random(7);
    let (mut followed, mut determined) = (0, 0);
    for _ in 0..300 {
        let step = step(&mut random, 3);
        let definitions = Definitions::of(&step);
        let exits: Vec<(usize, Option<Value>)> = (step.ops().enumerate())
            .filter(|(_, op)| matches!(op.kind, OpKind::Exit(_)))
            .map(|(at, op)| (at, op.guard))
            .collect();
        for (number, (at, guard)) in exits.iter().enumerate() {
            let takes = |known: &HashMap<Value, bool>| {
                guard.is_none_or(|guard| known[&guard])
                    && exits[..number].iter().all(|(_, guard)| guard.is_some_and(|g| !known[&g]))
            };
            let all = (0..1 << BITS).map(|bits| assigned(&step, bits));
            let taking: Vec<_> = all.filter(takes).collect();
            let holds = exits::taken(&step, &definitions, *at);
            if holds.is_contradictory() {
                assert!(taking.is_empty(), "packets take the exit at {at}");
                continue;
            }
            let Some(first) = taking.first() else { continue };
            for (value, bit) in first {
                let is_determined = taking.iter().all(|known| known[value] == *bit);
                determined += usize::from(is_determined);
                if let Some(known) = holds.bit(*value) {
                    assert!(is_determined && known == *bit, "{value:?} is not always {known}");
                    followed += 1;
                }
            }
        }
    }
    // Nearly all that is determined is found.
    assert!(followed * 100 > determined * 95, "{followed} of {determined}");
}

#[test]
fn an_assumption_that_no_packet_meets_is_a_contradiction() {
    let mut random = Random(11);
    let mut impossible = 0;
    for _ in 0..300 {
        let step = step(&mut random, 0);
        let definitions = Definitions::of(&step);
        let all: Vec<_> = (0..1 << BITS).map(|bits| assigned(&step, bits)).collect();
        let values: Vec<Value> = {
            let mut values: Vec<Value> = all[0].keys().copied().collect();
            values.sort_unstable();
            values
        };
        let mut holds = Holds::new(&definitions, []);
        holds.probe(&values);
        for value in values {
            for bit in [false, true] {
                let is_possible = all.iter().any(|known| known[&value] == bit);
                let assumed = holds.clone().assume(value, bit);
                assert!(assumed || !is_possible, "{value:?} can be {bit}");
                impossible += usize::from(!assumed);
            }
        }
    }
    assert!(impossible > 20, "{impossible}");
}

#[test]
fn a_value_that_equals_a_constant_decides_its_other_comparisons() {
    let mut engine = EngineBuilder::packet("e");
    let mut all = Vec::new();
    engine.step("only", |s| {
        let zero = s.constant(16, 0);
        let [value, other] = [0, 8].map(|bit| s.read_packet(zero, bit, 8));
        let [two, five] = [2, 5].map(|number| s.constant(8, number));
        all = vec![
            s.binary(BinaryOp::Eq, value, five),
            s.binary(BinaryOp::Eq, two, value),
            s.binary(BinaryOp::Ne, value, two),
            s.binary(BinaryOp::Ult, value, two),
            s.binary(BinaryOp::Ule, two, value),
            s.binary(BinaryOp::Eq, other, five),
        ];
        s.exit(Exit::Finish);
    });
    let program = program_of(engine);
    let definitions = Definitions::of(&program.engines[0].steps[0]);
    let decided = |comparison: Value, bit: bool| -> Vec<Option<bool>> {
        let mut known = Comparisons::default();
        known.learn(&definitions, comparison, bit);
        all.iter().map(|value| known.decide(&definitions, *value)).collect()
    };
    let yes = [None, Some(false), Some(true), Some(false), Some(true), None];
    assert_eq!(decided(all[0], true), yes);
    // It differs from 5, or is less than 2: that alone decides nothing.
    assert_eq!(decided(all[0], false), [None; 6]);
    assert_eq!(decided(all[3], true), [None; 6]);
}
