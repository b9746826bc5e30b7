//! Ports through AF_XDP sockets. A program in the driver hands over every frame, in memory that the
//! kernel and the process share (Documentation/networking/af_xdp.rst of Linux).

use std::cell::RefCell;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::rc::Rc;

use wireloom_machine::Result;
use wireloom_net::Frame;
use xdp::nic::NicIndex;
use xdp::slab::{HeapSlab, Slab};
use xdp::socket::{XdpSocket, XdpSocketBuilder};
use xdp::umem::UmemCfgBuilder;
use xdp::{CompletionRing, FillRing, Packet, RingConfigBuilder, RxRing, TxRing, Umem};

use super::{Exchange, Gate, Port, Receive, Sent, Sides, Spread, Transmit, packet};
use crate::bpf::{Hook, Instruction, Sockets, attach, op};
use crate::removal::unless_removed;
use crate::segment::complete_if_partial;
use crate::system::{check, failed, set};

/// Frames received from a queue at once.
const BATCH: usize = 64;
/// Entries of a ring.
const RING: u32 = 2048;
/// Frames of 4,096 bytes that a queue has. A ring's worth of them can wait to be received, and as
/// many to be sent.
const FRAMES: u32 = 2 * RING;
/// Frames that the kernel sends in one call in copy mode (`XDP_MAX_TX_SKB_BUDGET`, Linux 6.17;
/// before, 32).
const SEND_BUDGET: u32 = 128;
const XDP_MAX_TX_SKB_BUDGET: libc::c_int = 9;
const OLD_SEND_BUDGET: usize = 32;

/// Returns the most memory of the sides of `cores` cores, in bytes: the frames, which are allocated
/// at the start, and the backlog in the packet socket of each core without a queue.
pub fn memory(index: u32, cores: usize) -> u64 {
    /// Bytes of the descriptors of the four rings, and of their headers.
    const RINGS: u64 = RING as u64 * (2 * 8 + 2 * 16) + 4 * 4096;
    let queues = u64::from(queues(index));
    let without = (cores as u64).saturating_sub(queues);
    queues * (u64::from(FRAMES) * 4096 + RINGS) + without * packet::SENDER_MEMORY
}

fn queues(index: u32) -> u32 {
    NicIndex::new(index).queue_counts().map_or(1, |queues| queues.rx_count().max(1))
}

/// Opens an interface. The cores share its queues. Each core sends by the first of its queues, or
/// by a packet socket if it has none.
///
/// # Errors
/// If the driver has no XDP or none at this MTU, if the interface has another program, or if the
/// process lacks the rights.
pub fn open(name: &str, index: u32, spread: Spread) -> Result<Port> {
    let problem = |what: &str, error: io::Error| failed(&format!("port {name}: {what}"), &error);
    let count = queues(index);
    let map = Sockets::new(count).map_err(|error| problem("a map of AF_XDP sockets", error))?;
    let mut cores: Vec<(Vec<Queue>, Option<Transmitter>)> = Vec::new();
    let mut waiting = Vec::new();
    cores.resize_with(spread.cores, Default::default);
    for number in 0..count {
        let (queues, sending) = &mut cores[spread.core_of(number as usize)];
        let opened = Queue::open(index, number, sending.is_none());
        let (queue, sender) = opened.map_err(|error| problem("an AF_XDP socket", error))?;
        let socket = another(&queue.socket).map_err(|error| problem("an AF_XDP socket", error))?;
        waiting.push((number, socket));
        queues.push(queue);
        *sending = sending.take().or(sender);
    }
    let mut queues = cores.iter().flat_map(|(queues, _)| queues);
    let is_copied = queues.any(|queue| !is_zero_copy(&queue.socket));
    let program = attach(&program(&map), Hook::Driver, &format!("port {name}"), index)?;
    let sides = cores.into_iter().map(|(queues, sending)| {
        let transmitter: Box<dyn Transmit> = match sending {
            Some(transmitter) => Box::new(transmitter),
            None => packet::sender(name, index)?,
        };
        let receiver = (!queues.is_empty()).then(|| Receiver {
            name: name.to_owned(),
            index,
            number: spread.number,
            descriptors: queues.iter().map(|queue| queue.socket.as_raw_fd()).collect(),
            queues,
            is_copied,
        });
        let receiver = receiver.map(|receiver| Box::new(receiver) as Box<dyn Receive>);
        Ok(Sides { receiver, transmitter })
    });
    Ok(Port {
        name: name.to_owned(),
        index: Some(index),
        exchange: if is_copied { Exchange::XdpCopy } else { Exchange::XdpZeroCopy },
        sides: sides.collect::<Result<_>>()?,
        program: Some(program),
        gate: Some(Gate::Queues { map, waiting }),
    })
}

