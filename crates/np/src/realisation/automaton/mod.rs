//! `automaton`: searches for many patterns at once with an automaton in the pipe's body buffer.

mod patterns;

use std::collections::BTreeMap;

use wireloom_bits::Bits;
use wireloom_codegen_hardware::core::{MAX_LENGTH, OffloadPort};
use wireloom_codegen_hardware::sv::short::{clocked, int};
use wireloom_codegen_hardware::sv::{Expr, Item};
use wireloom_offloads::{EntryKey, StateRow, Store, Update};

pub use patterns::{PatternWrite, Patterns};

use self::patterns::{Automaton as Tables, LENGTH_BITS, TARGETS, illegal, state_bits, table};
use super::body::{BUFFER, reader, turn};
use super::entries::instance;
use super::interface::{Realisation, Updater};
use super::meter::ONE_REQUEST;
use super::wiring::on_bus;
use crate::control::write::ControlWrite;
use crate::description::Rule;
use crate::processor::contents::{Contents, leaves_of, packed};
use crate::processor::image::line;
use crate::processor::{Image, NpError, Plan, Service};
use crate::simulation::Operation;

/// Names of the images of the first three control targets.
const TABLES: [&str; 3] = ["classes", "next", "matches"];

/// An automaton that searches packets for patterns.
pub(super) struct Automaton;

impl Realisation for Automaton {
    fn name(&self) -> &'static str {
        "automaton"
    }

    fn about(&self) -> &'static str {
        "an automaton in block RAM"
    }

    fn describe(&self, service: &Service) -> String {
        let Rule { states, classes, .. } = service.rule;
        let kind = &service.config.kind;
        format!("{kind}: {} of {states} states and {classes} classes of bytes", self.about())
    }

    fn suits(&self, kind: &str, _port: &OffloadPort) -> bool {
        kind == "match"
    }

    fn only_in_pipe(&self) -> Option<&'static str> {
        Some(BUFFER)
    }

    fn varies(&self) -> Option<&'static str> {
        Some(ONE_REQUEST)
    }

    fn check(&self, rule: &Rule) -> Result<(), String> {
        illegal(rule.states, rule.classes).map_or(Ok(()), Err)
    }

    fn items(&self, plan: &Plan, service: &Service, tag_bits: usize, target: usize) -> Vec<Item> {
        let (ends, access) = turn(plan, service);
        let search =
            reader(clocked("wl_body_match", format!("i_{}", service.name)), tag_bits, &access)
                .parameter("DataBytes", int(plan.data_bytes))
                .parameter("Ahead", int(plan.beats_ahead()))
                .parameter("ValueBits", int(service.value_bits()))
                .parameter("States", int(service.rule.states))
                .parameter("Classes", int(service.rule.classes))
                .parameter("Image", plan.image(&service.offload));
        on_bus(
            plan,
            service,
            ends.whole(search).parameter("CtlTarget", Expr::number(8, target as u64)),
        )
    }

    fn control_bits(&self, service: &Service) -> usize {
        (LENGTH_BITS as usize + service.value_bits()).max(1 + state_bits(service) as usize)
    }

    fn targets(&self, _plan: &Plan, _service: &Service) -> usize {
        TARGETS
    }

    fn contents(&self, _plan: &Plan, service: &Service) -> Vec<(String, Contents)> {
        targets(service).into_iter().map(|contents| (service.offload.clone(), contents)).collect()
    }

    /// Returns the contents of automaton 0, which searches packets first.
    fn images(&self, plan: &Plan, service: &Service, store: &Store) -> Result<Vec<Image>, NpError> {
        let Some((_, instance)) = instance(store, &service.offload) else { return Ok(Vec::new()) };
        let tables = Tables::new(&table(service, &instance.rows()), &service.rule);
        let tables = tables.map_err(|why| service.refusal(&plan.machine, why))?;
        let image = |(name, table): (&str, &BTreeMap<u32, Bits>)| Image {
            name: format!("{}_{name}", service.offload),
            text: table.iter().fold(String::new(), |mut text, (address, entry)| {
                line(&mut text, (*address).into(), entry);
                text
            }),
        };
        Ok(TABLES.into_iter().zip(&tables.tables).map(image).collect())
    }

    fn updater(
        &self,
        plan: &Plan,
        service: &Service,
        store: &Store,
    ) -> Result<Option<Box<dyn Updater>>, String> {
        let rows =
            instance(store, &service.offload).map_or(Vec::new(), |(_, instance)| instance.rows());
        let patterns =
            plan.patterns(&service.offload, &rows).expect("its realisation was looked at")?;
        Ok(Some(Box::new(Searched { patterns, is_first: true })))
    }
}

