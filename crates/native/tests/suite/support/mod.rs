//! Compares golden and native.

pub mod random;
pub mod ways;

use std::ops::Range;
use std::path::{Path, PathBuf};

use wireloom_bits::Bits;
use wireloom_compile::passes::PassOptions;
use wireloom_compile::{lower, pipeline};
use wireloom_ir::builder::{EngineBuilder, config, program_of};
use wireloom_ir::{
    BinaryOp, Execute, Exit, Golden, Output, Program, UnaryOp, Value, Verdict, print, store, verify,
};
use wireloom_native::{BuildOptions, Library, Native};
use wireloom_net::{Frame, Packet};
use wireloom_offloads::kinds::meter::Rates;
use wireloom_offloads::{Content, Entry, EntryKey, StateRow, Store};

use self::random::Random;

/// An [`Output`] that owns its bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sent {
    pub sequence: u64,
    pub arrival_ns: u64,
    pub ingress: u16,
    pub verdict: Verdict,
    pub bytes: Vec<u8>,
}

/// Returns the seeds of a test: the usual ones, or the range `FIRST..END` in an environment
/// variable.
pub fn seeds(variable: &str, usual: Range<u64>) -> Vec<u64> {
    let Ok(range) = std::env::var(variable) else { return usual.collect() };
    let (first, end) = range.split_once("..").expect("FIRST..END");
    (first.parse().expect("a number")..end.parse().expect("a number")).collect()
}

/// Returns the build options of tests: quick builds, strict C warnings, and poisoned memory, so
/// that bytes of earlier packets show.
pub fn options() -> BuildOptions {
    let flags = ["-O1", "-Wall", "-Wextra", "-Werror", "-DWL_POISON"];
    let mut flags: Vec<String> = flags.map(str::to_owned).into();
    if let Ok(more) = std::env::var("WIRELOOM_NATIVE_CFLAGS") {
        flags.extend(more.split_whitespace().map(str::to_owned));
    }
    BuildOptions { flags, ..BuildOptions::default() }
}

/// Returns all outputs of a machine for these packets. They are offered in two lots, so that
/// numbering continues.
pub fn outputs(machine: &mut dyn Execute, packets: &[Packet]) -> Vec<Sent> {
    outputs_of(machine, &packets.iter().map(Packet::frame).collect::<Vec<_>>())
}

/// Like [`outputs`], for packets in memory that others own.
pub fn outputs_of(machine: &mut dyn Execute, frames: &[Frame<'_>]) -> Vec<Sent> {
    let mut sent = Vec::new();
    let (first, second) = frames.split_at(frames.len() / 3);
    for lot in [first, second] {
        machine.offer(lot, &mut |output: Output<'_>| {
            sent.push(Sent {
                sequence: output.sequence,
                arrival_ns: output.arrival_ns,
                ingress: output.ingress,
                verdict: output.verdict,
                bytes: output.bytes.to_vec(),
            });
        });
    }
    sent
}

/// Returns the state of every offload, by path.
pub fn rows(store: &Store) -> Vec<(String, Vec<StateRow>)> {
    store
        .paths()
        .into_iter()
        .map(|path| {
            let slot = store.find(&path).expect("a path of the store");
            let Content::Kind { instance, .. } = &slot.content else {
                unreachable!("paths name kinds")
            };
            (path, instance.rows())
        })
        .collect()
}

/// Asserts that native and golden agree on outputs and state, for each program. `load` fills the
/// tables.
pub fn agree(programs: &[Program], packets: &[Packet], load: &dyn Fn(&mut Store)) {
    let frames: Vec<Frame<'_>> = packets.iter().map(Packet::frame).collect();
    agree_on(programs, &options(), &frames, load);
}