/// Duplicates the descriptor of a socket.
fn another(socket: &XdpSocket) -> io::Result<OwnedFd> {
    // SAFETY: the socket is open as long as it is borrowed.
    unsafe { BorrowedFd::borrow_raw(socket.as_raw_fd()) }.try_clone_to_owned()
}

/// Builds the program that hands the frames of each queue to its socket. Frames of a queue without
/// a socket in the map pass on to the kernel: before forwarding begins, and if the queue was added
/// later.
fn program(sockets: &Sockets) -> Vec<Instruction> {
    /// Offset of `rx_queue_index` in `struct xdp_md`.
    const QUEUE_OFFSET: i16 = 16;
    const XDP_PASS: i32 = 2;
    /// The helper `bpf_redirect_map(map, key, otherwise)`.
    const BPF_REDIRECT_MAP: i32 = 51;
    let [low, high] = sockets.load(1);
    vec![
        Instruction::new(op::LOAD, 2, 1, QUEUE_OFFSET, 0),
        low,
        high,
        Instruction::new(op::SET, 3, 0, 0, XDP_PASS),
        Instruction::new(op::CALL, 0, 0, 0, BPF_REDIRECT_MAP),
        Instruction::new(op::EXIT, 0, 0, 0, 0),
    ]
}

/// A queue's memory. Frames are free if neither the kernel nor this process uses them. The rings
/// lie before the memory, the socket after it. The last owner unmaps it.
type Memory = Rc<RefCell<Umem>>;

/// The receiving side of a queue.
struct Queue {
    fill: FillRing,
    rx: RxRing,
    arrived: HeapSlab,
    held: Vec<Packet>,
    socket: Rc<XdpSocket>,
    memory: Memory,
}

impl Queue {
    fn open(index: u32, number: u32, sends: bool) -> io::Result<(Self, Option<Transmitter>)> {
        let other = |error: &dyn std::fmt::Debug| io::Error::other(format!("{error:?}"));
        let memory = UmemCfgBuilder { frame_count: FRAMES, ..Default::default() };
        let mut memory = Umem::map(memory.build().map_err(|error| other(&error))?)?;
        let mut socket = XdpSocketBuilder::new().map_err(cause)?;
        let rings = RingConfigBuilder {
            rx_count: RING,
            tx_count: if sends { RING } else { 0 },
            fill_count: RING,
            completion_count: RING,
        };
        let rings = rings.build().map_err(|error| other(&error))?;
        let (rings, flags) = socket.build_rings(&memory, rings).map_err(cause)?;
        let mut fill = rings.fill_ring;
        // SAFETY: the memory is unmapped after the socket is closed: `Queue` and `Transmitter`
        // hold both, and drop the socket first.
        unsafe { fill.enqueue(&mut memory, RING as usize) };
        let socket = Rc::new(socket.bind(NicIndex::new(index), number, flags).map_err(cause)?);
        let memory = Rc::new(RefCell::new(memory));
        let sender = rings.tx_ring.map(|tx| Transmitter {
            tx,
            completion: rings.completion_ring,
            taken: HeapSlab::with_capacity(RING as usize),
            bytes: 0,
            is_down: false,
            budget: match set(&*socket, libc::SOL_XDP, XDP_MAX_TX_SKB_BUDGET, &SEND_BUDGET) {
                Ok(()) => SEND_BUDGET as usize,
                Err(_) => OLD_SEND_BUDGET,
            },
            sent: Sent::default(),
            socket: Rc::clone(&socket),
            memory: Rc::clone(&memory),
        });
        let rx = rings.rx_ring.expect("rings that receive were asked for");
        let arrived = HeapSlab::with_capacity(BATCH);
        let held = Vec::with_capacity(BATCH);
        Ok((Self { fill, rx, arrived, held, socket, memory }, sender))
    }

