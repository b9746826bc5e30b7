//! IEEE 802.11: extracts the packets of data frames.

use super::{Content, LEAST_ETHERTYPE, Parsed, TooShort, byte};

/// Length of the frame check sequence in bytes.
const FCS: u32 = 4;

/// Parses a radiotap header (<https://www.radiotap.org>) and the frame after it. Also returns the
/// length of the frame check sequence: the header says whether it was captured.
pub(super) fn radiotap(bytes: &[u8]) -> (Parsed, u32) {
    let little = |at: usize| Some(u16::from_le_bytes(*bytes.get(at..)?.first_chunk()?));
    let Some(length) = little(2).map(usize::from).filter(|length| *length >= 8) else {
        return (Err(TooShort), 0);
    };
    let flags = flags(&bytes[..length.min(bytes.len())]).unwrap_or(0);
    let (has_fcs, is_padded, is_damaged) =
        (flags & 0x10 != 0, flags & 0x20 != 0, flags & 0x40 != 0);
    if is_damaged {
        return (Ok(Content::Nothing), 0);
    }
    (data(bytes, length, is_padded), if has_fcs { FCS } else { 0 })
}

/// Returns the flags of a radiotap header, if it has any. They are field 1. Only the time, of eight
/// aligned bytes, may come before.
fn flags(header: &[u8]) -> Option<u8> {
    let present = |at: usize| Some(u32::from_le_bytes(*header.get(at..)?.first_chunk()?));
    let first = present(4)?;
    // Further words follow while the highest bit is set.
    let mut at = 4;
    while present(at)? >> 31 == 1 {
        at += 4;
    }
    at += 4;
    if first & 1 != 0 {
        at = at.next_multiple_of(8) + 8;
    }
    if first & 2 == 0 { None } else { header.get(at).copied() }
}

/// Parses a frame from byte `at`. With `is_padded`, the payload begins at a multiple of four bytes.
pub(super) fn data(bytes: &[u8], at: usize, is_padded: bool) -> Parsed {
    let frame = bytes.get(at..).ok_or(TooShort)?;
    let (control, flags) = (byte(frame, 0)?, byte(frame, 1)?);
    let (kind, subtype) = (control >> 2 & 3, control >> 4);
    let is_data = control & 3 == 0 && kind == 2 && subtype & 4 == 0;
    let (to_ds, from_ds) = (flags & 1 != 0, flags & 2 != 0);
    let (more_fragments, is_protected, has_order) =
        (flags & 4 != 0, flags & 0x40 != 0, flags & 0x80 != 0);
    if !is_data || is_protected || more_fragments {
        return Ok(Content::Nothing);
    }
    if byte(frame, 22)? & 0xf != 0 {
        return Ok(Content::Nothing); // a later fragment
    }
    let (mut length, mut has_several) = (24, false);
    let address = |at: usize| -> Result<[u8; 6], TooShort> {
        frame.get(at..).and_then(|bytes| bytes.first_chunk()).copied().ok_or(TooShort)
    };
    // IEEE 802.11 section 9.3.2.1: the roles of the addresses.
    let (dst, src) = match (to_ds, from_ds) {
        (false, false) => (address(4)?, address(10)?),
        (true, false) => (address(16)?, address(10)?),
        (false, true) => (address(4)?, address(16)?),
        (true, true) => {
            length += 6;
            (address(16)?, address(24)?)
        }
    };
    if subtype & 8 != 0 {
        has_several = byte(frame, length)? & 0x80 != 0;
        length += if has_order { 6 } else { 2 };
    }
    if is_padded {
        length = length.next_multiple_of(4);
    }
    if has_several {
        return Ok(Content::Several { at: at + length });
    }
    let llc = *frame.get(length..).and_then(|bytes| bytes.first_chunk()).ok_or(TooShort)?;
    Ok(ethertype(llc).map_or(Content::Nothing, |ethertype| Content::Packet {
        at: at + length + LLC,
        dst,
        src,
        ethertype,
    }))
}

/// Length in bytes of LLC with SNAP.
const LLC: usize = 8;

/// Returns the EtherType after LLC with SNAP, also in the form in which bridges tunnel it (RFC
/// 1042, IEEE 802.1H).
fn ethertype(llc: [u8; LLC]) -> Option<u16> {
    let ethertype = u16::from_be_bytes([llc[6], llc[7]]);
    let is_snap = matches!(llc[..6], [0xaa, 0xaa, 3, 0, 0, 0 | 0xf8]);
    (is_snap && ethertype >= LEAST_ETHERTYPE).then_some(ethertype)
}

/// Bytes of the header of each subframe: destination, source, length.
const SUBFRAME: usize = 14;

/// Returns the packets of an A-MSDU (IEEE 802.11 section 9.3.2.2.2) as Ethernet frames, each with
/// its length before the capture cut it. All subframes but the last are padded to a multiple of
/// four bytes. Subframes without an EtherType are omitted.
pub(super) fn packets(mut bytes: &[u8]) -> Vec<(Vec<u8>, u32)> {
    let mut found = Vec::new();
    while bytes.len() >= SUBFRAME + LLC {
        let length = usize::from(u16::from_be_bytes([bytes[12], bytes[13]]));
        let part = &bytes[SUBFRAME..bytes.len().min(SUBFRAME + length)];
        let llc = part.first_chunk().copied();
        if let Some(ethertype) = llc.and_then(ethertype) {
            let frame = [&bytes[..12], &ethertype.to_be_bytes(), &part[LLC..]].concat();
            found.push((frame, (SUBFRAME + length - LLC) as u32));
        }
        let next = (SUBFRAME + length).next_multiple_of(4).min(bytes.len());
        bytes = &bytes[next..];
    }
    found
}
