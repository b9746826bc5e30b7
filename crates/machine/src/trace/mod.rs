//! The trace of one packet through golden, step by step, in the terms of its program.
//!
//! The trace shows the program before any pass. There each operation has its line of the source,
//! conditions appear as in the source, and values have the names of variables. The passes merge,
//! move and remove such operations, but do not change the outputs.

mod recorder;
mod text;
mod words;

#[cfg(test)]
mod tests;

use serde::Serialize;
use wireloom_compile::names::Names;
use wireloom_ir::{Execute, Golden, Output, Program};
use wireloom_net::Frame;

use crate::Outputs;
use recorder::Recorder;

/// The passage of a packet through an engine.
#[derive(Clone, Debug, Serialize)]
pub struct Trace {
    /// The steps, in order.
    pub steps: Vec<Step>,
    /// The number of steps that were omitted at the end, including steps of called engines.
    pub omitted_steps: u64,
}

/// A step that was executed.
#[derive(Clone, Debug, Serialize)]
pub struct Step {
    pub engine: String,
    pub step: String,
    /// The file in which the step is declared.
    pub file: String,
    /// The line of the declaration, from 1.
    pub line: u32,
    /// The lines of the source in which something happened, in order.
    pub lines: Vec<Line>,
    /// The variables of the thread's context that the step changed.
    pub context: Vec<Change>,
    /// The exit that ended the step; `None` if no exit was taken.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub end: Option<String>,
}

/// A line of the source that was executed.
#[derive(Clone, Debug, Serialize)]
pub struct Line {
    pub file: String,
    /// The line, from 1.
    pub line: u32,
    /// The line's text.
    pub text: String,
    /// The events at this line, in order.
    pub events: Vec<Event>,
}

/// An event at a line of the source.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Event {
    /// A variable was set, or a field of the packet was read.
    Value(Named),
    /// A condition was evaluated: of an `if`, a `?:`, or one case of a `switch`.
    Condition {
        /// Whether the condition held.
        held: bool,
        /// The values on which the condition depends, except values that precede it on the same
        /// line.
        because: Vec<Named>,
    },
    /// An offload was called.
    Call(Call),
    /// A field of the packet, or its egress port, was written.
    Edit {
        /// The changed field.
        #[serde(flatten)]
        change: Change,
        /// Whether the write was ignored because the field lies outside the header window.
        outside: bool,
    },
    /// Bytes were inserted or removed, or an offload changed the packet.
    Resize {
        /// The requested operation.
        what: String,
        /// The packet's length before, in bytes.
        from: u64,
        /// The packet's length after, in bytes.
        to: u64,
    },
    /// The step ended.
    End(String),
}

/// A call of an offload.
#[derive(Clone, Debug, Serialize)]
pub struct Call {
    pub offload: String,
    /// The implementation: the name of a kind or of an engine.
    pub kind: String,
    pub method: String,
    pub arguments: Vec<Named>,
    /// The parts of the reply. A scalar reply has one part without a name.
    pub reply: Vec<Named>,
    /// For a longest-prefix match, the entry that was found.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub found: Option<String>,
    /// The steps of a called engine.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub steps: Vec<Step>,
}

/// A named value.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Named {
    pub name: String,
    /// The value, formatted for users.
    pub value: String,
}

/// A change of a value.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Change {
    /// The name of the value.
    pub name: String,
    /// The value before.
    pub from: String,
    /// The value after.
    pub to: String,
}

/// Makes golden process a frame and records at most `most_steps` steps. Also returns the outputs.
/// `program` is the program that `golden` executes, as [`lower`](wireloom_compile::lower()) creates
/// it, and `names` are the names of its source.
pub fn trace(
    program: &Program,
    names: &Names,
    golden: &mut Golden,
    frame: Frame<'_>,
    most_steps: u64,
) -> (Trace, Outputs) {
    // Timers that are due before are not part of the packet's trace.
    golden.advance_to(frame.arrival_ns, &mut |_| ());
    let mut recorder = Recorder::new(program, names, most_steps);
    let mut outputs = Outputs::default();
    golden.observe(frame, &mut recorder, &mut |output: Output<'_>| outputs.keep(output));
    (recorder.finish(), outputs)
}
