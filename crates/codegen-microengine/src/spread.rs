//! Spreads steps over several control stores.
//!
//! Consecutive steps are a *part*. Each part has its own engines, and a context for every thread in
//! each of them. A packet goes to another part by a *handover*, in one of two ways:
//!
//! - In a *chain* (version 2) packets go to later parts only, and leave from any of them. The parts
//!   of a chain are on consecutive engines: registers go to next neighbours, and each context works
//!   on its own packet (chain.uc). Packets of a chain keep their order, so none waits for a later
//!   one.
//! - Otherwise the thread's registers go to the frame, and the context of that part gets a signal
//!   (handover.uc). Only one of a thread's contexts runs at a time. The first part receives and
//!   sends.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use wireloom_ir::Engine;

use super::context_handover;
use super::flow::{Entry, exits, label, resumed, targets, visits};
use super::routine::Routine;
use super::written::{self, Written};

/// The words of a part besides its steps: for receiving and sending in the first part, on version 2
/// and on version 1, and for handovers in every part.
const RUNTIME: usize = 240;
const RUNTIME_1: usize = 430;
const HANDOVER: usize = 34;
/// The words with which a part of a chain takes packets from the part before and gives them to the
/// next part.
const CHAIN: usize = 170;
/// The words of a handover to another part: the number of its entry, and a branch.
const WAY: usize = 3;
/// The cost of a wait for a memory to an engine, in instructions. It takes about 100 cycles, in
/// which seven other contexts may run.
const WAIT: f64 = 100.0 / 8.0;
/// Instructions and waits for receiving a packet of 64 bytes, and for sending it (receive2.uc,
/// send2.uc).
const RECEIVE: f64 = 150.0 + 4.0 * WAIT;
const SEND: f64 = 200.0 + 7.0 * WAIT;

/// The assignment of steps to parts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cut {
    /// The steps of each part.
    pub parts: Vec<Vec<usize>>,
    /// Whether the parts are a chain.
    pub is_chain: bool,
}

/// Cuts the steps into as few parts as control stores of `store` words allow. It makes a chain if
/// that has at most `chained` parts, and minimises the work of the busiest part. Otherwise it
/// minimises handovers.
///
/// # Errors
/// The number of a step that is too long for any part.
pub fn cut(engine: &Engine, steps: &[Written], store: usize, chained: usize) -> Result<Cut, usize> {
    let routines = written::routines(steps.iter().flat_map(|step| step.routines.iter().copied()));
    let shared: usize = routines.values().map(|routine| routine.words).sum();
    let whole = steps.iter().map(|step| step.words).sum::<usize>() + shared;
    let runtime = if chained == 0 { RUNTIME_1 } else { RUNTIME };
    if whole + runtime <= store {
        return Ok(Cut { parts: vec![(0..steps.len()).collect()], is_chain: false });
    }
    if chained > 1
        && let Some(parts) = chain(engine, steps, &routines, store)
        && parts.len() <= chained
    {
        return Ok(Cut { parts, is_chain: true });
    }
    let parts = any(engine, steps, &routines, store, runtime)?;
    Ok(Cut { parts, is_chain: false })
}

/// Returns the steps in the order in which they are cut, and the steps that only end packets.
fn partitioned(engine: &Engine) -> (Vec<usize>, Vec<usize>) {
    let ends = |step: &usize| {
        let exits = exits(engine, *step);
        *step > 0 && exits.iter().all(|(entry, _)| *entry == Entry::End)
    };
    let (last, order) = (0..engine.steps.len()).partition(ends);
    (order, last)
}

