//! Calls of offloads, in the memory of the tile.

mod array;
mod keyed;
mod meter;
mod numbers;
mod packet;

use wireloom_codegen::refused::Refused;
use wireloom_codegen::trie;
use wireloom_ir::{Engine, EngineKind, OffloadId, OffloadTarget, Value};
use wireloom_isa::raw::tile::Op as Do;
use wireloom_offloads::registry;

use super::code::{FRAME, NOTHING, Operand, ZERO};
use super::frame;
use super::layout::Place;
use super::lower::Lower;
use super::words::{self, Words};

/// Whether a method of an offload changes the packet.
pub fn changes_packet(engine: &Engine, offload: OffloadId, method: usize) -> bool {
    match &engine.offloads[offload.index()].target {
        OffloadTarget::Engine(_) => false,
        OffloadTarget::Kind(config) => {
            registry::kind(&config.kind).is_none_or(|kind| kind.methods[method].writes_packet)
        }
    }
}

/// Writes a call; returns the reply.
///
/// # Errors
/// If the method has no place.
pub fn call(
    lower: &mut Lower<'_>,
    offload: OffloadId,
    method: usize,
    args: &[Value],
    width: u32,
) -> Result<Option<Words>, Refused> {
    let called = &lower.instance.engine.offloads[offload.index()];
    let place = lower.instance.offloads[offload.index()];
    let config = match (&called.target, place) {
        (OffloadTarget::Engine(_), Place::Engine(number)) => {
            return Ok(Some(engine(lower, number, args)));
        }
        (OffloadTarget::Kind(config), _) => config,
        (OffloadTarget::Engine(_), _) => unreachable!("an engine has the place of one"),
    };
    if let Some(reply) = lower.ask(offload, method, args, width)? {
        return Ok(reply);
    }
    let kind = registry::kind(&config.kind).expect("a verified program");
    let name = kind.methods[method].name;
    if changes_packet(lower.instance.engine, offload, method) {
        lower.forget();
    }
    match (config.kind.as_str(), place) {
        ("array", Place::Elements { .. }) => {
            let fields = config.value.as_ref().map_or(&[][..], |layout| &layout.fields);
            Ok(array::call(lower, place, name, args, fields))
        }
        ("counter", Place::Counters { .. }) => {
            array::count(lower, place, args);
            Ok(None)
        }
        ("lpm", _) => Ok(Some(search(lower, place, args[0], width))),
        ("clock", _) => Ok(Some(lower.load(frame::ARRIVAL, 2))),
        ("checksum", _) => {
            let args: Words = args.iter().map(|value| lower.word(*value)).collect();
            Ok(Some(lower.code.call("checksum", &args, 1)))
        }
        ("payload", _) => Ok(packet::payload(lower, name, args, width)),
        ("hash", _) if name == "crc32" => Ok(Some(numbers::crc32(lower, args[0], 0))),
        ("hash", _) => Ok(Some(numbers::hash(lower, config, name, args[0]))),
        ("bloom", _) => {
            let is_add = name == "add";
            let found = numbers::bloom(lower, place, config, args[0], is_add);
            Ok((!is_add).then_some(found))
        }
        ("match", Place::Automaton { classes, row }) => {
            let width = config.value.as_ref().map_or(1, |value| value.width());
            Ok(Some(packet::scan(lower, [classes, row], args, width)))
        }
        ("exact", Place::Table { base }) => Ok(Some(keyed::exact(lower, base, config, name, args))),
        ("park", Place::Park { base }) => Ok(Some(keyed::park(lower, base, name, args))),
        ("meter", Place::Elements { .. }) => Ok(Some(meter::mark(lower, place, config, args))),
        ("random", _) => Ok(Some(numbers::random(lower, config.param("seed").low_u64(), args[0]))),
        (kind, _) => {
            let message = format!("`{}`: `{kind}.{name}` has no place on tiles yet", called.name);
            Err(lower.refuse(Some(&called.name.clone()), message))
        }
    }
}

