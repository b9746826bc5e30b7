//! Run-ahead of processors, and the guarantees that it relies on.
//!
//! Run-ahead is an option: with [`Effort::Naive`](wireloom_sim::Effort::Naive) every processor
//! executes its cycles one by one, with the same statistics. Otherwise a processor executes in one
//! turn all cycles in which nothing can reach it. The following guarantees make this correct:
//!
//! 1. **The network, and who sends to a processor**: the promises of
//!    [`run_ahead`](wireloom_sim::parts::run_ahead), which the network asserts.
//!    `tell_who_answers` declares the nodes that only reply.
//! 2. **The platform** (`cycles_of`): the third of those promises. A processor fetches each message
//!    before the cycles after it, and sends each message with its departure time.
//! 3. **The processor** (`Processor::turn`): its cycles access only its threads and its caches.
//! 4. **The workload** ([`Workload::at_hand`](crate::workload::Workload::at_hand) and
//!    `issue_before`): instructions executed before their issue time have no effect that other
//!    parts can observe. A thread's local store is private except for the places of replies and a
//!    packet that an object has (`Context::shared_bytes`); instructions that access these wait for
//!    their issue time.
//!
//! [`Lookahead`] asserts the second guarantee in debug builds, and so in tests: no processor
//! handles a message after it has executed later cycles.

/// For each processor, the edge before which it has executed its cycles.
#[derive(Clone, Debug)]
pub(super) struct Lookahead(Vec<u64>);

impl Lookahead {
    /// The state of processors that have executed no cycles.
    pub(super) fn new(processors: u32) -> Self {
        Self(vec![0; processors as usize])
    }

    /// Records that a processor has executed its cycles before an edge.
    #[inline]
    pub(super) fn done(&mut self, processor: u32, edge: u64) {
        self.0[processor as usize] = edge;
    }

    /// Checks a message that is visible to a processor from the cycle of this edge on.
    #[inline]
    pub(super) fn arrive(&self, processor: u32, edge: u64) {
        debug_assert!(
            edge >= self.0[processor as usize],
            "a message reaches processor {processor} at edge {edge}, and it has done its cycles before edge {}",
            self.0[processor as usize]
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_may_come_when_the_cycles_before_it_are_done() {
        let mut lookahead = Lookahead::new(2);
        lookahead.done(1, 10);
        lookahead.arrive(1, 10);
        lookahead.arrive(0, 0);
    }

    #[test]
    #[cfg(debug_assertions)]
    #[should_panic(expected = "a message reaches processor 1 at edge 9")]
    fn a_message_that_comes_too_late_is_found_out() {
        let mut lookahead = Lookahead::new(2);
        lookahead.done(1, 10);
        lookahead.arrive(1, 9);
    }
}
