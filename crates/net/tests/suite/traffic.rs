//! Checks the contents of generated traffic, and that it is reproducible.

use crate::common;

use std::collections::{HashMap, HashSet};
use std::path::PathBuf;

use etherparse::{NetSlice, SlicedPacket, TransportSlice};
use wireloom_net::Packet;
use wireloom_net::tables::{Prefix, read_prefixes};
use wireloom_net::traffic::{AddressSpec, Bursts, Generator, Pick, PrefixPool, Sizes, Spec};
use wireloom_net::wire::checksum::{checksum, pseudo_header_v4, pseudo_header_v6};
use wireloom_net::wire::dissect::dissect;

/// Parses a specification from TOML.
fn spec(text: &str) -> Spec {
    toml::from_str(text).expect(text)
}

fn generate(text: &str, count: usize) -> Vec<Packet> {
    Generator::new(&spec(text)).expect(text).take(count).collect()
}

fn names(packet: &Packet) -> HashSet<String> {
    dissect(&packet.bytes).into_iter().map(|f| f.name).collect()
}

#[test]
fn a_seed_gives_the_same_bytes_and_another_seed_others() {
    let text = "mix = 'ipv4=5,ipv6=2,mpls1..4=3'\nsizes = 'imix'\nvlans = '0=1,1=1,2=1'\nbursts = 'poisson'\ntransport = 'udp,tcp'";
    let first = generate(text, 2000);
    assert_eq!(first, generate(text, 2000));
    assert_ne!(first, generate(&format!("seed = 2\n{text}"), 2000));
}

/// The stream must not change between versions. Change the digest only if a change of the stream is
/// intended.
#[test]
fn the_stream_of_a_seed_is_fixed() {
    let packets = generate(
        "mix = 'ipv4=5,ipv6=2,mpls1..4=3'\nsizes = 'imix'\nvlans = '0=1,1=1,2=1'\ntransport = 'udp,tcp'",
        1000,
    );
    let fnv = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3);
    let digest = packets.iter().flat_map(|p| &p.bytes).fold(0xcbf2_9ce4_8422_2325, fnv);
    assert_eq!(digest, 13_010_268_892_741_350_430);
}

#[test]
fn every_packet_is_well_formed_to_another_parser() {
    for transport in ["udp", "tcp"] {
        for size in ["64", "65", "1500", "imix", "65539"] {
            let text = format!(
                "mix = 'ipv4,ipv6,mpls1..4=2,mpls1/ipv4,mpls16/ipv6'\nvlans = '0,1,2'\nsizes = {}\ntransport = '{transport}'",
                format_args!("'{size}'")
            );
            // The largest packets are dissected row by row. So fewer of them are enough.
            for packet in generate(&text, if size == "65539" { 40 } else { 400 }) {
                check_with_etherparse(&packet.bytes);
            }
        }
    }
}

/// Checks addresses and checksums of a frame, with etherparse and by definition.
fn check_with_etherparse(frame: &[u8]) {
    // etherparse does not parse MPLS payload: find the IP header and parse it alone.
    let fields = dissect(frame);
    let ip_at = fields
        .iter()
        .find(|f| f.name == "ipv4.version" || f.name == "ipv6.version")
        .expect("IP")
        .offset;
    let parsed = SlicedPacket::from_ip(&frame[ip_at..]).expect("well-formed");
    let segment_sum = match parsed.net.as_ref().expect("IP") {
        NetSlice::Ipv4(ip) => {
            let header = ip.header();
            assert_eq!(header.header_checksum(), header.to_header().calc_header_checksum());
            assert_eq!(usize::from(header.total_len()), frame.len() - ip_at, "no padding");
            let number = header.protocol().0;
            pseudo_header_v4(
                header.source_addr(),
                header.destination_addr(),
                number,
                header.total_len() - 20,
            )
        }
        NetSlice::Ipv6(ip) => {
            let header = ip.header();
            assert_eq!(
                usize::from(header.payload_length()),
                frame.len() - ip_at - 40,
                "no padding"
            );
            let number = header.next_header().0;
            pseudo_header_v6(
                header.source_addr(),
                header.destination_addr(),
                number,
                header.payload_length().into(),
            )
        }
        NetSlice::Arp(_) => panic!("no ARP is generated"),
    };
    let at = match parsed.transport.as_ref().expect("a transport") {
        TransportSlice::Udp(udp) => {
            assert_ne!(udp.checksum(), 0);
            frame.len() - usize::from(udp.length())
        }
        TransportSlice::Tcp(tcp) => frame.len() - tcp.payload().len() - 20,
        other => panic!("{other:?}"),
    };
    // A checksum is correct if the sum over everything, including it, is all ones.
    let rest = checksum(&frame[at..]);
    assert_eq!(segment_sum.word(!rest).checksum(), 0);
    let outer = SlicedPacket::from_ethernet(frame).expect("well-formed");
    let tags = fields.iter().filter(|f| f.name.ends_with(".drop_eligible")).count();
    assert_eq!(outer.link_exts.len(), tags);
}

