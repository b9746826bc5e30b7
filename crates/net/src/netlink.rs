//! Netlink requests to the kernel (netlink(7)), in this thread's network namespace.

mod next_hops;

use std::convert::Infallible;
use std::io;

use netlink_packet_core::{
    NLA_HEADER_SIZE, NLM_F_DUMP, NLM_F_DUMP_INTR, NLM_F_REQUEST, NetlinkDeserializable,
    NetlinkHeader, NetlinkMessage, NetlinkPayload, NetlinkSerializable, NlaBuffer, NlasIterator,
};
use netlink_sys::{Socket, SocketAddr, protocols::NETLINK_ROUTE};

pub use next_hops::{GONE as NEXT_HOP_GONE, Leads, NEW as NEW_NEXT_HOP, NextHop, next_hops};

/// How often a dump is repeated if the kernel's data changed during it.
const ATTEMPTS: usize = 10;

/// Sends a request to rtnetlink(7) and returns all replies.
///
/// # Errors
/// If the kernel refuses, or if its data change during every attempt.
pub fn dump<M>(request: &M) -> io::Result<Vec<M>>
where
    M: NetlinkSerializable + NetlinkDeserializable + Clone,
{
    for _ in 0..ATTEMPTS {
        if let Some(messages) = dump_once(request)? {
            return Ok(messages);
        }
    }
    Err(io::Error::other("the kernel's tables change too fast to be read; try again"))
}

/// As [`dump`]. Returns `None` if the kernel's data changed during the dump.
fn dump_once<M>(request: &M) -> io::Result<Option<Vec<M>>>
where
    M: NetlinkSerializable + NetlinkDeserializable + Clone,
{
    let mut messages = Vec::new();
    let is_whole = visit_dump(request, &mut |message| messages.push(message))?;
    Ok(is_whole.then_some(messages))
}

/// Sends a request to rtnetlink(7) and visits the replies one by one. Returns false if the kernel's
/// data changed meanwhile: some replies may then be missing.
///
/// # Errors
/// If the kernel refuses.
pub fn visit_dump<M>(request: &M, visit: &mut dyn FnMut(M)) -> io::Result<bool>
where
    M: NetlinkSerializable + NetlinkDeserializable + Clone,
{
    let socket = connect(NETLINK_ROUTE)?;
    send(&socket, request.clone(), NLM_F_DUMP)?;
    let (mut is_done, mut is_torn) = (false, false);
    while !is_done {
        let (received, _) = socket.recv_from_full()?;
        for_each_message(&received, |message| {
            is_torn |= message.header.flags & NLM_F_DUMP_INTR != 0;
            match message.payload {
                NetlinkPayload::Done(_) => is_done = true,
                NetlinkPayload::Error(error) if error.code.is_some() => return Err(error.to_io()),
                NetlinkPayload::InnerMessage(inner) => visit(inner),
                _ => {}
            }
            Ok(!is_done)
        })?;
    }
    Ok(!is_torn)
}

/// Opens a socket to a netlink family (`NETLINK_...`).
///
/// # Errors
/// If the kernel does not have the family.
pub fn connect(protocol: isize) -> io::Result<Socket> {
    let mut socket = Socket::new(protocol)?;
    socket.bind_auto()?;
    socket.connect(&SocketAddr::new(0, 0))?;
    Ok(socket)
}

/// Sends a request with these flags (`NLM_F_...`) in addition to `NLM_F_REQUEST`.
///
/// # Errors
/// If the kernel does not accept it.
pub fn send<M: NetlinkSerializable>(socket: &Socket, request: M, flags: u16) -> io::Result<()> {
    let payload = NetlinkPayload::InnerMessage(request);
    let mut packet = NetlinkMessage::new(NetlinkHeader::default(), payload);
    packet.header.flags = flags | NLM_F_REQUEST;
    packet.header.sequence_number = 1;
    packet.finalize();
    let mut bytes = vec![0; packet.buffer_len()];
    packet.serialize(&mut bytes);
    socket.send(&bytes, 0).map(|_| ())
}

/// Visits the messages of a datagram until the visitor returns false.
///
/// # Errors
/// The errors of the visitor, and if a message is malformed.
pub fn for_each_message<M: NetlinkDeserializable>(
    mut rest: &[u8],
    mut visit: impl FnMut(NetlinkMessage<M>) -> io::Result<bool>,
) -> io::Result<()> {
    while !rest.is_empty() {
        let message = NetlinkMessage::<M>::deserialize(rest)
            .map_err(|error| io::Error::other(format!("the kernel's reply: {error}")))?;
        // Messages are aligned to four bytes (netlink(7)).
        let length = (message.header.length as usize).next_multiple_of(4).max(4);
        if !visit(message)? {
            break;
        }
        rest = rest.get(length..).unwrap_or(&[]);
    }
    Ok(())
}

/// A netlink message whose payload is not decoded.
#[derive(Clone, Debug)]
pub struct RawMessage {
    /// The message type. Each netlink family has its own numbers.
    pub number: u16,
    /// The bytes after the netlink header.
    pub payload: Vec<u8>,
}

impl NetlinkSerializable for RawMessage {
    fn message_type(&self) -> u16 {
        self.number
    }

    fn buffer_len(&self) -> usize {
        self.payload.len()
    }

    fn serialize(&self, buffer: &mut [u8]) {
        buffer.copy_from_slice(&self.payload);
    }
}

impl NetlinkDeserializable for RawMessage {
    type Error = Infallible;

    fn deserialize(header: &NetlinkHeader, payload: &[u8]) -> Result<Self, Infallible> {
        Ok(Self { number: header.message_type, payload: payload.to_vec() })
    }
}

/// The type of an attribute, without flags, and its value.
pub type Attribute<'a> = (u16, &'a [u8]);

/// Parses a list of attributes.
///
/// # Errors
/// If an attribute is longer than the list.
pub fn attributes(list: &[u8]) -> io::Result<Vec<Attribute<'_>>> {
    NlasIterator::new(list)
        .map(|attribute| {
            let attribute: NlaBuffer<&[u8]> =
                attribute.map_err(|_| io::Error::other("an attribute that cannot be read"))?;
            let value = NLA_HEADER_SIZE..attribute.length().into();
            Ok((attribute.kind(), &attribute.into_inner()[value]))
        })
        .collect()
}
