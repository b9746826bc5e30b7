//! Compares random programs with Unicorn (QEMU's translator) in a separate process, instruction by
//! instruction.
//!
//! A program is generated while it runs. Each step draws an instruction that executes without an
//! exception, keeps its accesses within the data, and goes forward if it jumps. Unicorn then runs
//! the whole program. Registers, flags, the program counter and all of the data must be equal after
//! every instruction.

mod arm;
mod oracle;
mod riscv;

use std::collections::BTreeMap;
use std::fmt::Debug;

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use wireloom_isa::{Flow, InstructionSet, Memory, Thread};

use oracle::Oracle;

const TEXT: u32 = 0x10000;
const WORDS: u32 = 120;
/// The maximum distance of a jump in words.
const JUMP: u32 = 12;
const DATA: u32 = 0x20000;
const DATA_BYTES: u32 = 1024;

/// The test's requirements on an instruction set.
trait Random: InstructionSet {
    /// The oracle's number for the set.
    const NUMBER: u32;

    /// Kinds of instructions that [`Random::draw`] knows.
    const KINDS: u32;

    /// Draws a word of a kind. It must execute without an exception often enough.
    fn draw(random: &mut ChaCha8Rng, kind: u32, thread: &Self::Thread) -> u32;

    /// Returns initial registers.
    fn begin(random: &mut ChaCha8Rng) -> Self::Thread;

    /// Returns all of a thread's state that the oracle reports, except for its program counter.
    fn observe(thread: &Self::Thread) -> Vec<u32>;

    /// Returns the features that a word exercises.
    fn features(word: u32, flow: Flow) -> Vec<String>;
}

/// A program and its execution here: `states` has the state before each instruction, and the last
/// state.
struct Trace {
    text: Vec<u32>,
    states: Vec<State>,
}

#[derive(Clone, Debug, PartialEq)]
struct State {
    pc: u32,
    registers: Vec<u32>,
    data: Vec<u8>,
}

/// Makes a program by running it.
fn trace<S: Random>(seed: u64, executed: &mut BTreeMap<String, u32>) -> Trace {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let mut thread = S::begin(&mut random);
    let mut memory = Memory::new(DATA, data(&mut random));
    let mut text = vec![0; WORDS as usize];
    let mut states = vec![state::<S>(&thread, &memory)];
    let end = TEXT + 4 * WORDS;
    while thread.pc() != end {
        let pc = thread.pc();
        // A kind that seldom executes without exceptions gets many tries before the next kind, so
        // that it does not become rare.
        let mut kind = 0;
        let (word, flow, next_thread, next_memory) = (0..20_000)
            .find_map(|number| {
                if number % 200 == 0 {
                    kind = random.random_range(0..S::KINDS);
                }
                let word = S::draw(&mut random, kind, &thread);
                let (mut thread, mut memory) = (thread.clone(), memory.clone());
                let flow = S::execute(&mut thread, &S::decode(word, pc), &mut memory).ok()?;
                let is_forward = thread.pc() > pc && thread.pc() <= end.min(pc + 4 * JUMP);
                is_forward.then_some((word, flow, thread, memory))
            })
            .expect("an instruction that executes");
        text[((pc - TEXT) / 4) as usize] = word;
        for feature in S::features(word, flow) {
            *executed.entry(feature).or_default() += 1;
        }
        (thread, memory) = (next_thread, next_memory);
        states.push(state::<S>(&thread, &memory));
    }
    Trace { text, states }
}

/// Returns bytes. Half of them form words that are addresses of text or data, for jumps through
/// memory.
fn data(random: &mut ChaCha8Rng) -> Vec<u8> {
    (0..DATA_BYTES / 4)
        .flat_map(|_| {
            match random.random_range(0..4) {
                0 => TEXT + 4 * random.random_range(0..=WORDS),
                1 => DATA + random.random_range(0..DATA_BYTES),
                _ => random.random(),
            }
            .to_le_bytes()
        })
        .collect()
}

/// Returns the contents of a register: corner cases, small numbers, addresses, or anything.
fn value(random: &mut ChaCha8Rng) -> u32 {
    match random.random_range(0..8) {
        0 => [0, 1, u32::MAX, 0x7fff_ffff, 0x8000_0000, 0x8000_0001][random.random_range(0..6)],
        1 => random.random_range(0..66),
        2 => DATA + random.random_range(0..DATA_BYTES),
        3 | 4 => DATA + 4 * random.random_range(0..DATA_BYTES / 4),
        5 => TEXT + 4 * random.random_range(0..=WORDS),
        _ => random.random(),
    }
}

fn state<S: Random>(thread: &S::Thread, memory: &Memory) -> State {
    State { pc: thread.pc(), registers: S::observe(thread), data: memory.bytes().to_vec() }
}

/// Compares this many programs, and checks that they have exercised each of `features` at least
/// `least` times.
fn compare<S: Random>(programs: u64, features: &[String], least: u32) {
    let mut oracle = Oracle::start();
    let mut executed = BTreeMap::new();
    for seed in 0..programs {
        let here = trace::<S>(seed, &mut executed);
        let there = oracle
            .run(S::NUMBER, &here)
            .unwrap_or_else(|message| panic!("program {seed}: {message}"));
        for (step, (before, after)) in here.states.iter().zip(&here.states[1..]).enumerate() {
            if there.get(step + 1) != Some(after) {
                let word = here.text[((before.pc - TEXT) / 4) as usize];
                panic!(
                    "program {seed}, instruction {step}, `{}` (0x{word:08x}) at 0x{:x}:\nbefore {}\nhere   {}\nUnicorn {}",
                    S::disassemble(word, before.pc),
                    before.pc,
                    show(Some(before), before),
                    show(Some(after), before),
                    show(there.get(step + 1), before),
                );
            }
        }
        assert_eq!(there.len(), here.states.len(), "program {seed} goes on on Unicorn");
    }
    let seldom: Vec<_> = features
        .iter()
        .map(|feature| (feature, executed.get(feature).copied().unwrap_or(0)))
        .filter(|(_, times)| *times < least)
        .collect();
    assert!(seldom.is_empty(), "exercised less than {least} times: {seldom:?}");
}

/// Writes registers, and the bytes that differ from another state.
fn show(state: Option<&State>, from: &State) -> String {
    let Some(state) = state else { return "has ended".into() };
    let bytes: Vec<_> = (0..state.data.len())
        .filter(|at| state.data[*at] != from.data[*at])
        .map(|at| format!("0x{:x}: 0x{:02x}", DATA + at as u32, state.data[at]))
        .collect();
    format!("pc 0x{:x}, {:x?}, data {bytes:?}", state.pc, state.registers)
}

#[test]
fn riscv_does_what_unicorn_does() {
    compare::<wireloom_isa::Riscv>(100, &riscv::features(), 20);
}

#[test]
fn arm_does_what_unicorn_does() {
    compare::<wireloom_isa::Arm>(220, &arm::features(), 2);
}
