//! Tests of growth, chains and the order of touches in the memory of `exact`.

use super::*;

fn check(table: &Raw) {
    let mut seen = 0;
    for home in 0..table.used as usize {
        let chain: Vec<&Bucket> = table.chain(home).map(|at| table.bucket(at)).collect();
        for (index, bucket) in chain.iter().enumerate() {
            let is_last = index + 1 == chain.len();
            assert!(if is_last { bucket.len() <= PLACES } else { bucket.len() == PLACES });
            assert!(index == 0 || bucket.len() > 0, "no empty overflow bucket");
            for place in 0..bucket.len() {
                let hash = table.hash(table.key(bucket.entries[place]));
                assert_eq!((table.home(hash), (hash >> 56) as u8), (home, bucket.tags[place]));
                seen += 1;
            }
        }
    }
    assert_eq!(seen, table.count as usize);
    assert_eq!(table.all().count(), table.count as usize);
}

#[test]
fn tables_grow_a_little_at_a_time_and_keep_every_entry() {
    let mut table = Table::new(1, 1, 40_000, Ends::Never).unwrap();
    for n in 0..40_000u64 {
        let used = table.used;
        table.insert(&[n * 977], [n].into_iter());
        assert!(table.used - used <= SPLITS as u32, "a call splits few buckets");
        if n % 5003 == 0 {
            check(&table);
        }
    }
    assert!(table.is_full() && table.used as usize == table.buckets.len());
    let copy = table.clone();
    for n in (0..40_000u64).step_by(3) {
        let entry = table.find(&[n * 977]).expect("it is there");
        assert_eq!(table.value(entry), [n]);
        table.remove(entry);
    }
    check(&table);
    check(&copy);
    assert_eq!(copy.count, 40_000);
    for n in 0..40_000u64 {
        assert_eq!(table.find(&[n * 977]).is_none(), n % 3 == 0);
        assert!(copy.find(&[n * 977]).is_some());
    }
    table.clear();
    check(&table);
}

/// If all keys collide, chains contain the entries.
#[test]
fn a_table_holds_its_size_whatever_the_hashes() {
    let mut table = Table::new(2, 1, 100, Ends::Old).unwrap();
    // If the second word equals the second seed, the product is zero for any first word.
    let other = table.seeds[1];
    for n in 0..100 {
        table.insert(&[n, other], [n].into_iter());
    }
    check(&table);
    assert!(table.is_full());
    for n in (0..100).rev() {
        let entry = table.find(&[n, other]).expect("it is there");
        assert_eq!(table.value(entry), [n]);
        table.remove(entry);
        check(&table);
    }
    for n in 0..100 {
        table.insert(&[n, other], [n].into_iter());
    }
    assert_eq!(table.fresh_overflow, 8, "overflow buckets are used again");
}

#[test]
fn numbered_touches_become_a_list_in_the_same_order() {
    let mut table = Table::new(1, 1, 10, Ends::Never).unwrap();
    for n in 0..10 {
        table.time_ns = n;
        let entry = table.insert(&[n], [n].into_iter());
        table.link(entry, n);
    }
    for n in [3, 7] {
        table.touch(n);
    }
    table.fix(5);
    let order = |table: &Table| table.ageing().collect::<Vec<u32>>();
    assert_eq!(order(&table), [0, 1, 2, 4, 6, 8, 9, 3, 7]);
    assert_eq!(table.expire(7), 2);
    assert_eq!(order(&table), [2, 4, 6, 8, 9, 3, 7]);
    table.touch(2);
    table.remove(8);
    assert_eq!(order(&table), [4, 6, 9, 3, 7, 2]);
}
