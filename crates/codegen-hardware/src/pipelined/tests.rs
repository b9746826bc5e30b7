use super::accelerators::called;
use super::*;
use crate::tables::{IPV4, IPV4_SHARED, IPV6, IPV6_SHARED};

#[test]
fn the_ipv4_trie_as_a_pipeline() {
    let accelerator = accelerator("ipv4_trie").unwrap();
    let pipeline = pipeline(&accelerator.program, accelerator.engine).unwrap();
    insta::assert_snapshot!(pipeline.module.print());
}

#[test]
fn the_ipv4_lookup_service() {
    insta::assert_snapshot!(lookup(&IPV4, "").unwrap().module.print());
}

#[test]
fn the_levels_of_tries_have_slots_in_their_channels() {
    for (shape, channels, latency) in [
        (IPV4, vec![3], 24),
        (IPV4_SHARED, vec![3], 24),
        (IPV6, vec![3, 3], 60),
        (IPV6_SHARED, vec![3, 3], 63),
    ] {
        let lookup = lookup(&shape, "").unwrap();
        let slots: Vec<usize> = lookup.channels().map(|(_, port)| port.slots.len()).collect();
        assert_eq!(slots, channels);
        assert_eq!(lookup.latency(6), latency);
        assert!(lookup.pipeline.depth <= 14, "{} levels", lookup.pipeline.depth);
    }
}

/// Returns the reason why an engine named `e` is refused.
fn refusal(body: &str) -> String {
    let text = format!(
        "engine other(u8 x) -> u8 {{ step s {{ finish(x); }} }}\nengine e(u8 x) -> u8 {{\n{body}\n}}"
    );
    let called = called("e.loom", &text, "e").unwrap();
    pipeline(&called.program, called.engine).unwrap_err().to_string()
}

#[test]
fn what_cannot_be_a_pipeline_is_refused_with_step_line_and_reason() {
    let cases = [
        "offload m : array<u8, size = 8>; u8 y;
         step a { y += m.read(x); next b; }
         step b { if (y < 9) next a; finish(y); }",
        "offload t : exact<u8, u8, size = 8>;
         step a { finish(t.lookup(x).value); }",
        "offload m : array<u8, size = 8>;
         step a { m.write(x, 1); finish(x); }",
        "offload o : engine other;
         step a { finish(o.call(x)); }",
        "offload c : clock;
         step a { finish(c.now()[7:0] + x); }",
    ];
    let expected = [
        "e.loom:5: step `b` of `e`: it jumps back to `a`: a pipeline has forward jumps only",
        "e.loom:4: step `a` of `e`: `t.lookup` takes a varying time: a pipeline needs constant delays",
        "e.loom:4: step `a` of `e`: `m.write` is no read of a memory: a pipeline only reads",
        "e.loom:4: step `a` of `e`: `o` is an engine: a pipeline calls memories only",
        "e.loom:4: step `a` of `e`: the engine reads the arrival time or the number of its packet, which a pipeline does not have",
    ];
    for (body, expected) in cases.into_iter().zip(expected) {
        assert_eq!(refusal(body), expected);
    }
}

#[test]
fn an_engine_that_takes_packets_is_refused() {
    let called = called("e.loom", "engine e(u8 x) -> u8 { step s { finish(x); } }", "e").unwrap();
    assert_eq!(
        pipeline(&called.program, called.program.main).unwrap_err().reason,
        "the engine takes packets, for which a pipeline has no memory; only called engines can be pipelined"
    );
}
