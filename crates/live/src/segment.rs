//! Completes frames that the kernel left unfinished: checksums that it left to hardware, and large
//! TCP and UDP packets that hardware would have segmented (`struct virtio_net_hdr`).

use std::ops::Range;

use wireloom_net::wire::checksum::{Sum, checksum};

/// `struct virtio_net_hdr`, in this computer's byte order.
#[derive(Clone, Copy, Default)]
#[repr(C)]
pub struct OffloadHeader {
    pub flags: u8,
    pub gso_type: u8,
    pub header_length: u16,
    pub gso_size: u16,
    pub checksum_start: u16,
    pub checksum_offset: u16,
}

const NEEDS_CHECKSUM: u8 = 1;
const GSO_NONE: u8 = 0;
const GSO_TCP4: u8 = 1;
const GSO_TCP6: u8 = 4;
const GSO_UDP: u8 = 5;
/// TCP with congestion notification; a flag of the types above.
const GSO_ECN: u8 = 0x80;

/// The result of finishing a frame.
#[derive(Debug, PartialEq, Eq)]
pub enum Finished {
    /// The frame itself is complete.
    Whole,
    /// The frame was segmented into frames at these ranges of the arena.
    Segments(Vec<Range<usize>>),
    /// The frame cannot be finished: its headers contradict each other, or its kind is unknown.
    Refused,
}

/// Finishes a frame. Segments are appended to `arena`. Offsets in the header count from the first
/// byte of the frame.
pub fn finish(header: &OffloadHeader, frame: &mut [u8], arena: &mut Vec<u8>) -> Finished {
    let finished = match header.gso_type & !GSO_ECN {
        GSO_NONE if header.flags & NEEDS_CHECKSUM == 0 => return Finished::Whole,
        GSO_NONE => complete_checksum(header, frame).map(|()| Finished::Whole),
        GSO_TCP4 | GSO_TCP6 => segment(header, frame, arena, Transport::Tcp),
        GSO_UDP => segment(header, frame, arena, Transport::Udp),
        _ => None,
    };
    finished.unwrap_or(Finished::Refused)
}

/// Completes the checksum of a frame whose checksum field holds the sum of the pseudo-header.
fn complete_checksum(header: &OffloadHeader, frame: &mut [u8]) -> Option<()> {
    let start = usize::from(header.checksum_start);
    let sum = Sum::default().bytes(frame.get(start..)?).checksum();
    let at = start + usize::from(header.checksum_offset);
    // RFC 768: a UDP checksum of 0 means that there is none. Other protocols accept the other zero
    // of ones' complement.
    let sum = if sum == 0 { 0xffff } else { sum };
    frame.get_mut(at..at + 2)?.copy_from_slice(&sum.to_be_bytes());
    Some(())
}

/// Completes the checksum of a TCP segment or UDP datagram whose sender left it to hardware, where
/// only the frame itself shows that: the field holds the sum of the pseudo-header, and the checksum
/// is wrong. A frame that was damaged in transit looks like that with a probability of 1 in 65,536,
/// as often as damage escapes the checksum anyway.
pub fn complete_if_partial(frame: &mut [u8]) {
    let Some(segment) = transport_segment(frame) else { return };
    let Segment { start, end, checksum_at, pseudo } = segment;
    if word(frame, checksum_at) != pseudo.fold() || pseudo.bytes(&frame[start..end]).checksum() == 0
    {
        return;
    }
    let header = OffloadHeader {
        checksum_start: start as u16,
        checksum_offset: (checksum_at - start) as u16,
        ..OffloadHeader::default()
    };
    // `transport_segment` has read this field.
    let _ = complete_checksum(&header, &mut frame[..end]);
}

/// A TCP segment or UDP datagram that lies in its frame as a whole.
struct Segment {
    start: usize,
    end: usize,
    checksum_at: usize,
    /// The sum of the pseudo-header.
    pseudo: Sum,
}

