//! Packets and everything around them: the packet in hand, captures, traffic and tables.

pub mod capture;
mod input;
#[cfg(target_os = "linux")]
pub mod netlink;
pub mod packet;
pub mod tables;
pub mod traffic;
pub mod wire;

pub use packet::{Frame, HEADROOM, Packet, PacketInHand, WINDOW};
pub use wire::dissect;
