//! Dissection covers every byte, never panics, and agrees with another parser.

use crate::common;

use std::collections::{HashMap, HashSet};

use etherparse::{NetSlice, SlicedPacket, TransportSlice};
use proptest::prelude::*;
use wireloom_net::capture::Reader;
use wireloom_net::wire::arp::{Arp, REPLY};
use wireloom_net::wire::build::Frame;
use wireloom_net::wire::dissect::{Field, compare, diff, dissect};
use wireloom_net::wire::ethernet::Ethernet;
use wireloom_net::wire::icmp::{self, Icmp};
use wireloom_net::wire::ipv4::Ipv4;
use wireloom_net::wire::ipv6::{Extension, Fragment, Ipv6};
use wireloom_net::wire::mpls::Mpls;
use wireloom_net::wire::tcp::Tcp;
use wireloom_net::wire::udp::Udp;
use wireloom_net::wire::vlan::Vlan;
use wireloom_net::wire::{icmpv6, protocol};

fn ethernet() -> Frame {
    Frame::new().ethernet(Ethernet::default())
}

/// Checks that the fields follow one another and cover the frame, and that their names are unique.
fn check_cover(frame: &[u8]) -> Vec<Field> {
    let fields = dissect(frame);
    let mut at = 0;
    let mut names = HashSet::new();
    for field in &fields {
        assert_eq!(field.offset * 8 + field.bit, at, "{field:?} in {frame:02x?}");
        assert!(field.bits > 0 && names.insert(&field.name), "{field:?} in {frame:02x?}");
        at += field.bits;
    }
    assert_eq!(at, frame.len() * 8, "{frame:02x?}");
    fields
}

fn value(frame: &[u8], name: &str) -> String {
    let fields = check_cover(frame);
    let found = fields.iter().find(|f| f.name == name);
    found.unwrap_or_else(|| panic!("no {name} in {fields:#?}")).value.clone()
}

#[test]
fn layers_are_found_behind_each_other() {
    let frame = ethernet()
        .vlan(Vlan { id: 7, tag_type: 0x88a8, ..Vlan::default() })
        .vlan(Vlan { id: 8, priority: 5, ..Vlan::default() })
        .mpls(Mpls { label: 100, ..Mpls::default() })
        .mpls(Mpls { label: 200, traffic_class: 3, ..Mpls::default() })
        .ipv4(Ipv4 { ttl: 9, dont_fragment: true, options: vec![7, 3, 4], ..Ipv4::default() })
        .tcp(Tcp { flags: 0x12, options: vec![2, 4, 5, 180], ..Tcp::default() })
        .payload(&[1; 20])
        .bytes();
    for (name, expected) in [
        ("ethernet.type", "0x88a8 (service VLAN)"),
        ("vlan.id", "7"),
        ("vlan[1].priority", "5"),
        ("vlan[1].type", "0x8847 (MPLS)"),
        ("mpls.label", "100"),
        ("mpls.bottom", "0"),
        ("mpls[1].traffic_class", "3"),
        ("mpls[1].bottom", "1"),
        ("ipv4.header_length", "6"),
        ("ipv4.flags", "DF"),
        ("ipv4.ttl", "9"),
        ("ipv4.protocol", "6 (TCP)"),
        ("ipv4.options", "07 03 04 00"),
        ("tcp.flags", "ACK SYN"),
        ("tcp.options", "02 04 05 b4"),
        ("payload[16]", "01 01 01 01"),
    ] {
        assert_eq!(value(&frame, name), expected, "{name}");
    }
    assert!(value(&frame, "ipv4.checksum").ends_with("(correct)"));
    assert!(value(&frame, "tcp.checksum").ends_with("(correct)"));
}

#[test]
fn checksums_are_judged() {
    let udp =
        |checksum| ethernet().ipv4(Ipv4::default()).udp(Udp { checksum, ..Udp::default() }).bytes();
    assert_eq!(value(&udp(Some(0)), "udp.checksum"), "0x0000", "there is none");
    assert!(value(&udp(None), "udp.checksum").ends_with("(correct)"));
    let wrong = udp(Some(0x1234));
    let right = value(&udp(None), "udp.checksum");
    assert_eq!(value(&wrong, "udp.checksum"), format!("0x1234 (wrong, should be {})", &right[..6]));

    let v6 = ethernet()
        .ipv6(Ipv6::default())
        .icmpv6(Icmp { kind: icmpv6::ECHO, ..Icmp::default() })
        .bytes();
    assert!(value(&v6, "icmpv6.checksum").ends_with("(correct)"));
    let v4 = ethernet()
        .ipv4(Ipv4::default())
        .icmp(Icmp { kind: icmp::ECHO, rest: 9, ..Icmp::default() })
        .bytes();
    assert!(value(&v4, "icmp.checksum").ends_with("(correct)"));
    let bad =
        ethernet().ipv4(Ipv4 { checksum: Some(1), ..Ipv4::default() }).udp(Udp::default()).bytes();
    assert!(value(&bad, "ipv4.checksum").starts_with("0x0001 (wrong"));
}

