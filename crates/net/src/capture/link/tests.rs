//! Converts hand-made records of each link type.

use super::*;

const IP: [u8; 4] = [0x45, 1, 2, 3];
const IP6: [u8; 4] = [0x60, 1, 2, 3];

fn converted(number: u32, record: &[&[u8]]) -> (Converted, Vec<u8>) {
    let link = LinkType::from_number(number).expect("readable");
    let mut bytes = record.concat();
    (link.to_ethernet(&mut bytes), bytes)
}

/// Returns the frame that a record is converted to, and checks the growth that the conversion
/// states.
fn frame(number: u32, record: &[&[u8]]) -> Option<Vec<u8>> {
    let (converted, bytes) = converted(number, record);
    match converted {
        Converted::Frame { grown, .. } => {
            assert_eq!(grown, bytes.len() as i32 - record.concat().len() as i32, "{number}");
            Some(bytes)
        }
        _ => None,
    }
}

fn made_up(ethertype: u16, payload: &[u8]) -> Option<Vec<u8>> {
    Some([&MADE_UP_DST[..], &MADE_UP_SRC, &ethertype.to_be_bytes(), payload].concat())
}

#[test]
fn packets_of_links_without_addresses() {
    for (number, header, ethertype, payload) in [
        (101, &[][..], IPV4, IP),
        (229, &[], IPV6, IP6),
        (0, &[2, 0, 0, 0], IPV4, IP),
        (0, &[0, 0, 0, 30], IPV6, IP6),
        (0, &[23, 0, 0, 0], IPV6, IP6),
        (108, &[0, 0, 0, 24], IPV6, IP6),
        (9, &[0xff, 3, 0, 0x21], IPV4, IP),
        (9, &[0, 0x57], IPV6, IP6),
        (9, &[0x21], IPV4, IP),
        (50, &[0x0f, 0, 8, 0], IPV4, IP),
        (51, &[0x11, 0, 0, 7, 0, 6, 0, 0x21], IPV4, IP),
        (166, &[1, 3, 0x02, 0x81], MPLS, IP),
        (204, &[0, 0xff, 3, 0, 0x21], IPV4, IP),
        (104, &[0x0f, 0, 0x86, 0xdd], IPV6, IP6),
        (107, &[0x18, 0x41, 3, 0xcc], IPV4, IP),
        (107, &[0x18, 0x40, 0x02, 0x01, 3, 0x8e], IPV6, IP6),
        (107, &[0x18, 0x41, 3, 0, 0x80, 0, 0, 0, 8, 0], IPV4, IP),
        (107, &[0x18, 0x41, 8, 0], IPV4, IP),
        (206, &[1, 0x18, 0x41, 3, 0xcc], IPV4, IP),
    ] {
        assert_eq!(frame(number, &[header, &payload]), made_up(ethertype, &payload), "{number}");
        let (without, _) = converted(number, &[&header[..header.len().saturating_sub(2)]]);
        assert!(!matches!(without, Converted::Frame { .. }), "{number} without its header");
    }
}

#[test]
fn records_without_a_packet_are_none() {
    for (number, record) in [
        (0, &[7, 0, 0, 0, 1, 2, 3, 4][..]),      // another address family
        (9, &[0xff, 3, 0xc0, 0x21, 1, 1, 0, 4]), // LCP
        (101, &[0x50, 0, 0, 0]),                 // neither IPv4 nor IPv6
        (104, &[0x8f, 0, 0x80, 0x35, 0, 0, 0, 2]), // a keepalive
        (104, &[0x8f, 0, 0x20, 0x00, 1, 0xb4, 0, 0]), // CDP
        (107, &[0x00, 0x01, 3, 8, 0, 0x75, 0x51, 1]), // Q.933
        (107, &[0x18, 0x40, 0x40, 0x40, 0x40, 0x40]), // an address without an end
        (127, &[0, 0, 8, 0, 0, 0, 0, 0, 0x80, 0, 0, 0]), // a beacon
    ] {
        assert_eq!(converted(number, &[record]).0, Converted::Nothing, "{number} {record:x?}");
    }
    for (number, record) in [(0, &[2, 0, 0][..]), (9, &[0xff, 3]), (113, &[0; 15]), (127, &[0; 9])]
    {
        assert_eq!(converted(number, &[record]).0, Converted::TooShort, "{number}");
    }
}

#[test]
fn bridged_and_cooked_frames() {
    let ethernet = [&[6; 12][..], &[8, 0], &IP].concat();
    let bridged = [0x18, 0x41, 3, 0, 0x80, 0, 0x80, 0xc2, 0, 7];
    assert_eq!(frame(107, &[&bridged, &ethernet]), Some(ethernet));

    let header = [0, 0, 0, 1, 0, 6, 1, 2, 3, 4, 5, 6, 0, 0];
    let expected = |word: [u8; 2]| [&MADE_UP_DST[..], &[1, 2, 3, 4, 5, 6], &word, &IP].concat();
    assert_eq!(frame(113, &[&header, &[8, 0], &IP]), Some(expected([8, 0])));
    assert_eq!(frame(113, &[&header, &[0, 4], &IP]), Some(expected([0, 4])), "LLC has a length");
    assert_eq!(frame(113, &[&header, &[0, 0x0c], &IP]), None, "CAN");
    let header = [8, 0, 0, 0, 0, 0, 0, 1, 0, 1, 0, 6, 1, 2, 3, 4, 5, 6, 0, 0];
    assert_eq!(frame(276, &[&header, &IP]), Some(expected([8, 0])));
}

