//! The reasons for which a program drops packets or hands them to the control processor.

use wireloom_codegen_hardware::core::RUNAWAY;
use wireloom_ir::{Exit, OpKind, Program, Reason, ReasonSetId, Step, Value};
use wireloom_machine::reason_name;

/// A reason with a counter.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Counted {
    /// Whether packets go to the control processor. Otherwise they are dropped.
    pub(super) to_cpu: bool,
    /// The reason in the encoding of the engine: the enumeration in bits 23:16 and the value in
    /// bits 15:0.
    pub(super) code: u32,
    /// The name in reports.
    pub(super) name: String,
}

/// Returns the reasons in the main engine of a program, drops first, in the order of their codes.
pub(super) fn of_program(program: &Program) -> Vec<Counted> {
    let mut found =
        vec![Counted { to_cpu: false, code: RUNAWAY, name: reason_name(program, Reason::Runaway) }];
    for step in &program.engines[program.main.index()].steps {
        step.for_each_op(|op| {
            let (to_cpu, value, set) = match op.kind {
                OpKind::Exit(Exit::Drop(value, set)) => (false, value, set),
                OpKind::Exit(Exit::ToCpu(value, set)) => (true, value, set),
                _ => return,
            };
            let counted = |number: u16| Counted {
                to_cpu,
                code: set.0 << 16 | u32::from(number),
                name: reason_name(program, Reason::Program(set, number)),
            };
            found.extend(numbers(program, step, value, set).into_iter().map(counted));
        });
    }
    found.sort();
    found.dedup();
    found
}

/// Returns the numbers that a value can have: its constants or, if it is computed, all members of
/// the set.
fn numbers(program: &Program, step: &Step, value: Value, set: ReasonSetId) -> Vec<u16> {
    let mut numbers = Vec::new();
    if !constants(step, value, &mut numbers) {
        let members = &program.reasons[set.index()].members;
        numbers = members.iter().filter_map(|(number, _)| u16::try_from(*number).ok()).collect();
    }
    numbers
}

/// Collects the constants among which a value is chosen. Returns whether the value is always one of
/// them.
fn constants(step: &Step, value: Value, found: &mut Vec<u16>) -> bool {
    let mut kind = None;
    step.for_each_op(|op| {
        if op.results.contains(&value) {
            kind = Some(op.kind.clone());
        }
    });
    match kind {
        Some(OpKind::Const(bits)) => {
            found.push(bits.low_u64() as u16);
            true
        }
        Some(OpKind::Select(_, then, otherwise)) => {
            constants(step, then, found) && constants(step, otherwise, found)
        }
        Some(OpKind::Extend(inner)) => constants(step, inner, found),
        _ => false,
    }
}
