use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

use wireloom_bits::Bits;
use wireloom_ir::{Value, ValueInfo};
use wireloom_net::{Packet, PacketInHand};
use wireloom_offloads::registry::{self, OffloadKind, TableKey, ValueType};
use wireloom_offloads::sources::named_kinds;
use wireloom_offloads::{Entry, EntryKey, Env, Instance, Layout, Method};

use super::kind::{Call, Placed, Unsupported, refusal};
use super::*;
use crate::aligned::Aligned;
use crate::code::Code;
use crate::lower::Lower;
use crate::memory::{Memories, Memory};
use crate::placing;
use crate::testing::{Contents, Random};
use crate::words;

/// The first address of memory in tests.
const FIRST: u32 = 0x4_0000;

/// Returns memory that ends after a number of bytes.
fn memory(bytes: u32) -> Memory {
    Memory::new(Memories { first: FIRST, end: FIRST + bytes, tiles: 3, has_rest: false })
}

/// Returns memory that has room for every offload here.
fn large() -> Memory {
    memory(4 << 20)
}

/// Returns a configuration with these types, and the smallest parameters but for those given.
fn config(kind: &str, key: u32, value: &[u32], params: &[(&str, u64)]) -> Config {
    let registered = registry::kind(kind).expect("a kind of the registry");
    let fields = value.iter().enumerate().map(|(at, width)| (format!("field{at}"), *width));
    let mut config = Config {
        kind: kind.to_owned(),
        key: registered.has_key.then(|| Layout::scalar(key)),
        value: registered.has_value.then(|| Layout::plain(fields.collect())),
        params: BTreeMap::new(),
    };
    for param in registered.params {
        let given = params.iter().find(|(name, _)| *name == param.name).map(|(_, value)| *value);
        let value = given.or(param.default).unwrap_or(param.range.0);
        let width = param.ty.width(&config);
        config.params.insert(param.name.to_owned(), Bits::new(width, value.into()));
    }
    config
}

/// Returns a configuration with random types and parameters.
fn random_config(kind: &str, random: &mut Random) -> Config {
    let widths = [1, 8, 31, 32, 33, 64, 100, 128];
    let [key, first, second] = [(); 3].map(|()| random.one_of(&widths));
    // A payload has whole bytes.
    let value = if kind == "payload" { vec![64] } else { vec![first, second] };
    let mut number = |bound: u64| random.below(bound);
    let params = [
        ("size", 1 + number(9)),
        ("age", 60 * number(2)),
        ("rates", 1 + number(2)),
        ("cir", number(1 << 40)),
        ("cbs", number(2000)),
        ("ebs", number(2000)),
        ("pir", number(1 << 40)),
        ("pbs", number(2000)),
        ("hashes", 1 + number(4)),
        ("seed", number(9)),
        ("tick", if kind == "timer" { 1 + number(30) } else { 17 * number(2) }),
        ("step", number(2)),
    ];
    config(kind, key, &value, &params)
}

/// Loads random entries, as the control plane does.
fn load(config: &Config, instance: &mut dyn Instance, random: &mut Random) {
    let Some(form) = registry::kind(&config.kind).and_then(|kind| kind.table) else { return };
    let key_width = config.key.as_ref().map_or(0, Layout::width);
    for _ in 0..random.below(7) {
        let key = match form.key {
            TableKey::Prefix => {
                let length = random.below(1 + u64::from(key_width)) as u32;
                let left = key_width - length;
                EntryKey::Prefix { bits: random.bits(key_width).lshr(left).shl(left), length }
            }
            TableKey::Whole => EntryKey::Exact(random.bits(key_width)),
            TableKey::Index => EntryKey::Index(random.below(6)),
            TableKey::Pattern => {
                let count = 1 + random.below(4);
                EntryKey::Pattern((0..count).map(|_| random.one_of(b"abc")).collect())
            }
        };
        let (layout, declared) = (form.value)(config);
        // Rates that are declared are valid.
        let is_declared = config.kind == "meter";
        let value = if is_declared { declared } else { random.bits(layout.width()) };
        // An entry may find no room, or an index no element.
        let _ = instance.load(Entry { key, value });
    }
}

/// Returns the methods that a configuration has. Tiles refuse the parameters that others need.
fn methods(config: &Config) -> impl Iterator<Item = (usize, &'static Method)> {
    let methods = registry::kind(&config.kind).expect("a kind of the registry").methods;
    let has = |param: &str| !config.param(param).is_zero();
    methods.iter().enumerate().filter(move |(_, method)| method.needs.is_none_or(has))
}

