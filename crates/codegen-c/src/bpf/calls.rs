//! Calls of offloads in a BPF program: on maps that the process shares, or computed by the program.

use wireloom_bits::Bits;
use wireloom_compile::analysis::order;
use wireloom_ir::{OffloadTarget, Op, OpKind, Program};
use wireloom_offloads::{Config, Layout, Method, registry};

use super::super::call::{Call, Surroundings, env};
use super::super::calls::found;
use super::super::emitter::Emitter;
use super::super::kinds;
use super::super::ops::{Operand, as_words, high_word};
use super::super::tree::{Binary, Declaration, Expr, Stmt, Type};
use super::super::types::Class;
use super::{Content, Counted, MODEL, Map, words};

/// The maps of an engine's offloads.
pub struct Maps {
    maps: Vec<Map>,
    needs_time: bool,
}

impl Maps {
    /// Returns the maps of the offloads of a program's engine.
    pub fn of(program: &Program) -> Self {
        let engine = &program.engines[program.main.index()];
        let changed = order::changed(program, program.main);
        let mut names = super::super::names::Names::default();
        let kinds = engine.offloads.iter().enumerate().filter_map(|(index, offload)| {
            let OffloadTarget::Kind(config) = &offload.target else { return None };
            let is_changed = changed.iter().any(|offload| offload.index() == index);
            let content = content(config, is_changed)?;
            let symbol = format!("wl_map_{}", names.give(&format!("of_{}", offload.name)));
            Some(Map { symbol, offload: index, content })
        });
        let maps = kinds.collect();
        let needs_time = engine.offloads.iter().any(|offload| {
            offload.kind().is_some_and(|kind| kind.methods.iter().any(|m| m.reads_arrival))
        });
        Self { maps, needs_time }
    }

    pub fn all(&self) -> &[Map] {
        &self.maps
    }

    /// Whether a method of an offload depends on the time.
    pub fn needs_time(&self) -> bool {
        self.needs_time
    }

    fn find(&self, offload: usize) -> Option<&Map> {
        self.maps.iter().find(|map| map.offload == offload)
    }
}

/// The most elements of a counter that is kept per processor: 16 MiB.
const OWN_COUNTERS: u64 = 1 << 20;

/// Returns the content of the map of an offload. `is_changed` says whether packets change it.
/// Returns `None` if the offload has no map.
fn content(config: &Config, is_changed: bool) -> Option<Content> {
    let size = || config.param("size").low_u64();
    Some(match config.kind.as_str() {
        "lpm" => {
            let width = config.key.as_ref().map_or(1, Layout::width);
            let stride = words(config).next_power_of_two();
            Content::Prefixes { stride, part_bits: part_bits(width, stride) }
        }
        "array" if is_changed => Content::Elements { count: size(), words: words(config) },
        "array" => Content::ReadOnly { count: size(), words: words(config) },
        "counter" if size() <= OWN_COUNTERS => Content::Counters { count: size() },
        "counter" => Content::Elements { count: size(), words: 2 },
        "exact" => {
            let key = MODEL.words(config.key.as_ref().map_or(1, Layout::width));
            Content::Keys { count: size(), key, words: words(config) }
        }
        _ => return None,
    })
}

/// Returns the binary logarithm of the size in bytes of a part of a prefix table. A part is twice
/// as large as the direct table, so that a small table fits into its first part. It is at least as
/// large as a value, and as a page.
fn part_bits(width: u32, stride: u32) -> u32 {
    // Tables for keys of 19 to 32 bits have entries of 4 bytes if they consist of blocks, as most
    // do.
    let entry_bits = if (19..=32).contains(&width) { 2 } else { 3 };
    (width.min(18) + entry_bits + 1).max(stride.ilog2() + 3).max(12)
}

