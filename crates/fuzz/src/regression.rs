//! Saved failing cases. `NAME.loom` contains the program, and `NAME.input` contains tables and
//! packets as text.
//!
//! ```text
//! # why it failed
//! entry o5 prefix 32'0xa000000/8 = 16'0x1
//! entry o6.o2 exact 8'0x3 = 16'0x1
//! entry o7 index 2 = 16'0x1
//! entry o8 pattern 0845 = 16'0x1
//! packet 3 1000 020000000001...
//! write o6.o2 exact 8'0x4 = 16'0x1
//! remove o6.o2 exact 8'0x3
//! advance 2000000
//! ```
//! A packet line gives the ingress port, the arrival time in nanoseconds and the bytes. The control
//! plane makes changes between packets; `advance` is a time in nanoseconds without a packet.

use std::fs;
use std::io;
use std::path::Path;

use wireloom_bits::Bits;
use wireloom_net::Packet;
use wireloom_offloads::{Entry, EntryKey};

use crate::input::{Event, Input};

/// Writes a case under `dir`.
///
/// # Errors
/// If a file cannot be written.
pub fn save(dir: &Path, name: &str, source: &str, input: &Input, why: &str) -> io::Result<()> {
    fs::create_dir_all(dir)?;
    fs::write(dir.join(format!("{name}.loom")), source)?;
    let mut text: String = why.lines().map(|line| format!("# {line}\n")).collect();
    let written = |entry: &Entry| format!("{} = {:?}", key_text(&entry.key), entry.value);
    for (path, entry) in &input.entries {
        text.push_str(&format!("entry {path} {}\n", written(entry)));
    }
    let events_at = |place: usize| {
        let events = input.events.iter().filter(move |(before, _)| *before == place);
        events.map(|(_, event)| match event {
            Event::Write(path, entry) => format!("write {path} {}\n", written(entry)),
            Event::Remove(path, key) => format!("remove {path} {}\n", key_text(key)),
            Event::Advance(time_ns) => format!("advance {time_ns}\n"),
        })
    };
    for (place, packet) in input.packets.iter().enumerate() {
        text.extend(events_at(place));
        let (ingress, arrival_ns) = (packet.ingress, packet.arrival_ns);
        text.push_str(&format!("packet {ingress} {arrival_ns} {}\n", hex(&packet.bytes)));
    }
    text.extend(events_at(input.packets.len()));
    fs::write(dir.join(format!("{name}.input")), text)
}

/// Reads the program at `path` and its input.
///
/// # Errors
/// If a file cannot be read, or if the input is malformed. The error names the line.
pub fn load(path: &Path) -> Result<(String, Input), String> {
    let read =
        |path: &Path| fs::read_to_string(path).map_err(|e| format!("{}: {e}", path.display()));
    let source = read(path)?;
    let input_path = path.with_extension("input");
    let mut input = Input::default();
    for (line, number) in read(&input_path)?.lines().zip(1..) {
        if line.starts_with('#') || line.is_empty() {
            continue;
        }
        parse_line(line, &mut input)
            .ok_or_else(|| format!("{}:{number}: not understood", input_path.display()))?;
    }
    Ok((source, input))
}

fn parse_line(line: &str, input: &mut Input) -> Option<()> {
    let words: Vec<_> = line.split(' ').collect();
    match words[..] {
        ["packet", ingress, arrival, bytes] => input.packets.push(Packet {
            ingress: ingress.parse().ok()?,
            arrival_ns: arrival.parse().ok()?,
            bytes: unhex(bytes)?,
        }),
        ["entry", path, kind, key, "=", value] => {
            let entry = Entry { key: parse_key(kind, key)?, value: bits(value)? };
            input.entries.push((path.to_owned(), entry));
        }
        ["write", path, kind, key, "=", value] => {
            let entry = Entry { key: parse_key(kind, key)?, value: bits(value)? };
            input.events.push((input.packets.len(), Event::Write(path.to_owned(), entry)));
        }
        ["remove", path, kind, key] => {
            let event = Event::Remove(path.to_owned(), parse_key(kind, key)?);
            input.events.push((input.packets.len(), event));
        }
        ["advance", time_ns] => {
            input.events.push((input.packets.len(), Event::Advance(time_ns.parse().ok()?)));
        }
        _ => return None,
    }
    Some(())
}

fn key_text(key: &EntryKey) -> String {
    match key {
        EntryKey::Prefix { bits, length } => format!("prefix {bits:?}/{length}"),
        EntryKey::Exact(bits) => format!("exact {bits:?}"),
        EntryKey::Index(index) => format!("index {index}"),
        EntryKey::Pattern(bytes) => format!("pattern {}", hex(bytes)),
    }
}

fn parse_key(kind: &str, key: &str) -> Option<EntryKey> {
    Some(match kind {
        "prefix" => {
            let (key, length) = key.split_once('/')?;
            EntryKey::Prefix { bits: bits(key)?, length: length.parse().ok()? }
        }
        "exact" => EntryKey::Exact(bits(key)?),
        "index" => EntryKey::Index(key.parse().ok()?),
        "pattern" => EntryKey::Pattern(unhex(key)?),
        _ => return None,
    })
}

/// Parses a number such as `16'0x800`, the debug format of `Bits`.
fn bits(text: &str) -> Option<Bits> {
    let (width, digits) = text.split_once("'0x")?;
    let width = width.parse().ok().filter(|w| (1..=wireloom_bits::MAX_WIDTH).contains(w))?;
    let padded = if digits.len() % 2 == 0 { digits.to_owned() } else { format!("0{digits}") };
    Some(Bits::from_bytes(&unhex(&padded)?).resize(width))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|b| format!("{b:02x}")).collect()
}

fn unhex(text: &str) -> Option<Vec<u8>> {
    if !text.is_ascii() || !text.len().is_multiple_of(2) {
        return None;
    }
    (0..text.len()).step_by(2).map(|i| u8::from_str_radix(&text[i..i + 2], 16).ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cases_read_back_as_they_were_written() {
        let value = Bits::new(300, 1).shl(299);
        let entry = |key| Entry { key, value: value.clone() };
        let input = Input {
            entries: vec![
                (
                    "a".into(),
                    entry(EntryKey::Prefix { bits: Bits::new(32, 0x0a00_0000), length: 8 }),
                ),
                ("a.b".into(), entry(EntryKey::Exact(Bits::new(3, 5)))),
                ("c".into(), entry(EntryKey::Index(7))),
                ("d".into(), entry(EntryKey::Pattern(vec![0, 255]))),
            ],
            packets: vec![
                Packet { ingress: 3, arrival_ns: u64::MAX, bytes: vec![1, 0xab] },
                Packet { ingress: 0, arrival_ns: 0, bytes: vec![] },
            ],
            events: vec![
                (0, Event::Advance(7)),
                (1, Event::Write("a".into(), entry(EntryKey::Exact(Bits::new(3, 1))))),
                (1, Event::Remove("a.b".into(), EntryKey::Index(9))),
                (2, Event::Advance(u64::MAX)),
            ],
        };
        let dir = std::env::temp_dir().join(format!("wireloom-regression-{}", std::process::id()));
        save(&dir, "case", "engine e() {}", &input, "two\nlines").expect("the folder is writable");
        let (source, back) = load(&dir.join("case.loom")).expect("it was just written");
        fs::remove_dir_all(&dir).expect("it was just written");
        assert_eq!((source.as_str(), back), ("engine e() {}", input));
    }
}