#[test]
fn sizes_count_the_frame_check_sequence() {
    let lengths = |text: &str| -> HashMap<usize, usize> {
        generate(text, 12_000).iter().fold(HashMap::new(), |mut seen, p| {
            *seen.entry(p.bytes.len()).or_default() += 1;
            seen
        })
    };
    assert_eq!(lengths("sizes = '64'"), HashMap::from([(60, 12_000)]));
    assert_eq!(lengths("sizes = '1500'"), HashMap::from([(1496, 12_000)]));
    let imix = lengths("sizes = 'imix'");
    for (length, expected) in [(60, 7000), (590, 4000), (1514, 1000)] {
        assert!(imix[&length].abs_diff(expected) < 300, "{imix:?}");
    }
    // Ethernet, two tags, four labels, IPv6 and TCP need 98 bytes: a frame of 64 cannot hold them.
    assert_eq!(
        lengths("sizes = '64'\nmix = 'mpls4/ipv6'\nvlans = '2'\ntransport = 'tcp'"),
        HashMap::from([(98, 12_000)])
    );
}

#[test]
fn bare_frames_have_neither_padding_nor_room_for_a_check_sequence() {
    for (text, headers) in [
        ("mix = 'ipv4,mpls1..3=2'\ntransport = 'udp'", 8),
        ("transport = 'tcp'", 20),
        ("mix = 'ipv6,mpls1..4/ipv4'\ntransport = 'none'", 0),
    ] {
        for packet in generate(&format!("sizes = 'bare:54'\n{text}"), 400) {
            assert_eq!(packet.bytes.len(), 54, "{text}");
            if headers > 0 {
                check_with_etherparse(&packet.bytes);
                continue;
            }
            let fields = dissect(&packet.bytes);
            let field = |name: &str| fields.iter().find(|f| f.name == name);
            let number = field("ipv4.protocol").or(field("ipv6.next_header")).expect("IP");
            assert!(number.value.contains("59"), "{number:?}");
        }
    }
    // These are the shortest possible packets, and the same packets with room for more.
    assert_eq!(generate("sizes = 'bare:34'\ntransport = 'none'", 1)[0].bytes.len(), 34);
    assert_eq!(generate("sizes = 'bare:60'", 9), generate("sizes = '64'", 9));
}

#[test]
fn protocols_come_by_their_weights() {
    let packets = generate(
        "mix = 'ipv4=5,ipv6=2,mpls1..4=3'\nvlans = '0=8,1=1,2=1'\ntransport = 'udp=3,tcp=1'",
        10_000,
    );
    let fields: Vec<_> = packets.iter().map(names).collect();
    let count = |find: &dyn Fn(&HashSet<String>) -> bool| fields.iter().filter(|n| find(n)).count();
    let has = |name: &'static str| move |n: &HashSet<String>| n.contains(name);
    for (what, got, expected) in [
        ("labelled", count(&has("mpls.label")), 3000),
        ("four labels", count(&has("mpls[3].label")), 750),
        ("IPv6", count(&has("ipv6.src")), 10_000 * 2 / 7),
        ("plain IPv6", count(&|n| n.contains("ipv6.src") && !n.contains("mpls.label")), 2000),
        ("one tag", count(&|n| n.contains("vlan.id") && !n.contains("vlan[1].id")), 1000),
        ("two tags", count(&has("vlan[1].id")), 1000),
        ("TCP", count(&has("tcp.flags")), 2500),
    ] {
        assert!(got.abs_diff(expected) < 200, "{what}: {got} of {expected}");
    }
}

