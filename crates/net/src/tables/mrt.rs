//! RIB dumps in MRT format (RFC 6396): `TABLE_DUMP` and the unicast records of `TABLE_DUMP_V2`,
//! also with additional paths (RFC 8050). Records of other types are skipped.
//!
//! For each prefix, the origin according to the first peer is used. It is the last AS of the AS
//! path. If the path ends in an AS_SET, it is the smallest AS of the set; if the path is empty, it
//! is 0.

use std::ops::ControlFlow;
use std::path::Path;

use super::error::{Position, TableError};
use super::prefix::{Family, Prefix};
use super::route::{Route, Visit};
use crate::input::Source;

const TABLE_DUMP: u16 = 12;
const TABLE_DUMP_V2: u16 = 13;

/// The types of RFC 6396, section 4, including the ones with extended timestamps (`_ET`). A file of
/// other records is not a dump. Skipping them would read an endless device, such as `/dev/zero`,
/// forever.
const TYPES: [u16; 9] = [11, TABLE_DUMP, TABLE_DUMP_V2, 16, 17, 32, 33, 48, 49];

/// A RIB record holds one entry per peer, of a few hundred bytes each. A record that claims more
/// than this limit is damaged.
const MAX_RECORD: u32 = 1 << 24;

const ATTRIBUTE_AS_PATH: u8 = 2;
const ATTRIBUTE_AS4_PATH: u8 = 17;
/// Attribute flag: the length has two bytes.
const EXTENDED_LENGTH: u8 = 0x10;
const AS_SET: u8 = 1;
const AS_SEQUENCE: u8 = 2;
/// Replaces an AS that needs four bytes in two-byte paths (RFC 6793).
const AS_TRANS: u32 = 23_456;

/// Streams a dump.
pub(super) fn read(
    path: &Path,
    mut source: Source,
    visit: &mut Visit<'_>,
) -> Result<(), TableError> {
    let mut body = Vec::new();
    let mut route = Route::default();
    // Records of other types; files of updates consist of them.
    let (mut others, mut routes) = (0u64, 0u64);
    loop {
        let start = source.offset;
        let at = Position::Byte(start);
        let wrong = |what: &str| TableError::new(path, at, what);
        let failed = |e| TableError::io(path, at, &e);
        let mut header = [0; 12];
        match source.fill(&mut header).map_err(failed)? {
            0 if routes == 0 => {
                return Err(TableError::new(
                    path,
                    Position::Whole,
                    format!(
                        "the dump has no RIB records, only {others} of other types; fetch a dump of a table \
                         (`rib`, `bview`), not of updates"
                    ),
                ));
            }
            0 => return Ok(()),
            12 => {}
            _ => {
                return Err(wrong(
                    "the dump ends inside a record header; it is truncated, fetch it again",
                ));
            }
        }
        let mut fields = Bytes(&header[4..]);
        let (kind, subtype) = (fields.u16().unwrap_or(0), fields.u16().unwrap_or(0));
        let length = fields.u32().unwrap_or(0);
        if length > MAX_RECORD {
            return Err(wrong(&format!(
                "a record claims to have {length} bytes; this is not an MRT dump, or it is damaged"
            )));
        }
        if !TYPES.contains(&kind) {
            return Err(wrong(&format!(
                "a record has type {kind}, which RFC 6396 does not define; this is not an MRT dump, or it is damaged"
            )));
        }
        let family = match (kind, subtype) {
            (TABLE_DUMP, 1) | (TABLE_DUMP_V2, 2 | 8) => Family::V4,
            (TABLE_DUMP, 2) | (TABLE_DUMP_V2, 4 | 10) => Family::V6,
            _ => {
                if source.skip(u64::from(length)).map_err(failed)? < u64::from(length) {
                    return Err(wrong(
                        "the dump ends inside a record; it is truncated, fetch it again",
                    ));
                }
                others += 1;
                continue;
            }
        };
        routes += 1;
        body.resize(length as usize, 0);
        if source.fill(&mut body).map_err(failed)? < body.len() {
            return Err(wrong("the dump ends inside a record; it is truncated, fetch it again"));
        }
        let parsed = if kind == TABLE_DUMP {
            table_dump(Bytes(&body), family)
        } else {
            table_dump_v2(Bytes(&body), family, subtype >= 8)
        };
        let (prefix, asn) = parsed.ok_or_else(|| {
            wrong("a record does not have the form of RFC 6396; the dump is damaged")
        })?;
        let Some(asn) = asn else { continue };
        // TABLE_DUMP has a record for each peer. The records of a prefix are adjacent.
        if kind == TABLE_DUMP && route.prefix == Some(prefix) {
            continue;
        }
        route.prefix = Some(prefix);
        route.asn = asn;
        if visit(at, &route).map_err(|what| wrong(&what))? == ControlFlow::Break(()) {
            return Ok(());
        }
    }
}

