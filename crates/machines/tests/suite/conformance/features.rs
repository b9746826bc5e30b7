//! The features that a program can use on a machine, derived from the registry of offload kinds and
//! from the language, and programs that use them.

use std::sync::{Arc, LazyLock};

use wireloom_lang::{Options, check_source, render};
use wireloom_machine::{Configured, Program, Refusal};
use wireloom_offloads::OffloadKind;
use wireloom_offloads::registry::{KINDS, Method, Param, ReplyType, ValueType};

/// A feature that a program can use, as a step of an engine.
#[derive(Clone, Debug)]
pub struct Feature {
    /// The name in docs/machines/features.md.
    pub name: String,
    /// Declarations at file level.
    file: String,
    /// Declarations in the engine.
    engine: String,
    /// The statements of the step, whose name is `STEP`.
    body: String,
}

/// The width of keys and of values in the features that call each method.
const KEY: u32 = 32;
const VALUE: u32 = 32;
/// The width of IPv6 addresses, and a width that needs more than two words on every machine.
const WIDE: [u32; 2] = [128, 160];

/// Returns all features: calls of offloads by kind and method, then the others.
fn features() -> Vec<Feature> {
    let calls = KINDS.iter().flat_map(|kind| {
        let alone: Vec<Method> =
            kind.methods.iter().filter(|method| method.needs.is_none()).copied().collect();
        let lasting = calls(kind, "", KEY, VALUE, &alone, "");
        let expiring = kind.expiry.map(|age| {
            let age = format!(", {age} = 9000");
            calls(kind, ", entries expire", KEY, VALUE, &alone, &age)
        });
        let may_have_ticks = |param: &Param| param.name == "tick" && param.default == Some(0);
        let at_ticks = kind.params.iter().any(may_have_ticks).then(|| {
            let age = kind.expiry.map_or(String::new(), |age| format!(", {age} = 9000"));
            calls(kind, ", at ticks", KEY, VALUE, kind.methods, &(age + ", tick = 4000"))
        });
        let first = &kind.methods[..1];
        let has_table = kind.table.is_some() || kind.has_value;
        let wide_keys = WIDE.map(|width| {
            let variant = format!(", keys of {width} bits");
            (kind.has_key && has_table).then(|| calls(kind, &variant, width, VALUE, first, ""))
        });
        let wide_values = WIDE.map(|width| {
            let variant = format!(", values of {width} bits");
            // A chunk of the payload has 1 to 16 bytes.
            let has_values = kind.has_value && (kind.name != "payload" || width <= 128);
            has_values.then(|| calls(kind, &variant, KEY, width, first, ""))
        });
        let others = [expiring, at_ticks].into_iter().chain(wide_keys).chain(wide_values);
        lasting.into_iter().chain(others.flatten().flatten())
    });
    calls.chain(of_the_language()).collect()
}

/// Returns the features that call the methods of one offload.
fn calls(
    kind: &OffloadKind,
    variant: &str,
    key: u32,
    value: u32,
    methods: &[Method],
    more: &str,
) -> Vec<Feature> {
    let types = [(kind.has_key, key), (kind.has_value, value)];
    let types = types.iter().filter(|(has, _)| *has).map(|(_, width)| format!("u{width}"));
    let params = kind.params.iter().filter(|param| param.default.is_none());
    let params = params.map(|param| {
        // A small value in range, so that packets hit the same entries.
        let value = 64.clamp(param.range.0, param.range.1);
        format!("{} = {value}", param.name)
    });
    let arguments = types.chain(params).collect::<Vec<_>>().join(", ") + more;
    let arguments = arguments.trim_start_matches(", ");
    let arguments = if arguments.is_empty() { String::new() } else { format!("<{arguments}>") };
    let tag: String = variant.chars().filter(char::is_ascii_alphanumeric).collect();
    let name = format!("{}_{tag}", kind.name);
    let engine = format!("offload {name} : {}{arguments};", kind.name);
    let width = |ty| match ty {
        ValueType::Bits(width) => width,
        ValueType::Bool => 1,
        ValueType::Key => key,
        ValueType::Value => value,
    };
    let feature = |method: &Method| {
        let args = method.args.iter().map(|(name, ty)| match (ty, width(*ty)) {
            _ if *name == "nanoseconds" => "(u64)p.small * 1000".to_owned(),
            (ValueType::Bool, _) => "p.small == 1".to_owned(),
            // An offset, a length, an index or a key. It is small, so that it is often in range.
            (ValueType::Key, width) | (_, width @ ..=32) => format!("(u{width})p.small[4:0]"),
            (_, width) => format!("(u{width})p.number"),
        });
        let call = format!("{name}.{}({})", method.name, args.collect::<Vec<_>>().join(", "));
        let body = match method.reply {
            ReplyType::None => format!("{call};"),
            _ => format!("p.result = p.result + (u32)({call});"),
        };
        Feature {
            name: format!("`{}.{}`{variant}", kind.name, method.name),
            file: String::new(),
            engine: engine.clone(),
            body,
        }
    };
    methods.iter().map(feature).collect()
}

