//! Hoists reads: a read begins together with an earlier read, so that the thread waits once for
//! both.
//!
//! ```text
//! sram[read, $0, frame, 24, 1], ctx_swap     sram[read, $1, frame, v9, 2]
//! alu[v7, --, B, $0]                         sram[read, $0, frame, 24, 1], ctx_swap
//! sram[read, $1, frame, v9, 2], ctx_swap     alu[v7, --, B, $0]
//! alu[v8, v7, +, $1]                         alu[v8, v7, +, $1]
//! ```
//!
//! A read moves to the nearest earlier read if both are always executed together, and if nothing
//! between them computes its address, writes words that it may read, or uses its transfer
//! registers. Selections may lie between them, since all their branches and labels are between the
//! two reads. On version 1 SRAM serves both in order, so waiting for the second is enough. On
//! version 2 they may be in different channels, so each has a signal and the thread waits for all
//! of them.

use std::collections::{BTreeMap, HashMap};
use std::ops::Range;

use super::elide_waits::{WAIT, instruction, transfer};

/// The number and the first of the signals of version 2 for hoisted reads. Programs and other
/// threads use lower signals.
const SIGNALS: usize = 4;
const FIRST_SIGNAL: usize = 8;

/// The way in which the wait for several reads is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Waits {
    /// By the order of SRAM.
    Ordered,
    /// By signals: `sig_done[s8]`, and `ctx_swap[s8]` of the last read.
    Signals,
}

/// A read of SRAM or of a thread's words of the scratchpad.
struct Read<'a> {
    unit: &'a str,
    first: u32,
    base: &'a str,
    place: &'a str,
    count: u32,
}

impl<'a> Read<'a> {
    fn of(line: &'a str) -> Option<Self> {
        let (name, operands, tokens) = instruction(line)?;
        match (name, &operands[..]) {
            ("sram", ["read", first, base, place, count])
            | ("scratch", ["read", first, base @ "near", place, count])
                if tokens.starts_with(WAIT) =>
            {
                Some(Self {
                    unit: name,
                    first: first.strip_prefix('$')?.parse().ok()?,
                    base,
                    place,
                    count: count.parse().ok()?,
                })
            }
            _ => None,
        }
    }

    fn transfers(&self) -> Range<u32> {
        self.first..self.first + self.count
    }
}

/// The target of a move.
struct Move {
    /// The line of the read before which the read begins.
    to: usize,
    /// The line that puts the address into a register. It moves too.
    address: Option<usize>,
}

/// Hoists reads.
pub fn hoist_reads(text: &str, waits: Waits) -> String {
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    let mut sources: HashMap<String, usize> = HashMap::new();
    for (name, operands, _) in lines.iter().filter_map(|line| instruction(line)) {
        if let (true, Some(to)) = (name.starts_with("br"), operands.last()) {
            *sources.entry((*to).to_owned()).or_default() += 1;
        }
    }
    // The number of reads that begin with a read, by the line of that read. The line moves down
    // with each of them.
    let mut begun: BTreeMap<usize, usize> = BTreeMap::new();
    for at in 0..lines.len() {
        let found = found(&lines, at, &sources);
        let Some(Move { to, address }) = found else { continue };
        let number = begun.remove(&to).unwrap_or_default();
        if number == SIGNALS {
            begun.insert(to, number);
            continue;
        }
        let read = lines.remove(at);
        let read = read.trim_end().strip_suffix(WAIT).unwrap_or(&read).to_owned();
        let read = match waits {
            Waits::Ordered => read,
            Waits::Signals => format!("{read}, sig_done[s{}]", FIRST_SIGNAL + number),
        };
        if waits == Waits::Signals {
            let all: Vec<String> =
                (0..=number).map(|number| format!("s{}", FIRST_SIGNAL + number)).collect();
            let end = lines[to].find(WAIT).unwrap_or(lines[to].len());
            lines[to].truncate(end);
            lines[to].push_str(&format!("{WAIT}[{}]", all.join(", ")));
        }
        let address = address.map(|address| lines.remove(address));
        let more = 1 + usize::from(address.is_some());
        lines.splice(to..to, address.into_iter().chain([read]));
        // Reads of the other unit that the read has passed.
        let passed = begun.split_off(&to);
        begun.extend(passed.into_iter().map(|(line, number)| (line + more, number)));
        begun.insert(to + more, number + 1);
    }
    let mut out = lines.join("\n");
    out.push('\n');
    out
}

