//! The pipeline of a processor: whose instructions are in it.

/// Stages that a pipeline can have.
pub(super) const STAGES: usize = 16;

/// An instruction in a pipeline.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Entry {
    /// The edge at which it leaves.
    pub(super) leaves: u64,
    /// Whose it is, among the threads of the processor.
    pub(super) thread: u32,
}

/// The instructions in a pipeline of at most [`STAGES`] stages, in the order in which they were issued: at most one at each edge.
#[derive(Clone, Debug, Default)]
pub(super) struct Pipeline {
    ring: [Entry; STAGES],
    /// Instructions that have been issued, and that have left; as indices they go round.
    issued: usize,
    left: usize,
}

impl Pipeline {
    /// An instruction is issued.
    pub(super) fn push(&mut self, entry: Entry) {
        self.ring[self.issued % STAGES] = entry;
        self.issued = self.issued.wrapping_add(1);
    }

    /// The one that leaves next.
    pub(super) fn first(&self) -> Option<Entry> {
        (self.left != self.issued).then(|| self.ring[self.left % STAGES])
    }

    /// The first one leaves.
    pub(super) fn pop(&mut self) {
        self.left = self.left.wrapping_add(1);
    }

    /// Whether an instruction of a thread is in it.
    pub(super) fn has(&self, thread: u32) -> bool {
        let count = self.issued.wrapping_sub(self.left);
        (0..count).any(|index| self.ring[self.left.wrapping_add(index) % STAGES].thread == thread)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instructions_leave_in_the_order_in_which_they_were_issued() {
        let mut pipeline = Pipeline::default();
        assert_eq!(pipeline.first(), None);
        for edge in 0..100 {
            let entry = |edge: u64| Entry { leaves: edge + STAGES as u64, thread: edge as u32 % 32 };
            pipeline.push(entry(edge));
            if let Some(first) = edge.checked_sub(STAGES as u64 - 1) {
                assert_eq!(pipeline.first(), Some(entry(first)));
                assert!(pipeline.has(entry(first).thread) && pipeline.has(entry(edge).thread));
                pipeline.pop();
                assert!(!pipeline.has(entry(first).thread));
            }
        }
    }
}
