//! How packets go from one part of an engine to another: with the context that the steps to come still read.
//!
//! A jump to a step of another part stores the words of these variables, and sends the packet. The thread that gets it loads them and
//! goes on at the step:
//!
//! ```text
//! WL_CONTEXT[0] = c_l3;             switch (wl_receive_part(p)) {
//! WL_CONTEXT[1] = c_next_hop;       default: /* Step `route`. */
//! wl_hand_over(1, 0, 2);       ->       c_l3 = (WL_CONTEXT[0] & ~3u) | 2u;
//! goto next;                            c_next_hop = WL_CONTEXT[1];
//!                                       goto step_route;
//! ```

use wireloom_bits::Bits;
use wireloom_compile::analysis::context::KnownContext;
use wireloom_compile::analysis::liveness::Liveness;
use wireloom_ir::{ContextId, Engine};

use super::super::plan::successors;
use super::super::types::{Class, Model};
use super::engine::word_texts;
use super::message::words;
use super::partition::Partition;
use super::replies::{TICKET_WORDS, TICKETS};
use super::{Refused, cut_sentence};

const MODEL: Model = Model::Bits32;
/// Words of a thread's local store for what goes with a packet: those of all replies.
const WORDS: u32 = TICKETS * TICKET_WORDS;
/// Entries of a part that a message can name.
const ENTRIES: usize = 256;

/// The hand-overs of an engine that is cut.
pub struct Handovers<'a> {
    engine: &'a Engine,
    partition: &'a Partition,
    live: Liveness,
    known: KnownContext,
    /// Of each step: whether a jump back can follow, so that the count of those so far matters.
    counts: Vec<bool>,
}

impl<'a> Handovers<'a> {
    /// Those of an engine, if it is cut.
    ///
    /// # Errors
    /// If more context goes over a cut than a message carries, or a part can be entered at too many steps.
    pub fn new(engine: &'a Engine, partition: &'a Partition) -> Result<Option<Self>, Refused> {
        if partition.parts() == 1 {
            return Ok(None);
        }
        let (live, known) = (Liveness::of(engine), KnownContext::of(engine));
        let handovers = Self { engine, partition, live, known, counts: jumps_back(engine) };
        for part in 0..partition.parts() {
            let entries = partition.entries(engine, part);
            if entries.len() >= ENTRIES {
                let why = format!(
                    "{} steps are entered from other parts; {} can be: cut less",
                    entries.len(),
                    ENTRIES - 1
                );
                return Err(cut_sentence(engine, entries[0], &why));
            }
            for step in entries {
                let words = handovers.words(step);
                if words > WORDS {
                    let why = format!(
                        "{words} words of context go over the cut in front of it, and a message carries {WORDS}: cut elsewhere"
                    );
                    return Err(cut_sentence(engine, step, &why));
                }
            }
        }
        Ok(Some(handovers))
    }

    /// How the engine is cut.
    pub fn partition(&self) -> &'a Partition {
        self.partition
    }

    /// The variables that go with a packet to a step.
    fn variables(&self, step: usize) -> impl Iterator<Item = ContextId> + '_ {
        self.live.kept_in[step].iter()
    }

    fn width(&self, variable: ContextId) -> u32 {
        self.engine.context[variable.index()].width
    }

    /// Words that go with a packet to a step.
    fn words(&self, step: usize) -> u32 {
        let context: u32 = self.variables(step).map(|variable| words(self.width(variable))).sum();
        context + u32::from(self.counts[step])
    }

    /// Statements that hand the packet over to a step of another part. `context` are the variables as C has them.
    pub fn leave(&self, to: usize, context: &[String]) -> Vec<String> {
        let text = |variable: ContextId| MODEL.atom(&context[variable.index()], self.width(variable));
        let mut words: Vec<String> =
            self.variables(to).flat_map(|variable| word_texts(&text(variable))).collect();
        words.extend(self.counts[to].then(|| "backward".to_owned()));
        let mut lines: Vec<String> =
            words.iter().enumerate().map(|(at, word)| format!("WL_CONTEXT[{at}] = {word};")).collect();
        let part = self.partition.part(to);
        let entries = self.entries(part);
        let entry = entries.iter().position(|step| *step == Some(to)).expect("the step is an entry");
        lines.push(format!("wl_hand_over({part}, {entry}, {});", words.len()));
        lines.push("goto next;".to_owned());
        lines
    }

    /// The steps at which a part is entered, by the numbers of the entries. Packets that have just arrived enter the first part at its
    /// first step, with a context of zeros: `None`.
    fn entries(&self, part: usize) -> Vec<Option<usize>> {
        let arrival = (part == 0).then_some(None);
        arrival.into_iter().chain(self.partition.entries(self.engine, part).into_iter().map(Some)).collect()
    }

    /// Statements that receive a packet of a part and go on where it was handed over.
    pub fn entry(&self, part: usize, context: &[String], labels: &[String]) -> Vec<String> {
        let mut lines = vec!["switch (wl_receive_part(p)) {".to_owned()];
        let entries = self.entries(part);
        for (number, step) in entries.iter().enumerate() {
            lines.push(if number + 1 == entries.len() {
                "default:".to_owned()
            } else {
                format!("case {number}:")
            });
            if let Some(step) = *step {
                lines.extend(self.load(step, context).into_iter().map(|line| format!("    {line}")));
            }
            lines.push(format!("    goto {};", labels[step.unwrap_or(0)]));
        }
        lines.push("}".to_owned());
        lines
    }

    fn load(&self, step: usize, context: &[String]) -> Vec<String> {
        let mut lines = Vec::new();
        let mut at = 0;
        for variable in self.variables(step) {
            let name = &context[variable.index()];
            match MODEL.class(self.width(variable)) {
                Class::Bool => lines.push(format!("{name} = WL_CONTEXT[{at}] != 0;")),
                Class::Word(64) => {
                    lines
                        .push(format!("{name} = (uint64_t)WL_CONTEXT[{}] << 32 | WL_CONTEXT[{at}];", at + 1));
                }
                Class::Wide(n) => {
                    lines.extend((0..n).map(|word| format!("{name}.w[{word}] = WL_CONTEXT[{}];", at + word)));
                }
                _ => lines.push(format!("{name} = {};", self.aligned(step, variable, at))),
            }
            at += words(self.width(variable));
        }
        lines.extend(self.counts[step].then(|| format!("backward = WL_CONTEXT[{at}];")));
        lines
    }

    /// A word that goes with a packet. What is certain of its two lowest bits is said to the compiler: whether a header begins at a
    /// multiple of 4 decides how its fields are loaded.
    fn aligned(&self, step: usize, variable: ContextId, at: u32) -> String {
        let known = &self.known.at(step)[variable.index()];
        let low = Bits::ones(2).resize(known.width());
        match known.value_in(&low) {
            Some(value) => format!("(WL_CONTEXT[{at}] & ~3u) | {}u", value.low_u64()),
            None => format!("WL_CONTEXT[{at}]"),
        }
    }
}

/// Of each step: whether a jump to it or an earlier one, or to another such step, can follow.
fn jumps_back(engine: &Engine) -> Vec<bool> {
    let mut follows = vec![false; engine.steps.len()];
    loop {
        let before = follows.clone();
        for (index, step) in engine.steps.iter().enumerate().rev() {
            follows[index] |= successors(step).any(|to| to <= index || before[to] || follows[to]);
        }
        if before == follows {
            return follows;
        }
    }
}
