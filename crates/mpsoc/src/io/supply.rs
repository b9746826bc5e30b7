//! The packets of the line, with their contents until they have left.

use std::collections::VecDeque;

use wireloom_machine::Arrivals;
use wireloom_net::Packet;
use wireloom_sim::Time;
use wireloom_sim::parts::line::Offered;

/// The contents of packets by number, from 0 in the order of the offers. It begins with the oldest
/// packet that has not left.
#[derive(Clone, Debug)]
pub(super) struct Supply {
    packets: VecDeque<Option<Packet>>,
    /// The number of the first packet of `packets`.
    first: u64,
    /// The arrival times. The first packet comes at once, whatever its time.
    arrivals: Arrivals,
}

/// The input of the line: an iterator that accepts more items after its end.
#[derive(Clone, Debug, Default)]
pub(super) struct Feed {
    offered: VecDeque<Offered>,
    /// The packets without contents that follow: the size of each in bytes, and their number.
    plain: (u32, u64),
    next: u64,
    /// Whether the line has found the feed empty.
    is_asked: bool,
}

impl Supply {
    pub(super) fn new(arrivals: Arrivals) -> Self {
        Self { packets: VecDeque::new(), first: 0, arrivals }
    }

    /// Adds packets and returns their numbers, sizes and arrival times for the line.
    pub(super) fn offer(&mut self, packets: Vec<Packet>) -> Vec<Offered> {
        let numbers = self.first + self.packets.len() as u64..;
        let offered = numbers.zip(&packets).map(|(number, packet)| Offered {
            number,
            bytes: packet.bytes.len() as u32,
            at: Time(self.arrivals.next(packet.arrival_ns)),
        });
        let offered = offered.collect();
        self.packets.extend(packets.into_iter().map(Some));
        offered
    }

    /// The packet of a number, if it has contents and has not left.
    pub(super) fn packet(&self, number: u64) -> Option<&Packet> {
        self.packets.get(number.checked_sub(self.first)? as usize)?.as_ref()
    }

    /// Frees the contents of a packet that has left or was lost.
    pub(super) fn forget(&mut self, number: u64) {
        let place = number.checked_sub(self.first).map(|place| place as usize);
        if let Some(packet) = place.and_then(|place| self.packets.get_mut(place)) {
            *packet = None;
        }
        while let Some(None) = self.packets.front() {
            self.packets.pop_front();
            self.first += 1;
        }
    }
}

impl Feed {
    /// Adds packets with contents. Returns whether the line has found the feed empty and must be
    /// restarted.
    ///
    /// # Panics
    /// Packets without contents were offered before.
    pub(super) fn offer(&mut self, packets: Vec<Offered>) -> bool {
        assert!(self.plain.0 == 0, "packets with contents after packets without");
        self.offered.extend(packets);
        std::mem::take(&mut self.is_asked)
    }

    /// Adds `count` packets of `bytes` bytes each without contents. Returns the same as
    /// [`offer`](Self::offer).
    pub(super) fn offer_plain(&mut self, bytes: u32, count: u64) -> bool {
        self.plain = (bytes, count);
        std::mem::take(&mut self.is_asked)
    }

    /// The number of packets with contents that the line has not asked for.
    pub(super) fn to_come(&self) -> u64 {
        self.offered.len() as u64
    }
}

impl Iterator for Feed {
    type Item = Offered;

    fn next(&mut self) -> Option<Offered> {
        let item = self.offered.pop_front().or_else(|| {
            let (bytes, left) = &mut self.plain;
            *left = left.checked_sub(1)?;
            Some(Offered { number: self.next, bytes: *bytes, at: Time::ZERO })
        });
        self.is_asked = item.is_none();
        self.next += 1;
        item
    }
}

#[cfg(test)]
mod tests {
    use wireloom_machine::Rate;

    use super::*;

    fn supply() -> Supply {
        Supply::new(Arrivals::new(Rate::Capture))
    }

    fn packet(arrival_ns: u64, length: usize) -> Packet {
        Packet { ingress: 0, arrival_ns, bytes: vec![0; length] }
    }

    #[test]
    fn a_line_that_has_asked_in_vain_is_told_and_numbers_go_on() {
        let (mut supply, mut feed) = (supply(), Feed::default());
        assert!(!feed.offer(supply.offer(vec![packet(5000, 60), packet(5010, 61)])));
        let next = |feed: &mut Feed| {
            feed.next().map(|offered| (offered.number, offered.bytes, offered.at.0))
        };
        assert_eq!([next(&mut feed), next(&mut feed)], [Some((0, 60, 0)), Some((1, 61, 10_000))]);
        assert_eq!(next(&mut feed), None);
        assert!(feed.offer(supply.offer(vec![packet(5030, 62)])));
        assert_eq!(feed.to_come(), 1);
        assert_eq!([next(&mut feed), next(&mut feed)], [Some((2, 62, 30_000)), None]);
    }

    #[test]
    fn packets_that_have_left_take_no_room() {
        let mut supply = supply();
        supply.offer((0..4).map(|number| packet(0, 60 + number)).collect());
        let lengths = |supply: &Supply| -> Vec<Option<usize>> {
            (0..5).map(|number| supply.packet(number).map(|packet| packet.bytes.len())).collect()
        };
        supply.forget(1);
        assert_eq!(lengths(&supply), [Some(60), None, Some(62), Some(63), None]);
        supply.forget(0);
        supply.forget(0);
        assert_eq!(lengths(&supply), [None, None, Some(62), Some(63), None]);
        assert_eq!((supply.first, supply.packets.len()), (2, 2));
        supply.forget(3);
        supply.forget(2);
        // Numbers and times continue.
        let offered = supply.offer(vec![packet(70, 64)]);
        assert_eq!((offered[0].number, offered[0].at), (4, Time(70_000)));
        assert_eq!((supply.first, supply.packets.len()), (4, 1));
    }

    #[test]
    fn a_packet_of_long_after_begins_when_times_can_still_be_told() {
        let offered = supply().offer(vec![packet(0, 60), packet(u64::MAX, 60)]);
        assert_eq!(offered[0].at, Time::ZERO);
        assert_eq!(offered[1].at, Time(1 << 61));
    }

    #[test]
    fn packets_without_contents_are_as_many_as_offered() {
        let mut feed = Feed::default();
        assert!(!feed.offer_plain(54, 3));
        let numbers: Vec<_> = feed.map(|offered| (offered.number, offered.bytes)).collect();
        assert_eq!(numbers, [(0, 54), (1, 54), (2, 54)]);
    }
}
