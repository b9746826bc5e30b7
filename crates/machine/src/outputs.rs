//! Batches of outputs. Machines are timed while they only pass packets on; the outputs are compared
//! afterwards.

use wireloom_ir::{Output, Verdict};

/// The outputs of one batch. The next batch reuses the buffers.
#[derive(Default)]
pub struct Outputs {
    records: Vec<Kept>,
    bytes: Vec<u8>,
}

struct Kept {
    sequence: u64,
    arrival_ns: u64,
    ingress: u16,
    verdict: Verdict,
    start: usize,
    end: usize,
}

impl Outputs {
    /// Removes all outputs.
    pub fn clear(&mut self) {
        self.records.clear();
        self.bytes.clear();
    }

    /// Appends an output.
    pub fn keep(&mut self, output: Output<'_>) {
        let start = self.bytes.len();
        self.bytes.extend_from_slice(output.bytes);
        self.records.push(Kept {
            sequence: output.sequence,
            arrival_ns: output.arrival_ns,
            ingress: output.ingress,
            verdict: output.verdict,
            start,
            end: self.bytes.len(),
        });
    }

    /// Removes the outputs after the first `count`, and returns them.
    pub fn split_off(&mut self, count: usize) -> Self {
        let mut rest = Self::default();
        (count..self.len()).filter_map(|index| self.at(index)).for_each(|one| rest.keep(one));
        if let Some(first) = self.records.get(count) {
            self.bytes.truncate(first.start);
            self.records.truncate(count);
        }
        rest
    }

    /// The number of outputs.
    pub fn len(&self) -> usize {
        self.records.len()
    }

    /// The number of bytes of all outputs.
    pub fn bytes(&self) -> usize {
        self.bytes.len()
    }

    pub fn is_empty(&self) -> bool {
        self.records.is_empty()
    }

    /// Returns output `index`, if it exists.
    pub fn at(&self, index: usize) -> Option<Output<'_>> {
        self.records.get(index).map(|record| Output {
            sequence: record.sequence,
            arrival_ns: record.arrival_ns,
            ingress: record.ingress,
            verdict: record.verdict,
            bytes: &self.bytes[record.start..record.end],
        })
    }

    /// Returns all outputs, in order.
    pub fn iter(&self) -> impl Iterator<Item = Output<'_>> {
        (0..self.len()).filter_map(|index| self.at(index))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_outputs_split_off() {
        let mut outputs = Outputs::default();
        let texts: [&[u8]; 3] = [b"one", b"", b"three"];
        for (sequence, bytes) in (0..).zip(texts) {
            let verdict = Verdict::Sent { port: 1 };
            outputs.keep(Output { sequence, arrival_ns: 0, ingress: 0, verdict, bytes });
        }
        assert!(outputs.split_off(3).is_empty());
        let rest = outputs.split_off(1);
        let bytes = |of: &Outputs| of.iter().map(|one| one.bytes.to_vec()).collect::<Vec<_>>();
        assert_eq!(bytes(&outputs), [b"one"]);
        assert_eq!(bytes(&rest), [&b""[..], b"three"]);
        assert_eq!((outputs.bytes(), rest.bytes()), (3, 5));
    }
}
