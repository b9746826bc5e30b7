//! Tests of loading table files into offloads, and of the errors for files that do not match.

use std::path::Path;

use wireloom_bits::Bits;
use wireloom_net::tables::TableFile;

use super::*;
use crate::kinds::tests::config;
use crate::{Slot, StateRow, instantiate};

type Fields<'a> = Option<&'a [(&'a str, u32)]>;

fn slot(
    name: &str,
    kind: &str,
    key: Fields<'_>,
    value: Fields<'_>,
    params: &[(&str, u64)],
) -> Slot {
    let config = config(kind, key, value, params);
    let instance = instantiate(&config).unwrap();
    Slot { name: name.into(), content: Content::Kind { config, instance } }
}

fn store() -> Store {
    let route: Fields<'_> = Some(&[("port", 8), ("class", 8)]);
    let flow: Fields<'_> = Some(&[("src", 32), ("dst", 32), ("port", 16)]);
    let port: Fields<'_> =
        Some(&[("port", 16), ("mac", 48), ("mtu", 16), ("tag.id", 12), ("tag.on", 1)]);
    let inner =
        Store { slots: vec![slot("mem", "array", None, Some(&[("", 24)]), &[("size", 16)])] };
    let meter = [("size", 4), ("cir", 1000), ("cbs", 2000), ("ebs", 3000)];
    Store {
        slots: vec![
            slot("routes", "lpm", Some(&[("", 32)]), route, &[]),
            slot("routes6", "lpm", Some(&[("", 128)]), Some(&[("", 8)]), &[]),
            slot("flows", "exact", flow, Some(&[("", 8)]), &[("size", 4)]),
            slot("hosts", "exact", Some(&[("", 48)]), Some(&[("", 8)]), &[("size", 4)]),
            slot("ports", "array", None, port, &[("size", 32)]),
            slot("counts", "counter", None, None, &[("size", 4)]),
            slot("police", "meter", None, None, &meter),
            slot("seen", "bloom", Some(&[("", 32)]), None, &[("size", 64)]),
            slot("urls", "match", None, route, &[]),
            slot("now", "clock", None, None, &[]),
            Slot { name: "walk".into(), content: Content::Engine(inner) },
        ],
    }
}

fn load(store: &mut Store, text: &str) -> Result<LoadSummary, String> {
    let file = TableFile::from_text(Path::new("t.tables"), text).expect("well-formed lines");
    load_tables(store, file).map_err(|e| e.to_string())
}

fn rows(store: &Store, path: &str) -> Vec<StateRow> {
    match &store.find(path).unwrap().content {
        Content::Kind { instance, .. } => instance.rows(),
        Content::Engine(_) => panic!("{path} is an engine"),
    }
}

fn fields(row: &StateRow) -> Vec<(&str, u64)> {
    row.fields.iter().map(|(name, value)| (name.as_str(), value.low_u64())).collect()
}

#[test]
fn every_kind_with_a_table_is_loaded() {
    let mut store = store();
    let summary = load(
        &mut store,
        "table routes\n10.0.0.0/8 port=3 class=7\n0x80000000/1 class=9\n\
         table routes6\n2001:db8::/32 = 5\n\
         table flows\nsrc=10.0.0.1 dst=10.0.0.2 port=80 -> = 1\n\
         table hosts\n02:00:00:00:00:01 -> = 7\n\
         table ports\n17 port=1 mac=02:00:00:00:00:01 mtu=1500 tag.on=true\n\
         table counts\n2 bytes=10\n\
         table police\n1 cir=5 ebs=0\n\
         table seen\n10.0.0.1 = 1\n\
         table urls\n\"GET /\" port=2\n\
         table walk.mem\n3 = 0x123456\n\
         table routes\n10.0.0.0/8 port=4\n",
    )
    .unwrap();
    assert_eq!(summary.tables[0], ("routes".to_owned(), 3));
    assert_eq!((summary.tables.len(), summary.entries()), (10, 12));
    let routes = rows(&store, "routes");
    assert_eq!(
        fields(&routes[0]),
        [("port", 4), ("class", 0)],
        "replaced; what is not given is zero"
    );
    assert_eq!(fields(&routes[1]), [("port", 0), ("class", 9)]);
    assert_eq!(routes[1].key, EntryKey::Prefix { bits: Bits::new(32, 1 << 31), length: 1 });
    let key = Bits::new(80, 0x0a00_0001_0a00_0002_0050);
    assert_eq!(rows(&store, "flows")[0].key, EntryKey::Exact(key));
    assert_eq!(rows(&store, "hosts")[0].key, EntryKey::Exact(Bits::new(48, 0x0200_0000_0001)));
    let port = &rows(&store, "ports")[0];
    let expected =
        [("port", 1), ("mac", 0x0200_0000_0001), ("mtu", 1500), ("tag.id", 0), ("tag.on", 1)];
    assert_eq!((&port.key, fields(port)), (&EntryKey::Index(17), expected.to_vec()));
    assert_eq!(fields(&rows(&store, "counts")[0]), [("packets", 0), ("bytes", 10)]);
    let meter = &rows(&store, "police")[0];
    assert_eq!(
        fields(meter)[..3],
        [("cir", 5), ("cbs", 2000), ("ebs", 0)],
        "the declaration's, but for what is given"
    );
    assert_eq!(rows(&store, "urls")[0].key, EntryKey::Pattern(b"GET /".to_vec()));
    let bits: u32 =
        rows(&store, "seen").iter().map(|row| row.fields[0].1.low_u64().count_ones()).sum();
    assert!((1..=4).contains(&bits), "a key sets four bits, of which some may be one");
    assert_eq!(fields(&rows(&store, "walk.mem")[0]), [("value", 0x12_3456)]);
}

#[test]
fn what_does_not_suit_is_said_with_file_and_line() {
    for (text, expected) in [
        ("table route\n", "1: there is no offload `route`; did you mean `routes`?"),
        ("table walk.men\n", "1: there is no offload `walk.men`; did you mean `walk.mem`?"),
        ("table walk\n", "1: `walk` is an engine; name one of its offloads: walk.mem"),
        ("table now\n1 = 2\n", "2: `clock` has no table: remove the section"),
        ("table routes\n\n10.0.0.0/8 prt=3\n", "3: there is no field `prt`; did you mean `port`?"),
        (
            "table routes\n10.0.0.0/8 nexthop=3\n",
            "2: there is no field `nexthop`; there is `port`, `class`",
        ),
        ("table ports\n1 tag=3\n", "2: there is no field `tag`; did you mean `tag.id`?"),
        ("table routes\n10.0.0.0/8 = 3\n", "2: the value has fields; write port=..., class=..."),
        (
            "table routes6\n::/0 port=3\n",
            "2: there is no field `port`: the value is a scalar, written `= NUMBER`",
        ),
        ("table routes\n10.0.0.0/8 port=256\n", "2: field `port`: `256` does not fit in 8 bits"),
        (
            "table routes\n2001:db8::/32 port=1\n",
            "2: `2001:db8::` is an IPv6 address of 128 bits; the key has 32",
        ),
        (
            "table flows\n1 -> = 1\n",
            "2: the key has several fields; write src=... dst=... port=...",
        ),
        (
            "table flows\nsrc=10.0.0.1 port=1 -> = 1\n",
            "2: the key has no `dst`; write `dst=0` if it is zero",
        ),
        (
            "table hosts\n1/8 -> = 1\n",
            "2: a prefix where the table matches whole keys; write `1` without a length",
        ),
        (
            "table ports\n32 port=1\n",
            "2: index 32 is out of range: the offload has 32 elements, from 0",
        ),
        ("table ports\n10.0.0.1 port=1\n", "2: an index is wanted here: a number, such as `17`"),
        ("table urls\n5 port=1\n", "2: a pattern in quotes is wanted here, such as `\"GET /\"`"),
        (
            "table seen\n1 = 0\n",
            "2: a key cannot be taken out of a Bloom filter: its bits may be those of others too",
        ),
        ("table police\n1 cirr=1\n", "2: there is no field `cirr`; did you mean `cir`?"),
        (
            "table hosts\n1 -> = 1\n2 -> = 1\n3 -> = 1\n4 -> = 1\n5 -> = 1\n",
            "6: the table is full: its size is 4",
        ),
    ] {
        assert_eq!(load(&mut store(), text), Err(format!("t.tables:{expected}")), "{text}");
    }
}

#[test]
fn what_stands_before_a_mistake_is_loaded() {
    let mut store = store();
    assert!(load(&mut store, "table routes\n10.0.0.0/8 port=1\n11.0.0.0/8 port=256\n").is_err());
    assert_eq!(rows(&store, "routes").len(), 1);
}

#[test]
fn distances_between_words() {
    for (a, b, d) in [
        ("", "abc", 3),
        ("port", "port", 0),
        ("prot", "port", 2),
        ("cbs", "cir", 2),
        ("mac", "max", 1),
    ] {
        assert_eq!(distance(a, b), d, "{a} {b}");
    }
}

#[test]
fn members_of_enumerations_are_given_by_name_or_number() {
    let mut store = store();
    let Content::Kind { config, .. } = &mut store.slots[0].content else { panic!("a table") };
    let members = [("NONE", 0), ("FORWARD", 1), ("DISCARD", 6)];
    let members = members.map(|(name, value)| (name.to_owned(), value)).to_vec();
    config.value.as_mut().expect("a value").enums.insert("class".into(), members);
    let text = "table routes\n10.0.0.0/8 port=1 class=DISCARD\n10.0.0.0/9 class=1\n";
    load(&mut store, text).expect("members");
    let rows = rows(&store, "routes");
    let loaded: Vec<_> = rows.iter().map(fields).collect();
    assert_eq!(loaded, [[("port", 1), ("class", 6)], [("port", 0), ("class", 1)]]);

    for (value, expected) in [
        ("class=DISCRD", "field `class`: there is no member `DISCRD`; did you mean `DISCARD`?"),
        ("class=DROP", "there is no member `DROP`; there is `NONE`, `FORWARD`, `DISCARD`"),
        ("class=7", "no member has the value `7`; there is `NONE` = 0, `FORWARD` = 1"),
        ("class=256", "`256` does not fit in 8 bits"),
        ("port=FORWARD", "field `port`: `FORWARD` is not a number"),
    ] {
        let error = load(&mut store, &format!("table routes\n10.0.0.0/8 {value}\n"));
        let error = error.expect_err(value);
        assert!(error.contains(expected), "{value}: {error}");
    }
}
