//! Writes to SRAM, and to a thread's words of the scratchpad, for which a thread of version 1 does
//! not wait.
//!
//! ```text
//! alu[$0, --, B, v7]                      alu[$0, --, B, v7]
//! sram[write, $0, frame, 3, 1], ctx_swap  sram[write, $0, frame, 3, 1]
//! alu[$1, --, B, v8]                      alu[$1, --, B, v8]
//! sram[write, $1, frame, 4, 1], ctx_swap  sram[write, $1, frame, 4, 1], ctx_swap
//! ```
//!
//! A unit serves commands without a token in the order in which an engine issues them, so the next
//! command for which the thread waits ends after all earlier ones. Until then no instruction may
//! write the transfer registers of a posted write. Where one would, the last write before it on
//! each path waits. Only the thread itself reads its frame, and its reads are in the same queue.
//! Other threads read the tables that it writes, but only after it has passed them its turn, and a
//! thread waits before it returns from the routine that passes the turn.

use std::collections::{BTreeMap, BTreeSet, HashMap};

/// The effect of a line on writes in flight.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Effect {
    /// None.
    None,
    /// It writes these write transfer registers of SRAM, as bits.
    Sets(u32),
    /// It writes words to the unit from these registers, and waits.
    Writes(u32),
    /// It waits for the unit.
    Waits,
    /// Unknown: no write may be in flight.
    Unknown,
}

/// A write in flight: its line and its transfer registers.
type Write = (usize, u32);

/// The writes that may be in flight, and the writes that may be the last one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Flight {
    all: BTreeSet<Write>,
    last: BTreeSet<usize>,
}

/// Removes the waits of writes that need none.
pub fn elide_waits(text: &str) -> String {
    posted_to("scratch", &posted_to("sram", text))
}

/// Does so for the writes to one unit.
fn posted_to(unit: &str, text: &str) -> String {
    let lines: Vec<&str> = text.lines().collect();
    let effects = effects(unit, &lines);
    let waits = waiting(&lines, &effects);
    let mut out = String::with_capacity(text.len());
    for (number, line) in lines.iter().enumerate() {
        let is_posted = matches!(effects[number], Effect::Writes(_)) && !waits.contains(&number);
        out.push_str(if is_posted { line.strip_suffix(WAIT).unwrap_or(line) } else { line });
        out.push('\n');
    }
    out
}

/// The token of a command of version 1 for which the thread waits.
pub(super) const WAIT: &str = ", ctx_swap";

/// The lines with writes that wait.
fn waiting(lines: &[&str], effects: &[Effect]) -> BTreeSet<usize> {
    let next = successors(lines);
    let blocks = blocks(lines, &next);
    let mut waits = BTreeSet::new();
    // Another wait leaves fewer writes in flight, so it is never the reason for a further wait.
    loop {
        let before = flights(effects, &next, &waits);
        let mut more = BTreeSet::new();
        // A wait for one line of a block leaves fewer writes in flight for the lines after it.
        let mut block_done = None;
        for (number, flight) in &before {
            let block = blocks[*number];
            if block_done == Some(block) {
                continue;
            }
            let taken = match effects[*number] {
                Effect::Sets(registers) => registers,
                Effect::Unknown => u32::MAX,
                _ => 0,
            };
            let meets = flight.all.iter().any(|(_, registers)| registers & taken != 0);
            if meets || next[*number].is_none() && !flight.all.is_empty() {
                block_done = Some(block);
                more.extend(&flight.last);
            }
        }
        let leaves = |number: &usize| {
            next[*number].is_none() && matches!(effects[*number], Effect::Writes(_))
        };
        more.extend((0..lines.len()).filter(|at| leaves(at) && !waits.contains(at)));
        if more.is_empty() {
            return waits;
        }
        waits.extend(more);
    }
}

