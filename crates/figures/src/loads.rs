//! Workloads of engines that make packets of their own or search them: SYN cookies, fragmentation,
//! the load balancer, and patterns. Packets come in random order and lie in memory one after
//! another, as in the buffers of a port.

use std::fmt::Write as _;
use std::net::Ipv4Addr;
use std::time::Instant;

use wireloom_ir::Verdict;
use wireloom_machine::{Error, Result, Running, Source};
use wireloom_net::wire::build::Frame as Built;
use wireloom_net::wire::ethernet::Ethernet;
use wireloom_net::wire::ipv4::Ipv4;
use wireloom_net::wire::tcp::{ACK, SYN, Tcp};
use wireloom_net::wire::udp::Udp;
use wireloom_net::{Frame, Packet};
use wireloom_offloads::kinds::random::splitmix64;

use super::Settings;
use super::workload::start_with;

/// The number of clients.
const CLIENTS: u64 = 1_000_000;
/// The number of long packets: more memory than caches have.
const LONG: u64 = 50_000;
/// Nanoseconds between packets.
const GAP_NS: u64 = 100;

/// A machine, and the packets that it gets.
pub struct Load {
    machine: Running,
    packets: Vec<Packet>,
    /// The bytes of a pass, in order of arrival.
    bytes: Vec<u8>,
    /// The outputs for each packet.
    outputs: usize,
    draws: u64,
    now_ns: u64,
}

impl Load {
    /// SYN segments of a million clients, each answered with a cookie.
    ///
    /// # Errors
    /// If a file is missing, or the machine does not start.
    pub fn flood(settings: &Settings, machine: &str) -> Result<Self> {
        let source = Source::of(settings.file("programs/syncookies.loom")?);
        let tables = "table cookies\n0 = 0x000102030405060708090a0b0c0d0e0f\n";
        let segment = |client| tcp(client, Ipv4Addr::new(192, 0, 2, 1), SYN, &[]);
        let packets = (0..CLIENTS).map(segment).collect();
        Self::new(machine, &source, tables, packets, 1)
    }

    /// IPv4 packets of 2,000 bytes, each sent in two pieces.
    ///
    /// # Errors
    /// As [`Load::flood`].
    pub fn fragmented(settings: &Settings, machine: &str) -> Result<Self> {
        let source = Source::of(settings.file("programs/fragment.loom")?);
        let packet = |number: u64| {
            let ip = Ipv4 { src: client(number), id: number as u16, ..Ipv4::default() };
            let built = Built::new().ethernet(Ethernet::default()).ipv4(ip);
            arriving(built.udp(Udp::default()).payload(&[7; 1972]).bytes())
        };
        let packets = (0..LONG).map(packet).collect();
        Self::new(machine, &source, "table mtus\n1 = 1500\n", packets, 2)
    }

    /// Segments of a million connections to a service with three servers. The balancer has recorded
    /// the server of each, which it forgets at full seconds.
    ///
    /// # Errors
    /// As [`Load::flood`].
    pub fn balanced(settings: &Settings, machine: &str) -> Result<Self> {
        let mut source = Source::of(settings.file("programs/balancer.loom")?);
        let set = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        source.set = vec![set("LIMIT_FLOWS", "false"), set("AGE_TICK", "1_000_000_000")];
        let mut tables = "table ports\n0 mac=02:00:00:00:00:01\n\
                          table services\naddress=::ffff:198.51.100.10 protocol=6 port=80 -> number=0\n\
                          table servers\n"
            .to_owned();
        for server in 1..=3 {
            let _ = writeln!(tables, "{server} state=UP mode=DIRECT next_hop={server}");
        }
        tables += "table next_hops\n";
        for server in 1..=3 {
            let _ = writeln!(
                tables,
                "{server} port={server} dst=02:00:00:00:01:{server:02x} src=02:00:00:00:01:01 mtu=1500"
            );
        }
        tables += "table places\n";
        for place in 0..65_537 {
            let _ = writeln!(tables, "{place} = {}", 1 + splitmix64(4, place) % 3);
        }
        let segment = |client| tcp(client, Ipv4Addr::new(198, 51, 100, 10), ACK, &[0; 6]);
        let packets = (0..CLIENTS).map(segment).collect();
        Self::new(machine, &source, &tables, packets, 1)
    }

