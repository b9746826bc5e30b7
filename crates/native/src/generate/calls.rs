//! Calls of offloads: over shared memory where the runtime realises the kind, through the host where it does not.

use wireloom_ir::{Engine, OffloadTarget, Op, OpKind};
use wireloom_offloads::{Config, Layout, registry};

use super::emitter::Emitter;
use super::ops::{Text, as_words, from_words};
use super::types::{Class, Model};

/// What calls refer to, as C expressions.
pub struct Surroundings<'a> {
    /// The slots of the engine: an array.
    pub slots: &'a str,
    /// For each offload of the engine: its first slot.
    pub slot_index: &'a [usize],
    /// For each offload that is an engine: the C function that executes it.
    pub functions: &'a [Option<String>],
    /// The environment of the thread: a pointer.
    pub env: &'a str,
    /// The packet in hand and the arena, both pointers; `NULL` in a called engine.
    pub packet: Option<(&'a str, &'a str)>,
}

/// Writes a call; `result` is the object that takes the reply, if something uses it.
///
/// `walk` is the state of a search that was begun before.
pub fn call(
    around: &Surroundings<'_>,
    emitter: &mut Emitter<'_>,
    op: &Op,
    result: Option<&str>,
    walk: Option<&str>,
) -> Vec<String> {
    let OpKind::Call { offload, method, args } = &op.kind else { unreachable!("a call") };
    let target = &emitter.scope.engine.offloads[offload.index()].target;
    let (config, kind) = match target {
        OffloadTarget::Kind(config) => (config, registry::kind(&config.kind).expect("a verified program")),
        OffloadTarget::Engine(_) => {
            let args: Vec<String> = args.iter().map(|a| emitter.text(*a).c).collect();
            let function = around.functions[offload.index()].as_deref().expect("an engine's function");
            let first = around.slot_index[offload.index()];
            let slots =
                if first == 0 { around.slots.to_owned() } else { format!("{} + {first}", around.slots) };
            let all: Vec<String> = [slots, around.env.to_owned()].into_iter().chain(args).collect();
            let assign = result.map_or(String::new(), |r| format!("{r} = "));
            return vec![format!("{assign}{function}({});", all.join(", "))];
        }
    };
    let interface = &kind.methods[*method];
    if result.is_none() && !interface.state.has_effect() && !interface.writes_packet {
        return Vec::new();
    }
    let method_name = interface.name;
    let texts: Vec<Text> = args.iter().map(|a| emitter.text_kept(*a)).collect();
    let width = interface.reply.width(config);
    let slot = format!("&{}[{}]", around.slots, around.slot_index[offload.index()]);
    let call = Call { around, config, method: *method, args: &texts, slot, result, walk, width };
    inline(&call, method_name).unwrap_or_else(|| call.through_host())
}

/// Writes what fetches the first memory that a split-phase call will read.
pub fn fetch(around: &Surroundings<'_>, emitter: &mut Emitter<'_>, op: &Op) -> Vec<String> {
    let (slot, config, key) = split_phase(around, emitter, op);
    vec![match config.kind.as_str() {
        "array" => {
            let n = Model::Bits64.words(config.value.as_ref().map_or(1, Layout::width));
            format!("wl_element_prefetch({slot}, {}, {n});", key.c)
        }
        "counter" => format!("wl_element_prefetch({slot}, {}, 2);", key.c),
        _ => {
            let (form, key_text) = search_key(&key);
            format!("wl_lpm{form}_fetch({slot}, {key_text}, {});", direct_bits(&key))
        }
    }]
}

/// How often a search pauses after the fetch of its first entry: once for that entry, then once a node. Searches that go
/// deeper finish without a pause. IPv4 tables seldom need a second node; deeper ones of IPv6 tables are few, and near.
pub fn pauses(engine: &Engine, op: &Op) -> usize {
    let OpKind::Call { offload, .. } = &op.kind else { return 0 };
    match &engine.offloads[offload.index()].target {
        OffloadTarget::Kind(config) if config.kind == "lpm" => {
            let width = config.key.as_ref().map_or(0, Layout::width);
            if width <= 32 { 2 } else { 3 }
        }
        _ => 0,
    }
}

/// Writes how a search goes on after the fetches before. `pause` counts from 0; `walk` is the state of the search.
pub fn advance(
    around: &Surroundings<'_>,
    emitter: &mut Emitter<'_>,
    op: &Op,
    pause: usize,
    walk: &str,
) -> Vec<String> {
    let (slot, _, key) = split_phase(around, emitter, op);
    let (form, key_text) = search_key(&key);
    vec![if pause == 0 {
        format!("wl_lpm{form}_begin({slot}, {key_text}, {}, &{walk});", direct_bits(&key))
    } else {
        format!("wl_lpm{form}_walk({slot}, {key_text}, &{walk});")
    }]
}