/// Features other than calls of kinds: name, declarations in the file and in the engine, and
/// statements.
const OTHERS: &[(&str, &str, &str, &str)] = &[
    ("`drop`", "", "", "if (p.small == 1) drop(WHY);"),
    ("`to_cpu`", "", "", "if (p.small == 2) to_cpu(WHY);"),
    ("`done`", "", "", "if (p.small == 3) done;"),
    ("`emit`", "", "u8 copies;", "copies += 1; if (copies < 2 && p.small < 9) emit(STEP);"),
    (
        "`to_cpu` of a copy",
        "",
        "u8 handed;",
        "handed += 1; if (handed < 3 && p.small < 9) to_cpu(WHY, STEP);",
    ),
    (
        "`emit` of some bytes",
        "",
        "u8 cuts;",
        "cuts += 1; if (cuts < 3 && p.small < 9) emit(STEP, p.small[4:0], (u16)p.number[6:0]);",
    ),
    ("a jump back", "", "u8 turns;", "p.result += 1; turns += 1; if (turns < 3) next STEP;"),
    (
        "a call of an engine",
        "engine half(u32 x) -> u32 { step only { finish(x >> 1); } }",
        "offload halves : engine half;",
        "p.result = p.result + halves.call(p.number[31:0]);",
    ),
    (
        "a call of an engine with state",
        "engine sum(u32 x) -> u32 { offload sums : array<u32, size = 4>; u32 s;
         step only { s = sums.fetch_add(x[1:0], x); next reply; } step reply { finish(s); } }",
        "offload summed : engine sum;",
        "p.result = p.result + summed.call(p.number[31:0]);",
    ),
    (
        "an array in the context",
        "",
        "u16 list[64];",
        "list[p.small] = p.number[15:0]; p.result[15:0] = list[p.small >> 1];",
    ),
    (
        "a constant table",
        "const u8 TABLE[16] = { 3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8, 9, 7, 9, 3 };",
        "",
        "p.result = p.result + TABLE[p.small];",
    ),
    ("a field at a computed offset", "", "", "Small at @ p.small[4:0] + (u8)40; at.x = at.x + 1;"),
    (
        "a view of the whole packet",
        "header Deep { u4 low; u12 part; u8 list[3]; u48 mac; u64 number; u128 wide; };",
        "Deep deep @ packet[depth]; u16 depth;",
        "depth = (u16)p.number[6:0]; p.result = p.result + deep.part; deep.part = deep.part + 1;
         deep.list[p.small[1:0]] = 7; deep.wide = deep.wide + deep.number; deep.mac[9:3] = 5;",
    ),
    ("`packet.push`", "", "", "if (packet.push(p.small[3:0])) p.small = 77;"),
    ("`packet.insert`", "", "", "if (packet.insert(34, p.small[3:0])) p.result += 1;"),
    ("`packet.pop`", "", "", "if (packet.pop(p.small[2:0])) p.result += 1;"),
    ("`packet.remove`", "", "", "if (packet.remove(34, p.small[2:0])) p.result += 1;"),
    ("`packet.reset`", "", "", "if (packet.length[3:0] == 4) packet.reset(80);"),
    (
        "`packet.reset` in a step that reads the packet",
        "",
        "",
        "if (p.small == 4) packet.reset(80);",
    ),
    (
        "`packet.ingress`, `.egress`, `.length`, `.window`",
        "",
        "",
        "packet.egress = packet.ingress; p.result = p.result + packet.egress + packet.length + packet.window;",
    ),
    ("choices", "", "", "p.result = p.small[0:0] == 1 ? ~p.result : -p.result;"),
    ("`packet.arrival`", "", "", "p.result = p.result + (u32)packet.arrival;"),
    ("products of up to 64 bits", "", "", "p.number = p.number * 0x1234567 + (u64)p.small;"),
    (
        "quotients of up to 64 bits",
        "",
        "",
        "p.result = p.result + (u32)(p.number / p.small) + (u32)(p.number % (u64)p.result);",
    ),
    ("products of more than 64 bits", "", "", "p.wide = p.wide * (u128)p.number;"),
    ("quotients of more than 64 bits", "", "", "p.wide = p.wide / (u128)p.small;"),
    (
        "values of up to 128 bits",
        "",
        "",
        "p.wide = (p.wide + (u128)p.number) ^ (p.wide >> p.small[4:0]);",
    ),
    (
        "values of up to 512 bits",
        "",
        "",
        "Widest w @ 32; u512 v = w.x; v = v + (v << p.small[4:0]); w.x = v;",
    ),
    (
        "values of more than 512 bits",
        "",
        "",
        "Widest w @ 32; u600 v = w.x; v = v + (v << 90); p.result = p.result + (u32)(v >> 560);",
    ),
    (
        "a step for the keys of a `timer`",
        "",
        "offload probes : timer<u8, size = 64, tick = 3000>; u8 probed;
         step unanswered on probes(u8 key) { packet.reset(70); probed = key; next show; }
         step show { p.small = probed; p.number = packet.arrival; packet.egress = 2; finish; }",
        "probed = probed + 1; probes.set(p.small, (u64)p.small * 100);",
    ),
    (
        "a step for the entries of an `exact` table",
        "",
        "offload kept : exact<u8, u32, size = 16, age = 5000, tick = 4000>;
         step over on kept(u8 key, u32 sum) { packet.reset(50); p.small = key; p.result = sum; to_cpu(WHY); }",
        "kept.accumulate(p.small, p.result); kept.keep(p.small >> 1, 90000);",
    ),
    (
        "two calls of an offload, one after the other and on different branches",
        "",
        "offload twice : array<u32, size = 8>; offload once : array<u32, size = 8>;",
        "p.result = twice.fetch_add((u32)p.small[2:0], 1) + twice.fetch_add((u32)p.small[3:1], 2);
         u32 count = once.fetch_add((u32)p.small[2:0], 1);
         if (count[0:0] == 1) twice.write((u32)p.small[2:0], count);
         else if (count[1:1] == 1) p.result += twice.exchange((u32)p.small[3:1], count);
         else if (twice.read(count % 8) == 3) p.result += 1;",
    ),
];

