//! What the simulation of a StepNP machine came to.

use std::fmt::Write;

use serde::Serialize;
use wireloom_sim::stats::{Record, Summary, Value};

use crate::output::thousands;

/// What the simulation of a StepNP machine came to.
#[derive(Clone, Debug, Serialize)]
pub struct MpsocReport {
    /// Simulated time, in microseconds.
    pub time_us: f64,
    /// Million packets a second, the time included in which the first were on their way in and the last on their way out.
    pub mpps: f64,
    /// Packets lost on the way in.
    pub lost: u64,
    /// Instructions of all processors.
    pub instructions: u64,
    /// Of a packet.
    pub instructions_a_packet: f64,
    /// Share of the cycles in which processors issued instructions.
    pub usage: f64,
    /// Instructions simulated a second.
    pub instructions_a_second: f64,
    /// Everything else.
    pub statistics: Record,
}

impl MpsocReport {
    /// As text for people.
    pub fn text(&self) -> String {
        let latency = |part: &str| match self.statistics.value(&format!("platform.io.latency.{part}")) {
            Some(Value::Summary(Summary { mean, p50, p99, max, .. })) => {
                format!("mean {mean:.0} ns; 50 % within {p50:.0}, 99 % within {p99:.0}, at most {max:.0}")
            }
            _ => "not known".to_owned(),
        };
        let lines = [
            ("rate", format!("{:.3} MPPS in {:.1} us", self.mpps, self.time_us)),
            ("use", format!("{:.1} % of the processors' cycles", 100.0 * self.usage)),
            ("instructions", format!("{:.1} a packet", self.instructions_a_packet)),
            ("latency", latency("total")),
            ("processing", latency("processing")),
            ("network", latency("network")),
            ("pipeline", latency("compute")),
            ("lost at input", format!("{} packets", thousands(self.lost))),
            (
                "simulated",
                format!(
                    "{} instructions, {} a second",
                    thousands(self.instructions),
                    thousands(self.instructions_a_second as u64)
                ),
            ),
        ];
        let mut out = String::new();
        for (what, text) in lines {
            writeln!(out, "{what:13}  {text}").expect("a string takes everything");
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_people_read_is_what_was_counted() {
        let report = MpsocReport {
            time_us: 12.5,
            mpps: 3.25,
            lost: 1234,
            instructions: 40_000,
            instructions_a_packet: 400.0,
            usage: 0.5,
            instructions_a_second: 2e6,
            statistics: Record::new(),
        };
        let text = report.text();
        for part in [
            "3.250 MPPS in 12.5 us",
            "50.0 %",
            "400.0 a packet",
            "1,234 packets",
            "40,000 instructions, 2,000,000",
        ] {
            assert!(text.contains(part), "no {part} in\n{text}");
        }
        assert!(text.contains("latency        not known"), "{text}");
    }
}