/// Returns the contents of the control targets, in order.
fn targets(service: &Service) -> Vec<Contents> {
    let Rule { states, classes, .. } = service.rule;
    let part = |name: &str, bits: u32| (name.to_owned(), bits);
    let table = |name: &str, address: &str, size: usize, parts: Vec<(String, u32)>| {
        Contents::new(name, address, 2 * size as u64, packed(parts))
    };
    let [classes_name, next, matches] = TABLES;
    let transition = vec![part("match", 1), part("state", state_bits(service))];
    let found =
        [vec![part("length", LENGTH_BITS)], leaves_of("value", service.config.value.as_ref())]
            .concat();
    let live = Contents::new(
        "the automaton that is searched with",
        "0",
        1,
        packed([part("automaton", 1)]),
    );
    vec![
        table(
            classes_name,
            "256 times the automaton (0 or 1), and a byte",
            256,
            vec![part("class", classes.trailing_zeros())],
        ),
        table(
            next,
            &format!(
                "{} times the automaton, {classes} times the state, and the class",
                states * classes
            ),
            states * classes,
            transition,
        ),
        table(matches, &format!("{states} times the automaton, and the state"), states, found),
        live,
    ]
}

/// An updater of patterns.
struct Searched {
    patterns: Patterns,
    /// Whether the idle automaton has not been used yet.
    is_first: bool,
}

impl Updater for Searched {
    fn plan(&mut self, plan: &Plan, update: &Update) -> Result<Vec<Operation>, String> {
        let EntryKey::Pattern(pattern) = &update.key else { return Ok(Vec::new()) };
        let mut operations = Vec::new();
        if !std::mem::take(&mut self.is_first) {
            // Earlier searches may still use the automaton that is about to be written.
            operations.push(Operation::Rest(plan.search_cycles()));
        }
        for write in self.patterns.set(pattern, update.value.as_ref())? {
            let writes = plan.pattern_writes(&update.offload, write);
            operations.extend(writes.into_iter().map(Operation::from));
        }
        Ok(operations)
    }
}

impl Plan {
    /// Returns the patterns of a `match` offload with these rows, ready to be updated. Returns
    /// `None` if the offload is not realised as an automaton.
    ///
    /// # Errors
    /// If the patterns do not fit the machine's automaton. The error is a sentence without a full
    /// stop.
    pub fn patterns(&self, offload: &str, rows: &[StateRow]) -> Option<Result<Patterns, String>> {
        automaton(self, offload).map(|service| Patterns::new(service, rows))
    }

    /// Returns the control port writes that carry out a pattern write in every pipe. The result is
    /// empty if the offload has no patterns.
    pub fn pattern_writes(
        &self,
        offload: &str,
        (target, address, value): PatternWrite,
    ) -> Vec<ControlWrite> {
        let service = automaton(self, offload);
        service.map_or(Vec::new(), |service| self.in_every_pipe(service, target, address, &value))
    }

    /// Returns the core cycles after which every search that is under way now has ended.
    pub fn search_cycles(&self) -> u64 {
        let bytes = u64::from(MAX_LENGTH);
        // `wl_body_match` guarantees this bound.
        bytes + bytes.div_ceil(self.data_bytes as u64) + 9
    }
}

fn automaton<'a>(plan: &'a Plan, offload: &str) -> Option<&'a Service> {
    let is_automaton = |service: &&Service| service.rule.realisation.name() == Automaton.name();
    plan.services.iter().filter(is_automaton).find(|service| service.offload == offload)
}
