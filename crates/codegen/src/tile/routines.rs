//! What programs have besides their steps: the way in and out of packets, and routines.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use super::Needs;
use super::frame;
use super::layout::keyed;
use super::ports::Ports;

/// The bytes of a value of the routine `divide`.
const OWN: u32 = 4 * (frame::WORK_WORDS / 4);

/// Puts numbers in place of names.
fn with_numbers(text: &str, base: u32) -> String {
    let names = [
        ("INGRESS", frame::INGRESS),
        ("EGRESS", frame::EGRESS),
        ("LENGTH", frame::LENGTH),
        ("FETCH", frame::FETCH),
        ("KEPT", frame::KEPT),
        ("LINK", frame::LINK),
        ("HAND", frame::HAND),
        ("SERIAL", frame::SERIAL),
        ("PORT_HEADER", frame::PORT_HEADER),
        ("ARRIVAL", frame::ARRIVAL),
        ("WORK", frame::WORK),
        ("OWN3", 3 * OWN),
        ("OWN", OWN),
        ("RELAYED", base + frame::BUFFER),
        ("ARRIVES", base + frame::ARRIVES),
        ("BUFFER", base + frame::BUFFER),
        ("REPLACED_END", base + frame::REPLACED_END),
    ];
    let names = names.into_iter().chain(keyed::NAMES);
    let mut lines = String::new();
    for line in text.lines() {
        let (code, comment) = line.split_once('#').map_or((line, None), |(a, b)| (a, Some(b)));
        let mut code = code.to_owned();
        for (name, value) in names.clone() {
            while let Some(at) = code.find(name) {
                let end = at + name.len();
                // `NAME+4` is one number.
                let rest = &code[end..];
                let digits = rest.strip_prefix('+').map_or(0, |rest| {
                    rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len())
                });
                let more: u32 = rest.get(1..1 + digits).and_then(|n| n.parse().ok()).unwrap_or(0);
                let skip = if digits > 0 { 1 + digits } else { 0 };
                code = format!("{}{}{}", &code[..at], value + more, &code[end + skip..]);
            }
        }
        lines += &code;
        if let Some(comment) = comment {
            let _ = write!(lines, "#{comment}");
        }
        lines.push('\n');
    }
    lines
}

/// What the way in and out of a tile depends on.
pub struct Passage<'a> {
    /// The address of the frame.
    pub base: u32,
    /// What packets bring with them.
    pub needs: Needs,
    /// The lines that clear the engine's context.
    pub clear: &'a str,
    /// The steps, with their labels, that messages from earlier tiles begin at.
    pub entries: Vec<(usize, String)>,
    /// Words of the frame that messages carry: the offset of each.
    pub carried: Vec<u32>,
    pub is_first: bool,
    /// Whether a later tile can go on with a packet.
    pub is_last: bool,
    /// Whether messages without a packet come.
    pub idles: bool,
    /// Where packets leave, if this is the last tile and they do so at the port of their egress.
    pub ports: Option<Ports>,
}

/// The lines that more than one part has.
const SHARED: [&str; 7] =
    ["first_word", "finish_core", "many_begin", "many_end", "odd_lines", "odd_begin", "odd_word"];

/// Puts in what more than one part of the runtime has. `SIXTEEN` stands before an instruction that is
/// written 16 times, for successive words: `@` is the offset of each.
pub fn with_shared(mut text: String) -> String {
    for name in SHARED {
        text = text.replace(&format!("{}\n", name.to_uppercase()), part(name));
    }
    let mut lines = String::new();
    for line in text.lines() {
        match line.split_once("SIXTEEN ") {
            Some((indent, one)) => (0..16).for_each(|word| {
                let _ = writeln!(lines, "{indent}{}", one.replace('@', &(4 * word).to_string()));
            }),
            None => lines = lines + line + "\n",
        }
    }
    lines
}

/// A part of the runtime.
fn part(name: &str) -> &'static str {
    let begin = format!(".part {name}\n");
    let texts = [include_str!("runtime.s"), include_str!("ports.s")];
    let found = texts.into_iter().find_map(|text| text.split_once(&begin));
    let (_, rest) = found.expect("a part of the runtime");
    rest.split(".part ").next().unwrap_or_default()
}

