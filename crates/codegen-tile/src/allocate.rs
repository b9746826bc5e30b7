//! Register allocation by linear scan over the lines of a step. Spilled values are in the frame;
//! the lines that use them load and store them.

use std::collections::{HashMap, HashSet};
use std::fmt::Write;

use wireloom_isa::raw::Register as Name;
use wireloom_isa::raw::tile::{Op, Slot};

use super::code::{Code, FRAME, Instruction, Leaves, Line, Register, SCRATCH};
use super::frame::STATE;

/// The registers that routines change.
const LOWER: std::ops::RangeInclusive<u8> = 2..=7;
/// The registers that routines preserve.
const UPPER: std::ops::RangeInclusive<u8> = 10..=23;

#[derive(Clone, Copy, Debug)]
struct Interval {
    value: u32,
    first: usize,
    last: usize,
    /// Whether a routine is called or prepared within the interval.
    meets_call: bool,
    /// Whether an engine is called within the interval.
    meets_engine: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    Register(u8),
    /// The number of a spill slot in the frame.
    Slot(u32),
    /// The offset of the context word from which the value was loaded, which does not change.
    Context(i32),
}

/// Returns the numbers of loads and stores that spilled values add to frequently executed lines.
pub fn moves(code: &Code) -> (u64, u64) {
    let (places, _) = places(&intervals(code), &context_words(code), &taken(code));
    let is_away = |register: &Register| matches!(register, Register::Value(value) if !matches!(places[value], Place::Register(_)));
    let (mut loads, mut stores) = (0, 0);
    for (line, is_apart) in &code.lines {
        let (Line::Instruction(instruction), false) = (line, is_apart) else { continue };
        loads += instruction.read().iter().flatten().filter(|own| is_away(own)).count() as u64;
        stores += u64::from(instruction.written().is_some_and(|own| is_away(&own)));
    }
    (loads, stores)
}

/// Returns the text of a step and the number of its spill slots. `spills` is the offset of the
/// first slot in the frame.
pub fn write(code: &Code, spills: u32) -> (String, u32) {
    let intervals = intervals(code);
    let (places, slots) = places(&intervals, &context_words(code), &taken(code));
    let (mut main, mut apart) = (String::new(), String::new());
    for (line, is_apart) in &code.lines {
        let text = if *is_apart { &mut apart } else { &mut main };
        match line {
            Line::Label(label) => _ = writeln!(text, "{label}:"),
            Line::Comment(comment) => _ = writeln!(text, "        # {comment}"),
            Line::Unused => {}
            Line::Instruction(instruction) => write_one(text, instruction, &places, spills),
        }
    }
    (main + &apart, slots)
}

fn intervals(code: &Code) -> Vec<Interval> {
    let mut found: HashMap<u32, (usize, usize)> = HashMap::new();
    for (at, (line, _)) in code.lines.iter().enumerate() {
        let Line::Instruction(instruction) = line else { continue };
        for register in instruction.read().into_iter().chain([instruction.written()]).flatten() {
            if let Register::Value(value) = register {
                found.entry(value).or_insert((at, at)).1 = at;
            }
        }
    }
    let interval = |(value, (first, last)): (u32, (usize, usize))| Interval {
        value,
        first,
        last,
        meets_call: code.calls.iter().any(|call| first <= call.last && last >= call.first),
        meets_engine: code
            .calls
            .iter()
            .any(|call| call.leaves == Leaves::None && first < call.at && last > call.at),
    };
    let mut intervals: Vec<_> = found.into_iter().map(interval).collect();
    intervals.sort_by_key(|interval| (interval.first, interval.value));
    intervals
}

/// Returns the values that a single line loads from a context word that no line changes, with the
/// offset of that word. If they are spilled, they need no slot.
fn context_words(code: &Code) -> HashMap<u32, i32> {
    let (mut loads, mut changes) = (HashMap::new(), HashSet::new());
    // A called engine changes words of the frame, such as its reply.
    if code.calls.iter().any(|call| call.leaves == Leaves::None) {
        return loads;
    }
    let mut twice = HashSet::new();
    for (line, _) in &code.lines {
        let Line::Instruction(instruction) = line else { continue };
        let is_own = instruction.rs == Some(FRAME) && instruction.immediate >= STATE as i32;
        if instruction.op == Op::Sw && is_own {
            changes.insert(instruction.immediate);
        }
        if let Some(Register::Value(value)) = instruction.written() {
            if instruction.op == Op::Lw && is_own && !loads.contains_key(&value) {
                loads.insert(value, instruction.immediate);
            } else {
                twice.insert(value);
            }
        }
    }
    loads.retain(|value, offset| !twice.contains(value) && !changes.contains(offset));
    loads
}

