//! Next hop objects (`ip nexthop`), which routes name by number (linux/nexthop.h).

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::{RawMessage, attributes, dump};

/// The message type of a notification that an object is new or has changed.
pub const NEW: u16 = 104;
/// The message type of a notification that an object is gone.
pub const GONE: u16 = 105;
/// `RTM_GETNEXTHOP`.
const GET: u16 = 106;

/// A next hop object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NextHop {
    /// The number by which routes name the object.
    pub number: u32,
    pub leads: Leads,
}

/// Where a next hop object leads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Leads {
    /// Out of an interface.
    Out {
        /// The interface index.
        device: u32,
        /// The neighbour. `None`: the destination itself, which is on the link.
        gateway: Option<IpAddr>,
        /// Packets get another header, of MPLS for example.
        is_encapsulated: bool,
        /// Whether the kernel ignores the object because its interface is down.
        is_dead: bool,
    },
    /// Nowhere: packets are discarded.
    Blackhole,
    /// To these objects: pairs of a number and a weight from 1.
    Group(Vec<(u32, u32)>),
}

/// Reads all next hop objects of routes.
///
/// # Errors
/// If the kernel refuses, or if the objects change during every attempt.
pub fn next_hops() -> io::Result<Vec<NextHop>> {
    let messages = dump(&RawMessage { number: GET, payload: vec![0; HEADER] })?;
    let objects = messages.iter().map(|message| NextHop::parse(&message.payload));
    Ok(objects.collect::<io::Result<Vec<_>>>()?.into_iter().flatten().collect())
}

/// Length of `struct nhmsg`.
const HEADER: usize = 8;
/// `RTNH_F_DEAD`.
const DEAD: u32 = 1;

mod attribute {
    pub const ID: u16 = 1;
    pub const GROUP: u16 = 2;
    pub const BLACKHOLE: u16 = 4;
    pub const OIF: u16 = 5;
    pub const GATEWAY: u16 = 6;
    pub const ENCAP_TYPE: u16 = 7;
    pub const FDB: u16 = 11;
}

impl NextHop {
    /// Parses the payload of a message. Returns `None` if no route can name the object, since it is
    /// part of a bridge.
    ///
    /// # Errors
    /// If the message is not about a next hop object.
    pub fn parse(payload: &[u8]) -> io::Result<Option<Self>> {
        let malformed = || io::Error::other("a next hop object that cannot be read");
        let (header, list) = payload.split_at_checked(HEADER).ok_or_else(malformed)?;
        let flags = u32::from_ne_bytes([header[4], header[5], header[6], header[7]]);
        let (mut number, mut device, mut gateway, mut group) = (None, 0, None, None);
        let (mut is_blackhole, mut is_encapsulated) = (false, false);
        for (kind, value) in attributes(list).map_err(|_| malformed())? {
            match kind {
                attribute::ID => number = Some(word(value).ok_or_else(malformed)?),
                attribute::OIF => device = word(value).ok_or_else(malformed)?,
                attribute::GATEWAY => gateway = Some(address(value).ok_or_else(malformed)?),
                attribute::GROUP => group = Some(value.chunks_exact(8).map(member).collect()),
                attribute::BLACKHOLE => is_blackhole = true,
                attribute::ENCAP_TYPE => is_encapsulated = true,
                attribute::FDB => return Ok(None),
                _ => {}
            }
        }
        let leads = match group {
            Some(members) => Leads::Group(members),
            None if is_blackhole => Leads::Blackhole,
            None => Leads::Out { device, gateway, is_encapsulated, is_dead: flags & DEAD != 0 },
        };
        Ok(Some(Self { number: number.ok_or_else(malformed)?, leads }))
    }
}

fn word(value: &[u8]) -> Option<u32> {
    value.try_into().ok().map(u32::from_ne_bytes)
}

fn address(value: &[u8]) -> Option<IpAddr> {
    let v4 = || <[u8; 4]>::try_from(value).ok().map(|octets| Ipv4Addr::from(octets).into());
    let v6 = || <[u8; 16]>::try_from(value).ok().map(|octets| Ipv6Addr::from(octets).into());
    v4().or_else(v6)
}

/// Returns the number and weight of a `struct nexthop_grp`. The weight is one more than the field,
/// whose upper byte exists since Linux 6.12.
fn member(entry: &[u8]) -> (u32, u32) {
    let number = u32::from_ne_bytes([entry[0], entry[1], entry[2], entry[3]]);
    (number, (u32::from(entry[5]) << 8 | u32::from(entry[4])) + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(flags: u32, attributes: &[(u16, &[u8])]) -> Vec<u8> {
        let mut bytes = vec![2, 0, 0, 0];
        bytes.extend(flags.to_ne_bytes());
        for (kind, value) in attributes {
            bytes.extend((value.len() as u16 + 4).to_ne_bytes());
            bytes.extend(kind.to_ne_bytes());
            bytes.extend(*value);
            bytes.resize(bytes.len().next_multiple_of(4), 0);
        }
        bytes
    }

    fn leads(flags: u32, attributes: &[(u16, &[u8])]) -> Option<Leads> {
        let id = (attribute::ID, &7u32.to_ne_bytes()[..]);
        let attributes = [&[id], attributes].concat();
        let object = NextHop::parse(&message(flags, &attributes)).expect("a message")?;
        assert_eq!(object.number, 7);
        Some(object.leads)
    }

    #[test]
    fn objects_lead_out_nowhere_or_to_others() {
        let device = (attribute::OIF, &5u32.to_ne_bytes()[..]);
        let out = |gateway: Option<&str>, is_encapsulated, is_dead| Leads::Out {
            device: 5,
            gateway: gateway.map(|text| text.parse().expect("an address")),
            is_encapsulated,
            is_dead,
        };
        assert_eq!(leads(0, &[device]), Some(out(None, false, false)));
        let v4 = (attribute::GATEWAY, &[192, 0, 2, 1][..]);
        assert_eq!(leads(DEAD, &[device, v4]), Some(out(Some("192.0.2.1"), false, true)));
        let octets = "2001:db8::1".parse::<Ipv6Addr>().expect("an address").octets();
        let v6 = (attribute::GATEWAY, &octets[..]);
        let mpls = (attribute::ENCAP_TYPE, &[1, 0][..]);
        assert_eq!(leads(0, &[v6, device, mpls]), Some(out(Some("2001:db8::1"), true, false)));
        assert_eq!(leads(0, &[(attribute::BLACKHOLE, &[])]), Some(Leads::Blackhole));
        // The fields are one less than the weights, 1 and 256 + 3.
        let members = [&1u32.to_ne_bytes()[..], &[0; 4], &2u32.to_ne_bytes(), &[2, 1, 0, 0]];
        let group = (attribute::GROUP, &members.concat()[..]);
        assert_eq!(leads(0, &[group]), Some(Leads::Group(vec![(1, 1), (2, 259)])));
        assert_eq!(leads(0, &[(attribute::FDB, &[]), v4]), None);
    }

    #[test]
    fn what_is_no_object_is_refused() {
        for payload in [&[][..], &[0; 8], &message(0, &[(attribute::ID, &[1])])] {
            assert!(NextHop::parse(payload).is_err(), "{payload:?}");
        }
        let mut cut = message(0, &[(attribute::ID, &7u32.to_ne_bytes())]);
        cut.pop();
        assert!(NextHop::parse(&cut).is_err());
    }
}
