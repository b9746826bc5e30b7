//! Generated traffic: a [`Spec`] says what, a [`Generator`] makes it, repeatable to the byte.
//!
//! Sizes are those of Ethernet frames with their frame check sequence, as RFC 2544 counts them: a packet of size 64 has
//! 60 bytes here and in captures, which do not hold the sequence. A packet whose headers need more than the size asked
//! for is as long as its headers. Bare sizes are what the packet has here, without padding; headers that do not fit are refused.
//!
//! The numbers come from ChaCha8 (`rand_chacha`), whose stream is fixed for a seed; gaps of Poisson traffic and Zipf weights
//! also go through the machine's floating-point logarithm and power.

mod addresses;
mod error;
mod generator;
mod mix;
mod spec;
mod template;
mod timing;
mod trace;

pub use addresses::{Pick, PrefixPool};
pub use error::SpecError;
pub use generator::Generator;
pub use mix::{Inner, Mix, Order, Protocol, Transport, TransportMix, VlanMix};
pub use spec::{AddressSpec, Labels, Sizes, Spec};
pub use timing::{Bursts, Rate};
