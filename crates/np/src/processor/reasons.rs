//! The reasons for which a program drops packets or hands them to the control processor. Each
//! reason has a counter; the counters come after the statistics (`wl_reasons`).

use serde::Serialize;
use wireloom_bits::Bits;
use wireloom_codegen_hardware::core::RUNAWAY;
use wireloom_codegen_hardware::sv::short::{clocked, int, name};
use wireloom_codegen_hardware::sv::{Expr, Item};
use wireloom_ir::{Exit, OpKind, Program, Reason, ReasonSetId, Step, Value};
use wireloom_machine::reason_name;

use super::plan::Plan;
use super::wires::{bits, vector};

/// The most counters of `wl_statistics`.
const MOST_COUNTERS: usize = 512;

/// A counter of packets that are dropped or handed to the control processor.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ReasonCounter {
    /// Address of the counter in control target 0.
    pub address: usize,
    /// `drop` or `cpu`.
    pub verdict: &'static str,
    /// The name of the reason in the program, as reports show it; `None` for the common counter of
    /// all other reasons.
    pub reason: Option<String>,
    /// The enumeration of reasons in bits 23:16 and the reason's value in bits 15:0, as in `tuser`
    /// and `event_o`. 0xff0000 stands for a thread that jumped back too often.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code: Option<u32>,
}

impl ReasonCounter {
    /// Describes the packets that are counted.
    pub fn describe(&self) -> String {
        let what = if self.verdict == DROP {
            "packets dropped"
        } else {
            "packets to the control processor"
        };
        match &self.reason {
            Some(reason) => format!("{what}: {reason}"),
            None => format!("{what}: other reasons"),
        }
    }
}

const DROP: &str = "drop";
const CPU: &str = "cpu";

/// A reason with a counter.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Counted {
    /// Whether packets go to the control processor. Otherwise they are dropped.
    to_cpu: bool,
    /// The reason in the encoding of the engine, like [`ReasonCounter::code`].
    code: u32,
    /// The name in reports.
    name: String,
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

impl Plan {
    /// Returns the counters of reasons: one for each reason, and at the end the counters of all
    /// others.
    pub fn reason_counters(&self) -> Vec<ReasonCounter> {
        let verdict = |to_cpu| if to_cpu { CPU } else { DROP };
        let own = self.counted_reasons().iter().map(|counted| {
            (verdict(counted.to_cpu), Some(counted.name.clone()), Some(counted.code))
        });
        let others = [(DROP, None, None), (CPU, None, None)];
        let first = super::memory_map::counters_before_reasons(self);
        own.chain(others)
            .enumerate()
            .map(|(index, (verdict, reason, code))| ReasonCounter {
                address: first + index,
                verdict,
                reason,
                code,
            })
            .collect()
    }

    /// Returns the reasons that have counters, limited by the room for counters.
    fn counted_reasons(&self) -> &[Counted] {
        let room = MOST_COUNTERS - 2 - super::memory_map::counters_before_reasons(self);
        &self.reasons[..self.reasons.len().min(room)]
    }

    /// Returns the bits of a counter's increment in a cycle.
    pub(super) fn increment_bits(&self) -> usize {
        bits(self.machine.lanes() + 1) as usize
    }
}

/// Returns the template that counts reasons, and the net of the increments. `sent` tells which
/// lanes send a packet, `user` holds their `tuser`.
pub(super) fn items(plan: &Plan, sent: Expr, user: Expr) -> Vec<Item> {
    let reasons = plan.counted_reasons();
    let value = |counted: &Counted| {
        Expr::number(25, u64::from(counted.to_cpu) << 24 | u64::from(counted.code))
    };
    let instance = clocked("wl_reasons", "i_reasons")
        .parameter("Lanes", int(plan.machine.lanes()))
        .parameter("Reasons", int(reasons.len()))
        .parameter("Values", Expr::Concat(reasons.iter().rev().map(value).collect()))
        .port("event_valid_i", name("event_valid_o"))
        .port("event_kind_i", name("event_kind"))
        .port("event_reason_i", name("event_reason"))
        .port("sent_i", sent)
        .port("sent_user_i", user)
        .port("add_o", name("reason_add"));
    vec![
        vector("reason_add", (reasons.len() + 2) * plan.increment_bits()),
        Item::Instance(instance),
    ]
}

/// The packets that a counter has counted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ReasonCount {
    /// `drop` or `cpu`.
    pub verdict: &'static str,
    /// The name of the reason; `None` for all others.
    pub reason: Option<String>,
    pub packets: u64,
}

impl ReasonCounter {
    /// Converts an entry of the statistics to the count of this counter.
    pub fn count(&self, entry: &Bits) -> ReasonCount {
        ReasonCount {
            verdict: self.verdict,
            reason: self.reason.clone(),
            packets: entry.slice(0, 64).low_u64(),
        }
    }
}
