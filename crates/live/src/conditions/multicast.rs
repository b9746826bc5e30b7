//! Multicast on this router: which groups processes have joined, and which groups a daemon routes.

use std::fs;
use std::io;
use std::net::{Ipv4Addr, Ipv6Addr};

use super::{Place, shortened};
use crate::system::setting;

/// Returns the ports between which a daemon makes the kernel forward multicast groups.
pub fn routes(place: &Place) -> io::Result<Option<String>> {
    let mut found = Vec::new();
    for (_, name) in place.names() {
        for (version, text) in [("ipv4", "IPv4"), ("ipv6", "IPv6")] {
            if setting(&format!("{version}/conf/{name}/mc_forwarding")).unwrap_or_default() > 0 {
                found.push(format!("{text} at {name}"));
            }
        }
    }
    Ok((!found.is_empty()).then(|| shortened(&found)))
}

/// Returns the groups that processes have joined at ports. The program drops their packets.
pub fn groups(place: &Place) -> io::Result<Option<String>> {
    let read = |file: &str| fs::read_to_string(format!("/proc/thread-self/net/{file}"));
    let names: Vec<String> = place.names().map(|(_, name)| name).collect();
    // A kernel without IPv6 has no `igmp6` file.
    let (v4, v6) = (read("igmp").unwrap_or_default(), read("igmp6").unwrap_or_default());
    let found: Vec<String> = groups4(&v4)
        .into_iter()
        .chain(groups6(&v6))
        .filter(|(port, _)| names.contains(port))
        .map(|(port, group)| format!("{group} at {port}"))
        .collect();
    Ok((!found.is_empty()).then(|| shortened(&found)))
}

/// Returns the ports and groups in `/proc/net/igmp`, without link-local groups.
fn groups4(text: &str) -> Vec<(String, String)> {
    let (mut port, mut found) = ("", Vec::new());
    for line in text.lines().skip(1) {
        let mut words = line.split_whitespace();
        let first = words.next().unwrap_or_default();
        if !line.starts_with(char::is_whitespace) {
            // Index, name, colon, count.
            port = words.next().unwrap_or_default().trim_end_matches(':');
        } else if let Ok(group) = u32::from_str_radix(first, 16) {
            // The kernel prints the address's bytes in memory as a number of this computer's byte
            // order.
            let group = Ipv4Addr::from(group.to_ne_bytes());
            if group.octets()[..3] != [224, 0, 0] {
                found.push((port.to_owned(), group.to_string()));
            }
        }
    }
    found
}

/// Returns the ports and groups in `/proc/net/igmp6`, without link-local groups and without the
/// groups that the kernel itself joins as a router.
fn groups6(text: &str) -> Vec<(String, String)> {
    const ALL_ROUTERS_OF_THE_SITE: Ipv6Addr = Ipv6Addr::new(0xff05, 0, 0, 0, 0, 0, 0, 2);
    let row = |line: &str| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let &[_, port, group, users, ..] = &words[..] else { return None };
        let group = Ipv6Addr::from_bits(u128::from_str_radix(group, 16).ok()?);
        let users: u32 = users.parse().ok()?;
        let is_of_link = group.octets()[1] & 15 <= 2;
        let is_own = group == ALL_ROUTERS_OF_THE_SITE && users <= 1;
        (!is_of_link && !is_own).then(|| (port.to_owned(), group.to_string()))
    };
    text.lines().filter_map(row).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_beyond_the_link_count() {
        let number = |ip: [u8; 4]| format!("{:08X}", u32::from_ne_bytes(ip));
        let text = format!(
            "Idx\tDevice    : Count Querier\tGroup    Users Timer\tReporter\n\
             1\tlo        :     1      V3\n\t\t\t\t{}     1 0:00000000\t\t0\n\
             7\teth1      :     2      V3\n\t\t\t\t{}     1 0:00000000\t\t0\n\
             \t\t\t\t{}     1 0:00000000\t\t0\n",
            number([239, 1, 1, 1]),
            number([239, 255, 255, 250]),
            number([224, 0, 0, 251])
        );
        let found = |port: &str, group: &str| (port.to_owned(), group.to_owned());
        assert_eq!(groups4(&text), [found("lo", "239.1.1.1"), found("eth1", "239.255.255.250")]);
        let text = "7    eth1            ff020000000000000000000000000001     1 0000000C 0\n\
                    7    eth1            ff050000000000000000000000000002     1 00000004 0\n\
                    7    eth1            ff050000000000000000000000000101     1 00000004 0\n\
                    8    eth2            ff050000000000000000000000000002     2 00000004 0\n\
                    9    eth3            ff0\n";
        assert_eq!(groups6(text), [found("eth1", "ff05::101"), found("eth2", "ff05::2")]);
        assert_eq!((groups4(""), groups6("x")), (vec![], vec![]));
    }
}
