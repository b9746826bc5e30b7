//! The language of the control socket: requests and replies, each a line of JSON.

use serde::{Deserialize, Serialize};
use wireloom_machine::Error;
pub use wireloom_machine::{Change, Row};

use crate::capture::Point;
use crate::status::{Reloaded, Status};

/// The longest request, in bytes. Longer lines are refused.
pub const MOST_REQUEST_BYTES: usize = 1 << 20;

/// A request of a client.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(tag = "do", rename_all = "snake_case")]
pub enum Request {
    /// Returns one [`Reply::Status`].
    Status,
    /// Reads program and tables again. Returns one [`Reply::Reloaded`].
    Reload,
    /// Ends forwarding. Returns one [`Reply::Stopping`].
    Stop,
    /// Returns a [`Reply::Packet`] for each packet, then [`Reply::Ended`].
    Capture(Capture),
    /// Returns a [`Reply::Trace`] for each packet, then [`Reply::Ended`].
    Trace(Trace),
    /// Describes the offloads. Returns one [`Reply::Tables`].
    Tables,
    /// Returns the rows of an offload in one or more [`Reply::Rows`]. The last one has an `end`.
    Rows(ShowRows),
    /// Changes entries, all of them or none. Returns one [`Reply::Changed`] or [`Reply::Refused`].
    Change(Changes),
}

/// The rows that are returned.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ShowRows {
    /// The path of the offload.
    pub table: String,
    /// The keys of the rows, in the notation of table files; all rows if there are none.
    #[serde(default)]
    pub keys: Vec<String>,
    /// The most rows; without it there is no limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub most: Option<u64>,
}

/// The most changes of a transaction. Packets wait while they are made.
pub const MOST_CHANGES: usize = 10_000;

/// A transaction: changes that are made together, between two batches of packets.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Changes {
    /// The changes in their order, at most [`MOST_CHANGES`].
    pub changes: Vec<Change>,
}

/// Which packets are captured. The capture ends at the first of its limits.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Capture {
    /// The points of capture.
    pub at: Vec<Point>,
    /// The filter of packets, in the syntax of [`Filter`](crate::Filter).
    #[serde(default)]
    pub filter: String,
    /// The most packets.
    pub packets: u64,
    /// The most bytes.
    pub bytes: u64,
    /// The longest time, in seconds.
    pub seconds: u64,
}

/// Which packets are traced. The traces end at the first of their limits.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Trace {
    /// The filter of packets, in the syntax of [`Filter`](crate::Filter).
    #[serde(default)]
    pub filter: String,
    /// The most packets.
    pub count: u64,
    /// The most steps that each trace shows.
    pub steps: u64,
    /// The width of the text, in characters.
    pub width: usize,
    /// The longest time, in seconds.
    pub seconds: u64,
}

/// The reply of the forwarder.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reply {
    /// All counters.
    Status(Box<Status>),
    /// The result of a reload.
    Reloaded(Reloaded),
    /// Forwarding ends now.
    Stopping {},
    Packet(Packet),
    Trace(Traced),
    /// A capture or a trace has ended.
    Ended(Ended),
    /// The offloads, in the order of their declaration.
    Tables(Vec<Table>),
    Rows(Rows),
    /// All changes of a transaction were made.
    Changed(Changed),
    /// A transaction was refused, and nothing has changed.
    Refused(Refused),
    /// The request was refused.
    Error {
        /// The reason of the refusal.
        message: String,
        /// A remedy, if there is one.
        #[serde(skip_serializing_if = "Option::is_none")]
        help: Option<String>,
    },
}

/// An offload.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Table {
    /// The path: names joined by dots.
    pub table: String,
    pub kind: String,
    /// The fields of keys. Empty for elements with an index, and for kinds without keys.
    pub key: Vec<Field>,
    /// The fields that table files give.
    pub value: Vec<Field>,
    /// The number of entries; absent if the kind has none or would have to count them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub entries: Option<u64>,
    /// The declared size, in entries or elements.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size: Option<u64>,
    pub writer: TableWriter,
    /// Whether packets change the state.
    pub changed_by_packets: bool,
}