/// Cuts the steps into a chain. Returns `None` if a loop of steps is too long for a part.
fn chain(
    engine: &Engine,
    steps: &[Written],
    routines: &BTreeMap<Routine, Written>,
    store: usize,
) -> Option<Vec<Vec<usize>>> {
    let visits = visits(engine);
    let (mut order, last) = partitioned(engine);
    order.extend(last);
    let count = order.len();
    let mut places = vec![0; count];
    order.iter().enumerate().for_each(|(place, step)| places[*step] = place);
    let targets = |place: usize| targets(engine, order[place]).map(|step| places[step]);
    // For each step, the first step to which packets go from it or a later one.
    let mut first = vec![count; count + 1];
    for place in (0..count).rev() {
        first[place] = first[place + 1].min(targets(place).min().unwrap_or(count));
    }
    // The work of a part for a packet: instructions, and waits for memories.
    let waits = |written: &Written| written.text.matches("ctx_").count() as f64;
    let load = |place: usize| {
        let step = &steps[order[place]];
        let called = step.routines.iter().filter_map(|routine| routines.get(routine));
        let waits = waits(step) + called.map(waits).sum::<f64>();
        let exits = exits(engine, order[place]).into_iter();
        let sent = exits.filter(|(entry, _)| !matches!(entry, Entry::Step(_)));
        let sent: f64 = sent.map(|(_, share)| share).sum();
        let own = step.words as f64 + WAIT * waits + SEND * sent;
        visits[order[place]] * own + if place == 0 { RECEIVE } else { 0.0 }
    };
    let ways = |from: std::ops::Range<usize>, to: usize| -> usize {
        from.flat_map(targets).filter(|place| *place >= to).collect::<BTreeSet<_>>().len()
    };
    // For the first steps: the fewest parts, the work of the busiest part, and the beginning of the
    // last part.
    let mut best: Vec<Option<(usize, f64, usize)>> = vec![None; count + 1];
    best[0] = Some((0, 0.0, 0));
    for end in 1..=count {
        let (mut own, mut work) = (0, 0.0);
        let mut called = BTreeSet::new();
        for start in (0..end).rev() {
            let step = &steps[order[start]];
            own += step.words + newly_called(&step.routines, routines, &mut called);
            work += load(start);
            if own > store {
                break;
            }
            let Some((parts, most, _)) = best[start] else { continue };
            let fixed = RUNTIME + CHAIN + ways(0..start, start) + WAY * ways(0..end, end);
            if own + fixed > store || first[start] < start {
                continue;
            }
            let found = (parts + 1, f64::max(most, work), start);
            if best[end].is_none_or(|known| (known.0, known.1) > (found.0, found.1)) {
                best[end] = Some(found);
            }
        }
    }
    traced(&order, |end| best[end].map(|(_, _, start)| start))
}

/// Returns the parts of steps, if the beginning of the last part is known for each end.
fn traced(order: &[usize], start: impl Fn(usize) -> Option<usize>) -> Option<Vec<Vec<usize>>> {
    let mut parts = Vec::new();
    let mut end = order.len();
    while end > 0 {
        let start = start(end)?;
        parts.push(order[start..end].to_vec());
        end = start;
    }
    parts.reverse();
    Some(parts)
}

