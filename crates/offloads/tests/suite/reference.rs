//! Checks that docs/offloads agrees with the registry: every kind has a page, which the index in
//! docs/offloads.md names, and the page describes every parameter and every method with its
//! signature and its effect on the state and the packet.

use std::path::Path;

use wireloom_offloads::registry::{
    Delay, KINDS, Method, OffloadKind, Param, ReplyType, StateUse, ValueType,
};

const INDEX: &str = include_str!("../../../../docs/offloads.md");

/// Returns the text of a kind's page.
fn page(kind: &OffloadKind) -> String {
    let path =
        Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../docs/offloads/{}.md", kind.name));
    std::fs::read_to_string(&path)
        .unwrap_or_else(|error| panic!("`{}` has no page: {error}", kind.name))
}

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

fn signature(kind: &OffloadKind, method: &Method) -> String {
    let reply = match method.reply {
        ReplyType::None => String::new(),
        ReplyType::One(ty) => format!(" -> {}", type_name(ty)),
        ReplyType::Record(fields) => format!(" -> {{ {} }}", list(fields)),
    };
    format!("## `{}.{}({}){reply}`", kind.name, method.name, list(method.args))
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

fn row(kind: &OffloadKind, param: &Param) -> String {
    let default = match (param.default, param.ty) {
        (None, _) => "must be given".into(),
        (Some(0), ValueType::Value) => "zero".into(),
        (Some(value), _) if value > 1 << 32 => format!("{value:#x}"),
        (Some(value), _) => value.to_string(),
    };
    assert!(!kind.params.is_empty());
    format!("| `{}` | `{}` | {default} |", param.name, type_name(param.ty))
}

/// Returns the name of the kind with its types.
fn title(kind: &OffloadKind) -> String {
    let types = match (kind.has_key, kind.has_value) {
        (true, true) => "<Key, Value>",
        (true, false) => "<Key>",
        (false, true) => "<Value>",
        (false, false) => "",
    };
    format!("`{}{types}`", kind.name)
}

#[test]
fn every_kind_parameter_and_method_is_described() {
    let mut missing = Vec::new();
    for kind in KINDS {
        let text = format!("\n{}", page(kind));
        let mut rest = text.as_str();
        let mut expect = |line: String| match rest.split_once(&format!("\n{line}")) {
            Some((_, after)) => rest = after,
            None => missing.push(format!("docs/offloads/{}.md: {line}", kind.name)),
        };
        expect(format!("# {}", title(kind)));
        for param in kind.params.iter().filter(|param| !param.is_derived) {
            expect(row(kind, param));
        }
        for method in kind.methods {
            expect(format!("{}\n{}", signature(kind, method), facts(method)));
        }
    }
    assert!(missing.is_empty(), "missing, in the order of the registry:\n{}", missing.join("\n"));
}

#[test]
fn nothing_is_described_that_is_not_there() {
    for kind in KINDS {
        for heading in page(kind).lines().filter(|line| line.starts_with("## `")) {
            let known = kind.methods.iter().map(|method| signature(kind, method));
            assert!(known.into_iter().any(|known| known == heading), "{heading}");
        }
    }
}

#[test]
fn the_index_lists_the_kinds_in_the_order_of_the_registry() {
    let listed: Vec<&str> = INDEX.lines().filter(|line| line.starts_with("| [`")).collect();
    assert_eq!(listed.len(), KINDS.len());
    for (line, kind) in listed.iter().zip(KINDS) {
        let link = format!("| [{}](offloads/{}.md) |", title(kind), kind.name);
        assert!(line.starts_with(&link), "{line}\nbegins with\n{link}");
    }
}
