//! Orders the lines of a step so that other instructions execute while a result is pending.
//!
//! ```text
//! lhu $v0, 0($gp)         lhu $v0, 0($gp)
//! sll $v0, $v0, 16        lhu $v1, 2($gp)
//! lhu $v1, 2($gp)         sltiu $a0, $fp, 20
//! or $v0, $v0, $v1        sll $v0, $v0, 16
//! sltiu $a0, $fp, 20      or $v0, $v0, $v1
//! ```
//!
//! Accesses to networks stay in order, as do loads and stores that may overlap, all loads and
//! stores relative to network accesses, and uses of HI and LO. Lines stay within their run, which
//! extends from one label or branch to the next. Calls and their arguments belong to no run. The
//! branches that leave the fast way are part of runs: their target begins the step again, so only
//! instructions with effects must stay after them. A load before such a branch has a valid address,
//! since branches of another kind check the bounds of addresses.
//!
//! More live values need more registers. If values are spilled, the runs are ordered again with
//! lower limits. The cheapest order wins, which may be the original one.

mod order;
#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::ops::Range;

use wireloom_isa::raw::Register as Name;
use wireloom_isa::raw::tile::{self, Op, Slot};

use super::allocate;
use super::code::{Code, Instruction, Line, Register};
pub use order::Latencies;
use order::{Clock, Live, is_movable, is_test, order, values};

/// The maximum number of lines of a run. Longer runs are cut, since the time is quadratic.
const LONGEST: usize = 256;
/// The limits of live values that are tried.
const LIMITS: [usize; 3] = [18, 12, 8];

/// Orders the lines of a step. Branches to `restart` leave the fast way.
pub fn schedule(code: &mut Code, restart: &str, latencies: &Latencies) {
    let (mut best, _) = cost(code, latencies);
    let mut ordered = None;
    for limit in LIMITS {
        let mut other = code.clone();
        all_runs(&mut other, restart, latencies, limit);
        let (cycles, moves) = cost(&other, latencies);
        if cycles < best {
            (best, ordered) = (cycles, Some(other));
        }
        // A lower limit helps only if values are spilled.
        if moves == 0 {
            break;
        }
    }
    if let Some(ordered) = ordered {
        *code = ordered;
    }
}

/// Orders instructions with machine registers in the same way. Branches and jumps stay where they
/// are, and none may jump in between.
pub fn ordered(
    instructions: &[tile::Instruction],
    latencies: &Latencies,
) -> Vec<tile::Instruction> {
    let mut code = Code::new("");
    let line = |own| (Line::Instruction(Instruction::from(own)), false);
    code.lines.extend(instructions.iter().map(line));
    all_runs(&mut code, "", latencies, usize::MAX);
    let instruction = |(line, _): &(Line, bool)| match line {
        Line::Instruction(instruction) => Some(instruction.machine()),
        _ => None,
    };
    code.lines.iter().filter_map(instruction).collect()
}

impl From<&tile::Instruction> for Instruction {
    fn from(own: &tile::Instruction) -> Self {
        let slots = own.op.row().slots;
        let has = |any: &[Slot]| any.iter().any(|slot| slots.contains(slot));
        let machine = |register: Name| Register::Machine(register.0);
        Self {
            op: own.op,
            rd: has(&[Slot::Rd, Slot::Clz, Slot::Sr]).then_some(machine(own.rd)),
            rs: has(&[Slot::Rs, Slot::Memory]).then_some(machine(own.rs)),
            rt: has(&[Slot::Rt]).then_some(machine(own.rt)),
            immediate: own.immediate as i32,
            label: String::new(),
        }
    }
}

impl Instruction {
    /// Returns the instruction with its machine registers.
    fn machine(&self) -> tile::Instruction {
        let number = |register| match register {
            Some(Register::Machine(number)) => Name(number),
            _ => Name(0),
        };
        let (rd, rs, rt) = (number(self.rd), number(self.rs), number(self.rt));
        // The instruction word contains the register twice.
        let rt = if self.op == Op::Clz { rd } else { rt };
        tile::Instruction { op: self.op, rd, rs, rt, immediate: self.immediate as u32 }
    }
}

/// Returns the cycles that frequently executed lines wait or spend on spilled values, and the
/// number of loads and stores of spilled values.
fn cost(code: &Code, latencies: &Latencies) -> (u64, u64) {
    let mut clock = Clock::default();
    let main = code.lines.iter().filter(|(_, is_apart)| !is_apart);
    let waits: u64 = main.map(|(line, _)| execute(line, &mut clock, latencies)).sum();
    let (loads, stores) = allocate::moves(code);
    // A spilled value is used right after its load.
    (waits + loads * u64::from(latencies.load) + stores, loads + stores)
}

