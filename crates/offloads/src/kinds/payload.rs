//! `payload`: access to the bytes of the packet in chunks, by offset from its start.

use wireloom_bits::Bits;

use crate::kinds::no_table;
use crate::registry::{Extent, METHOD, Method, OffloadKind, ReplyType, StateUse, U16, ValueType};
use crate::{Config, Entry, EntryKey, Env, Instance, Refused, StateRow};

/// The interface of `payload`.
pub const KIND: OffloadKind = OffloadKind {
    name: "payload",
    has_key: false,
    has_value: true,
    params: &[],
    methods: &[
        Method {
            name: "read",
            args: &[("offset", U16)],
            reply: ReplyType::One(ValueType::Value),
            state: StateUse::Pure,
            reads_packet: true,
            extent: Extent::Chunk { offset: 0 },
            doc: "Returns the chunk that begins at byte `offset` of the packet. Bytes past the \
                  end read as zero.",
            ..METHOD
        },
        Method {
            name: "write",
            args: &[("offset", U16), ("data", ValueType::Value), ("count", U16)],
            reply: ReplyType::One(ValueType::Bool),
            state: StateUse::Pure,
            reads_packet: true,
            writes_packet: true,
            extent: Extent::Range { offset: 0, length: 2 },
            doc: "Overwrites `count` bytes from byte `offset` with the first bytes of `data`. \
                  False, and no effect, if one of them is outside the packet or `count` exceeds \
                  the chunk.",
            ..METHOD
        },
        Method {
            name: "append",
            args: &[("data", ValueType::Value), ("count", U16)],
            reply: ReplyType::One(ValueType::Bool),
            state: StateUse::Pure,
            reads_packet: true,
            writes_packet: true,
            extent: Extent::End { count: 1 },
            doc: "Appends the first `count` bytes of `data`. False, and no effect, if the packet \
                  would exceed 65,535 bytes or `count` exceeds the chunk.",
            ..METHOD
        },
        Method {
            name: "truncate",
            args: &[("length", U16)],
            reply: ReplyType::One(ValueType::Bool),
            state: StateUse::Pure,
            reads_packet: true,
            writes_packet: true,
            doc: "Cuts the packet to `length` bytes. False, and no effect, if it is shorter.",
            ..METHOD
        },
    ],
    expiry: None,
    claim: None,
    doc: "Access to the bytes of the packet, header window and payload alike, by offset from the \
          packet's start. An access is a chunk: the value type, a whole number of bytes.",
    table: None,
    make: |config| Ok(Box::new(Payload::new(config)?)),
};

/// An instance of `payload`. Its state is the packet.
#[derive(Clone)]
pub struct Payload {
    width: u32,
}

impl Payload {
    /// Creates an instance as declared.
    ///
    /// # Errors
    /// If the chunk is not a whole number of bytes.
    pub fn new(config: &Config) -> Result<Self, Refused> {
        let width = config.value.as_ref().map_or(0, crate::Layout::width);
        if width == 0 || !width.is_multiple_of(8) {
            return Err(Refused(format!("a chunk of {width} bits is not a whole number of bytes")));
        }
        Ok(Self { width })
    }
}

impl Instance for Payload {
    fn call(&mut self, method: usize, args: &[Bits], env: &mut Env<'_>) -> Bits {
        let Some(packet) = env.packet.as_deref_mut() else {
            return Bits::zero(if method == 0 { self.width } else { 1 });
        };
        let first = args[0].low_u64();
        let leading = |data: &Bits, count: &Bits| {
            let mut bytes = data.to_bytes();
            let count = count.low_u64() as usize;
            (count <= bytes.len()).then(|| {
                bytes.truncate(count);
                bytes
            })
        };
        let done = match method {
            0 => return packet.payload_read(first, self.width),
            1 => {
                leading(&args[1], &args[2]).is_some_and(|bytes| packet.payload_write(first, &bytes))
            }
            2 => leading(&args[0], &args[1]).is_some_and(|bytes| packet.payload_append(&bytes)),
            3 => packet.payload_truncate(first),
            _ => unreachable!("payload has four methods"),
        };
        Bits::bool(done)
    }

