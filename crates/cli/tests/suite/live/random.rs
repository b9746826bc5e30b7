//! Frames of random bytes, and valid frames with some changed bytes: nothing fails, and every frame
//! is counted once.

use std::ops::RangeInclusive;
use std::path::Path;
use std::time::{Duration, Instant};

use rand::seq::IndexedRandom;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use wireloom_net::Packet;
use wireloom_net::capture::Reader;

use super::routes::frame;
use super::{Forwarding, REPLY4, address, each_way, reaches};
use crate::network::Network;
use crate::patience::{TRY, patience};
use crate::wire::{self, Wire};

/// Frames that are sent at once: fewer than an interface holds.
const BURST: usize = 128;
/// The number of intervals in which memory growth is checked.
const INTERVALS: u32 = 10;
/// The most growth in half of the intervals, in KiB. A leak of 2 bytes per frame of an interval
/// would exceed it.
const USUAL_GROWTH: u64 = 32;
/// The most growth in all intervals, in KiB. It comes in steps: a thread that compares everything
/// with the kernel, or that builds an engine for changed tables, brings its stack and an allocator
/// arena, which later threads use again.
const GROWTH: u64 = 4 << 10;
/// The duration of the long test, all ways of exchanging frames together.
const GARBAGE: Duration = Duration::from_secs(600);
/// Captures with valid frames.
const FIRST: &str = "programs/captures/first.pcapng";
const CAPTURES: &str = ".cache/data/pathspider/usr/lib/python3/dist-packages/pathspider/tests/data";
const OTHERS: [&str; 6] = [
    "tcp_http.pcap",
    "icmp_ttl.pcap",
    "basic_ipv6_tcp.pcap",
    "basic_ipv6_udp.pcap",
    "icmp_ipv6_unreachable.pcap",
    "dns_valid_response.pcap",
];
/// The Ethernet addresses of frames from the left host to the router.
const ETHERNET: [u8; 12] = [2, 0, 0, 0, 1, 1, 2, 0, 0, 0, 1, 2];

/// Sends frames to the router, in bursts.
struct Garbage<'a> {
    network: &'a Network,
    random: ChaCha8Rng,
    /// Valid frames from captures.
    right: Vec<Vec<u8>>,
    burst: Vec<Vec<u8>>,
    sent: u64,
    /// The number of sent frames that need not arrive.
    cut: u64,
    bursts: u16,
}

impl<'a> Garbage<'a> {
    fn new(network: &'a Network) -> Self {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let mut right = vec![frame("10.0.2.2", 7), frame("2001:db8:2::2", 7)];
        let others = OTHERS.iter().map(|other| root.join(CAPTURES).join(other));
        for capture in std::iter::once(root.join(FIRST)).chain(others) {
            let Ok(mut reader) = Reader::open(&capture) else {
                eprintln!("warning: {} is missing (make data)", capture.display());
                continue;
            };
            let mut packet = Packet::default();
            while reader.read_into(&mut packet).expect("a packet") {
                let payload = packet.bytes.get(ETHERNET.len()..).unwrap_or_default();
                right.push([&ETHERNET, payload].concat());
            }
        }
        let random = ChaCha8Rng::seed_from_u64(23);
        Self { network, random, right, burst: Vec::new(), sent: 0, cut: 0, bursts: 0 }
    }

    /// Sends frames of all lengths, some of each.
    fn lengths(&mut self, lengths: RangeInclusive<usize>, per_length: usize) {
        let most = *lengths.end();
        for length in lengths {
            for _ in 0..per_length {
                let random = self.random_bytes(length);
                self.add(random);
                let mutated = self.mutated(most);
                self.add(mutated);
            }
        }
        self.flush();
    }

    /// Returns a frame of random bytes after headers that are valid up to a random byte.
    fn random_bytes(&mut self, length: usize) -> Vec<u8> {
        let mut frame = ETHERNET.to_vec();
        match self.random.random() {
            true => frame
                .extend([8, 0, 0x45, 0, 0, 46, 0, 0, 0, 0, 64, 17, 0, 0, 10, 0, 1, 2, 10, 0, 2, 2]),
            false => {
                frame.extend([0x86, 0xdd, 0x60, 0, 0, 0, 0, 6, 17, 64]);
                frame.extend([0x20, 1, 0xd, 0xb8, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2]);
                frame.extend([0x20, 1, 0xd, 0xb8, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2]);
            }
        }
        frame.truncate(self.random.random_range(0..=frame.len()).min(length));
        frame.resize_with(length, || self.random.random());
        frame
    }

    /// Returns a valid frame with one to four faults.
    fn mutated(&mut self, most: usize) -> Vec<u8> {
        let random = &mut self.random;
        let mut frame = self.right.choose(random).expect("some frames").clone();
        for _ in 0..random.random_range(1..=4) {
            let at = random.random_range(0..frame.len());
            match random.random_range(0..6) {
                0 => frame[at] ^= 1 << random.random_range(0..8),
                1 => frame[at] = *[0, 1, 0x7f, 0x80, 0xff].choose(random).expect("some"),
                2 => frame.truncate(at.max(14)),
                3 => frame.extend((0..random.random_range(1..64)).map(|_| random.random::<u8>())),
                // Insert a tag or a label.
                4 => {
                    let kind = *[[0x81, 0], [0x88, 0xa8], [0x88, 0x47]].choose(random).expect("3");
                    frame.splice(12..12, [kind[0], kind[1], random.random(), random.random()]);
                }
                // Repeat a part.
                _ => {
                    let end = (at + random.random_range(1..64)).min(frame.len());
                    let part = frame[at..end].to_vec();
                    frame.splice(at..at, part);
                }
            }
        }
        frame.truncate(most);
        frame
    }

