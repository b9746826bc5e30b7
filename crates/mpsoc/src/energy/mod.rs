//! The energy of a machine: its parts with their models, and the events of processors, network,
//! memories and objects.
//!
//! The machine counts its events in any case; [`charge`] passes the counts to an
//! [`Account`](wireloom_power::Account). docs/power.md lists the parts.

mod ledger;
mod memory;
mod parts;
mod spec;
mod unit;

pub(crate) use ledger::charge;
pub use parts::{ChipPart, GROUPS, Group, ProcessorPart, groups, plan};
pub use spec::PowerSpec;
pub use unit::{Contents, Unit, Work};
