//! Ports through packet sockets (packet(7)), which every interface has. A program at the ingress
//! drops the kernel's own copy of each frame.
//!
//! recvmmsg(2) receives the frames, not a ring that is shared with the kernel. The kernel hands
//! over a block of TPACKET_V3 when it is full or when a timer of milliseconds expires
//! (Documentation/networking/packet_mmap.rst, `tp_retire_blk_tov`). A single packet would then wait
//! twenty times as long as a thread may take to wake up.

use std::io;
use std::mem::zeroed;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::ptr::null_mut;

use wireloom_machine::Result;
use wireloom_net::Frame;

use super::{Exchange, Gate, Port, Receive, Sent, Sides, Spread, Transmit};
use crate::bpf::{Switch, filter};
use crate::ingress::{accept_all_but_marked, drop_all_but_marked};
use crate::removal::unless_removed;
use crate::segment::{Finished, OffloadHeader, finish};
use crate::system::{check, failed, owned, set};

/// Messages that are received or sent by one system call.
const BATCH: usize = 64;
/// Bytes of space before each frame, for a VLAN tag that the kernel removed.
const TAG: usize = 4;
/// Bytes of space for one message: the largest packet with its link header. It is not a multiple of
/// 4,096, so that frames begin in different cache sets.
const STRIDE: usize = (64 << 10) + 192;
/// Bytes of received frames that the kernel buffers for one port.
const BUFFER: libc::c_int = 8 << 20;

/// The most memory of a core's receiving and sending sides, in bytes: a batch of the largest
/// packets as received, once more for their segments, and once more until they are sent. The latter
/// two are lists that grow by doubling.
pub const SENDER_MEMORY: u64 = 2 * (BATCH * STRIDE) as u64;
pub const MEMORY: u64 = (BATCH * STRIDE) as u64 + 2 * SENDER_MEMORY;

/// Space for the auxiliary data of a message, with the alignment of control messages.
type ControlSpace = [u64; 8];

/// Opens an interface. The kernel spreads the flows over the sockets of the cores.
///
/// # Errors
/// If the process lacks the rights, or the kernel lacks TCX.
pub fn open(name: &str, index: u32, spread: Spread) -> Result<Port> {
    let problem = |error: io::Error| failed(&format!("port {name}: a packet socket"), &error);
    let switch = Switch::new().map_err(problem)?;
    let sockets = receiving(index, spread.cores, &switch).map_err(problem)?;
    let sides = sockets.into_iter().map(|socket| {
        let receiver = Receiver::new(name, index, spread.number, socket);
        Ok(Sides { receiver: Some(Box::new(receiver)), transmitter: sender(name, index)? })
    });
    let sides = sides.collect::<Result<_>>()?;
    Ok(Port {
        name: name.to_owned(),
        index: Some(index),
        exchange: Exchange::Packet,
        program: Some(drop_all_but_marked(name, index, &switch)?),
        gate: Some(Gate::Switch(switch)),
        sides,
    })
}

/// Opens a sending side at an interface.
///
/// # Errors
/// If the process lacks the rights.
pub fn sender(name: &str, index: u32) -> Result<Box<dyn Transmit>> {
    Ok(Box::new(Transmitter::open(name, index)?))
}

/// Opens sockets that share the packets of an interface. The kernel distributes them by a hash of
/// addresses, protocol and ports, which is the same for both directions of a flow. It distributes
/// fragments, which do not all have ports, by their addresses.
fn receiving(index: u32, count: usize, switch: &Switch) -> io::Result<Vec<OwnedFd>> {
    let sockets: Vec<OwnedFd> = (0..count).map(|_| packet_socket()).collect::<io::Result<_>>()?;
    let program = accept_all_but_marked(switch);
    let mut group = Group::New;
    for socket in &sockets {
        prepare(socket)?;
        filter(socket, &program)?;
        bind(socket, index, libc::ETH_P_ALL as u16)?;
        if count > 1 {
            group.join(socket)?;
        }
    }
    Ok(sockets)
}

/// A group of sockets (`PACKET_FANOUT`).
enum Group {
    /// The first member takes a number that no other program uses.
    New,
    Number(u16),
}

