//! Writes to SRAM for which a thread of version 2 waits together with a later command.
//!
//! ```text
//! alu[$0, --, B, v7]                      alu[$0, --, B, v7]
//! sram[write, $0, frame, 3, 1], ctx_swap  sram[write, $0, frame, 3, 1], sig_done[s5]
//! alu[$1, --, B, v8]                      alu[$1, --, B, v8]
//! sram[write, $1, table, v9, 1], ctx_swap sram[write, $1, table, v9, 1], ctx_swap[s5]
//! ```
//!
//! Each write has its own signal, since the two may be in different channels. Only computing
//! instructions that do not write the transfer registers of writes in flight are between them, so
//! no other thread is signalled meanwhile. A channel serves its commands in order, but the channel
//! of the first word serves a whole command. So commands with common words may pass each other
//! unless they begin with the same word. Where that is possible, the thread waits.

use super::elide_waits::{WAIT, instruction, transfer};
use super::hoist_reads::constant;

/// Signals of writes in flight. Threads signal each other by 4, 12 and 13, hoisted reads have 8 to
/// 11, and programs name the lowest signals.
const SIGNALS: [&str; 5] = ["s5", "s6", "s7", "s14", "s15"];

/// A write for which its thread need not wait yet: its line, its transfer registers as bits, and
/// its words.
struct Write {
    line: usize,
    registers: u32,
    words: Words,
}

/// Words of SRAM that a command reads or writes.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Words {
    /// The register with the address of a word, and the constant distance of the first word from
    /// it. `None` if the distance is unknown, or if one of the two has changed.
    base: Option<(String, u32)>,
    /// Whether they are in the thread's frame, which contains no table.
    is_frame: bool,
    count: u32,
}

impl Words {
    /// Returns whether a word may also belong to another command, in another channel.
    fn may_pass(&self, other: &Self) -> bool {
        if self.is_frame != other.is_frame || self.count == 1 && other.count == 1 {
            return false;
        }
        match (&self.base, &other.base) {
            (Some((base, first)), Some((other_base, other_first))) if base == other_base => {
                first != other_first
                    && *first < other_first + other.count
                    && *other_first < first + self.count
            }
            _ => true,
        }
    }
}

/// The effect of a line on writes in flight.
enum Effect<'a> {
    /// None, or a write to this register.
    Computes(&'a str),
    /// A command to a memory, which may take its words from these transfer registers.
    Command { words: Option<Words>, registers: u32, how: How },
    /// No write may be in flight.
    Ends,
}

/// The wait of a thread after a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum How {
    /// The thread waits, but need not.
    MayWait,
    Waits,
    GoesOn,
}

/// Delays the waits for writes to later commands.
pub fn merge_waits(text: &str) -> String {
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    let mut flight: Vec<Write> = Vec::new();
    let mut in_macro = false;
    for at in 0..lines.len() {
        in_macro = lines[at].starts_with("#macro") || in_macro && !lines[at].starts_with("#endm");
        let line = std::mem::take(&mut lines[at]);
        let effect = if in_macro { Effect::Ends } else { effect(&lines[..at], &line) };
        match effect {
            Effect::Computes(to) => {
                let register = transfer(to).map_or(0, |number| 1 << number);
                if flight.iter().any(|write| write.registers & register != 0) {
                    end(&mut lines, &mut flight);
                }
                for write in &mut flight {
                    write.words.base.take_if(|(base, _)| base == to);
                }
                lines[at] = line;
            }
            Effect::Command { words, registers, how } => {
                let passes = |write: &Write| {
                    words.as_ref().is_some_and(|words| words.may_pass(&write.words))
                };
                if flight.iter().any(passes) || how == How::MayWait && flight.len() == SIGNALS.len()
                {
                    end(&mut lines, &mut flight);
                }
                lines[at] = line;
                match (how, words) {
                    (How::MayWait, Some(words)) => {
                        flight.push(Write { line: at, registers, words })
                    }
                    (How::GoesOn, _) => {}
                    _ => wait(&mut lines, &mut flight, at),
                }
            }
            Effect::Ends => {
                end(&mut lines, &mut flight);
                lines[at] = line;
            }
        }
    }
    end(&mut lines, &mut flight);
    let mut out = lines.join("\n");
    out.push('\n');
    out
}

