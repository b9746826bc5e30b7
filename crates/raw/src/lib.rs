//! A tiled processor whose networks the software programs, after the MIT RAW microprocessor,
//! simulated to the cycle.
//!
//! A [`Chip`] has tiles. A tile has a processor, a switch processor that moves words over two
//! static networks, and a router for each of two dynamic networks. Devices ([`device`]) are
//! attached to the ports on the chip's edge. In each cycle all units act on the state of the queues
//! at its beginning, so the order of simulation does not matter.
//!
//! [docs/machines/raw.md] describes the model and marks its assumptions.

pub mod asm;
pub mod board;
pub mod c;
mod cache;
mod chip;
pub mod device;
pub mod dir24;
pub mod drawing;
pub mod energy;
mod kind;
mod layout;
mod machine;
pub mod mapper;
mod message;
mod queue;
mod router;
pub mod routers;
mod spec;
mod spent;
mod switch;
mod tail;
mod tile;
mod waits;

pub use chip::{Chip, Error};
pub use device::{Device, Port};
pub use kind::KIND;
pub use layout::Side;
pub use machine::Raw;
pub use message::Header;
pub use spec::{Spec, SpecError};
pub use spent::{SwitchCycles, TileCycles, Work};