#[test]
fn extension_headers_and_fragments() {
    let extension = |kind| Extension { kind, next_header: None, data: vec![1, 2, 0, 0, 0, 0] };
    let frame = ethernet()
        .ipv6(Ipv6::default())
        .extension(extension(protocol::HOP_BY_HOP))
        .extension(extension(protocol::ROUTING))
        .extension(extension(protocol::DESTINATION_OPTIONS))
        .fragment(Fragment { id: 5, ..Fragment::default() })
        .udp(Udp::default())
        .bytes();
    assert_eq!(value(&frame, "ipv6.next_header"), "0 (hop-by-hop options)");
    assert_eq!(value(&frame, "hop_by_hop.options"), "01 02 00 00 00 00");
    assert_eq!(value(&frame, "routing.next_header"), "60 (destination options)");
    assert_eq!(value(&frame, "fragment.id"), "0x00000005");
    assert!(value(&frame, "udp.checksum").ends_with("(correct)"));

    let later = ethernet()
        .ipv6(Ipv6::default())
        .fragment(Fragment { offset: 10, ..Fragment::default() })
        .udp(Udp::default())
        .bytes();
    assert_eq!(value(&later, "fragment.offset"), "10");
    assert_eq!(check_cover(&later).last().map(|f| f.name.clone()), Some("payload".to_owned()));
    let later =
        ethernet().ipv4(Ipv4 { fragment_offset: 1, ..Ipv4::default() }).udp(Udp::default()).bytes();
    assert_eq!(check_cover(&later).last().map(|f| f.name.clone()), Some("payload".to_owned()));
}

#[test]
fn icmp_errors_show_the_packet_that_they_are_about() {
    let inner = Frame::new().ipv4(Ipv4 { ttl: 1, ..Ipv4::default() }).udp(Udp::default()).bytes();
    let frame = ethernet()
        .ipv4(Ipv4::default())
        .icmp(Icmp { kind: icmp::TIME_EXCEEDED, ..Icmp::default() })
        .payload(&inner)
        .bytes();
    assert_eq!(value(&frame, "icmp.type"), "11 (time exceeded)");
    assert_eq!(value(&frame, "ipv4[1].ttl"), "1");
    assert_eq!(value(&frame, "udp.dst_port"), "53");
}

#[test]
fn padding_and_truncation_are_shown_as_such() {
    let mut frame = ethernet().ipv4(Ipv4::default()).udp(Udp::default()).bytes();
    frame.resize(60, 0);
    assert_eq!(value(&frame, "padding[16]"), "00 00");
    let mut arp = ethernet()
        .arp(Arp {
            operation: REPLY,
            sender_mac: [2; 6],
            sender_ip: [10, 0, 0, 1].into(),
            target_mac: [4; 6],
            target_ip: [10, 0, 0, 2].into(),
        })
        .bytes();
    arp.resize(60, 0);
    assert_eq!(value(&arp, "arp.operation"), "2 (reply)");
    assert_eq!(value(&arp, "padding[16]"), "00 00");
    assert_eq!(value(&frame[..20], "ipv4.truncated"), "45 00 00 1c 00 00");
    assert_eq!(value(&frame[..5], "ethernet.truncated"), "02 00 00 00 00");
    assert_eq!(
        dissect(&[]),
        [Field {
            name: "ethernet.truncated".into(),
            value: String::new(),
            offset: 0,
            bit: 0,
            bits: 0
        }][..0]
    );
}

#[test]
fn frames_are_compared_field_by_field() {
    let frame = |ttl, labels: usize| {
        let stack = (0..labels).fold(ethernet(), |f, _| f.mpls(Mpls::default()));
        stack.ipv4(Ipv4 { ttl, ..Ipv4::default() }).udp(Udp::default()).payload(&[7; 40]).bytes()
    };
    assert!(compare(&frame(64, 1), &frame(64, 1)).iter().all(|c| c.same()));
    let different = |a: &[u8], b: &[u8]| -> Vec<String> {
        compare(a, b).into_iter().filter(|c| !c.same()).map(|c| c.name).collect()
    };
    assert_eq!(different(&frame(64, 0), &frame(63, 0)), ["ipv4.ttl", "ipv4.checksum"]);
    assert_eq!(
        different(&frame(64, 1), &frame(64, 2)),
        ["mpls.bottom", "mpls[1].label", "mpls[1].traffic_class", "mpls[1].bottom", "mpls[1].ttl"]
    );
    let text = diff(&frame(64, 0), &frame(63, 0));
    assert!(
        text.lines()
            .any(|l| l.starts_with("! ipv4.ttl") && l.ends_with("63") && l.contains(" 64 ")),
        "{text}"
    );
    assert!(
        text.lines().any(|l| l.starts_with("  ipv4.src")) && !text.contains("payload"),
        "{text}"
    );
}