fn split_phase<'a>(
    around: &Surroundings<'_>,
    emitter: &mut Emitter<'a>,
    op: &Op,
) -> (String, &'a Config, Text) {
    let OpKind::Call { offload, args, .. } = &op.kind else { unreachable!("a call") };
    let OffloadTarget::Kind(config) = &emitter.scope.engine.offloads[offload.index()].target else {
        unreachable!("calls of engines are not split-phase")
    };
    let slot = format!("&{}[{}]", around.slots, around.slot_index[offload.index()]);
    (slot, config, emitter.text(args[0]))
}

/// The family of functions for a search key, and the key as their argument.
fn search_key(key: &Text) -> (&'static str, String) {
    match key.class() {
        Class::Wide(_) => ("_wide", format!("{}.w, {}", key.p(), key.width)),
        Class::Double => match 128 - key.width {
            0 => ("128", key.c.clone()),
            spare => ("128", format!("{} << {spare}", key.p())),
        },
        _ => match 64 - key.width {
            0 => ("64", key.c.clone()),
            spare => ("64", format!("(uint64_t){} << {spare}", key.p())),
        },
    }
}

/// Bits of a key that index the direct table.
fn direct_bits(key: &Text) -> u32 {
    key.width.min(wireloom_offloads::lpm::DIRECT_BITS)
}

/// A call of an offload of a kind, ready to be written.
struct Call<'a> {
    around: &'a Surroundings<'a>,
    config: &'a Config,
    method: usize,
    args: &'a [Text],
    slot: String,
    result: Option<&'a str>,
    walk: Option<&'a str>,
    /// Of the reply; 0 for none.
    width: u32,
}

impl Call<'_> {
    /// A call of a function that answers a scalar.
    fn answer(&self, expression: String) -> Vec<String> {
        match self.result {
            Some(result) => vec![format!("{result} = {expression};")],
            None => vec![format!("(void){expression};")],
        }
    }

    /// A call of a function that writes the words of its reply: `function(arguments, reply)`.
    fn fill(&self, function: &str, args: &[String]) -> Vec<String> {
        self.fill_before(function, args, &[])
    }

    /// The same with arguments behind the reply.
    fn fill_before(&self, function: &str, args: &[String], after: &[String]) -> Vec<String> {
        let all = |reply: &str| {
            let list: Vec<String> =
                args.iter().cloned().chain([reply.to_owned()]).chain(after.iter().cloned()).collect();
            format!("{function}({});", list.join(", "))
        };
        let n = Model::Bits64.words(self.width).max(1);
        match (self.result, Model::Bits64.class(self.width)) {
            (Some(result), Class::Wide(_)) => vec![all(&format!("{result}.w"))],
            (Some(result), _) => vec![
                "{".into(),
                format!("    uint64_t reply[{n}];"),
                format!("    {}", all("reply")),
                format!("    {result} = {};", from_words("reply", self.width)),
                "}".into(),
            ],
            (None, _) => vec![
                "{".into(),
                format!("    uint64_t reply[{n}];"),
                format!("    {}", all("reply")),
                "}".into(),
            ],
        }
    }

    /// The host executes the call on its instance.
    fn through_host(&self) -> Vec<String> {
        let (packet, arena) = self.around.packet.unwrap_or(("NULL", "NULL"));
        let total: u32 = self.args.iter().map(|a| Model::Bits64.words(a.width)).sum();
        let mut lines = vec!["{".to_owned(), format!("    uint64_t args[{}];", total.max(1))];
        let mut at = 0;
        for arg in self.args {
            match arg.class() {
                Class::Wide(n) => {
                    lines.push(format!("    memcpy(args + {at}, {}.w, {n} * sizeof *args);", arg.p()))
                }
                Class::Double => {
                    lines.push(format!("    args[{at}] = (uint64_t){};", arg.p()));
                    lines.push(format!("    args[{}] = (uint64_t)({} >> 64);", at + 1, arg.p()));
                }
                _ => lines.push(format!("    args[{at}] = {};", arg.c)),
            }
            at += Model::Bits64.words(arg.width);
        }
        if total == 0 {
            lines.push("    args[0] = 0;".into());
        }
        lines.push(format!("    uint64_t reply[{}];", Model::Bits64.words(self.width).max(1)));
        let slot = self.slot.trim_start_matches('&');
        lines.push(format!(
            "    {slot}.call({slot}.instance, {}, args, reply, {packet}, {arena}, {});",
            self.method, self.around.env
        ));
        if let Some(result) = self.result {
            lines.push(match Model::Bits64.class(self.width) {
                Class::Wide(n) => format!("    memcpy({result}.w, reply, {n} * sizeof *reply);"),
                _ => format!("    {result} = {};", from_words("reply", self.width)),
            });
        }
        lines.push("}".into());
        lines
    }
}

