//! The pipeline of a processor: whose instructions are in it.

/// Stages that a pipeline can have.
pub(super) const STAGES: usize = 16;

/// The instructions in a pipeline of at most [`STAGES`] stages: for each edge that is to come, behind the present one, whose leave there. At most one is
/// issued at an edge, and all take as long, so at most one leaves. Of masks, bit `n` is thread `n`.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Pipeline {
    /// Their numbers go round.
    leaving: [u32; STAGES],
}

impl Pipeline {
    /// An instruction of a thread leaves at an edge.
    #[inline(always)]
    pub(super) fn put(&mut self, leaves: u64, thread: u32) {
        self.leaving[leaves as usize % STAGES] = thread;
    }

    /// The thread whose instruction leaves at an edge, if any does; none have left it before.
    #[inline(always)]
    pub(super) fn take(&mut self, edge: u64) -> u32 {
        std::mem::take(&mut self.leaving[edge as usize % STAGES])
    }

    /// The threads whose instructions are in it.
    pub(super) fn piped(&self) -> u32 {
        self.leaving.iter().fold(0, |piped, thread| piped | thread)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instructions_leave_at_their_edges() {
        let mut pipeline = Pipeline::default();
        assert_eq!((pipeline.piped(), pipeline.take(0)), (0, 0));
        let issued: Vec<(u64, u32)> = (0..200)
            .filter(|edge| edge % 7 != 3 && edge % 5 != 0)
            .map(|edge| (edge, 1 << (edge as u32 % 32)))
            .collect();
        let leaves = |edge: u64| edge + STAGES as u64;
        for edge in 0..200 + STAGES as u64 {
            let due = issued.iter().find(|(issued, _)| leaves(*issued) == edge).map(|(_, thread)| *thread);
            assert!(due.is_none_or(|thread| pipeline.piped() & thread != 0));
            assert_eq!(pipeline.take(edge), due.unwrap_or(0));
            if let Some((_, thread)) = issued.iter().find(|(issued, _)| *issued == edge) {
                pipeline.put(leaves(edge), *thread);
            }
            let is_within = |(begin, _): &&(u64, u32)| *begin <= edge && leaves(*begin) > edge;
            let piped = issued.iter().filter(is_within).fold(0, |piped, (_, thread)| piped | thread);
            assert_eq!(pipeline.piped(), piped);
        }
    }
}