fn execute(line: &Line, clock: &mut Clock, latencies: &Latencies) -> u64 {
    match line {
        Line::Instruction(instruction) => clock.execute(instruction, latencies),
        _ => 0,
    }
}

/// Orders each run separately, with a limit of live values.
fn all_runs(code: &mut Code, restart: &str, latencies: &Latencies, limit: usize) {
    let spans = Spans::new(code);
    let mut clocks = [Clock::default(), Clock::default()];
    let mut at = 0;
    while at < code.lines.len() {
        let run = run_from(code, at, restart);
        let clock = &mut clocks[usize::from(code.lines[at].1)];
        if run.len() < 2 {
            execute(&code.lines[at].0, clock, latencies);
            at += 1;
            continue;
        }
        let lines = &mut code.lines[run.clone()];
        let mut live = spans.live(lines, &run, limit);
        let ordered = one_run(lines, restart, latencies, clock, &mut live);
        for ((line, _), own) in lines.iter_mut().zip(ordered) {
            *line = own;
        }
        at = run.end;
    }
}

/// The live ranges of values.
struct Spans {
    /// The first and the last line of each value.
    of: HashMap<u32, (usize, usize)>,
    /// The number of live values before each line.
    before: Vec<usize>,
}

impl Spans {
    fn new(code: &Code) -> Self {
        let mut of: HashMap<u32, (usize, usize)> = HashMap::new();
        for (at, (line, _)) in code.lines.iter().enumerate() {
            let Line::Instruction(instruction) = line else { continue };
            for value in values(instruction) {
                of.entry(value).or_insert((at, at)).1 = at;
            }
        }
        let mut change = vec![0isize; code.lines.len() + 2];
        for (first, last) in of.values() {
            change[first + 1] += 1;
            change[last + 1] -= 1;
        }
        let sum = |sum: &mut isize, change: isize| {
            *sum += change;
            Some(*sum as usize)
        };
        Self { of, before: change.into_iter().scan(0, sum).collect() }
    }

    fn live(&self, lines: &[(Line, bool)], run: &Range<usize>, limit: usize) -> Live {
        let mut live = Live { count: self.before[run.start], limit, ..Live::default() };
        for (line, _) in lines {
            let Line::Instruction(instruction) = line else { continue };
            for value in values(instruction) {
                let (first, last) = self.of[&value];
                if first < run.start {
                    live.open.insert(value);
                }
                if last >= run.end {
                    live.after.insert(value);
                }
            }
        }
        live
    }
}

/// Returns the run that begins at a line, including the branch at its end.
fn run_from(code: &Code, first: usize, restart: &str) -> Range<usize> {
    let is_call = |at: usize| code.calls.iter().any(|call| (call.first..=call.last).contains(&at));
    let mut end = first;
    for (at, (line, is_apart)) in code.lines.iter().enumerate().skip(first).take(LONGEST) {
        if *is_apart != code.lines[first].1 || is_call(at) {
            break;
        }
        match line {
            Line::Label(_) => break,
            Line::Comment(_) | Line::Unused => {}
            Line::Instruction(one) if is_movable(one) || is_test(one, restart) => {}
            Line::Instruction(one) => {
                // A run includes the branch or jump at its end, and no other immovable instruction.
                let slots = one.op.row().slots;
                let is_end = one.op == Op::Jr
                    || slots.iter().any(|slot| matches!(slot, Slot::Branch | Slot::Jump));
                end = if is_end { at + 1 } else { end };
                break;
            }
        }
        end = at + 1;
    }
    first..end
}

/// Returns the lines of a run in a new order. A comment precedes the first of its instructions.
fn one_run(
    lines: &[(Line, bool)],
    restart: &str,
    latencies: &Latencies,
    clock: &mut Clock,
    live: &mut Live,
) -> Vec<Line> {
    let mut instructions: Vec<&Instruction> = Vec::new();
    // The comments in groups, and the group of each instruction.
    let mut groups: Vec<Vec<Line>> = vec![Vec::new()];
    let mut about: Vec<usize> = Vec::new();
    for (line, _) in lines {
        match line {
            Line::Instruction(instruction) => {
                instructions.push(instruction);
                about.push(groups.len() - 1);
            }
            Line::Comment(_) => {
                if about.last() == Some(&(groups.len() - 1)) {
                    groups.push(Vec::new());
                }
                groups.last_mut().into_iter().for_each(|group| group.push(line.clone()));
            }
            Line::Label(_) | Line::Unused => {}
        }
    }
    let mut ordered = Vec::with_capacity(lines.len());
    for at in order(&instructions, restart, latencies, clock, live) {
        ordered.append(&mut groups[about[at]]);
        ordered.push(Line::Instruction(instructions[at].clone()));
    }
    // The remaining comments belong to no instruction.
    ordered.extend(groups.into_iter().flatten());
    ordered.resize(lines.len(), Line::Unused);
    ordered
}
