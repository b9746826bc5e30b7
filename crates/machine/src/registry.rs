//! The registry of machine kinds, and the search for machines by name.

use std::sync::Arc;

use wireloom_description::Description;
use wireloom_lang::suggest::suggest;

use crate::{Configured, Error, MachineKind, Named, Result};

/// The available kinds of machines. A description without a kind belongs to the first kind that has
/// descriptions.
#[derive(Clone, Copy)]
pub struct Registry {
    kinds: &'static [&'static dyn MachineKind],
}

impl Registry {
    /// Creates a registry of these kinds.
    pub const fn new(kinds: &'static [&'static dyn MachineKind]) -> Self {
        Self { kinds }
    }

    pub fn kinds(&self) -> impl Iterator<Item = &'static dyn MachineKind> + Clone {
        self.kinds.iter().copied()
    }

    /// Returns the kind with this name.
    pub fn kind(&self, name: &str) -> Option<&'static dyn MachineKind> {
        self.kinds().find(|kind| kind.name() == name)
    }

    /// Returns the machine of a name, or of the path of a `.toml` or `.json` file.
    ///
    /// # Errors
    /// If there is no such machine, or if its description is wrong.
    pub fn find(&self, name: &str) -> Result<Arc<dyn Configured>> {
        for kind in self.kinds().filter(|kind| matches!(kind.named(), Named::One(_))) {
            if let Some(machine) = kind.find(name)? {
                return Ok(machine);
            }
        }
        if let Some((name, description)) = Description::find(name).map_err(Error::new)? {
            return self.configure(&name, description);
        }
        for kind in self.kinds() {
            if let Some(machine) = kind.find(name)? {
                return Ok(machine);
            }
        }
        Err(self.unknown(name))
    }

    /// Returns the machine of a description of any kind.
    ///
    /// # Errors
    /// If the description is wrong or the kind does not exist.
    pub fn configure(&self, name: &str, description: Description) -> Result<Arc<dyn Configured>> {
        let mut described = self.kinds().filter(|kind| kind.schema().is_some());
        let kind = match description.kind() {
            None => described.next(),
            Some(kind) => self.kind(kind),
        };
        let Some(kind) = kind else {
            let kinds: Vec<String> = described.map(|kind| format!("\"{}\"", kind.name())).collect();
            let said = description.kind().unwrap_or_default();
            return Err(Error::new(format!(
                "machine {name}: `kind = \"{said}\"`: there is no such kind"
            ))
            .with_help(format!("say {}", kinds.join(" or "))));
        };
        kind.configure(name, description)
    }

    /// Returns the names that a user can choose from: the names of kinds, the patterns of encoded
    /// names, and an example for each kind whose machines all have descriptions.
    pub fn choices(&self) -> String {
        let own = self.kinds().map(|kind| match kind.named() {
            Named::None => format!("{} (a described {})", kind.example(), kind.name()),
            Named::One(_) => kind.name().to_owned(),
            Named::Many(pattern) => format!("{} ({})", pattern.shape, pattern.about),
        });
        own.collect::<Vec<_>>().join(", ")
    }

    fn unknown(&self, name: &str) -> Error {
        let names = self.names();
        let error = Error::new(format!(
            "no machine is called '{name}': say {}, the name of a description (wireloom machines lists \
             them) or the path of a .toml file or of a report (.json)",
            self.choices()
        ));
        match suggest(name, names.iter().map(String::as_str)) {
            Some(near) => error.with_help(near),
            None => error,
        }
    }

    /// Returns the names of all machines that can be listed: named machines of kinds first, then
    /// installed descriptions.
    pub fn names(&self) -> Vec<String> {
        let own = self.kinds().filter(|kind| matches!(kind.named(), Named::One(_)));
        own.map(|kind| kind.name().to_owned()).chain(Description::installed()).collect()
    }
}
