//! Counts of steps begun and offloads called, summed over all cores, and over reloads by name.

use std::collections::BTreeMap;

use wireloom_ir::Program;
use wireloom_machine::{Calls, Counts};
use wireloom_offloads::{Content, Store, registry};

use crate::status::{Called, Stepped};

/// Counts by name.
#[derive(Clone, Debug, Default)]
pub struct Named {
    steps: BTreeMap<String, u64>,
    calls: BTreeMap<String, BTreeMap<&'static str, Calls>>,
}

impl Named {
    /// Adds the counts of a machine with this program and these offloads.
    pub fn add(&mut self, program: &Program, store: &Store, counts: &Counts) {
        let steps = &program.engines[program.main.index()].steps;
        for (step, count) in steps.iter().zip(&counts.steps) {
            *self.steps.entry(step.name.clone()).or_default() += count;
        }
        for (path, counts) in store.paths().into_iter().zip(&counts.calls) {
            let Some(Content::Kind { config, .. }) = store.find(&path).map(|slot| &slot.content)
            else {
                continue;
            };
            let methods = registry::kind(&config.kind).map_or(&[][..], |kind| kind.methods);
            let own = self.calls.entry(path).or_default();
            for (method, calls) in methods.iter().zip(counts).filter(|(_, calls)| calls.all > 0) {
                let own = own.entry(method.name).or_default();
                own.all += calls.all;
                own.found = calls.found.map(|found| found + own.found.unwrap_or(0));
            }
        }
    }

    /// Returns the steps: first the steps of the program in its order, then the steps of earlier
    /// programs.
    pub fn steps(&self, program: &Program) -> Vec<Stepped> {
        let steps = &program.engines[program.main.index()].steps;
        let is_former = |name: &&String| !steps.iter().any(|step| step.name == **name);
        let names = steps.iter().map(|step| &step.name);
        let names = names.chain(self.steps.keys().filter(is_former));
        let counted = |name: &String| {
            let packets = *self.steps.get(name)?;
            Some(Stepped { step: name.clone(), packets })
        };
        names.filter_map(counted).collect()
    }

    pub fn calls(&self, path: &str) -> Vec<Called> {
        let calls = self.calls.get(path).into_iter().flatten();
        let called = |(method, calls): (&&'static str, &Calls)| Called {
            method: (*method).to_owned(),
            calls: calls.all,
            found: calls.found,
        };
        calls.map(called).collect()
    }
}
