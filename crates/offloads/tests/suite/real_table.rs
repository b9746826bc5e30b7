//! The Internet's routing table of 2015 (Debian package python3-pyasn, unpacked into the cache by
//! `make data`). Without the cache, the tests print a note and pass.

use std::path::{Path, PathBuf};
use std::time::Instant;

use wireloom_bits::Bits;
use wireloom_net::tables::{Family, Prefix, TableFile};
use wireloom_offloads::lpm::Table;
use wireloom_offloads::{Config, Content, Layout, Slot, Store, instantiate, kinds, load_tables};

const FILE: &str =
    "../../.cache/data/pyasn/usr/lib/python3/dist-packages/data/ipasn6_20151101.dat.gz";

fn data() -> Option<PathBuf> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(FILE);
    if !path.exists() {
        eprintln!("SKIPPED: {} is not there; `make data` fetches it", path.display());
    }
    path.exists().then_some(path)
}

fn routes(name: &str, width: u32) -> Slot {
    let value = Layout::plain(vec![("port".into(), 16), ("class".into(), 8)]);
    let config = Config {
        kind: "lpm".into(),
        key: Some(Layout::scalar(width)),
        params: [("miss".to_owned(), Bits::new(24, 0xff))].into(),
        value: Some(value),
    };
    let instance = instantiate(&config).expect("a valid configuration");
    Slot { name: name.into(), content: Content::Kind { config, instance } }
}

fn table(store: &Store, path: &str) -> kinds::lpm::SharedTable {
    let Content::Kind { instance, .. } = &store.find(path).expect("the offload").content else {
        panic!("{path} is of a kind")
    };
    let any: &dyn std::any::Any = instance.as_ref();
    any.downcast_ref::<kinds::lpm::Lpm>().expect("an lpm").table()
}

/// The prefixes by length, sorted. One binary search for each length is fast enough for a real
/// table.
struct ByLength(Vec<Vec<(u128, u64)>>);

impl ByLength {
    fn new(prefixes: &[(Prefix, u64)], width: u32) -> Self {
        let mut lengths = vec![Vec::new(); width as usize + 1];
        for (prefix, value) in prefixes {
            lengths[prefix.length() as usize].push((prefix.bits(), *value));
        }
        lengths.iter_mut().for_each(|l| l.sort_unstable());
        Self(lengths)
    }

    fn lookup(&self, family: Family, address: u128) -> u64 {
        let matching = self.0.iter().enumerate().rev().find_map(|(length, prefixes)| {
            let prefix = Prefix::new(family, address, length as u32)?;
            let at = prefixes.binary_search_by_key(&prefix.bits(), |(bits, _)| *bits).ok()?;
            Some(prefixes[at].1)
        });
        matching.unwrap_or(0xff)
    }
}

#[test]
fn the_internet_of_2015_is_loaded_and_searched() {
    let Some(path) = data() else { return };
    let mut store = Store { slots: vec![routes("v4", 32), routes("v6", 128)] };
    let text = format!(
        "table v4\nimport pyasn {path:?} family=4 port=(index % 1000) class=(length)\n\
         table v6\nimport pyasn {path:?} family=6 port=(index % 1000) class=(length)\n"
    );
    let file = TableFile::from_text(Path::new("internet.tables"), text).expect("a table file");
    let begin = Instant::now();
    let summary = load_tables(&mut store, file).expect("a real table");
    let took = begin.elapsed();
    assert_eq!(summary.tables, [("v4".to_owned(), 606_138), ("v6".to_owned(), 27_693)]);

    let (v4, v6) = (table(&store, "v4"), table(&store, "v6"));
    let memory = v4.lock().unwrap().memory() + v6.lock().unwrap().memory();
    eprintln!("loaded {} prefixes in {took:.2?}, {:.1} MB", summary.entries(), memory as f64 / 1e6);
    assert!(memory < 64_000_000, "{memory} bytes");

    for (family, path, table) in [(Family::V4, "v4", v4), (Family::V6, "v6", v6)] {
        let width = family.width();
        let mut table = table.lock().unwrap();
        let mut prefixes = Vec::new();
        table.for_each(&mut |bits, length, value| {
            let prefix = Prefix::new(family, bits.to_u128().unwrap(), length).expect("a prefix");
            prefixes.push((prefix, value.low_u64()));
        });
        assert_eq!(prefixes.len(), table.len());
        let naive = ByLength::new(&prefixes, width);
        let mut random = 1u64;
        let mut step = || {
            random = kinds::random::splitmix64(random, 0);
            u128::from(random) << 64 | u128::from(kinds::random::splitmix64(random, 1))
        };
        let check = |table: &Table, naive: &ByLength, address: u128| {
            let got = table.lookup(&Bits::new(width, address)).low_u64();
            assert_eq!(got, naive.lookup(family, address), "{path}: {address:#x}");
        };
        for (prefix, _) in prefixes.iter().step_by(3) {
            // Test the first and the last address of the prefix, the addresses just outside, and a
            // random one.
            let (first, last) = (prefix.address(0), prefix.address(u128::MAX));
            for address in
                [first, last, first.wrapping_sub(1), last.wrapping_add(1), prefix.address(step())]
            {
                check(&table, &naive, Prefix::new(family, address, width).unwrap().bits());
            }
        }
        // Remove and reinsert a tenth of the table, with lookups after each change.
        for (prefix, _) in prefixes.iter().step_by(10) {
            let bits = Bits::new(width, prefix.bits());
            assert_eq!(table.remove(&bits, prefix.length()), Ok(true));
        }
        let rest: Vec<_> = prefixes
            .iter()
            .enumerate()
            .filter(|(i, _)| i % 10 != 0)
            .map(|(_, entry)| *entry)
            .collect();
        let naive = ByLength::new(&rest, width);
        for (prefix, _) in prefixes.iter().step_by(10) {
            check(&table, &naive, prefix.address(step()));
        }
        let begin = Instant::now();
        for (prefix, value) in prefixes.iter().step_by(10) {
            let bits = Bits::new(width, prefix.bits());
            let value = Bits::new(24, u128::from(*value));
            assert_eq!(table.insert(&bits, prefix.length(), &value), Ok(false));
        }
        let each = begin.elapsed() / (prefixes.len() / 10) as u32;
        eprintln!("{path}: {each:.2?} an update, {:.1} MB after", table.memory() as f64 / 1e6);
        let naive = ByLength::new(&prefixes, width);
        for (prefix, _) in prefixes.iter().step_by(10) {
            check(&table, &naive, prefix.address(step()));
        }
    }
}
