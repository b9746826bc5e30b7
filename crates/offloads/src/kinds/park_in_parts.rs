//! `park_in_parts`: `park` for engines that have the header window, and that move packets in parts.
//!
//! The pass `park` of the compiler replaces the calls of a `park`. A packet is kept by `begin`, a
//! `put` for every 16 bytes of its window, and a `store`; it is taken by `release`, a `get` for
//! every 16 bytes of the window, and a `fetch`. Between the first and the last of these calls comes
//! no call of another packet.

use wireloom_bits::Bits;
use wireloom_net::{Frame, PacketInHand};

use super::park::{self, Park};
use crate::registry::{
    Delay, Extent, METHOD, Method, OffloadKind, ReplyType, StateUse, U16, U32, U64, ValueType,
};
use crate::{Entry, EntryKey, Env, Instance, Refused, StateRow};

/// The name of the kind.
pub const NAME: &str = "park_in_parts";
/// The number of bytes of a word of a window.
pub const WORD_BYTES: u32 = 16;
/// The number of bits of a word of a window.
pub const WORD_BITS: u32 = 8 * WORD_BYTES;
/// The fields of a packet besides its bytes, the first most significant.
pub const FIELDS: [(&str, u32); 5] =
    [("length", 16), ("window", 9), ("ingress", 16), ("egress", 16), ("arrival", 64)];
/// The number of bits of all fields.
pub const FIELDS_BITS: u32 = {
    let (mut sum, mut field) = (0, 0);
    while field < FIELDS.len() {
        sum += FIELDS[field].1;
        field += 1;
    }
    sum
};

/// The interface of `park_in_parts`.
pub const KIND: OffloadKind = OffloadKind {
    name: NAME,
    has_key: true,
    has_value: false,
    params: park::KIND.params,
    methods: &[
        Method {
            name: "begin",
            args: &[("key", ValueType::Key), ("fields", ValueType::Bits(FIELDS_BITS))],
            reply: ReplyType::One(ValueType::Bool),
            reads_arrival: true,
            advances_time: true,
            ..PART
        },
        Method { name: "put", args: &[("word", U16), ("bytes", WORD)], ..PART },
        Method {
            name: "store",
            args: &[("count", U16)],
            reads_packet: true,
            extent: Extent::End { count: 0 },
            ..PART
        },
        Method {
            name: "release",
            args: &[("key", ValueType::Key)],
            reply: ReplyType::Record(&[
                ("found", ValueType::Bool),
                ("fields", ValueType::Bits(FIELDS_BITS)),
            ]),
            reads_arrival: true,
            advances_time: true,
            ..PART
        },
        Method { name: "get", args: &[("word", U16)], reply: ReplyType::One(WORD), ..PART },
        Method {
            name: "fetch",
            args: &[("count", U16)],
            writes_packet: true,
            extent: Extent::End { count: 0 },
            ..PART
        },
        Method {
            name: "expire",
            args: &[("older_than", U64)],
            reply: ReplyType::One(U32),
            reads_arrival: true,
            advances_time: true,
            ..PART
        },
    ],
    expiry: None,
    claim: None,
    doc: "The calls of `park` in parts.",
    table: None,
    make: |config| Ok(Box::new(ParkInParts { park: Park::new(config), current: Current::None })),
};

const WORD: ValueType = ValueType::Bits(WORD_BITS);

const PART: Method = Method { state: StateUse::Change, delay: Delay::Variable, ..METHOD };

/// An instance of `park_in_parts`.
#[derive(Clone)]
struct ParkInParts {
    park: Park,
    current: Current,
}

/// The packet that is kept or taken.
#[derive(Clone)]
enum Current {
    None,
    /// The number of a packet in the park.
    Kept(u64),
    Taken(PacketInHand),
}

