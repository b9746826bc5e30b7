//! Orders the lines of a step so that other instructions are executed while a result is awaited.
//!
//! ```text
//! lhu $v0, 0($gp)         lhu $v0, 0($gp)
//! sll $v0, $v0, 16        lhu $v1, 2($gp)
//! lhu $v1, 2($gp)         sltiu $a0, $fp, 20
//! or $v0, $v0, $v1        sll $v0, $v0, 16
//! sltiu $a0, $fp, 20      or $v0, $v0, $v1
//! ```
//!
//! What stays in its order: words of networks; loads and stores that may meet, and all of them
//! around words of networks; HI and LO. Lines stay within their run, from one label or branch to the
//! next: calls with their arguments are in none. The branches by which the fast way is left are
//! part of runs: code there begins the step again, so only what has an effect must stay after them.
//! A load that comes before such a branch has an address that is valid all the same, as what
//! bounds addresses is a branch of another kind.
//!
//! More values at a time need more registers. If some find none, runs are ordered again with fewer,
//! and the cheapest order counts, which may be the one that was there.

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

/// The most lines of a run: longer ones are cut, as the time grows with their square.
const LONGEST: usize = 256;
/// How many values at a time are tried.
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
        // Fewer values at a time help only if some have no register.
        if moves == 0 {
            break;
        }
    }
    if let Some(ordered) = ordered {
        *code = ordered;
    }
}

/// Orders instructions of the machine's own registers as those of a step. A branch or jump among them
/// stays where it is; none may jump in between.
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
    /// The instruction, if all its registers are of the machine.
    fn machine(&self) -> tile::Instruction {
        let number = |register| match register {
            Some(Register::Machine(number)) => Name(number),
            _ => Name(0),
        };
        let (rd, rs, rt) = (number(self.rd), number(self.rs), number(self.rt));
        // The word has the register twice.
        let rt = if self.op == Op::Clz { rd } else { rt };
        tile::Instruction { op: self.op, rd, rs, rt, immediate: self.immediate as u32 }
    }
}

/// What an order of lines costs, of those that are executed by most packets: cycles, and the loads
/// and stores of values without a register among them.
fn cost(code: &Code, latencies: &Latencies) -> (u64, u64) {
    let mut clock = Clock::default();
    let main = code.lines.iter().filter(|(_, is_apart)| !is_apart);
    let waits: u64 = main.map(|(line, _)| execute(line, &mut clock, latencies)).sum();
    let (loads, stores) = allocate::moves(code);
    // A value is used at once when it comes back.
    (waits + loads * u64::from(latencies.load) + stores, loads + stores)
}

fn execute(line: &Line, clock: &mut Clock, latencies: &Latencies) -> u64 {
    match line {
        Line::Instruction(instruction) => clock.execute(instruction, latencies),
        _ => 0,
    }
}

/// Orders each run for itself, with so many values at a time.
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

/// Where values are needed.
struct Spans {
    /// The first and last line of each.
    of: HashMap<u32, (usize, usize)>,
    /// How many there are before each line.
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

/// The lines from one on that can change their places, and the branch at their end.
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
                // A run ends with a branch or jump; what else cannot be moved is in none.
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

/// Orders lines. A comment comes before the first instruction of those that it is about.
fn one_run(
    lines: &[(Line, bool)],
    restart: &str,
    latencies: &Latencies,
    clock: &mut Clock,
    live: &mut Live,
) -> Vec<Line> {
    let mut instructions: Vec<&Instruction> = Vec::new();
    // Comments in groups, and the group of each instruction.
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
    // Those about no instruction.
    ordered.extend(groups.into_iter().flatten());
    ordered.resize(lines.len(), Line::Unused);
    ordered
}
