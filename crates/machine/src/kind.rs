//! Kinds of machines, and machines that are described but not started.

use std::any::Any;
use std::fmt;
use std::sync::Arc;

use wireloom_description::Description;
use wireloom_ir as ir;
use wireloom_offloads::Store;

use crate::{Capabilities, Error, Knob, Machine, Options, Program, Result, Source};

/// Names of files, which may have folders in them, and their texts.
pub type Files = Vec<(String, String)>;

/// A kind of machine: it makes machines of names and descriptions.
pub trait Kind: Send + Sync {
    /// The kind's name, as a description's `kind` says it.
    fn name(&self) -> &'static str;

    /// Machines that have names of their own, without a description.
    fn named(&self) -> Named {
        Named::None
    }

    /// The name of a small machine of the kind: for tests, and for help that names a machine.
    fn example(&self) -> &'static str;

    /// Returns the description that states every key of the kind, its default and its source;
    /// `None` if the kind has no settings.
    fn schema(&self) -> Option<&'static str> {
        None
    }

    /// The machine of a name; nothing if the name is not one of this kind's.
    ///
    /// # Errors
    /// If the name belongs to the kind but is invalid.
    fn find(&self, name: &str) -> Result<Option<Arc<dyn Configured>>>;

    /// The machine of a description.
    ///
    /// # Errors
    /// If the description is wrong, or nothing about the kind can be chosen.
    fn configure(&self, name: &str, description: Description) -> Result<Arc<dyn Configured>>;
}

/// The names of a kind's own machines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Named {
    /// No names: all its machines have descriptions.
    None,
    /// One machine with the kind's name; its description.
    One(&'static str),
    /// Many machines.
    Many(Pattern),
}

/// Names that encode a configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pattern {
    /// The form of such names, such as `np-C-E-T`.
    pub shape: &'static str,
    /// Their meaning, in a few words.
    pub about: &'static str,
}

/// A machine that is described and not started.
pub trait Configured: fmt::Debug + Send + Sync {
    /// The name of its kind.
    fn kind(&self) -> &'static str;

    /// Returns its name: that of its description, or its own.
    fn name(&self) -> &str;

    /// Returns a description in a sentence.
    fn about(&self) -> &str;

    /// Returns every key of its description with its value; `None` if it has no settings.
    fn settings(&self) -> Option<toml::Table> {
        None
    }

    /// Returns its capabilities.
    fn capabilities(&self) -> Capabilities {
        Capabilities::default()
    }

    /// Whether it can be watched and stepped ([`Machine::watch`]).
    fn can_be_watched(&self) -> bool {
        false
    }

    /// The options that have an effect on it.
    fn knobs(&self) -> &'static [Knob] {
        &[]
    }

    /// Returns the sections of its description that have no effect with a program, because they are
    /// misspelt or belong to another one, with the names that would have an effect.
    fn sections_without_effect(&self, program: &ir::Program) -> Vec<String> {
        let _ = program;
        Vec::new()
    }

    /// Returns the parts of a program that the machine cannot hold; empty if it accepts the
    /// program. Nothing is compiled or loaded for that.
    fn refusals(&self, program: &Program) -> Vec<Refusal>;

    /// Builds the executable form of a program without [`refusals`](Self::refusals) and starts it on
    /// nothing: tools and the host's kernel have limits that no program shows. A machine that has no
    /// such limits does nothing.
    ///
    /// # Errors
    /// If the machine has no place for the program, or a tool or a right is missing
    /// ([`Error::needs_tool`]): then only the refusals are known.
    fn try_out(&self, program: &Program, progress: &dyn Fn(&str)) -> Result {
        let _ = (program, progress);
        Ok(())
    }

    /// Builds the executable form of a program, loads these offloads, and starts the machine.
    /// `progress` shows the current activity to a waiting user.
    ///
    /// # Errors
    /// If the machine has no place for the program or its tables, or a tool is missing or fails.
    fn start(
        &self,
        program: &Program,
        store: Store,
        options: &Options,
        progress: &dyn Fn(&str),
    ) -> Result<Box<dyn Machine>>;

    /// Starts the machine with a program that is written for machines of its kind alone, if the file
    /// holds one. Beside it stands what others see of the program: its name and its reasons.
    fn start_own(
        &self,
        source: &Source,
        options: &Options,
    ) -> Option<Result<(Program, Box<dyn Machine>)>> {
        let _ = (source, options);
        None
    }

    /// Source code of a program for it: file names, which may have folders in them, and texts.
    ///
    /// # Errors
    /// If there is nothing to write for it.
    fn generate(&self, program: &Program) -> Result<Files> {
        let _ = program;
        let message =
            format!("{} is simulated here: there is nothing to build for it", self.name());
        Err(Error::new(message)
            .with_help("build --on native writes C, --on np-C-E-T SystemVerilog"))
    }

    /// Returns the machine itself, for operations of its kind only.
    fn as_any(&self) -> &dyn Any;
}

/// A part of a program that a machine cannot hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// The offload that it is about, by its path in the engine.
    pub offload: Option<String>,
    /// The step that it is about.
    pub step: Option<String>,
    /// The line that it is about, if that is known better than by offload and step: the file as
    /// the program names it, and the line, from 1.
    pub line: Option<(String, u32)>,
    /// The reason: a sentence that names both, with advice.
    pub message: String,
}
