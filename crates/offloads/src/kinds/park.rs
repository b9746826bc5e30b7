//! `park`: queues of packets that are set aside under a key.
//!
//! Packets under one key form a queue. The age of a packet counts from its `keep`. The time of the
//! park is the latest arrival time of any call, so it never runs backwards.

use std::collections::{BTreeMap, HashMap, VecDeque};

use wireloom_bits::Bits;
use wireloom_net::PacketInHand;

use crate::registry::{
    AGE, Delay, Extent, METHOD, Method, OffloadKind, Param, ReplyType, SIZE, StateUse, U16, U32,
    U64, ValueType, param,
};
use crate::{Config, Entry, EntryKey, Env, Instance, Refused, StateRow};

/// The parameter `longest`. Its default is the longest packet.
const LONGEST: Param = param(
    "longest",
    U16,
    Some(65_535),
    (1, 65_535),
    "Number of bytes; a longer packet is not kept.",
);

/// The interface of `park`.
pub const KIND: OffloadKind = OffloadKind {
    name: "park",
    has_key: true,
    has_value: false,
    params: &[SIZE, AGE, LONGEST],
    methods: &[
        Method {
            name: "keep",
            args: &[("key", ValueType::Key)],
            longest: Some("longest"),
            reply: ReplyType::One(ValueType::Bool),
            reads_arrival: true,
            advances_time: true,
            state: StateUse::Change,
            reads_packet: true,
            extent: Extent::Whole,
            delay: Delay::Variable,
            doc: "Appends a copy of the current packet, with its egress port, to the key's queue. \
                  False if the park is full, and without effect if the packet is longer than \
                  `longest`. The thread continues; end it with `done`.",
            ..METHOD
        },
        Method {
            name: "take",
            args: &[("key", ValueType::Key)],
            reply: ReplyType::One(ValueType::Bool),
            reads_arrival: true,
            advances_time: true,
            state: StateUse::Change,
            reads_packet: true,
            writes_packet: true,
            replaces_packet: true,
            extent: Extent::Whole,
            delay: Delay::Variable,
            doc: "Replaces the current packet by the oldest packet in the key's queue, which \
                  leaves the park. Header window, ports and arrival time are then those of the \
                  parked packet; outputs still count as those of the packet that started the \
                  thread. False, and no effect, if the queue is empty.",
            ..METHOD
        },
        Method {
            name: "expire",
            args: &[("older_than", U64)],
            reply: ReplyType::One(U32),
            reads_arrival: true,
            advances_time: true,
            state: StateUse::Change,
            delay: Delay::Variable,
            doc: "Drops the packets that were parked more than `older_than` nanoseconds ago. \
                  Returns their number.",
            ..METHOD
        },
    ],
    expiry: None,
    claim: None,
    doc: "Queues of parked packets, one for each key. `size` is the number of packets of all \
          queues together; packets older than `age` are dropped.",
    table: None,
    make: |config| Ok(Box::new(Park::new(config))),
};

/// An instance of `park`.
#[derive(Clone)]
pub struct Park {
    size: usize,
    age_ns: u64,
    /// The latest time of any call.
    time_ns: u64,
    /// The packets by a running number, oldest first.
    packets: BTreeMap<u64, Parked>,
    /// The running numbers of each key, oldest first. No queue is empty.
    queues: HashMap<Bits, VecDeque<u64>>,
    next: u64,
}

/// A parked packet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parked {
    pub key: Bits,
    /// The time of the park at `keep`, in nanoseconds.
    pub since_ns: u64,
    /// The packet. Its sequence number is ignored: it leaves with the number of the packet that
    /// takes it.
    pub packet: PacketInHand,
}

/// The state of a park, for machines that keep it in their own memories.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct State {
    /// The latest time of any call, in nanoseconds.
    pub time_ns: u64,
    /// The packets, oldest first.
    pub packets: Vec<Parked>,
}

impl Park {
    /// Creates an empty instance as declared.
    pub fn new(config: &Config) -> Self {
        Self {
            size: config.param("size").low_u64() as usize,
            age_ns: config.param("age").low_u64(),
            time_ns: 0,
            packets: BTreeMap::new(),
            queues: HashMap::new(),
            next: 0,
        }
    }

    /// Returns a copy of the state.
    pub fn state(&self) -> State {
        State { time_ns: self.time_ns, packets: self.packets.values().cloned().collect() }
    }

    /// Replaces the state.
    ///
    /// # Errors
    /// If there are more packets than the park can hold, if they are not in the order of their
    /// times, or if one is later than the time of the park. The park is then unchanged.
    pub fn set_state(&mut self, State { time_ns, packets }: State) -> Result<(), Refused> {
        let is_ordered = packets.is_sorted_by_key(|parked| parked.since_ns);
        if !is_ordered || packets.last().is_some_and(|parked| parked.since_ns > time_ns) {
            return Err(Refused("the packets are not in the order of their times".into()));
        }
        if packets.len() > self.size {
            return Err(Refused(format!("the park is full: its size is {}", self.size)));
        }
        (self.time_ns, self.next) = (time_ns, 0);
        self.packets.clear();
        self.queues.clear();
        packets.into_iter().for_each(|parked| self.add(parked));
        Ok(())
    }

