//! Tests of the placement.

use wireloom_bits::Bits;
use wireloom_ir::Exit;
use wireloom_ir::builder::{EngineBuilder, program_of};
use wireloom_isa::microengine::Version;
use wireloom_offloads::{Config, Content};

use super::{Layout, Memories};
use crate::kinds::tests::config;
use crate::{FRAME, Refused, place};

const MEMORIES: Memories = Memories {
    sram: 1 << 20,
    sdram: 1 << 21,
    scratch: 1 << 10,
    version: Version::One,
    threads: 16,
    frame: FRAME,
};

/// Places offloads with these declarations.
fn placed(configs: &[Config]) -> Result<Layout, Vec<Refused>> {
    let mut engine = EngineBuilder::packet("e");
    for (number, config) in configs.iter().enumerate() {
        engine.offload(&format!("o{number}"), config.clone());
    }
    engine.step("only", |s| s.exit(Exit::Finish));
    let program = program_of(engine);
    let mut store = wireloom_ir::store(&program).expect("a store");
    // No registry has this kind. The slot keeps the state of another kind.
    for slot in &mut store.slots {
        if let Content::Kind { config, .. } = &mut slot.content
            && config.params.contains_key("unknown")
        {
            config.kind = "sketch".into();
        }
    }
    place(&program, &mut store, MEMORIES)
}

fn hash(multiplier64: u64) -> Config {
    config("hash", Some(32), None, &[("multiplier64", multiplier64)])
}

#[test]
fn a_kind_that_microengines_do_not_have_is_refused_by_name() {
    let mut sketch = config("clock", None, None, &[]);
    sketch.params.insert("unknown".into(), Bits::new(1, 1));
    let refused = placed(&[hash(3), sketch]).expect_err("a refusal");
    let messages: Vec<&str> = refused.iter().map(|refused| &*refused.message).collect();
    assert_eq!(messages, ["offload `o1` (kind `sketch`) is not supported on ixp yet"]);
}

#[test]
fn offloads_share_the_hash_unit_and_the_tables_of_checks() {
    let bloom = config("bloom", Some(32), None, &[("size", 64)]);
    let exact = config("exact", Some(32), Some(32), &[("size", 4)]);
    let layout = placed(&[exact, hash(3), bloom, hash(3)]).expect("all have a place");
    assert_eq!(layout.multiplier.map(|[_, long]| long), Some(3));
    assert!(layout.checks.iter().all(Option::is_some));
    assert_eq!(layout.fixed.len(), 2);
    let refused = placed(&[hash(3), hash(5)]).expect_err("a refusal");
    assert_eq!(refused[0].offload.as_deref(), Some("o1"));
}
