//! Runs one engine on several cores. Each core has its own machine.
//!
//! No core waits for another one. Offloads that packets only look up are shared if they can be
//! looked up while they change (`lpm`), and copied otherwise. Each core has its own copy of
//! offloads that packets only add to (counters); reading them sums the copies. Engines with state
//! whose order of changes matters (`exact` with insertions, meters) stay on one core, because
//! packets would wait for each other.

use std::collections::BTreeSet;
use std::time::Duration;

use wireloom_compile::analysis::order;
use wireloom_ir::{EngineId, OffloadTarget, Program};
use wireloom_offloads::{Content, Refused, Slot, Store, instantiate};

use super::Native;
use crate::special::Specialiser;

/// The delay of each core's first look at its tables after the previous core's.
const SPECIALISES_LATER: Duration = Duration::from_secs(5);

/// The distance between the sequence numbers of two cores, more packets than a core executes.
/// Random numbers depend on them.
const NUMBERS_OF_A_CORE: u64 = 1 << 48;

impl Native {
    /// Creates a machine for another core, the `core`-th from 1 on. The control plane has to change
    /// an entry on every core's machine, unless the offload is one [of all
    /// cores](Self::of_all_cores).
    ///
    /// # Errors
    /// As [`in_any_order`], or if there is not enough memory.
    pub fn on_another_core(&self, core: u64) -> Result<Self, Refused> {
        let library = &self.state.library;
        let program = library.program();
        in_any_order(program)?;
        let store = another(program, program.main, &self.store)?;
        let machine = Self::new(library.clone(), store);
        // Each core waits longer than the first, so that one core builds the engine for all.
        let rest = SPECIALISES_LATER * core as u32;
        let specialiser = self.specialiser.as_ref();
        let specialiser = specialiser.map(|first| Specialiser::new(first.special().clone(), rest));
        Ok(Self { numbers_from: core * NUMBERS_OF_A_CORE, specialiser, ..machine })
    }

    /// Returns the paths of the offloads whose entries the control plane changes on one machine
    /// only: offloads that all cores share, and offloads that are summed.
    pub fn of_all_cores(&self) -> BTreeSet<String> {
        let mut paths = BTreeSet::new();
        let program = self.state.library.program();
        of_all_cores(program, program.main, &self.store, "", &mut paths);
        paths
    }
}

fn of_all_cores(
    program: &Program,
    engine: EngineId,
    store: &Store,
    prefix: &str,
    paths: &mut BTreeSet<String>,
) {
    let changed = order::changed(program, engine);
    for (index, slot) in store.slots.iter().enumerate() {
        let path = format!("{prefix}{}", slot.name);
        match &slot.content {
            Content::Kind { instance, .. } => {
                let is_changed = changed.iter().any(|offload| offload.index() == index);
                if is_changed || instance.share().is_some() {
                    paths.insert(path);
                }
            }
            Content::Engine(inner) => {
                let callee = callee(program, engine, index);
                of_all_cores(program, callee, inner, &format!("{path}."), paths);
            }
        }
    }
}

/// Moves the changes that packets made on another core into the first core's store.
///
/// # Panics
/// If a store belongs to another program.
pub fn absorb(program: &Program, store: &mut Store, other: &mut Store) {
    absorb_engine(program, program.main, store, other);
}

/// Whether packets of a program can be executed on several cores.
///
/// # Errors
/// If packets change state in an order that matters.
pub fn in_any_order(program: &Program) -> Result<(), Refused> {
    let engine = &program.engines[program.main.index()];
    match order::sensitive(program, program.main).first() {
        None => Ok(()),
        Some(first) => Err(Refused(format!(
            "engine {}: packets change `{}` in an order that matters, so that one core has to \
             execute them all",
            engine.name,
            engine.offloads[first.index()].name
        ))),
    }
}

/// Returns the offloads for another core.
fn another(program: &Program, engine: EngineId, store: &Store) -> Result<Store, Refused> {
    let changed = order::changed(program, engine);
    let content = |index: usize, content: &Content| match content {
        Content::Kind { config, instance } => {
            let instance = if changed.iter().any(|offload| offload.index() == index) {
                instantiate(config)?
            } else {
                instance.share().unwrap_or_else(|| instance.duplicate())
            };
            Ok(Content::Kind { config: config.clone(), instance })
        }
        Content::Engine(inner) => {
            another(program, callee(program, engine, index), inner).map(Content::Engine)
        }
    };
    let slots = store.slots.iter().enumerate().map(|(index, slot)| {
        Ok(Slot { name: slot.name.clone(), content: content(index, &slot.content)? })
    });
    Ok(Store { slots: slots.collect::<Result<_, _>>()? })
}

fn absorb_engine(program: &Program, engine: EngineId, store: &mut Store, other: &mut Store) {
    for offload in order::changed(program, engine) {
        let index = offload.index();
        match (&mut store.slots[index].content, &mut other.slots[index].content) {
            (Content::Kind { instance, .. }, Content::Kind { instance: other, .. }) => {
                instance.absorb(&mut **other);
            }
            (Content::Engine(own), Content::Engine(other)) => {
                absorb_engine(program, callee(program, engine, index), own, other);
            }
            _ => unreachable!("both machines are of one program"),
        }
    }
}

/// Returns the engine that is an offload of another one.
fn callee(program: &Program, engine: EngineId, offload: usize) -> EngineId {
    match program.engines[engine.index()].offloads[offload].target {
        OffloadTarget::Engine(inner) => inner,
        OffloadTarget::Kind(_) => unreachable!("its slot has the offloads of an engine"),
    }
}
