//! A design: its sources and its hierarchy.

use std::collections::{BTreeMap, BTreeSet};

use wireloom_codegen_hardware::sv::Module;

/// A source file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct File {
    /// Path in the folder of the design.
    pub name: String,
    pub text: String,
    /// The unit whose synthesis depends on the file; `None` means all units (templates, packages).
    pub unit: Option<String>,
}

impl File {
    /// Returns the file of a generated module, on which the synthesis of `unit` depends.
    pub(super) fn generated(module: &Module, unit: &str) -> Self {
        Self { name: module.file(), text: module.print(), unit: Some(unit.to_owned()) }
    }
}

/// A generated module, and the generated modules inside it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unit {
    pub name: String,
    /// The parameters that all instances of the unit share, by name. Other parameters keep their
    /// defaults.
    pub parameters: Vec<(String, usize)>,
    /// The units inside it, with the number of instances of each.
    pub instances: Vec<(String, usize)>,
}

/// The sources of a network processor and its hierarchy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Design {
    pub top: String,
    /// The source files, packages first.
    pub files: Vec<File>,
    /// The generated modules, each after the modules inside it.
    pub units: Vec<Unit>,
}

impl Design {
    /// Returns a unit and everything inside it as a design of its own.
    ///
    /// # Panics
    /// If there is no such unit.
    pub fn part(&self, unit: &str) -> Self {
        let inside = self.inside(unit);
        let units = self.units.iter().filter(|unit| inside.contains(&unit.name)).cloned();
        let (files, units) = (self.sources_of(unit).cloned().collect(), units.collect::<Vec<_>>());
        assert!(!units.is_empty(), "{unit} is a unit of the design");
        Self { top: unit.to_owned(), files, units }
    }

    /// Returns the number of instances of each unit in the whole design, by name.
    pub fn counts(&self) -> BTreeMap<&str, u64> {
        let mut counts = BTreeMap::from([(self.top.as_str(), 1)]);
        for unit in self.units.iter().rev() {
            let count = *counts.entry(unit.name.as_str()).or_default();
            for (child, times) in &unit.instances {
                *counts.entry(child).or_default() += count * *times as u64;
            }
        }
        counts
    }

    /// Returns the files of a unit and of everything inside it.
    pub fn sources_of(&self, unit: &str) -> impl Iterator<Item = &File> {
        let inside = self.inside(unit);
        self.files
            .iter()
            .filter(move |file| file.unit.as_ref().is_none_or(|unit| inside.contains(unit)))
    }

    /// Returns the names of a unit and of the units inside it.
    fn inside(&self, unit: &str) -> BTreeSet<String> {
        let mut inside = BTreeSet::from([unit.to_owned()]);
        for unit in self.units.iter().rev() {
            if inside.contains(&unit.name) {
                inside.extend(unit.instances.iter().map(|(name, _)| name.clone()));
            }
        }
        inside
    }
}

/// A stable hash of texts for the names of cached results: FNV-1a with 128 bits.
#[derive(Clone, Copy, Debug)]
pub struct Hash(u128);

impl Default for Hash {
    fn default() -> Self {
        Self(0x6c62_272e_07bb_0142_62b8_2175_6295_c58d)
    }
}

impl Hash {
    /// Adds a text and an end mark.
    pub fn text(&mut self, text: &str) {
        self.bytes(text.as_bytes());
    }

    /// Adds bytes and an end mark.
    pub fn bytes(&mut self, bytes: &[u8]) {
        for &byte in bytes.iter().chain(&[0xff]) {
            self.0 =
                (self.0 ^ u128::from(byte)).wrapping_mul(0x0000_0000_0100_0000_0000_0000_0000_013b);
        }
    }

    /// Returns the hash in hexadecimal digits.
    pub fn finish(self) -> String {
        format!("{:032x}", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_unit_is_made_of_what_is_inside_it() {
        let file = |name: &str, unit: Option<&str>| File {
            name: name.into(),
            text: String::new(),
            unit: unit.map(Into::into),
        };
        let design = Design {
            top: "top".into(),
            files: vec![
                file("pkg", None),
                file("engine", Some("engine")),
                file("cluster", Some("cluster")),
                file("top", Some("top")),
            ],
            units: vec![
                Unit { name: "engine".into(), parameters: vec![], instances: vec![] },
                Unit {
                    name: "cluster".into(),
                    parameters: vec![],
                    instances: vec![("engine".into(), 2)],
                },
                Unit {
                    name: "top".into(),
                    parameters: vec![],
                    instances: vec![("cluster".into(), 4)],
                },
            ],
        };
        let names: Vec<_> = design.sources_of("cluster").map(|f| f.name.as_str()).collect();
        assert_eq!(names, ["pkg", "engine", "cluster"]);
        assert_eq!(design.counts(), BTreeMap::from([("top", 1), ("cluster", 4), ("engine", 8)]));
    }

    #[test]
    fn the_hash_tells_where_texts_end() {
        let hash = |texts: &[&str]| {
            let mut hash = Hash::default();
            texts.iter().for_each(|t| hash.text(t));
            hash.finish()
        };
        assert_ne!(hash(&["ab", "c"]), hash(&["a", "bc"]));
        assert_eq!(hash(&["ab"]), hash(&["ab"]));
    }
}