/// The receiving side.
struct Receiver {
    name: String,
    index: u32,
    number: u16,
    socket: OwnedFd,
    descriptors: [RawFd; 1],
    space: Vec<u8>,
    headers: Vec<OffloadHeader>,
    control: Vec<ControlSpace>,
    /// Frames made from large packets of this batch.
    segments: Vec<u8>,
    places: Vec<Place>,
    /// Frames that the kernel could not buffer or describe, or that could not be finished.
    lost: u64,
}

/// Where a frame of the batch is.
enum Place {
    Space(usize, usize),
    Segment(usize, usize),
}

impl Receiver {
    fn new(name: &str, index: u32, number: u16, socket: OwnedFd) -> Self {
        Self {
            name: name.to_owned(),
            index,
            number,
            descriptors: [socket.as_raw_fd()],
            socket,
            space: vec![0; BATCH * STRIDE],
            headers: vec![OffloadHeader::default(); BATCH],
            control: vec![[0; 8]; BATCH],
            segments: Vec::new(),
            places: Vec::new(),
            lost: 0,
        }
    }
}

impl Receive for Receiver {
    fn descriptors(&self) -> &[RawFd] {
        &self.descriptors
    }

    fn receive(&mut self, now_ns: u64) -> Result<Vec<Frame<'_>>> {
        self.segments.clear();
        self.places.clear();
        // SAFETY: all zeros is a valid value of both.
        let mut parts: [[libc::iovec; 2]; BATCH] = unsafe { zeroed() };
        let mut messages: [libc::mmsghdr; BATCH] = unsafe { zeroed() };
        for (index, (message, part)) in messages.iter_mut().zip(&mut parts).enumerate() {
            let bytes = &mut self.space[index * STRIDE + TAG..(index + 1) * STRIDE];
            part[0].iov_base = (&raw mut self.headers[index]).cast();
            part[0].iov_len = size_of::<OffloadHeader>();
            part[1].iov_base = bytes.as_mut_ptr().cast();
            part[1].iov_len = bytes.len();
            message.msg_hdr.msg_iov = part.as_mut_ptr();
            message.msg_hdr.msg_iovlen = 2;
            message.msg_hdr.msg_control = (&raw mut self.control[index]).cast();
            message.msg_hdr.msg_controllen = size_of::<ControlSpace>();
        }
        // SAFETY: each message describes live buffers with their lengths.
        let received = check(unsafe {
            let socket = self.socket.as_raw_fd();
            let flags = libc::MSG_DONTWAIT;
            libc::recvmmsg(socket, messages.as_mut_ptr(), BATCH as u32, flags as _, null_mut())
        });
        let received = match received {
            Ok(received) => received as usize,
            Err(error) => {
                self.after(&error)?;
                0
            }
        };
        for (index, message) in messages[..received].iter().enumerate() {
            self.arrange(index, message);
        }
        let (number, space, segments) = (self.number, &self.space, &self.segments);
        let frames = self.places.iter().map(|place| Frame {
            ingress: number,
            arrival_ns: now_ns,
            bytes: match *place {
                Place::Space(from, to) => &space[from..to],
                Place::Segment(from, to) => &segments[from..to],
            },
        });
        Ok(frames.collect())
    }

    fn lost(&mut self) -> u64 {
        // SAFETY: all zeros is a valid value.
        let mut statistics: libc::tpacket_stats = unsafe { zeroed() };
        let mut length = size_of::<libc::tpacket_stats>() as libc::socklen_t;
        // SAFETY: the buffer has the length given. The kernel resets the numbers as it is read.
        let read = check(unsafe {
            libc::getsockopt(
                self.socket.as_raw_fd(),
                libc::SOL_PACKET,
                libc::PACKET_STATISTICS,
                (&raw mut statistics).cast(),
                &raw mut length,
            )
        });
        if read.is_ok() {
            self.lost += u64::from(statistics.tp_drops);
        }
        self.lost
    }
}