/// Returns the registers that each value cannot have, because the value is used between a line that
/// sets such a register for a routine or a called engine, and the jump there.
fn taken(code: &Code) -> HashMap<u32, HashSet<u8>> {
    let mut taken: HashMap<u32, HashSet<u8>> = HashMap::new();
    let mut given: HashSet<u8> = HashSet::new();
    for (line, _) in &code.lines {
        let Line::Instruction(instruction) = line else {
            if let Line::Label(_) = line {
                given.clear();
            }
            continue;
        };
        for register in instruction.read().into_iter().chain([instruction.written()]).flatten() {
            if let (Register::Value(value), false) = (register, given.is_empty()) {
                taken.entry(value).or_default().extend(&given);
            }
        }
        if let Some(Register::Machine(register)) = instruction.written()
            && (LOWER.contains(&register) || UPPER.contains(&register))
        {
            given.insert(register);
        }
        let slots = instruction.op.row().slots;
        if instruction.op == Op::Jr || slots.contains(&Slot::Jump) {
            given.clear();
        }
    }
    taken
}

fn places(
    intervals: &[Interval],
    context_words: &HashMap<u32, i32>,
    taken_of: &HashMap<u32, HashSet<u8>>,
) -> (HashMap<u32, Place>, u32) {
    let mut places = HashMap::new();
    let mut active: Vec<(Interval, u8)> = Vec::new();
    let mut in_memory: Vec<Interval> = Vec::new();
    for interval in intervals {
        active.retain(|(other, _)| other.last > interval.first);
        if interval.meets_engine {
            in_memory.push(*interval);
            continue;
        }
        let allows = |register: u8| {
            let is_taken = taken_of.get(&interval.value).is_some_and(|own| own.contains(&register));
            !is_taken && (!interval.meets_call || UPPER.contains(&register))
        };
        let is_free = |register: &u8| active.iter().all(|(_, taken)| taken != register);
        let free = LOWER.chain(UPPER).filter(|register| allows(*register)).find(is_free);
        let register = free.or_else(|| {
            // Spill the value whose interval ends last among the values with a suitable register.
            let candidates =
                active.iter().enumerate().filter(|(_, (_, register))| allows(*register));
            let (at, (other, _)) = candidates.max_by_key(|(_, (other, _))| other.last)?;
            (other.last > interval.last).then_some(())?;
            let (other, register) = active.swap_remove(at);
            places.remove(&other.value);
            in_memory.push(other);
            Some(register)
        });
        match register {
            Some(register) => {
                active.push((*interval, register));
                places.insert(interval.value, Place::Register(register));
            }
            None => in_memory.push(*interval),
        }
    }
    in_memory.sort_by_key(|interval| (interval.first, interval.value));
    // The last line of the interval that uses each slot.
    let mut taken: Vec<usize> = Vec::new();
    for interval in in_memory {
        if let Some(offset) = context_words.get(&interval.value) {
            places.insert(interval.value, Place::Context(*offset));
            continue;
        }
        let slot = taken.iter().position(|last| *last < interval.first).unwrap_or_else(|| {
            taken.push(0);
            taken.len() - 1
        });
        taken[slot] = interval.last;
        places.insert(interval.value, Place::Slot(slot as u32));
    }
    (places, taken.len() as u32)
}

fn write_one(
    text: &mut String,
    instruction: &Instruction,
    places: &HashMap<u32, Place>,
    spills: u32,
) {
    let place = |register: Register| match register {
        Register::Machine(number) => Place::Register(number),
        Register::Value(value) => places[&value],
    };
    if let Some(register) = instruction.written()
        && let Place::Context(_) = place(register)
    {
        return;
    }
    let mut fields = [instruction.rs, instruction.rt, instruction.rd];
    let written = instruction.written();
    let read = instruction.read();
    let mut stored = None;
    for (field, scratch) in fields.iter_mut().zip(SCRATCH) {
        let Some(register) = *field else { continue };
        let offset = match place(register) {
            Place::Register(_) => continue,
            Place::Slot(slot) => (spills + 4 * slot) as i32,
            Place::Context(offset) => offset,
        };
        let scratch = Register::Machine(scratch);
        if read.contains(&Some(register)) {
            write_plain(text, &memory(Op::Lw, scratch, offset), &place);
        }
        if written == Some(register) {
            stored = Some((scratch, offset));
        }
        *field = Some(scratch);
    }
    // A register that is read and written has one place.
    let [rs, rt, rd] = fields;
    write_plain(text, &Instruction { rs, rt, rd, ..instruction.clone() }, &place);
    if let Some((scratch, offset)) = stored {
        write_plain(text, &memory(Op::Sw, scratch, offset), &place);
    }
}

fn memory(op: Op, rt: Register, immediate: i32) -> Instruction {
    Instruction { rt: Some(rt), rs: Some(FRAME), immediate, ..Instruction::new(op) }
}

