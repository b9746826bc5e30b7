//! Netlink requests (netlink(7)) to any subsystem of the kernel, and their replies.

use std::io;

use netlink_packet_core::{NLM_F_DUMP, NetlinkPayload};
use wireloom_net::netlink::{RawMessage, connect, for_each_message, send};

/// How many messages the kernel sends in reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ask {
    One,
    /// All objects (a dump). Objects that change during the dump may be missing.
    All,
}

/// Sends a request with message type `number` to a netlink family (`NETLINK_...`). Returns the
/// replies without their netlink headers.
///
/// # Errors
/// If the kernel refuses the request, or lacks the family.
pub fn ask(protocol: isize, what: Ask, number: u16, payload: &[u8]) -> io::Result<Vec<Vec<u8>>> {
    let socket = connect(protocol)?;
    let flags = if what == Ask::All { NLM_F_DUMP } else { 0 };
    send(&socket, RawMessage { number, payload: payload.to_vec() }, flags)?;
    let mut replies = Vec::new();
    loop {
        let (datagram, _) = socket.recv_from_full()?;
        if read(&datagram, what, &mut replies)? {
            return Ok(replies);
        }
    }
}

/// Reads the messages of a datagram. Returns whether the reply is complete.
fn read(datagram: &[u8], what: Ask, replies: &mut Vec<Vec<u8>>) -> io::Result<bool> {
    let mut is_done = false;
    for_each_message::<RawMessage>(datagram, |message| {
        match message.payload {
            NetlinkPayload::Done(_) => is_done = true,
            NetlinkPayload::Error(error) if error.code.is_some() => return Err(error.to_io()),
            NetlinkPayload::Error(_) => is_done = true,
            NetlinkPayload::InnerMessage(reply) => {
                replies.push(reply.payload);
                is_done = what == Ask::One;
            }
            _ => {}
        }
        Ok(!is_done)
    })?;
    Ok(is_done)
}

#[cfg(test)]
pub mod tests {
    use wireloom_net::netlink::attributes;

    use super::*;

    const NLMSG_ERROR: u16 = 2;
    const NLMSG_DONE: u16 = 3;
    /// Length of `struct nlmsghdr`.
    const HEADER: usize = 16;

    /// Builds an attribute with its padding.
    pub fn attribute(kind: u16, value: &[u8]) -> Vec<u8> {
        let mut bytes = (value.len() as u16 + 4).to_ne_bytes().to_vec();
        bytes.extend(kind.to_ne_bytes());
        bytes.extend(value);
        bytes.resize(bytes.len().next_multiple_of(4), 0);
        bytes
    }

    #[test]
    fn attributes_end_inside_their_list() {
        let list = [attribute(3 | 0x8000, &[1, 2]), attribute(4, &[7])].concat();
        assert_eq!(attributes(&list).expect("a list"), [(3, &[1, 2][..]), (4, &[7][..])]);
        for length in [1, 3, 5, 9, 12] {
            assert!(attributes(&list[..length]).is_err(), "{length}");
        }
        assert!(attributes(&[3, 0, 1, 0]).is_err(), "shorter than its header");
    }

    #[test]
    fn replies_end_with_the_last_message_or_an_error() {
        let message = |number: u16, payload: &[u8]| {
            let mut bytes = (HEADER as u32 + payload.len() as u32).to_ne_bytes().to_vec();
            bytes.extend(number.to_ne_bytes());
            bytes.resize(HEADER, 0);
            bytes.extend(payload);
            bytes.resize(bytes.len().next_multiple_of(4), 0);
            bytes
        };
        let read = |datagram: &[u8], what| {
            let mut replies = Vec::new();
            super::read(datagram, what, &mut replies).map(|is_done| (is_done, replies))
        };
        let two = [message(20, &[1]), message(20, &[2])].concat();
        assert_eq!(read(&two, Ask::All).expect("two"), (false, vec![vec![1], vec![2]]));
        assert_eq!(read(&two, Ask::One).expect("one"), (true, vec![vec![1]]));
        assert!(read(&message(NLMSG_DONE, &[0; 4]), Ask::All).expect("the end").0);
        let refused = message(NLMSG_ERROR, &(-libc::EPERM).to_ne_bytes());
        let error = read(&refused, Ask::All).expect_err("refused");
        assert_eq!(error.raw_os_error(), Some(libc::EPERM));
        for cut in [1, HEADER - 1, HEADER] {
            assert!(read(&two[..cut], Ask::All).is_err(), "{cut}");
        }
        assert!(read(&message(NLMSG_ERROR, &[1]), Ask::All).is_err());
    }
}
