//! The interface that all machines share.
//!
//! ```text
//! Kind --configure(description)--> Configured --start(program, offloads)--> Machine
//! ```
//!
//! A [`MachineKind`] turns a name or a description into a [`Configured`] machine, which has a
//! description and refuses programs that do not fit. Started with a program and its offloads, it is
//! a [`Machine`]: it accepts borrowed frames and passes on its outputs. A [`Registry`] lists the
//! kinds, and everything above this crate works on any machine in it. The first kind is [`golden`].

mod changes;
mod compare;
mod described;
mod error;
mod explain;
pub mod golden;
mod in_order;
mod interface;
mod kind;
mod options;
mod outputs;
mod passage;
mod pauses;
mod profile;
mod program;
mod record;
mod registry;
mod rows;
mod running;
mod snapshot;
pub mod software;
mod state;
mod throughput;
pub mod trace;
pub mod watch;

pub use changes::{Change, Changing, Intent, Planned, RefusedChange, has_table, transact};
pub use compare::{
    Compared, Contender, Difference, compare_outputs, first_difference, missing_port_text,
    reason_name, verdict_text,
};
pub use described::Described;
pub use error::{Error, Result};
pub use explain::{described, explained};
pub use in_order::{Departures, Sequence};
pub use interface::{
    Calls, Capabilities, Counts, Events, LostOutput, Machine, Numbers, Recordings, Settled, Sink,
    SinkOfPieces, UpdateError, Wanted,
};
pub use kind::{Configured, Files, MachineKind, Named, Pattern, Refusal};
pub use options::{Arrivals, Knob, Options, Rate};
pub use outputs::Outputs;
pub use passage::{Milestone, Passage};
pub use pauses::Pauses;
pub use profile::{LineCounts, Profile, ProfileLine, Profiler};
pub use program::{Program, Source};
pub use record::{Bar, Line, Part, Record, counted, thousands};
pub use registry::Registry;
pub use rows::{Row, RowWithTimes};
pub use running::{LoadedTables, Running, load_store};
pub use snapshot::Snapshot;
pub use state::{
    RowDifference, differences, entry_text, fields_text, find_offload, key_text, value_text,
    written_fields,
};
pub use throughput::{Latency, Throughput, Totals};
