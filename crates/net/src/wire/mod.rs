//! Protocols on the wire, one per file: the positions of fields, the names of their values, and a
//! header type to write. [`build`] assembles headers into frames, and [`dissect`] dissects frames
//! for people.
//!
//! Engines do not use this module: they have their own headers, in Loom C. This is the tool's
//! independent knowledge of the protocols, for traffic, tests and display.

pub mod arp;
pub mod build;
pub mod checksum;
pub mod dissect;
pub mod ethernet;
pub mod icmp;
pub mod icmpv6;
pub mod ipv4;
pub mod ipv6;
pub mod layout;
pub mod mpls;
pub mod protocol;
pub mod tcp;
#[cfg(test)]
mod testing;
pub mod udp;
pub mod vlan;
