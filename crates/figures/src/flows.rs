//! The workloads with a million flows: flow counting and address translation. Packets arrive in
//! random order, a new one in each pass, so that no flow is in a cache by chance.

use std::net::Ipv4Addr;
use std::time::Instant;

use wireloom_ir::Verdict;
use wireloom_machine::{Error, Result, Running, Source, find_offload};
use wireloom_net::wire::build::Frame as Built;
use wireloom_net::wire::ethernet::Ethernet;
use wireloom_net::wire::ipv4::Ipv4;
use wireloom_net::wire::udp::Udp;
use wireloom_net::{Frame, Packet};
use wireloom_offloads::kinds::random::splitmix64;

use super::Settings;
use super::workload::start_with;

/// The number of flows, and of packets in a pass.
const FLOWS: usize = 1_000_000;
/// Bytes of a 64-byte frame without its check sequence.
const BYTES: usize = 60;
/// External addresses of the address translator.
const ADDRESSES: u32 = 64;
/// Nanoseconds between packets at the rate of the goal, 5 Mpps.
const GAP_NS: u64 = 200;
/// Nanoseconds between packets when every tenth packet starts a timer: a million timers per second.
const TIMERS_GAP_NS: u64 = 100;

/// A machine, and packets of many flows.
pub struct Flows {
    machine: Running,
    /// The packets as arrival port and bytes. Each pass takes some of them.
    kinds: Vec<(u16, [u8; BYTES])>,
    /// The bytes of a pass, in order of arrival.
    bytes: Vec<u8>,
    draws: u64,
    now_ns: u64,
    /// Nanoseconds between packets.
    gap_ns: u64,
    /// Whether each packet has a different number after its UDP header.
    is_numbered: bool,
}

impl Flows {
    /// Runs `flowcount` on a machine, with one packet kind per flow.
    ///
    /// # Errors
    /// If a file is missing, or the machine does not start.
    pub fn counted(settings: &Settings, machine: &str) -> Result<Self> {
        let source = Source::of(settings.file("programs/flowcount.loom")?);
        let mut flows = Self::new(machine, &source, "")?;
        flows.kinds = (0..FLOWS as u64).map(|flow| (0, outward(flow))).collect();
        flows.begin(&mut |_, _| ())?;
        Ok(flows)
    }

    /// Runs `nat` on a machine, with one packet kind per flow and direction. Mappings expire at full
    /// seconds.
    ///
    /// # Errors
    /// As [`Flows::counted`].
    pub fn translated(settings: &Settings, machine: &str) -> Result<Self> {
        let mut source = Source::of(settings.file("programs/nat.loom")?);
        let set = |name: &str, value: u32| (name.to_owned(), value.to_string());
        source.set = vec![
            set("MAPPINGS", 1 << 20),
            set("POOL_IN_USE", ADDRESSES),
            set("AGE_TICK", 1_000_000_000),
        ];
        let mut tables = "table ports\n0 side=1 peer=1\n1 side=2 peer=0\ntable pool\n".to_owned();
        for address in 0..ADDRESSES {
            tables += &format!("{address} = 198.51.100.{address}\n");
        }
        let mut flows = Self::new(machine, &source, &tables)?;
        flows.kinds = (0..FLOWS as u64).map(|flow| (0, outward(flow))).collect();
        let mut replies = vec![(1, [0; BYTES]); FLOWS];
        flows.begin(&mut |sequence, sent| {
            let address = |at: usize| {
                Ipv4Addr::from(<[u8; 4]>::try_from(&sent[at..at + 4]).expect("four bytes"))
            };
            let port = |at: usize| u16::from_be_bytes([sent[at], sent[at + 1]]);
            replies[sequence as usize].1 = frame((address(30), port(36)), (address(26), port(34)));
        })?;
        flows.kinds.append(&mut replies);
        Ok(flows)
    }

    /// Runs `firewall` on a machine, with one packet kind per flow and direction. All flows live.
    ///
    /// # Errors
    /// As [`Flows::counted`].
    pub fn filtered(settings: &Settings, machine: &str) -> Result<Self> {
        let mut source = Source::of(settings.file("programs/firewall.loom")?);
        source.set = vec![("FLOWS".to_owned(), (1 << 20).to_string())];
        let tables = "table ports\n0 side=INSIDE peer=1\n1 side=OUTSIDE peer=0\n\
                      table inside\n10.0.0.0/8 = true\n";
        let mut flows = Self::new(machine, &source, tables)?;
        flows.kinds = (0..FLOWS as u64).map(|flow| (0, outward(flow))).collect();
        flows.begin(&mut |_, _| ())?;
        let reply = |flow| (1, frame(ends(flow).1, ends(flow).0));
        flows.kinds = (0..FLOWS as u64).map(reply).collect();
        flows.begin(&mut |_, _| ())?;
        flows.kinds.extend((0..FLOWS as u64).map(|flow| (0, outward(flow))));
        Ok(flows)
    }