    fn add(&mut self, frame: Vec<u8>) {
        // The kernel itself discards a frame that ends in its tag or right after it, before a
        // packet socket sees it.
        let is_tagged = matches!(frame[12..14], [0x81, 0] | [0x88, 0xa8]);
        self.cut += u64::from(is_tagged && frame.len() < 14 + 4 + 2);
        self.burst.push(frame);
        if self.burst.len() == BURST {
            self.flush();
        }
    }

    /// Sends the burst, and waits until a datagram after it arrives at the right host.
    fn flush(&mut self) {
        self.bursts = self.bursts.wrapping_add(1);
        let mut last = frame("10.0.2.2", self.bursts);
        let end = last.len() - 2;
        last[end..].copy_from_slice(b"ok");
        let (network, burst) = (self.network, &self.burst);
        let sent = network.right.run(|| {
            let at_right = Wire::open().expect("a packet socket");
            network.left.run(|| {
                let wire = Wire::open().expect("a packet socket");
                let ha = wire::interface_index("ha").expect("an interface");
                burst.iter().for_each(|frame| wire.send(ha, frame).expect("sent"));
                let deadline = Instant::now() + patience();
                // Random bytes may have given the router false information about a neighbour for
                // some time.
                for tries in 1u64.. {
                    wire.send(ha, &last).expect("sent");
                    let turn = Instant::now() + TRY;
                    while let Some(arrived) = at_right.receive(turn).expect("frames") {
                        if arrived.bytes.get(26..) == Some(&last[26..]) {
                            return burst.len() as u64 + tries;
                        }
                    }
                    assert!(turn < deadline, "nothing is forwarded after garbage");
                }
                unreachable!("it ends by then")
            })
        });
        self.sent += sent;
        self.burst.clear();
    }
}

/// Stops the forwarder and checks the sums. At least `least` frames arrived.
fn adds_up(forwarding: Forwarding, json: &Path, least: u64) -> String {
    let text = forwarding.stop();
    let written = std::fs::read_to_string(json).expect("a file");
    let report: serde_json::Value = serde_json::from_str(&written).expect("JSON");
    let sum = |list: &str, counter: &str| -> u64 {
        let rows = report[list].as_array().expect("a list");
        rows.iter().map(|row| row[counter].as_u64().expect("a number")).sum()
    };
    let received = sum("ports", "received_packets");
    assert!(received + sum("ports", "lost_at_input") >= least, "{least} were sent:\n{text}");
    let (sent, cpu) = (sum("sent", "packets"), sum("cpu", "packets"));
    assert_eq!(sent + cpu + sum("dropped", "packets"), received, "{text}");
    let out = sum("ports", "sent_packets") + sum("ports", "lost_at_output");
    assert_eq!(out, sent, "{text}");
    assert!(sum("policed", "packets") + sum("ports", "lost_to_kernel") <= cpu, "{text}");
    text
}

#[test]
fn every_frame_is_counted_once_whatever_is_in_it() {
    // Frames shorter than an Ethernet header cannot be sent; `make soak` plays some.
    each_way(|options| garbage(options, None, 14..=1514, None));
}

#[test]
#[ignore = "takes ten minutes: make test-all"]
fn ten_minutes_of_garbage_of_every_length_are_counted_and_leave_memory_flat() {
    let time = Some(GARBAGE / 6);
    each_way(|options| garbage(options, None, 14..=1514, time));
    garbage(&["--io", "packet"], Some(9000), 14..=9014, time);
}

/// Sends frames of all lengths: once, or repeatedly for some time.
fn garbage(
    options: &[&str],
    mtu: Option<u32>,
    lengths: RangeInclusive<usize>,
    time: Option<Duration>,
) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let json = folder.path().join("counters.json");
    let options = [options, &["--json", json.to_str().expect("a path")]].concat();
    let network = match Network::new() {
        Ok(network) => network,
        Err(error) => return eprintln!("warning: nothing was tested: {error}"),
    };
    if let Some(mtu) = mtu {
        network.router.ip(&format!("link set r1 mtu {mtu}\nlink set r2 mtu {mtu}\n"));
        network.left.ip(&format!("link set ha mtu {mtu}\n"));
        network.right.ip(&format!("link set hb mtu {mtu}\n"));
    }
    let Some(forwarding) = Forwarding::start(&network, &options) else { return };
    reaches(&network.left, "10.0.2.2", 64, (address("10.0.2.2"), REPLY4, 0));
    let mut garbage = Garbage::new(&network);
    garbage.lengths(lengths.clone(), 1);
    let mut grown = String::new();
    if let Some(time) = time {
        let mut memory_after = |time: Duration| {
            let begin = Instant::now();
            while begin.elapsed() < time {
                garbage.lengths(lengths.clone(), 1);
            }
            forwarding.memory_kib()
        };
        let first = memory_after(time / 5);
        let mut memory = vec![first];
        memory.extend((0..INTERVALS).map(|_| memory_after(time / 5 * 4 / INTERVALS)));
        let mut growth: Vec<u64> =
            memory.windows(2).map(|pair| pair[1].saturating_sub(pair[0])).collect();
        growth.sort_unstable();
        grown = format!("{} frames; {first} KiB, then growth by {growth:?}", garbage.sent);
        assert!(growth[growth.len() / 2] < USUAL_GROWTH, "{grown}");
        assert!(memory.iter().all(|now| now.saturating_sub(first) < GROWTH), "{grown}");
    }
    let text = adds_up(forwarding, &json, garbage.sent - garbage.cut);
    if time.is_some() {
        eprintln!("{grown}\n{text}");
    }
}