/// Writes a call, and counts it.
pub fn call(
    maps: &Maps,
    counted: &Counted,
    emitter: &mut Emitter<'_>,
    op: &Op,
    result: Option<&Expr>,
) -> Vec<Stmt> {
    let OpKind::Call { offload, method, args } = &op.kind else { unreachable!("a call") };
    let target = &emitter.scope.engine.offloads[offload.index()].target;
    let OffloadTarget::Kind(config) = target else { unreachable!("refused") };
    let kind = registry::kind(&config.kind).expect("a verified program");
    let interface = &kind.methods[*method];
    if result.is_none() && !interface.state.has_effect() && !interface.writes_packet {
        return Vec::new();
    }
    let args: Vec<Operand> = args.iter().map(|arg| emitter.kept_operand(*arg)).collect();
    let map = maps.find(offload.index());
    let slot = map.map_or_else(|| Expr::name("NULL"), |map| Expr::name(&map.symbol));
    let around = Surroundings {
        slot_index: &[],
        functions: &[],
        packet: Some((emitter.scope.packet.clone(), Expr::name("NULL"))),
        counts: false,
    };
    let finds = kind.counts_found(interface);
    let unused = Expr::name("counted");
    let is_unused = finds && result.is_none();
    let result = if is_unused { Some(&unused) } else { result };
    let call = Call {
        around: &around,
        config,
        method: interface,
        number: *method,
        args: &args,
        slot,
        result,
        walk: None,
        width: interface.reply.width(config),
    };
    let mut body = match map {
        Some(Map { content: Content::ReadOnly { words, .. }, .. }) => {
            call.fill("wl_read_only", vec![call.slot_address(), Expr::number(*words), call.arg(0)])
        }
        Some(Map { content: Content::Counters { count }, .. }) => {
            let args = [call.slot_address(), Expr::number(*count), call.arg(0), call.arg(1)];
            vec![Stmt::call("wl_count_own", args)]
        }
        _ => write(&call, offload.index()).expect("other calls were refused"),
    };
    body.insert(0, Stmt::Expr(counted.calls(offload.index(), *method).increment()));
    if let (true, Some(reply)) = (finds, result) {
        let found = counted.found(offload.index(), *method).increment();
        body.push(Stmt::If(has_found(&call, reply), vec![Stmt::Expr(found)]));
    }
    if is_unused {
        let declared = Declaration::new(MODEL.c_type(call.width), "counted");
        body.insert(0, declared.into());
        body = vec![Stmt::Block(body)];
    }
    body
}

/// Returns whether a reply reports an entry: by its most significant bit or, for a prefix table, by
/// a value other than the miss value.
fn has_found(call: &Call<'_>, reply: &Expr) -> Expr {
    if call.method.tells_found() {
        return found(reply, call.width);
    }
    let miss = call.config.param("miss");
    match MODEL.class(call.width) {
        Class::Wide(n) => {
            let words = (0..n as usize).map(|word| {
                let own = reply.clone().member("w").at(word);
                own.binary(Binary::NotEqual, MODEL.literal(&Bits::new(64, miss.word(word).into())))
            });
            words.reduce(|a, b| a.binary(Binary::Or, b)).expect("a wide value has words")
        }
        _ => reply.clone().binary(Binary::NotEqual, MODEL.literal(miss)),
    }
}

/// Returns whether a BPF program supports calls of a method.
pub fn is_written(config: &Config, method: &Method) -> bool {
    match config.kind.as_str() {
        "lpm" => method.name == "search",
        "counter" => method.name == "count",
        "array" | "exact" => true,
        "payload" => method.name == "truncate",
        _ => false,
    }
}

fn write(call: &Call<'_>, offload: usize) -> Option<Vec<Stmt>> {
    Some(match (call.config.kind.as_str(), call.method.name) {
        ("lpm", "search") => search(call),
        ("counter", "count") => {
            vec![Stmt::call("wl_count", [call.slot_address(), call.arg(0), call.arg(1)])]
        }
        ("array", _) => array(call, offload)?,
        ("exact", _) => exact(call, offload)?,
        ("payload", "truncate") => {
            let (packet, _) = call.around.packet.clone()?;
            call.scalar(Expr::call("wl_truncate", [packet, call.arg(0)]))
        }
        _ => return None,
    })
}

