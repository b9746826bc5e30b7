//! Finished text of steps and routines, with the words that it takes in a control store.

use std::collections::BTreeMap;

use super::code::Code;
use super::routine::{Body, Routine};
use super::state::{PINNED, State};

/// A step or a routine in microcode.
#[derive(Clone, Debug)]
pub struct Written {
    /// The instructions, with labels and declarations.
    pub text: String,
    /// The most words that they take in a control store.
    pub words: usize,
    /// The routines that it calls.
    pub routines: Vec<Routine>,
    /// The registers that it shares with routines.
    pub shared: Vec<String>,
}

impl Written {
    /// Returns the finished text.
    pub fn of(code: Code) -> Self {
        let (routines, shared) = (code.routines.clone(), code.shared_names());
        let text = code.finish();
        Self { words: words(&text), text, routines, shared }
    }
}

impl Routine {
    /// Returns the routine in microcode. `number` distinguishes its labels from other labels.
    fn written(&self, number: usize) -> Written {
        let mut code = Code::new(number, &PINNED);
        let state = State::new();
        code.line(&match self.unit() {
            None => format!("; {}", self.name),
            Some(unit) => format!("; {}({unit:?})", self.name),
        });
        code.line(&format!("{}#:", self.label()));
        match self.body {
            Body::Plain(write) => write(&mut code, state),
            Body::In(unit, write) => write(&mut code, state, unit),
        }
        code.go_back(self);
        Written::of(code)
    }
}

/// Returns routines in microcode, with the routines that they call.
pub fn routines(called: impl IntoIterator<Item = Routine>) -> BTreeMap<Routine, Written> {
    let mut open: Vec<Routine> = called.into_iter().collect();
    let mut all = BTreeMap::new();
    while let Some(routine) = open.pop() {
        if !all.contains_key(&routine) {
            let written = routine.written(FIRST_NUMBER + all.len());
            open.extend(&written.routines);
            all.insert(routine, written);
        }
    }
    all
}

/// The first number for labels of routines. Labels of steps have smaller numbers.
const FIRST_NUMBER: usize = 1_000_000;

/// Returns the most words that a text takes in a control store.
fn words(text: &str) -> usize {
    text.lines()
        .map(|line| match line.trim_start() {
            line if line.starts_with("immed32") => constant(line),
            line if line.starts_with("clear_tail") || line.starts_with("clear_local_tail") => {
                CLEAR_TAIL
            }
            line if line.starts_with("wait_at_gate") => WAIT_AT_GATE,
            line if line.starts_with("pass_gate") => PASS_GATE,
            line if line.starts_with("number_of_packet") => NUMBER,
            line if line.is_empty() || line.starts_with([';', '.']) || line.ends_with("#:") => 0,
            _ => 1,
        })
        .sum()
}

/// Returns the words of an `immed32`: one, if 16 bits of the constant or of its complement are
/// enough.
fn constant(line: &str) -> usize {
    let digits = line.split("0x").nth(1).map_or("", |rest| rest.trim_end_matches(']'));
    let value = u32::from_str_radix(digits, 16).unwrap_or(0x0001_0001);
    let is_short = |bits: u32| (0..3).any(|bytes| bits.rotate_right(8 * bytes) <= 0xffff);
    if is_short(value) || is_short(!value) { 1 } else { 2 }
}

/// The most words of macros of thread.uc.
const CLEAR_TAIL: usize = 42;
const WAIT_AT_GATE: usize = 12;
const PASS_GATE: usize = 17;
const NUMBER: usize = 3;
