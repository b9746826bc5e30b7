//! Assertions over traces, in a small language of their own.
//!
//! ```text
//! # Comments go to the end of the line.
//! answered:  every issue has one done
//! least:     issue to done of sram read takes at least 18
//! in_order:  start of sram ordered follows arrive by unit
//! signalled: run needs signal
//! width:     push of sdram by bus carries at most 2
//! ```
//!
//! A rule has a name and one of five forms. `EVENT` is one of the events of a trace (`issue`,
//! `arrive`, `start`, `pull`, `push`, `done`, `signal`, `run`); words after `of` select commands by
//! unit, operation or promised order, and all of them must hold. The page docs/machines/ixp.md
//! explains each form.

mod check;
mod parse;

pub use check::check;
pub use parse::{Malformed, parse};

use wireloom_isa::microengine::{Order, Unit};

use crate::trace::{Event, What};

/// The rules of every machine, whatever its description and program.
pub const RULES: &str = include_str!("rules.txt");

/// Returns the rules of every machine.
pub fn rules() -> Vec<Rule> {
    parse(RULES).expect("rules.txt has rules: a test holds it")
}

/// A rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rule {
    /// Its name.
    pub name: String,
    /// What it demands.
    pub demand: Demand,
}

/// What a rule demands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Demand {
    /// Each command with the first event has the second one once, unless the trace ends before.
    Once(Selection, What),
    /// From the first event of a command to the second one there are at least, or at most, this
    /// many cycles.
    Takes { from: What, to: Selection, limit: Limit },
    /// Commands have the event in the order in which they had the other, in each group.
    Follows { what: Selection, before: What, by: Group },
    /// A context runs only after the signals that it waited for.
    Signalled,
    /// In a cycle the events of a group have at most this many words in all.
    Carries { what: Selection, by: Group, most: u64 },
}

/// A limit on cycles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// At least.
    Least(u64),
    /// At most.
    Most(u64),
}

/// Events of some commands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Selection {
    /// The event.
    pub what: What,
    /// The unit.
    pub unit: Option<Unit>,
    /// The name of the operation.
    pub operation: Option<String>,
    /// The promised order.
    pub order: Option<Order>,
}

/// What is looked at apart from others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Group {
    /// Everything together.
    All,
    /// Units.
    Unit,
    /// Pairs of buses: that of SDRAM, and that of all others.
    Bus,
    /// Contexts, at each unit.
    Context,
}

impl Selection {
    /// Whether an event is among them.
    pub fn has(&self, event: &Event) -> bool {
        let Some(command) = &event.command else { return false };
        event.what == self.what
            && self.unit.is_none_or(|unit| unit == command.unit)
            && self.order.is_none_or(|order| order == command.order)
            && self
                .operation
                .as_ref()
                .is_none_or(|name| crate::trace::operation_name(command.operation) == name)
    }
}

/// A rule that a trace breaks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Broken {
    /// The name of the rule.
    pub rule: String,
    /// Where and how, as a sentence.
    pub message: String,
}
