//! Checks reading of real captures, and the output of the writer, against an independent parser
//! (`pcap-parser`).

use crate::common;

use std::fs::{self, File};
use std::path::Path;

use pcap_parser::traits::PcapNGPacketBlock;
use pcap_parser::{Block, PcapBlockOwned, PcapError, create_reader};
use wireloom_net::Packet;
use wireloom_net::capture::{Destination, Format, Reader, Writer};

/// A packet according to the other parser: interface, time, captured bytes.
type Seen = (u32, u64, Vec<u8>);

fn with_other_parser(path: &Path) -> Vec<Seen> {
    let mut reader = create_reader(1 << 20, File::open(path).expect("the capture is there"))
        .expect("well-formed");
    let mut seen = Vec::new();
    let mut resolutions = Vec::new();
    loop {
        match reader.next() {
            Ok((used, block)) => {
                match block {
                    PcapBlockOwned::Legacy(b) => {
                        let ns = u64::from(b.ts_sec) * 1_000_000_000 + u64::from(b.ts_usec) * 1000;
                        seen.push((0, ns, b.data[..b.caplen as usize].to_vec()));
                    }
                    PcapBlockOwned::NG(Block::InterfaceDescription(b)) => {
                        resolutions.push(b.ts_resolution().expect("a resolution"));
                    }
                    PcapBlockOwned::NG(Block::EnhancedPacket(b)) => {
                        let units = resolutions[b.if_id as usize];
                        let (seconds, rest) = b.decode_ts(0, units);
                        let ns = u64::from(seconds) * 1_000_000_000
                            + u64::from(rest) * (1_000_000_000 / units);
                        seen.push((b.if_id, ns, b.packet_data().to_vec()));
                    }
                    _ => {}
                }
                reader.consume(used);
            }
            Err(PcapError::Eof) => return seen,
            Err(PcapError::Incomplete(_)) => reader.refill().expect("the capture can be read"),
            Err(e) => panic!("{}: {e}", path.display()),
        }
    }
}

#[test]
fn every_real_capture_is_read_as_by_another_parser() {
    let paths = common::captures();
    assert!(paths.len() > 40);
    for path in paths {
        let ours: Vec<Packet> =
            Reader::open(&path).and_then(Iterator::collect).unwrap_or_else(|e| panic!("{e}"));
        let theirs = with_other_parser(&path);
        assert_eq!(ours.len(), theirs.len(), "{}", path.display());
        for (ours, (interface, ns, bytes)) in ours.iter().zip(&theirs) {
            // Raw IP captures are given an Ethernet header.
            let made_up = ours.bytes.len() - bytes.len();
            assert!(made_up == 0 || made_up == 14, "{}", path.display());
            assert_eq!(&ours.bytes[made_up..], bytes, "{}", path.display());
            assert_eq!(
                (u32::from(ours.ingress), ours.arrival_ns),
                (*interface, *ns),
                "{}",
                path.display()
            );
        }
    }
}

#[test]
fn the_largest_capture_has_its_packets() {
    let mut reader = Reader::open(&common::capture("real.pcap")).expect("well-formed");
    assert_eq!(reader.by_ref().filter(Result::is_ok).count(), 62_781);
    assert_eq!(reader.summary().truncated, 0);
}

#[test]
fn what_is_written_is_read_again() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("out.pcapng");
    let mut writer = Writer::create(&path).expect("can be created");
    writer.write(Destination::Port(3), 1_234_567_890_123_456_789, &[1; 61]).expect("writes");
    writer.write(Destination::Cpu("TTL_EXPIRED"), 5, &[2; 62]).expect("writes");
    writer.write(Destination::From(0), 6, &[]).expect("writes");
    writer.write(Destination::Drop("NO_ROUTE"), 7, &[4; 64]).expect("writes");
    writer.write(Destination::Port(3), 8, &[5; 65_535]).expect("writes");
    assert_eq!(writer.packets(), 5);
    writer.finish().expect("finishes");

    let ours: Vec<Packet> = Reader::open(&path).and_then(Iterator::collect).expect("well-formed");
    let seen: Vec<_> = ours.iter().map(|p| (p.ingress, p.arrival_ns, p.bytes.len())).collect();
    // `cpu` and `drop` are interfaces 1 and 3; ports are identified by name.
    assert_eq!(
        seen,
        [(3, 1_234_567_890_123_456_789, 61), (1, 5, 62), (0, 6, 0), (3, 7, 64), (3, 8, 65_535)]
    );

    let theirs = with_other_parser(&path);
    assert_eq!(
        theirs.iter().map(|(interface, ..)| *interface).collect::<Vec<_>>(),
        [0, 1, 2, 3, 0]
    );
    assert!(
        theirs
            .iter()
            .zip(&ours)
            .all(|((_, ns, bytes), p)| *ns == p.arrival_ns && *bytes == p.bytes)
    );
    let raw = fs::read(&path).expect("was written");
    for text in ["port3", "cpu", "port0", "drop", "TTL_EXPIRED", "NO_ROUTE"] {
        assert!(raw.windows(text.len()).any(|w| w == text.as_bytes()), "{text}");
    }
    // One packet is inbound: option 2 of 4 bytes, with the lowest bit.
    let inbound = raw.windows(8).filter(|w| *w == [2, 0, 4, 0, 1, 0, 0, 0]);
    assert_eq!(inbound.count(), 1);
}

#[test]
fn plain_pcap_keeps_nanoseconds_and_refuses_what_it_cannot_say() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("out.pcap");
    assert_eq!(Format::for_path(&path), Format::Pcap);
    let mut writer = Writer::create(&path).expect("can be created");
    writer.write(Destination::Port(3), 7_000_000_009, &[1; 60]).expect("writes");
    let refused =
        writer.write(Destination::Drop("NO_ROUTE"), 8, &[1; 60]).expect_err("pcap has no drops");
    assert_eq!(refused.hint, "name the file .pcapng");
    writer.finish().expect("finishes");
    let packets: Vec<Packet> =
        Reader::open(&path).and_then(Iterator::collect).expect("well-formed");
    assert_eq!(packets, [Packet { ingress: 0, arrival_ns: 7_000_000_009, bytes: vec![1; 60] }]);
}

#[test]
fn a_writer_that_does_not_finish_leaves_everything_as_it_was() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("out.pcapng");
    fs::write(&path, "before").expect("writes");
    let mut writer = Writer::create(&path).expect("can be created");
    writer.write(Destination::Port(0), 0, &[0; 60]).expect("writes");
    drop(writer);
    assert_eq!(fs::read(&path).expect("still there"), b"before");
    assert_eq!(fs::read_dir(folder.path()).expect("can be listed").count(), 1);

    Writer::create(&path).and_then(Writer::finish).expect("finishes");
    assert_eq!(Reader::open(&path).expect("replaced").count(), 0);
    assert_eq!(fs::read_dir(folder.path()).expect("can be listed").count(), 1);
}

#[test]
fn a_target_that_cannot_be_written_is_an_error_at_once() {
    let folder = tempfile::tempdir().expect("a folder");
    assert!(Writer::create(&folder.path().join("no/such/folder/out.pcapng")).is_err());
    let refused = Writer::create(folder.path()).map(drop).expect_err("a folder is not a file");
    assert!(refused.to_string().contains("is a directory"), "{refused}");
    Writer::create(Path::new("/dev/null"))
        .and_then(Writer::finish)
        .expect("devices are written directly");
    assert!(Path::new("/dev/null").exists());
}