impl Receiver {
    /// Continues after an error of the socket, if possible.
    fn after(&mut self, error: &io::Error) -> Result {
        match error.raw_os_error() {
            Some(libc::EAGAIN | libc::EINTR | libc::ENOBUFS) => Ok(()),
            // `struct virtio_net_hdr` cannot describe the offloads of this packet.
            Some(libc::EINVAL) => {
                self.lost += 1;
                Ok(())
            }
            // The port went down. The socket works again when the port is up.
            Some(libc::ENETDOWN | libc::ENXIO | libc::ENODEV) => {
                unless_removed(&self.name, self.index)
            }
            _ => Err(failed(&format!("port {}: receiving", self.name), error)),
        }
    }

    /// Finishes a received message: restores the VLAN tag, completes checksums, segments large
    /// packets.
    fn arrange(&mut self, index: usize, message: &libc::mmsghdr) {
        let length = (message.msg_len as usize).saturating_sub(size_of::<OffloadHeader>());
        if message.msg_hdr.msg_flags & libc::MSG_TRUNC != 0 || length < 12 {
            self.lost += 1;
            return;
        }
        let mut from = index * STRIDE + TAG;
        let to = from + length;
        let mut header = self.headers[index];
        if let Some((protocol, control)) = removed_tag(&message.msg_hdr) {
            self.space.copy_within(from..from + 12, from - TAG);
            from -= TAG;
            self.space[from + 12..from + 14].copy_from_slice(&protocol.to_be_bytes());
            self.space[from + 14..from + 16].copy_from_slice(&control.to_be_bytes());
            header.checksum_start = header.checksum_start.saturating_add(TAG as u16);
        }
        match finish(&header, &mut self.space[from..to], &mut self.segments) {
            Finished::Whole => self.places.push(Place::Space(from, to)),
            Finished::Segments(segments) => {
                let place = |range: std::ops::Range<usize>| Place::Segment(range.start, range.end);
                self.places.extend(segments.into_iter().map(place));
            }
            Finished::Refused => self.lost += 1,
        }
    }
}

impl Group {
    /// Adds a bound socket to the group.
    fn join(&mut self, socket: &OwnedFd) -> io::Result<()> {
        // linux/if_packet.h. The sockets' own setting to ignore outgoing packets does not apply to
        // the group.
        const IGNORE_OUTGOING: u32 = 0x4000;
        const UNIQUE: u32 = 0x2000;
        let (number, flags) = match *self {
            Self::New => (0, UNIQUE | IGNORE_OUTGOING),
            Self::Number(number) => (number, IGNORE_OUTGOING),
        };
        let option = u32::from(number) | (libc::PACKET_FANOUT_HASH | flags) << 16;
        set(socket, libc::SOL_PACKET, libc::PACKET_FANOUT, &option)?;
        if let Self::New = self {
            let mut value = 0u32;
            let mut length = size_of::<u32>() as libc::socklen_t;
            // SAFETY: the buffer has the length given.
            check(unsafe {
                libc::getsockopt(
                    socket.as_raw_fd(),
                    libc::SOL_PACKET,
                    libc::PACKET_FANOUT,
                    (&raw mut value).cast(),
                    &raw mut length,
                )
            })?;
            *self = Self::Number(value as u16);
        }
        Ok(())
    }
}

fn packet_socket() -> io::Result<OwnedFd> {
    // Protocol 0 receives nothing until the socket is bound.
    // SAFETY: plain system call.
    owned(unsafe { libc::socket(libc::AF_PACKET, libc::SOCK_RAW | libc::SOCK_CLOEXEC, 0) })
}

/// Sets the options of a receiving socket.
fn prepare(socket: &OwnedFd) -> io::Result<()> {
    set(socket, libc::SOL_PACKET, libc::PACKET_IGNORE_OUTGOING, &1i32)?;
    set(socket, libc::SOL_PACKET, libc::PACKET_VNET_HDR, &1i32)?;
    set(socket, libc::SOL_PACKET, libc::PACKET_AUXDATA, &1i32)?;
    if set(socket, libc::SOL_SOCKET, libc::SO_RCVBUFFORCE, &BUFFER).is_err() {
        set(socket, libc::SOL_SOCKET, libc::SO_RCVBUF, &BUFFER)?;
    }
    Ok(())
}