impl ParkInParts {
    fn current(&mut self) -> Option<&mut PacketInHand> {
        match &mut self.current {
            Current::None => None,
            Current::Kept(number) => self.park.kept_mut(*number),
            Current::Taken(packet) => Some(packet),
        }
    }

    fn begin(&mut self, key: &Bits, fields: &Bits) -> bool {
        let [_, window, ingress, egress, arrival] = parted(fields);
        let frame = Frame { ingress: ingress as u16, arrival_ns: arrival, bytes: &[] };
        let mut packet = PacketInHand::arrive(frame, 0);
        packet.egress = egress as u16;
        packet.reset(window);
        self.current = self.park.begin(key, packet).map_or(Current::None, Current::Kept);
        matches!(self.current, Current::Kept(_))
    }

    fn release(&mut self, key: &Bits) -> Bits {
        let Some(packet) = self.park.release(key) else {
            return Bits::zero(1 + FIELDS_BITS);
        };
        let fields = fields_of(&packet);
        self.current = Current::Taken(packet);
        Bits::bool(true).concat(&fields)
    }

    /// Writes the bytes of a word that the window has.
    fn put(&mut self, word: u64, bytes: &Bits) {
        let Some(packet) = self.current() else { return };
        for (at, byte) in (word * u64::from(WORD_BYTES)..).zip(bytes.to_bytes()) {
            packet.write(at, 0, &Bits::new(8, byte.into()));
        }
    }

    fn get(&mut self, word: u64) -> Bits {
        let at = word * u64::from(WORD_BYTES);
        self.current().map_or(Bits::zero(WORD_BITS), |packet| packet.read(at, 0, WORD_BITS))
    }
}

/// Returns the fields of a packet, in their order.
pub fn fields_of(packet: &PacketInHand) -> Bits {
    let values = [
        packet.len() as u64,
        packet.window_len() as u64,
        packet.ingress.into(),
        packet.egress.into(),
        packet.arrival_ns,
    ];
    let fields =
        FIELDS.iter().zip(values).map(|((_, width), value)| Bits::new(*width, value.into()));
    fields.reduce(|high, low| high.concat(&low)).expect("there are fields")
}

/// Returns the value of each field.
pub fn parted(fields: &Bits) -> [u64; FIELDS.len()] {
    let mut low = FIELDS_BITS;
    FIELDS.map(|(_, width)| {
        low -= width;
        fields.slice(low, width).low_u64()
    })
}

impl Instance for ParkInParts {
    fn call(&mut self, method: usize, args: &[Bits], env: &mut Env<'_>) -> Bits {
        if KIND.methods[method].advances_time {
            self.park.advance(env.now_ns);
        }
        let number = |index: usize| args[index].low_u64();
        match (KIND.methods[method].name, env.packet.as_deref_mut()) {
            ("begin", _) => Bits::bool(self.begin(&args[0], &args[1])),
            ("put", _) => {
                self.put(number(0), &args[1]);
                Bits::zero(1)
            }
            ("store", Some(packet)) => {
                let body = &packet.bytes()[packet.window_len()..];
                let body = &body[..body.len().min(number(0) as usize)];
                if let Some(kept) = self.current() {
                    kept.payload_append(body);
                }
                Bits::zero(1)
            }
            ("release", _) => self.release(&args[0]),
            ("get", _) => self.get(number(0)),
            ("fetch", Some(packet)) => {
                if let Some(taken) = self.current() {
                    let body = &taken.bytes()[taken.window_len()..];
                    packet.payload_append(&body[..body.len().min(number(0) as usize)]);
                }
                Bits::zero(1)
            }
            ("expire", _) => Bits::new(32, self.park.expire(number(0)) as u128),
            _ => Bits::zero(1),
        }
    }

    fn load(&mut self, entry: Entry) -> Result<(), Refused> {
        self.park.load(entry)
    }

    fn unload(&mut self, key: &EntryKey) -> Result<bool, Refused> {
        self.park.unload(key)
    }

    fn entries(&self) -> Option<u64> {
        self.park.entries()
    }