#[test]
fn addresses_come_from_the_table() {
    let path = common::table("ipasn6_20151101.dat.gz");
    let prefixes: HashSet<Prefix> =
        read_prefixes(&path).expect("well-formed").into_iter().collect();
    let text = format!("mix = 'ipv4,ipv6'\ndestinations = {{ prefixes = '{}' }}", path.display());
    let packets = generate(&text, 2000);
    for packet in &packets {
        let fields = dissect(&packet.bytes);
        let dst = fields.iter().find(|f| f.name == "ipv4.dst" || f.name == "ipv6.dst").expect("IP");
        let dst: Prefix = dst.value.parse().expect("an address");
        let covered = (0..=dst.length()).any(|length| {
            Prefix::new(dst.family(), dst.bits(), length).is_some_and(|p| prefixes.contains(&p))
        });
        assert!(covered, "{dst}");
    }
}

#[test]
fn a_trace_gives_its_sizes_and_its_locality() {
    let path = common::capture("tcp_http.pcap");
    let text = format!(
        "sizes = 'capture'\ncapture = '{}'\ndestinations = {{ pick = 'trace' }}\nsources = {{ pick = 'trace' }}\ntransport = 'tcp'",
        path.display()
    );
    let original: Vec<Packet> = wireloom_net::capture::Reader::open(&path)
        .and_then(Iterator::collect)
        .expect("well-formed");
    let made = generate(&text, original.len() * 2);
    let dst = |p: &Packet| p.bytes[30..34].to_vec();
    let mut partner = HashMap::new();
    for (made, original) in made.iter().zip(original.iter().cycle()) {
        assert_eq!(made.bytes.len(), original.bytes.len().max(60));
        assert_eq!(partner.entry(dst(original)).or_insert_with(|| dst(made)), &dst(made));
    }
    assert!(partner.len() > 1);
}

#[test]
fn flows_come_again() {
    let pool: PrefixPool =
        ["10.0.0.1/32".parse::<Prefix>().expect("a prefix")].into_iter().collect();
    let spec = Spec { flows: 3, ..Spec::default() };
    let made =
        Generator::with_prefixes(&spec, pool.clone(), pool).expect("goes together").take(1000);
    let ports: HashSet<_> = made.map(|p| p.bytes[34..38].to_vec()).collect();
    assert_eq!(ports.len(), 3);
}

#[test]
fn count_ports_and_start_are_kept() {
    let spec = Spec { count: Some(7), ports: 3, start_ns: 1000, ..Spec::default() };
    let made: Vec<_> = Generator::new(&spec).expect("goes together").collect();
    assert_eq!(made.iter().map(|p| p.ingress).collect::<Vec<_>>(), [0, 1, 2, 0, 1, 2, 0]);
    // 84 bytes on the wire at 10 Gbps: 67.2 ns.
    assert_eq!(made.iter().map(|p| p.arrival_ns).take(3).collect::<Vec<_>>(), [1000, 1067, 1134]);
}

#[test]
fn a_specification_round_trips() {
    let spec = Spec {
        sizes: Sizes::Imix,
        bursts: Bursts::OnOff { packets: 32, peak: 10 },
        count: Some(5),
        destinations: AddressSpec {
            prefixes: Some(PathBuf::from("a.dat")),
            pick: Pick::Zipf(1.25),
        },
        ..Spec::default()
    };
    let text = toml::to_string(&spec).expect("serialises");
    assert_eq!(toml::from_str::<Spec>(&text).expect(&text), spec);
    let json = serde_json::to_string(&spec).expect("serialises");
    assert_eq!(serde_json::from_str::<Spec>(&json).expect(&json), spec);
}

