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
//!   one. Packets of other links are given an Ethernet header (see [`LinkType`]); a link type that
//!   is not there is an error that names it;
//! - a record shorter than the original packet (`snaplen`) is treated as [`Truncated`] says;
//! - a capture that ends in the middle of a record is treated as [`Unfinished`] says;
//! - a damaged packet after which the next one can be found is treated as [`Damaged`] says;
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
pub use reader::{Damaged, ReadOptions, Reader, Summary, Truncated, Unfinished};
pub use writer::{Destination, Format, Writer};

/// The longest accepted record in bytes: libpcap's own limit (`MAXIMUM_SNAPLEN`). A longer record
/// means that the file is damaged.
const MAX_RECORD: u32 = 262_144;
