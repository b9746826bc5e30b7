//! Conditions of individual ports.

use std::io;

use netlink_sys::protocols::NETLINK_ROUTE;
use wireloom_net::netlink::attributes;

use super::request::{Ask, ask};
use super::{Place, shortened, text_of};
use crate::forwards::Forwards;
use crate::system::{interface_name, setting};

/// `RTM_GETLINK`, `RTM_GETQDISC`, `RTM_GETTFILTER`.
const GET_LINK: u16 = 18;
const GET_QDISC: u16 = 38;
const GET_FILTER: u16 = 46;
/// Lengths of `struct ifinfomsg` and `struct tcmsg`. Both have the interface index at offset 4.
const LINK_HEADER: usize = 16;
const QDISC_HEADER: usize = 20;
const INDEX: usize = 4;
/// Offset of the parent in `struct tcmsg`.
const PARENT: usize = 12;
/// `IFLA_MASTER`.
const MASTER: u16 = 10;
/// `TCA_KIND`.
const KIND: u16 = 1;

/// Queueing disciplines that only queue: they keep the order of a flow's packets and hold none
/// back.
const PLAIN: [&str; 6] = ["noqueue", "mq", "pfifo_fast", "pfifo", "fq", "fq_codel"];
/// Parents of filters: `ingress`, and the two of `clsact`.
const FILTERED: [u32; 3] = [0xffff_0000, 0xffff_fff2, 0xffff_fff3];

/// Returns the bridges, bonds or VRFs that have ports as members.
pub fn master(place: &Place) -> io::Result<Option<String>> {
    let mut found = Vec::new();
    for (index, name) in place.names() {
        let mut request = [0; LINK_HEADER];
        request[INDEX..INDEX + 4].copy_from_slice(&index.to_ne_bytes());
        for message in ask(NETLINK_ROUTE, Ask::One, GET_LINK, &request)? {
            if let Some(master) = master_of(&message)? {
                let master = interface_name(master).unwrap_or_else(|| format!("{master}"));
                found.push(format!("{name} is in {master}"));
            }
        }
    }
    Ok(all(&found))
}

fn master_of(payload: &[u8]) -> io::Result<Option<u32>> {
    let malformed = || io::Error::other("an interface that cannot be read");
    let list = payload.get(LINK_HEADER..).ok_or_else(malformed)?;
    let master = attributes(list)?.into_iter().find(|(kind, _)| *kind == MASTER);
    master.map(|(_, value)| word(value, 0).ok_or_else(malformed)).transpose()
}

/// Returns the ports whose reverse path filter is stricter than the program's source check.
pub fn reverse_path(place: &Place) -> io::Result<Option<String>> {
    let all_ports = setting("ipv4/conf/all/rp_filter").unwrap_or_default();
    let found = place.names().filter_map(|(_, name)| {
        let own = setting(&format!("ipv4/conf/{name}/rp_filter")).unwrap_or_default();
        let filter = own.max(all_ports);
        let refuses = filter == 1 || filter == 2 && !place.checks_sources;
        refuses.then(|| format!("rp_filter of {name} is {filter}"))
    });
    Ok(all(&found.collect::<Vec<_>>()))
}

/// Returns the ports with filters, or with queueing disciplines that do more than queue.
pub fn traffic_control(place: &Place) -> io::Result<Option<String>> {
    let mut found = Vec::new();
    for message in ask(NETLINK_ROUTE, Ask::All, GET_QDISC, &[0; QDISC_HEADER])? {
        let (index, kind) = discipline(&message)?;
        if !place.ports.contains(&index) || PLAIN.contains(&&kind[..]) {
            continue;
        }
        let Some(name) = interface_name(index) else { continue };
        if !["ingress", "clsact"].contains(&&kind[..]) {
            found.push(format!("{name} has the qdisc {kind}"));
        } else if has_filters(index)? {
            found.push(format!("{name} has filters at {kind}"));
        }
    }
    Ok(all(&found))
}

/// Returns the interface index and the kind of a queueing discipline.
fn discipline(payload: &[u8]) -> io::Result<(u32, String)> {
    let malformed = || io::Error::other("a qdisc that cannot be read");
    let index = word(payload, INDEX).ok_or_else(malformed)?;
    let list = payload.get(QDISC_HEADER..).ok_or_else(malformed)?;
    let kind = attributes(list)?.into_iter().find(|(kind, _)| *kind == KIND);
    Ok((index, kind.map(|(_, value)| text_of(value)).ok_or_else(malformed)?))
}

fn has_filters(index: u32) -> io::Result<bool> {
    for parent in FILTERED {
        let mut request = [0; QDISC_HEADER];
        request[INDEX..INDEX + 4].copy_from_slice(&index.to_ne_bytes());
        request[PARENT..PARENT + 4].copy_from_slice(&parent.to_ne_bytes());
        // The kernel returns an error for a parent that this qdisc does not have.
        let filters = ask(NETLINK_ROUTE, Ask::All, GET_FILTER, &request);
        if filters.is_ok_and(|filters| !filters.is_empty()) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Returns the ports at which VLAN frames have arrived.
pub fn tagged(place: &Place) -> io::Result<Option<String>> {
    let names = place.tagged.interfaces().filter_map(interface_name);
    Ok(all(&names.map(|name| format!("tagged frames at {name}")).collect::<Vec<_>>()))
}

/// Returns the ports from which the kernel does not forward.
pub fn not_forwarding(place: &Place) -> io::Result<Option<String>> {
    let found = place.names().filter_map(|(_, name)| {
        let forwards = Forwards::of(&name);
        let versions = match (forwards.ipv4, forwards.ipv6) {
            (false, false) => "IPv4 and IPv6",
            (false, true) => "IPv4",
            (true, false) => "IPv6",
            (true, true) => return None,
        };
        Some(format!("{versions} from {name}"))
    });
    Ok(all(&found.collect::<Vec<_>>()))
}

fn all(found: &[String]) -> Option<String> {
    (!found.is_empty()).then(|| shortened(found))
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    bytes.get(at..)?.first_chunk().map(|word| u32::from_ne_bytes(*word))
}

#[cfg(test)]
mod tests {
    use super::super::request::tests::attribute;
    use super::*;

    #[test]
    fn masters_and_disciplines_are_read() {
        let link = [vec![0; LINK_HEADER], attribute(MASTER, &9u32.to_ne_bytes())].concat();
        assert_eq!(master_of(&link).expect("a link"), Some(9));
        assert_eq!(master_of(&link[..LINK_HEADER]).expect("a link"), None);
        let mut qdisc = [vec![0; QDISC_HEADER], attribute(KIND, b"tbf\0")].concat();
        qdisc[INDEX] = 7;
        assert_eq!(discipline(&qdisc).expect("a qdisc"), (7, "tbf".to_owned()));
        for length in [0, 7, 15, 19, 20, 23] {
            assert!(discipline(&qdisc[..length]).is_err(), "{length}");
        }
        assert!(master_of(&link[..15]).is_err() && master_of(&link[..LINK_HEADER + 6]).is_err());
        let short = [vec![0; LINK_HEADER], attribute(MASTER, &[9])].concat();
        assert!(master_of(&short).is_err());
    }
}
