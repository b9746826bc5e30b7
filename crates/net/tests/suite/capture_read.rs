//! Reads hand-made captures, case by case.

use std::io::{Cursor, Write};
use std::path::Path;

use proptest::prelude::*;
use wireloom_net::Packet;
use wireloom_net::capture::{CaptureError, Damaged, ReadOptions, Reader, Truncated, Unfinished};

/// The byte order of the numbers in a file.
#[derive(Clone, Copy, Debug)]
enum Order {
    Big,
    Little,
}

const ORDERS: [Order; 2] = [Order::Big, Order::Little];

impl Order {
    fn u16(self, value: u16) -> [u8; 2] {
        match self {
            Self::Big => value.to_be_bytes(),
            Self::Little => value.to_le_bytes(),
        }
    }

    fn u32(self, value: u32) -> [u8; 4] {
        match self {
            Self::Big => value.to_be_bytes(),
            Self::Little => value.to_le_bytes(),
        }
    }
}

fn pcap(order: Order, magic: u32, network: u32, records: &[(u32, u32, &[u8], u32)]) -> Vec<u8> {
    let mut out = order.u32(magic).to_vec();
    out.extend(order.u16(2));
    out.extend(order.u16(4));
    out.extend([0; 8]);
    out.extend(order.u32(65_535));
    out.extend(order.u32(network));
    for (seconds, fraction, bytes, original) in records {
        for word in [*seconds, *fraction, bytes.len() as u32, *original] {
            out.extend(order.u32(word));
        }
        out.extend(*bytes);
    }
    out
}

fn block(order: Order, kind: u32, body: &[u8]) -> Vec<u8> {
    let body_length = body.len().next_multiple_of(4);
    let total = order.u32(body_length as u32 + 12);
    let mut out = order.u32(kind).to_vec();
    out.extend(total);
    out.extend(body);
    out.resize(8 + body_length, 0);
    out.extend(total);
    out
}

fn section(order: Order) -> Vec<u8> {
    let mut body = order.u32(0x1a2b_3c4d).to_vec();
    body.extend(order.u16(1));
    body.extend(order.u16(0));
    body.extend([0xff; 8]);
    block(order, 0x0a0d_0d0a, &body)
}

fn option(order: Order, code: u16, value: &[u8]) -> Vec<u8> {
    let mut out = order.u16(code).to_vec();
    out.extend(order.u16(value.len() as u16));
    out.extend(value);
    out.resize(out.len().next_multiple_of(4), 0);
    out
}

fn interface(order: Order, link: u16, options: &[u8]) -> Vec<u8> {
    let mut body = order.u16(link).to_vec();
    body.extend([0; 6]);
    body.extend(options);
    block(order, 1, &body)
}

fn packet(order: Order, interface: u32, timestamp: u64, bytes: &[u8], original: u32) -> Vec<u8> {
    packet_with(order, interface, timestamp, bytes, original, &[])
}

fn packet_with(
    order: Order,
    interface: u32,
    timestamp: u64,
    bytes: &[u8],
    original: u32,
    options: &[u8],
) -> Vec<u8> {
    let mut body = Vec::new();
    for word in
        [interface, (timestamp >> 32) as u32, timestamp as u32, bytes.len() as u32, original]
    {
        body.extend(order.u32(word));
    }
    body.extend(bytes);
    body.resize(body.len().next_multiple_of(4), 0);
    body.extend(options);
    block(order, 6, &body)
}

fn open(bytes: Vec<u8>, options: ReadOptions) -> Result<Reader, CaptureError> {
    Reader::from_stream(Path::new("test"), Cursor::new(bytes), options)
}

fn read(bytes: Vec<u8>) -> Result<Vec<Packet>, CaptureError> {
    open(bytes, ReadOptions::default())?.collect()
}

fn error(bytes: Vec<u8>) -> CaptureError {
    read(bytes).expect_err("the capture is malformed")
}

const FRAME: &[u8] = &[0x55; 60];

