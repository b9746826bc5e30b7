//! Tables: the data that the control plane gives to offloads. They come from text files, from files
//! of other programs, and from the kernel.
//!
//! A table file (by convention `NAME.tables`; may be compressed with gzip or bzip2) is text with
//! one item per line; `#` begins a comment:
//!
//! ```text
//! table routes                      # an offload; `cache.mem` is offload `mem` of engine `cache`
//! 10.0.0.0/8 port=3 class=7         # lpm: a prefix, then the fields of the value
//! 0x12/8 = 5                        # a key that is not an address; a value that is a scalar
//! import pyasn "internet.dat.gz" family=4 limit=1000 port=(asn % 16) class=(length - 8)
//!
//! table flows
//! src=10.0.0.1 dst=10.0.0.2 -> port=1     # exact: fields of the key, then fields of the value
//! 02:00:00:00:00:01 -> = 7                # a scalar key, a scalar value
//!
//! table ports
//! 17 port=1 mac=02:00:00:00:00:01   # array, counter, meter: an index
//!
//! table urls
//! "GET /video" port=2               # match: a pattern; \" \\ \n \r \t \0 \xHH as in C
//! ```
//!
//! A value is a number (`5`, `0x1f`, `0b101`, `0o17`, `_` between digits), an IPv4 or IPv6 address,
//! a MAC address, `true`, `false`, or arithmetic in parentheses, with C's operators. Only the
//! offloads know names and widths, so [`TableFile::drain`] passes on what the file contains,
//! with positions.
//!
//! `import SOURCE "path" OPTION=... FIELD=...` imports prefixes from another source; the path is
//! relative to the table file. Its fields may use variables: `index` (number of the prefix, from
//! 0), `length` (of the prefix), and the variables of the source:
//!
//! | source | what | variables |
//! |---|---|---|
//! | `pyasn` | a pyasn IP-to-ASN file | `asn` |
//! | `mrt` | a RIB dump, RFC 6396 `TABLE_DUMP` or `TABLE_DUMP_V2` | `asn` (origin by first peer) |
//! | `prefixes` | a list, one prefix per line | |
//! | `kernel` | a table of the running kernel; takes no path | see below |
//!
//! The variables of `kernel` are `device` (interface index), `port`, `gateway` (0: none), `metric`,
//! `paths`, `type`, and the types: `unicast`, `local`, `broadcast`, `anycast`, `multicast`,
//! `blackhole`, `unreachable`, `prohibit`, `throw`.
//!
//! Options are `family=4` or `6` (else both), `limit=N` (the first N selected prefixes), and for
//! `kernel`
//! - `devices="eth0 eth1"`: selects only routes through these devices, and routes that refuse
//!   packets. `port` is the position of the device in that list;
//! - `table=N`, or `main` (the default), `local`, `default`;
//! - `types="unicast blackhole"`: selects only routes of these types. A selected route that is not
//!   `unicast` is an error unless some field uses `type`;
//! - `path=N`: selects one of a route's next hops through these devices (there are `paths`): the
//!   one with this number, from 0, modulo `paths`. The default is 0.
//!
//! A field with the name of an option is written with parentheses: `limit=(5)`.

mod error;
mod expr;
mod file;
mod import;
#[cfg_attr(not(target_os = "linux"), path = "no_kernel.rs")]
mod kernel;
mod line;
mod literal;
mod mrt;
mod prefix;
mod pyasn;
mod route;
mod text;
mod updates;

pub use error::TableError;
pub use file::{Entry, TableFile};
pub use import::{SourceKind, read_prefixes, read_routes};
pub use line::{Key, parse_entry, parse_key};
pub use literal::Literal;
pub use prefix::{Family, Prefix};
pub use route::{Hop, Route};
pub use updates::{UpdateEntry, UpdateFile};
