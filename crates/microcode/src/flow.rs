//! The control flow of a program, and the properties that hold along it: registers that are still
//! needed, and transfer registers that a unit has not yet filled.

use wireloom_isa::microengine::table::Form;
use wireloom_isa::microengine::{Completion, Instruction, Order, Source, TransferFile, Unit, Wait};

use crate::statement::Item;

/// The successors of each instruction. `reached` returns the successors of a `jump` or `rtn`.
pub fn successors(
    items: &[Item],
    targets: &[u16],
    entries: &[u16],
    reached: impl Fn(usize) -> Vec<u16>,
) -> Vec<Vec<u16>> {
    let mut next: Vec<Vec<u16>> = (0..items.len())
        .map(|at| if at + 1 < items.len() { vec![at as u16 + 1] } else { vec![] })
        .collect();
    for (at, item) in items.iter().enumerate() {
        let defer = usize::from(item.parts.defer);
        // The branch is taken after the instruction in its last slot.
        let last = (at + defer).min(items.len() - 1);
        let (always, goes) = match item.form {
            Form::Branch(condition) => {
                let always = condition == wireloom_isa::microengine::Condition::Always;
                (always, vec![targets[at]])
            }
            Form::BranchBit(_)
            | Form::BranchByte(_)
            | Form::BranchContext(_)
            | Form::BranchInput
            | Form::BranchSignal(_) => (false, vec![targets[at]]),
            Form::Jump | Form::Return => (true, reached(at)),
            Form::Arbitrate if item.parts.wait == Wait::Kill => (true, vec![]),
            _ => continue,
        };
        let falls = last as u16 + 1;
        let is_entered = (at + 1..=last).any(|slot| entries.contains(&(slot as u16)));
        if always && !is_entered {
            next[last].retain(|&to| to != falls);
        }
        for to in goes {
            if usize::from(to) < items.len() && !next[last].contains(&to) {
                next[last].push(to);
            }
        }
    }
    next
}

/// Sets of registers, as bits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Set(Vec<u64>);

impl Set {
    pub fn new(size: usize) -> Self {
        Self(vec![0; size.div_ceil(64)])
    }

    pub fn insert(&mut self, at: usize) {
        self.0[at / 64] |= 1 << (at % 64);
    }

    pub fn remove(&mut self, at: usize) {
        self.0[at / 64] &= !(1 << (at % 64));
    }

    fn join(&mut self, other: &Self) {
        for (word, other) in self.0.iter_mut().zip(&other.0) {
            *word |= other;
        }
    }

    pub fn iter(&self) -> impl Iterator<Item = usize> + '_ {
        let bits = |(at, &word): (usize, &u64)| {
            (0..64).filter(move |bit| word >> bit & 1 != 0).map(move |bit| at * 64 + bit)
        };
        self.0.iter().enumerate().filter(|(_, word)| **word != 0).flat_map(bits)
    }
}

/// The nodes that an instruction reads.
pub fn reads(item: &Item) -> impl Iterator<Item = usize> {
    // A register that is changed in part is also read.
    let changes = matches!(
        item.form,
        Form::LoadField { clear: false } | Form::ImmediateByte(_) | Form::ImmediateWord(_)
    );
    let destination = item.nodes[0].filter(|_| changes);
    [destination, item.nodes[1], item.nodes[2]].into_iter().flatten()
}

/// The nodes that are live after each instruction.
pub fn live_out(items: &[Item], next: &[Vec<u16>], nodes: usize) -> Vec<Set> {
    let mut before = vec![Set::new(nodes); items.len()];
    let mut after = vec![Set::new(nodes); items.len()];
    let mut changed = true;
    while changed {
        changed = false;
        for at in (0..items.len()).rev() {
            let mut out = std::mem::replace(&mut after[at], Set(Vec::new()));
            for &to in &next[at] {
                out.join(&before[usize::from(to)]);
            }
            let mut set = out.clone();
            if let Some(written) = items[at].nodes[0] {
                set.remove(written);
            }
            for read in reads(&items[at]) {
                set.insert(read);
            }
            after[at] = out;
            if before[at] != set {
                before[at] = set;
                changed = true;
            }
        }
    }
    after
}