/// Bits 5 to 8 of a packet's flags state the length of its frame check sequence. They take
/// precedence over the interface's.
#[test]
fn a_packets_flags_state_its_frame_check_sequence() {
    for order in ORDERS {
        let flags = |length: u32| option(order, 2, &order.u32(length << 5 | 0b1_1110_0001_1101));
        let comment = option(order, 1, b"a comment of more than 16 bytes");
        for (interface_length, options, expected) in [
            (None, flags(4), 57),
            (None, flags(0), 61),
            (None, vec![], 61),
            (Some(2), flags(4), 57),
            (Some(2), flags(0), 59),
            (Some(2), comment.clone(), 59),
            (None, [comment.clone(), flags(8)].concat(), 53),
            (None, [option(order, 0, &[]), flags(8)].concat(), 61),
            (None, flags(15), 46),
        ] {
            let mut file = section(order);
            let described = interface_length.map(|length| option(order, 13, &[length]));
            file.extend(interface(order, 1, &described.unwrap_or_default()));
            file.extend(packet_with(order, 0, 5, &[0x55; 61], 61, &options));
            file.extend(packet(order, 0, 5, FRAME, 60));
            let packets = read(file).expect("well-formed");
            assert_eq!(packets[0].bytes.len(), expected, "{options:?}");
            assert_eq!(packets[1].bytes.len(), 60 - usize::from(interface_length.unwrap_or(0)));
        }
    }
}

#[test]
fn damaged_options_of_packets_are_refused() {
    let order = ORDERS[0];
    let mut long = order.u16(2).to_vec();
    long.extend(order.u16(9));
    long.extend([0; 4]);
    for (options, message) in [
        (option(order, 2, &[0; 2]), "option 2 of a packet has the wrong length, 2"),
        (long, "option 2 of a packet is longer (9 bytes) than the rest of its block"),
    ] {
        let mut file = section(order);
        file.extend(interface(order, 1, &[]));
        file.extend(packet_with(order, 0, 5, FRAME, 60, &options));
        let error = error(file).to_string();
        assert!(error.contains(message), "{error}");
    }
}

#[test]
fn pcap_of_both_byte_orders_and_resolutions() {
    for order in ORDERS {
        for (magic, expected) in [(0xa1b2_c3d4, 7_000_009_000), (0xa1b2_3c4d, 7_000_000_009)] {
            let packets = read(pcap(order, magic, 1, &[(7, 9, FRAME, 60)])).expect("well-formed");
            assert_eq!(
                packets,
                [Packet { ingress: 0, arrival_ns: expected, bytes: FRAME.to_vec() }]
            );
        }
    }
}

#[test]
fn pcapng_of_both_byte_orders_with_several_interfaces_and_clocks() {
    for order in ORDERS {
        let mut file = section(order);
        file.extend(interface(order, 1, &[]));
        file.extend(interface(order, 1, &option(order, 9, &[9])));
        file.extend(interface(order, 1, &option(order, 9, &[3])));
        file.extend(interface(order, 1, &option(order, 9, &[0x80 | 10])));
        let mut options = option(order, 9, &[0]);
        let offset = match order {
            Order::Big => 100i64.to_be_bytes(),
            Order::Little => 100i64.to_le_bytes(),
        };
        options.extend(option(order, 14, &offset));
        options.extend(option(order, 2, b"port77"));
        options.extend(option(order, 0, &[]));
        file.extend(interface(order, 1, &options));
        file.extend(packet(order, 0, 5, FRAME, 60));
        file.extend(block(order, 0x8000_1234, &[1; 1000]));
        file.extend(packet(order, 1, 1 << 33, FRAME, 60));
        file.extend(packet(order, 2, 5, FRAME, 60));
        file.extend(packet(order, 3, 512, FRAME, 60));
        file.extend(packet(order, 4, 5, FRAME, 60));
        let mut reader = open(file, ReadOptions::default()).expect("well-formed");
        let seen: Vec<_> = reader
            .by_ref()
            .map(|p| p.expect("well-formed"))
            .map(|p| (p.ingress, p.arrival_ns))
            .collect();
        assert_eq!(
            seen,
            [(0, 5_000), (1, 1 << 33), (2, 5_000_000), (3, 500_000_000), (77, 105_000_000_000)]
        );
        assert_eq!(reader.summary().skipped_blocks, 1);
    }
}

