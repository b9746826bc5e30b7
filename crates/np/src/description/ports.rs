//! The streams on which a machine's packets enter and leave.

use serde::{Deserialize, Serialize};

/// Bytes in a beat of a wide lane.
pub const LANE_BYTES: usize = 64;

/// How packets enter and leave the processor.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Ports {
    pub kind: PortKind,
    /// Bytes in a beat of a narrow port.
    pub bytes: usize,
    /// The port numbers of the narrow ports, both for ingress and for egress.
    pub numbers: Vec<u16>,
    /// Beats of 64 bytes that each queue of a narrow port holds. A port has one queue per
    /// direction.
    pub queue_beats: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub enum PortKind {
    /// Lanes of 64 bytes per cycle. A sideband signal carries the port number of each packet.
    #[serde(rename = "wide")]
    Wide,
    /// One narrow stream for each physical port.
    #[serde(rename = "10g")]
    TenGigabit,
}

impl Ports {
    /// Returns whether each physical port has its own stream.
    pub fn are_narrow(&self) -> bool {
        self.kind == PortKind::TenGigabit
    }

    /// Checks the ports on a machine with `lanes` lanes. The error is a sentence.
    pub(super) fn check(&self, lanes: usize) -> Result<(), String> {
        let (bytes, count) = (self.bytes, self.numbers.len());
        if !bytes.is_power_of_two() || !(8..=LANE_BYTES).contains(&bytes) {
            return Err(format!("`bytes` is {bytes}; it can be 8, 16, 32 or 64"));
        }
        if !(1..=8).contains(&count) {
            return Err(format!("`numbers` names {count} ports; there can be 1 to 8"));
        }
        if let Some(twice) =
            self.numbers.iter().enumerate().find(|(i, number)| self.numbers[..*i].contains(number))
        {
            return Err(format!("`numbers` has {} twice", twice.1));
        }
        if !(2..=65_536).contains(&self.queue_beats) {
            return Err(format!("`queue_beats` is {}; it can be 2 to 65536", self.queue_beats));
        }
        if !self.are_narrow() {
            return Ok(());
        }
        if lanes != 1 {
            return Err(format!(
                "narrow ports share one lane, and the machine has {lanes}: set `lanes = 1`, or `kind = \"wide\"`"
            ));
        }
        if count * bytes > LANE_BYTES {
            return Err(format!(
                "{count} ports of {bytes} bytes a cycle are more than the {LANE_BYTES} of the lane behind them"
            ));
        }
        Ok(())
    }
}