    /// Returns the last batch to the kernel and takes the next one.
    fn receive(&mut self) {
        let memory = &mut *self.memory.borrow_mut();
        let count = self.held.len();
        self.held.drain(..).for_each(|packet| memory.free_packet(packet));
        // SAFETY: the memory is unmapped after the socket is closed, and packets are freed or
        // forgotten before.
        unsafe {
            self.fill.enqueue(memory, count);
            self.rx.recv(memory, &mut self.arrived);
        }
        self.held.extend(std::iter::from_fn(|| self.arrived.pop_back()));
    }
}

/// Returns the kernel's error inside an error of the library.
fn cause(error: xdp::socket::SocketError) -> io::Error {
    use xdp::socket::SocketError;
    match error {
        SocketError::SocketCreation(error)
        | SocketError::Bind(error)
        | SocketError::SetSockOpt { inner: error, .. }
        | SocketError::GetSockOpt { inner: error, .. } => error,
        SocketError::RingMap { .. } => io::Error::other(format!("{error:?}")),
    }
}

fn is_zero_copy(socket: &XdpSocket) -> bool {
    let options: Option<u32> = option(socket, libc::SOL_XDP, libc::XDP_OPTIONS);
    options.is_some_and(|options| options & libc::XDP_OPTIONS_ZEROCOPY != 0)
}

/// Reads the value of a socket option.
fn option(socket: &XdpSocket, level: libc::c_int, option: libc::c_int) -> Option<u32> {
    let mut value = 0u32;
    let mut length = size_of::<u32>() as libc::socklen_t;
    // SAFETY: the buffer has the length given.
    let read = unsafe {
        let value = (&raw mut value).cast();
        libc::getsockopt(socket.as_raw_fd(), level, option, value, &raw mut length)
    };
    check(read).ok().map(|_| value)
}

struct Receiver {
    name: String,
    index: u32,
    number: u16,
    queues: Vec<Queue>,
    descriptors: Vec<RawFd>,
    /// Whether the kernel copies. Then the other end may be on this computer too, and may leave
    /// checksums to hardware that does not exist.
    is_copied: bool,
}

impl Receive for Receiver {
    fn descriptors(&self) -> &[RawFd] {
        &self.descriptors
    }

    fn receive(&mut self, now_ns: u64) -> Result<Vec<Frame<'_>>> {
        self.queues.iter_mut().for_each(Queue::receive);
        if self.queues.iter().all(|queue| queue.held.is_empty()) {
            for queue in &self.queues {
                match option(&queue.socket, libc::SOL_SOCKET, libc::SO_ERROR) {
                    None | Some(0) => {}
                    Some(error) => {
                        unless_removed(&self.name, self.index)?;
                        let error = io::Error::from_raw_os_error(error as i32);
                        return Err(failed(&format!("port {}: receiving", self.name), &error));
                    }
                }
            }
        }
        let packets = self.queues.iter_mut().flat_map(|queue| &mut queue.held);
        let frames = packets.map(|packet| {
            if self.is_copied {
                complete_if_partial(packet);
            }
            Frame { ingress: self.number, arrival_ns: now_ns, bytes: packet }
        });
        Ok(frames.collect())
    }

    fn lost(&mut self) -> u64 {
        let statistics = self.queues.iter().filter_map(|queue| queue.socket.statistics().ok());
        // Frames that find no free buffer count as dropped.
        statistics.map(|counted| counted.rx_dropped + counted.rx_ring_full).sum()
    }
}