/// The transfer registers of the two files that units fill, with the events that make them ready:
/// bits 1 to 15 a signal, bits from 16 a unit's command without one.
type Pending = [[u32; 16]; 2];

fn unit_bit(unit: Unit) -> u32 {
    1 << (16 + unit as u32)
}

/// Finds the first instruction that reads a transfer register before its signal. Returns the number
/// of the instruction and the register.
pub fn early_read(
    instructions: &[Instruction],
    next: &[Vec<u16>],
) -> Option<(usize, TransferFile, u8)> {
    // If a unit gets a command with a signal after one without, the signal covers both, provided
    // that both are ordered or the unit keeps the order by itself.
    let mut units_of_signal = [0_u32; 16];
    for instruction in instructions {
        let Instruction::Command(command) = instruction else { continue };
        match command.completion {
            Completion::Signal(signal) | Completion::Swap(signal)
                if command.order != Order::Optimize =>
            {
                units_of_signal[usize::from(signal.0 & 15)] |= unit_bit(command.unit);
            }
            _ => {}
        }
    }
    let mut before: Vec<Option<Pending>> = vec![None; instructions.len()];
    if let Some(first) = before.first_mut() {
        *first = Some([[0; 16]; 2]);
    }
    let mut work: Vec<usize> = if instructions.is_empty() { vec![] } else { vec![0] };
    let ready = ready_after(instructions, &units_of_signal);
    while let Some(at) = work.pop() {
        let Some(mut pending) = before[at] else { continue };
        if let Instruction::Command(command) = &instructions[at] {
            let (_, words) = command.words();
            if let Some((file, first)) = command.transfer() {
                let bit = match command.completion {
                    Completion::None => unit_bit(command.unit),
                    Completion::Signal(signal) | Completion::Swap(signal) => 1 << (signal.0 & 15),
                };
                for register in first..first.saturating_add(words).min(16) {
                    pending[file as usize][usize::from(register)] = bit;
                }
            }
        }
        for bits in pending.as_flattened_mut() {
            *bits &= !ready[at];
        }
        for &to in &next[at] {
            let known = &mut before[usize::from(to)];
            let mut joined = known.unwrap_or([[0; 16]; 2]);
            for (bits, other) in joined.as_flattened_mut().iter_mut().zip(pending.as_flattened()) {
                *bits |= other;
            }
            if *known != Some(joined) {
                *known = Some(joined);
                work.push(usize::from(to));
            }
        }
    }
    for (at, instruction) in instructions.iter().enumerate() {
        let Some(pending) = before[at] else { continue };
        let (a, b) = instruction.operands();
        for source in [a, b] {
            if let Source::Transfer(file, wireloom_isa::microengine::Index::Relative(number)) =
                source
            {
                let bits = pending[file as usize].get(usize::from(number));
                if bits.is_some_and(|&bits| bits != 0) {
                    return Some((at, file, number));
                }
            }
        }
    }
    None
}

/// The events that are known after each instruction: the signals for which it has waited. A wait
/// ends after the instructions that it defers.
fn ready_after(instructions: &[Instruction], units_of_signal: &[u32; 16]) -> Vec<u32> {
    let mut ready = vec![0_u32; instructions.len()];
    for (at, instruction) in instructions.iter().enumerate() {
        let mask = match instruction {
            Instruction::Arbitrate { wait: Wait::Signals { mask, any: false }, .. } => *mask,
            // The instruction waits for one of several signals; the program itself checks which.
            Instruction::Arbitrate { wait: Wait::Signals { mask, .. }, .. } => *mask,
            Instruction::Command(command) => match command.completion {
                Completion::Swap(signal) => signal.bit(),
                _ => 0,
            },
            // The signal counts as seen on both paths, although only the path on which the branch
            // is not taken has seen it. Exactness would reject programs that poll.
            Instruction::BranchSignal { signal, .. } => signal.bit(),
            _ => 0,
        };
        let units = (1..16).filter(|signal| mask >> signal & 1 != 0);
        let units = units.fold(0, |bits, signal| bits | units_of_signal[signal]);
        let last = (at + usize::from(instruction.defer())).min(instructions.len() - 1);
        ready[last] |= u32::from(mask) | units;
    }
    ready
}