    fn load(&mut self, _entry: Entry) -> Result<(), Refused> {
        no_table("payload")
    }

    fn unload(&mut self, _key: &EntryKey) -> Result<bool, Refused> {
        no_table("payload")
    }

    fn rows(&self) -> Vec<StateRow> {
        Vec::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kinds::tests::{Bench, packet};

    fn u16s(value: u16) -> Bits {
        Bits::new(16, u128::from(value))
    }

    fn bench(length: usize) -> Bench {
        let mut bench = Bench::new("payload", None, Some(&[("", 32)]), &[]);
        bench.packet = Some(packet(&(0..length).map(|i| i as u8).collect::<Vec<_>>()));
        bench
    }

    #[test]
    fn reads_cross_from_window_to_payload_and_past_the_end() {
        let mut bench = bench(200);
        assert_eq!(bench.call("read", &[u16s(126)]), Bits::new(32, 0x7e7f_8081));
        assert_eq!(bench.call("read", &[u16s(198)]), Bits::new(32, 0xc6c7_0000));
        assert_eq!(bench.call("read", &[u16s(65_535)]), Bits::zero(32));
    }

    #[test]
    fn writes_only_what_lies_inside() {
        let mut bench = bench(200);
        let data = Bits::new(32, 0xaabb_ccdd);
        assert_eq!(bench.call("write", &[u16s(127), data.clone(), u16s(2)]), Bits::bool(true));
        assert_eq!(bench.bytes()[126..130], [126, 0xaa, 0xbb, 129]);
        for (offset, count) in [(197, 4), (0, 5), (65_535, 1), (201, 0)] {
            let before = bench.bytes().to_vec();
            let reply = bench.call("write", &[u16s(offset), data.clone(), u16s(count)]);
            assert_eq!(reply, Bits::bool(false), "{count} bytes at {offset}");
            assert_eq!(bench.bytes(), before);
        }
        assert_eq!(
            bench.call("write", &[u16s(200), data, u16s(0)]),
            Bits::bool(true),
            "nothing, at the end"
        );
    }

    #[test]
    fn appends_up_to_the_longest_packet() {
        let mut bench = bench(65_532);
        let data = Bits::new(32, 0x0102_0304);
        assert_eq!(bench.call("append", &[data.clone(), u16s(4)]), Bits::bool(false));
        assert_eq!(bench.call("append", &[data.clone(), u16s(5)]), Bits::bool(false));
        assert_eq!(bench.call("append", &[data, u16s(3)]), Bits::bool(true));
        assert_eq!(bench.bytes()[65_532..], [1, 2, 3]);
    }

    #[test]
    fn truncates_the_window_too() {
        let mut bench = bench(200);
        assert_eq!(bench.call("truncate", &[u16s(201)]), Bits::bool(false));
        assert_eq!(bench.call("truncate", &[u16s(100)]), Bits::bool(true));
        let packet = bench.packet.as_ref().unwrap();
        assert_eq!((packet.len(), packet.window_len()), (100, 100));
    }

    #[test]
    fn without_a_packet_nothing_is_read_or_written() {
        let mut bench = bench(10);
        bench.packet = None;
        assert_eq!(bench.call("read", &[u16s(0)]), Bits::zero(32));
        assert_eq!(bench.call("append", &[Bits::zero(32), u16s(0)]), Bits::bool(false));
    }

    #[test]
    fn a_chunk_is_whole_bytes() {
        let mut config = crate::kinds::tests::config("payload", None, Some(&[("", 12)]), &[]);
        assert!(Payload::new(&config).is_err());
        config.value = Some(crate::Layout::scalar(8));
        assert!(Payload::new(&config).is_ok());
    }
}