/// Calls an engine: its parameters are variables of its context.
fn engine(lower: &mut Lower<'_>, number: usize, args: &[Value]) -> Words {
    let layout = lower.layout;
    let called = &layout.instances[number];
    let EngineKind::Call { params, reply } = &called.engine.kind else {
        unreachable!("only called engines are called")
    };
    for (param, arg) in params.iter().zip(args) {
        let words = lower.get(*arg);
        lower.store(called.variables[param.index()], &words);
    }
    lower.code.call_engine(&called.label);
    lower.load(called.reply, words::count(*reply))
}

/// Looks up the longest prefix.
fn search(lower: &mut Lower<'_>, place: Place, key: Value, width: u32) -> Words {
    let (key_width, key) = (lower.width(key), lower.get(key));
    let code = &mut lower.code;
    let (entry, values, stride) = match place {
        Place::Direct { first, second, values, stride } => {
            let at = code.shift(Do::Srl, key[0], 8);
            let at = code.shift(Do::Sll, at, 1);
            let ((at, lower), entry) = (code.address(at, first), code.register());
            // The sign of an entry says that it has the number of a segment.
            code.memory(Do::Lh, entry, at, lower);
            let (long, done) = (code.label(), code.label());
            code.push(super::code::Instruction {
                rs: Some(entry),
                label: long.clone(),
                ..super::code::Instruction::new(Do::Bltz)
            });
            code.apart(|code| {
                code.place(&long);
                let segment = code.two(Do::And, entry.into(), Operand::Number(0x7fff));
                let segment = code.shift(Do::Sll, segment, 9);
                let low = code.two(Do::And, key[0], Operand::Number(0xff));
                let low = code.shift(Do::Sll, low, 1);
                let at = code.two(Do::Addu, segment, low);
                let (at, lower) = code.address(at, second);
                code.memory(Do::Lhu, entry, at, lower);
                code.jump(&done);
            });
            code.place(&done);
            (entry.into(), values, stride)
        }
        Place::Trie { root, values, stride } => {
            // The key from its most significant bit on.
            let left = key_width.next_multiple_of(32) - key_width;
            let aligned = match left {
                0 => key,
                _ => code.concat(&[(key, key_width), (words::zeros(left), left)]),
            };
            for (at, word) in aligned.iter().rev().enumerate() {
                code.store(*word, FRAME, frame::WORK as i32 + 4 * at as i32);
            }
            let top = *aligned.last().expect("a key has words");
            let index = code.shift(Do::Srl, top, 32 - trie::root_bits(key_width));
            let index = code.shift(Do::Sll, index, 2);
            let (at, lower) = code.address(index, root);
            let entry = code.load(at, lower).into();
            let entry = if key_width > trie::root_bits(key_width) {
                code.call("walk", &[entry], 1)[0]
            } else {
                entry
            };
            (entry, values, stride)
        }
        _ => unreachable!("routes have a place of theirs"),
    };
    let offset = code.two(Do::Mul, entry, Operand::Number(stride));
    // The upper half of the address is the same for all words of a value: they are in a line.
    let (at, lower) = code.address(offset, values);
    (0..words::count(width)).map(|word| code.load(at, lower + 4 * word as i32).into()).collect()
}

impl Lower<'_> {
    /// A result that is 0 unless the code before a label is executed to its end.
    fn or_zero(
        &mut self,
        count: usize,
        write: impl FnOnce(&mut Self, &str) -> Option<Words>,
    ) -> Words {
        let result: Vec<_> = (0..count).map(|_| self.code.fresh(NOTHING)).collect();
        let done = self.code.label();
        if let Some(words) = write(self, &done) {
            for (to, word) in result.iter().zip(words) {
                self.code.copy(*to, word);
            }
        }
        self.code.place(&done);
        result.into_iter().map(Operand::from).collect()
    }

    /// Branches if a condition, which is 0 or 1, is 0.
    fn unless(&mut self, condition: Operand, label: &str) {
        let condition = self.code.in_register(condition);
        self.code.branch(Do::Beq, condition, ZERO, label);
    }
}