/// Like [`agree`], for engines built with these options and packets in memory that others own.
/// Returns the machines.
pub fn agree_on(
    programs: &[Program],
    options: &BuildOptions,
    frames: &[Frame<'_>],
    load: &dyn Fn(&mut Store),
) -> Vec<Native> {
    for program in programs {
        if let Err(problems) = verify(program) {
            panic!("{}\n{}", problems[0], print(program));
        }
    }
    let libraries = Library::build_many(programs, options).unwrap_or_else(|e| panic!("{e}"));
    let run = |(program, library): (&Program, Library)| {
        let stores = [(), ()].map(|()| {
            let mut store = store(program).expect("offloads of a verified program");
            load(&mut store);
            store
        });
        let [for_golden, for_native] = stores;
        let mut golden = Golden::new(program.clone(), for_golden);
        let mut native = Native::new(library, for_native);
        let expected = outputs_of(&mut golden, frames);
        let got = outputs_of(&mut native, frames);
        for (expected, got) in expected.iter().zip(&got) {
            assert_eq!(got, expected, "native (left) against golden:\n{}", print(program));
        }
        assert_eq!(got.len(), expected.len(), "number of outputs:\n{}", print(program));
        assert_eq!(rows(native.store()), rows(golden.store()), "state:\n{}", print(program));
        native
    };
    programs.iter().zip(libraries).map(run).collect()
}

/// Returns the build options for tests of vector code: this processor, so that its instructions are
/// used.
pub fn options_for_lanes() -> BuildOptions {
    let mut options = options();
    let named = BuildOptions::default().flags.into_iter();
    options.flags.extend(named.filter(|flag| flag.starts_with("-m")));
    options
}

/// Loads some prefixes into every prefix table, and some elements into every array.
pub fn fill_tables(store: &mut Store) {
    let random = &mut Random(7);
    for path in store.paths() {
        let Content::Kind { config, instance } =
            &mut store.find_mut(&path).expect("a path of the store").content
        else {
            unreachable!("paths name kinds")
        };
        let value_width = config.value.as_ref().map_or(1, |layout| layout.width());
        for _ in 0..60 {
            let words: Vec<u64> = (0..17).map(|_| random.next()).collect();
            let value = Bits::from_words(value_width, &words);
            let key = match config.kind.as_str() {
                "lpm" => {
                    let width = config.key.as_ref().map_or(1, |layout| layout.width());
                    let length = random.below(width as usize + 1) as u32;
                    // Short runs of ones and zeros in front, so that prefixes nest and packets
                    // match them.
                    let low = if random.chance(2) {
                        Bits::zero(width)
                    } else {
                        Bits::from_words(width, &words)
                    };
                    let bits = if length == 0 {
                        Bits::zero(width)
                    } else {
                        low.lshr(width - length).shl(width - length)
                    };
                    EntryKey::Prefix { bits, length }
                }
                "array" => EntryKey::Index(random.below(2) as u64),
                // Some entries of a few tables, with short keys that packets match.
                "exact" if random.chance(4) => {
                    let width = config.key.as_ref().map_or(1, |layout| layout.width());
                    EntryKey::Exact(Bits::from_words(width, &[random.below(4) as u64; 17]))
                }
                "match" if random.chance(6) => {
                    let length = 1 + random.below(3);
                    EntryKey::Pattern((0..length).map(|_| random.next() as u8 & 3).collect())
                }
                "exact" | "match" => continue,
                "meter" if random.chance(6) => EntryKey::Index(random.below(9) as u64),
                "meter" => continue,
                _ => break,
            };
            let value = match config.kind.as_str() {
                "meter" => {
                    Rates { cir: 1 << random.below(40), cbs: 90, ebs: 1, pir: 7, pbs: 100 }.pack()
                }
                _ => value,
            };
            // A full table or an index out of range changes nothing: both machines refuse the
            // entry.
            let _ = instance.load(Entry { key, value });
        }
    }
}

/// Returns a program that applies every operator to operands of a width from the packet.
pub fn operators(width: u32) -> Program {
    use BinaryOp as B;
    let binary = [
        B::Add,
        B::Sub,
        B::Mul,
        B::Udiv,
        B::Urem,
        B::And,
        B::Or,
        B::Xor,
        B::Shl,
        B::Lshr,
        B::Eq,
        B::Ne,
        B::Ult,
        B::Ule,
    ];
    let mut engine = EngineBuilder::packet("operators");
    let results = engine.offload("results", config("array", &[], &[("", 1024)], &[("size", 64)]));
    engine.regions("only", |step| {
        let start = step.constant(16, 0);
        let a = step.read_packet(start, 0, width);
        let b = step.read_packet(start, 5, width);
        let small = step.read_packet(start, 8, 11);
        let mut values: Vec<Value> = binary.iter().map(|op| step.binary(*op, a, b)).collect();
        values.extend([B::Shl, B::Lshr].map(|op| step.binary(op, a, small)));
        values.extend([UnaryOp::Not, UnaryOp::Neg].map(|op| step.unary(op, a)));
        let choice = step.slice(small, 0, 1);
        values.push(step.select(choice, a, b));
        values.push(step.slice(a, width / 3, width.div_ceil(3)));
        if width <= 512 {
            values.push(step.concat(&[a, b]));
        }
        for (index, value) in values.into_iter().enumerate() {
            let index = step.constant(32, index as u128);
            let wide = if step.width(value) < 1024 { step.extend(value, 1024) } else { value };
            step.call(results, "exchange", &[index, wide]);
        }
        step.next_region();
        step.next_region();
        step.exit(Exit::Done);
    });
    program_of(engine)
}

/// Returns packets for these operators: all zeros, all ones, zeros after the first byte or the
/// eighth, and random bytes.
pub fn patterns() -> Vec<Packet> {
    let mut random = Random(3);
    let pattern = |pattern| {
        let mut bytes: Vec<u8> = (0..130).map(|_| random.next() as u8).collect();
        match pattern {
            0 => bytes.fill(0),
            1 => bytes.fill(0xff),
            2 => bytes[1..].fill(0),
            3 => bytes[8..].fill(0),
            _ => {}
        }
        Packet { ingress: 1, arrival_ns: 0, bytes }
    };
    (0..6).map(pattern).collect()
}

/// Returns the folder of programs.
pub fn programs() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../programs")
}

/// Returns a program of that folder, optimised.
pub fn compiled(name: &str) -> Program {
    let checked = wireloom_lang::check(&programs().join(name), &wireloom_lang::Options::default());
    let mut program = lower(checked.program.as_ref().expect("a program without errors"));
    pipeline::optimise(&mut program, &PassOptions::default());
    program
}
