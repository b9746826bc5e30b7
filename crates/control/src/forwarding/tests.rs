use wireloom_ir as ir;
use wireloom_lang::check_source;
use wireloom_machine::Program;
use wireloom_net::tables::TableFile;
use wireloom_offloads::{Content, load_tables};

use super::*;

fn store(source: &str, tables: &str) -> Store {
    let checked = check_source("e.loom", source, &Default::default());
    let program = Program::new(&checked.program.expect("a program"));
    let mut store = ir::store(&program.optimised).expect("offloads");
    let file = TableFile::from_text(std::path::Path::new("t.tables"), tables);
    load_tables(&mut store, file.expect("tables")).expect("entries");
    store
}

const SOURCE: &str = "\
    engine e() {\n\
        offload destinations4 : lpm<u32, u8>;\n\
        offload flows : exact<u32, u16, size = 16>;\n\
        offload counts : counter<size = 4>;\n\
        step s { finish; }\n\
    }\n";

fn entries(store: &Store, path: &str) -> Option<u64> {
    match &store.find(path)?.content {
        Content::Kind { instance, .. } => instance.entries(),
        Content::Engine(_) => None,
    }
}

#[test]
fn state_of_packets_goes_over_where_the_declarations_agree() {
    let rows = "table destinations4\n10.0.0.0/8 = 1\ntable flows\n1 = 1\n2 = 2\n";
    let mut old = store(SOURCE, rows);
    let mut new = store(SOURCE, "table destinations4\n10.0.0.0/8 = 2\n11.0.0.0/8 = 2\n");
    let exchanged = hand_over(&mut old, &mut new, true);
    assert_eq!(exchanged.kept, ["flows", "counts"]);
    assert_eq!(exchanged.read, ["destinations4"]);
    assert_eq!(entries(&new, "flows"), Some(2));
    assert_eq!(entries(&new, "destinations4"), Some(2));
}

#[test]
fn state_that_does_not_suit_is_named() {
    let mut old = store(SOURCE, "table flows\n1 = 1\n");
    let other = SOURCE.replace("u32, u16", "u32, u32");
    let other = other.replace("offload counts : counter<size = 4>;\n", "");
    let mut new = store(&other, "");
    let exchanged = hand_over(&mut old, &mut new, true);
    assert_eq!(exchanged.kept, Vec::<String>::new());
    assert_eq!(exchanged.lost, ["flows (declared in another way)", "counts (no longer declared)"]);
    assert_eq!(entries(&new, "flows"), Some(0));
}
