//! The offload kinds: one registry of their interfaces, and the golden meaning of each.
//!
//! The language checks calls against [`registry`]; the step IR carries a [`Config`] for each
//! offload of an engine; the golden model and (for the kinds that it does not realise in C) the
//! native engine run an [`Instance`].

pub mod instance;
pub mod kinds;
mod lanes;
pub mod lpm;
mod memory;
pub mod populate;
pub mod raw;
pub mod registry;
pub mod store;
pub mod updates;

pub use instance::{Duplicate, Entry, EntryKey, Env, Instance, Refused, Row};
pub use kinds::instantiate;
pub use populate::{LoadSummary, load_tables};
pub use raw::RawView;
pub use registry::{
    Config, Delay, Extent, KINDS, Kind, Layout, Method, Param, ReplyType, StateUse, ValueType,
};
pub use store::{Content, Slot, Store};
pub use updates::{Update, resolve_updates};
