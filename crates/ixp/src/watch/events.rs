//! Trace events as text.

use wireloom_isa::microengine::{Signal, Version, text::signal_name};
use wireloom_machine::watch::Event;

use super::thread;
use crate::trace::{self, Traced, What, operation_name, order_name, unit_name};

/// Describes a trace event in words.
pub fn told(event: &trace::Event, contexts: usize, version: Version) -> Event {
    let trace::Event { cycle, what, engine, context, value, command } = *event;
    let about = command.map_or_else(
        String::new,
        |Traced { id, unit, operation, order, address, count, .. }| {
            let order = match order_name(order) {
                "default" => String::new(),
                name => format!(", {name}"),
            };
            let (unit, operation) = (unit_name(unit), operation_name(operation));
            format!(" #{id} {unit} {operation} at {address:#x}, count {count}{order}")
        },
    );
    let what = match what {
        What::Signal => format!("signal {}", signal_name(version, Signal(value as u8))),
        What::Run => "runs".to_owned(),
        What::Pull | What::Push => format!("{}{about}: {value} carried", what.name()),
        _ => format!("{}{about}", what.name()),
    };
    Event { cycle, thread: Some(thread(contexts, engine.into(), context)), what }
}