fn bind(socket: &OwnedFd, index: u32, protocol: u16) -> io::Result<()> {
    // SAFETY: all zeros is a valid `sockaddr_ll`.
    let mut address: libc::sockaddr_ll = unsafe { zeroed() };
    address.sll_family = libc::AF_PACKET as u16;
    address.sll_protocol = protocol.to_be();
    address.sll_ifindex = index as i32;
    let length = size_of::<libc::sockaddr_ll>() as libc::socklen_t;
    // SAFETY: the address outlives the call and has the length given.
    check(unsafe { libc::bind(socket.as_raw_fd(), (&raw const address).cast(), length) })
        .map(|_| ())
}

/// Returns the protocol identifier and the control information of the VLAN tag that the kernel
/// removed from a received frame.
fn removed_tag(message: &libc::msghdr) -> Option<(u16, u16)> {
    // SAFETY: the kernel filled in the control messages; the macros walk them within
    // `msg_controllen`, and a message of this type carries a `tpacket_auxdata`.
    unsafe {
        let mut header = libc::CMSG_FIRSTHDR(message);
        while let Some(found) = header.as_ref() {
            if found.cmsg_level == libc::SOL_PACKET && found.cmsg_type == libc::PACKET_AUXDATA {
                let data = libc::CMSG_DATA(header).cast::<libc::tpacket_auxdata>().read_unaligned();
                let known = data.tp_status & libc::TP_STATUS_VLAN_TPID_VALID != 0;
                let protocol = if known { data.tp_vlan_tpid } else { 0x8100 };
                return (data.tp_status & libc::TP_STATUS_VLAN_VALID != 0)
                    .then_some((protocol, data.tp_vlan_tci));
            }
            header = libc::CMSG_NXTHDR(message, header);
        }
    }
    None
}

/// The sending side. Frames are kept until [`flush`](Transmit::flush).
struct Transmitter {
    socket: OwnedFd,
    bytes: Vec<u8>,
    /// The end of each frame in `bytes`.
    ends: Vec<usize>,
    sent: Sent,
}

impl Transmitter {
    /// Opens a sending side at an interface.
    fn open(name: &str, index: u32) -> Result<Self> {
        let problem = |error: io::Error| failed(&format!("port {name}: a packet socket"), &error);
        let socket = packet_socket().map_err(problem)?;
        set(&socket, libc::SOL_PACKET, libc::PACKET_QDISC_BYPASS, &1i32).map_err(problem)?;
        bind(&socket, index, 0).map_err(problem)?;
        let (bytes, ends) = (Vec::new(), Vec::new());
        Ok(Self { socket, bytes, ends, sent: Sent::default() })
    }
}

impl Transmit for Transmitter {
    fn take(&mut self, frame: [&[u8]; 2]) {
        frame.iter().for_each(|piece| self.bytes.extend_from_slice(piece));
        self.ends.push(self.bytes.len());
    }

    fn flush(&mut self) {
        let (mut first, mut from) = (0, 0);
        while first < self.ends.len() {
            let end = self.ends.len().min(first + BATCH);
            // SAFETY: all zeros is a valid value of both.
            let mut parts: [libc::iovec; BATCH] = unsafe { zeroed() };
            let mut messages: [libc::mmsghdr; BATCH] = unsafe { zeroed() };
            let mut start = from;
            for (index, &to) in self.ends[first..end].iter().enumerate() {
                parts[index].iov_base = self.bytes[start..to].as_mut_ptr().cast();
                parts[index].iov_len = to - start;
                messages[index].msg_hdr.msg_iov = &raw mut parts[index];
                messages[index].msg_hdr.msg_iovlen = 1;
                start = to;
            }
            // SAFETY: each message describes a live buffer with its length.
            let sent = unsafe {
                let (socket, count) = (self.socket.as_raw_fd(), (end - first) as u32);
                libc::sendmmsg(socket, messages.as_mut_ptr(), count, libc::MSG_DONTWAIT as _)
            };
            let sent = usize::try_from(sent).unwrap_or(0);
            let after = if sent == 0 { from } else { self.ends[first + sent - 1] };
            self.sent.packets += sent as u64;
            self.sent.bytes += (after - from) as u64;
            (first, from) = (first + sent, after);
            if sent == 0 {
                self.sent.lost += 1;
                from = self.ends[first];
                first += 1;
            }
        }
        self.bytes.clear();
        self.ends.clear();
    }

    fn sent(&self) -> Sent {
        self.sent
    }
}
