//! The offloads of a program with their state, in the order of their numbers.

use wireloom_offloads::{Config, Content, Instance, Store};

/// An offload with its state.
pub struct Slot<'a> {
    /// The path of names from the main engine, joined by dots.
    pub path: String,
    pub config: &'a Config,
    pub instance: &'a mut dyn Instance,
}

/// Returns the offloads of a store that are not engines, in the order of [`Store::paths`].
pub fn slots(store: &mut Store) -> Vec<Slot<'_>> {
    let mut slots = Vec::new();
    for slot in &mut store.slots {
        match &mut slot.content {
            Content::Kind { config, instance } => {
                slots.push(Slot { path: slot.name.clone(), config, instance: instance.as_mut() });
            }
            Content::Engine(inner) => {
                let name = &slot.name;
                let inner = self::slots(inner).into_iter();
                slots.extend(
                    inner.map(|slot| Slot { path: format!("{name}.{}", slot.path), ..slot }),
                );
            }
        }
    }
    slots
}
