//! Counts of packets by verdict, for people and as JSON.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use wireloom_ir as ir;
use wireloom_ir::{Reason, Verdict};
use wireloom_machine::reason_name;

use crate::{counted, output, thousands};

/// Counts packets by verdict.
#[derive(Default)]
pub struct Tally {
    counts: BTreeMap<Verdict, Count>,
    outputs: u64,
}

#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Count {
    pub packets: u64,
    /// Bytes, link headers included; `None` if the machine does not report its drops.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u64>,
}

/// A count of no packets and no bytes.
impl Default for Count {
    fn default() -> Self {
        Self { packets: 0, bytes: Some(0) }
    }
}

impl Count {
    pub fn count(&mut self, bytes: usize) {
        self.add(Self { packets: 1, bytes: Some(bytes as u64) });
    }

    fn add(&mut self, other: Self) {
        self.packets += other.packets;
        self.bytes = self.bytes.zip(other.bytes).map(|(own, other)| own + other);
    }

    /// Formats the packets, and the bytes if they are known.
    pub fn text(&self) -> String {
        let packets = counted(self.packets, "packet");
        self.bytes.map_or(packets.clone(), |bytes| format!("{packets}, {}", counted(bytes, "byte")))
    }

    /// Formats the bytes as a cell of a table: a dash if they are not known.
    pub fn bytes_text(&self) -> String {
        self.bytes.map_or_else(|| "-".to_owned(), thousands)
    }
}

impl Tally {
    /// Counts one output. `bytes` is `None` if the machine does not report the length.
    pub fn count(&mut self, verdict: Verdict, bytes: Option<usize>) {
        self.add(verdict, 1, bytes.map(|bytes| bytes as u64));
    }

    /// Counts outputs. `bytes` is their sum, `None` if it is unknown.
    pub fn add(&mut self, verdict: Verdict, packets: u64, bytes: Option<u64>) {
        self.counts.entry(verdict).or_default().add(Count { packets, bytes });
        self.outputs += packets;
    }

    /// Returns the number of outputs counted.
    pub fn outputs(&self) -> u64 {
        self.outputs
    }

    /// Returns the counts by port and by reason, largest first.
    pub fn fates(&self, program: &ir::Program) -> VerdictCounts {
        let mut fates = VerdictCounts::default();
        for (&verdict, &count) in &self.counts {
            match verdict {
                Verdict::Sent { port } => fates.sent.push(Sent { port, count }),
                Verdict::ToCpu(reason) => fates.cpu.push(Reasoned::new(program, reason, count)),
                Verdict::Dropped(reason) => {
                    fates.dropped.push(Reasoned::new(program, reason, count))
                }
            }
        }
        fates.sort();
        fates
    }
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct VerdictCounts {
    /// Sent packets by port, in ascending order.
    pub sent: Vec<Sent>,
    /// Packets to the control processor by reason, most frequent first.
    pub cpu: Vec<Reasoned>,
    /// Dropped packets by reason, most frequent first.
    pub dropped: Vec<Reasoned>,
}

/// Packets sent to one port.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Sent {
    pub port: u16,
    #[serde(flatten)]
    pub count: Count,
}

/// Packets with the same reason.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Reasoned {
    pub reason: String,
    #[serde(flatten)]
    pub count: Count,
}

impl Reasoned {
    fn new(program: &ir::Program, reason: Reason, count: Count) -> Self {
        Self { reason: reason_name(program, reason), count }
    }
}

impl VerdictCounts {
    /// Formats the counts as tables.
    pub fn text(&self) -> String {
        let mut table = output::table(&["went to", "packets", "bytes"], &[1, 2]);
        for (place, count) in self.rows() {
            table.add_row([place, thousands(count.packets), count.bytes_text()]);
        }
        format!("{table}\n")
    }

    /// Adds the counts of another period. The program may have been replaced in between, so reasons
    /// are matched by name.
    pub fn add(&mut self, other: &Self) {
        for sent in &other.sent {
            match self.sent.iter_mut().find(|own| own.port == sent.port) {
                Some(own) => own.count.add(sent.count),
                None => self.sent.push(sent.clone()),
            }
        }
        for (own, other) in [(&mut self.cpu, &other.cpu), (&mut self.dropped, &other.dropped)] {
            for reasoned in other {
                match own.iter_mut().find(|own| own.reason == reasoned.reason) {
                    Some(own) => own.count.add(reasoned.count),
                    None => own.push(reasoned.clone()),
                }
            }
        }
        self.sort();
    }

