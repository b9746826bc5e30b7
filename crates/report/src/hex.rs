//! The bytes of a packet on two machines, next to each other.

use maud::{Markup, html};

/// Bytes per line.
const LINE: usize = 16;
/// Equal lines that are shown before and after a differing line.
const AROUND: usize = 2;
/// The most lines that are shown.
const LINES: usize = 256;

/// Renders both packets as lines of 16 bytes. Bytes that differ, or that only one packet has, are
/// marked. Equal lines are shown only near differing ones.
pub fn markup(expected: Option<&[u8]>, got: Option<&[u8]>) -> Markup {
    let (left, right) = (expected.unwrap_or_default(), got.unwrap_or_default());
    let longest = left.len().max(right.len());
    let lines = longest.div_ceil(LINE);
    let differs: Vec<bool> = (0..lines).map(|line| part(left, line) != part(right, line)).collect();
    let is_near = |line: usize| {
        let from = line.saturating_sub(AROUND);
        differs[from..lines.min(line + AROUND + 1)].contains(&true)
    };
    let shown: Vec<usize> = (0..lines).filter(|line| is_near(*line)).take(LINES).collect();
    html! {
        div class="wide" {
            table class="bytes" {
                thead { tr {
                    th { "offset" }
                    th { (head("expected (golden)", expected)) }
                    th { (head("got", got)) }
                } }
                tbody { @for line in &shown {
                    tr {
                        td { (format!("{:04x}", line * LINE)) }
                        td { (bytes(left, right, *line)) }
                        td { (bytes(right, left, *line)) }
                    }
                } }
            }
        }
        @if shown.len() < lines {
            p { (lines - shown.len()) " of " (lines) " lines are left out: those far from a \
                difference, and those after the first " (LINES) "." }
        }
    }
}

fn head(name: &str, bytes: Option<&[u8]>) -> String {
    match bytes {
        Some(bytes) => format!("{name}, {} bytes", bytes.len()),
        None => format!("{name}: no packet"),
    }
}

fn part(bytes: &[u8], line: usize) -> &[u8] {
    let from = (line * LINE).min(bytes.len());
    &bytes[from..(from + LINE).min(bytes.len())]
}

/// Renders a line of bytes and marks each byte that the other packet does not have at this
/// position.
fn bytes(own: &[u8], other: &[u8], line: usize) -> Markup {
    html! {
        @for (index, byte) in part(own, line).iter().enumerate() {
            @if index > 0 { " " }
            @if part(other, line).get(index) == Some(byte) {
                (format!("{byte:02x}"))
            } @else {
                mark { (format!("{byte:02x}")) }
            }
        }
    }
}