/// Makes random calls, as packets do.
fn call(config: &Config, instance: &mut dyn Instance, random: &mut Random) {
    let methods: Vec<_> = methods(config).collect();
    let mut now_ns = random.below(50);
    for sequence in 0..random.below(40) {
        now_ns += random.below(30);
        let (number, method) = random.one_of(&methods);
        let args = method.args.iter().map(|(_, ty)| match ty {
            // Few different keys, so that entries are found.
            ValueType::Key => Bits::new(ty.width(config), random.below(2).into()),
            ValueType::Value => random.bits(ty.width(config)),
            _ => Bits::new(ty.width(config), random.below(2).into()),
        });
        let args: Vec<Bits> = args.collect();
        let bytes = (0..random.below(200)).map(|_| random.number() as u8).collect();
        let (ingress, arrival_ns) = (random.number() as u16, random.number());
        let mut packet = PacketInHand::arrive(&Packet { ingress, arrival_ns, bytes }, sequence);
        packet.egress = random.number() as u16;
        packet.insert(0, random.below(9));
        instance.call(number, &args, &mut Env { packet: Some(&mut packet), now_ns, sequence });
    }
}

/// Places an offload. Returns it, and the contents of memory.
fn place(config: &Config, instance: &dyn Instance) -> (Arc<dyn Placed>, Contents) {
    let mut memory = large();
    let kind = find(config).expect("a kind that tiles support");
    let placed = kind.place(config, instance, &mut memory).expect("a large memory");
    let next = memory.next();
    let contents = Contents::new(memory.images);
    if let Some((first, end)) = contents.ends() {
        assert!(FIRST <= first && end <= next, "{}: contents that are not taken", config.kind);
    }
    (placed, contents)
}

#[test]
fn each_kind_has_its_name_in_the_registry_once() {
    let names: BTreeSet<&str> = KINDS.iter().map(|kind| kind.name()).collect();
    assert_eq!(names.len(), KINDS.len());
    for name in names {
        assert!(registry::kind(name).is_some(), "{name}");
    }
}

#[test]
fn state_that_packets_changed_comes_back_from_memory() {
    for kind in KINDS.iter().map(|kind| kind.name()) {
        let mut changed = 0;
        for seed in 0..60 {
            let mut random = Random::new(seed);
            let config = random_config(kind, &mut random);
            let mut instance = wireloom_offloads::instantiate(&config)
                .unwrap_or_else(|why| panic!("{kind}: {}", why.0));
            load(&config, instance.as_mut(), &mut random);
            // The store has what the control plane has loaded, but not what packets changed.
            let mut store = instance.duplicate();
            call(&config, instance.as_mut(), &mut random);
            changed += u32::from(store.rows() != instance.rows());
            let (placed, contents) = place(&config, instance.as_ref());
            placed.read_back(&config, store.as_mut(), &mut |at| contents.word(at));
            assert_eq!(store.rows(), instance.rows(), "{kind} {seed}");
            // Times are no part of rows.
            assert!(place(&config, store.as_ref()).1 == contents, "{kind} {seed}");
        }
        let methods = registry::kind(kind).map_or(&[][..], |kind: &OffloadKind| kind.methods);
        let has_state = methods.iter().any(|method| method.state.has_effect());
        assert_eq!(changed > 10, has_state, "{kind}: {changed}");
    }
}

#[test]
fn offloads_take_the_memory_that_their_sizes_say() {
    let prefixes = 4 << 16;
    for (config, bytes) in [
        // Four words each.
        (config("array", 0, &[70, 30], &[("size", 5)]), 96),
        (config("array", 0, &[32], &[("size", 8)]), 32),
        // On each of three tiles.
        (config("counter", 0, &[], &[("size", 3)]), 3 * 64),
        (config("meter", 0, &[], &[("size", 2)]), 128),
        // Two tables of checks, and four words.
        (config("bloom", 8, &[], &[("size", 100), ("hashes", 2)]), 2 * 1024 + 32),
        (config("hash", 0, &[], &[]), 1024),
        // A header, eight buckets, and five entries of 24 bytes, two words of key and two of value.
        (config("exact", 47, &[33], &[("size", 5)]), 96 + 5 * 64),
        // The time of the last tick follows, and each entry has a duration.
        (config("exact", 47, &[33], &[("size", 5), ("tick", 9)]), 96 + 5 * 64 + 32),
        (config("timer", 32, &[], &[("size", 2)]), 64 + 2 * 64 + 32),
        // Two entries of 24 bytes, a word of key, 26 bytes and the longest packet.
        (config("park", 32, &[], &[("size", 2)]), 64 + 2 * 65_600),
        // A root, and the value of a miss.
        (config("lpm", 32, &[16], &[]), prefixes + 32),
        (config("lpm", 8, &[16], &[]), 4 << 8 | 32),
        (config("clock", 0, &[], &[]), 0),
        (config("random", 0, &[], &[]), 0),
        (config("checksum", 0, &[], &[]), 0),
        (config("payload", 0, &[64], &[]), 0),
    ] {
        let instance = wireloom_offloads::instantiate(&config).expect("a valid configuration");
        let kind = find(&config).expect("a kind that tiles support");
        let taken = |mut memory: Memory| {
            let placed = kind.place(&config, instance.as_ref(), &mut memory);
            placed.map(|_| memory.next() - FIRST)
        };
        assert_eq!(taken(large()), Ok(bytes), "{}", kind.name());
        assert_eq!(taken(memory(bytes)), Ok(bytes), "{}", kind.name());
        if bytes > 0 {
            assert!(taken(memory(bytes - 32)).is_err(), "{}", kind.name());
        }
    }
}

