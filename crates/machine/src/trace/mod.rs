//! What golden did with one packet, step by step, in the words of its program.
//!
//! The trace is that of the program before any pass: there each operation has its line of the
//! source, conditions are those of the source, and values have the names of variables. The passes
//! merge, move and remove such operations; what leaves is the same.

mod recorder;
mod text;
mod words;

#[cfg(test)]
mod tests;

use serde::Serialize;
use wireloom_compile::names::Names;
use wireloom_ir::{Golden, Output, Program};
use wireloom_net::Frame;

use crate::Outputs;
use recorder::Recorder;

/// The way of a packet through an engine.
#[derive(Clone, Debug, Serialize)]
pub struct Trace {
    /// The steps, in order.
    pub steps: Vec<Step>,
    /// The number of steps, those of called engines included, that were left out at the end.
    pub omitted_steps: u64,
}

/// A step that was executed.
#[derive(Clone, Debug, Serialize)]
pub struct Step {
    /// The engine.
    pub engine: String,
    /// The step.
    pub step: String,
    /// The file in which the step is declared.
    pub file: String,
    /// The line of the declaration, from 1.
    pub line: u32,
    /// The lines of the source in which something happened, in order.
    pub lines: Vec<Line>,
    /// The variables of the thread's context that the step changed.
    pub context: Vec<Change>,
    /// How the step ended; none if no exit was taken.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub end: Option<String>,
}

/// A line of the source that was executed.
#[derive(Clone, Debug, Serialize)]
pub struct Line {
    /// The file.
    pub file: String,
    /// The line, from 1.
    pub line: u32,
    /// The line's text.
    pub text: String,
    /// What happened, in order.
    pub events: Vec<Event>,
}

/// Something that happened.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Event {
    /// A variable was set, or a field of the packet read.
    Value(Named),
    /// A condition decided: of an `if`, a `?:`, or one case of a `switch`.
    Condition {
        /// Whether it held.
        held: bool,
        /// The values on which it depends, except those that precede it on the same line.
        because: Vec<Named>,
    },
    /// An offload was called.
    Call(Call),
    /// A field of the packet, or its egress port, was written.
    Edit {
        /// The field.
        #[serde(flatten)]
        change: Change,
        /// Whether nothing was written because the field lies outside the header window.
        outside: bool,
    },
    /// Bytes were inserted or removed, or an offload changed the packet.
    Resize {
        /// What was asked for.
        what: String,
        /// The packet's length before, in bytes.
        from: u64,
        /// The packet's length after.
        to: u64,
    },
    /// The step ended.
    End(String),
}

/// A call of an offload.
#[derive(Clone, Debug, Serialize)]
pub struct Call {
    /// The offload.
    pub offload: String,
    /// What implements it: the name of a kind or of an engine.
    pub kind: String,
    /// The method.
    pub method: String,
    /// The arguments.
    pub arguments: Vec<Named>,
    /// The reply; its one part has no name if it is a scalar.
    pub reply: Vec<Named>,
    /// The entry that was found, for longest-prefix matches.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub found: Option<String>,
    /// The steps of a called engine.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub steps: Vec<Step>,
}

/// A value with its name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Named {
    /// The name.
    pub name: String,
    /// The value as people write it.
    pub value: String,
}

/// A change of a value.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Change {
    /// The name.
    pub name: String,
    /// The value before.
    pub from: String,
    /// The value after.
    pub to: String,
}

/// Makes golden process a frame and records at most so many steps. Returns what left, too.
/// `program` is the program that `golden` executes, as [`lower`](wireloom_compile::lower()) makes
/// it, and `names` are those of its source.
pub fn trace(
    program: &Program,
    names: &Names,
    golden: &mut Golden,
    frame: Frame<'_>,
    most_steps: u64,
) -> (Trace, Outputs) {
    let mut recorder = Recorder::new(program, names, most_steps);
    let mut outputs = Outputs::default();
    golden.observe(frame, &mut recorder, &mut |output: Output<'_>| outputs.keep(output));
    (recorder.finish(), outputs)
}