#[test]
fn sections_may_differ_in_byte_order_and_begin_their_interfaces_anew() {
    let mut file = Vec::new();
    for order in ORDERS {
        file.extend(section(order));
        file.extend(interface(order, 1, &[]));
        file.extend(packet(order, 0, 1, FRAME, 60));
    }
    let packets = read(file).expect("well-formed");
    assert_eq!(packets.iter().map(|p| p.ingress).collect::<Vec<_>>(), [0, 0]);
}

#[test]
fn simple_and_obsolete_packet_blocks() {
    let order = Order::Little;
    let mut file = section(order);
    file.extend(interface(order, 1, &[]));
    let mut simple = order.u32(60).to_vec();
    simple.extend(FRAME);
    file.extend(block(order, 3, &simple));
    let mut old = order.u16(0).to_vec();
    old.extend(order.u16(7)); // drops
    for word in [0, 3, 60, 60] {
        old.extend(order.u32(word));
    }
    old.extend(FRAME);
    file.extend(block(order, 2, &old));
    let packets = read(file).expect("well-formed");
    assert_eq!(
        packets.iter().map(|p| (p.arrival_ns, p.bytes.len())).collect::<Vec<_>>(),
        [(0, 60), (3000, 60)]
    );
}

#[test]
fn compressed_captures() {
    let plain = pcap(Order::Little, 0xa1b2_c3d4, 1, &[(7, 9, FRAME, 60)]);
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gzip.write_all(&plain).expect("compresses");
    let gzip = gzip.finish().expect("compresses");
    assert_eq!(read(gzip.clone()), read(plain.clone()));
    let mut bzip2 = bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::fast());
    bzip2.write_all(&plain).expect("compresses");
    assert_eq!(read(bzip2.finish().expect("compresses")), read(plain));

    let cut = error(gzip[..gzip.len() - 12].to_vec());
    assert_eq!(cut.hint, "the compressed file is damaged or truncated; fetch it again");
}

#[test]
fn truncated_packets_follow_the_policy() {
    let file = pcap(Order::Little, 0xa1b2_c3d4, 1, &[(0, 0, FRAME, 1514), (1, 0, FRAME, 60)]);
    for (truncated, expected) in [
        (Truncated::Use, vec![60, 60]),
        (Truncated::Pad, vec![1514, 60]),
        (Truncated::Skip, vec![60]),
    ] {
        let mut reader = open(file.clone(), ReadOptions { truncated, ..ReadOptions::default() })
            .expect("well-formed");
        let lengths: Vec<_> =
            reader.by_ref().map(|p| p.expect("well-formed").bytes.len()).collect();
        assert_eq!(lengths, expected, "{truncated:?}");
        assert_eq!(reader.summary().truncated, 1);
    }
}

#[test]
fn frame_check_sequences_are_taken_away() {
    // Bit 26: the length in 16-bit words (bits 28 and up) is stated.
    let network = 1 | 1 << 26 | 2 << 28;
    let records: &[(u32, u32, &[u8], u32)] =
        &[(0, 0, &[1; 64], 64), (0, 0, &[1; 62], 64), (0, 0, &[1; 50], 64)];
    let packets = read(pcap(Order::Big, 0xa1b2_c3d4, network, records)).expect("well-formed");
    assert_eq!(packets.iter().map(|p| p.bytes.len()).collect::<Vec<_>>(), [60, 60, 50]);
}

