//! The calls that a thread has in progress, and the replies that have arrived.

use super::mpe::TICKETS;

/// The tickets of a thread. In masks, bit `n` is ticket `n`.
#[derive(Clone, Debug, Default)]
pub(super) struct Tickets {
    under_way: u16,
    /// The tickets whose replies depend on other threads.
    by_threads: u16,
    here: u16,
    /// The first words of the replies that have arrived.
    words: [u32; TICKETS],
}

/// The state of a ticket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ticket {
    Free,
    UnderWay {
        /// Whether the reply depends on other threads.
        by_threads: bool,
    },
    /// The reply has arrived; the value is its first word.
    Here(u32),
}

impl Tickets {
    /// The state of a ticket.
    pub(super) fn get(&self, ticket: u32) -> Ticket {
        let bit = 1 << ticket;
        if self.under_way & bit != 0 {
            Ticket::UnderWay { by_threads: self.by_threads & bit != 0 }
        } else if self.here & bit != 0 {
            Ticket::Here(self.words[ticket as usize])
        } else {
            Ticket::Free
        }
    }

    /// Begins a call, unless one is in progress with that ticket. Returns whether it begins.
    pub(super) fn begin(&mut self, ticket: u32, by_threads: bool) -> bool {
        let bit = 1 << ticket;
        let begins = self.under_way & bit == 0;
        self.under_way |= bit;
        self.here &= !bit;
        self.by_threads = self.by_threads & !bit | u16::from(by_threads) << ticket;
        begins
    }

    /// Handles the arrival of a reply.
    pub(super) fn arrive(&mut self, ticket: u32, word: u32) {
        let bit = 1 << ticket;
        self.under_way &= !bit;
        self.here |= bit;
        self.words[ticket as usize] = word;
    }

    /// Whether a call is in progress.
    pub(super) fn is_any_under_way(&self) -> bool {
        self.under_way != 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tickets_are_free_then_under_way_then_here() {
        let mut tickets = Tickets::default();
        assert!(tickets.begin(15, true) && tickets.begin(3, false) && !tickets.begin(15, true));
        assert_eq!(tickets.get(15), Ticket::UnderWay { by_threads: true });
        tickets.arrive(15, 8);
        assert_eq!(
            [15, 3, 0].map(|ticket| tickets.get(ticket)),
            [Ticket::Here(8), Ticket::UnderWay { by_threads: false }, Ticket::Free]
        );
        assert!(tickets.is_any_under_way() && tickets.begin(15, false));
        assert_eq!(tickets.get(15), Ticket::UnderWay { by_threads: false });
        tickets.arrive(3, 0);
        tickets.arrive(15, 0);
        assert!(!tickets.is_any_under_way());
    }
}
