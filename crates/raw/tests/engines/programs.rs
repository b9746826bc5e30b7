//! The programs of the repository.

use std::path::Path;

use wireloom_machine::{Registry, Source};

static REGISTRY: Registry = Registry::new(&[wireloom_raw::KIND]);

#[test]
fn every_program_has_a_place_on_one_tile() {
    let machine = REGISTRY.find("raw-1").unwrap_or_else(|error| panic!("{}", error.message));
    for name in ["router", "ipv4", "ipv6", "mpls", "nat", "url", "md4", "flowcount"] {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../programs");
        let program = Source::of(folder.join(name).with_extension("loom")).compiled();
        let program = program.unwrap_or_else(|error| panic!("{name}: {}", error.message));
        let refused = machine.refusals(&program);
        assert!(refused.is_empty(), "{name}: {refused:?}");
    }
}