#[test]
fn tags_of_switches_are_removed() {
    let (addresses, rest) = ([7; 12], [&[8, 0][..], &IP].concat());
    let plain = Some([&addresses[..], &rest].concat());
    assert_eq!(frame(281, &[&addresses, &[0x20, 0, 0, 1], &rest]), plain);
    assert_eq!(frame(282, &[&[0x20, 0, 0, 1], &addresses, &rest]), plain);
    assert_eq!(frame(284, &[&addresses, &[0xc0, 0x18, 0, 0], &rest]), plain);
    let typed = [0xda, 0xda, 0, 0, 0xc0, 0x18, 0, 0];
    assert_eq!(frame(285, &[&addresses, &typed, &rest]), plain);
    // The frame entered the switch with VLAN 5, priority 3, drop-eligible.
    let tagged = Some([&addresses[..], &[0x81, 0, 0x70, 5], &rest].concat());
    assert_eq!(frame(284, &[&addresses, &[0xe0, 0x19, 0x60, 5], &rest]), tagged);
    let typed = [0xda, 0xda, 0, 0, 0xe0, 0x19, 0x60, 5];
    assert_eq!(frame(285, &[&addresses, &typed, &rest]), tagged);
    assert_eq!(converted(285, &[&addresses, &typed[..7]]).0, Converted::TooShort);
}

const SNAP: [u8; 8] = [0xaa, 0xaa, 3, 0, 0, 0, 8, 0];

/// Builds an IEEE 802.11 frame with addresses of ones, twos and threes.
fn wireless(control: [u8; 2], more: &[u8]) -> Vec<u8> {
    [&control[..], &[0, 0], &[1; 6], &[2; 6], &[3; 6], &[0x10, 0], more].concat()
}

fn between(dst: u8, src: u8) -> Option<Vec<u8>> {
    Some([&[dst; 6][..], &[src; 6], &[8, 0], &IP].concat())
}

#[test]
fn packets_of_wireless_data_frames() {
    let payload = [&SNAP[..], &IP].concat();
    assert_eq!(frame(105, &[&wireless([0x08, 0], &payload)]), between(1, 2));
    assert_eq!(frame(105, &[&wireless([0x08, 1], &payload)]), between(3, 2));
    assert_eq!(frame(105, &[&wireless([0x08, 2], &payload)]), between(1, 3));
    let relayed = [&[4; 6][..], &payload].concat();
    assert_eq!(frame(105, &[&wireless([0x08, 3], &relayed)]), between(3, 4));
    let with_quality = [&[0, 0][..], &payload].concat();
    assert_eq!(frame(105, &[&wireless([0x88, 1], &with_quality)]), between(3, 2));
    let with_more = [&[0; 6][..], &payload].concat();
    assert_eq!(frame(105, &[&wireless([0x88, 0x81], &with_more)]), between(3, 2));

    for (control, more) in [
        ([0x48, 0], &payload),    // no data
        ([0x08, 0x40], &payload), // encrypted
        ([0x08, 4], &payload),    // a fragment
    ] {
        let (got, _) = converted(105, &[&wireless(control, more)]);
        assert_eq!(got, Converted::Nothing, "{control:x?}");
    }
}

#[test]
fn a_wireless_frame_of_several_packets_gives_them_all() {
    let part = |number: u8, payload: &[u8]| {
        let length = payload.len() as u16;
        [&[number; 6][..], &[8; 6], &length.to_be_bytes(), payload].concat()
    };
    let ip = [&SNAP[..], &IP].concat();
    // The first subframe is padded to a multiple of four bytes, the second (spanning tree) has no
    // EtherType, the last is cut.
    let mut first = part(5, &ip);
    first.resize(first.len().next_multiple_of(4), 0);
    let second = part(6, &[0x42, 0x42, 3, 0, 0, 0, 0, 0, 0, 0]);
    let mut last = part(7, &ip);
    last.truncate(last.len() - 1);
    let payload = [&[0x80, 0][..], &first, &second, &last].concat();
    let (got, _) = converted(105, &[&wireless([0x88, 1], &payload)]);
    let frame = |number: u8| [&[number; 6][..], &[8; 6], &IPV4.to_be_bytes(), &IP].concat();
    let whole = frame(5).len() as u32;
    let cut = frame(7)[..frame(7).len() - 1].to_vec();
    assert_eq!(got, Converted::Several(vec![(frame(5), whole), (cut, whole)]));

    let (got, _) = converted(105, &[&wireless([0x88, 1], &[0x80, 0])]);
    assert_eq!(got, Converted::Several(Vec::new()));
    let damaged = [0, 0, 9, 0, 2, 0, 0, 0, 0x40];
    let (got, _) = converted(127, &[&damaged, &wireless([0x88, 1], &payload)]);
    assert_eq!(got, Converted::Nothing, "its check sequence is wrong");
}

#[test]
fn radiotap_says_what_surrounds_a_frame() {
    let payload = [&[0, 0][..], &[0, 0], &SNAP, &IP, &[9, 9, 9, 9]].concat();
    let inside = wireless([0x88, 1], &payload);
    // Time, flags: a check sequence at the end, padding before the payload.
    let mut header = vec![0, 0, 24, 0, 3, 0, 0, 0x80, 0, 0, 0, 0, 0, 0, 0, 0];
    header.splice(16.., [0; 8]);
    header.push(0x30);
    header[2] = 25;
    let (got, bytes) = converted(127, &[&header, &inside]);
    assert_eq!(got, Converted::Frame { grown: -(25 + 28 + 8 - 14), fcs: 4 });
    assert_eq!(Some(&bytes[..bytes.len() - 4]), between(3, 2).as_deref());
}
