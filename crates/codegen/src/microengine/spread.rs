//! Steps spread over several control stores.
//!
//! Steps that follow each other are a *part*; each part has engines of its own, and a context in
//! each of them for every thread. A packet goes on in another part by a *handover*: the thread's
//! registers go to the frame, and the context of that part gets a signal. Only one of a thread's
//! contexts runs at a time, so the frame needs no locks.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use wireloom_ir::{Engine, Exit, OpKind};

use super::lower::{Written, label};
use super::routines::{self, Routine};
use crate::refused::ops;

/// Words that a part has beside its steps: receiving and sending in the first one, handing over in
/// all.
const RUNTIME: usize = 240;
const HANDOVER: usize = 34;
/// Words of a way to another part: the number of its entry, and a branch.
const WAY: usize = 3;

/// The words that a text takes in a control store at most.
pub fn words(text: &str) -> usize {
    text.lines()
        .map(|line| match line.trim_start() {
            line if line.starts_with("immed32") => constant(line),
            line if line.starts_with("clear_tail") || line.starts_with("clear_local_tail") => {
                CLEAR_TAIL
            }
            line if line.starts_with("wait_at_gate") => WAIT_AT_GATE,
            line if line.starts_with("pass_gate") => PASS_GATE,
            line if line.is_empty() || line.starts_with([';', '.']) || line.ends_with("#:") => 0,
            _ => 1,
        })
        .sum()
}

/// The words of an `immed32`: one, if 16 bits of the constant or of its complement are enough.
fn constant(line: &str) -> usize {
    let digits = line.split("0x").nth(1).map_or("", |rest| rest.trim_end_matches(']'));
    let value = u32::from_str_radix(digits, 16).unwrap_or(0x0001_0001);
    let is_short = |bits: u32| (0..3).any(|bytes| bits.rotate_right(8 * bytes) <= 0xffff);
    if is_short(value) || is_short(!value) { 1 } else { 2 }
}

/// Words of the longer one of the macros of thread.uc.
const CLEAR_TAIL: usize = 42;
const WAIT_AT_GATE: usize = 12;
const PASS_GATE: usize = 17;

/// Where a packet enters a part, from another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Entry {
    Step(usize),
    /// The packet leaves by its egress port.
    Finish,
    /// It leaves by its egress port, and the thread goes on.
    Emit,
    /// The packet ends as `control` says.
    End,
}

impl Entry {
    fn label(self) -> String {
        match self {
            Self::Step(step) => label(step),
            Self::Finish => "finish".into(),
            Self::Emit => "emit".into(),
            Self::End => "end".into(),
        }
    }

    /// Whether it is in a part with these steps.
    fn is_in(self, steps: &[usize]) -> bool {
        match self {
            Self::Step(step) => steps.contains(&step),
            Self::Finish | Self::Emit | Self::End => steps.contains(&0),
        }
    }
}

/// Where the packet goes from a step, and how likely.
fn exits(engine: &Engine, step: usize) -> Vec<(Entry, f64)> {
    let mut exits = Vec::new();
    for op in ops(&engine.steps[step]) {
        let OpKind::Exit(exit) = &op.kind else { continue };
        // Packets that jump back too often end.
        if matches!(exit, Exit::Next(to) if to.index() <= step) {
            exits.push((Entry::End, 0.0));
        }
        exits.push(match exit {
            Exit::Next(to) => (Entry::Step(to.index()), 1.0),
            Exit::Finish => (Entry::Finish, 1.0),
            Exit::Emit(_) => (Entry::Emit, 1.0),
            // Most packets are neither dropped nor sent to the processor core.
            _ => (Entry::End, 0.01),
        });
    }
    let all: f64 = exits.iter().map(|(_, share)| share).sum();
    exits.iter_mut().for_each(|(_, share)| *share /= all.max(1e-9));
    exits
}

/// The steps at which threads go on when a packet has been sent.
fn resumed(engine: &Engine) -> Vec<usize> {
    let exits = engine.steps.iter().flat_map(ops).filter_map(|op| match &op.kind {
        OpKind::Exit(Exit::Emit(to)) => Some(to.index()),
        _ => None,
    });
    let mut steps: Vec<usize> = exits.collect();
    steps.sort_unstable();
    steps.dedup();
    steps
}

/// The share of packets that come through each step, if all exits were equally likely.
pub(super) fn visits(engine: &Engine) -> Vec<f64> {
    let mut visits = vec![0.0; engine.steps.len()];
    if let Some(first) = visits.first_mut() {
        *first = 1.0;
    }
    for step in 0..engine.steps.len() {
        for (entry, share) in exits(engine, step) {
            if let Entry::Step(to) = entry
                && to > step
            {
                visits[to] += visits[step] * share;
            }
        }
    }
    visits
}

