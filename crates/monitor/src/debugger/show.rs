//! Formats the answers of the debugger.

use std::fmt::Write;

use wireloom_machine::watch::{
    Event, HeldQueue, Listing, MeasureKind, Part, PartKind, RegisterValue,
};
use wireloom_machine::{Error, Result};

use super::place_text;
use crate::session::{Session, Table};

/// The most rows that are shown at once.
const MOST_ROWS: usize = 1000;

/// Lists the offloads.
pub fn tables(tables: &[Table]) -> String {
    if tables.is_empty() {
        return "the program has no offloads\n".to_owned();
    }
    let number = |number: Option<u64>| number.map_or_else(String::new, |n| n.to_string());
    let mut out = format!("{:<24} {:<12} {:>8} {:>8}\n", "table", "kind", "entries", "size");
    for Table { path, kind, entries, size } in tables {
        let line = format!("{path:<24} {kind:<12} {:>8} {:>8}", number(*entries), number(*size));
        let _ = writeln!(out, "{}", line.trim_end());
    }
    out
}

/// Lists rows of an offload, as lines of a table file.
pub fn rows(session: &mut Session, path: &str, key: Option<&str>) -> Result<String> {
    let (rows, has_more) = session.entries(path, key, MOST_ROWS)?;
    let mut out: String = rows.iter().map(wireloom_machine::Row::line).collect();
    if out.is_empty() {
        out = match key {
            Some(key) => format!("{path} has no entry with the key {key}\n"),
            None => format!("{path} has no entries\n"),
        };
    }
    if has_more {
        let _ = writeln!(out, "... (the first {MOST_ROWS} rows)");
    }
    Ok(out)
}

/// Formats the position of a thread.
pub fn place(session: &mut Session, thread: usize) -> String {
    let now = session.threads()[thread].clone();
    let name = &session.names[thread];
    let Some(number) = now.listing else { return format!("thread {name} has no program\n") };
    let listing = &session.listings[number];
    let mut out = format!("thread {name} {}", now.state);
    if !now.waits_for.is_empty() {
        let _ = write!(out, ", waits for {}", now.waits_for);
    }
    let _ = write!(out, ", next {}", now.address);
    if let Some((label, distance)) = listing.nearest(now.address) {
        let _ = match distance {
            0 => write!(out, " <{label}>"),
            _ => write!(out, " <{label}+{distance}>"),
        };
    }
    out.push('\n');
    let Some(instruction) = listing.instructions.get(now.address as usize) else { return out };
    let _ = writeln!(out, "    {}", instruction.text);
    for at in &instruction.places {
        if let Some((place, text)) = place_text(session, number, *at) {
            let _ = writeln!(out, "    {place}  {text}");
        }
    }
    out
}

/// Lists all threads that have a program.
pub fn threads(session: &mut Session, current: usize) -> String {
    let mut out = String::new();
    for (number, thread) in session.threads().iter().enumerate() {
        let Some(listing) = thread.listing.and_then(|listing| session.listings.get(listing)) else {
            continue;
        };
        let mark = if number == current { '*' } else { ' ' };
        let name = &session.names[number];
        let near = listing.nearest(thread.address);
        let near = near.map_or_else(String::new, |(label, distance)| match distance {
            0 => format!("<{label}>"),
            _ => format!("<{label}+{distance}>"),
        });
        let waits = match thread.waits_for.as_str() {
            "" => String::new(),
            signals => format!("for {signals}"),
        };
        let line = format!(
            "{mark} {name:<5} {:<8} {:>5} {near:<24} {:>9} instructions  {waits}",
            thread.state, thread.address, thread.instructions
        );
        let _ = writeln!(out, "{}", line.trim_end());
    }
    if out.is_empty() { "no thread has a program\n".to_owned() } else { out }
}

