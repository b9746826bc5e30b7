//! The text of a program for microengines of version 2.
//!
//! Programs are written with the commands of version 1, whose addresses count words or quad words. On
//! version 2 addresses count bytes, and every command names its signal:
//!
//! ```text
//! sram[read, $0, frame, place, 6], ctx_swap
//!
//! alu[byte_at, frame, +, place]
//! alu_shf[byte_at, --, B, byte_at, <<2]
//! sram[read, $0, byte_at, 0, 6], ctx_swap[memory]
//! ```
//!
//! Version 2 has no locks of SRAM: a word of the scratchpad has a lock for each remainder of an
//! element's number by 32.

use std::fmt::Write as _;

use super::SCRATCHPAD;

/// The byte of the scratchpad with the locks of counters. The word before it counts elements of TBUF, those
/// before that are for turns: `thread.uc`.
pub const LOCKS: u32 = SCRATCHPAD - 4;
/// Words for turns, one for each thread that a chip can have.
pub const TURNS: u32 = 128;

/// Writes a text for version 2.
pub fn translated(text: &str) -> String {
    let mut out = String::with_capacity(2 * text.len());
    let mut locks = 0;
    for line in text.lines() {
        let command = line.trim_start();
        if let Some(read) = read_early(command) {
            out.push_str(&read);
            continue;
        }
        let Some(inside) = command.strip_suffix(", ctx_swap").and_then(|c| c.strip_suffix(']'))
        else {
            out.push_str(line);
            out.push('\n');
            continue;
        };
        let (unit, operands) = inside.split_once('[').unwrap_or((inside, ""));
        let operands: Vec<&str> = operands.split(", ").collect();
        match (unit, &operands[..]) {
            ("sram", ["read_lock", to, a, b, count]) => {
                locks += 1;
                let _ = write!(
                    out,
                    "{}lock{locks}#:\n{}    alu[--, lock_bit, AND, $12]\n    br!=0[lock{locks}#]\n{}",
                    lock(a, b),
                    locked("test_and_set"),
                    memory("sram", &["read", to, "byte_at", "0", count], 2),
                );
                out.push_str("    .end\n");
            }
            ("sram", ["write_unlock", from, a, b, count]) => {
                let _ = writeln!(
                    out,
                    "{}{}{}    .end",
                    lock(a, b),
                    memory("sram", &["write", from, "byte_at", "0", count], 2),
                    locked("clr"),
                );
            }
            ("sram", ["bit_wr", from, a, b, "set_bits"]) => {
                let words = address(a, b, 2);
                let _ = write!(
                    out,
                    "    .begin\n    .reg byte_at\n{words}    sram[set, {from}, byte_at, 0], \
                     ctx_swap[memory]\n    .end\n"
                );
            }
            ("sram" | "scratch", [what, transfer, a, b, count]) => {
                out.push_str("    .begin\n    .reg byte_at\n");
                out.push_str(&address(a, b, 2));
                let _ = writeln!(
                    out,
                    "    {unit}[{what}, {transfer}, byte_at, 0, {count}], ctx_swap[memory]\n    .end"
                );
            }
            ("sdram", [what, transfer, a, b, count]) => {
                out.push_str("    .begin\n    .reg byte_at\n");
                out.push_str(&address(a, b, 3));
                let _ = writeln!(
                    out,
                    "    dram[{what}, {transfer}, byte_at, 0, {count}], ctx_swap[memory]\n    .end"
                );
            }
            // The time of arrival came with the status of the MPKT, and is in the frame.
            ("r_fifo_rd", _) => {
                let at = super::frame::ARRIVAL.to_string();
                let _ = write!(
                    out,
                    "    .begin\n    .reg byte_at\n    immed[byte_at, {at}]\n    alu[byte_at, frame, +, byte_at]\n{}    \
                     .end\n",
                    memory("sram", &["read", "$0", "byte_at", "0", "2"], 2)
                );
            }
            ("csr", [what, transfer, register]) => {
                let _ = writeln!(out, "    cap[{what}, {transfer}, {register}], ctx_swap[memory]");
            }
            _ => {
                let _ = writeln!(out, "    {inside}], ctx_swap[memory]");
            }
        }
    }
    out
}