#[test]
fn offloads_share_the_tables_of_checks() {
    let mut memory = large();
    let configs = [
        config("hash", 0, &[], &[]),
        config("bloom", 8, &[], &[("size", 32), ("hashes", 1)]),
        config("bloom", 8, &[], &[("size", 32), ("hashes", 1)]),
    ];
    for config in &configs {
        let instance = wireloom_offloads::instantiate(config).expect("a valid configuration");
        let kind = find(config).expect("a kind that tiles support");
        kind.place(config, instance.as_ref(), &mut memory).expect("a large memory");
    }
    assert_eq!(memory.next() - FIRST, 2 * 1024 + 2 * 32);
}

#[test]
fn only_counters_need_no_single_tile_for_their_changes() {
    for kind in KINDS {
        let registered = registry::kind(kind.name()).expect("a kind of the registry");
        let config = config(kind.name(), 32, &[32], &[]);
        for (number, method) in registered.methods.iter().enumerate() {
            let is_shared = method.state.has_effect() && kind.name() != "counter";
            assert_eq!(changes_shared_state(&config, number), is_shared, "{}", method.name);
        }
    }
}

/// Lowers a call of an offload in a step that does nothing else. Returns whether tiles support the
/// method.
fn is_supported(config: &Config, method: &'static Method) -> bool {
    let text = "loom_ir 1\n\nengine calls {\n  step only {\n    finish\n  }\n}\n\nmain calls\n";
    let program = wireloom_ir::parse(text).unwrap_or_else(|why| panic!("{why}"));
    let store = wireloom_ir::store(&program).expect("a store");
    let memories = Memories { first: FIRST, end: 2 * FIRST, tiles: 1, has_rest: false };
    let layout = placing::place(&program, &store, memories).expect("nothing needs memory");
    let mut step = program.engines[0].steps[0].clone();
    let widths = method.args.iter().map(|(_, ty)| ty.width(config));
    step.values = widths.map(|width| ValueInfo { width, name: None }).collect();
    let aligned = Aligned::of(&program.engines[0], |_| true);
    let args: Vec<Value> = (0..step.values.len() as u32).map(Value).collect();
    let instance = &layout.instances[0];
    let code = Code::new("l");
    let mut lower = Lower::new(&program, &layout, 0, instance, &step, &aligned, code);
    for (arg, info) in args.iter().zip(&step.values) {
        let count = words::count(info.width);
        let words = (0..count).map(|_| lower.code.register().into()).collect();
        lower.values.insert(*arg, words);
    }
    let instance = wireloom_offloads::instantiate(config).expect("a valid configuration");
    let (placed, _) = place(config, instance.as_ref());
    let width = method.reply.width(config);
    match placed.call(&mut lower, &Call { config, method, args: &args, width }) {
        Ok(reply) => {
            let count = reply.map_or(0, |words| words.len());
            assert_eq!(count, words::count(width), "{}.{}", config.kind, method.name);
            true
        }
        Err(Unsupported) => false,
    }
}

#[test]
fn tiles_support_the_methods_of_their_kinds_and_no_others() {
    // Operations compute the replies of these.
    let computed = ["crc", "siphash"];
    for kind in KINDS.iter().map(|kind| kind.name()).filter(|name| !computed.contains(name)) {
        let config = config(kind, 32, &[32, 8], &[("hashes", 2), ("tick", 9)]);
        for (_, method) in methods(&config) {
            assert!(is_supported(&config, method), "{kind}.{}", method.name);
            let other = Box::leak(Box::new(Method { name: "other", ..*method }));
            assert!(!is_supported(&config, other), "{kind}.{}", method.name);
        }
    }
}

#[test]
fn what_tiles_do_not_support_is_refused_by_name() {
    assert_eq!(
        refusal("hosts", Some("bind"), "cam"),
        "`hosts.bind` (kind `cam`) is not supported on raw yet"
    );
    assert_eq!(refusal("hosts", None, "cam"), "`hosts` (kind `cam`) is not supported on raw yet");
}

#[test]
fn only_the_files_of_kinds_name_kinds() {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let named = named_kinds(&src, "kinds").expect("the sources");
    assert_eq!(named, Vec::<String>::new());
}