fn transport_segment(frame: &[u8]) -> Option<Segment> {
    let l3 = layer3(frame)?;
    let ethertype = word(frame.get(l3 - 2..l3)?, 0);
    let packet = &frame[l3..];
    let (start, length, mut protocol, addresses) = match ethertype {
        0x0800 if packet.len() >= 20 && packet[0] >> 4 == 4 => {
            const FRAGMENT: u16 = 0x3fff;
            if word(packet, 6) & FRAGMENT != 0 {
                return None;
            }
            (usize::from(packet[0] & 15) * 4, usize::from(word(packet, 2)), packet[9], 12..20)
        }
        0x86dd if packet.len() >= 40 && packet[0] >> 4 == 6 => {
            (40, usize::from(word(packet, 4)) + 40, packet[6], 8..40)
        }
        _ => return None,
    };
    let packet = packet.get(..length)?;
    let mut start = start;
    // Hop-by-hop options, routing and destination options (RFC 8200 section 4).
    while ethertype == 0x86dd && matches!(protocol, 0 | 43 | 60) {
        let header = packet.get(start..start + 2)?;
        protocol = header[0];
        start += usize::from(header[1]) * 8 + 8;
    }
    let checksum_at = start
        + match protocol {
            6 => 16,
            17 => 6,
            _ => return None,
        };
    packet.get(checksum_at..checksum_at + 2)?;
    let pseudo = Sum::default().bytes(&packet[addresses]).word(protocol.into());
    let pseudo = pseudo.word((length - start) as u16);
    Some(Segment { start: l3 + start, end: l3 + length, checksum_at: l3 + checksum_at, pseudo })
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Transport {
    Tcp,
    Udp,
}

const FIN: u8 = 0x01;
const PUSH: u8 = 0x08;
const CONGESTION_WINDOW_REDUCED: u8 = 0x80;

/// Segments a frame as TCP and UDP senders do (RFC 9293 section 3.7; UDP_SEGMENT of udp(7)).
fn segment(
    header: &OffloadHeader,
    frame: &[u8],
    arena: &mut Vec<u8>,
    transport: Transport,
) -> Option<Finished> {
    let size = usize::from(header.gso_size);
    let l3 = layer3(frame)?;
    let l4 = usize::from(header.checksum_start);
    let is_v4 = frame.get(l3)? >> 4 == 4;
    let least = l3 + if is_v4 { 20 } else { 40 };
    let (l4_header, checksum_at) = match transport {
        Transport::Tcp => (usize::from(frame.get(l4 + 12)? >> 4) * 4, 16),
        Transport::Udp => (8, 6),
    };
    if header.flags & NEEDS_CHECKSUM == 0
        || size == 0
        || l4 < least
        || transport == Transport::Tcp && l4_header < 20
    {
        return None;
    }
    let payload_at = l4 + l4_header;
    let headers = frame.get(..payload_at)?;
    let chunks = frame[payload_at..].chunks(size);
    let last = chunks.len().checked_sub(1)?;
    let mut segments = Vec::with_capacity(chunks.len());
    for (index, chunk) in chunks.enumerate() {
        let at = arena.len();
        arena.extend_from_slice(headers);
        arena.extend_from_slice(chunk);
        let segment = &mut arena[at..];
        let l4_length = l4_header + chunk.len();
        if is_v4 {
            let id = word(segment, l3 + 4).wrapping_add(index as u16);
            put(segment, l3 + 2, (l4 - l3 + l4_length) as u16);
            put(segment, l3 + 4, id);
            put(segment, l3 + 10, 0);
            let sum = checksum(&segment[l3..l4]);
            put(segment, l3 + 10, sum);
        } else {
            put(segment, l3 + 4, (l4 - l3 - 40 + l4_length) as u16);
        }
        let protocol = match transport {
            Transport::Tcp => {
                let sequence = u32::from_be_bytes(segment[l4 + 4..l4 + 8].try_into().ok()?);
                let sequence = sequence.wrapping_add((index * size) as u32);
                segment[l4 + 4..l4 + 8].copy_from_slice(&sequence.to_be_bytes());
                if index != last {
                    segment[l4 + 13] &= !(FIN | PUSH);
                }
                if index != 0 {
                    segment[l4 + 13] &= !CONGESTION_WINDOW_REDUCED;
                }
                6
            }
            Transport::Udp => {
                put(segment, l4 + 4, l4_length as u16);
                17
            }
        };
        put(segment, l4 + checksum_at, 0);
        let addresses = if is_v4 { l3 + 12..l3 + 20 } else { l3 + 8..l3 + 40 };
        let sum = Sum::default().bytes(&segment[addresses]).word(protocol).word(l4_length as u16);
        let sum = sum.bytes(&segment[l4..]).checksum();
        put(segment, l4 + checksum_at, if sum == 0 { 0xffff } else { sum });
        segments.push(at..arena.len());
    }
    Some(Finished::Segments(segments))
}

/// Returns the offset of layer 3, after VLAN tags.
fn layer3(frame: &[u8]) -> Option<usize> {
    let mut at = 12;
    loop {
        let ethertype = frame.get(at..at + 2)?;
        at += 2;
        match ethertype {
            [0x81, 0x00] | [0x88, 0xa8] => at += 2,
            _ => return Some(at),
        }
    }
}

fn word(bytes: &[u8], at: usize) -> u16 {
    u16::from_be_bytes([bytes[at], bytes[at + 1]])
}

fn put(bytes: &mut [u8], at: usize, word: u16) {
    bytes[at..at + 2].copy_from_slice(&word.to_be_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Builds a frame with an IPv4 or IPv6 header at offset 14 or, tagged, 18.
    fn frame(tagged: bool, v4: bool, l4: &[u8], payload: usize) -> (Vec<u8>, usize) {
        let mut frame = vec![2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2];
        if tagged {
            frame.extend([0x81, 0, 0, 100]);
        }
        let protocol = if l4.len() == 8 { 17 } else { 6 };
        if v4 {
            frame.extend([8, 0, 0x45, 0, 0, 0, 0xff, 0xff, 0x40, 0, 64, protocol, 0, 0]);
            frame.extend([192, 0, 2, 1, 198, 51, 100, 1]);
        } else {
            frame.extend([0x86, 0xdd, 0x60, 0, 0, 0, 0, 0, protocol, 64]);
            frame.extend([0x20; 32]);
        }
        let at = frame.len();
        frame.extend(l4);
        frame.extend((0..payload).map(|byte| byte as u8));
        (frame, at)
    }

    fn tcp(flags: u8) -> Vec<u8> {
        vec![0, 80, 0, 81, 0xff, 0xff, 0xff, 0xff, 0, 0, 0, 1, 0x50, flags, 1, 0, 0, 0, 0, 0]
    }

    fn offload(gso_type: u8, gso_size: u16, l4: usize, checksum_offset: u16) -> OffloadHeader {
        let checksum_start = l4 as u16;
        let flags = NEEDS_CHECKSUM;
        OffloadHeader {
            flags,
            gso_type,
            header_length: 0,
            gso_size,
            checksum_start,
            checksum_offset,
        }
    }

    fn holds(segment: &[u8], l4: usize, v4: bool) -> bool {
        let l3 = layer3(segment).expect("layer 3");
        let (addresses, protocol) = match v4 {
            true => (l3 + 12..l3 + 20, segment[l3 + 9]),
            false => (l3 + 8..l3 + 40, segment[l3 + 6]),
        };
        let sum = Sum::default().bytes(&segment[addresses]).word(protocol.into());
        let sum = sum.word((segment.len() - l4) as u16).bytes(&segment[l4..]);
        sum.checksum() == 0 && (!v4 || checksum(&segment[l3..l4]) == 0)
    }

    #[test]
    fn segments_are_complete_packets() {
        for (tagged, v4) in [(false, true), (true, true), (false, false), (true, false)] {
            let flags = FIN | PUSH | CONGESTION_WINDOW_REDUCED | 0x10;
            let (mut whole, l4) = frame(tagged, v4, &tcp(flags), 2501);
            let header = offload(if v4 { GSO_TCP4 } else { GSO_TCP6 } | GSO_ECN, 1000, l4, 16);
            let mut arena = Vec::new();
            let Finished::Segments(segments) = finish(&header, &mut whole, &mut arena) else {
                panic!("not segmented");
            };
            let seen: Vec<_> = segments.iter().map(|range| &arena[range.clone()]).collect();
            let lengths: Vec<_> = seen.iter().map(|segment| segment.len() - l4 - 20).collect();
            assert_eq!(lengths, [1000, 1000, 501]);
            assert!(seen.iter().all(|segment| holds(segment, l4, v4)));
            let flags: Vec<_> = seen.iter().map(|segment| segment[l4 + 13]).collect();
            assert_eq!(flags, [0x90, 0x10, 0x19]);
            assert_eq!(seen[1][l4 + 4..l4 + 8], 999u32.to_be_bytes(), "sequence number");
            let l3 = layer3(seen[2]).expect("layer 3");
            let said = if v4 { word(seen[2], l3 + 2) } else { word(seen[2], l3 + 4) + 40 };
            assert_eq!(usize::from(said), seen[2].len() - l3, "length");
            if v4 {
                assert_eq!(word(seen[1], l3 + 4), 0, "the identification wraps");
            }
        }
    }

    #[test]
    fn datagrams_are_segmented_and_have_a_checksum() {
        let (mut whole, l4) = frame(false, true, &[0, 80, 0, 81, 0, 0, 0, 0], 30);
        let mut arena = Vec::new();
        let finished = finish(&offload(GSO_UDP, 20, l4, 6), &mut whole, &mut arena);
        let Finished::Segments(segments) = finished else { panic!("not segmented") };
        assert_eq!(segments.len(), 2);
        for segment in segments {
            assert!(holds(&arena[segment.clone()], l4, true));
            assert_eq!(usize::from(word(&arena[segment.clone()], l4 + 4)), segment.len() - l4);
        }
    }

    #[test]
    fn partial_checksums_are_completed() {
        let (mut whole, l4) = frame(false, true, &tcp(0x10), 11);
        let length = (whole.len() - l4) as u16;
        let pseudo = Sum::default().bytes(&whole[26..34]).word(6).word(length).fold();
        put(&mut whole, l4 + 16, pseudo);
        let mut arena = Vec::new();
        let finished = finish(&offload(GSO_NONE, 0, l4, 16), &mut whole, &mut arena);
        assert_eq!(finished, Finished::Whole);
        put(&mut whole, 24, 0);
        let sum = checksum(&whole[14..34]);
        put(&mut whole, 24, sum);
        assert!(holds(&whole, l4, true));
    }

    #[test]
    fn partial_checksums_are_recognised_without_a_word_from_the_kernel() {
        for (tagged, v4) in [(false, true), (true, true), (false, false), (true, false)] {
            for (l4_header, checksum_offset) in
                [(tcp(0x10), 16), (vec![0, 80, 0, 81, 0, 0, 0, 0], 6)]
            {
                let protocol = if l4_header.len() == 8 { 17 } else { 6 };
                let (mut whole, l4) = frame(tagged, v4, &l4_header, 11);
                let l3 = layer3(&whole).expect("layer 3");
                let length = (whole.len() - l4) as u16;
                if v4 {
                    put(&mut whole, l3 + 2, length + 20);
                    put(&mut whole, l3 + 6, 0x4000);
                    let sum = checksum(&whole[l3..l4]);
                    put(&mut whole, l3 + 10, sum);
                } else {
                    put(&mut whole, l3 + 4, length);
                }
                let addresses = if v4 { l3 + 12..l3 + 20 } else { l3 + 8..l3 + 40 };
                let pseudo = Sum::default().bytes(&whole[addresses]).word(protocol).word(length);
                put(&mut whole, l4 + checksum_offset, pseudo.fold());
                let partial = whole.clone();
                complete_if_partial(&mut whole);
                assert!(holds(&whole, l4, v4));
                // Padding is not part of the segment.
                let mut padded = [&partial[..], &[0xa5; 9]].concat();
                complete_if_partial(&mut padded);
                assert_eq!(padded, [&whole[..], &[0xa5; 9]].concat());
                // Complete frames stay unchanged, and so do damaged ones.
                for damage in [0, 1] {
                    let mut other = whole.clone();
                    other[l4 + 9] ^= damage;
                    let before = other.clone();
                    complete_if_partial(&mut other);
                    assert_eq!(other, before);
                }
                // A fragment has no checksum of its own.
                if v4 {
                    let mut fragment = partial.clone();
                    put(&mut fragment, l3 + 6, 0x2000);
                    let before = fragment.clone();
                    complete_if_partial(&mut fragment);
                    assert_eq!(fragment, before);
                }
                for cut in 0..partial.len() {
                    let mut short = partial[..cut].to_vec();
                    complete_if_partial(&mut short);
                    assert_eq!(short, partial[..cut]);
                }
                for value in 0..=255 {
                    for at in 12..l4 {
                        let mut hostile = partial.clone();
                        hostile[at] = value;
                        complete_if_partial(&mut hostile);
                    }
                }
            }
        }
    }

    #[test]
    fn contradictory_headers_are_refused() {
        let (whole, l4) = frame(false, true, &tcp(0x10), 100);
        for header in [
            offload(GSO_TCP4, 0, l4, 16),
            offload(GSO_TCP4, 10, 3, 16),
            offload(GSO_TCP4, 10, 60_000, 16),
            offload(GSO_NONE, 0, 60_000, 16),
            offload(GSO_NONE, 0, l4, 60_000),
            offload(3, 10, l4, 6),
            OffloadHeader { flags: 0, ..offload(GSO_TCP4, 10, l4, 16) },
        ] {
            for cut in 0..whole.len() {
                // No frame, however short, causes a panic.
                finish(&header, &mut whole[..cut].to_vec(), &mut Vec::new());
            }
            let finished = finish(&header, &mut whole.clone(), &mut Vec::new());
            assert_eq!(finished, Finished::Refused);
        }
    }
}
