//! Who waits for whom, when nothing goes on any more.
//!
//! A running machine keeps no such list. When it is stuck it is asked for one ([`Watched::waits`]), and the report shows circles (deadlocks) and, where
//! there are none, who it is that everybody waits for.

use std::collections::BTreeMap;
use std::fmt;

use crate::{Kernel, Model, Stop, Time};

/// Waits, gathered from a machine and its parts.
#[derive(Clone, Debug, Default)]
pub struct Waits {
    list: Vec<Wait>,
}

/// Somebody waits for somebody.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wait {
    /// Who, such as "processor 3 thread 5".
    pub who: String,
    /// For whom, by the name under which that one waits itself, if it does.
    pub on: String,
    /// For what: "the reply to a search".
    pub why: String,
}

impl Waits {
    /// Another one.
    pub fn add(&mut self, who: impl Into<String>, on: impl Into<String>, why: impl Into<String>) {
        self.list.push(Wait { who: who.into(), on: on.into(), why: why.into() });
    }

    /// Circles, and those who keep others waiting without waiting themselves.
    pub fn report(&self) -> Report {
        let graph = Graph::new(&self.list);
        let mut circles = Vec::new();
        // Each wait is looked at once: a walk follows waits until it meets itself, a walk before it, or somebody who waits for nobody.
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
                    Some(begin) => {
                        circles.push(path[begin..].iter().map(|wait| self.list[*wait].clone()).collect())
                    }
                    None if seen_in[on] == usize::MAX => stack.push((on, 0)),
                    None => {}
                }
            }
        }
        Report { waits: self.list.len(), circles, blockers: self.blockers(&graph) }
    }

    fn blockers(&self, graph: &Graph) -> Vec<Blocker> {
        let mut blockers: Vec<Blocker> = Vec::new();
        for (name, text) in graph.names.iter().enumerate() {
            if !graph.waits_of[name].is_empty() {
                continue;
            }
            // All that wait for it, directly or through others, nearest first; the last one's way is the longest chain.
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

/// Waits by the numbers of their names.
struct Graph<'a> {
    names: Vec<&'a str>,
    /// From and to of each wait.
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
        let (mut waits_of, mut waits_on) = (vec![Vec::new(); names.len()], vec![Vec::new(); names.len()]);
        for (wait, (who, on)) in ends.iter().enumerate() {
            waits_of[*who].push(wait);
            waits_on[*on].push(wait);
        }
        Self { names, ends, waits_of, waits_on }
    }
}

/// What waits come to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// How many waits there are.
    pub waits: usize,
    /// Circles: each waits for the next, the last for the first. Of circles that share a wait, one or more are shown.
    pub circles: Vec<Vec<Wait>>,
    /// Who keeps others waiting and waits for nobody, most of them first.
    pub blockers: Vec<Blocker>,
}

/// Somebody for whom others wait and who waits for nobody.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Blocker {
    /// Who.
    pub who: String,
    /// How many wait for it, directly or not.
    pub waiting: usize,
    /// One of the longest chains of waits that end with it.
    pub chain: Vec<Wait>,
}

/// Circles and blockers that are shown; there may be hundreds alike.
const SHOWN: usize = 5;

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lines = |f: &mut fmt::Formatter<'_>, waits: &[Wait]| {
            waits
                .iter()
                .try_for_each(|wait| write!(f, "\n  {} waits for {}: {}", wait.who, wait.on, wait.why))
        };
        if self.waits == 0 {
            return write!(f, "nobody says what it waits for");
        }
        let mut between = "";
        for circle in self.circles.iter().take(SHOWN) {
            write!(f, "{between}deadlock, a circle of {}:", circle.len())?;
            lines(f, circle)?;
            between = "\n";
        }
        if self.circles.len() > SHOWN {
            write!(f, "\n{} more circles", self.circles.len() - SHOWN)?;
        }
        for blocker in self.blockers.iter().take(SHOWN) {
            write!(
                f,
                "{between}{} waits for nobody, and so many for it: {}; such as",
                blocker.who, blocker.waiting
            )?;
            lines(f, &blocker.chain)?;
            between = "\n";
        }
        if self.blockers.len() > SHOWN {
            write!(f, "\n{} more for whom others wait", self.blockers.len() - SHOWN)?;
        }
        Ok(())
    }
}

/// A machine that can tell whether it gets on.
pub trait Watched: Model {
    /// Pieces of work that have begun and not ended: packets.
    fn outstanding(&self) -> u64;

    /// A number that changes whenever the machine gets on: packets done.
    fn progress(&self) -> u64;

    /// Who waits for whom; asked for only when nothing goes on.
    fn waits(&self, waits: &mut Waits);
}

/// A machine does not get on although it has work.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("stuck at {at}: {outstanding} begun and not ended, {}\n{report}", if *.is_silent { "and nothing will ever happen again".to_owned() } else { format!("none since {since}") })]
pub struct Stuck {
    /// When that was seen.
    pub at: Time,
    /// When it was last seen to get on.
    pub since: Time,
    /// Pieces of work begun and not ended.
    pub outstanding: u64,
    /// Whether nobody is awake and nothing on its way. Otherwise something goes on that leads to nothing.
    pub is_silent: bool,
    /// Who waits for whom.
    pub report: Report,
}

/// Runs a machine until a time; looks every so often (`patience`, a picosecond or more) whether it gets on.
///
/// # Errors
/// If it has work and nothing will ever happen, or for as long as `patience` it did not get on.
pub fn run_watched<M: Watched>(
    kernel: &mut Kernel<M::Event>,
    machine: &mut M,
    until: Time,
    patience: Time,
) -> Result<Stop, Box<Stuck>> {
    let (mut progress, mut since) = (machine.progress(), kernel.now());
    loop {
        let look = Time(since.0.saturating_add(patience.0.max(1))).min(until);
        let stop = kernel.run(machine, look);
        let (now, outstanding) = (kernel.now(), machine.outstanding());
        let gets_on = machine.progress() != progress || outstanding == 0;
        let is_silent = match stop {
            Stop::Silent if outstanding > 0 => true,
            Stop::Reached if now < until && !gets_on => false,
            Stop::Reached if now < until => {
                (progress, since) = (machine.progress(), now);
                continue;
            }
            _ => return Ok(stop),
        };
        let mut waits = Waits::default();
        machine.waits(&mut waits);
        return Err(Box::new(Stuck { at: now, since, outstanding, is_silent, report: waits.report() }));
    }
}

#[cfg(test)]
mod tests;