    /// Appends a packet as the newest, without its bytes. The number leads to it
    /// ([`Self::kept_mut`]). `None` if the park is full.
    pub(super) fn begin(&mut self, key: &Bits, packet: PacketInHand) -> Option<u64> {
        let number = self.next;
        self.keep(key, &packet).then_some(number)
    }

    /// Returns a packet that is kept.
    pub(super) fn kept_mut(&mut self, number: u64) -> Option<&mut PacketInHand> {
        Some(&mut self.packets.get_mut(&number)?.packet)
    }

    /// Removes the oldest packet of a key, and returns it.
    pub(super) fn release(&mut self, key: &Bits) -> Option<PacketInHand> {
        let number = self.unqueue(key)?;
        let kept = self.packets.remove(&number).expect("a number in a queue has its packet");
        Some(kept.packet)
    }

    /// Appends a packet as the newest.
    fn add(&mut self, parked: Parked) {
        self.queues.entry(parked.key.clone()).or_default().push_back(self.next);
        self.packets.insert(self.next, parked);
        self.next += 1;
    }

    /// Advances the time and drops expired packets.
    pub(super) fn advance(&mut self, now_ns: u64) {
        self.time_ns = self.time_ns.max(now_ns);
        if self.age_ns != 0 {
            self.expire(self.age_ns);
        }
    }

    pub(super) fn expire(&mut self, older_than_ns: u64) -> usize {
        let before = self.packets.len();
        while let Some(oldest) = self.packets.first_entry() {
            if self.time_ns - oldest.get().since_ns <= older_than_ns {
                break;
            }
            let kept = oldest.remove();
            self.unqueue(&kept.key);
        }
        before - self.packets.len()
    }

    /// Removes the oldest number from the queue of a key.
    fn unqueue(&mut self, key: &Bits) -> Option<u64> {
        let queue = self.queues.get_mut(key)?;
        let number = queue.pop_front();
        if queue.is_empty() {
            self.queues.remove(key);
        }
        number
    }

    fn keep(&mut self, key: &Bits, packet: &PacketInHand) -> bool {
        if self.packets.len() >= self.size {
            return false;
        }
        self.add(Parked { key: key.clone(), since_ns: self.time_ns, packet: packet.clone() });
        true
    }

    fn take(&mut self, key: &Bits, packet: &mut PacketInHand) -> bool {
        let Some(kept) = self.release(key) else { return false };
        // The packet that leaves gets the sequence number of the packet that has arrived.
        let sequence = packet.sequence;
        *packet = kept;
        packet.sequence = sequence;
        true
    }
}

impl Instance for Park {
    fn call(&mut self, method: usize, args: &[Bits], env: &mut Env<'_>) -> Bits {
        self.advance(env.now_ns);
        match (method, env.packet.as_deref_mut()) {
            (0, Some(packet)) => Bits::bool(self.keep(&args[0], packet)),
            (1, Some(packet)) => Bits::bool(self.take(&args[0], packet)),
            (0 | 1, None) => Bits::bool(false),
            _ => Bits::new(32, self.expire(args[0].low_u64()) as u128),
        }
    }

    fn load(&mut self, _entry: Entry) -> Result<(), Refused> {
        Err(Refused("`park` holds packets, not entries: remove the section".into()))
    }

    /// Drops the packets under a key.
    fn unload(&mut self, key: &EntryKey) -> Result<bool, Refused> {
        let EntryKey::Exact(key) = key else {
            return Err(Refused("the key is not a whole key".into()));
        };
        let Some(queue) = self.queues.remove(key) else { return Ok(false) };
        for number in &queue {
            self.packets.remove(number);
        }
        Ok(true)
    }

    fn entries(&self) -> Option<u64> {
        Some(self.packets.len() as u64)
    }

