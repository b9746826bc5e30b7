//! How packets move between the parts of an engine, together with the context that later steps
//! still read.
//!
//! A jump to a step of another part stores the words of these variables and sends the packet. The
//! receiving thread loads them and continues at the step:
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
use super::super::tree::{Binary, Expr, Stmt};
use super::super::types::{Class, Model};
use super::Refused;
use super::engine::{BACKWARD, NEXT, words_of};
use super::message::words;
use super::partition::Partition;
use super::replies::{TICKET_WORDS, TICKETS};

const MODEL: Model = Model::Bits32;
/// The number of words in a thread's local memory for the context of a packet: the area of all
/// replies.
const WORDS: u32 = TICKETS * TICKET_WORDS;
/// The number of entries of a part that a message can address.
const ENTRIES: usize = 256;

/// The handovers of an engine that is cut into parts.
pub struct Handovers<'a> {
    engine: &'a Engine,
    partition: &'a Partition,
    live: Liveness,
    known: KnownContext,
    /// For each step, whether a jump back can follow, so that the count of earlier ones must be
    /// kept.
    counts: Vec<bool>,
}

impl<'a> Handovers<'a> {
    /// Returns the handovers of an engine, or `None` if it is not cut.
    ///
    /// # Errors
    /// If more context crosses a cut than a message carries, or if a part can be entered at too
    /// many steps.
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
                return Err(Refused::step(engine, &engine.steps[entries[0]], &why));
            }
            for step in entries {
                let words = handovers.words(step);
                if words > WORDS {
                    let why = format!(
                        "{words} words of context go over the cut in front of it, and a message carries {WORDS}: cut elsewhere"
                    );
                    return Err(Refused::step(engine, &engine.steps[step], &why));
                }
            }
        }
        Ok(Some(handovers))
    }

    /// Returns the partition of the engine.
    pub fn partition(&self) -> &'a Partition {
        self.partition
    }

    /// Returns the variables that travel with a packet to a step.
    fn variables(&self, step: usize) -> impl Iterator<Item = ContextId> + '_ {
        self.live.kept_in[step].iter()
    }

    fn width(&self, variable: ContextId) -> u32 {
        self.engine.context[variable.index()].width
    }

    /// Returns the number of words that travel with a packet to a step.
    fn words(&self, step: usize) -> u32 {
        let context: u32 = self.variables(step).map(|variable| words(self.width(variable))).sum();
        context + u32::from(self.counts[step])
    }

    /// Returns the statements that hand the packet over to a step of another part. `context` holds
    /// the C expressions of the variables.
    pub fn leave(&self, to: usize, context: &[Expr]) -> Vec<Stmt> {
        let value = |variable: ContextId| {
            MODEL.operand(context[variable.index()].clone(), self.width(variable))
        };
        let mut words: Vec<Expr> =
            self.variables(to).flat_map(|variable| words_of(&value(variable))).collect();
        words.extend(self.counts[to].then(|| Expr::name(BACKWARD)));
        let part = self.partition.part(to);
        let entries = self.entries(part);
        let entry =
            entries.iter().position(|step| *step == Some(to)).expect("the step is an entry");
        let target = [part, entry, words.len()].map(Expr::number);
        let stored = words
            .into_iter()
            .enumerate()
            .map(|(at, word)| Stmt::Assign(context_word(at as u32), word));
        stored.chain([Stmt::call("wl_hand_over", target), Stmt::Goto(NEXT.into())]).collect()
    }

    /// Returns the steps at which a part is entered, indexed by entry number. `None` is the entry
    /// of packets that have just arrived: they enter the first part at its first step, with a
    /// context of zeros.
    fn entries(&self, part: usize) -> Vec<Option<usize>> {
        let arrival = (part == 0).then_some(None);
        arrival
            .into_iter()
            .chain(self.partition.entries(self.engine, part).into_iter().map(Some))
            .collect()
    }

    /// Returns the statements that receive a packet for a part and continue at the step to which it
    /// was handed over.
    pub fn entry(&self, part: usize, context: &[Expr], labels: &[String]) -> Vec<Stmt> {
        let entries = self.entries(part);
        let last = entries.len() - 1;
        let case = |(number, step): (usize, &Option<usize>)| {
            let label = (number != last).then(|| Expr::number(number));
            let mut body = step.map_or_else(Vec::new, |step| self.load(step, context));
            body.push(Stmt::Goto(labels[step.unwrap_or(0)].clone()));
            (label, body)
        };
        let received = Expr::call("wl_receive_part", [Expr::name("p")]);
        vec![Stmt::Switch(received, entries.iter().enumerate().map(case).collect())]
    }

    fn load(&self, step: usize, context: &[Expr]) -> Vec<Stmt> {
        let mut statements = Vec::new();
        let mut at = 0;
        for variable in self.variables(step) {
            let object = &context[variable.index()];
            let mut set = |value| statements.push(Stmt::Assign(object.clone(), value));
            match MODEL.class(self.width(variable)) {
                Class::Bool => set(context_word(at).nonzero()),
                Class::Word(64) => {
                    let high =
                        context_word(at + 1).cast("uint64_t").binary(Binary::Shl, Expr::number(32));
                    set(high.binary(Binary::Or, context_word(at)));
                }
                Class::Wide(n) => {
                    let word = |word| object.clone().member("w").at(word);
                    let stores = (0..n).map(|i| Stmt::Assign(word(i), context_word(at + i)));
                    statements.extend(stores);
                }
                _ => set(self.aligned(step, variable, at)),
            }
            at += words(self.width(variable));
        }
        let count = self.counts[step].then(|| Stmt::Assign(Expr::name(BACKWARD), context_word(at)));
        statements.extend(count);
        statements
    }

    /// Loads a word that travels with a packet. The expression tells the compiler the known values
    /// of the two lowest bits: whether a header begins at a multiple of 4 decides how its fields
    /// are loaded.
    fn aligned(&self, step: usize, variable: ContextId, at: u32) -> Expr {
        let known = &self.known.at(step)[variable.index()];
        let low = Bits::ones(2).resize(known.width());
        match known.value_in(&low) {
            Some(value) => {
                let upper = context_word(at).binary(Binary::And, Expr::number("~3u"));
                upper.binary(Binary::Or, Expr::number(format!("{}u", value.low_u64())))
            }
            None => context_word(at),
        }
    }
}

/// Returns a word that travels with a packet.
fn context_word(at: u32) -> Expr {
    Expr::name("WL_CONTEXT").at(at)
}

/// Returns, for each step, whether a jump to it or an earlier one, or to another such step, can
/// follow.
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