#[test]
fn raw_ip_and_cooked_captures_become_ethernet() {
    let mut ip = vec![0x45];
    ip.resize(20, 0);
    let raw = read(pcap(Order::Little, 0xa1b2_c3d4, 101, &[(0, 0, &ip, 20)])).expect("well-formed");
    assert_eq!(raw[0].bytes[..14], [2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 8, 0]);
    assert_eq!(raw[0].bytes[14..], ip);

    let mut cooked = vec![0, 0, 0, 1, 0, 6, 10, 11, 12, 13, 14, 15, 0, 0, 0x86, 0xdd];
    cooked.push(0x60);
    let cooked =
        read(pcap(Order::Little, 0xa1b2_c3d4, 113, &[(0, 0, &cooked, 17)])).expect("well-formed");
    assert_eq!(cooked[0].bytes, [2, 0, 0, 0, 0, 1, 10, 11, 12, 13, 14, 15, 0x86, 0xdd, 0x60]);

    let mut cooked2 = vec![8, 0, 0, 0, 0, 0, 0, 2, 0, 1, 0, 6, 1, 2, 3, 4, 5, 6, 0, 0];
    cooked2.push(0x45);
    let cooked2 =
        read(pcap(Order::Little, 0xa1b2_c3d4, 276, &[(0, 0, &cooked2, 21)])).expect("well-formed");
    assert_eq!(cooked2[0].bytes, [2, 0, 0, 0, 0, 1, 1, 2, 3, 4, 5, 6, 8, 0, 0x45]);

    let neither = pcap(Order::Little, 0xa1b2_c3d4, 101, &[(0, 0, &[0x15], 1), (0, 0, &ip, 20)]);
    let mut reader = open(neither, ReadOptions::default()).expect("a capture");
    assert_eq!(reader.by_ref().count(), 1);
    assert_eq!((reader.summary().packets, reader.summary().without_packet), (1, 1));
}

/// The length on the wire is the frame's length, without the radiotap header and with the check
/// sequence.
#[test]
fn a_wireless_packet_has_its_length_without_what_surrounds_it() {
    let radiotap = [0, 0, 9, 0, 2, 0, 0, 0, 0x10];
    let header = [&[8, 1, 0, 0][..], &[1; 18], &[0, 0]].concat();
    let snap = [0xaa, 0xaa, 3, 0, 0, 0, 8, 0];
    let record = [&radiotap[..], &header, &snap, &[0x45; 20], &[9; 4]].concat();
    let whole = record.len() as u32;
    let captured = &record[..record.len() - 14];
    let records = [(0, 0, &record[..], whole), (0, 0, captured, whole)];
    let options = ReadOptions { truncated: Truncated::Pad, ..ReadOptions::default() };
    let file = pcap(Order::Little, 0xa1b2_c3d4, 127, &records);
    let reader = open(file, options).expect("a capture");
    let packets: Vec<_> = reader.map(|packet| packet.expect("well-formed").bytes).collect();
    assert_eq!(packets[0][14..], [0x45; 20]);
    assert_eq!(packets[1][14..], [&[0x45; 10][..], &[0; 10]].concat());
}

#[test]
fn other_link_types_are_named() {
    let error = error(pcap(Order::Little, 0xa1b2_c3d4, 119, &[]));
    assert_eq!(error.offset, Some(20));
    let expected = "the capture's link type is 119 (IEEE 802.11 with a Prism header)";
    assert!(error.what.starts_with(expected), "{error}");
}

#[test]
fn packets_before_an_end_in_the_middle_are_used_if_the_options_say_so() {
    let whole = pcap(Order::Little, 0xa1b2_c3d4, 1, &[(0, 0, FRAME, 60), (0, 0, FRAME, 60)]);
    let mut zipped = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::none());
    zipped.write_all(&whole).expect("memory");
    let zipped = zipped.finish().expect("memory");
    let options = ReadOptions { unfinished: Unfinished::Use, ..ReadOptions::default() };
    for cut in [whole[..whole.len() - 1].to_vec(), zipped[..zipped.len() - 20].to_vec()] {
        assert!(read(cut.clone()).is_err());
        let mut reader = open(cut, options).expect("a capture");
        assert_eq!(reader.by_ref().filter(Result::is_ok).count(), 1);
        assert_eq!(reader.unfinished().and_then(|error| error.offset), Some(24 + 16 + 60));
    }
    let mut reader = open(whole, options).expect("a capture");
    assert_eq!((reader.by_ref().count(), reader.unfinished()), (2, None));
    // Damage does not count as an end.
    let mut damaged = pcap(Order::Little, 0xa1b2_c3d4, 1, &[]);
    damaged.extend([0xff; 16]);
    assert!(open(damaged, options).expect("a capture").next().expect("a record").is_err());
}

