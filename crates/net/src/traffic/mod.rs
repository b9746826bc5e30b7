//! Generated traffic. A [`Spec`] describes it and a [`Generator`] produces it, reproducible to the
//! byte.
//!
//! Sizes are sizes of Ethernet frames including their frame check sequence, as in RFC 2544. A
//! packet of size 64 has 60 bytes here and in captures, which omit the sequence. A packet whose
//! headers need more than the requested size is as long as its headers. A bare size is the length
//! of the packet here, without padding. Headers that do not fit a bare size are refused.
//!
//! Random numbers come from ChaCha8 (`rand_chacha`). Its stream is fixed for a seed. Gaps of
//! Poisson traffic and Zipf weights also depend on the host's floating-point logarithm and power.

mod addresses;
mod error;
mod generator;
mod mix;
mod random;
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