/// Who writes the entries of an offload, besides packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TableWriter {
    /// Clients of the control socket.
    Control,
    /// The kernel, whose routes and neighbours the table follows.
    Kernel,
    /// Nobody: the kind has no entries that can be written.
    Nobody,
}

/// A field of keys or values.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Field {
    /// The name; empty for a scalar.
    pub name: String,
    /// The width in bits.
    pub bits: u32,
}

/// Some rows of an offload.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Rows {
    pub rows: Vec<Row>,
    /// Whether and why these are the last rows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub end: Option<End>,
}

/// Why no rows follow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum End {
    /// There are no more.
    Complete,
    /// There may be more than the request permits.
    Limit,
}

/// A transaction that was made.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Changed {
    /// The number of changes.
    pub changes: u64,
    /// How long packets waited.
    pub microseconds: f64,
}

/// A transaction that was refused.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Refused {
    /// The index of the change that was refused, from 0.
    pub change: u64,
    /// The reason.
    pub message: String,
    /// A remedy, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub help: Option<String>,
}

/// A captured packet.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Packet {
    /// The point of capture.
    pub at: Point,
    /// The egress port at [`Point::Out`]; the ingress port elsewhere.
    pub port: u16,
    /// The time of arrival, in nanoseconds since 1970.
    pub arrival_ns: u64,
    /// Why the packet went to the kernel or was dropped.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The bytes of the packet, in hexadecimal.
    pub bytes: String,
}

/// A traced packet.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Traced {
    /// The trace, as `wireloom trace --json` writes it.
    pub report: serde_json::Value,
    /// The trace as text.
    pub text: String,
}

/// The end of a capture or of traces.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Ended {
    /// Packets that were passed on.
    pub packets: u64,
    /// Packets that matched and were not passed on: the client reads too slowly, or another packet
    /// of the batch was traced.
    pub lost: u64,
    /// Whether the time limit ended it.
    pub timed_out: bool,
}

impl From<Error> for Reply {
    fn from(error: Error) -> Self {
        Self::Error { message: error.message, help: error.help }
    }
}

/// Writes bytes in hexadecimal.
pub fn hex(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let digits = bytes.iter().flat_map(|byte| [byte >> 4, byte & 15]);
    digits.map(|digit| char::from(DIGITS[usize::from(digit)])).collect()
}

/// Reads bytes in hexadecimal. Returns `None` for any other text.
pub fn from_hex(text: &str) -> Option<Vec<u8>> {
    let digit = |c: u8| char::from(c).to_digit(16);
    let pair = |pair: &[u8]| Some((digit(pair[0])? << 4 | digit(pair[1])?) as u8);
    text.len().is_multiple_of(2).then_some(())?;
    text.as_bytes().chunks_exact(2).map(pair).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_lines_of_json() {
        let parse = serde_json::from_str::<Request>;
        assert!(matches!(parse(r#"{"do":"status"}"#), Ok(Request::Status)));
        let capture = r#"{"do":"capture","at":["in","drop"],"packets":1,"bytes":2,"seconds":3}"#;
        let Ok(Request::Capture(capture)) = parse(capture) else { panic!("a capture") };
        assert_eq!((&capture.at[..], capture.seconds), (&[Point::In, Point::Drop][..], 3));
        let change = r#"{"do":"change","changes":[{"do":"delete","table":"t","key":"1"}]}"#;
        let Ok(Request::Change(change)) = parse(change) else { panic!("a transaction") };
        assert_eq!(change.changes, [Change::Delete { table: "t".into(), key: "1".into() }]);
        assert!(matches!(parse(r#"{"do":"rows","table":"t"}"#), Ok(Request::Rows(_))));
        for wrong in [
            r#"{"do":"dance"}"#,
            r#"{"do":"change","changes":[{"do":"insert","table":"t","key":"1"}]}"#,
            r#"{"do":"trace","filter":"","count":1,"steps":1,"width":1,"seconds":1,"x":1}"#,
            "",
        ] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn bytes_are_hexadecimal() {
        assert_eq!(hex(&[0, 0xab, 0xff]), "00abff");
        assert_eq!(from_hex("00ABff"), Some(vec![0, 0xab, 0xff]));
        assert_eq!((from_hex("0"), from_hex("0g"), from_hex("é")), (None, None, None));
    }
}
