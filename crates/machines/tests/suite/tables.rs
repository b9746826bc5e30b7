//! Tables of the programs that are refused on loading.

use std::path::Path;

use wireloom_machine::Source;
use wireloom_net::tables::TableFile;
use wireloom_offloads::load_tables;

#[test]
fn values_that_the_router_does_not_define_are_refused() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../programs/router.loom");
    let program = Source::of(file).compiled().unwrap_or_else(|error| panic!("{}", error.message));
    let load = |text: &str| {
        let mut store = wireloom_ir::store(&program.optimised).expect("a store");
        let file = TableFile::from_text(Path::new("t"), text).expect("well-formed");
        load_tables(&mut store, file).map_err(|error| error.to_string())
    };
    let route = "table destinations4\n10.0.0.0/8 next_hop=1";
    assert!(load(&format!("{route} kind=DISCARD\n")).is_ok());
    for (entry, wrong) in [
        (format!("{route} kind=7\n"), "t:2: field `kind`: no member has the value `7`"),
        (
            "table next_hops\n0 labels=3\n".into(),
            "t:2: field `labels`: no member has the value `3`",
        ),
        (
            "table labels\n16 operation=5\n".into(),
            "t:2: field `operation`: no member has the value",
        ),
        ("table labels\n16 operation=POPP\n".into(), "did you mean `POP`?"),
    ] {
        let error = load(&entry).expect_err(&entry);
        assert!(error.contains(wrong), "{entry}{error}");
    }
}