/// A call that the runtime realises; `None` if it leaves the kind, or this use of it, to the host.
fn inline(call: &Call<'_>, method: &str) -> Option<Vec<String>> {
    let arg = |i: usize| call.args[i].c.clone();
    match (call.config.kind.as_str(), method) {
        ("counter", "count") => Some(vec![format!("wl_count({}, {}, {});", call.slot, arg(0), arg(1))]),
        ("lpm", "search") => Some(search(call)),
        ("array", _) => Some(array(call, method)),
        ("clock", "now") => Some(call.answer(format!("{}->now_ns", call.around.env))),
        ("random", "next") => {
            let seed = Model::Bits64.literal(call.config.param("seed"));
            Some(call.answer(format!("wl_random({seed}, {}, {})", call.around.env, arg(0))))
        }
        ("checksum", "sum") => {
            let (packet, _) = call.around.packet?;
            Some(call.answer(format!("wl_checksum({packet}, {}, {}, {})", arg(0), arg(1), arg(2))))
        }
        ("payload", _) => payload(call, method),
        ("hash", "crc32") => Some(call.answer(format!(
            "wl_crc32({}, {})",
            as_words(&call.args[0]),
            call.args[0].width.div_ceil(8)
        ))),
        ("hash", "hash48" | "hash64") => {
            let multiplier =
                call.config.param(if method == "hash48" { "multiplier48" } else { "multiplier64" });
            let (data, width) = (as_words(&call.args[0]), call.args[0].width);
            Some(call.answer(format!("wl_{method}({data}, {width}, {})", Model::Bits64.literal(multiplier))))
        }
        _ => None,
    }
}

/// `lpm` reads the host's table.
fn search(call: &Call<'_>) -> Vec<String> {
    let key = &call.args[0];
    let (form, key_text) = search_key(key);
    let found = match call.walk {
        Some(walk) => format!("wl_lpm{form}_value({}, {key_text}, &{walk})", call.slot),
        None => format!("wl_lpm{form}_search({}, {key_text}, {})", call.slot, direct_bits(key)),
    };
    let result = call.result.expect("a search without a use is not written");
    match Model::Bits64.class(call.width) {
        Class::Wide(n) => vec![format!("memcpy({result}.w, {found}, {n} * sizeof(uint64_t));")],
        Class::Double => vec![
            "{".into(),
            format!("    const uint64_t *const value = {found};"),
            format!("    {result} = {};", from_words("value", call.width)),
            "}".into(),
        ],
        _ => vec![format!("{result} = {};", from_words(&found, call.width))],
    }
}

/// `array` works on the elements where they lie.
fn array(call: &Call<'_>, method: &str) -> Vec<String> {
    let layout = call.config.value.as_ref().expect("an array has a value type");
    let width = layout.width();
    let n = Model::Bits64.words(width);
    let head = || vec![call.slot.clone(), call.args[0].c.clone(), n.to_string()];
    let with = |more: &[String]| head().into_iter().chain(more.iter().cloned()).collect::<Vec<_>>();
    let lanes = || {
        let mut top = width;
        let lanes: Vec<String> = layout
            .fields
            .iter()
            .map(|(_, width)| {
                top -= width;
                format!("{{ {top}, {width} }}")
            })
            .collect();
        [format!("(const struct wl_lane[]){{ {} }}", lanes.join(", ")), layout.fields.len().to_string()]
    };
    let value = |i: usize| as_words(&call.args[i]);
    match method {
        "read" => call.fill("wl_array_read", &head()),
        "write" => vec![format!("wl_array_write({});", with(&[value(1)]).join(", "))],
        "add" => {
            let [lanes, count] = lanes();
            vec![format!("wl_array_add({});", with(&[value(1), lanes, count]).join(", "))]
        }
        "fetch_add" => {
            let [lanes, count] = lanes();
            call.fill("wl_array_fetch_add", &with(&[value(1), lanes, count]))
        }
        "exchange" => call.fill("wl_array_exchange", &with(&[value(1)])),
        "compare_swap" => call.fill_before(
            "wl_array_compare_swap",
            &with(&[value(1), value(2), width.to_string()]),
            &[Model::Bits64.words(call.width).to_string()],
        ),
        _ => call.through_host(),
    }
}

/// `payload` reads and changes the packet in hand.
fn payload(call: &Call<'_>, method: &str) -> Option<Vec<String>> {
    let (packet, arena) = call.around.packet?;
    let chunk = call.config.value.as_ref()?.width() / 8;
    let arg = |i: usize| call.args[i].c.clone();
    let data = |i: usize| as_words(&call.args[i]);
    Some(match method {
        "read" => call.fill("wl_payload_read", &[packet.into(), arg(0), chunk.to_string()]),
        "write" => call.answer(format!(
            "wl_payload_write({packet}, {arena}, {}, {}, {chunk}, {})",
            arg(0),
            data(1),
            arg(2)
        )),
        "append" => {
            call.answer(format!("wl_payload_append({packet}, {arena}, {}, {chunk}, {})", data(0), arg(1)))
        }
        "truncate" => call.answer(format!("wl_payload_truncate({packet}, {})", arg(0))),
        _ => return None,
    })
}