/// Returns the number of the block of each line. The lines of a block are executed together.
fn blocks(lines: &[&str], next: &[Option<Vec<usize>>]) -> Vec<usize> {
    let mut block = 0;
    let number = |(at, line): (usize, &&str)| {
        let goes_on = |before: usize| matches!(&next[before], Some(to) if to[..] == [at]);
        if line.trim().ends_with(':') || !at.checked_sub(1).is_some_and(goes_on) {
            block += 1;
        }
        block
    };
    lines.iter().enumerate().map(number).collect()
}

/// Returns the writes that may be in flight before each line that is reached.
fn flights(
    effects: &[Effect],
    next: &[Option<Vec<usize>>],
    waits: &BTreeSet<usize>,
) -> BTreeMap<usize, Flight> {
    // Before a jump to an address in a register, nothing is in flight.
    let mut before: BTreeMap<usize, Flight> = BTreeMap::new();
    let mut work: BTreeSet<usize> = (0..effects.len()).collect();
    while let Some(number) = work.pop_first() {
        let mut flight = before.get(&number).cloned().unwrap_or_default();
        match effects[number] {
            Effect::Writes(registers) if !waits.contains(&number) => {
                flight.all.insert((number, registers));
                flight.last = [number].into();
            }
            Effect::Writes(_) | Effect::Waits => flight = Flight::default(),
            Effect::None | Effect::Sets(_) | Effect::Unknown => {}
        }
        for to in next[number].iter().flatten() {
            let known = before.entry(*to).or_default();
            let (all, last) = (known.all.len(), known.last.len());
            known.all.extend(&flight.all);
            known.last.extend(&flight.last);
            if (all, last) != (known.all.len(), known.last.len()) {
                work.insert(*to);
            }
        }
    }
    before
}

/// Splits an instruction into its name, its operands, and the rest.
pub(super) fn instruction(line: &str) -> Option<(&str, Vec<&str>, &str)> {
    let (name, rest) = line.trim().split_once('[')?;
    let (operands, rest) = rest.split_once(']')?;
    Some((name, operands.split(',').map(str::trim).collect(), rest))
}

/// The number of a write transfer register of SRAM.
pub(super) fn transfer(operand: &str) -> Option<u32> {
    operand.strip_prefix('$')?.parse().ok().filter(|number| *number < 32)
}

/// Returns the effects of all lines. The body of a macro has none, since it is not executed there.
fn effects(unit: &str, lines: &[&str]) -> Vec<Effect> {
    let mut in_macro = false;
    let effect = |line: &&str| {
        in_macro = line.starts_with("#macro") || in_macro && !line.starts_with("#endm");
        if in_macro { Effect::None } else { effect(unit, line) }
    };
    lines.iter().map(effect).collect()
}

/// Returns the effect of a line on writes to a unit. All other words of the scratchpad than the
/// thread's own are waited for.
fn effect(unit: &str, line: &str) -> Effect {
    let line = line.trim();
    if line.is_empty() || line.starts_with([';', '.', '#']) || line.ends_with("#:") {
        return Effect::None;
    }
    // Operands in local memory contain `[`. They belong to version 2.
    let Some((name, operands, tokens)) = instruction(line) else { return Effect::Unknown };
    match (name, &operands[..]) {
        ("sram" | "scratch", _) if name != unit => Effect::None,
        ("sram", ["write" | "write_unlock", first, _, _, count])
        | ("scratch", ["write", first, "near", _, count])
            if tokens == WAIT =>
        {
            match (transfer(first), count.parse::<u32>()) {
                (Some(first), Ok(count)) if count <= 8 => {
                    Effect::Writes(((1 << count) - 1) << first)
                }
                _ => Effect::Waits,
            }
        }
        _ if name == unit && tokens == WAIT => Effect::Waits,
        // The read begins with a later read, which waits.
        ("sram" | "scratch", ["read", ..]) if tokens.is_empty() => Effect::None,
        ("sram", _) => Effect::Unknown,
        ("sdram" | "scratch" | "r_fifo_rd" | "t_fifo_wr" | "csr" | "cap" | "fast_wr", _) => {
            Effect::None
        }
        ("jump" | "rtn" | "local_csr_rd" | "local_csr_wr" | "ctx_arb" | "nop", _) => Effect::None,
        _ if ["hash1_", "br", "mul_"].iter().any(|start| name.starts_with(start)) => Effect::None,
        (
            "alu" | "alu_shf" | "dbl_shf" | "immed" | "immed32" | "load_addr" | "ld_field"
            | "ld_field_w_clr" | "find_bset" | "load_bset_result1",
            [to, ..],
        ) => match transfer(to) {
            Some(number) => Effect::Sets(1 << number),
            None => Effect::None,
        },
        _ => Effect::Unknown,
    }
}

