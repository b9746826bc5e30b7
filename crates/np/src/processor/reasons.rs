//! The counters of the reasons for which packets are dropped or handed to the control processor.
//! They come after the other statistics (`wl_reasons`).

use serde::Serialize;
use wireloom_bits::Bits;
use wireloom_codegen_hardware::sv::short::{clocked, int, name};
use wireloom_codegen_hardware::sv::{Expr, Item};

use super::counted_reasons::Counted;
use super::plan::Plan;
use super::ports;
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

/// Returns the number of statistics before the counters of reasons.
pub(super) fn counters_before(plan: &Plan) -> usize {
    3 * plan.machine.lanes() + ports::counter_names(plan).len()
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
        let first = counters_before(self);
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
        let room = MOST_COUNTERS - 2 - counters_before(self);
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
