//! Kinds of machines, and machines that are configured but not started.

use std::any::Any;
use std::fmt;
use std::sync::Arc;

use wireloom_codegen::refused::Refused;
use wireloom_description::Description;
use wireloom_ir as ir;
use wireloom_offloads::Store;

use crate::{Capabilities, Error, Knob, Machine, Options, Program, Result, Source};

/// Names of files, which may include folders, and their texts.
pub type Files = Vec<(String, String)>;

/// A kind of machine. It creates machines from names and descriptions.
pub trait MachineKind: Send + Sync {
    /// The kind's name, the value of `kind` in a description.
    fn name(&self) -> &'static str;

    /// The names of machines of this kind that need no description.
    fn named(&self) -> Named {
        Named::None
    }

    /// The name of a small machine of the kind, for tests and for help texts.
    fn example(&self) -> &'static str;

    /// Returns the description that states every key of the kind with its default and its source;
    /// `None` if the kind has no settings.
    fn schema(&self) -> Option<&'static str> {
        None
    }

    /// Returns the machine of a name; `None` if the name does not belong to this kind.
    ///
    /// # Errors
    /// If the name belongs to the kind but is invalid.
    fn find(&self, name: &str) -> Result<Option<Arc<dyn Configured>>>;

    /// Returns the machine of a description.
    ///
    /// # Errors
    /// If the description is wrong, or if the kind has no settings.
    fn configure(&self, name: &str, description: Description) -> Result<Arc<dyn Configured>>;
}

/// The names of a kind's machines that need no description.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Named {
    /// No names: all machines of the kind have descriptions.
    None,
    /// One machine, with the kind's name. The text describes it.
    One(&'static str),
    /// Many machines, whose names follow a pattern.
    Many(Pattern),
}

/// A pattern of names that encode a configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pattern {
    /// The form of the names, such as `np-C-E-T`.
    pub shape: &'static str,
    /// The meaning of the names, in a few words.
    pub about: &'static str,
}

/// A machine that is configured and not started.
pub trait Configured: Any + fmt::Debug + Send + Sync {
    /// The name of its kind.
    fn kind(&self) -> &'static str;

    /// Returns the name: the description's name, or the machine's own.
    fn name(&self) -> &str;

    /// Returns a description in a sentence.
    fn about(&self) -> &str;

    /// Returns every key of the description with its value; `None` if the machine has no settings.
    fn settings(&self) -> Option<toml::Table> {
        None
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities::default()
    }

    /// Whether the machine can be watched and stepped ([`Machine::watch`]).
    fn can_be_watched(&self) -> bool {
        false
    }

    /// The options that have an effect on the machine.
    fn knobs(&self) -> &'static [Knob] {
        &[]
    }

    /// Returns the sections of the description that have no effect with a program, because they are
    /// misspelt or belong to another program, together with the names that would have an effect.
    fn sections_without_effect(&self, program: &ir::Program) -> Vec<String> {
        let _ = program;
        Vec::new()
    }

    /// Returns the parts of a program that do not fit the machine; empty if it accepts the program.
    /// This compiles and loads nothing.
    fn refusals(&self, program: &Program) -> Vec<Refusal>;

    /// Builds the executable form of a program without [`refusals`](Self::refusals) and starts it
    /// without input. This finds the limits of tools and of the host's kernel, which the program
    /// itself does not show. A machine without such limits does nothing.
    ///
    /// # Errors
    /// If the program does not fit the machine, or if a tool or a right is missing
    /// ([`Error::needs_tool`]); only the refusals are known then.
    fn try_out(&self, program: &Program, progress: &dyn Fn(&str)) -> Result {
        let _ = (program, progress);
        Ok(())
    }

    /// Builds the executable form of a program, loads these offloads, and starts the machine.
    /// `progress` shows the current activity to a waiting user.
    ///
    /// # Errors
    /// If the program or its tables do not fit the machine, or if a tool is missing or fails.
    fn start(
        &self,
        program: &Program,
        store: Store,
        options: &Options,
        progress: &dyn Fn(&str),
    ) -> Result<Box<dyn Machine>>;

    /// Starts the machine with a program that is written for machines of its kind alone, if the
    /// file contains one. Returns it together with the program's public side: its name and its
    /// reasons.
    fn start_own(
        &self,
        source: &Source,
        options: &Options,
    ) -> Option<Result<(Program, Box<dyn Machine>)>> {
        let _ = (source, options);
        None
    }

    /// Returns source code of a program for this machine: file names, which may include folders,
    /// and texts.
    ///
    /// # Errors
    /// If there is nothing to write for this machine.
    fn generate(&self, program: &Program) -> Result<Files> {
        let _ = program;
        let message =
            format!("{} is simulated here: there is nothing to build for it", self.name());
        Err(Error::new(message)
            .with_help("build --on native writes C, --on np-C-E-T SystemVerilog"))
    }
}

impl dyn Configured {
    /// Returns the machine as a machine of type `T`, for operations of its kind only.
    pub fn downcast_ref<T: Configured>(&self) -> Option<&T> {
        let machine: &dyn Any = self;
        machine.downcast_ref()
    }
}

/// A part of a program that does not fit a machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// The path of the offload at fault in the engine.
    pub offload: Option<String>,
    /// The step at fault.
    pub step: Option<String>,
    /// The line at fault, if it is known more precisely than by offload and step: the file as the
    /// program names it, and the line number, from 1.
    pub line: Option<(String, u32)>,
    /// The reason: a sentence that names offload and step, with advice.
    pub message: String,
}

impl From<Refused> for Refusal {
    fn from(refused: Refused) -> Self {
        let Refused { offload, step, message } = refused;
        Self { offload, step, line: None, message }
    }
}

impl Refusal {
    /// Returns the refusals of a generator.
    pub fn of(refused: Vec<Refused>) -> Vec<Self> {
        refused.into_iter().map(Self::from).collect()
    }

    /// Returns the first refusal of a generator as an error.
    pub fn first(refused: Vec<Refused>) -> Error {
        let message = refused.into_iter().next().map(|first| first.message).unwrap_or_default();
        Error::new(message).with_help(
            "check --on with this machine lists everything that does not fit or is not supported",
        )
    }
}