struct Transmitter {
    tx: TxRing,
    completion: CompletionRing,
    /// Frames that wait for [`flush`](Transmit::flush), and their bytes.
    taken: HeapSlab,
    bytes: u64,
    /// Whether the interface was down when frames were last given to the kernel.
    is_down: bool,
    /// The number of frames that the kernel sends in one call.
    budget: usize,
    sent: Sent,
    socket: Rc<XdpSocket>,
    memory: Memory,
}

impl Transmit for Transmitter {
    fn take(&mut self, frame: [&[u8]; 2]) {
        // SAFETY: the packet goes to the kernel or back to the memory.
        let packet = unsafe { self.memory.borrow_mut().alloc() };
        let Some(mut packet) = packet else {
            self.sent.lost += 1;
            return;
        };
        let is_cut = frame.iter().any(|piece| packet.append(piece).is_err());
        if is_cut || self.taken.available() == 0 {
            self.memory.borrow_mut().free_packet(packet);
            self.sent.lost += 1;
            return;
        }
        self.bytes += packet.len() as u64;
        self.taken.push_front(packet);
    }

    fn flush(&mut self) {
        let waiting = self.taken.len();
        if waiting > 0 {
            // The ring of an interface that is down keeps its frames. They would leave when the
            // interface is up again, however late that is.
            self.is_down = self.is_down && matches!(self.call(), Err(libc::ENETDOWN));
            if !self.is_down {
                // SAFETY: the memory is unmapped after the socket is closed.
                let sent = unsafe { self.tx.send(&mut self.taken) };
                self.sent.packets += sent as u64;
            }
            let mut bytes = std::mem::take(&mut self.bytes);
            while let Some(packet) = self.taken.pop_back() {
                bytes -= packet.len() as u64;
                self.sent.lost += 1;
                self.memory.borrow_mut().free_packet(packet);
            }
            self.sent.bytes += bytes;
            if !self.is_down {
                self.kick(waiting);
            }
        }
        self.completion.dequeue(&mut self.memory.borrow_mut(), RING as usize);
    }

    fn sent(&self) -> Sent {
        self.sent
    }
}

impl Transmitter {
    /// Makes the kernel send. Frames that it does not take now, it takes with a later batch, or
    /// when it is polled.
    fn kick(&mut self, waiting: usize) {
        let mut calls = 0..waiting / self.budget;
        // The kernel cannot drop more frames than the ring holds.
        let mut drops = 0..RING;
        loop {
            match self.call() {
                // The budget is used up.
                Err(libc::EAGAIN) if calls.next().is_some() => {}
                // The kernel dropped a frame (`NET_XMIT_DROP`): there is no carrier, or the queue
                // of the other end is full. Later frames still wait.
                Err(libc::EBUSY) if drops.next().is_some() => {
                    self.sent.packets -= 1;
                    self.sent.lost += 1;
                }
                Err(libc::ENETDOWN) => {
                    self.is_down = true;
                    break;
                }
                _ => break,
            }
        }
    }

    /// Makes the kernel send once.
    fn call(&self) -> Result<(), libc::c_int> {
        // SAFETY: sends nothing of ours besides the contents of the ring.
        let sent = unsafe {
            let (socket, flags) = (self.socket.as_raw_fd(), libc::MSG_DONTWAIT);
            libc::sendto(socket, std::ptr::null(), 0, flags, std::ptr::null(), 0)
        };
        match sent {
            0.. => Ok(()),
            _ => Err(io::Error::last_os_error().raw_os_error().unwrap_or_default()),
        }
    }
}