    /// Returns the packets, oldest first.
    fn rows(&self) -> Vec<StateRow> {
        let rows = self.packets.values().map(|kept| {
            let word = |width, value: u64| Bits::new(width, u128::from(value));
            let packet = &kept.packet;
            StateRow {
                key: EntryKey::Exact(kept.key.clone()),
                fields: vec![
                    ("kept_ns".into(), word(64, kept.since_ns)),
                    ("ingress".into(), word(16, u64::from(packet.ingress))),
                    ("egress".into(), word(16, u64::from(packet.egress))),
                    ("length".into(), word(16, packet.len() as u64)),
                    ("crc32".into(), word(32, u64::from(crc32fast::hash(packet.bytes())))),
                ],
            }
        });
        rows.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kinds::tests::{Bench, packet};

    fn bench(size: u64, age: u64) -> Bench {
        Bench::new("park", Some(&[("", 8)]), None, &[("size", size), ("age", age)])
    }

    fn keep(bench: &mut Bench, key: u128, content: u8) -> bool {
        let mut kept = packet(&[content; 200]);
        kept.egress = u16::from(content);
        kept.ingress = 9;
        bench.packet = Some(kept);
        bench.call("keep", &[Bits::new(8, key)]).bit(0)
    }

    /// Takes a packet and returns its first byte; `None` if the queue is empty.
    fn take(bench: &mut Bench, key: u128) -> Option<u8> {
        let mut arrived = packet(&[0; 60]);
        arrived.sequence = 77;
        bench.packet = Some(arrived);
        bench.call("take", &[Bits::new(8, key)]).bit(0).then(|| bench.bytes()[0])
    }

    #[test]
    fn packets_under_a_key_come_back_oldest_first() {
        let mut bench = bench(8, 0);
        assert!(keep(&mut bench, 1, 10) && keep(&mut bench, 2, 20) && keep(&mut bench, 1, 11));
        assert_eq!(bench.bytes()[0], 11, "the packet in hand stays");
        assert_eq!(bench.instance.rows().len(), 3);
        assert_eq!([1, 1, 1].map(|key| take(&mut bench, key)), [Some(10), Some(11), None]);
        assert_eq!(take(&mut bench, 2), Some(20));
        let taken = bench.packet.as_ref().unwrap();
        assert_eq!(
            (taken.ingress, taken.egress, taken.arrival_ns),
            (9, 20, 5),
            "the kept packet's"
        );
        assert_eq!((taken.sequence, taken.len(), taken.window_len()), (77, 200, 128));
        assert!(bench.instance.rows().is_empty());
    }

    #[test]
    fn a_full_park_keeps_nothing_more() {
        let mut bench = bench(2, 0);
        assert!(keep(&mut bench, 1, 1) && keep(&mut bench, 1, 2));
        assert!(!keep(&mut bench, 3, 3));
        assert_eq!(take(&mut bench, 1), Some(1));
        assert!(keep(&mut bench, 3, 3));
    }

    #[test]
    fn packets_that_are_too_old_are_gone_and_make_room() {
        let mut bench = bench(1, 100);
        bench.now = 1000;
        assert!(keep(&mut bench, 1, 1));
        bench.now = 1100;
        assert!(!keep(&mut bench, 1, 2), "exactly `age` old: still there");
        bench.now = 1101;
        assert!(keep(&mut bench, 1, 3));
        bench.now = 0;
        assert_eq!(take(&mut bench, 1), Some(3), "time does not run backwards");
    }

    #[test]
    fn expire_counts_what_it_throws_away() {
        let mut bench = bench(8, 0);
        for (now, key) in [(10, 1), (20, 2), (30, 1)] {
            bench.now = now;
            assert!(keep(&mut bench, key, now as u8));
        }
        bench.now = 40;
        assert_eq!(bench.call("expire", &[Bits::new(64, 20)]).low_u64(), 1);
        assert_eq!(bench.call("expire", &[Bits::new(64, 19)]).low_u64(), 1);
        assert_eq!(take(&mut bench, 2), None);
        assert_eq!(take(&mut bench, 1), Some(30));
    }

    #[test]
    fn what_a_park_holds_moves_to_another() {
        let mut bench = bench(3, 1000);
        for (now, key) in [(10, 1), (20, 2), (30, 1)] {
            bench.now = now;
            assert!(keep(&mut bench, key, now as u8));
        }
        let any: &mut dyn std::any::Any = bench.instance.as_mut();
        let park = any.downcast_mut::<Park>().expect("a park");
        let mut state = park.state();
        assert_eq!((state.time_ns, state.packets.len()), (30, 3));
        let newest = state.packets.pop().expect("a packet");
        let oldest = state.packets.remove(0);
        for (time_ns, packets) in [
            (30, vec![newest.clone(), oldest.clone()]),
            (29, vec![oldest.clone(), newest.clone()]),
            (30, vec![newest.clone(); 4]),
        ] {
            assert!(park.set_state(State { time_ns, packets }).is_err());
            assert_eq!(park.rows().len(), 3);
        }
        state.packets.push(newest);
        assert_eq!(park.set_state(state), Ok(()));
        assert_eq!([1, 1, 2].map(|key| take(&mut bench, key)), [Some(30), None, Some(20)]);
    }

    #[test]
    fn the_control_plane_throws_away_but_cannot_load() {
        let mut bench = bench(8, 0);
        assert!(keep(&mut bench, 1, 1) && keep(&mut bench, 1, 2));
        assert_eq!(bench.instance.unload(&EntryKey::Exact(Bits::new(8, 1))), Ok(true));
        assert_eq!(bench.instance.unload(&EntryKey::Exact(Bits::new(8, 1))), Ok(false));
        assert_eq!(take(&mut bench, 1), None);
        let entry = Entry { key: EntryKey::Exact(Bits::new(8, 1)), value: Bits::zero(1) };
        assert!(bench.instance.load(entry).is_err());
    }
}
