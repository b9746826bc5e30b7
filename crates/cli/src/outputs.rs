//! What left a machine, kept for a batch: machines are timed while they only hand packets on, and compared after.

use wireloom_ir::{Output, Verdict};

/// The outputs of one batch; the buffers are used again for the next.
#[derive(Default)]
pub struct Outputs {
    records: Vec<Record>,
    bytes: Vec<u8>,
}

struct Record {
    sequence: u64,
    arrival_ns: u64,
    ingress: u16,
    verdict: Verdict,
    start: usize,
    end: usize,
}

impl Outputs {
    /// Forgets what was kept.
    pub fn clear(&mut self) {
        self.records.clear();
        self.bytes.clear();
    }

    /// Keeps an output behind those before.
    pub fn keep(&mut self, output: Output<'_>) {
        let start = self.bytes.len();
        self.bytes.extend_from_slice(output.bytes);
        self.records.push(Record {
            sequence: output.sequence,
            arrival_ns: output.arrival_ns,
            ingress: output.ingress,
            verdict: output.verdict,
            start,
            end: self.bytes.len(),
        });
    }

    /// Number of outputs.
    pub fn len(&self) -> usize {
        self.records.len()
    }

    /// Output `index`, if there are so many.
    pub fn at(&self, index: usize) -> Option<Output<'_>> {
        self.records.get(index).map(|record| Output {
            sequence: record.sequence,
            arrival_ns: record.arrival_ns,
            ingress: record.ingress,
            verdict: record.verdict,
            bytes: &self.bytes[record.start..record.end],
        })
    }

    /// All outputs, in order.
    pub fn iter(&self) -> impl Iterator<Item = Output<'_>> {
        (0..self.len()).filter_map(|index| self.at(index))
    }
}
