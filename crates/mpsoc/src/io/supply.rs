//! The packets of the line, with their contents until they have left.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use wireloom_net::Packet;
use wireloom_sim::Time;
use wireloom_sim::parts::line::Offered;

/// Packets by the numbers in which they are offered, from 0.
#[derive(Debug, Default)]
pub(super) struct Supply {
    feed: Feed,
    /// Packets with contents; one that has left is empty.
    packets: Vec<Packet>,
}

/// The input of the line: an iterator that accepts more items after its end.
#[derive(Clone, Debug, Default)]
pub(super) struct Feed(Arc<Mutex<Queue>>);

#[derive(Debug, Default)]
struct Queue {
    offered: VecDeque<Offered>,
    /// The packets without contents that follow: their size in bytes, and their number.
    plain: (u32, u64),
    next: u64,
    /// Whether the line has found it empty.
    is_asked: bool,
}

/// The latest start of a packet on the line, some 53 days: so no sum of times overflows, whatever a
/// capture says.
const LATEST: Time = Time(1 << 62);

impl Supply {
    /// The input of the line.
    pub(super) fn feed(&self) -> Feed {
        self.feed.clone()
    }

    /// Adds packets; returns whether the line has found the supply empty and must be restarted.
    ///
    /// # Panics
    /// Packets without contents were offered before.
    pub(super) fn offer(&mut self, packets: Vec<Packet>) -> bool {
        // The first packet comes at once, whatever the epoch.
        let epoch = self.packets.first().or(packets.first()).map_or(0, |packet| packet.arrival_ns);
        let numbers = self.packets.len() as u64..;
        let offered = numbers.zip(&packets).map(|(number, packet)| Offered {
            number,
            bytes: packet.bytes.len() as u32,
            at: Time(packet.arrival_ns.saturating_sub(epoch).saturating_mul(1000)).min(LATEST),
        });
        let was_asked = self.feed.with(|queue| {
            assert!(queue.plain.0 == 0, "packets with contents behind packets without");
            queue.offered.extend(offered);
            std::mem::take(&mut queue.is_asked)
        });
        self.packets.extend(packets);
        was_asked
    }

    /// Adds so many packets of so many bytes without contents; returns the same as
    /// [`offer`](Self::offer).
    pub(super) fn offer_plain(&mut self, bytes: u32, count: u64) -> bool {
        self.feed.with(|queue| {
            queue.plain = (bytes, count);
            std::mem::take(&mut queue.is_asked)
        })
    }

    /// The number of packets with contents that the line has not asked for.
    pub(super) fn to_come(&self) -> u64 {
        self.feed.with(|queue| queue.offered.len() as u64)
    }

    /// A packet with contents, by its number.
    pub(super) fn packet(&self, number: u64) -> Option<&Packet> {
        self.packets.get(number as usize)
    }

    /// Frees the contents of a packet that has left or was lost.
    pub(super) fn forget(&mut self, number: u64) {
        if let Some(packet) = self.packets.get_mut(number as usize) {
            packet.bytes = Vec::new();
        }
    }
}

impl Feed {
    fn with<R>(&self, act: impl FnOnce(&mut Queue) -> R) -> R {
        // Nothing panics while the queue is half changed.
        act(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Iterator for Feed {
    type Item = Offered;

    fn next(&mut self) -> Option<Offered> {
        self.with(|queue| {
            let Queue { offered, plain: (bytes, left), next, is_asked } = queue;
            let item = offered.pop_front().or_else(|| {
                *left = left.checked_sub(1)?;
                Some(Offered { number: *next, bytes: *bytes, at: Time::ZERO })
            });
            *is_asked = item.is_none();
            *next += 1;
            item
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packet(arrival_ns: u64, length: usize) -> Packet {
        Packet { ingress: 0, arrival_ns, bytes: vec![0; length] }
    }

    #[test]
    fn a_line_that_has_asked_in_vain_is_told_and_numbers_go_on() {
        let mut supply = Supply::default();
        let mut feed = supply.feed();
        assert!(!supply.offer(vec![packet(5000, 60), packet(5010, 61)]));
        let next = |feed: &mut Feed| {
            feed.next().map(|offered| (offered.number, offered.bytes, offered.at.0))
        };
        assert_eq!([next(&mut feed), next(&mut feed)], [Some((0, 60, 0)), Some((1, 61, 10_000))]);
        assert_eq!(next(&mut feed), None);
        assert!(supply.offer(vec![packet(5030, 62)]));
        assert_eq!(supply.to_come(), 1);
        assert_eq!([next(&mut feed), next(&mut feed)], [Some((2, 62, 30_000)), None]);
        supply.forget(1);
        let lengths: Vec<usize> =
            (0..3).map(|number| supply.packet(number).unwrap().bytes.len()).collect();
        assert_eq!(lengths, [60, 0, 62]);
    }

    #[test]
    fn a_packet_of_long_after_begins_when_times_can_still_be_told() {
        let mut supply = Supply::default();
        let mut feed = supply.feed();
        supply.offer(vec![packet(0, 60), packet(u64::MAX, 60)]);
        assert_eq!(feed.next().map(|offered| offered.at), Some(Time::ZERO));
        assert_eq!(feed.next().map(|offered| offered.at), Some(LATEST));
    }

    #[test]
    fn packets_without_contents_are_as_many_as_offered() {
        let mut supply = Supply::default();
        assert!(!supply.offer_plain(54, 3));
        let numbers: Vec<_> =
            supply.feed().map(|offered| (offered.number, offered.bytes)).collect();
        assert_eq!(numbers, [(0, 54), (1, 54), (2, 54)]);
        assert!(supply.packet(0).is_none());
    }
}
