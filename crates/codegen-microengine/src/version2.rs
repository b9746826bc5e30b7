//! The text of a program for microengines of version 2.
//!
//! Programs are written with the commands of version 1, whose addresses count words or quad words.
//! On version 2 addresses count bytes, and every command names its signal:
//!
//! ```text
//! sram[read, $0, frame, place, 6], ctx_swap
//!
//! alu[byte_at, frame, +, place]
//! alu_shf[byte_at, --, B, byte_at, <<2]
//! sram[read, $0, byte_at, 0, 6], ctx_swap[memory]
//! ```
//!
//! Version 2 has no locks of SRAM, but its memories can add.

use std::fmt::Write as _;

/// Writes a text for version 2.
pub fn translated(text: &str) -> String {
    let mut out = String::with_capacity(2 * text.len());
    for line in text.lines() {
        let command = line.trim_start();
        if let Some(text) = with_signals(command).or_else(|| addition(command)) {
            out.push_str(&text);
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

/// Translates a read that begins early, a write that ends late, or a command that ends together
/// with such commands ([`hoist_reads`](super::hoist_reads), [`merge_waits`](super::merge_waits)).
fn with_signals(command: &str) -> Option<String> {
    let (unit, rest) = command.split_once('[')?;
    let (operands, tokens) = rest.split_once("], ")?;
    let waits = tokens.starts_with("ctx_swap[s");
    if !(unit == "sram" || unit == "scratch" && waits) {
        return None;
    }
    let (own, then) = signals(tokens)?;
    let [what @ ("read" | "write"), to, a, b, count] = operands.split(", ").collect::<Vec<_>>()[..]
    else {
        return None;
    };
    let words = address(a, b, 2);
    Some(format!(
        "    .begin\n    .reg byte_at\n{words}    {unit}[{what}, {to}, byte_at, 0, {count}], {own}\n    \
         .end\n{then}"
    ))
}

/// Translates a command that adds to a word of SRAM or of the scratchpad.
fn addition(command: &str) -> Option<String> {
    let (unit, rest) = command.split_once('[')?;
    let (operands, tokens) = rest.split_once("], ")?;
    let ["test_and_add", transfer, a, b] = operands.split(", ").collect::<Vec<_>>()[..] else {
        return None;
    };
    let (own, then) = signals(tokens)?;
    let words = address(a, b, 2);
    Some(format!(
        "    .begin\n    .reg byte_at\n{words}    {unit}[test_and_add, {transfer}, byte_at, 0], {own}\n    \
         .end\n{then}"
    ))
}

/// Returns the signal token of a command that begins or ends together with others, and the wait
/// after it.
fn signals(tokens: &str) -> Option<(&str, String)> {
    match tokens.strip_prefix("ctx_swap[s") {
        Some(signals) => {
            let signals = signals.strip_suffix(']')?;
            Some(("sig_done[memory]", format!("    ctx_arb[memory, s{signals}]\n")))
        }
        None => Some((tokens.starts_with("sig_done[s").then_some(tokens)?, String::new())),
    }
}

/// Computes the byte address `byte_at` of a sum of two operands that count words or quad words.
fn address(a: &str, b: &str, shift: u32) -> String {
    match b {
        "0" => format!("    alu_shf[byte_at, --, B, {a}, <<{shift}]\n"),
        _ => format!(
            "    alu[byte_at, {a}, +, {b}]\n    alu_shf[byte_at, --, B, byte_at, <<{shift}]\n"
        ),
    }
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
    fn two_words_are_added_to_at_a_time() {
        let text = "    scratch[test_and_add, $12, at7, 0], sig_done[s8]\n    \
                    sram[test_and_add, $13, at7, 1], ctx_swap[s8]\n";
        let expected = "    .begin\n    .reg byte_at\n    alu_shf[byte_at, --, B, at7, <<2]\n    \
                        scratch[test_and_add, $12, byte_at, 0], sig_done[s8]\n    .end\n    \
                        .begin\n    .reg byte_at\n    alu[byte_at, at7, +, 1]\n    \
                        alu_shf[byte_at, --, B, byte_at, <<2]\n    \
                        sram[test_and_add, $13, byte_at, 0], sig_done[memory]\n    .end\n    \
                        ctx_arb[memory, s8]\n";
        assert_eq!(translated(text), expected);
    }
}