/// Returns the lines that may follow each line; `None` if the line leaves the text or jumps to an
/// address in a register.
fn successors(lines: &[&str]) -> Vec<Option<Vec<usize>>> {
    let mut labels: HashMap<&str, Vec<usize>> = HashMap::new();
    for (number, line) in lines.iter().enumerate() {
        if let Some(label) = line.trim().strip_suffix(':') {
            labels.entry(label).or_default().push(number);
        }
    }
    let mut next: Vec<Option<Vec<usize>>> = (0..lines.len()).map(|at| Some(vec![at + 1])).collect();
    if let Some(last) = next.last_mut() {
        *last = None;
    }
    let mut in_macro = None;
    // The beginnings of open conditional parts of the text.
    let mut open: Vec<usize> = Vec::new();
    for (number, line) in lines.iter().enumerate() {
        let line = line.trim();
        // The body of a macro is not executed here.
        if line.starts_with("#macro") {
            in_macro = Some(number);
        }
        if let Some(start) = in_macro {
            if line == "#endm" {
                next[start] = Some(vec![number]);
                in_macro = None;
            } else {
                next[number] = Some(Vec::new());
            }
            continue;
        }
        // Either branch of the condition may be in the program.
        if line.starts_with("#if") {
            open.push(number);
        } else if line == "#else" || line == "#endif" {
            if let Some(start) = open.pop() {
                match lines[start].trim() {
                    "#else" => next[start] = Some(vec![number]),
                    _ => next[start].iter_mut().for_each(|next| next.push(number + 1)),
                }
            }
            if line == "#else" {
                open.push(number);
            }
        }
        let Some((name, operands, _)) = instruction(line) else { continue };
        match name {
            "jump" | "rtn" => next[number] = None,
            _ if name.starts_with("br") => {
                let to = operands.last().and_then(|to| labels.get(to));
                match (to, &mut next[number]) {
                    (Some(to), Some(next)) => {
                        if name == "br" {
                            next.clear();
                        }
                        next.extend(to);
                    }
                    _ => next[number] = None,
                }
            }
            _ => {}
        }
    }
    let end = lines.len();
    for next in next.iter_mut().flatten() {
        next.retain(|to| *to < end);
    }
    next
}

#[cfg(test)]
mod tests {
    use super::elide_waits;