/// Lists instructions with their source lines.
pub fn listing(
    session: &mut Session,
    number: usize,
    from: u64,
    count: usize,
    current: usize,
) -> String {
    let here = session.threads()[current].clone();
    let at = |address: u64| here.listing == Some(number) && here.address == address;
    let marks: Vec<u64> = session
        .breakpoints()
        .iter()
        .flat_map(|numbered| match &numbered.breakpoint {
            wireloom_machine::watch::Breakpoint::Instruction { listing, addresses, .. }
                if *listing == number =>
            {
                addresses.clone()
            }
            _ => Vec::new(),
        })
        .collect();
    let listing = &session.listings[number];
    let mut out = String::new();
    let mut last = vec![None; listing.sources.len()];
    let instructions = listing.instructions.iter().enumerate();
    for (address, instruction) in instructions.skip(from as usize).take(count) {
        let address = address as u64;
        // Loom C is above the code generated from it; microcode is next to it.
        for place in instruction.places.iter().skip(1).rev() {
            if last[place.source] != Some(place.line)
                && let Some((name, text)) = place_text(session, number, *place)
            {
                let _ = writeln!(out, "{:>34}  {name}  {text}", "");
            }
            last[place.source] = Some(place.line);
        }
        for (label, _) in listing.labels.iter().filter(|(_, at)| *at == address) {
            let _ = writeln!(out, "{label}:");
        }
        let mark = if at(address) { '>' } else { ' ' };
        let stop = if marks.contains(&address) { 'b' } else { ' ' };
        let near = instruction.places.first().and_then(|p| place_text(session, number, *p));
        let near = near.map_or_else(String::new, |(name, text)| format!("{name}  {text}"));
        let line = format!("{mark}{stop}{address:>5}  {:<36} {near}", instruction.text);
        let _ = writeln!(out, "{}", line.trim_end());
    }
    out
}

/// Lists the labels of a program.
pub fn labels(listing: Option<&Listing>) -> String {
    let Some(listing) = listing else { return "the thread has no program\n".to_owned() };
    listing.labels.iter().map(|(label, address)| format!("{address:>5} {label}\n")).collect()
}

/// Lists the sources of all programs, with the lines that have instructions as ranges.
pub fn sources(listings: &[Listing]) -> String {
    let mut out = String::new();
    for listing in listings {
        for (number, source) in listing.sources.iter().enumerate() {
            let lines = listing.lines(number);
            let mut ranges: Vec<(u32, u32)> = Vec::new();
            for line in lines {
                match ranges.last_mut() {
                    Some((_, last)) if *last + 1 == line => *last = line,
                    _ => ranges.push((line, line)),
                }
            }
            let text = ranges.iter().map(|(first, last)| match first == last {
                true => first.to_string(),
                false => format!("{first}-{last}"),
            });
            let text: Vec<String> = text.collect();
            if !text.is_empty() {
                let _ = writeln!(out, "{} in {}: {}", source.name, listing.name, text.join(", "));
            }
        }
    }
    out
}

/// Lists the registers with these names, or all registers.
///
/// # Errors
/// If there is no such register.
pub fn registers(registers: &[RegisterValue], names: &[String]) -> Result<String> {
    let has = |register: &RegisterValue, name: &String| {
        register.register == *name || register.names.contains(name)
    };
    if let Some(name) = names.iter().find(|name| !registers.iter().any(|r| has(r, name))) {
        return Err(Error::new(format!("there is no register `{name}` here"))
            .with_help("regs lists them all; a name holds where its register is in use"));
    }
    let wanted = |register: &&RegisterValue| {
        names.is_empty() || names.iter().any(|name| has(register, name))
    };
    let mut out = String::new();
    for register in registers.iter().filter(wanted) {
        let RegisterValue { register, names, value } = register;
        let line = format!("{register:<8} {value:#010x} {value:>10}  {}", names.join(", "));
        let _ = writeln!(out, "{}", line.trim_end());
    }
    Ok(out)
}

