//! Creates the offloads of a program's engines.

use wireloom_offloads::{Content, Refused, Slot, Store, instantiate};

use crate::{EngineId, OffloadTarget, Program};

/// Returns the offloads of the main engine in their initial state. Stores are nested: an offload
/// that is an engine has a store of its own.
///
/// # Errors
/// If a configuration is refused. The message begins with the path of the offload.
///
/// # Panics
/// If the program does not verify.
pub fn store(program: &Program) -> Result<Store, Refused> {
    engine_store(program, program.main)
}

fn engine_store(program: &Program, engine: EngineId) -> Result<Store, Refused> {
    let slot = |offload: &crate::Offload| {
        let named = |Refused(why): Refused| Refused(format!("{}: {why}", offload.name));
        let content = match &offload.target {
            OffloadTarget::Kind(config) => Content::Kind {
                config: config.clone(),
                instance: instantiate(config).map_err(named)?,
            },
            OffloadTarget::Engine(id) => {
                Content::Engine(engine_store(program, *id).map_err(named)?)
            }
        };
        Ok(Slot { name: offload.name.clone(), content })
    };
    let slots: Result<_, _> = program.engines[engine.index()].offloads.iter().map(slot).collect();
    Ok(Store { slots: slots? })
}

/// Whether the store matches the engine: the same offloads in the same order, including nested
/// ones.
pub(crate) fn suits(program: &Program, engine: EngineId, store: &Store) -> bool {
    let offloads = &program.engines[engine.index()].offloads;
    offloads.len() == store.slots.len()
        && offloads.iter().zip(&store.slots).all(|(offload, slot)| {
            match (&offload.target, &slot.content) {
                (OffloadTarget::Kind(wanted), Content::Kind { config, .. }) => wanted == config,
                (OffloadTarget::Engine(id), Content::Engine(inner)) => suits(program, *id, inner),
                _ => false,
            }
        })
}
