//! nftables rules on the path of forwarded packets (linux/netfilter/nf_tables.h).

use std::io;

use netlink_sys::protocols::NETLINK_NETFILTER;
use wireloom_net::netlink::attributes;

use super::request::{Ask, ask};
use super::{Place, text_of};

const GET_CHAIN: u16 = 10 << 8 | 4;
/// Length of `struct nfgenmsg`.
const HEADER: usize = 4;

mod family {
    pub const INET: u8 = 1;
    pub const IPV4: u8 = 2;
    pub const NETDEV: u8 = 5;
    pub const IPV6: u8 = 10;
}

mod attribute {
    pub const TABLE: u16 = 1;
    pub const NAME: u16 = 3;
    pub const HOOK: u16 = 4;
    pub const POLICY: u16 = 5;
    pub const USE: u16 = 6;

    pub const HOOK_NUMBER: u16 = 1;
    pub const HOOK_DEVICE: u16 = 3;
    pub const HOOK_DEVICES: u16 = 4;
}

const POLICY_ACCEPT: u32 = 1;
/// `NF_INET_PRE_ROUTING`, `NF_INET_FORWARD`, `NF_INET_POST_ROUTING`.
const WAY: [u32; 3] = [0, 2, 4];
const INET_INGRESS: u32 = 5;

/// A base chain.
#[derive(Debug, PartialEq, Eq)]
struct Chain {
    name: String,
    hook: u32,
    devices: Vec<String>,
    accepts: bool,
    rules: u32,
}

/// Returns the chains that may decide about packets of the ports.
pub fn find(place: &Place) -> io::Result<Vec<String>> {
    let names: Vec<String> = place.names().map(|(_, name)| name).collect();
    let mut found = Vec::new();
    for message in ask(NETLINK_NETFILTER, Ask::All, GET_CHAIN, &[0; HEADER])? {
        if let Some((family, chain)) = parse(&message)?
            && chain.is_on_the_way(family, &names)
        {
            found.push(chain.text());
        }
    }
    Ok(found)
}

impl Chain {
    fn is_on_the_way(&self, family: u8, ports: &[String]) -> bool {
        let is_at_port = || self.devices.iter().any(|device| ports.contains(device));
        let is_there = match family {
            family::NETDEV => is_at_port(),
            family::INET if self.hook == INET_INGRESS => is_at_port(),
            family::INET | family::IPV4 | family::IPV6 => WAY.contains(&self.hook),
            _ => false,
        };
        is_there && (self.rules > 0 || !self.accepts)
    }

    fn text(&self) -> String {
        match (self.rules, self.accepts) {
            (0, _) => format!("chain {} drops", self.name),
            (1, _) => format!("chain {} has a rule", self.name),
            (rules, _) => format!("chain {} has {rules} rules", self.name),
        }
    }
}

/// Parses a chain message into its family and chain. Returns `None` for a chain that is not
/// attached to a hook.
fn parse(payload: &[u8]) -> io::Result<Option<(u8, Chain)>> {
    let malformed = || io::Error::other("a chain of nftables that cannot be read");
    let (header, list) = payload.split_at_checked(HEADER).ok_or_else(malformed)?;
    let (mut table, mut name, mut hook) = (String::new(), String::new(), None);
    let (mut accepts, mut rules) = (true, 0);
    for (kind, value) in attributes(list)? {
        match kind {
            attribute::TABLE => table = text_of(value),
            attribute::NAME => name = text_of(value),
            attribute::HOOK => hook = Some(value),
            attribute::POLICY => accepts = word(value).ok_or_else(malformed)? == POLICY_ACCEPT,
            attribute::USE => rules = word(value).ok_or_else(malformed)?,
            _ => {}
        }
    }
    let Some(list) = hook else { return Ok(None) };
    let (mut hook, mut devices) = (None, Vec::new());
    for (kind, value) in attributes(list)? {
        match kind {
            attribute::HOOK_NUMBER => hook = Some(word(value).ok_or_else(malformed)?),
            attribute::HOOK_DEVICE => devices.push(text_of(value)),
            attribute::HOOK_DEVICES => {
                devices.extend(attributes(value)?.into_iter().map(|(_, name)| text_of(name)));
            }
            _ => {}
        }
    }
    let hook = hook.ok_or_else(malformed)?;
    let name = format!("{table} {name}");
    Ok(Some((header[0], Chain { name, hook, devices, accepts, rules })))
}

/// Reads a number in network byte order.
fn word(value: &[u8]) -> Option<u32> {
    value.try_into().ok().map(u32::from_be_bytes)
}

#[cfg(test)]
mod tests {
    use super::super::request::tests::attribute;
    use super::*;

    fn chain(family: u8, hook: u32, device: &str, policy: u32, rules: u32) -> Vec<u8> {
        let mut hooked = attribute(attribute::HOOK_NUMBER, &hook.to_be_bytes());
        if !device.is_empty() {
            let name = attribute(1, format!("{device}\0").as_bytes());
            hooked.extend(attribute(attribute::HOOK_DEVICES, &name));
        }
        let parts = [
            vec![family, 0, 0, 0],
            attribute(attribute::TABLE, b"t\0"),
            attribute(attribute::NAME, b"c\0"),
            attribute(attribute::HOOK, &hooked),
            attribute(attribute::POLICY, &policy.to_be_bytes()),
            attribute(attribute::USE, &rules.to_be_bytes()),
        ];
        parts.concat()
    }

    #[test]
    fn chains_count_that_forwarded_packets_pass_and_that_do_something() {
        let is_found = |message: Vec<u8>| {
            let (family, chain) = parse(&message).expect("a chain").expect("a hook");
            chain.is_on_the_way(family, &["eth1".to_owned()])
        };
        for (message, expected) in [
            (chain(family::INET, 2, "", 1, 3), true),
            (chain(family::INET, 2, "", 1, 0), false),
            (chain(family::IPV4, 2, "", 0, 0), true),
            (chain(family::IPV6, 0, "", 1, 1), true),
            (chain(family::IPV4, 4, "", 1, 1), true),
            // Input, output, ARP and bridge chains do not count.
            (chain(family::IPV4, 1, "", 0, 9), false),
            (chain(family::IPV4, 3, "", 0, 9), false),
            (chain(3, 0, "", 0, 9), false),
            (chain(7, 2, "", 0, 9), false),
            (chain(family::NETDEV, 0, "eth1", 1, 1), true),
            (chain(family::NETDEV, 0, "eth2", 1, 1), false),
            (chain(family::INET, INET_INGRESS, "eth1", 1, 1), true),
            (chain(family::INET, INET_INGRESS, "eth2", 1, 1), false),
        ] {
            assert_eq!(is_found(message.clone()), expected, "{message:?}");
        }
        let whole = chain(family::INET, 2, "eth1", 1, 3);
        let plain = [&[2, 0, 0, 0][..], &attribute(attribute::NAME, b"c\0")].concat();
        assert_eq!(parse(&plain).expect("a chain"), None);
        // The message is cut inside the header and inside attributes.
        for length in [0, 3, 5, 9, 13, 17, 21, 30] {
            assert!(parse(&whole[..length]).is_err(), "{length}");
        }
    }
}