#[test]
fn what_does_not_go_together_is_refused() {
    let refused = |text: &str| match toml::from_str::<Spec>(text) {
        Err(e) => e.message().to_owned(),
        Ok(spec) => match Generator::new(&spec) {
            Err(e) => e.to_string(),
            Ok(_) => panic!("{text} was accepted"),
        },
    };
    assert!(refused("sizes = '63'").contains("64 to 65539"));
    assert!(refused("sizes = '54'").contains("`bare:54` is one without"));
    assert!(refused("sizes = 'bare:13'").contains("14 to 65535"));
    assert!(refused("sizes = 'bare:x'").contains("`bare:x` is not a size"));
    for (text, said) in [
        ("mix = 'ipv6'", "`ipv6` with udp, which take up to 62;"),
        ("mix = 'ipv4,mpls1..4'", "`mpls1..4` with udp, which take up to 58;"),
        ("mix = 'ipv6,mpls1'\ntransport = 'none'", "`mpls1` with none, which take up to 58;"),
        ("mix = 'mpls1/ipv4'\ntransport = 'tcp=1,udp=5'", "with tcp, which take up to 58;"),
        ("vlans = '0=9,2=1'\ntransport = 'tcp'", "`ipv4` with tcp, which take up to 62;"),
    ] {
        let error = refused(&format!("sizes = 'bare:54'\n{text}"));
        assert!(error.contains(said), "{error}");
    }
    assert!(refused("mix = 'ipv5'").contains("`ipv5` is not a protocol"));
    assert!(refused("rate = 'fast'").contains("`10Gbps`"));
    assert!(refused("colour = 'red'").contains("unknown field `colour`"));
    assert!(refused("dst_mac = '02:00'").contains("not a MAC address"));
    assert!(refused("labels = '5..4'").contains("not a range of labels"));
    assert_eq!(
        refused("sizes = 'capture'"),
        "sizes are to come from a capture, but `capture` names none"
    );
    assert_eq!(refused("ports = 0"), "`ports` must be at least 1");
    assert!(refused("sources = { prefixes = 'no/such/file' }").starts_with("no/such/file: "));

    let v4: PrefixPool = ["10.0.0.0/8".parse::<Prefix>().expect("a prefix")].into_iter().collect();
    let Err(error) = Generator::with_prefixes(&spec("mix = 'ipv6'"), v4.clone(), v4) else {
        panic!("there are no IPv6 prefixes")
    };
    assert_eq!(error.to_string(), "the mix has IPv6, but there are no IPv6 prefixes");
}

#[test]
fn the_bottom_of_a_stack_can_have_labels_of_its_own_and_parts_can_take_turns() {
    let text =
        "mix = 'ipv4,mpls3/ipv4'\norder = 'turn'\nlabels = '100..199'\nbottom_labels = '16..31'";
    for (index, packet) in generate(text, 40).iter().enumerate() {
        let entries: Vec<(u32, bool)> = packet.bytes[14..]
            .chunks_exact(4)
            .take(3)
            .map(|entry| u32::from_be_bytes(entry.try_into().expect("four bytes")))
            .map(|entry| (entry >> 12, entry >> 8 & 1 == 1))
            .collect();
        if index % 2 == 0 {
            assert_eq!(packet.bytes[12..14], [0x08, 0x00], "packet {index}");
        } else {
            assert_eq!(
                entries.iter().map(|(_, bottom)| *bottom).collect::<Vec<_>>(),
                [false, false, true]
            );
            assert!(
                entries[..2].iter().all(|(label, _)| (100..200).contains(label)),
                "{entries:?}"
            );
            assert!((16..32).contains(&entries[2].0), "{entries:?}");
        }
    }
}