    fn waits(text: &str) -> Vec<&'static str> {
        let is_write = |line: &&str| line.trim().starts_with("sram[write");
        let out = elide_waits(text);
        let how = |line: &str| if line.ends_with("ctx_swap") { "waits" } else { "posted" };
        out.lines().filter(is_write).map(how).collect()
    }

    #[test]
    fn the_last_write_before_its_registers_are_written_waits() {
        let text = "alu[$0, --, B, x]\nsram[write, $0, frame, 3, 1], ctx_swap\n\
                    alu[$1, --, B, y]\nsram[write, $1, frame, 4, 1], ctx_swap\n\
                    alu[$0, --, B, z]\nsram[write, $0, frame, 5, 1], ctx_swap\n\
                    sram[read, $0, frame, 3, 1], ctx_swap\nbr[out#]\n";
        assert_eq!(waits(text), ["posted", "waits", "posted"]);
    }

    #[test]
    fn a_write_on_one_of_two_ways_waits_for_what_follows_both() {
        let text = "br_bclr[x, 0, skip#]\nsram[write, $0, frame, 3, 2], ctx_swap\nskip#:\n\
                    alu[$1, --, B, y]\nsram[write, $1, table, at, 1], ctx_swap\nrtn[back]\n";
        assert_eq!(waits(text), ["waits", "waits"]);
        let other = text.replace("alu[$1, ", "alu[$2, ");
        assert_eq!(waits(&other), ["posted", "waits"]);
    }

    #[test]
    fn of_many_writes_only_those_wait_whose_registers_are_wanted_next() {
        let write = |number| {
            let transfer = number % 8;
            format!(
                "alu[${transfer}, --, B, x]\nsram[write, ${transfer}, table, {number}, 1], ctx_swap\n"
            )
        };
        let text: String = (0..24).map(write).collect();
        let out = waits(&(text + "sram[read, $0, frame, 3, 1], ctx_swap\nbr[out#]\n"));
        let found: Vec<usize> = (0..24).filter(|number| out[*number] == "waits").collect();
        assert_eq!(found, [7, 15]);
    }

    #[test]
    fn a_loop_waits_for_the_write_of_the_round_before() {
        let text = "again#:\nalu[$0, --, B, x]\nsram[write, $0, frame, at, 1], ctx_swap\n\
                    br!=0[again#]\nsram[read, $0, frame, 0, 1], ctx_swap\nnop\n";
        assert_eq!(waits(text), ["waits"]);
        let covered = text.replace("again#:\n", "again#:\nsram[read, $0, frame, 1, 1], ctx_swap\n");
        assert_eq!(waits(&covered), ["posted"]);
    }

    #[test]
    fn nothing_is_in_flight_where_the_way_is_unknown() {
        for end in ["rtn[back]", "jump[entry, entries#]", "br[elsewhere#]", "some(macro)"] {
            let text = format!("sram[write, $0, frame, 3, 1], ctx_swap\n{end}\n");
            assert_eq!(waits(&text), ["waits"], "{end}");
        }
    }

    #[test]
    fn a_wait_in_a_conditional_part_of_the_text_may_be_missing() {
        let text = "sram[write, $0, frame, 3, 1], ctx_swap\n#ifdef EMITS\n\
                    sram[read, $0, frame, 1, 1], ctx_swap\n#endif\nalu[$0, --, B, x]\n\
                    sram[read, $0, frame, 1, 1], ctx_swap\nnop\n";
        assert_eq!(waits(text), ["waits"]);
        let both = text.replace("#endif", "#else\nsram[read, $0, frame, 2, 1], ctx_swap\n#endif");
        assert_eq!(waits(&both), ["posted"]);
    }

    #[test]
    fn the_units_have_writes_in_flight_by_themselves() {
        let both = "alu[$0, --, B, x]\nscratch[write, $0, near, 3, 1], ctx_swap\n\
                    sram[read, $0, frame, 9, 1], ctx_swap\nalu[$0, --, B, y]\n\
                    scratch[read, $1, near, 4, 1], ctx_swap\nbr[out#]\n";
        // Waiting for SRAM does not wait for the scratchpad.
        let out = elide_waits(both);
        assert!(out.contains("scratch[write, $0, near, 3, 1], ctx_swap"), "{out}");
        let other = both.replace("alu[$0, --, B, y]", "alu[$1, --, B, y]");
        let out = elide_waits(&other);
        assert!(out.contains("scratch[write, $0, near, 3, 1]\n"), "{out}");
        // Writes to other words of the scratchpad are waited for.
        let shared = other.replace("near, 3", "turn, 3");
        assert_eq!(elide_waits(&shared), shared);
    }

    #[test]
    fn the_body_of_a_macro_is_left_alone() {
        let text = "#macro m()\nsram[write, $0, frame, 3, 1], ctx_swap\n#endm\n\
                    sram[write, $0, frame, 3, 1], ctx_swap\nsram[read, $0, frame, 1, 1], ctx_swap\nnop\n";
        assert_eq!(waits(text), ["waits", "posted"]);
    }
}
