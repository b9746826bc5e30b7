//! The parts of programs other than steps: the runtime, which receives and sends packets, and
//! routines.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use super::exits::STEP;
use super::frame;
use super::kinds::KINDS;
use super::needs::Needs;
use super::ports::Ports;

/// The bytes of a value of the routine `divide`.
const OWN: u32 = 4 * (frame::WORK_WORDS / 4);

/// Replaces names of numbers by the numbers.
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
        ("REST", frame::REST),
        ("WORK", frame::WORK),
        ("OWN3", 3 * OWN),
        ("OWN", OWN),
        ("RELAYED", base + frame::BUFFER),
        ("ARRIVES", base + frame::ARRIVES),
        ("BUFFER", base + frame::BUFFER),
        ("REPLACED_END", base + frame::REPLACED_END),
    ];
    let mut names = names.to_vec();
    for name in KINDS.iter().flat_map(|kind| kind.names()) {
        // Kinds that share routines have the same names.
        if !names.contains(name) {
            names.push(*name);
        }
    }
    let mut lines = String::new();
    for line in text.lines() {
        let (code, comment) = line.split_once('#').map_or((line, None), |(a, b)| (a, Some(b)));
        let mut code = code.to_owned();
        for (name, value) in &names {
            while let Some(at) = code.find(name) {
                let end = at + name.len();
                // `NAME+4` becomes a single number.
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

/// The parameters of a tile's runtime.
pub struct Passage<'a> {
    /// The address of the frame.
    pub base: u32,
    /// The words that accompany packets.
    pub needs: Needs,
    /// The code that clears the variables and arrays of the context on this tile.
    pub clear: &'a str,
    /// The steps at which messages from earlier tiles begin, with their labels.
    pub entries: Vec<(usize, String)>,
    /// The offsets of the words of the frame that messages carry.
    pub carried: Vec<u32>,
    pub is_first: bool,
    /// Whether no later tile continues with packets.
    pub is_last: bool,
    /// Whether messages without a packet arrive.
    pub idles: bool,
    /// Whether a thread can continue after sending a packet.
    pub emits: bool,
    /// Whether all packets that leave begin at the same place in a word as on arrival.
    pub is_aligned: bool,
    /// The ports, if this is the last tile and packets leave at the port of their egress.
    pub ports: Option<Ports>,
    /// The header of messages to the next tile without a length, if messages go over the general
    /// network.
    pub hop: Option<u32>,
}

/// The names of lines that several parts contain.
const SHARED: [&str; 4] = ["first_word", "finish_core", "odd_begin", "odd_word"];
/// The number of instructions of a row that moves the last words of a packet.
const ROW: usize = 32;

/// Inserts the lines that several parts contain, and repeats instructions. `TIMES N` repeats the
/// instruction after it N times for successive words, and `ROW N` repeats it [`ROW`] times. `@` is
/// the offset of each word, from 0 for `TIMES` and from `N` for `ROW`. The last instruction of `ROW
/// NAME N` has the label `NAME_last`.
pub fn with_shared(mut text: String) -> String {
    for name in SHARED {
        text = text.replace(&format!("{}\n", name.to_uppercase()), part(name));
    }
    let mut lines = String::new();
    for line in text.lines() {
        let words: Vec<&str> = line.trim_start().splitn(4, ' ').collect();
        lines += &match words[..] {
            ["TIMES", count, ..] => {
                let count = count.parse().expect("an instruction is written a number of times");
                repeated(count, None, 0, &words[2..].join(" "))
            }
            ["ROW", name, first, one] => match (name.parse(), first.parse()) {
                (Ok(first), _) => repeated(ROW, None, first, &words[2..].join(" ")),
                (_, Ok(first)) => repeated(ROW, Some(name), first, one),
                _ => unreachable!("a row has a first offset: {line}"),
            },
            _ => format!("{line}\n"),
        };
    }
    lines
}

/// Returns an instruction repeated for successive words. The last one may have a label.
fn repeated(count: usize, name: Option<&str>, first: i32, one: &str) -> String {
    let line = |word: usize| {
        let name = name.filter(|_| word + 1 == count);
        let label = name.map(|name| format!("{name}_last:\n")).unwrap_or_default();
        let offset = first + 4 * word as i32;
        format!("{label}        {}\n", one.replace('@', &offset.to_string()))
    };
    (0..count).map(line).collect()
}

/// Returns a part of the runtime.
fn part(name: &str) -> &'static str {
    let begin = format!(".part {name}\n");
    let texts = [include_str!("runtime.s"), include_str!("ports.s"), include_str!("hops.s")];
    let found = texts.into_iter().find_map(|text| text.split_once(&begin));
    let (_, rest) = found.expect("a part of the runtime");
    rest.split(".part ").next().unwrap_or_default()
}

/// Returns the lines that test whether a message is for a step of this tile. They jump to the code
/// that receives it or to the code that passes it on. If there are several steps, most messages are
/// for the last one.
fn entry_tests(entries: &[(usize, String)]) -> String {
    let Some(((last, _), others)) = entries.split_last() else {
        return "        j other\n".to_owned();
    };
    let load = |step: &usize| format!("        li $a2, {}\n", STEP as usize | step);
    let other = |(step, _): &(usize, String)| load(step) + "        beq $v1, $a2, take\n";
    let others: String = others.iter().map(other).collect();
    others + &load(last) + "        bne $v1, $a2, other\n"
}

/// Returns the lines that jump to the step of a received message.
fn entry_jumps(entries: &[(usize, String)]) -> String {
    let Some(((_, last), others)) = entries.split_last() else { return String::new() };
    // The label may be too far away for a branch.
    let other = |(step, label): &(usize, String)| {
        let step = STEP as usize | step;
        format!(
            "        li $a2, {step}\n        bne $v1, $a2, not_{label}\n        j \
             {label}\nnot_{label}:\n"
        )
    };
    others.iter().map(other).collect::<String>() + &format!("        j {last}\n")
}

/// Returns the offsets of the words of the frame that the first tile receives with a packet.
fn told(needs: Needs) -> Vec<u32> {
    let mut words = Vec::new();
    for (is_needed, first) in [(needs.arrival, frame::ARRIVAL), (needs.sequence, frame::SEQUENCE)] {
        if is_needed {
            words.extend([first + 4, first]);
        }
    }
    words.extend(needs.rest.then_some(frame::REST));
    words
}

/// Returns the offsets of the words of the frame that go to a later tile: the ports, the words that
/// the first tile received, and the context.
fn state(passage: &Passage<'_>) -> Vec<u32> {
    let hand = [frame::HAND, frame::HAND + 4];
    let hand = if passage.needs.takes { &hand[..] } else { &[] };
    let told = told(passage.needs);
    [&[frame::INGRESS, frame::EGRESS], &told[..], hand, &passage.carried].concat()
}

/// Returns the number of words of a message before the bytes of the packet: the first word, and
/// either the words that the first tile receives, or the window and the state.
pub fn before_count(passage: &Passage<'_>) -> usize {
    match passage.is_first {
        true => 1 + told(passage.needs).len(),
        false => 2 + state(passage).len(),
    }
}

/// Returns the runtime, which ends with a jump to a step.
pub fn runtime(passage: &Passage<'_>) -> String {
    let Passage { base, needs, is_first, is_last, idles, emits, is_aligned, ports, hop, .. } =
        *passage;
    let is_general = hop.is_some();
    let words = told(needs);
    let take = |words: &[u32]| {
        words.iter().map(|at| format!("        sw $csti, {at}($sp)\n")).collect::<String>()
    };
    let state = state(passage);
    let give: String = state.iter().map(|at| format!("        lw $csto, {at}($sp)\n")).collect();
    let before_bytes = match is_first {
        true => take(&words) + if needs.takes { part("hand") } else { "" },
        false => format!("        move $fp, $csti\n{}", take(&state)),
    };
    // The rows that send words, each with its end. The code after the last row is the end of most
    // packets.
    let of_ports = |with: &'static str, without| part(if ports.is_some() { with } else { without });
    let row = if is_general { part("port_row") } else { of_ports("port_row", "send_row") };
    // Over the general network, messages of earlier tiles are copied word by word.
    let relay = if is_general { "" } else { part("relay_row") };
    let rows = [
        ("send", row, "        jr $ra\n", emits),
        ("pass", row, "        j begin\n", !is_last),
        ("relay", relay, "        j begin\n", !is_first && ports.is_some()),
        ("finish", row, "        j begin\n", true),
    ];
    let rows = || rows.into_iter().filter(|(.., is_there)| *is_there);
    let mut text = format!("        li $sp, {base}\n        j begin\n");
    for (name, row, end, _) in rows().filter(|(_, row, ..)| !row.is_empty()) {
        text += &(row.replace("NAME", name) + end);
    }
    text = text.trim_end().trim_end_matches("j begin").trim_end().to_owned() + "\n";
    let of = |with: &'static str, without| part(if is_general { with } else { without });
    if is_first {
        text += of("hop_first", "first");
    } else {
        text += of("hop_later", "later");
        text += match (is_general, ports) {
            (false, _) => of_ports("port_relay", "relay"),
            (true, _) => of_ports("hop_port_relay", "hop_relay"),
        };
    }
    text += if idles { of_ports("port_idle", "idle") } else { "" };
    let [send, emit] = if is_general { ["hop_send", "hop_emit"] } else { ["send", "emit"] };
    text += of_ports("port_send", send);
    text += if emits { of_ports("port_emit", emit) } else { "" };
    text += if is_last { "" } else { of("hop_pass", "pass") };
    text += part("take_row");
    text += if is_general { part("hop_taken") } else { "" };
    text += if is_first { part("first_taken") } else { part("later_taken") };
    text = text.replace("HOP_RECEIVE\n", part("hop_receive"));
    text = text.replace("RECEIVE\n", part("receive"));
    let shifted = if is_aligned { "" } else { part("shifted_lines") };
    let odd_test = if is_aligned { "" } else { part("odd_test") };
    for (name, _, end, _) in rows() {
        // Parts contain other parts.
        for (lines, own) in [
            ("HOP_LEFT", part("hop_left")),
            ("HEAD_LINES", part("port_head")),
            ("PORT_BYTES", part("port_bytes")),
            ("SEND_LINES", part("send_lines")),
            ("BYTES_BEGIN", part("bytes_begin")),
            ("BYTES_LINES", part("bytes_lines")),
            ("SHIFTED_LINES", shifted),
            ("ODD_TEST", odd_test),
            ("END", end),
        ] {
            let own = with_shared(own.to_owned()).replace("NAME", name);
            text = text.replace(&format!("{lines}({name})\n"), &own);
        }
    }
    if let Some(next) = hop {
        text = hop_lines(&text, next);
    }
    if let Some(ports) = ports {
        text = ports.put_in(&text, needs.beside().is_some());
    }
    // Verdicts without a packet always have two words.
    let beside = needs.beside();
    for (name, with, without) in [
        ("READ", "left_read", ""),
        ("PAST", "left_read", "left_past"),
        ("KEEP", "left_keep", ""),
        ("LAST", "left_own", "left_none"),
        ("OWN", "left_own", ""),
        ("PORT", "left_port", ""),
        ("OUT", "left_out", ""),
    ] {
        let name_of = if beside.is_some() { with } else { without };
        let lines = if name_of.is_empty() { "" } else { part(name_of) };
        text = text.replace(&format!("LEFT_{name}\n"), lines);
    }
    for (name, with) in
        [("ADD", "rest_add"), ("OFF", "rest_off"), ("PAST", "rest_past"), ("OUT", "rest_out")]
    {
        let lines = if needs.rest { part(with) } else { "" };
        text = text.replace(&format!("REST_{name}\n"), lines);
    }
    // The first tile treats a message without a packet like one with a long packet.
    let [is_many, is_other] = [idles && is_first, idles && !is_first];
    let text = text
        .replace("BESIDE", &beside.unwrap_or_default().to_string())
        .replace("LEFT_WORDS+1", if beside.is_some() { "3" } else { "2" })
        .replace("LEFT_WORDS", if beside.is_some() { "2" } else { "1" })
        .replace("MANY_TEST\n", if is_many { part("idle_test") } else { "" })
        .replace("IDLE_TEST\n", if is_other { part("idle_test") } else { "" })
        .replace("STATE_WORDS", &(state.len() + 1).to_string())
        .replace("MESSAGE_WORDS", &(state.len() + 2).to_string())
        .replace("COUNT_BEFORE", &before_count(passage).to_string())
        .replace("BEFORE_BYTES\n", &before_bytes)
        .replace("PASS_LINES\n", &format!("        move $csto, $fp\n{give}"))
        .replace("ENTRY_TESTS\n", &entry_tests(&passage.entries))
        .replace("ENTRY_JUMPS\n", &entry_jumps(&passage.entries))
        .replace("CLEARED\n", passage.clear);
    let text = with_numbers(&with_shared(text), base);
    if is_general { text.replace("$csti", "$cgni").replace("$csto", "$cgno") } else { text }
}

/// Inserts the lines for messages over the general network to the next tile.
fn hop_lines(text: &str, next: u32) -> String {
    let line = |line: &str| match line.strip_prefix("HOP_HEAD ") {
        Some(besides) => part("hop_head").replace("HOP_BESIDES", besides),
        None => format!("{line}\n"),
    };
    let text: String = text.lines().map(line).collect();
    text.replace("HOP_SAME\n", part("hop_same")).replace("NEXT_TILE", &next.to_string())
}

/// Returns the text of each routine by name, including the comment before it.
fn texts() -> BTreeMap<&'static str, String> {
    let mut texts: BTreeMap<&str, String> = BTreeMap::new();
    let (mut comment, mut name) = (String::new(), "");
    let of_kinds = KINDS.iter().flat_map(|kind| kind.routines());
    for line in [include_str!("routines.s")].iter().chain(of_kinds).flat_map(|text| text.lines()) {
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

/// Returns the routines with these names, and the routines that they jump to.
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

/// Returns the number of instructions of a text. Loads of long constants are already two
/// instructions.
pub fn instructions(text: &str) -> usize {
    let is_one = |line: &&str| line.starts_with(' ') && !line.trim_start().starts_with('#');
    text.lines().filter(is_one).count()
}
