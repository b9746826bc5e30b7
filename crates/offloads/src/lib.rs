//! The offload kinds: a registry of their interfaces, and the golden implementation of each.
//!
//! The compiler checks calls against [`registry`]. The step IR contains a [`Config`] for each
//! offload of an engine. The golden model runs an [`Instance`], and so does the native engine for
//! kinds that have no C code of their own.

pub mod instance;
pub mod kinds;
mod lanes;
pub mod lpm;
mod memory;
pub mod populate;
pub mod raw;
pub mod registry;
pub mod sources;
pub mod store;
pub mod time;
pub mod updates;

pub use instance::{
    Cursor, Duplicate, Entry, EntryKey, Env, Instance, Lifetime, Refused, StateRow, TableWriter,
};
pub use kinds::instantiate;
pub use populate::{LoadSummary, load_tables};
pub use raw::RawView;
pub use registry::{
    Config, Delay, Extent, KINDS, Layout, Members, Method, OffloadKind, Param, ReplyType, StateUse,
    ValueType,
};
pub use store::{Content, Slot, Store};
pub use time::TIMER;
pub use updates::{Update, resolve_updates};
