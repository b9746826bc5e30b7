//! Models of energy: an access to an array, an operation of a datapath, a grant of an arbiter, a
//! word on a wire, a burst of a memory chip, and leakage.
//!
//! The models are independent of machines. Each takes a [`Process`], which has the capacitances of
//! a process and its supply voltage, and returns an [`Energy`](wireloom_sim::Energy). docs/power.md
//! has the formulas with their sources. A dynamic energy is drawn from the supply: a capacitance C
//! that is charged to V and discharged again costs C V^2. An [`Account`] sums up the energy of a
//! machine by part, by unit and over time.

pub mod account;
pub mod arbiter;
pub mod array;
pub mod clock;
pub mod datapath;
pub mod leakage;
pub mod memory;
pub mod parts;
pub mod process;
pub mod regulator;
pub mod technology;
pub mod wire;

pub use account::{Account, Plan};
pub use arbiter::Arbiter;
pub use array::{Array, Reading};
pub use clock::ClockTree;
pub use datapath::{Datapath, Operation};
pub use memory::{DramChips, SramChips};
pub use parts::{ByClass, Part, PartKey, PartModel, Place};
pub use process::{Process, RangeError};
pub use regulator::Regulator;
pub use technology::{Technology, percent_of};
pub use wire::{Bus, Crossbar};

use wireloom_sim::Energy;

/// The number of zeptojoules in a joule.
const ZEPTO: f64 = 1e21;

/// Converts joules to an energy, rounded to the nearest zeptojoule. Negative and undefined values
/// become 0.
pub(crate) fn joules(joules: f64) -> Energy {
    Energy((joules * ZEPTO).round().max(0.0) as u128)
}
