//! Traces of small engines.

mod filetests;

use std::fmt::Write;

use wireloom_bits::Bits;
use wireloom_ir::Execute;
use wireloom_lang::{Options, check_source, hir, render};
use wireloom_net::Packet;
use wireloom_offloads::registry::{KINDS, OffloadKind, ValueType};
use wireloom_offloads::{Entry, EntryKey, Store};

use super::*;
use crate::Program;

/// An engine with one step of each kind.
const ENGINE: &str = include_str!("tests/hub.loom");

fn checked(source: &str) -> hir::Program {
    let checked = check_source("hub.loom", source, &Options::default());
    let messages = render(&checked.diagnostics, &checked.sources, false);
    checked.program.unwrap_or_else(|| panic!("{messages}"))
}

/// Returns the trace of a packet and its outputs, after a check against the optimised program.
fn traced(source: &str, fill: impl FnOnce(&mut Store), packet: &Packet, most: u64) -> Trace {
    let checked = checked(source);
    let program = Program::new(&checked);
    let mut store = wireloom_ir::store(&program.lowered).expect("offloads");
    fill(&mut store);
    let mut reference = Golden::new(program.optimised, store.clone());
    let mut golden = Golden::new(program.lowered.clone(), store);
    let names = Names::new(&checked);
    let (trace, outputs) = trace(&program.lowered, &names, &mut golden, packet.frame(), most);
    let mut expected = Outputs::default();
    reference.offer(&[packet.frame()], &mut |output| expected.keep(output));
    assert!(outputs.iter().eq(expected.iter()), "the optimised program does the same");
    trace
}

fn routes(store: &mut Store) {
    let wireloom_offloads::Content::Kind { instance, .. } = &mut store.slots[0].content else {
        panic!("routes are of a kind")
    };
    let key = EntryKey::Prefix { bits: Bits::new(32, 0x0a00_0000), length: 8 };
    // Port 3, forward.
    instance.load(Entry { key, value: Bits::new(18, 3 << 2 | 1) }).expect("an entry");
}

fn packet(destination: [u8; 4]) -> Packet {
    let mut bytes = vec![0x22; 12];
    bytes.extend([0x08, 0x00, 64, 2]);
    bytes.extend(destination);
    bytes.extend([0; 4]);
    Packet { ingress: 1, arrival_ns: 0, bytes }
}

#[test]
fn a_packet_without_a_route_goes_to_the_cpu_by_name() {
    let trace = traced(ENGINE, routes, &packet([11, 1, 2, 3]), 100);
    let [look] = &trace.steps[..] else { panic!("{trace:?}") };
    assert_eq!(look.end.as_deref(), Some("to the cpu: NO_ROUTE"));
    let text = trace.text(80);
    for said in ["no prefix matches", "routes.kind = NONE, yes", "=> to the cpu: NO_ROUTE"] {
        assert!(text.contains(said), "{said}\n{text}");
    }
}

#[test]
fn every_width_tells_the_same() {
    let trace = traced(ENGINE, routes, &packet([10, 1, 2, 3]), 100);
    let words = |width| -> Vec<String> {
        trace.text(width).split_whitespace().map(str::to_owned).collect()
    };
    let wide = words(300);
    for width in [0, 1, 40, 79, 120] {
        assert_eq!(words(width), wide, "{width}");
    }
    assert!(trace.text(0).lines().all(|line| line == line.trim_end()), "no blanks at ends");
}

#[test]
fn steps_beyond_the_limit_are_counted() {
    let trace = traced(ENGINE, routes, &packet([10, 1, 2, 3]), 2);
    // `look` and `forward` are recorded. The steps of two calls, `forward` again and `send` are
    // omitted.
    assert_eq!((trace.steps.len(), trace.omitted_steps), (2, 4));
    let told = trace.steps[1].lines.iter().flat_map(|line| &line.events);
    let calls = told.filter(|event| matches!(event, Event::Call(_))).count();
    assert_eq!(calls, 1, "the call itself is shown");
    assert!(trace.text(80).contains("4 more steps are not shown"));
}

/// The declaration of an offload of a kind, and a call of each of its methods with arguments of 1.
fn calls(kind: &OffloadKind) -> String {
    let mut given: Vec<String> = Vec::new();
    given.extend(kind.has_key.then(|| "u32".to_owned()));
    given.extend(kind.has_value.then(|| "u32".to_owned()));
    let is_needed = |name: &str| kind.methods.iter().any(|method| method.needs == Some(name));
    let needed = kind.params.iter();
    let needed = needed.filter(|param| param.default.is_none() || is_needed(param.name));
    given.extend(needed.map(|param| format!("{} = {}", param.name, param.range.0.max(1))));
    let types = if given.is_empty() { String::new() } else { format!("<{}>", given.join(", ")) };
    let mut source =
        format!("engine caller() {{\n offload it : {}{types};\n step s {{\n", kind.name);
    for method in kind.methods {
        let one = |ty: &ValueType| match ty {
            ValueType::Bool => "true".to_owned(),
            ValueType::Bits(width) => format!("(u{width})1"),
            ValueType::Key | ValueType::Value => "(u32)1".to_owned(),
        };
        let args: Vec<String> = method.args.iter().map(|(_, ty)| one(ty)).collect();
        writeln!(source, "it.{}({});", method.name, args.join(", ")).expect("a string");
    }
    source + "finish; } }\n"
}

#[test]
fn every_call_of_every_kind_has_the_names_of_its_arguments() {
    for kind in KINDS {
        let trace = traced(&calls(kind), |_| (), &packet([0; 4]), 100);
        let told = trace.steps[0].lines.iter().flat_map(|line| &line.events);
        let calls: Vec<&Call> = told
            .filter_map(|event| match event {
                Event::Call(call) => Some(call),
                _ => None,
            })
            .collect();
        assert_eq!(calls.len(), kind.methods.len(), "{}", kind.name);
        for (call, method) in calls.iter().zip(kind.methods) {
            assert_eq!((call.kind.as_str(), call.method.as_str()), (kind.name, method.name));
            let names = call.arguments.iter().map(|argument| argument.name.as_str());
            assert!(names.eq(method.args.iter().map(|(name, _)| *name)), "{call:?}");
            let replies = method.reply != wireloom_offloads::ReplyType::None;
            assert_eq!(!call.reply.is_empty(), replies, "{call:?}");
        }
    }
}
