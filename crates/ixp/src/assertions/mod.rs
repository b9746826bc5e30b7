//! Assertions over traces, in a small rule language.
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
//! A rule has a name and one of five forms. `EVENT` is an event of the trace (`issue`, `arrive`,
//! `start`, `pull`, `push`, `done`, `signal`, `run`). Words after `of` select commands by unit,
//! operation or promised order; a command must match all of them. The page docs/machines/ixp.md
//! explains each form.

mod check;
mod parse;

pub use check::check;
pub use parse::{Malformed, parse};

use wireloom_isa::microengine::{Order, Unit};

use crate::trace::{Event, What};

/// The rules that hold on every machine, whatever its description and program.
pub const RULES: &str = include_str!("rules.txt");

/// Returns the rules that hold on every machine.
pub fn rules() -> Vec<Rule> {
    parse(RULES).expect("rules.txt has rules: a test holds it")
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rule {
    pub name: String,
    pub demand: Demand,
}

/// The condition that a rule demands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Demand {
    /// Each command with the first event has the second event once, unless the trace ends before.
    Once(Selection, What),
    /// At least, or at most, this many cycles pass between the first event of a command and the
    /// second.
    Takes { from: What, to: Selection, limit: Limit },
    /// In each group, commands have the event `what` in the order in which they had the event
    /// `before`.
    Follows { what: Selection, before: What, by: Group },
    /// A context runs only after it has received the signals that it waited for.
    Signalled,
    /// The events of a group carry at most this many words in a cycle.
    Carries { what: Selection, by: Group, most: u64 },
}

/// A limit on cycles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    Least(u64),
    Most(u64),
}

/// Events of the commands that match all given properties.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Selection {
    pub what: What,
    pub unit: Option<Unit>,
    pub operation: Option<String>,
    pub order: Option<Order>,
}

/// The groups into which a rule splits events; it checks each group separately.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Group {
    /// All events form one group.
    All,
    Unit,
    /// Pairs of buses: the SDRAM pair, and the pair that all other units share.
    Bus,
    /// Contexts, separately at each unit.
    Context,
}

impl Selection {
    /// Whether the selection includes an event.
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
    pub rule: String,
    /// Place and kind of the violation, as a sentence.
    pub message: String,
}