#[test]
fn an_interface_of_another_link_type_matters_only_if_it_has_packets() {
    let order = Order::Little;
    let mut file = section(order);
    file.extend(interface(order, 1, &[]));
    file.extend(interface(order, 189, &[]));
    file.extend(packet(order, 0, 1, FRAME, 60));
    assert_eq!(read(file.clone()).map(|p| p.len()), Ok(1));
    file.extend(packet(order, 1, 1, FRAME, 60));
    assert!(error(file).what.contains("189 (USB)"));
}

#[test]
fn a_record_that_claims_four_gigabytes_is_an_error_at_its_offset() {
    let mut file = pcap(Order::Little, 0xa1b2_c3d4, 1, &[(0, 0, FRAME, 60)]);
    let at = file.len() as u64;
    file.extend([0; 8]);
    file.extend([0xff; 8]);
    let mut reader = open(file, ReadOptions::default()).expect("well-formed so far");
    let mut buffer = Packet::default();
    assert_eq!(reader.read_into(&mut buffer), Ok(true));
    let error = reader.read_into(&mut buffer).expect_err("nothing is that long");
    assert_eq!(error.offset, Some(at));
    assert!(error.what.starts_with("record 2 claims to hold 4294967295 bytes"), "{error}");
    assert!(buffer.bytes.capacity() < 1 << 20, "the claim was not believed");
    assert_eq!(reader.read_into(&mut buffer), Ok(false), "an error ends the stream");
}

#[test]
fn damage_is_named_with_its_offset() {
    let order = Order::Little;
    let start = [section(order), interface(order, 1, &[])].concat();
    let at = start.len() as u64;
    let with = |more: &[u8]| [start.clone(), more.to_vec()].concat();
    let whole = packet(order, 0, 1, FRAME, 60);
    let patched = |at: usize, bytes: &[u8]| {
        let mut block = whole.clone();
        block[at..at + bytes.len()].copy_from_slice(bytes);
        with(&block)
    };
    for (file, offset, what) in [
        (vec![], 0, "the file is empty"),
        (b"hello, world".to_vec(), 0, "this is neither a pcap nor a pcapng file"),
        (vec![0xd4, 0xc3], 0, "this is neither a pcap nor a pcapng file"),
        (pcap(order, 0xa1b2_cd34, 1, &[]), 0, "this is the \"modified\" pcap variant"),
        (
            pcap(order, 0xa1b2_c3d4, 1, &[])[..20].to_vec(),
            0,
            "the file ends inside the pcap file header",
        ),
        (
            pcap(order, 0xa1b2_c3d4, 1, &[(0, 0, FRAME, 60)])[..30].to_vec(),
            24,
            "the file ends inside a record header",
        ),
        (
            pcap(order, 0xa1b2_c3d4, 1, &[(0, 0, FRAME, 60)])[..80].to_vec(),
            24,
            "the file ends inside a record that",
        ),
        (with(&whole[..2]), at, "the file ends inside a block"),
        (with(&whole[..whole.len() - 1]), at, "the file ends inside a block"),
        (patched(4, &[13, 0, 0, 0]), at + 4, "a block claims the length 13"),
        (patched(4, &[16, 0, 0, 0]), at, "the block's length, 16, is too small"),
        (patched(8, &[9, 0, 0, 0]), at, "a packet names interface 9, but 1 are described"),
        (patched(20, &[0xff; 4]), at, "a packet claims to have 4294967295 bytes"),
        (
            patched(whole.len() - 4, &[0; 4]),
            at + whole.len() as u64 - 4,
            "a block of length 92 ends with the length 0",
        ),
        (with(&interface(order, 1, &option(order, 9, &[127]))), at + 16, "a clock of 10^-127 s"),
        (
            with(&interface(order, 1, &option(order, 9, &[1, 2]))),
            at + 16,
            "option 9 of an interface has the wrong length",
        ),
        (
            with(&interface(order, 1, &[9, 0, 200, 0])),
            at + 16,
            "option 9 of an interface is longer",
        ),
    ] {
        let error = error(file);
        assert!(error.what.starts_with(what), "{error}");
        assert_eq!(error.offset, Some(offset), "{error}");
    }
}