/// Returns the target of the read on a line, if the line is a read that can move.
fn found(lines: &[String], at: usize, sources: &HashMap<String, usize>) -> Option<Move> {
    let read = Read::of(&lines[at])?;
    let mut word = number(read.place);
    let mut address = None;
    // Labels between the reads whose branches have not been seen yet.
    let mut open: HashMap<&str, usize> = HashMap::new();
    let mut is_same_block = true;
    let own = read.transfers();
    for to in (0..at).rev() {
        let line = lines[to].trim();
        if line.is_empty() || line.starts_with(';') {
            continue;
        }
        if let Some(label) = line.strip_suffix(':') {
            open.insert(label, *sources.get(label)?);
            is_same_block = false;
            continue;
        }
        if line.starts_with(['.', '#']) {
            return None;
        }
        let (name, operands, tokens) = instruction(line)?;
        if name.starts_with("br") {
            let branches = open.get_mut(operands.last()?)?;
            *branches = branches.checked_sub(1)?;
            is_same_block = false;
            continue;
        }
        if let Some(other) = Read::of(line) {
            let is_apart = other.transfers().end <= own.start || own.end <= other.first;
            let is_whole = open.values().all(|branches| *branches == 0);
            if is_apart && other.unit != read.unit {
                // The command waits for its own unit.
                continue;
            }
            return (is_apart && is_whole).then_some(Move { to, address });
        }
        match (name, &operands[..]) {
            ("sram", ["write", _, base @ "frame", other, count])
            | ("scratch", ["write", _, base @ "near", other, count])
                if tokens == WAIT =>
            {
                if read.base != *base {
                    continue;
                }
                let (first, other) = (word?, constant(&lines[..to], other)?);
                let count: u32 = count.parse().ok()?;
                if first < other + count && other < first + read.count {
                    return None;
                }
            }
            ("alu" | "alu_shf" | "dbl_shf" | "ld_field_w_clr" | "immed32" | "immed" | "nop", _) => {
                let (target, operands) = operands.split_first()?;
                let mut used = operands.iter().filter_map(|operand| transfer(operand));
                if used.any(|used| own.contains(&used)) || *target == read.base {
                    return None;
                }
                if *target == read.place {
                    // A constant moves together with its read.
                    if name != "immed32" || !is_same_block || address.is_some() {
                        return None;
                    }
                    word = number(operands.first()?);
                    address = Some(to);
                }
            }
            _ => return None,
        }
    }
    None
}

/// Returns the constant that an operand has after the last of these lines: a number, or a register
/// that got it after the last label or branch.
pub(super) fn constant(lines: &[String], operand: &str) -> Option<u32> {
    let own = number(operand);
    if own.is_some() {
        return own;
    }
    for line in lines.iter().rev() {
        let line = line.trim();
        if line.ends_with("#:") {
            return None;
        }
        let Some((name, operands, _)) = instruction(line) else { continue };
        if name.starts_with("br") {
            return None;
        }
        if operands.first() == Some(&operand) {
            return (name == "immed32").then(|| number(operands.get(1)?)).flatten();
        }
    }
    None
}

pub(super) fn number(text: &str) -> Option<u32> {
    match text.strip_prefix("0x") {
        Some(digits) => u32::from_str_radix(digits, 16).ok(),
        None => text.parse().ok(),
    }
}

#[cfg(test)]
mod tests {
    use super::{Waits, hoist_reads};

    /// Returns the trimmed lines of a text after reads have moved.
    fn moved(text: &str, waits: Waits) -> Vec<String> {
        hoist_reads(text, waits).lines().map(str::to_owned).collect()
    }

    const TWO: &str = "sram[read, $0, frame, 24, 1], ctx_swap\n\
                       br_bclr[x, 0, l0#]\nalu[x, --, B, y]\nl0#:\n\
                       sram[write, $0, frame, 30, 2], ctx_swap\n\
                       immed32[v9, 0x150]\nsram[read, $1, frame, v9, 2], ctx_swap\n\
                       alu[v8, v7, +, $1]\n";