/// A read that begins early, or that ends together with such ones ([`early`](super::early)).
fn read_early(command: &str) -> Option<String> {
    let operands = command.strip_prefix("sram[read, ")?;
    let (operands, tokens) = operands.split_once("], ")?;
    let (own, then) = match tokens.strip_prefix("ctx_swap[s") {
        Some(signals) => {
            let signals = signals.strip_suffix(']')?;
            ("sig_done[memory]", format!("    ctx_arb[memory, s{signals}]\n"))
        }
        None => (tokens.starts_with("sig_done[s").then_some(tokens)?, String::new()),
    };
    let [to, a, b, count] = operands.split(", ").collect::<Vec<_>>()[..] else { return None };
    let words = address(a, b, 2);
    Some(format!(
        "    .begin\n    .reg byte_at\n{words}    sram[read, {to}, byte_at, 0, {count}], {own}\n    \
         .end\n{then}"
    ))
}

/// The byte address `byte_at` of a sum of two operands that count words or quad words.
fn address(a: &str, b: &str, shift: u32) -> String {
    match b {
        "0" => format!("    alu_shf[byte_at, --, B, {a}, <<{shift}]\n"),
        _ => format!(
            "    alu[byte_at, {a}, +, {b}]\n    alu_shf[byte_at, --, B, byte_at, <<{shift}]\n"
        ),
    }
}

/// A command at the address `byte_at`, which still counts granules.
fn memory(unit: &str, operands: &[&str], shift: u32) -> String {
    format!(
        "    alu_shf[byte_at, --, B, byte_at, <<{shift}]\n    {unit}[{}], ctx_swap[memory]\n",
        operands.join(", ")
    )
}

/// Begins a scope with the word `byte_at` of a counter and the bit of its lock.
fn lock(a: &str, b: &str) -> String {
    format!(
        "    .begin\n    .reg byte_at lock_bit lock_word\n    alu[byte_at, {a}, +, {b}]\n    \
         alu_shf[lock_bit, --, B, byte_at, >>2]\n    alu[--, lock_bit, OR, 0]\n    \
         alu_shf[lock_bit, --, B, 1, <<indirect]\n    immed[lock_word, {LOCKS}]\n"
    )
}

/// Changes the bit of a lock.
fn locked(how: &str) -> String {
    format!(
        "    alu[$12, --, B, lock_bit]\n    scratch[{how}, $12, lock_word, 0], ctx_swap[memory]\n"
    )
}

#[cfg(test)]
mod tests {
    use super::translated;

    #[test]
    fn addresses_become_bytes_and_commands_name_their_signal() {
        let text = "    sdram[write, $$0, place, 0, 4], ctx_swap\n    alu[x, --, B, y]\n";
        let expected = "    .begin\n    .reg byte_at\n    alu_shf[byte_at, --, B, place, <<3]\n    \
                        dram[write, $$0, byte_at, 0, 4], ctx_swap[memory]\n    .end\n    \
                        alu[x, --, B, y]\n";
        assert_eq!(translated(text), expected);
        let csr = "    csr[write, $0, hash_multiplier_48_lo], ctx_swap\n";
        assert_eq!(
            translated(csr),
            "    cap[write, $0, hash_multiplier_48_lo], ctx_swap[memory]\n"
        );
        assert_eq!(
            translated("    hash1_64[$0], ctx_swap\n"),
            "    hash1_64[$0], ctx_swap[memory]\n"
        );
    }

    #[test]
    fn reads_that_begin_together_have_their_signals() {
        let text = "    sram[read, $1, frame, 5, 1], sig_done[s8]\n    \
                    sram[read, $0, table, 0, 1], ctx_swap[s8]\n";
        let expected = "    .begin\n    .reg byte_at\n    alu[byte_at, frame, +, 5]\n    \
                        alu_shf[byte_at, --, B, byte_at, <<2]\n    \
                        sram[read, $1, byte_at, 0, 1], sig_done[s8]\n    .end\n    \
                        .begin\n    .reg byte_at\n    alu_shf[byte_at, --, B, table, <<2]\n    \
                        sram[read, $0, byte_at, 0, 1], sig_done[memory]\n    .end\n    \
                        ctx_arb[memory, s8]\n";
        assert_eq!(translated(text), expected);
    }

    #[test]
    fn a_counter_is_locked_while_it_changes() {
        let text = "    sram[read_lock, $0, base, at7, 4], ctx_swap\n";
        let out = translated(text);
        let order =
            ["alu[byte_at, base, +, at7]", "test_and_set", "br!=0[lock1#]", "sram[read, $0"];
        let places: Vec<_> =
            order.iter().map(|what| out.find(what).expect("it is there")).collect();
        assert!(places.is_sorted(), "{out}");
    }
}