    /// Runs the engine of bench/native/timers.loom, with one packet kind per flow. Each packet has a
    /// number of its own; one in ten lets a timer run for a second, if `with_timers`.
    ///
    /// # Errors
    /// As [`Flows::counted`].
    pub fn timed(settings: &Settings, machine: &str, with_timers: bool) -> Result<Self> {
        let mut source = Source::of(settings.file("bench/native/timers.loom")?);
        source.set = vec![("WITH_TIMERS".to_owned(), with_timers.to_string())];
        let mut flows = Self::new(machine, &source, "")?;
        flows.kinds = (0..FLOWS as u64).map(|flow| (0, outward(flow))).collect();
        flows.gap_ns = TIMERS_GAP_NS;
        flows.is_numbered = true;
        flows.begin(&mut |_, _| ())?;
        // After a second, as many timers end as begin.
        for _ in 0..2 + 1_000_000_000 / (TIMERS_GAP_NS * FLOWS as u64) {
            flows.mpps()?;
        }
        Ok(flows)
    }

    /// Returns the packets of the first counter of an offload.
    ///
    /// # Errors
    /// If there is no such offload.
    pub fn counted_by(&self, offload: &str) -> Result<u64> {
        let (_, instance) = find_offload(self.machine.machine.store(), offload)?;
        Ok(instance.rows().first().map_or(0, |row| row.fields[0].1.low_u64()))
    }

    fn new(machine: &str, source: &Source, tables: &str) -> Result<Self> {
        Ok(Self {
            machine: start_with(machine, source, tables)?,
            kinds: Vec::new(),
            bytes: vec![0; FLOWS * BYTES],
            draws: 0,
            now_ns: 0,
            gap_ns: GAP_NS,
            is_numbered: false,
        })
    }

    /// Sends one packet of each kind, and passes each output to `show`.
    fn begin(&mut self, show: &mut dyn FnMut(u64, &[u8])) -> Result {
        let mut sent = 0;
        let packet = |(ingress, bytes): &(u16, [u8; BYTES])| Packet {
            ingress: *ingress,
            arrival_ns: 0,
            bytes: bytes.to_vec(),
        };
        let packets: Vec<Packet> = self.kinds.iter().map(packet).collect();
        self.machine.execute(&packets, &mut |output| {
            if matches!(output.verdict, Verdict::Sent { .. }) {
                sent += 1;
                show(output.sequence, output.bytes);
            }
        })?;
        if sent != packets.len() {
            return Err(Error::new(format!("only {sent} of {} packets are sent", packets.len())));
        }
        Ok(())
    }

    /// Runs one pass over packets of all flows and returns the rate in million packets per second.
    ///
    /// # Errors
    /// If the machine fails or does not send a packet.
    pub fn mpps(&mut self) -> Result<f64> {
        let mut frames = Vec::with_capacity(FLOWS);
        for bytes in self.bytes.chunks_exact_mut(BYTES) {
            let draw = splitmix64(2, self.draws);
            let (ingress, kind) = &self.kinds[draw as usize % self.kinds.len()];
            bytes.copy_from_slice(kind);
            if self.is_numbered {
                bytes[42..46].copy_from_slice(&(self.draws as u32).to_be_bytes());
            }
            (self.draws, self.now_ns) = (self.draws + 1, self.now_ns + self.gap_ns);
            frames.push(Frame { ingress: *ingress, arrival_ns: self.now_ns, bytes });
        }
        let mut sent = 0;
        let begin = Instant::now();
        self.machine.offer(&frames, &mut |output| {
            sent += usize::from(matches!(output.verdict, Verdict::Sent { .. }));
        })?;
        let seconds = begin.elapsed().as_secs_f64();
        if sent != FLOWS {
            return Err(Error::new(format!("only {sent} of {FLOWS} packets are sent")));
        }
        Ok(FLOWS as f64 / seconds / 1e6)
    }
}

/// Returns a packet of a flow from an inside host.
fn outward(flow: u64) -> [u8; BYTES] {
    let (from, to) = ends(flow);
    frame(from, to)
}

/// Returns the inside and the outside end of a flow.
fn ends(flow: u64) -> ((Ipv4Addr, u16), (Ipv4Addr, u16)) {
    let draw = splitmix64(1, flow);
    // No two flows have the same source: the host is one of 2^16, and the port is in one of 2^4
    // groups.
    let host = Ipv4Addr::from(10 << 24 | (flow as u32 & 0xffff));
    let port = 1024 + (flow >> 16) as u16 * 4000 + (draw % 4000) as u16;
    let server = Ipv4Addr::from(192 << 24 | (draw >> 40) as u32 & 0xff_ffff);
    ((host, port), (server, 443))
}

fn frame(from: (Ipv4Addr, u16), to: (Ipv4Addr, u16)) -> [u8; BYTES] {
    let ip = Ipv4 { src: from.0, dst: to.0, ..Ipv4::default() };
    let udp = Udp { src_port: from.1, dst_port: to.1, ..Udp::default() };
    let bytes =
        Built::new().ethernet(Ethernet::default()).ipv4(ip).udp(udp).payload(&[0; 18]).bytes();
    bytes.try_into().expect("Ethernet, IPv4, UDP and 18 bytes are 60")
}