fn search(call: &Call<'_>) -> Vec<Stmt> {
    let key = &call.args[0];
    let shifted = |value: Expr, spare: u32| match spare {
        0 => value,
        _ => value.binary(Binary::Shl, Expr::number(spare)),
    };
    let [high, low] = match key.class() {
        Class::Double => {
            let key = shifted(key.c.clone(), 128 - key.width);
            [high_word(&key), key.cast("uint64_t")]
        }
        _ => [shifted(key.c.clone().cast("uint64_t"), 64 - key.width), Expr::number(0)],
    };
    let n = words(call.config);
    let stride = n.next_power_of_two();
    let numbers = [key.width, n, stride, part_bits(key.width, stride)].map(Expr::number);
    let ty = object("wl_lpm_type", numbers.into());
    call.fill("wl_lpm_search", vec![call.slot_address(), high, low, ty])
}

fn array(call: &Call<'_>, offload: usize) -> Option<Vec<Stmt>> {
    let layout = call.config.value.as_ref().expect("an array has a value type");
    let is_sum = ["add", "fetch_add"].contains(&call.method.name);
    let lanes = if is_sum { kinds::lanes(layout) } else { Vec::new() };
    let count = lanes.len();
    let lanes = match count {
        0 => Expr::name("NULL"),
        _ => Expr::Object(Type::structure("wl_lane").constant().array(), lanes),
    };
    let numbers = [offload, words(call.config) as usize, layout.width() as usize, count];
    let parts = [call.slot_address()].into_iter().chain(numbers.map(Expr::number)).chain([lanes]);
    let array = object("wl_array", parts.collect());
    let value = |i: usize| as_words(&call.args[i]);
    let with =
        |more: Vec<Expr>| [array, call.arg(0)].into_iter().chain(more).collect::<Vec<Expr>>();
    Some(match call.method.name {
        "read" => call.fill("wl_array_read", with(vec![])),
        "write" => vec![Stmt::call("wl_array_write", with(vec![value(1)]))],
        "add" => vec![Stmt::call("wl_array_add", with(vec![value(1)]))],
        "fetch_add" => call.fill("wl_array_fetch_add", with(vec![value(1)])),
        "exchange" => call.fill("wl_array_exchange", with(vec![value(1)])),
        "compare_swap" => call.fill("wl_array_compare_swap", with(vec![value(1), value(2)])),
        _ => return None,
    })
}

fn exact(call: &Call<'_>, offload: usize) -> Option<Vec<Stmt>> {
    let layout = call.config.value.as_ref().expect("an exact table has a value type");
    let Expr::Name(symbol) = &call.slot else { return None };
    let clock = Expr::name(format!("{symbol}_clock")).address();
    let lanes = if call.method.name == "accumulate" { kinds::lanes(layout) } else { Vec::new() };
    let count = lanes.len();
    let lanes = match count {
        0 => Expr::name("NULL"),
        _ => Expr::Object(Type::structure("wl_lane").constant().array(), lanes),
    };
    let numbers = [offload, words(call.config) as usize, layout.width() as usize, count];
    let age = MODEL.literal(call.config.param("age"));
    let parts = [call.slot_address(), clock].into_iter().chain(numbers.map(Expr::number));
    let table = object("wl_exact", parts.chain([lanes, age]).collect());
    let now = env().arrow("now_ns");
    if call.method.name == "expire" {
        return Some(call.scalar(Expr::call("wl_exact_expire", [table, now, call.arg(0)])));
    }
    let key = as_words(&call.args[0]);
    let value = || as_words(&call.args[1]);
    Some(match call.method.name {
        "lookup" => call.fill("wl_exact_lookup", vec![table, key, now]),
        "touch" => call.fill("wl_exact_touch", vec![table, key, now]),
        "age" => call.fill("wl_exact_age", vec![table, key, now]),
        "remove" => call.fill("wl_exact_remove", vec![table, key, now]),
        "insert" => call.fill("wl_exact_insert", vec![table, key, now, value()]),
        "accumulate" => call.fill("wl_exact_accumulate", vec![table, key, now, value()]),
        "update" => call.scalar(Expr::call("wl_exact_update", [table, key, now, value()])),
        _ => return None,
    })
}

/// Returns the address of a constant object of a structure.
fn object(tag: &str, fields: Vec<Expr>) -> Expr {
    Expr::Object(Type::structure(tag).constant(), fields).address()
}