/// The way in and out.
pub fn runtime(passage: &Passage<'_>) -> String {
    let Passage { base, needs, is_first, is_last, idles, ports, .. } = *passage;
    let mut words = Vec::new();
    for (is_needed, first) in [(needs.arrival, frame::ARRIVAL), (needs.sequence, frame::SEQUENCE)] {
        if is_needed {
            words.extend([first + 4, first]);
        }
    }
    let take = |words: &[u32]| {
        words.iter().map(|at| format!("        sw $csti, {at}($sp)\n")).collect::<String>()
    };
    let hand = [frame::HAND, frame::HAND + 4];
    let hand = if needs.takes { &hand[..] } else { &[] };
    // The window, ports, what the first tile was told, and the context.
    let state = [&[frame::INGRESS, frame::EGRESS], &words[..], hand, &passage.carried].concat();
    let give: String = state.iter().map(|at| format!("        lw $csto, {at}($sp)\n")).collect();
    let lines = |each: &dyn Fn(&usize, &str) -> String| {
        passage.entries.iter().map(|(step, label)| each(step, label)).collect::<String>()
    };
    let tests = lines(&|step, _| format!("        li $a2, {step}\n        beq $v1, $a2, take\n"));
    let jumps = match &passage.entries[..] {
        [] => String::new(),
        [(_, label)] => format!("        j {label}\n"),
        // The label may be too far for a branch.
        _ => lines(&|step, label| {
            format!(
                "        li $a2, {step}\n        bne $v1, $a2, not_{label}\n        j \
                 {label}\nnot_{label}:\n"
            )
        }),
    };
    let mut text = String::new();
    let of_ports = |with: &'static str, without| part(if ports.is_some() { with } else { without });
    if is_first {
        text += part("first");
    } else {
        text += part("later");
        text += of_ports("port_relay", "relay");
        text += part("take");
    }
    text += part("receive");
    text += if is_first { "CLEARED\n        j engine0_step0\n" } else { "ENTRY_JUMPS\n" };
    text += if idles { of_ports("port_idle", "idle") } else { "" };
    text += of_ports("port_send", "send");
    text += if is_last { "" } else { part("pass") };
    let bytes_lines = with_shared(part("bytes_lines").to_owned());
    for name in ["finish", "send", "pass"] {
        let bytes = bytes_lines.replace("NAME", name);
        let all = part("send_lines").to_owned() + &bytes;
        text = text.replace(&format!("SEND_LINES({name})\n"), &all);
        text = text.replace(&format!("BYTES_LINES({name})\n"), &bytes);
    }
    for name in ["finish", "send", "relay"] {
        for (lines, of) in [("HEAD_LINES", "port_head"), ("PORT_BYTES", "port_bytes")] {
            let own = with_shared(part(of).to_owned()).replace("NAME", name);
            text = text.replace(&format!("{lines}({name})\n"), &own);
        }
    }
    if let Some(ports) = ports {
        text = ports.put_in(&text, needs.takes);
    }
    // Where parked packets are taken, the port by which a packet came leaves too.
    for name in ["read", "keep", "pass", "own", "port", "out"] {
        let name = format!("left_{name}");
        let lines = if needs.takes { part(&name) } else { "" };
        text = text.replace(&format!("{}\n", name.to_uppercase()), lines);
    }
    let text = text
        .replace("LEFT_WORDS+1", if needs.takes { "3" } else { "2" })
        .replace("LEFT_WORDS", if needs.takes { "2" } else { "1" })
        .replace("IDLE_TEST\n", if idles { part("idle_test") } else { "" })
        .replace("EXTRA_LINES\n", &(take(&words) + if needs.takes { part("hand") } else { "" }))
        .replace("STATE_WORDS", &(state.len() + 1).to_string())
        .replace("MESSAGE_WORDS", &(state.len() + 2).to_string())
        .replace("TAKE_LINES\n", &format!("        move $fp, $csti\n{}", take(&state)))
        .replace("PASS_LINES\n", &format!("        move $csto, $fp\n{give}"))
        .replace("ENTRY_TESTS\n", &tests)
        .replace("ENTRY_JUMPS\n", &jumps)
        .replace("CLEARED\n", passage.clear);
    with_numbers(&with_shared(text), base)
}

/// The texts of the routines: their names, each with the comment before it and its lines.
fn texts() -> BTreeMap<&'static str, String> {
    let mut texts: BTreeMap<&str, String> = BTreeMap::new();
    let (mut comment, mut name) = (String::new(), "");
    for line in include_str!("routines.s").lines().chain(include_str!("tables.s").lines()) {
        if let Some(next) = line.strip_prefix(".routine ") {
            name = next;
            texts.insert(name, std::mem::take(&mut comment));
        } else if line.starts_with('#') {
            let _ = writeln!(comment, "{line}");
        } else if let Some(text) = texts.get_mut(name) {
            let _ = writeln!(text, "{line}");
        }
    }
    texts
}

/// The routines of these names, and those that they go on to.
pub fn needed(base: u32, names: &[&'static str]) -> String {
    let texts = texts();
    let mut open: Vec<&str> = names.to_vec();
    let mut found = BTreeSet::new();
    while let Some(name) = open.pop() {
        let text = texts.get(name).map_or("", |text| text);
        if found.insert(name) {
            let code = text.lines().filter(|line| line.starts_with(' '));
            let words = code.filter_map(|line| line.split_whitespace().last());
            open.extend(words.filter_map(|word| Some(*texts.get_key_value(word)?.0)));
        }
    }
    let wanted = texts.iter().filter(|(name, _)| found.contains(*name));
    with_numbers(&wanted.map(|(_, text)| text.as_str()).collect::<String>(), base)
}

/// The instructions of a text; those that load long constants are written as two already.
pub fn instructions(text: &str) -> usize {
    let is_one = |line: &&str| line.starts_with(' ') && !line.trim_start().starts_with('#');
    text.lines().filter(is_one).count()
}