    fn rows(&self) -> Vec<StateRow> {
        self.park.rows()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kinds::tests::Bench;

    fn bench() -> Bench {
        Bench::new(NAME, Some(&[("", 8)]), None, &[("size", 2), ("age", 100)])
    }

    /// Keeps a packet in parts.
    fn keep(bench: &mut Bench, key: u128, packet: &PacketInHand) -> bool {
        bench.packet = Some(packet.clone());
        let args = [Bits::new(8, key), fields_of(packet)];
        if !bench.call("begin", &args).bit(0) {
            return false;
        }
        for word in (0..packet.window_len() as u64).step_by(16).map(|at| at / 16) {
            let bytes = packet.read(16 * word, 0, 128);
            bench.call("put", &[Bits::new(16, word.into()), bytes]);
        }
        let body = packet.len() - packet.window_len();
        bench.call("store", &[Bits::new(16, body as u128)]);
        true
    }

    /// Takes a packet in parts.
    fn take(bench: &mut Bench, key: u128) -> Option<PacketInHand> {
        let reply = bench.call("release", &[Bits::new(8, key)]);
        if !reply.bit(FIELDS_BITS) {
            return None;
        }
        let [length, window, ingress, egress, arrival_ns] = parted(&reply.slice(0, FIELDS_BITS));
        let frame = Frame { ingress: ingress as u16, arrival_ns, bytes: &[] };
        let mut packet = PacketInHand::arrive(frame, 0);
        packet.egress = egress as u16;
        assert!(packet.reset(window));
        for word in 0..window.div_ceil(16) {
            let bytes = bench.call("get", &[Bits::new(16, word.into())]).to_bytes();
            for (at, byte) in (16 * word..).zip(bytes) {
                packet.write(at, 0, &Bits::new(8, byte.into()));
            }
        }
        bench.packet = Some(packet);
        bench.call("fetch", &[Bits::new(16, u128::from(length - window))]);
        bench.packet.clone()
    }

    fn packet(length: usize, pushed: u64, popped: u64) -> PacketInHand {
        let bytes: Vec<u8> = (0..length).map(|at| (at as u8) ^ (length as u8)).collect();
        let frame = Frame { ingress: 3, arrival_ns: 1 << 40, bytes: &bytes };
        let mut packet = PacketInHand::arrive(frame, 0);
        packet.insert(5, pushed);
        packet.remove(0, popped);
        packet.egress = 0x1234;
        packet
    }

    #[test]
    fn packets_come_back_as_they_were() {
        let mut bench = bench();
        let lengths = [0, 1, 15, 16, 17, 100, 127, 128, 129, 1500, 65_000];
        for (length, pushed, popped) in lengths
            .into_iter()
            .flat_map(|length| [(length, 0, 0), (length, 120, 1), (length, 0, 1)])
        {
            let first = packet(length, pushed, popped);
            let second = packet(length / 2, popped, pushed);
            assert!(keep(&mut bench, 1, &first) && keep(&mut bench, 2, &second));
            assert!(!keep(&mut bench, 1, &first), "two packets fill the park");
            let taken = [2, 1, 1].map(|key| take(&mut bench, key));
            assert_eq!(taken, [Some(second), Some(first), None]);
        }
    }

    #[test]
    fn old_packets_expire_at_each_call_that_advances_the_time() {
        let mut bench = bench();
        bench.now = 1000;
        assert!(keep(&mut bench, 1, &packet(200, 0, 0)));
        bench.now = 1100;
        assert!(keep(&mut bench, 2, &packet(20, 0, 0)));
        assert_eq!(bench.instance.rows().len(), 2);
        bench.now = 1101;
        assert_eq!(take(&mut bench, 1), None);
        assert_eq!(bench.call("expire", &[Bits::new(64, 0)]).low_u64(), 1);
        assert!(bench.instance.rows().is_empty());
    }
}