/// Parses a record of RFC 6396, section 4.2.
fn table_dump(mut bytes: Bytes<'_>, family: Family) -> Option<(Prefix, Option<u32>)> {
    let width = family.width() as usize / 8;
    bytes.take(4)?; // view, sequence number
    let address = bytes.address(width, width)?;
    let length = u32::from(bytes.u8()?);
    bytes.take(1 + 4 + width + 2)?; // status, time, peer's address and AS
    let attributes = bytes.u16()?;
    let asn = origin(Bytes(bytes.take(attributes.into())?), 2)?;
    Some((Prefix::new(family, address, length)?, Some(asn)))
}

/// Parses a record of RFC 6396, section 4.3.2 and, with path identifiers, RFC 8050, section 4. The
/// origin is `None` if the record has no entries: no peer has a route to the prefix.
fn table_dump_v2(
    mut bytes: Bytes<'_>,
    family: Family,
    additional_paths: bool,
) -> Option<(Prefix, Option<u32>)> {
    let width = family.width() as usize / 8;
    bytes.take(4)?; // sequence number
    let length = u32::from(bytes.u8()?);
    let address = bytes.address(length.div_ceil(8) as usize, width)?;
    let prefix = Prefix::new(family, address, length)?;
    if bytes.u16()? == 0 {
        return Some((prefix, None));
    }
    bytes.take(2 + 4 + if additional_paths { 4 } else { 0 })?; // peer, time, path identifier
    let attributes = bytes.u16()?;
    let asn = origin(Bytes(bytes.take(attributes.into())?), 4)?;
    Some((prefix, Some(asn)))
}

/// Returns the origin AS of BGP path attributes (RFC 4271 section 4.3). AS numbers have `as_bytes`
/// bytes.
fn origin(mut attributes: Bytes<'_>, as_bytes: usize) -> Option<u32> {
    let (mut path, mut path4) = (None, None);
    while !attributes.0.is_empty() {
        let (flags, code) = (attributes.u8()?, attributes.u8()?);
        let length = if flags & EXTENDED_LENGTH != 0 {
            attributes.u16()?.into()
        } else {
            attributes.u8()?.into()
        };
        let value = Bytes(attributes.take(length)?);
        match code {
            ATTRIBUTE_AS_PATH => path = Some(path_end(value, as_bytes)?),
            ATTRIBUTE_AS4_PATH => path4 = Some(path_end(value, 4)?),
            _ => {}
        }
    }
    Some(match (path, path4) {
        (Some(AS_TRANS), Some(asn)) => asn,
        (Some(asn), _) => asn,
        (None, _) => 0,
    })
}

fn path_end(mut path: Bytes<'_>, as_bytes: usize) -> Option<u32> {
    let mut end = 0;
    while !path.0.is_empty() {
        let (kind, count) = (path.u8()?, path.u8()?);
        let numbers = path.take(usize::from(count) * as_bytes)?.chunks_exact(as_bytes);
        let mut numbers = numbers.map(|n| n.iter().fold(0, |acc, &b| acc << 8 | u32::from(b)));
        let last = match kind {
            AS_SET => numbers.min(),
            AS_SEQUENCE => numbers.next_back(),
            _ => None, // confederations do not originate to the outside
        };
        end = last.unwrap_or(end);
    }
    Some(end)
}

/// Bytes still to be parsed. Every method returns `None` if there are too few.
struct Bytes<'a>(&'a [u8]);

impl<'a> Bytes<'a> {
    fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(taken)
    }

    fn u8(&mut self) -> Option<u8> {
        self.take(1).map(|b| b[0])
    }

    fn u16(&mut self) -> Option<u16> {
        self.take(2).map(|b| u16::from_be_bytes([b[0], b[1]]))
    }

    fn u32(&mut self) -> Option<u32> {
        self.take(4).map(|b| u32::from_be_bytes([b[0], b[1], b[2], b[3]]))
    }

    /// Reads the first `count` bytes of an address of `width` bytes. The rest is zero.
    fn address(&mut self, count: usize, width: usize) -> Option<u128> {
        if count > width {
            return None;
        }
        let value = self.take(count)?.iter().fold(0, |acc: u128, &b| acc << 8 | u128::from(b));
        Some(if count == 0 { 0 } else { value << (8 * (width - count)) })
    }
}
