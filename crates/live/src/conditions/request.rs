//! Requests to any part of the kernel by netlink (netlink(7)), and what the replies consist of.

use std::io;

use netlink_sys::{Socket, SocketAddr};

const NLM_F_REQUEST: u16 = 1;
const NLM_F_DUMP: u16 = 0x300;
const NLMSG_ERROR: u16 = 2;
const NLMSG_DONE: u16 = 3;
/// Length of `struct nlmsghdr`.
const HEADER: usize = 16;

/// How many messages reply to a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ask {
    /// One.
    One,
    /// All that there are. Some may be missing if they change meanwhile.
    All,
}

/// Sends a request of this number to a part of the kernel (`NETLINK_...`), and returns the replies
/// without their netlink headers.
///
/// # Errors
/// If the kernel refuses it, or does not have this part.
pub fn ask(protocol: isize, what: Ask, number: u16, payload: &[u8]) -> io::Result<Vec<Vec<u8>>> {
    let mut socket = Socket::new(protocol)?;
    socket.bind_auto()?;
    socket.connect(&SocketAddr::new(0, 0))?;
    let flags = NLM_F_REQUEST | if what == Ask::All { NLM_F_DUMP } else { 0 };
    let length = (HEADER + payload.len()) as u32;
    let mut request = length.to_ne_bytes().to_vec();
    request.extend(number.to_ne_bytes());
    request.extend(flags.to_ne_bytes());
    // Sequence number and sender.
    request.extend([0; 8]);
    request.extend(payload);
    socket.send(&request, 0)?;
    let mut replies = Vec::new();
    loop {
        let (datagram, _) = socket.recv_from_full()?;
        if read(&datagram, what, &mut replies)? {
            return Ok(replies);
        }
    }
}

/// Reads the messages of a datagram. Returns whether the reply is complete.
fn read(mut rest: &[u8], what: Ask, replies: &mut Vec<Vec<u8>>) -> io::Result<bool> {
    let malformed = || io::Error::other("a reply of the kernel that cannot be read");
    while !rest.is_empty() {
        let header = rest.first_chunk::<HEADER>().ok_or_else(malformed)?;
        let length = u32::from_ne_bytes([header[0], header[1], header[2], header[3]]) as usize;
        let number = u16::from_ne_bytes([header[4], header[5]]);
        let payload = rest.get(HEADER..length).ok_or_else(malformed)?;
        match number {
            NLMSG_DONE => return Ok(true),
            NLMSG_ERROR => {
                let code = payload.first_chunk().ok_or_else(malformed)?;
                return match i32::from_ne_bytes(*code) {
                    0 => Ok(true),
                    code => Err(io::Error::from_raw_os_error(code.wrapping_neg())),
                };
            }
            _ => replies.push(payload.to_vec()),
        }
        if what == Ask::One {
            return Ok(true);
        }
        rest = rest.get(length.next_multiple_of(4)..).unwrap_or_default();
    }
    Ok(false)
}

/// The type of an attribute, without flags, and its value.
pub type Attribute<'a> = (u16, &'a [u8]);

/// Reads a list of attributes.
///
/// # Errors
/// If one is longer than the list.
pub fn attributes(mut list: &[u8]) -> io::Result<Vec<Attribute<'_>>> {
    /// `NLA_TYPE_MASK`.
    const TYPE: u16 = 0x3fff;
    /// Length of `struct nlattr`.
    const HEADER: usize = 4;
    let malformed = || io::Error::other("an attribute that cannot be read");
    let mut found = Vec::new();
    while !list.is_empty() {
        let &[low, high, kind_low, kind_high] = list.first_chunk().ok_or_else(malformed)?;
        let length = usize::from(u16::from_ne_bytes([low, high]));
        let value = list.get(HEADER..length).ok_or_else(malformed)?;
        found.push((u16::from_ne_bytes([kind_low, kind_high]) & TYPE, value));
        list = list.get(length.next_multiple_of(4)..).unwrap_or_default();
    }
    Ok(found)
}

#[cfg(test)]
pub mod tests {
    use super::*;

    /// An attribute, padded.
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
