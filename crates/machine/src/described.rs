//! Kinds whose machines have descriptions.

use std::sync::Arc;

use wireloom_description::Description;

use crate::{Configured, MachineKind, Named, Pattern, Result};

/// A function that returns the machine of a name and a description; see [`MachineKind::configure`].
pub type Configure = fn(&str, Description) -> Result<Arc<dyn Configured>>;

/// A function that returns the machine of a name that follows a pattern; see [`MachineKind::find`].
pub type Find = fn(&str) -> Result<Option<Arc<dyn Configured>>>;

/// A kind whose machines have descriptions.
#[derive(Clone, Copy)]
pub struct Described {
    pub name: &'static str,
    /// The description that states every key; see [`MachineKind::schema`].
    pub schema: &'static str,
    /// The name of a small machine; see [`MachineKind::example`].
    pub example: &'static str,
    pub configure: Configure,
    /// The names of machines that need no description, and their machines.
    pub patterned: Option<(Pattern, Find)>,
}

impl MachineKind for Described {
    fn name(&self) -> &'static str {
        self.name
    }

    fn named(&self) -> Named {
        self.patterned.map_or(Named::None, |(pattern, _)| Named::Many(pattern))
    }

    fn example(&self) -> &'static str {
        self.example
    }

    fn schema(&self) -> Option<&'static str> {
        Some(self.schema)
    }

    fn find(&self, name: &str) -> Result<Option<Arc<dyn Configured>>> {
        self.patterned.map_or(Ok(None), |(_, find)| find(name))
    }

    fn configure(&self, name: &str, description: Description) -> Result<Arc<dyn Configured>> {
        (self.configure)(name, description)
    }
}