/// Formats words of a memory, at most eight per line.
pub fn memory(words: &[u32], address: u64, words_at: usize) -> String {
    let mut out = String::new();
    let each = 8 / words_at;
    for (line, words) in words.chunks(8).enumerate() {
        let _ = write!(out, "{:#08x}", address + (line * each) as u64);
        words.iter().for_each(|word| {
            let _ = write!(out, " {word:08x}");
        });
        out.push('\n');
    }
    out
}

/// Lists the fill of queues. If a machine names both ends of its queues, each non-empty queue is
/// listed instead of the total of each engine.
pub fn queues(session: &mut Session) -> String {
    let held = session.queues();
    let is_shown = |part: &Part| part.kind != PartKind::Queue || held.is_none();
    let mut out = String::new();
    for (measure, value) in session.measures.iter().zip(session.now()) {
        let part = &session.parts[measure.part];
        if let MeasureKind::Level { places } = measure.kind
            && is_shown(part)
        {
            let _ = writeln!(out, "{:<16} {:<9} {value:>5} of {places}", part.name, measure.name);
        }
    }
    for HeldQueue { what, from, to, held, places } in held.into_iter().flatten() {
        let _ = writeln!(out, "{what:<16} {held:>2} of {places:<2}  from {from} to {to}");
    }
    out
}

/// Lists the shares of time in which parts were in use since the beginning.
pub fn used(session: &mut Session) -> String {
    let cycles = session.cycle().max(1);
    let mut out = String::new();
    for (measure, value) in session.measures.iter().zip(session.now()) {
        let part = &session.parts[measure.part];
        let is_engine = part.kind == PartKind::Engine;
        match measure.kind {
            MeasureKind::Busy => {}
            MeasureKind::State if is_engine && measure.name == "busy" => {}
            _ => continue,
        }
        // An event is counted when it begins, so the value may run ahead of time.
        let share = (*value).min(cycles) as f64 / cycles as f64;
        let _ = writeln!(out, "{:<16} {:>6.1} %", part.name, 100.0 * share);
    }
    out
}

/// Lists the mean power of each part since the beginning, if the machine reports its energy.
pub fn power(session: &mut Session) -> String {
    let seconds = session.cycle() as f64 / session.hertz;
    let mut out = String::new();
    for (measure, value) in session.measures.iter().zip(session.now()) {
        if measure.kind == MeasureKind::Energy {
            // The value is in picojoules.
            let milliwatts = if seconds > 0.0 { *value as f64 * 1e-9 / seconds } else { 0.0 };
            let name = &session.parts[measure.part].name;
            let _ = writeln!(out, "{name:<24} {milliwatts:>10.3} mW");
        }
    }
    if out.is_empty() { "this machine tells no energy\n".to_owned() } else { out }
}

/// Lists the verdicts on the last packets.
pub fn packets(session: &mut Session) -> String {
    const SHOWN: usize = 16;
    let (to_come, done) = session.packets();
    let mut out = format!("{done} packets have left or were lost, {to_come} are to come\n");
    let left: Vec<String> = session
        .left()
        .rev()
        .take(SHOWN)
        .map(|left| format!("packet {}: {}, {} bytes\n", left.packet, left.verdict, left.bytes))
        .collect();
    out.extend(left.into_iter().rev());
    out
}

pub fn breakpoints(session: &Session) -> String {
    let all = session.breakpoints().iter();
    let out: String =
        all.map(|numbered| format!("{}: {}\n", numbered.number, numbered.text)).collect();
    if out.is_empty() { "there are no breakpoints\n".to_owned() } else { out }
}

pub fn events(events: &[Event], names: &[String]) -> String {
    let mut out = String::new();
    for event in events {
        let thread = event.thread.and_then(|thread| names.get(thread)).map_or("", String::as_str);
        let _ = writeln!(out, "{:>9} {thread:<5} {}", event.cycle, event.what);
    }
    out
}