#[test]
fn another_parser_agrees_on_real_packets() {
    let mut compared = HashMap::new();
    for path in common::captures() {
        for packet in Reader::open(&path).unwrap_or_else(|e| panic!("{e}")) {
            let packet = packet.unwrap_or_else(|e| panic!("{e}"));
            let ours: HashMap<String, String> =
                check_cover(&packet.bytes).into_iter().map(|f| (f.name, f.value)).collect();
            let Ok(theirs) = SlicedPacket::from_ethernet(&packet.bytes) else { continue };
            let mut same = |name: &'static str, value: String| {
                assert_eq!(ours.get(name), Some(&value), "{name} in {}", path.display());
                *compared.entry(name).or_insert(0) += 1;
            };
            match &theirs.net {
                Some(NetSlice::Ipv4(ip)) => {
                    same("ipv4.src", ip.header().source_addr().to_string());
                    same("ipv4.dst", ip.header().destination_addr().to_string());
                    same("ipv4.ttl", ip.header().ttl().to_string());
                    same("ipv4.total_length", ip.header().total_len().to_string());
                    same(
                        "ipv4.fragment_offset",
                        ip.header().fragments_offset().value().to_string(),
                    );
                }
                Some(NetSlice::Ipv6(ip)) => {
                    same("ipv6.src", ip.header().source_addr().to_string());
                    same("ipv6.dst", ip.header().destination_addr().to_string());
                    same("ipv6.hop_limit", ip.header().hop_limit().to_string());
                    same("ipv6.flow_label", format!("0x{:05x}", ip.header().flow_label().value()));
                }
                _ => {}
            }
            match &theirs.transport {
                Some(TransportSlice::Tcp(tcp)) => {
                    same("tcp.src_port", tcp.source_port().to_string());
                    same("tcp.sequence", tcp.sequence_number().to_string());
                    same("tcp.window", tcp.window_size().to_string());
                }
                Some(TransportSlice::Udp(udp)) => {
                    same("udp.dst_port", udp.destination_port().to_string());
                    same("udp.length", udp.length().to_string());
                }
                _ => {}
            }
        }
    }
    for name in ["ipv4.src", "ipv6.src", "tcp.sequence", "udp.length"] {
        assert!(compared.get(name).is_some_and(|&n| n > 10), "{name}: {compared:?}");
    }
}

#[test]
fn what_is_built_is_what_another_builder_builds() {
    let payload = [9; 33];
    let theirs = |builder: etherparse::PacketBuilderStep<etherparse::UdpHeader>| {
        let mut out = Vec::new();
        builder.write(&mut out, &payload).expect("fits");
        out
    };
    let start = || etherparse::PacketBuilder::ethernet2([2, 0, 0, 0, 0, 2], [2, 0, 0, 0, 0, 1]);
    let (v4, v6) = (Ipv4::default(), Ipv6::default());
    let expected = theirs(start().ipv4(v4.src.octets(), v4.dst.octets(), 64).udp(49_152, 53));
    let mut ours =
        ethernet().ipv4(Ipv4 { dont_fragment: true, ..v4 }).udp(Udp::default()).payload(&payload);
    assert_eq!(ours.bytes(), expected);
    let expected = theirs(start().ipv6(v6.src.octets(), v6.dst.octets(), 64).udp(49_152, 53));
    ours = ethernet().ipv6(v6).udp(Udp::default()).payload(&payload);
    assert_eq!(ours.bytes(), expected);
}

proptest! {
    #[test]
    fn any_bytes_are_covered(frame in prop::collection::vec(any::<u8>(), 0..200)) {
        check_cover(&frame);
        diff(&frame, &frame[..frame.len() / 2]);
    }

    #[test]
    fn any_bytes_behind_any_type_are_covered(
        ethertype in prop::sample::select(&[0x800u16, 0x86dd, 0x8847, 0x8100, 0x88a8, 0x806][..]),
        version in prop::sample::select(&[4u8, 6][..]),
        next in prop::sample::select(&[0u8, 1, 4, 6, 17, 41, 43, 44, 51, 58, 60][..]),
        mut tail in prop::collection::vec(any::<u8>(), 10..200),
    ) {
        tail[0] = version << 4 | tail[0] & 15;
        tail[if version == 4 { 9 } else { 6 }] = next;
        let mut frame = ethernet().bytes();
        frame[12..14].copy_from_slice(&ethertype.to_be_bytes());
        frame.extend(tail);
        check_cover(&frame);
    }
}