    /// Segments with 256 bytes of text, searched for 100 patterns of 8 bytes. The text is made of
    /// the patterns' beginnings; one segment in eight has a whole one at its end.
    ///
    /// # Errors
    /// As [`Load::flood`].
    pub fn searched(settings: &Settings, machine: &str) -> Result<Self> {
        let source = Source::of(settings.file("programs/url.loom")?);
        let pattern = |number: u64| -> Vec<u8> {
            let letter = |at| b'a' + (splitmix64(5, 8 * number + at) % 6) as u8;
            (0..8).map(letter).collect()
        };
        let mut tables = "table patterns\n".to_owned();
        for number in 0..100 {
            let text = String::from_utf8(pattern(number)).expect("letters");
            let _ = writeln!(tables, "\"{text}\" = {}", 1 + number);
        }
        let packet = |number: u64| {
            let mut text = Vec::new();
            while text.len() < 256 {
                let draw = splitmix64(6, 64 * number + text.len() as u64);
                text.extend_from_slice(&pattern(draw % 100)[..4 + (draw >> 32) as usize % 4]);
            }
            text.truncate(256);
            if number.is_multiple_of(8) {
                text[248..].copy_from_slice(&pattern(number / 8 % 100));
            }
            tcp(number, Ipv4Addr::new(192, 0, 2, 1), ACK, &text)
        };
        let packets = (0..LONG).map(packet).collect();
        Self::new(machine, &source, &tables, packets, 1)
    }

    fn new(
        machine: &str,
        source: &Source,
        tables: &str,
        packets: Vec<Packet>,
        outputs: usize,
    ) -> Result<Self> {
        let machine = start_with(machine, source, tables)?;
        let bytes = Vec::new();
        let mut load = Self { machine, packets, bytes, outputs, draws: 0, now_ns: 0 };
        // Each packet once, so that what flows leave behind is there.
        let all = (0..load.packets.len()).collect();
        load.pass(all)?;
        Ok(load)
    }

    /// Runs one pass over the packets, drawn at random, and returns the rate in million packets per
    /// second.
    ///
    /// # Errors
    /// If the machine fails, or does not send what it should.
    pub fn mpps(&mut self) -> Result<f64> {
        let count = self.packets.len();
        let drawn = (0..count as u64).map(|at| splitmix64(2, self.draws + at) as usize % count);
        let drawn = drawn.collect();
        self.draws += count as u64;
        self.pass(drawn)
    }

    fn pass(&mut self, order: Vec<usize>) -> Result<f64> {
        self.bytes.clear();
        for index in &order {
            self.bytes.extend_from_slice(&self.packets[*index].bytes);
        }
        let mut frames = Vec::with_capacity(order.len());
        let mut rest = self.bytes.as_slice();
        for index in order {
            let packet = &self.packets[index];
            let (bytes, after) = rest.split_at(packet.bytes.len());
            self.now_ns += GAP_NS;
            frames.push(Frame { ingress: packet.ingress, arrival_ns: self.now_ns, bytes });
            rest = after;
        }
        let mut sent = 0;
        let begin = Instant::now();
        self.machine.offer(&frames, &mut |output| {
            sent += usize::from(matches!(output.verdict, Verdict::Sent { .. }));
        })?;
        let seconds = begin.elapsed().as_secs_f64();
        let expected = frames.len() * self.outputs;
        if sent != expected {
            return Err(Error::new(format!("{sent} packets are sent instead of {expected}")));
        }
        Ok(frames.len() as f64 / seconds / 1e6)
    }
}

/// Returns an address of a client. No two clients have the same address and port.
fn client(number: u64) -> Ipv4Addr {
    Ipv4Addr::from(10 << 24 | (number as u32 & 0xffff))
}

/// Returns a segment of a client.
fn tcp(number: u64, dst: Ipv4Addr, flags: u8, payload: &[u8]) -> Packet {
    let ip = Ipv4 { src: client(number), dst, ..Ipv4::default() };
    let src_port = 1024 + (number >> 16) as u16 * 4000 + (splitmix64(1, number) % 4000) as u16;
    let sequence = splitmix64(3, number) as u32;
    let tcp = Tcp { src_port, sequence, flags, ..Tcp::default() };
    arriving(Built::new().ethernet(Ethernet::default()).ipv4(ip).tcp(tcp).payload(payload).bytes())
}

fn arriving(bytes: Vec<u8>) -> Packet {
    Packet { ingress: 0, arrival_ns: 0, bytes }
}