/// Cuts the steps into as few parts as control stores of so many words allow, with as few
/// handovers as possible for that number.
///
/// # Errors
/// The number of a step that is too long for any.
pub fn cut(engine: &Engine, steps: &[Written], store: usize) -> Result<Vec<Vec<usize>>, usize> {
    let count = steps.len();
    let routines = routines::all(steps.iter().flat_map(|step| step.routines.clone()));
    let shared: usize = routines.values().map(|routine| routine.words).sum();
    let whole = steps.iter().map(|step| step.words).sum::<usize>() + shared;
    if whole + RUNTIME <= store {
        return Ok(vec![(0..count).collect()]);
    }
    let visits = visits(engine);
    // Steps that end packets and nothing else stand next to what ends them, in the first part.
    let ends = |step: &usize| {
        let exits = exits(engine, *step);
        *step > 0 && exits.iter().all(|(entry, _)| *entry == Entry::End)
    };
    let (last, mut order): (Vec<usize>, Vec<usize>) = (0..count).partition(ends);
    order.splice(1..1, last);
    // What a part takes and hands over, if it can be one.
    let part = |range: &[usize], own: usize| -> Option<f64> {
        let mut handed = 0.0;
        let mut ways: Vec<Entry> = Vec::new();
        for &step in range {
            for (entry, share) in exits(engine, step) {
                if !entry.is_in(range) {
                    handed += visits[step] * share;
                    ways.push(entry);
                }
            }
        }
        ways.sort_unstable();
        ways.dedup();
        // Each of its steps may be entered from another part.
        let entries = range.len();
        let fixed = HANDOVER + if range.contains(&0) { RUNTIME } else { 0 };
        (own + fixed + entries + WAY * ways.len() <= store).then_some(handed)
    };
    // For the first steps: the fewest parts, the handovers, and where the last part begins.
    let mut best: Vec<Option<(usize, f64, usize)>> = vec![None; count + 1];
    best[0] = Some((0, 0.0, 0));
    for end in 1..=count {
        let mut own = 0;
        let mut called = BTreeSet::new();
        for start in (0..end).rev() {
            let step = &steps[order[start]];
            own += step.words + newly_called(&step.routines, &routines, &mut called);
            if own > store {
                break;
            }
            let (Some((parts, before, _)), Some(handed)) =
                (best[start], part(&order[start..end], own))
            else {
                continue;
            };
            let found = (parts + 1, before + handed, start);
            let is_better = best[end].is_none_or(|known| (known.0, known.1) > (found.0, found.1));
            if is_better {
                best[end] = Some(found);
            }
        }
        if best[end].is_none() {
            return Err(order[end - 1]);
        }
    }
    let mut parts = Vec::new();
    let mut end = count;
    while let Some((_, _, start)) = best[end]
        && end > 0
    {
        parts.push(order[start..end].to_vec());
        end = start;
    }
    parts.reverse();
    Ok(parts)
}

/// Adds routines, and those that they call, to those that are called. Returns the words of new ones.
fn newly_called(
    calls: &[Routine],
    all: &BTreeMap<Routine, Written>,
    called: &mut BTreeSet<Routine>,
) -> usize {
    let mut words = 0;
    for routine in calls {
        if called.insert(routine.clone())
            && let Some(written) = all.get(routine)
        {
            words += written.words + newly_called(&written.routines, all, called);
        }
    }
    words
}

/// The entries of a part that other parts use.
fn entries(engine: &Engine, parts: &[Vec<usize>], own: &[usize]) -> Vec<Entry> {
    let others = parts.iter().filter(|part| *part != own).flatten().copied();
    let mut entries: Vec<Entry> = others
        .flat_map(|step| exits(engine, step))
        .map(|(entry, _)| entry)
        .filter(|entry| entry.is_in(own))
        .collect();
    if !own.contains(&0) {
        let steps = resumed(engine).into_iter().filter(|step| own.contains(step));
        entries.extend(steps.map(Entry::Step));
    }
    entries.sort_unstable();
    entries.dedup();
    entries
}

/// Writes what a part has beside receiving and sending: its handovers, if there are several parts,
/// and its steps. A part has so many threads.
pub fn part(
    engine: &Engine,
    steps: &[Written],
    parts: &[Vec<usize>],
    number: usize,
    threads: u32,
) -> String {
    let own = &parts[number];
    let mut text = String::new();
    let called = routines::all(own.iter().flat_map(|step| steps[*step].routines.clone()));
    let all = own.iter().map(|step| &steps[*step]).chain(called.values());
    let shared: BTreeSet<&String> = all.flat_map(|written| &written.shared).collect();
    for name in shared {
        let _ = writeln!(text, ".reg {name}");
    }
    if parts.len() > 1 {
        let begin = if number == 0 { "start" } else { "wait" };
        let _ = writeln!(text, "    br[{begin}#]");
        text.push_str(include_str!("handover.uc"));
        let entries = entries(engine, parts, own);
        if entries.len() > 1 {
            text.push_str("    jump[entry, entries#]\nentries#:\n");
        }
        for entry in entries {
            let _ = writeln!(text, "    br[{}#]", entry.label());
        }
    }
    let mut ways: Vec<Entry> = Vec::new();
    for &step in own {
        text.push_str(&steps[step].text);
        ways.extend(exits(engine, step).into_iter().map(|(entry, _)| entry));
    }
    let resumed = if own.contains(&0) { resumed(engine) } else { Vec::new() };
    if !resumed.is_empty() {
        text.push_str("resume#:\n    .begin\n    .reg at\n");
        for step in &resumed {
            let label = label(*step);
            let _ = writeln!(text, "    immed[at, {step}]\n    alu[--, at, -, resume]");
            let _ = writeln!(text, "    br=0[{label}#]");
        }
        text.push_str("    .end\n    br[end#]\n");
        ways.extend(resumed.into_iter().map(Entry::Step));
    }
    for routine in called.values() {
        text.push_str(&routine.text);
    }
    ways.retain(|entry| !entry.is_in(own));
    ways.sort_unstable();
    ways.dedup();
    for way in ways {
        let other = parts.iter().position(|part| way.is_in(part)).unwrap_or(0);
        let entries = entries(engine, parts, &parts[other]);
        let entry = entries.iter().position(|entry| *entry == way).unwrap_or(0);
        let thread = other as u32 * threads;
        let _ = writeln!(
            text,
            "{}#:\n    immed[partner, {thread}]\n    immed[entry, {entry}]\n    br[hand_over#]",
            way.label()
        );
    }
    text
}
