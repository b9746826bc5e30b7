//! The pipeline of a processor: whose instructions are in it.

/// Stages that a pipeline can have.
pub(super) const STAGES: usize = 16;

/// The instructions in a pipeline of at most [`STAGES`] stages: of each edge that is to come, behind the present one, whose leaves there. At most one is
/// issued at an edge, and all take as long, so at most one leaves.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Pipeline {
    /// Edges at which one leaves, each as a bit: its number goes round.
    leaving: u16,
    /// The threads, among those of the processor; at those edges.
    threads: [u8; STAGES],
}

impl Pipeline {
    /// An instruction of a thread leaves at an edge.
    #[inline(always)]
    pub(super) fn push(&mut self, leaves: u64, thread: u32) {
        let place = leaves as usize % STAGES;
        self.threads[place] = thread as u8;
        self.leaving |= 1 << place;
    }

    /// The thread whose instruction leaves at an edge, none having left before.
    #[inline(always)]
    pub(super) fn pop(&mut self, edge: u64) -> Option<u32> {
        let place = edge as usize % STAGES;
        let bit = 1 << place;
        let leaves = self.leaving & bit != 0;
        self.leaving &= !bit;
        leaves.then(|| u32::from(self.threads[place]))
    }

    /// The next edge behind one at which an instruction leaves.
    #[inline(always)]
    pub(super) fn next(&self, edge: u64) -> Option<u64> {
        let behind = edge + 1;
        let distance = self.leaving.rotate_right((behind % STAGES as u64) as u32).trailing_zeros();
        (self.leaving != 0).then_some(behind + u64::from(distance))
    }

    /// The thread whose instruction leaves at an edge at which one does.
    #[inline(always)]
    pub(super) fn thread(&self, leaves: u64) -> u32 {
        u32::from(self.threads[leaves as usize % STAGES])
    }

    /// The threads whose instructions are in it, a bit for each.
    pub(super) fn piped(&self) -> u32 {
        let (mut leaving, mut piped) = (self.leaving, 0);
        while leaving != 0 {
            piped |= 1 << self.threads[leaving.trailing_zeros() as usize];
            leaving &= leaving - 1;
        }
        piped
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instructions_leave_at_their_edges() {
        let mut pipeline = Pipeline::default();
        assert_eq!((pipeline.next(0), pipeline.pop(0)), (None, None));
        let issued: Vec<(u64, u32)> = (0..200)
            .filter(|edge| edge % 7 != 3 && edge % 5 != 0)
            .map(|edge| (edge, edge as u32 % 32))
            .collect();
        let leaves = |edge: u64| edge + STAGES as u64;
        for edge in 0..200 + STAGES as u64 {
            let due = issued.iter().find(|(issued, _)| leaves(*issued) == edge).map(|(_, thread)| *thread);
            assert_eq!(pipeline.piped() == 0, pipeline.next(edge - u64::from(edge > 0)).is_none());
            assert!(due.is_none_or(|thread| pipeline.piped() >> thread & 1 != 0));
            assert_eq!(pipeline.pop(edge), due);
            if let Some((_, thread)) = issued.iter().find(|(issued, _)| *issued == edge) {
                pipeline.push(leaves(edge), *thread);
                assert_eq!(pipeline.thread(leaves(edge)), *thread);
            }
            let next = issued.iter().map(|(issued, _)| (*issued, leaves(*issued)));
            let next =
                next.filter(|(issued, leaves)| *issued <= edge && *leaves > edge).map(|(_, leaves)| leaves);
            assert_eq!(pipeline.next(edge), next.min());
        }
    }
}