#[test]
fn damaged_packets_with_an_end_can_be_skipped() {
    for order in ORDERS {
        let whole = packet(order, 0, 1, FRAME, 60);
        let patched = |at: usize, bytes: &[u8]| {
            let mut block = whole.clone();
            block[at..at + bytes.len()].copy_from_slice(bytes);
            block
        };
        let bad = [
            patched(8, &order.u32(9)),
            patched(20, &[0xff; 4]),
            packet_with(order, 0, 1, FRAME, 60, &option(order, 2, &[1, 2])),
            packet_with(order, 0, 1, FRAME, 60, &[0, 9, 9, 0]),
            block(order, 6, &[0; 8]),
        ];
        for bad in &bad {
            let file = [&section(order)[..], &interface(order, 1, &[]), &whole, bad, bad, &whole];
            let refused = error(file.concat());
            assert!(refused.is_skippable, "{refused}");
            let options = ReadOptions { damaged: Damaged::Skip, ..ReadOptions::default() };
            let mut reader = open(file.concat(), options).expect("a capture");
            assert_eq!(reader.by_ref().filter(Result::is_ok).count(), 2);
            let (summary, at) = (reader.summary(), file[..3].concat().len() as u64);
            assert_eq!((summary.damaged, summary.first_damaged), (2, Some(at)));
        }
        // These errors cannot be skipped: lengths that disagree, and descriptions that other blocks
        // need.
        for bad in [
            patched(whole.len() - 4, &[0; 4]),
            patched(4, &order.u32(16)),
            interface(order, 1, &option(order, 9, &[1, 2])),
        ] {
            let file = [section(order), interface(order, 1, &[]), bad, whole.clone()].concat();
            let options = ReadOptions { damaged: Damaged::Skip, ..ReadOptions::default() };
            let results: Vec<_> = open(file, options).expect("a capture").collect();
            let [Err(refused)] = &results[..] else { panic!("{results:?}") };
            assert!(!refused.is_skippable, "{refused}");
        }
    }
}

#[test]
fn what_cannot_be_opened_says_so() {
    let Err(missing) = Reader::open(Path::new("no/such/file.pcap")) else {
        panic!("there is no such file")
    };
    assert!(
        missing.to_string().starts_with("no/such/file.pcap: cannot open the capture: "),
        "{missing}"
    );
    let Err(folder) = Reader::open(Path::new(".")) else { panic!("a folder is not a capture") };
    assert!(folder.to_string().contains("is a directory"), "{folder}");
}

/// Reads to the end. Returns whether the capture was well-formed.
fn survives(bytes: Vec<u8>) -> bool {
    open(bytes, ReadOptions { truncated: Truncated::Pad, ..ReadOptions::default() })
        .is_ok_and(|reader| reader.into_iter().all(|p| p.is_ok()))
}

proptest! {
    #[test]
    fn no_bytes_behind_a_header_panic(order in prop::sample::select(&ORDERS), ng: bool, link in 0u16..300, tail in prop::collection::vec(any::<u8>(), 0..300)) {
        let mut file = if ng {
            [section(order), interface(order, link, &[])].concat()
        } else {
            pcap(order, 0xa1b2_c3d4, link.into(), &[])
        };
        file.extend(tail);
        survives(file);
    }

    #[test]
    fn no_damage_to_a_good_file_panics(order in prop::sample::select(&ORDERS), ng: bool, damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6), cut in any::<prop::sample::Index>()) {
        let mut file = if ng {
            let options = [option(order, 2, b"port3"), option(order, 9, &[6]), option(order, 0, &[])].concat();
            [section(order), interface(order, 1, &options), packet(order, 0, 1, FRAME, 60), block(order, 5, FRAME)].concat()
        } else {
            pcap(order, 0xa1b2_c3d4, 1, &[(0, 0, FRAME, 60), (0, 1, FRAME, 90)])
        };
        prop_assert!(survives(file.clone()));
        for (at, value) in damage {
            let at = at.index(file.len());
            file[at] = value;
        }
        survives(file.clone());
        file.truncate(cut.index(file.len()));
        survives(file);
    }
}
