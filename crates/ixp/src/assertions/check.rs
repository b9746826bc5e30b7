//! Checks traces against rules.

use std::collections::HashMap;

use wireloom_isa::microengine::Unit;

use super::{Broken, Demand, Group, Limit, Rule, Selection};
use crate::trace::{Event, Trace, Traced, What, operation_name, unit_name};

/// The most violations that are reported for each rule.
const MOST: usize = 8;

/// Returns how a trace breaks rules. Commands in flight at the end of the trace may lack an answer,
/// unless `is_over` says that the machine is idle.
pub fn check(rules: &[Rule], trace: &Trace, is_over: bool) -> Vec<Broken> {
    let events = trace.events();
    let is_over = is_over && trace.omitted() == 0;
    let mut broken = Vec::new();
    for rule in rules {
        let messages = match &rule.demand {
            Demand::Once(first, then) => once(events, first, *then, is_over),
            Demand::Takes { from, to, limit } => takes(events, *from, to, *limit),
            Demand::Follows { what, before, by } => follows(events, what, *before, *by),
            Demand::Signalled => signalled(events),
            Demand::Carries { what, by, most } => carries(events, what, *by, *most),
        };
        let messages = messages.into_iter().take(MOST);
        broken.extend(messages.map(|message| Broken { rule: rule.name.clone(), message }));
    }
    broken
}

fn told(event: &Event, command: &Traced) -> String {
    format!(
        "cycle {}: {} of command {} ({} {} of engine {}, context {})",
        event.cycle,
        event.what.name(),
        command.id,
        unit_name(command.unit),
        operation_name(command.operation),
        event.engine,
        event.context
    )
}

fn commands(events: &[Event]) -> impl Iterator<Item = (&Event, &Traced)> {
    events.iter().filter_map(|event| Some((event, event.command.as_ref()?)))
}

fn once(events: &[Event], first: &Selection, then: What, is_over: bool) -> Vec<String> {
    let mut open: HashMap<u64, (&Event, &Traced, u32)> = HashMap::new();
    let mut messages = Vec::new();
    for (event, command) in commands(events) {
        if first.has(event) {
            open.insert(command.id, (event, command, 0));
        }
        if event.what == then
            && let Some((_, _, count)) = open.get_mut(&command.id)
        {
            *count += 1;
            if *count == 2 {
                messages.push(format!("{} comes again", told(event, command)));
            }
        }
    }
    if is_over {
        let mut missing: Vec<_> = open.values().filter(|(_, _, count)| *count == 0).collect();
        missing.sort_by_key(|(_, command, _)| command.id);
        let name = then.name();
        let told = |(event, command, _): &&(&Event, &Traced, u32)| {
            format!("{} has no {name}", told(event, command))
        };
        messages.extend(missing.iter().map(told));
    }
    messages
}

fn takes(events: &[Event], from: What, to: &Selection, limit: Limit) -> Vec<String> {
    let mut began: HashMap<u64, u64> = HashMap::new();
    let mut messages = Vec::new();
    for (event, command) in commands(events) {
        if event.what == from {
            began.entry(command.id).or_insert(event.cycle);
        }
        if to.has(event)
            && let Some(began) = began.get(&command.id)
        {
            let cycles = event.cycle - began;
            let (is_broken, says) = match limit {
                Limit::Least(least) => (cycles < least, format!("at least {least}")),
                Limit::Most(most) => (cycles > most, format!("at most {most}")),
            };
            if is_broken {
                let told = told(event, command);
                messages.push(format!("{told} comes after {cycles} cycles, not after {says}"));
            }
        }
    }
    messages
}

fn group(event: &Event, command: &Traced, by: Group) -> u64 {
    match by {
        Group::All => 0,
        Group::Unit => (command.unit as u64) << 8 | u64::from(command.channel),
        Group::Bus => u64::from(command.unit == Unit::Sdram) << 8 | u64::from(command.cluster),
        Group::Context => {
            let unit = (command.unit as u64) << 8 | u64::from(command.channel);
            unit << 16 | u64::from(event.engine) << 8 | u64::from(event.context)
        }
    }
}

fn follows(events: &[Event], what: &Selection, before: What, by: Group) -> Vec<String> {
    let mut order: HashMap<u64, u64> = HashMap::new();
    let mut last: HashMap<u64, (u64, u64)> = HashMap::new();
    let mut messages = Vec::new();
    let mut count = 0;
    for (event, command) in commands(events) {
        if event.what == before {
            order.insert(command.id, count);
            count += 1;
        }
        if what.has(event)
            && let Some(&place) = order.get(&command.id)
        {
            let last = last.entry(group(event, command, by)).or_insert((place, command.id));
            if place < last.0 {
                let told = told(event, command);
                let name = before.name();
                messages.push(format!(
                    "{told} comes after that of {}, whose {name} came later",
                    last.1
                ));
            } else {
                *last = (place, command.id);
            }
        }
    }
    messages
}

fn signalled(events: &[Event]) -> Vec<String> {
    let mut come: HashMap<(u8, u8), u32> = HashMap::new();
    let mut messages = Vec::new();
    for event in events {
        let come = come.entry((event.engine, event.context)).or_default();
        match event.what {
            What::Signal => *come |= 1 << event.value,
            What::Run => {
                let missing = event.value & !*come;
                if missing != 0 {
                    messages.push(format!(
                        "cycle {}: engine {}, context {} runs without signals {missing:#x}",
                        event.cycle, event.engine, event.context
                    ));
                }
                *come &= !event.value;
            }
            _ => {}
        }
    }
    messages
}

fn carries(events: &[Event], what: &Selection, by: Group, most: u64) -> Vec<String> {
    let mut carried: HashMap<u64, (u64, u64)> = HashMap::new();
    let mut messages = Vec::new();
    for (event, command) in commands(events).filter(|(event, _)| what.has(event)) {
        let (cycle, words) = carried.entry(group(event, command, by)).or_default();
        if *cycle != event.cycle {
            (*cycle, *words) = (event.cycle, 0);
        }
        *words += u64::from(event.value);
        if *words > most {
            messages
                .push(format!("{}: {words} words in a cycle, not {most}", told(event, command)));
        }
    }
    messages
}