/// Cuts the steps with as few handovers as possible.
fn any(
    engine: &Engine,
    steps: &[Written],
    routines: &BTreeMap<Routine, Written>,
    store: usize,
    runtime: usize,
) -> Result<Vec<Vec<usize>>, usize> {
    let visits = visits(engine);
    // Steps that only end packets are next to the runtime that ends them, in the first part.
    let (mut order, last) = partitioned(engine);
    order.splice(1..1, last);
    let count = order.len();
    // The packets that a part takes and hands over, if it can be a part.
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
        // Each of its steps may be an entry from another part.
        let entries = range.len();
        let fixed = HANDOVER + if range.contains(&0) { runtime } else { 0 };
        (own + fixed + entries + WAY * ways.len() <= store).then_some(handed)
    };
    // For the first steps: the fewest parts, the handovers, and the beginning of the last part.
    let mut best: Vec<Option<(usize, f64, usize)>> = vec![None; count + 1];
    best[0] = Some((0, 0.0, 0));
    for end in 1..=count {
        let mut own = 0;
        let mut called = BTreeSet::new();
        for start in (0..end).rev() {
            let step = &steps[order[start]];
            own += step.words + newly_called(&step.routines, routines, &mut called);
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
    let parts = traced(&order, |end| best[end].map(|(_, _, start)| start));
    Ok(parts.unwrap_or_default())
}

/// Adds routines, and the routines that they call, to the called ones. Returns the words of the new
/// ones.
fn newly_called(
    calls: &[Routine],
    all: &BTreeMap<Routine, Written>,
    called: &mut BTreeSet<Routine>,
) -> usize {
    let mut words = 0;
    for routine in calls {
        if called.insert(*routine)
            && let Some(written) = all.get(routine)
        {
            words += written.words + newly_called(&written.routines, all, called);
        }
    }
    words
}

impl Cut {
    /// Returns the part of a step.
    fn part_of(&self, step: usize) -> usize {
        self.parts.iter().position(|part| part.contains(&step)).unwrap_or(0)
    }

    /// Returns the entries of a part that other parts use. In a chain these include the entries of
    /// later parts, since packets go through each part.
    fn entries(&self, engine: &Engine, number: usize) -> Vec<Entry> {
        let own = &self.parts[number];
        let mut entries: Vec<Entry> = if self.is_chain {
            let before = self.parts[..number].iter().flatten();
            let steps = before.flat_map(|step| targets(engine, *step));
            steps.filter(|step| self.part_of(*step) >= number).map(Entry::Step).collect()
        } else {
            let others = self.parts.iter().filter(|part| *part != own).flatten();
            let exits = others.flat_map(|step| exits(engine, *step)).map(|(entry, _)| entry);
            let mut entries: Vec<Entry> = exits.filter(|entry| entry.is_in(own)).collect();
            if !own.contains(&0) {
                let steps = resumed(engine, self.parts.iter().flatten()).into_iter();
                let steps = steps.filter(|step| own.contains(step));
                entries.extend(steps.map(Entry::Step));
            }
            entries
        };
        entries.sort_unstable();
        entries.dedup();
        entries
    }

    /// Returns the words of local memory that packets bring to a part of a chain.
    fn carried(&self, engine: &Engine, live: &[BTreeSet<u32>], number: usize) -> BTreeSet<u32> {
        if number == 0 || number == self.parts.len() {
            return BTreeSet::new();
        }
        let entries = self.entries(engine, number).into_iter();
        let words = entries.filter_map(|entry| match entry {
            Entry::Step(step) => Some(&live[step]),
            _ => None,
        });
        words.flatten().copied().collect()
    }

    /// Returns the steps at which threads of a part continue after a packet has been sent.
    fn resumed(&self, engine: &Engine, number: usize) -> Vec<usize> {
        let own = &self.parts[number];
        match self.is_chain {
            true => resumed(engine, own),
            false if own.contains(&0) => resumed(engine, self.parts.iter().flatten()),
            false => Vec::new(),
        }
    }

    /// Returns the handovers from a part to others.
    fn ways(&self, engine: &Engine, number: usize) -> Vec<Entry> {
        let own = &self.parts[number];
        let mut ways: Vec<Entry> = if self.is_chain {
            let steps = own.iter().flat_map(|step| targets(engine, *step)).map(Entry::Step);
            steps.chain(self.entries(engine, number)).collect()
        } else {
            let exits = own.iter().flat_map(|step| exits(engine, *step)).map(|(entry, _)| entry);
            let resumed = self.resumed(engine, number).into_iter().map(Entry::Step);
            exits.chain(resumed).collect()
        };
        ways.retain(|entry| !entry.is_in(own));
        if self.is_chain {
            ways.retain(|entry| matches!(entry, Entry::Step(_)));
        }
        ways.sort_unstable();
        ways.dedup();
        ways
    }

    /// Writes the handovers and the steps of a part, which has `threads` threads.
    pub fn part(
        &self,
        engine: &Engine,
        steps: &[Written],
        live: &[BTreeSet<u32>],
        number: usize,
        threads: u32,
    ) -> String {
        let own = &self.parts[number];
        let mut text = String::new();
        let called =
            written::routines(own.iter().flat_map(|step| steps[*step].routines.iter().copied()));
        let all = own.iter().map(|step| &steps[*step]).chain(called.values());
        let shared: BTreeSet<&String> = all.flat_map(|written| &written.shared).collect();
        for name in shared {
            let _ = writeln!(text, ".reg {name}");
        }
        if self.parts.len() > 1 {
            let begin = match (number, self.is_chain) {
                (0, _) => "start",
                (_, true) => "receive",
                (_, false) => "wait",
            };
            let _ = writeln!(text, "    br[{begin}#]");
            if self.is_chain {
                let carried = |part| self.carried(engine, live, part);
                text.push_str(&context_handover::macros("give", &carried(number + 1), true));
                text.push_str(&context_handover::macros("take", &carried(number), false));
            }
            text.push_str(match self.is_chain {
                true => include_str!("chain.uc"),
                false => include_str!("handover.uc"),
            });
            let entries = self.entries(engine, number);
            if entries.len() > 1 {
                text.push_str("    jump[entry, entries#]\nentries#:\n");
            }
            for entry in entries {
                let _ = writeln!(text, "    br[{}#]", entry.label());
            }
        }
        own.iter().for_each(|step| text.push_str(&steps[*step].text));
        let resumed = self.resumed(engine, number);
        let goes_on = match self.is_chain {
            true => wireloom_codegen::context::emits(engine),
            false => !resumed.is_empty(),
        };
        if goes_on {
            text.push_str("resume#:\n    .begin\n    .reg at\n");
            for step in &resumed {
                let label = label(*step);
                let _ = writeln!(text, "    immed[at, {step}]\n    alu[--, at, -, resume]");
                let _ = writeln!(text, "    br=0[{label}#]");
            }
            text.push_str("    .end\n    br[end#]\n");
        }
        for routine in called.values() {
            text.push_str(&routine.text);
        }
        for way in self.ways(engine, number) {
            let other = match self.is_chain {
                true => number + 1,
                false => self.parts.iter().position(|part| way.is_in(part)).unwrap_or(0),
            };
            let entries = self.entries(engine, other);
            let entry = entries.iter().position(|entry| *entry == way).unwrap_or(0);
            let _ = writeln!(text, "{}#:", way.label());
            if !self.is_chain {
                let _ = writeln!(text, "    immed[partner, {}]", other as u32 * threads);
            }
            let _ = writeln!(text, "    immed[entry, {entry}]\n    br[hand_over#]");
        }
        text
    }
}