    fn sort(&mut self) {
        self.sent.sort_by_key(|sent| sent.port);
        for reasons in [&mut self.cpu, &mut self.dropped] {
            reasons.sort_by(|a, b| {
                b.count.packets.cmp(&a.count.packets).then(a.reason.cmp(&b.reason))
            });
        }
    }

    /// Returns the counts, each with the name of its destination.
    pub fn rows(&self) -> Vec<(String, Count)> {
        let sent = self.sent.iter().map(|sent| (format!("port {}", sent.port), sent.count));
        let reasons = |place: &'static str, reasons: &'_ [Reasoned]| {
            let row =
                |reasoned: &Reasoned| (format!("{place}: {}", reasoned.reason), reasoned.count);
            reasons.iter().map(row).collect::<Vec<_>>()
        };
        sent.chain(reasons("cpu", &self.cpu)).chain(reasons("drop", &self.dropped)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wireloom_ir::ReasonSetId;

    fn program(sets: usize) -> ir::Program {
        let set = |name: &str| ir::ReasonSet {
            name: name.into(),
            members: vec![(0, "EXPIRED".into()), (7, "NO_ROUTE".into())],
        };
        ir::Program {
            files: Vec::new(),
            reasons: ["Reason", "Other"].into_iter().take(sets).map(set).collect(),
            engines: Vec::new(),
            main: ir::EngineId(0),
        }
    }

    #[test]
    fn reasons_have_the_names_of_the_program() {
        let reason = |set, value| Reason::Program(ReasonSetId(set), value);
        assert_eq!(reason_name(&program(1), reason(0, 7)), "NO_ROUTE");
        assert_eq!(reason_name(&program(2), reason(1, 0)), "Other.EXPIRED");
        assert_eq!(reason_name(&program(1), reason(0, 3)), "3");
        assert_eq!(reason_name(&program(1), Reason::Runaway), "runaway");
    }

    #[test]
    fn bytes_that_a_machine_does_not_show_are_left_out() {
        let mut tally = Tally::default();
        tally.count(Verdict::Sent { port: 1 }, Some(0));
        tally.count(Verdict::Dropped(Reason::Runaway), None);
        let fates = tally.fates(&program(1));
        let rows: Vec<String> =
            fates.rows().into_iter().map(|(_, count)| count.bytes_text()).collect();
        assert_eq!(rows, ["0", "-"]);
        assert_eq!(fates.dropped[0].count.text(), "1 packet");
        let json = serde_json::to_value(&fates).expect("JSON");
        assert_eq!(json["sent"][0]["bytes"], 0);
        assert!(json["dropped"][0].get("bytes").is_none(), "{json}");
    }

    #[test]
    fn fates_list_the_most_frequent_reason_first() {
        let mut tally = Tally::default();
        let reason = |value| Verdict::Dropped(Reason::Program(ReasonSetId(0), value));
        for (verdict, times) in [(reason(0), 1), (reason(7), 3), (Verdict::Sent { port: 2 }, 2)] {
            (0..times).for_each(|_| tally.count(verdict, Some(60)));
        }
        let fates = tally.fates(&program(1));
        let dropped: Vec<_> = fates
            .dropped
            .iter()
            .map(|r| (r.reason.as_str(), r.count.packets, r.count.bytes))
            .collect();
        assert_eq!(dropped, [("NO_ROUTE", 3, Some(180)), ("EXPIRED", 1, Some(60))]);
        assert_eq!((fates.sent[0].port, fates.sent[0].count.packets), (2, 2));

        // Another program numbers its reasons differently.
        let mut sum = fates.clone();
        let named = |reason: &str, packets| Reasoned {
            reason: reason.into(),
            count: Count { packets, bytes: Some(1) },
        };
        sum.add(&VerdictCounts {
            sent: vec![Sent { port: 0, count: Count { packets: 9, bytes: Some(9) } }],
            cpu: Vec::new(),
            dropped: vec![named("EXPIRED", 7), named("NEW", 4)],
        });
        let dropped: Vec<_> =
            sum.dropped.iter().map(|r| (r.reason.as_str(), r.count.packets)).collect();
        assert_eq!(dropped, [("EXPIRED", 8), ("NEW", 4), ("NO_ROUTE", 3)]);
        let ports: Vec<_> = sum.sent.iter().map(|sent| (sent.port, sent.count.packets)).collect();
        assert_eq!(ports, [(0, 9), (2, 2)]);
    }
}
