//! The kinds. One file contains the interface and the golden implementation of a kind, and is named
//! after it (`match` is in `matching`).

pub mod aes;
pub mod array;
pub mod bloom;
pub mod checksum;
pub mod clock;
pub mod counter;
pub mod crc;
pub mod exact;
pub mod hash;
pub mod lpm;
pub mod matching;
pub mod meter;
pub mod park;
pub mod park_in_parts;
pub mod payload;
pub mod random;
pub mod secrets;
pub mod siphash;
pub mod stream;
pub mod timer;

use wireloom_bits::Bits;

use crate::registry::{self, OffloadKind};
use crate::{Config, Cursor, EntryKey, Instance, Layout, Refused, StateRow};

/// All kinds, in the order of the reference. `engine` is not a kind: the interface of such an
/// offload is the interface of the engine.
pub static KINDS: &[OffloadKind] = &[
    lpm::KIND,
    exact::KIND,
    bloom::KIND,
    array::KIND,
    counter::KIND,
    meter::KIND,
    hash::KIND,
    crc::KIND,
    siphash::KIND,
    aes::KIND,
    checksum::KIND,
    payload::KIND,
    clock::KIND,
    random::KIND,
    matching::KIND,
    park::KIND,
    stream::KIND,
    timer::KIND,
];

/// Kinds that no program declares: passes put them in place of a kind of [`KINDS`], for machines
/// that execute its calls in several parts. The name is that of the kind.
pub static IN_PARTS: &[(&str, OffloadKind)] = &[(park::KIND.name, park_in_parts::KIND)];

/// Creates an offload as declared, in its initial state.
///
/// # Errors
/// If the kind does not exist, if the types do not match it, or if there is not enough memory. The
/// error is a sentence without a final period.
pub fn instantiate(config: &Config) -> Result<Box<dyn Instance>, Refused> {
    match registry::kind(&config.kind) {
        Some(kind) => (kind.make)(config),
        None => Err(Refused(format!("there is no offload kind `{}`", config.kind))),
    }
}

/// Refuses an entry for a kind without a table.
fn no_table<T>(kind: &str) -> Result<T, Refused> {
    Err(Refused(format!("`{kind}` has no table: remove the section")))
}

/// Returns the index that a key denotes in a table of `size` elements.
fn index_of(key: &EntryKey, size: usize) -> Result<usize, Refused> {
    match key {
        EntryKey::Index(index) if *index < size as u64 => Ok(*index as usize),
        EntryKey::Index(index) => Err(Refused(format!(
            "index {index} is out of range: the offload has {size} elements, from 0"
        ))),
        _ => Err(Refused("the key is not an index".into())),
    }
}

/// The elements without a row that a page of [`Instance::visit_from`] passes over for each row that
/// it may have. Passing over one takes a small part of the time that a row takes.
const SKIPPED: usize = 64;

/// Implements [`Instance::visit_from`] for a kind whose rows are numbered from 0 to `size`. `row`
/// returns a row if there is one with that number.
fn visit_numbered(
    from: &Cursor,
    most: usize,
    size: usize,
    row: impl Fn(usize) -> Option<StateRow>,
    visit: &mut dyn FnMut(StateRow),
) -> Option<Cursor> {
    let start = from.number().min(size);
    let mut end = start.saturating_add(most.saturating_mul(SKIPPED)).min(size);
    let mut left = most;
    for number in start..end {
        if let Some(row) = row(number) {
            visit(row);
            left -= 1;
            if left == 0 {
                end = number + 1;
                break;
            }
        }
    }
    (end < size).then_some(Cursor::At(end as u64))
}

/// Refuses a value whose width differs from the width of the offload's value type.
pub(crate) fn check_value(value: &Bits, width: u32) -> Result<(), Refused> {
    if value.width() == width {
        return Ok(());
    }
    Err(Refused(format!("a value of {} bits where the offload holds {width}", value.width())))
}

/// Returns the name and the value of each leaf of a packed value. A scalar is called `value`.
fn field_values(layout: &Layout, value: &Bits) -> Vec<(String, Bits)> {
    let mut top = layout.width();
    let leaves = layout.fields.iter().map(|(name, width)| {
        top -= width;
        let name = if name.is_empty() { "value" } else { name };
        (name.to_owned(), value.slice(top, *width))
    });
    leaves.collect()
}

#[cfg(test)]
mod ticks_tests;
#[cfg(test)]
mod visit_tests;

#[cfg(test)]
pub(crate) mod tests {
    use wireloom_net::{Packet, PacketInHand};

    use super::*;
    use crate::{Entry, EntryKey, Env, ValueType};

    /// Returns a configuration with defaults filled in, as the compiler creates it.
    pub(crate) fn config(
        kind: &str,
        key: Option<&[(&str, u32)]>,
        value: Option<&[(&str, u32)]>,
        params: &[(&str, u64)],
    ) -> Config {
        let layout = |fields: &[(&str, u32)]| {
            Layout::plain(fields.iter().map(|(name, width)| ((*name).to_owned(), *width)).collect())
        };
        let mut config = Config {
            kind: kind.into(),
            key: key.map(layout),
            value: value.map(layout),
            params: Default::default(),
        };
        for param in registry::kind(kind).expect("a kind of the registry").params {
            let given = params.iter().find(|(name, _)| *name == param.name).map(|(_, v)| *v);
            let value =
                given.or(param.default).unwrap_or_else(|| panic!("{} must be given", param.name));
            let width = param.ty.width(&config);
            config.params.insert(param.name.to_owned(), Bits::new(width, u128::from(value)));
        }
        config
    }