/// Makes the last write in flight wait for all.
fn end(lines: &mut [String], flight: &mut Vec<Write>) {
    if let Some(last) = flight.pop() {
        wait(lines, flight, last.line);
    }
}

/// Makes a command wait for all writes in flight.
fn wait(lines: &mut [String], flight: &mut Vec<Write>, at: usize) {
    let mut signals = Vec::new();
    for (write, signal) in flight.drain(..).zip(SIGNALS) {
        let line = &mut lines[write.line];
        line.truncate(line.len() - WAIT.len());
        line.push_str(&format!(", sig_done[{signal}]"));
        signals.push(signal);
    }
    if signals.is_empty() {
        return;
    }
    let line = &mut lines[at];
    let begin = line.rfind(WAIT).map_or(line.len(), |begin| begin + WAIT.len());
    let others = line[begin..].trim_matches(['[', ']']).to_owned();
    line.truncate(begin);
    let others = others.split(", ").filter(|other| !other.is_empty());
    let all: Vec<&str> = others.chain(signals).collect();
    line.push_str(&format!("[{}]", all.join(", ")));
}

fn effect<'a>(before: &[String], line: &'a str) -> Effect<'a> {
    let line = line.trim();
    if line.is_empty() || line.starts_with(';') || line == "nop" {
        return Effect::Computes("");
    }
    let Some((name, operands, tokens)) = instruction(line) else { return Effect::Ends };
    // Commands of the runtime name their signal and count bytes.
    let waits = tokens == WAIT || tokens.starts_with(", ctx_swap[s");
    match (name, &operands[..]) {
        ("sram", [what @ ("read" | "write"), first, base, place, count]) => {
            let (Some(first), Ok(count)) = (transfer(first), count.parse::<u32>()) else {
                return Effect::Ends;
            };
            let how = match *what {
                "write" if tokens == WAIT => How::MayWait,
                _ if waits => How::Waits,
                "read" if tokens.starts_with(", sig_done[s") => How::GoesOn,
                _ => return Effect::Ends,
            };
            let distance = constant(before, place);
            let words = Words {
                base: distance.map(|distance| ((*base).to_owned(), distance)),
                is_frame: *base == "frame",
                count,
            };
            Effect::Command { words: Some(words), registers: ((1 << count) - 1) << first, how }
        }
        ("scratch", ["read" | "write", _, _, _, _]) if waits => {
            Effect::Command { words: None, registers: 0, how: How::Waits }
        }
        (
            "alu" | "alu_shf" | "dbl_shf" | "immed" | "immed32" | "ld_field" | "ld_field_w_clr",
            [to, ..],
        ) => Effect::Computes(to),
        ("local_csr_wr", _) => Effect::Computes(""),
        _ => Effect::Ends,
    }
}

#[cfg(test)]
mod tests {
    use super::merge_waits;

    /// Returns how the writes and reads of a text wait.
    fn waits(text: &str) -> Vec<String> {
        let out = merge_waits(text);
        let commands =
            out.lines().filter(|line| line.contains("sram[") || line.contains("scratch["));
        commands.filter_map(|line| Some(line.split_once("], ")?.1.to_owned())).collect()
    }

