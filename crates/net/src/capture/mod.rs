//! Captures: reads pcap and pcapng files, writes pcapng (or pcap) files.
//!
//! Both directions stream in constant memory, whatever a file claims about itself.
//!
//! A [`Reader`] treats captures as follows:
//! - it reads both byte orders, micro- and nanosecond pcap, any pcapng time resolution, gzip and
//!   bzip2;
//! - the ingress port is `N` if a pcapng interface is named `portN` (as [`Writer`] names them),
//!   else the number of the interface in its section; 0 for pcap;
//! - Ethernet is kept as it is, without the frame check sequence if the file says that there is
//!   one. Raw IP and Linux cooked captures are given an Ethernet header (see [`LinkType`]); any
//!   other link type is an error;
//! - a record shorter than the original packet (`snaplen`) is treated as [`Truncated`] says;
//! - packets longer than 65,535 bytes, which network cards with reassembly leave in captures, are
//!   cut to that length.
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

/// The longest record that is accepted, in bytes: libpcap's own limit (`MAXIMUM_SNAPLEN`). A longer
/// one means that the file is damaged.
const MAX_RECORD: u32 = 262_144;
