//! The output of `explain` for a program with split parts, a loop and an order-sensitive offload.

use wireloom_compile::explain::{Explanation, explain};
use wireloom_compile::passes::PassOptions;
use wireloom_compile::{pipeline, svg};
use wireloom_ir::{EngineId, parse, verify};

fn explanation() -> Explanation {
    let mut program = parse(include_str!("../passes/split.dependent.ir")).expect("the text is IR");
    verify(&program).expect("the program verifies");
    pipeline::optimise(&mut program, &PassOptions::default());
    explain(&program, &PassOptions::default())
}

#[test]
fn the_drawing_is_the_same_from_run_to_run() {
    let drawing = svg::step_graph(&explanation());
    assert_eq!(drawing, svg::step_graph(&explanation()));
    for part in ["look.2", "table.insert ?", "to_cpu FULL", "needs the reply of"] {
        assert!(drawing.contains(part), "{part}");
    }
}

/// Returns an attribute of the first element that begins with `start`.
fn attribute(drawing: &str, start: &str, name: &str) -> f64 {
    let (_, element) = drawing.split_once(start).expect("the element");
    let (_, value) = element.split_once(&format!(" {name}=\"")).expect("the attribute");
    value.split_once('"').and_then(|(value, _)| value.parse().ok()).expect("a number")
}

#[test]
fn long_names_fit_into_the_drawing_and_into_their_boxes() {
    let name = "WIDE_MIMW".repeat(12);
    let text =
        format!("loom_ir 1\nengine {name} {{\n step {name} {{\n finish\n }}\n}}\nmain {name}\n");
    let program = parse(&text).expect("the text is IR");
    let drawing = svg::step_graph(&explain(&program, &PassOptions::default()));
    // DejaVu Sans Bold: M has 0.995 em, W 1.103, I 0.372, D 0.830, E 0.683, the underscore 0.5.
    let own = 12.0 * (2.0 * 0.995 + 2.0 * 1.103 + 2.0 * 0.372 + 0.830 + 0.683 + 0.5);
    assert!(attribute(&drawing, "<svg", "width") > 16.0 * own + 24.0, "{drawing}");
    let (_, card) = drawing.split_once("<g><title>").expect("the box");
    assert!(attribute(card, "<rect", "width") > 13.5 * own + 24.0, "{drawing}");
}

#[test]
fn machines_read_it_as_json() {
    let json = serde_json::to_value(explanation()).expect("an explanation has a JSON form");
    let engine = &json["engines"][0];
    assert_eq!(engine["pipelining"]["legal"], false);
    assert_eq!(engine["steps"][2]["exits"][0]["kind"], "to_cpu");
    assert_eq!(engine["steps"][2]["exits"][0]["reason"], "FULL");
}

#[test]
fn an_offload_is_order_sensitive_if_a_call_changes_state_that_another_sees() {
    let engine = &explanation().engines[0];
    let sensitive: Vec<_> =
        engine.offloads.iter().filter(|o| o.order_sensitive).map(|o| o.name.as_str()).collect();
    // Additions to a counter commute, and no call reads it.
    assert_eq!(sensitive, ["table", "ports"]);
}

#[test]
fn steps_whose_jumps_form_no_cycle_can_be_pipelined_whatever_their_order() {
    let text = |last: &str| {
        format!(
            "loom_ir 1\nengine e {{\n step a {{\n next c\n }}\n step b {{\n finish\n }}\n step c {{\n {last}\n }}\n}}\n\
             main e\n"
        )
    };
    let legal = |last| {
        let program = parse(&text(last)).expect("the text is IR");
        let effects = wireloom_compile::analysis::effects::Effects::of(&program);
        wireloom_compile::analysis::pipelining::pipelining(&program, &effects, EngineId(0))
    };
    assert!(legal("next b").legal);
    assert_eq!(legal("next a").reasons, ["steps `a`, `c` form a loop"]);
    assert_eq!(legal("next c").reasons, ["step `c` jumps to itself"]);
    let copies = "step `c` sends a copy, but as many packets leave a pipeline as enter it";
    assert_eq!(legal("emit b").reasons, [copies]);
    assert_eq!(
        legal("%0:u16 = const 60\n packet.reset %0\n emit b").reasons,
        ["step `c` replaces the packet", copies]
    );
}
