//! Captures: pcap and pcapng files in, pcapng (or pcap) files out.
//!
//! Both directions stream in constant memory, whatever a file claims about itself.
//!
//! What a [`Reader`] makes of a capture:
//! - both byte orders, micro- and nanosecond pcap, any pcapng time resolution, gzip and bzip2;
//! - the ingress port is `N` where a pcapng interface is named `portN` (as [`Writer`] names them), else the number of the
//!   interface in its section; 0 for pcap;
//! - Ethernet is taken as it is, less a frame check sequence if the file says that there is one. Raw IP and Linux
//!   cooked captures are given an Ethernet header (see [`LinkType`]); any other link type is an error;
//! - a record shorter than its packet was (`snaplen`) is treated as [`Truncated`] says;
//! - packets longer than 65,535 bytes, which reassembling network cards leave behind, are cut to that.
//!
//! Blocks of unknown types are skipped.

mod error;
mod link;
mod pcap;
mod pcapng;
mod reader;
mod writer;

pub use error::CaptureError;
pub use link::LinkType;
pub use reader::{ReadOptions, Reader, Summary, Truncated};
pub use writer::{Destination, Format, Writer};

/// The longest record that is believed, in bytes: libpcap's own limit (`MAXIMUM_SNAPLEN`). A longer one means that
/// the file is damaged.
const MAX_RECORD: u32 = 262_144;