fn of_the_language() -> impl Iterator<Item = Feature> {
    OTHERS.iter().map(|(name, file, engine, body)| Feature {
        name: (*name).to_owned(),
        file: (*file).to_owned(),
        engine: (*engine).to_owned(),
        body: (*body).to_owned(),
    })
}

/// Each feature, with a program of its own.
pub static ALONE: LazyLock<Vec<(Feature, Program)>> = LazyLock::new(|| {
    let alone = |feature| {
        let program = program(&[&feature]);
        (feature, program)
    };
    features().into_iter().map(alone).collect()
});

/// Returns the reason if a machine refuses the program of a feature.
pub fn refused(machine: &Arc<dyn Configured>, program: &Program) -> Option<Refusal> {
    machine.refusals(program).into_iter().next()
}

/// Returns whether a machine refuses an offload of a kind in every program.
pub fn is_refused(machine: &Arc<dyn Configured>, kind: &str) -> bool {
    let calls = format!("`{kind}.");
    let mut of_kind = ALONE.iter().filter(|(feature, _)| feature.name.starts_with(&calls));
    of_kind.all(|(_, program)| refused(machine, program).is_some())
}

/// Returns a program that uses these features one after the other.
pub fn program(features: &[&Feature]) -> Program {
    let mut text = "enum Why : u8 { WHY };\nheader Small { u8 x; };\nheader Widest { u512 x; };\n\
                    header Probe { u64 number; u128 wide; u32 result; u8 small; };\n"
        .to_owned();
    let mut declared = Vec::new();
    let mut steps = String::new();
    for (at, feature) in features.iter().enumerate() {
        if !feature.file.is_empty() {
            text += &format!("{}\n", feature.file);
        }
        if !declared.contains(&feature.engine.as_str()) {
            declared.push(&feature.engine);
        }
        let body = feature.body.replace("STEP", &format!("s{at}"));
        steps += &format!("step s{at} {{ {body} next s{}; }}\n", at + 1);
    }
    text += &format!(
        "engine probe() {{ Probe p @ 0;\n{}\n{steps}step s{} {{ packet.egress = 1; finish; }} }}\n",
        declared.join("\n"),
        features.len()
    );
    compiled("features.loom", &text)
}

/// Compiles a text.
pub fn compiled(name: &str, text: &str) -> Program {
    let checked = check_source(name, text, &Options::default());
    let program = checked.program.as_ref().unwrap_or_else(|| {
        panic!("{}\n{text}", render(&checked.diagnostics, &checked.sources, false))
    });
    Program::new(program)
}