fn write_plain(text: &mut String, instruction: &Instruction, place: &impl Fn(Register) -> Place) {
    let row = instruction.op.row();
    let name = |register: Option<Register>, slot: Slot| {
        let is_read = row.writes != Some(slot);
        match register.map(place) {
            Some(Place::Register(number)) => Name(number).name(is_read),
            _ => unreachable!("a field without a register"),
        }
    };
    let operand = |slot: &Slot| match slot {
        Slot::Rd | Slot::Clz => name(instruction.rd, *slot).to_owned(),
        Slot::Rs => name(instruction.rs, *slot).to_owned(),
        Slot::Rt => name(instruction.rt, *slot).to_owned(),
        Slot::Memory => format!("{}({})", instruction.immediate, name(instruction.rs, Slot::Rs)),
        Slot::Branch | Slot::Jump => instruction.label.clone(),
        Slot::Amount | Slot::Signed | Slot::Unsigned | Slot::Sr => {
            instruction.immediate.to_string()
        }
    };
    let operands: Vec<String> = row.slots.iter().map(operand).collect();
    let _ = writeln!(
        text,
        "{}",
        format!("        {} {}", row.mnemonic, operands.join(", ")).trim_end()
    );
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::code::{FRONT, ZERO};
    use crate::testing::{FRAME_AT, FRONT_AT, Processor, RandomCode, SPILLS, parsed};

    #[test]
    fn allocated_code_leaves_the_same_memory() {
        let (mut with_spills, mut with_calls) = (0, 0);
        for seed in 0..500 {
            let mut random = RandomCode::new(seed, 1 + seed as usize % 90, seed % 3 == 0);
            random.code.clean();
            let (text, slots) = write(&random.code, SPILLS);
            random.check(&parsed(&text));
            with_spills += u32::from(slots > 0);
            with_calls += u32::from(!random.code.calls.is_empty());
        }
        assert!(with_spills > 50 && with_calls > 50, "{with_spills} {with_calls}");
    }

    #[test]
    fn spilled_values_need_no_slot_only_if_nothing_changes_the_words_that_they_come_from() {
        const WORDS: u32 = 30;
        for is_changed in [false, true] {
            let mut code = Code::new("l");
            let words = (STATE as i32..).step_by(4).take(WORDS as usize);
            let values: Vec<_> = words.clone().map(|at| code.load(FRAME, at)).collect();
            if is_changed {
                words.for_each(|at| code.memory(Op::Sw, ZERO, FRAME, at));
            }
            for (value, at) in values.into_iter().zip((0..).step_by(4)) {
                code.memory(Op::Sw, value, FRONT, at);
            }
            let (text, slots) = write(&code, STATE + 4 * WORDS);
            assert_eq!(slots > 0, is_changed);
            let given = (0..WORDS).map(|word| (FRAME_AT + STATE + 4 * word, 1 + word));
            let mut processor = Processor::new(given.collect());
            assert_eq!(processor.run(&parsed(&text)), None);
            let stored = (0..WORDS).map(|word| processor.memory[&(FRONT_AT + 4 * word)]);
            assert!(stored.eq(1..=WORDS), "{text}");
        }
    }

    #[test]
    fn moves_are_the_loads_and_stores_of_spilled_values() {
        for seed in 0..200 {
            let mut random = RandomCode::new(seed, 80, false);
            random.code.clean();
            let code = &random.code;
            let (places, _) = places(&intervals(code), &context_words(code), &taken(code));
            let (loads, stores) = moves(code);
            let mut wanted = (loads + stores) as i64;
            let main = code.lines.iter().filter_map(|line| match line {
                (Line::Instruction(instruction), false) => Some(instruction),
                _ => None,
            });
            for instruction in main {
                wanted += i64::from(matches!(instruction.op, Op::Lw | Op::Sw));
                let Some(Register::Value(value)) = instruction.written() else { continue };
                let is_conditional = matches!(instruction.op, Op::Movn | Op::Movz);
                let is_read = instruction.read().contains(&Some(Register::Value(value)));
                match places[&value] {
                    // The line that loads such a value is not written, nor is a store.
                    Place::Context(_) => wanted -= 2,
                    // The register of the result is loaded as well as that of the operand.
                    Place::Slot(_) if is_read && !is_conditional => wanted += 1,
                    _ => {}
                }
            }
            let (text, _) = write(code, SPILLS);
            // Lines that stand apart come after the jump to the end.
            let main = text.split_once("j end\n").map_or("", |(main, _)| main);
            let is_move = |line: &&str| line.starts_with("lw ") || line.starts_with("sw ");
            let count = main.lines().map(str::trim).filter(is_move).count() as i64;
            assert_eq!(count, wanted, "{seed}\n{text}");
        }
    }
}