    #[test]
    fn writes_wait_with_the_next_command() {
        let text = "alu[$0, --, B, x]\nsram[write, $0, frame, 3, 1], ctx_swap\nalu[$1, --, B, y]\n\
                    sram[write, $1, table, at, 2], ctx_swap\nnop\nsram[read, $0, frame, 9, 1], ctx_swap[s8]\n";
        assert_eq!(waits(text), ["sig_done[s5]", "sig_done[s6]", "ctx_swap[s8, s5, s6]"]);
        let scratch = text.replace(
            "sram[read, $0, frame, 9, 1], ctx_swap[s8]",
            "scratch[read, $0, x, 0, 1], ctx_swap",
        );
        assert_eq!(waits(&scratch), ["sig_done[s5]", "sig_done[s6]", "ctx_swap[s5, s6]"]);
    }

    #[test]
    fn the_last_write_waits_where_another_way_begins_or_its_registers_are_written() {
        let two =
            "sram[write, $0, frame, 3, 1], ctx_swap\nsram[write, $1, frame, 4, 1], ctx_swap\n";
        for next in [
            "l0_1#:",
            "br[l0_1#]",
            "rtn[back]",
            "alu[$0, --, B, z]",
            "alu[$1, --, B, z]",
            "pass_gate(a, b)",
            "scratch[test_and_set, $2, at, 0], ctx_swap[memory]",
            "local_csr_rd[active_ctx]",
            "#ifdef EMITS",
        ] {
            let text = format!("{two}{next}\nsram[read, $3, frame, 3, 1], ctx_swap\n");
            assert_eq!(waits(&text)[..2], ["sig_done[s5]", "ctx_swap[s5]"], "{next}");
        }
        let free = format!("{two}alu[$2, --, B, z]\nsram[read, $3, frame, 3, 1], ctx_swap\n");
        assert_eq!(waits(&free), ["sig_done[s5]", "sig_done[s6]", "ctx_swap[s5, s6]"]);
    }

    #[test]
    fn no_more_writes_are_in_flight_than_there_are_signals() {
        let write = |number| format!("sram[write, ${number}, frame, {number}, 1], ctx_swap\n");
        let text: String = (0..8).map(write).collect();
        assert_eq!(
            waits(&text)[4..],
            ["ctx_swap[s5, s6, s7, s14]", "sig_done[s5]", "sig_done[s6]", "ctx_swap[s5, s6]"]
        );
    }

    #[test]
    fn commands_on_words_that_may_be_in_different_channels_do_not_pass_each_other() {
        let is_merged = |first: &str, between: &str, second: &str| {
            let text = format!(
                "sram[write, $0, {first}], ctx_swap\n{between}sram[read, $3, {second}], ctx_swap\n"
            );
            waits(&text)[0].starts_with("sig_done")
        };
        for (first, between, second) in [
            ("entry, 4, 1", "", "entry, 6, 1"),
            ("entry, 4, 1", "", "other, at, 1"),
            ("entry, 4, 2", "", "entry, 6, 2"),
            ("entry, 4, 2", "", "entry, 4, 3"),
            ("entry, 4, 2", "", "frame, 5, 1"),
            ("frame, v1, 2", "immed32[v1, 0x20]\n", "table, at, 1"),
            ("frame, 24, 2", "immed32[v2, 0x20]\n", "frame, v2, 1"),
        ] {
            assert!(is_merged(first, between, second), "{first}, {between}{second}");
        }
        for (first, between, second) in [
            ("entry, 4, 2", "", "entry, 5, 1"),
            ("entry, 4, 2", "", "other, 4, 1"),
            ("entry, 4, 2", "alu[entry, --, B, next]\n", "entry, 8, 1"),
            ("entry, 4, 1", "", "entry, at, 2"),
            ("frame, 24, 2", "", "frame, at, 1"),
            ("frame, 24, 2", "immed32[v2, 0x19]\n", "frame, v2, 1"),
        ] {
            assert!(!is_merged(first, between, second), "{first}, {between}{second}");
        }
    }

    #[test]
    fn the_body_of_a_macro_is_left_alone() {
        let text = "#macro m()\nsram[write, $0, frame, 3, 1], ctx_swap\nsram[write, $1, frame, 4, 1], ctx_swap\n#endm\n";
        assert_eq!(merge_waits(text), text);
    }
}