    /// Returns a packet with these bytes.
    pub(crate) fn packet(bytes: &[u8]) -> PacketInHand {
        PacketInHand::arrive(&Packet { ingress: 1, arrival_ns: 5, bytes: bytes.to_vec() }, 0)
    }

    /// An instance whose methods are called by name. Arguments and replies are checked against the
    /// registry.
    pub(crate) struct Bench {
        pub(crate) instance: Box<dyn Instance>,
        pub(crate) packet: Option<PacketInHand>,
        pub(crate) now: u64,
        pub(crate) sequence: u64,
        config: Config,
    }

    impl Bench {
        pub(crate) fn new(
            kind: &str,
            key: Option<&[(&str, u32)]>,
            value: Option<&[(&str, u32)]>,
            params: &[(&str, u64)],
        ) -> Self {
            let config = config(kind, key, value, params);
            let instance = instantiate(&config).expect("a valid configuration");
            Self { instance, packet: None, now: 0, sequence: 0, config }
        }

        pub(crate) fn call(&mut self, method: &str, args: &[Bits]) -> Bits {
            let kind = registry::kind(&self.config.kind).expect("a kind of the registry");
            let (index, method) = kind.method(method).expect("a method of the kind");
            let widths =
                method.args.iter().map(|(_, ty): &(&str, ValueType)| ty.width(&self.config));
            assert!(widths.eq(args.iter().map(Bits::width)), "the widths of the arguments");
            let mut env =
                Env { packet: self.packet.as_mut(), now_ns: self.now, sequence: self.sequence };
            let reply = self.instance.call(index, args, &mut env);
            assert_eq!(
                reply.width(),
                method.reply.width(&self.config).max(1),
                "the width of the reply"
            );
            reply
        }

        pub(crate) fn bytes(&self) -> &[u8] {
            self.packet.as_ref().expect("a packet in hand").bytes()
        }
    }

    /// A copy has all state that calls can observe, and shares no state with the original.
    #[test]
    fn copies_behave_as_their_originals() {
        let byte = |value: u32| Bits::new(8, u128::from(value));
        let word = |value: u32| Bits::new(32, u128::from(value));
        type Calls = fn(&mut Bench, u32) -> Bits;
        let key: Option<&[(&str, u32)]> = Some(&[("", 8)]);
        let cases: [(Bench, Calls); 5] = [
            (Bench::new("array", None, Some(&[("", 32)]), &[("size", 8)]), |bench, i| {
                bench.call("fetch_add", &[Bits::new(32, u128::from(i % 8)), Bits::new(32, 3)])
            }),
            (
                Bench::new("exact", key, Some(&[("", 32)]), &[("size", 4), ("age", 7)]),
                |bench, i| {
                    bench.now += 1;
                    let value = Bits::new(32, u128::from(i));
                    bench.call("insert", &[Bits::new(8, u128::from(i % 6)), value])
                },
            ),
            (
                Bench::new("meter", None, None, &[("size", 2), ("cir", 40), ("cbs", 300)]),
                |bench, i| {
                    bench.now += 1000;
                    bench.call("color", &[Bits::new(32, u128::from(i % 2)), Bits::new(32, 90)])
                },
            ),
            (Bench::new("counter", None, None, &[("size", 2)]), |bench, i| {
                bench.call("count", &[Bits::new(32, u128::from(i % 2)), Bits::new(32, 90)])
            }),
            (Bench::new("lpm", Some(&[("", 32)]), Some(&[("", 8)]), &[("miss", 9)]), |bench, i| {
                bench.call("search", &[Bits::new(32, u128::from(i) << 24)])
            }),
        ];
        for (mut original, call) in cases {
            let bits = word(1 << 24);
            let prefix = Entry { key: EntryKey::Prefix { bits, length: 8 }, value: byte(5) };
            // Only prefix tables accept it.
            let _ = original.instance.load(prefix);
            (0..20).for_each(|i| drop(call(&mut original, i)));
            let mut copy = Bench {
                instance: original.instance.duplicate(),
                packet: None,
                now: original.now,
                sequence: 0,
                config: original.config.clone(),
            };
            let kind = original.config.kind.clone();
            let expected: Vec<Bits> = (20..60).map(|i| call(&mut original, i)).collect();
            assert_eq!(
                (20..60).map(|i| call(&mut copy, i)).collect::<Vec<_>>(),
                expected,
                "{kind}"
            );
            assert_eq!(copy.instance.rows(), original.instance.rows(), "{kind}");
            assert!(copy.instance.assign(original.instance.as_ref()));
        }
        let mut clock = Bench::new("clock", None, None, &[]);
        let counter = Bench::new("counter", None, None, &[("size", 2)]);
        assert!(!clock.instance.assign(counter.instance.as_ref()), "another kind");
    }

    #[test]
    fn an_unknown_kind_is_refused() {
        let config =
            Config { kind: "cam".into(), key: None, value: None, params: Default::default() };
        assert_eq!(
            instantiate(&config).err(),
            Some(Refused("there is no offload kind `cam`".into()))
        );
    }
}
