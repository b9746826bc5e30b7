//! The offloads of an engine with their state. Table files are loaded into a store, and reports
//! read it.

use std::collections::HashMap;

use crate::{Config, Instance, TableWriter};

/// The offloads of an engine, in the order of their declaration. The offloads of a called engine
/// are nested.
#[derive(Default)]
pub struct Store {
    pub slots: Vec<Slot>,
}

/// An offload of an engine.
pub struct Slot {
    /// The name of the offload in the engine.
    pub name: String,
    pub content: Content,
}

/// The content of an offload's slot.
pub enum Content {
    /// An instance of a kind of the registry.
    Kind {
        /// The configuration, with defaults filled in.
        config: Config,
        /// The instance, which contains the state.
        instance: Box<dyn Instance>,
    },
    /// Another engine, with its own offloads.
    Engine(Store),
}

impl Store {
    /// Returns the offload with a path of names joined by dots. Examples are `routes`, or
    /// `walk.memory` for offload `memory` of the engine that implements offload `walk`.
    pub fn find(&self, path: &str) -> Option<&Slot> {
        let (first, rest) = split(path);
        let slot = self.slots.iter().find(|s| s.name == first)?;
        match (rest, &slot.content) {
            (None, _) => Some(slot),
            (Some(rest), Content::Engine(inner)) => inner.find(rest),
            (Some(_), Content::Kind { .. }) => None,
        }
    }

    /// Returns a mutable reference to the offload with a path; see [`Store::find`].
    pub fn find_mut(&mut self, path: &str) -> Option<&mut Slot> {
        let (first, rest) = split(path);
        let slot = self.slots.iter_mut().find(|s| s.name == first)?;
        match rest {
            None => Some(slot),
            Some(rest) => match &mut slot.content {
                Content::Engine(inner) => inner.find_mut(rest),
                Content::Kind { .. } => None,
            },
        }
    }

    /// Returns the writers of all tables that can be searched while they change, by path.
    pub fn writers(&self) -> HashMap<String, Box<dyn TableWriter>> {
        let mut writers = HashMap::new();
        for slot in &self.slots {
            match &slot.content {
                Content::Kind { instance, .. } => {
                    writers.extend(instance.writer().map(|writer| (slot.name.clone(), writer)));
                }
                Content::Engine(inner) => {
                    let inner = inner.writers().into_iter();
                    let name = &slot.name;
                    writers.extend(inner.map(|(path, writer)| (format!("{name}.{path}"), writer)));
                }
            }
        }
        writers
    }

    /// Returns the path of every offload that is not an engine, in order of declaration. Nested
    /// offloads come at the position of their engine.
    pub fn paths(&self) -> Vec<String> {
        let mut paths = Vec::new();
        for slot in &self.slots {
            match &slot.content {
                Content::Kind { .. } => paths.push(slot.name.clone()),
                Content::Engine(inner) => {
                    paths.extend(
                        inner.paths().into_iter().map(|path| format!("{}.{path}", slot.name)),
                    );
                }
            }
        }
        paths
    }
}

impl Clone for Store {
    /// Returns an independent copy with the same state.
    fn clone(&self) -> Self {
        let slots = self.slots.iter().map(|slot| {
            let content = match &slot.content {
                Content::Kind { config, instance } => {
                    Content::Kind { config: config.clone(), instance: instance.duplicate() }
                }
                Content::Engine(inner) => Content::Engine(inner.clone()),
            };
            Slot { name: slot.name.clone(), content }
        });
        Self { slots: slots.collect() }
    }
}

impl Store {
    /// Copies the state of another store of the same program. Instances keep their addresses in
    /// memory. Returns false if the other store belongs to another program; some offloads may then
    /// already have its state.
    pub fn assign(&mut self, other: &Self) -> bool {
        self.slots.len() == other.slots.len()
            && self.slots.iter_mut().zip(&other.slots).all(|(own, other)| {
                own.name == other.name
                    && match (&mut own.content, &other.content) {
                        (
                            Content::Kind { config, instance },
                            Content::Kind { config: other_config, instance: other },
                        ) => config == other_config && instance.assign(other.as_ref()),
                        (Content::Engine(own), Content::Engine(other)) => own.assign(other),
                        _ => false,
                    }
            })
    }
}

fn split(path: &str) -> (&str, Option<&str>) {
    path.split_once('.').map_or((path, None), |(first, rest)| (first, Some(rest)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::instantiate;

    fn clock(name: &str) -> Slot {
        let config =
            Config { kind: "clock".into(), key: None, value: None, params: Default::default() };
        let instance = instantiate(&config).expect("a clock needs nothing");
        Slot { name: name.into(), content: Content::Kind { config, instance } }
    }

    #[test]
    fn nested_offloads_are_found_by_path() {
        let inner = Store { slots: vec![clock("memory"), clock("other")] };
        let mut store = Store {
            slots: vec![
                clock("now"),
                Slot { name: "walk".into(), content: Content::Engine(inner) },
            ],
        };
        assert_eq!(store.paths(), ["now", "walk.memory", "walk.other"]);
        assert_eq!(store.find("walk.other").map(|s| s.name.as_str()), Some("other"));
        assert!(matches!(store.find("walk").map(|s| &s.content), Some(Content::Engine(_))));
        for missing in ["none", "now.memory", "walk.none", "", "."] {
            assert!(store.find(missing).is_none(), "{missing}");
            assert!(store.find_mut(missing).is_none(), "{missing}");
        }
        assert_eq!(store.find_mut("walk.memory").map(|s| s.name.as_str()), Some("memory"));
    }
}
