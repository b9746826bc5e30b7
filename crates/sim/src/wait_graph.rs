//! The wait graph of a stuck machine.
//!
//! A running machine keeps no such graph. When it is stuck, it is asked for one
//! ([`Watched::waits`]). The report shows cycles (deadlocks) or, if there are none, the parties
//! that block all others.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::ControlFlow;

use crate::{Kernel, Model, Observer, Stop, Time};

/// Waits, collected from a machine and its parts.
#[derive(Clone, Debug, Default)]
pub struct WaitGraph {
    list: Vec<Wait>,
}

/// A wait of one party for another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wait {
    /// The waiting party, such as "processor 3 thread 5".
    pub who: String,
    /// The party that it waits for. If that party waits too, this equals its `who`.
    pub on: String,
    /// The reason, such as "the reply to a search".
    pub why: String,
}

impl WaitGraph {
    /// Adds a wait.
    pub fn add(&mut self, who: impl Into<String>, on: impl Into<String>, why: impl Into<String>) {
        self.list.push(Wait { who: who.into(), on: on.into(), why: why.into() });
    }

    /// Returns the cycles of waits, and the parties that block others and wait for nothing.
    pub fn report(&self) -> WaitAnalysis {
        let graph = Graph::new(&self.list);
        let mut cycles = Vec::new();
        // Each wait is visited once. A walk follows waits until it meets itself, an earlier walk,
        // or a party that waits for nothing.
        let mut seen_in = vec![usize::MAX; graph.names.len()];
        for start in 0..graph.names.len() {
            let mut stack = vec![(start, 0)];
            let mut path: Vec<usize> = Vec::new();
            while let Some((name, next)) = stack.pop() {
                if next == 0 {
                    if seen_in[name] != usize::MAX {
                        continue;
                    }
                    seen_in[name] = start;
                }
                let Some(&wait) = graph.waits_of[name].get(next) else {
                    path.pop();
                    continue;
                };
                stack.push((name, next + 1));
                path.truncate(stack.len() - 1);
                path.push(wait);
                let on = graph.ends[wait].1;
                match stack.iter().position(|(other, _)| *other == on) {
                    Some(begin) => cycles
                        .push(path[begin..].iter().map(|wait| self.list[*wait].clone()).collect()),
                    None if seen_in[on] == usize::MAX => stack.push((on, 0)),
                    None => {}
                }
            }
        }
        WaitAnalysis { waits: self.list.len(), cycles, blockers: self.blockers(&graph) }
    }

    fn blockers(&self, graph: &Graph) -> Vec<Blocker> {
        let mut blockers: Vec<Blocker> = Vec::new();
        for (name, text) in graph.names.iter().enumerate() {
            if !graph.waits_of[name].is_empty() {
                continue;
            }
            // All parties that wait for it, directly or indirectly, nearest first. The last one's
            // path is the longest chain.
            let mut towards = BTreeMap::new();
            let mut order = vec![name];
            let mut next = 0;
            while let Some(&reached) = order.get(next) {
                next += 1;
                for &wait in &graph.waits_on[reached] {
                    let who = graph.ends[wait].0;
                    towards.entry(who).or_insert_with(|| {
                        order.push(who);
                        wait
                    });
                }
            }
            let mut chain = Vec::new();
            let mut at = order[order.len() - 1];
            while let Some(&wait) = towards.get(&at) {
                chain.push(self.list[wait].clone());
                at = graph.ends[wait].1;
            }
            blockers.push(Blocker { who: (*text).to_owned(), waiting: order.len() - 1, chain });
        }
        blockers.sort_by_key(|blocker| std::cmp::Reverse(blocker.waiting));
        blockers
    }
}

/// A wait graph with numbers for names.
struct Graph<'a> {
    names: Vec<&'a str>,
    /// The two ends of each wait: waiter and blocker.
    ends: Vec<(usize, usize)>,
    waits_of: Vec<Vec<usize>>,
    waits_on: Vec<Vec<usize>>,
}

