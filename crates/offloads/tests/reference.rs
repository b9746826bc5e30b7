//! docs/offloads.md describes the registry as it is: every kind, parameter and method has its place there, with its
//! signature and what it does to state and packet.

use wireloom_offloads::registry::{Delay, KINDS, Kind, Method, Param, ReplyType, StateUse, ValueType};

const REFERENCE: &str = include_str!("../../../docs/offloads.md");

fn type_name(ty: ValueType) -> String {
    match ty {
        ValueType::Bits(n) => format!("u{n}"),
        ValueType::Bool => "bool".into(),
        ValueType::Key => "Key".into(),
        ValueType::Value => "Value".into(),
    }
}

fn list(parts: &[(&str, ValueType)]) -> String {
    let parts = parts.iter().map(|(name, ty)| format!("{} {name}", type_name(*ty)));
    parts.collect::<Vec<_>>().join(", ")
}

fn signature(kind: &Kind, method: &Method) -> String {
    let reply = match method.reply {
        ReplyType::None => String::new(),
        ReplyType::One(ty) => format!(" -> {}", type_name(ty)),
        ReplyType::Record(fields) => format!(" -> {{ {} }}", list(fields)),
    };
    format!("### `{}.{}({}){reply}`", kind.name, method.name, list(method.args))
}

fn facts(method: &Method) -> String {
    let state = match method.state {
        StateUse::Pure => "pure",
        StateUse::Read => "reads state",
        StateUse::Commuting => "changes state, commutes",
        StateUse::Change => "changes state",
    };
    let packet = match (method.reads_packet, method.writes_packet) {
        (_, true) => "; changes the packet",
        (true, false) => "; reads the packet",
        (false, false) => "",
    };
    let delay = match method.delay {
        Delay::Constant => "constant",
        Delay::Variable => "variable",
    };
    format!("*{state}{packet}; {delay} delay*")
}

fn row(kind: &Kind, param: &Param) -> String {
    let default = match (param.default, param.ty) {
        (None, _) => "must be given".into(),
        (Some(0), ValueType::Value) => "zero".into(),
        (Some(value), _) if value > 1 << 32 => format!("{value:#x}"),
        (Some(value), _) => value.to_string(),
    };
    assert!(!kind.params.is_empty());
    format!("| `{}` | `{}` | {default} |", param.name, type_name(param.ty))
}

#[test]
fn every_kind_parameter_and_method_is_described() {
    let mut missing = Vec::new();
    let mut rest = REFERENCE;
    let mut expect = |line: String| match rest.split_once(&format!("\n{line}")) {
        Some((_, behind)) => rest = behind,
        None => missing.push(line),
    };
    for kind in KINDS {
        let types = match (kind.has_key, kind.has_value) {
            (true, true) => "<Key, Value>",
            (true, false) => "<Key>",
            (false, true) => "<Value>",
            (false, false) => "",
        };
        expect(format!("## `{}{types}`", kind.name));
        for param in kind.params {
            expect(row(kind, param));
        }
        for method in kind.methods {
            expect(format!("{}\n{}", signature(kind, method), facts(method)));
        }
    }
    assert!(
        missing.is_empty(),
        "docs/offloads.md lacks, in the order of the registry:\n{}",
        missing.join("\n")
    );
}

#[test]
fn nothing_is_described_that_is_not_there() {
    for heading in REFERENCE.lines().filter(|line| line.starts_with("### `")) {
        let known = KINDS.iter().flat_map(|kind| kind.methods.iter().map(|method| signature(kind, method)));
        assert!(known.into_iter().any(|own| own == heading), "{heading}");
    }
}