    #[test]
    fn a_read_begins_with_the_one_before_it_with_its_address() {
        let out = moved(TWO, Waits::Ordered);
        let first = ["immed32[v9, 0x150]", "sram[read, $1, frame, v9, 2]"];
        assert_eq!(out[..2], first);
        assert_eq!(out[2], "sram[read, $0, frame, 24, 1], ctx_swap");
        assert_eq!(out.last().map(String::as_str), Some("alu[v8, v7, +, $1]"));
        let out = moved(TWO, Waits::Signals);
        assert_eq!(out[1], "sram[read, $1, frame, v9, 2], sig_done[s8]");
        assert_eq!(out[2], "sram[read, $0, frame, 24, 1], ctx_swap[s8]");
    }

    #[test]
    fn several_reads_begin_together() {
        let text = "sram[read, $0, frame, 3, 1], ctx_swap\nalu[a, --, B, $0]\n\
                    sram[read, $1, frame, 5, 1], ctx_swap\nalu[b, --, B, $1]\n\
                    sram[read, $2, table, c, 1], ctx_swap\nalu[d, --, B, $2]\n";
        let out = moved(text, Waits::Signals);
        assert_eq!(
            out[..3],
            [
                "sram[read, $1, frame, 5, 1], sig_done[s8]",
                "sram[read, $2, table, c, 1], sig_done[s9]",
                "sram[read, $0, frame, 3, 1], ctx_swap[s8, s9]",
            ]
        );
    }

    #[test]
    fn a_read_passes_one_of_the_other_unit() {
        let text = "scratch[read, $0, near, 3, 1], ctx_swap\nalu[a, --, B, $0]\n\
                    sram[read, $1, frame, a, 2], ctx_swap\nalu[b, --, B, $1]\n\
                    scratch[write, $5, near, 9, 1], ctx_swap\n\
                    scratch[read, $3, near, 8, 1], ctx_swap\nalu[d, --, B, $3]\n";
        let out = moved(text, Waits::Ordered);
        let first = ["scratch[read, $3, near, 8, 1]", "scratch[read, $0, near, 3, 1], ctx_swap"];
        assert_eq!(out[..2], first);
        for (from, to) in [
            // The other unit writes the same transfer register, and the same words are written
            // before.
            ("sram[read, $1, frame", "sram[read, $2, frame"),
            ("near, 9, 1", "near, 8, 1"),
            // Threads share these words of the scratchpad.
            ("scratch[write, $5, near, 9, 1]", "scratch[write, $5, turn, 9, 1]"),
        ] {
            let text = text.replace(from, to);
            assert_eq!(moved(&text, Waits::Ordered), moved(&text, Waits::Signals), "{from}");
            assert!(text.contains(&moved(&text, Waits::Ordered)[..].join("\n")), "{from}");
        }
    }

    #[test]
    fn what_a_read_depends_on_keeps_it_where_it_is() {
        for (from, to) in [
            // The address, the transfer registers, and the words that it reads.
            ("alu[x, --, B, y]", "alu[frame, --, B, y]"),
            ("alu[x, --, B, y]", "alu[x, --, B, $2]"),
            ("$1, frame, v9, 2", "$0, frame, v9, 2"),
            ("immed32[v9, 0x150]", "alu[v9, x, +, y]"),
            ("frame, 30, 2", "frame, v3, 2"),
            ("frame, 30, 2", "table, 30, 2"),
            ("immed32[v9, 0x150]", "immed32[v9, 0x1f]"),
            ("immed32[v9, 0x150]", "immed32[v9, 0x1d]"),
            // Other commands, labels and branches out.
            ("alu[x, --, B, y]", "scratch[read, $4, x, 0, 1], ctx_swap"),
            ("alu[x, --, B, y]", "br[end#]"),
            ("alu[x, --, B, y]", "rtn[back]"),
            ("alu[x, --, B, y]", "other#:"),
            ("alu[v8, v7, +, $1]", "br=0[l0#]"),
            ("immed32[v9, 0x150]", "immed32[v9, 0x150]\nbr=0[l1#]\nl1#:"),
            ("ctx_swap\nbr_bclr", "ctx_swap\n    .begin\nbr_bclr"),
        ] {
            let text = TWO.replacen(from, to, 1);
            assert_ne!(text, TWO, "{from}");
            assert_eq!(hoist_reads(&text, Waits::Ordered), text, "{to}");
        }
    }
}