impl<'a> Graph<'a> {
    fn new(list: &'a [Wait]) -> Self {
        let mut numbers = BTreeMap::new();
        let mut names = Vec::new();
        let mut number = |name: &'a str| {
            *numbers.entry(name).or_insert_with(|| {
                names.push(name);
                names.len() - 1
            })
        };
        let ends: Vec<_> = list.iter().map(|wait| (number(&wait.who), number(&wait.on))).collect();
        let (mut waits_of, mut waits_on) =
            (vec![Vec::new(); names.len()], vec![Vec::new(); names.len()]);
        for (wait, (who, on)) in ends.iter().enumerate() {
            waits_of[*who].push(wait);
            waits_on[*on].push(wait);
        }
        Self { names, ends, waits_of, waits_on }
    }
}

/// An analysis of the waits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WaitAnalysis {
    pub waits: usize,
    /// Cycles of waits: each party waits for the next one, the last for the first. Of cycles that
    /// share a wait, at least one is shown.
    pub cycles: Vec<Vec<Wait>>,
    /// Parties that block others and wait for nothing, those with the most waiters first.
    pub blockers: Vec<Blocker>,
}

/// A party that others wait for and that waits for nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Blocker {
    pub who: String,
    /// The number of parties that wait for it, directly or indirectly.
    pub waiting: usize,
    /// One of the longest chains of waits that end at this party.
    pub chain: Vec<Wait>,
}

/// The maximum number of cycles, and of blockers, that are shown. Hundreds may be alike.
const SHOWN: usize = 5;

impl fmt::Display for WaitAnalysis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lines = |f: &mut fmt::Formatter<'_>, waits: &[Wait]| {
            waits.iter().try_for_each(|wait| {
                write!(f, "\n  {} waits for {}: {}", wait.who, wait.on, wait.why)
            })
        };
        if self.waits == 0 {
            return write!(f, "no party reports a wait");
        }
        let mut between = "";
        for cycle in self.cycles.iter().take(SHOWN) {
            write!(f, "{between}deadlock, a cycle of {}:", cycle.len())?;
            lines(f, cycle)?;
            between = "\n";
        }
        if self.cycles.len() > SHOWN {
            write!(f, "\n{} more cycles", self.cycles.len() - SHOWN)?;
        }
        for blocker in self.blockers.iter().take(SHOWN) {
            write!(
                f,
                "{between}{} waits for none and blocks {}, such as",
                blocker.who, blocker.waiting
            )?;
            lines(f, &blocker.chain)?;
            between = "\n";
        }
        if self.blockers.len() > SHOWN {
            write!(f, "\n{} more that block others", self.blockers.len() - SHOWN)?;
        }
        Ok(())
    }
}

/// A machine that reports its progress.
pub trait Watched: Model {
    /// The number of work items, such as packets, that have begun and not ended.
    fn outstanding(&self) -> u64;

    /// Returns a number that changes with every step of the machine, such as the number of
    /// instructions.
    fn progress(&self) -> u64;

    /// Returns a number that changes when steps lead to a result, such as the number of finished
    /// packets.
    fn results(&self) -> u64 {
        self.progress()
    }

    /// Adds all waits to the graph. Called only when there is no progress.
    fn waits(&self, waits: &mut WaitGraph);
}

/// The error of a machine that makes no progress although it has work.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("stuck at {at}: {outstanding} begun and not ended, {}\n{report}", if *.is_silent { "and no event is left".to_owned() } else { format!("without progress since {since}") })]
pub struct Stuck {
    /// The time at which this was detected.
    pub at: Time,
    /// The time of the last progress.
    pub since: Time,
    /// The number of work items that have begun and not ended.
    pub outstanding: u64,
    /// Whether no unit is awake and no event is pending. Otherwise the machine is active without
    /// results.
    pub is_silent: bool,
    /// The wait graph's analysis.
    pub report: WaitAnalysis,
}

/// The time without progress after which a machine is stuck.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Patience {
    /// The limit without a step ([`Watched::progress`]).
    pub idle: Time,
    /// The limit with steps that lead to no result ([`Watched::results`]), such as an endless loop.
    pub busy: Time,
}

/// Watches the progress of a machine. It keeps its state between runs, so that many short runs are
/// watched like one long run.
#[derive(Clone, Debug)]
pub struct Watchdog {
    patience: Patience,
    steps: Seen,
    results: Seen,
    /// Whether the machine had work at the last check.
    had_work: bool,
}

/// A number, and the time of its last change.
#[derive(Clone, Copy, Debug, Default)]
struct Seen {
    number: u64,
    since: Time,
}

impl Seen {
    /// Updates the number at a time. `is_excused` means that it did not have to change.
    fn note(&mut self, number: u64, now: Time, is_excused: bool) {
        if self.number != number || is_excused {
            *self = Self { number, since: now };
        }
    }
}

impl Watchdog {
    /// Creates a watchdog for a machine that has done nothing yet.
    pub fn new(patience: Patience) -> Self {
        Self { patience, steps: Seen::default(), results: Seen::default(), had_work: false }
    }

    /// Returns the time at which the machine counts as stuck if it makes no progress until then.
    fn deadline(&self) -> Time {
        let after = |seen: Seen, patience: Time| seen.since.0.saturating_add(patience.0.max(1));
        let Patience { idle, busy } = self.patience;
        Time(after(self.steps, idle).min(after(self.results, busy)))
    }

    /// Runs a machine until a time.
    ///
    /// # Errors
    /// If the machine has work and no event or cycle is left, or if it makes no progress for longer
    /// than the watchdog's patience.
    pub fn run<M: Watched>(
        &mut self,
        kernel: &mut Kernel<M::Event>,
        machine: &mut M,
        until: Time,
    ) -> Result<Stop, Box<Stuck>> {
        let ControlFlow::Continue(stop) = self.observe(kernel, machine, until, &mut ())?;
        Ok(stop)
    }

    /// Runs a machine as [`run`](Self::run) does, under an observer that can break the run
    /// ([`Kernel::observe`]).
    ///
    /// # Errors
    /// See [`run`](Self::run).
    pub fn observe<M: Watched, O: Observer<M>>(
        &mut self,
        kernel: &mut Kernel<M::Event>,
        machine: &mut M,
        until: Time,
        observer: &mut O,
    ) -> Result<ControlFlow<O::Break, Stop>, Box<Stuck>> {
        loop {
            self.note(machine, kernel.now());
            let until_then = self.deadline().max(kernel.now()).min(until);
            let stop = match kernel.observe(machine, until_then, observer) {
                ControlFlow::Continue(stop) => stop,
                ControlFlow::Break(reason) => return Ok(ControlFlow::Break(reason)),
            };
            let (now, outstanding) = (kernel.now(), machine.outstanding());
            self.note(machine, now);
            let is_silent = match stop {
                Stop::Silent if outstanding > 0 => true,
                Stop::Reached if now >= self.deadline() => false,
                Stop::Reached if now < until => continue,
                _ => return Ok(ControlFlow::Continue(stop)),
            };
            let mut waits = WaitGraph::default();
            machine.waits(&mut waits);
            let since = self.steps.since.min(self.results.since);
            return Err(Box::new(Stuck {
                at: now,
                since,
                outstanding,
                is_silent,
                report: waits.report(),
            }));
        }
    }

    /// Checks the machine. Work that was not there at the last check may have just arrived.
    fn note<M: Watched>(&mut self, machine: &M, now: Time) {
        let has_work = machine.outstanding() > 0;
        let is_excused = !(has_work && self.had_work);
        self.steps.note(machine.progress(), now, is_excused);
        self.results.note(machine.results(), now, is_excused);
        self.had_work = has_work;
    }
}

/// Runs a machine until a time with its own watchdog, which requires a step within `patience`, at
/// least a picosecond.
///
/// # Errors
/// As [`Watchdog::run`].
pub fn run_watched<M: Watched>(
    kernel: &mut Kernel<M::Event>,
    machine: &mut M,
    until: Time,
    patience: Time,
) -> Result<Stop, Box<Stuck>> {
    Watchdog::new(Patience { idle: patience, busy: patience }).run(kernel, machine, until)
}

#[cfg(test)]
mod tests;
