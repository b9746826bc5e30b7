//! Rules of iptables on the way of forwarded packets, where its tables are not those of nftables
//! (linux/netfilter_ipv4/ip_tables.h, linux/netfilter_ipv6/ip6_tables.h).

use std::fs;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};

use crate::system::{check, owned};

/// One of the two families.
struct Family {
    domain: libc::c_int,
    level: libc::c_int,
    /// The tables that this network namespace has. Others would be made by asking for them.
    names: &'static str,
    command: &'static str,
    /// Where an entry has the offset of its target.
    target_at: usize,
}

const FAMILIES: [Family; 2] = [
    Family {
        domain: libc::AF_INET,
        level: libc::IPPROTO_IP,
        names: "/proc/thread-self/net/ip_tables_names",
        command: "iptables",
        target_at: 88,
    },
    Family {
        domain: libc::AF_INET6,
        level: libc::IPPROTO_IPV6,
        names: "/proc/thread-self/net/ip6_tables_names",
        command: "ip6tables",
        target_at: 140,
    },
];

/// `IPT_SO_GET_INFO` and `IPT_SO_GET_ENTRIES`.
const GET_INFO: libc::c_int = 64;
const GET_ENTRIES: libc::c_int = 65;
/// `XT_TABLE_MAXNAMELEN`, with the zero.
const NAME: usize = 32;
/// Length of `struct ipt_getinfo`: name, hooks, 5 chains, 5 policies, entries, bytes.
const INFO: usize = NAME + 4 + 20 + 20 + 4 + 4;
/// Length of `struct ipt_get_entries` without the entries.
const ENTRIES: usize = 40;
/// Length of `struct xt_entry_target`, after which a standard target has its verdict.
const TARGET: usize = 32;
/// `-NF_ACCEPT - 1`.
const ACCEPT: i32 = -2;
/// `NF_INET_PRE_ROUTING`, `NF_INET_FORWARD`, `NF_INET_POST_ROUTING`.
const WAY: [(usize, &str); 3] = [(0, "PREROUTING"), (2, "FORWARD"), (4, "POSTROUTING")];
/// A table with more bytes is not read for its policies.
const MOST: usize = 64 << 20;

/// Returns the chains that may decide on forwarded packets.
pub fn find() -> io::Result<Vec<String>> {
    let mut found = Vec::new();
    for family in &FAMILIES {
        let Ok(names) = fs::read_to_string(family.names) else { continue };
        for table in names.lines() {
            let socket = family.socket()?;
            let mut info = vec![0; INFO];
            family.get(&socket, GET_INFO, table, &mut info)?;
            let info = Info::parse(&info);
            let mut entries = vec![0; ENTRIES + info.bytes.min(MOST)];
            entries[NAME..NAME + 4].copy_from_slice(&(info.bytes as u32).to_ne_bytes());
            family.get(&socket, GET_ENTRIES, table, &mut entries)?;
            let chains = info.chains(&entries[ENTRIES..], family.target_at);
            found.extend(chains.map(|chain| format!("{} {table} {chain}", family.command)));
        }
    }
    Ok(found)
}

impl Family {
    fn socket(&self) -> io::Result<OwnedFd> {
        // SAFETY: plain system call.
        owned(unsafe { libc::socket(self.domain, libc::SOCK_DGRAM | libc::SOCK_CLOEXEC, 0) })
    }

    /// Fills a buffer with what the kernel says of a table, whose name begins it.
    fn get(
        &self,
        socket: &OwnedFd,
        option: libc::c_int,
        table: &str,
        buffer: &mut [u8],
    ) -> io::Result<()> {
        let length = table.len().min(NAME - 1);
        buffer[..length].copy_from_slice(&table.as_bytes()[..length]);
        let mut size = buffer.len() as libc::socklen_t;
        // SAFETY: the buffer has the size given.
        check(unsafe {
            libc::getsockopt(
                socket.as_raw_fd(),
                self.level,
                option,
                buffer.as_mut_ptr().cast(),
                &raw mut size,
            )
        })
        .map(|_| ())
    }
}

/// Where the chains of a table are.
struct Info {
    hooks: u32,
    /// Offsets of the first entry of each chain, and of its policy, which is the last.
    first: [u32; 5],
    policies: [u32; 5],
    bytes: usize,
}

impl Info {
    fn parse(info: &[u8]) -> Self {
        let word = |at: usize| word(info, NAME + 4 * at).unwrap_or_default();
        Self {
            hooks: word(0),
            first: std::array::from_fn(|hook| word(1 + hook)),
            policies: std::array::from_fn(|hook| word(6 + hook)),
            bytes: word(12) as usize,
        }
    }

    /// The chains that have rules or do not accept.
    fn chains(&self, entries: &[u8], target_at: usize) -> impl Iterator<Item = &'static str> {
        WAY.into_iter().filter_map(move |(hook, name)| {
            let policy = self.policies[hook] as usize;
            let has_rules = self.first[hook] != self.policies[hook];
            let does_something = has_rules || verdict(entries, policy, target_at) != Some(ACCEPT);
            (self.hooks & 1 << hook != 0 && does_something).then_some(name)
        })
    }
}

/// The verdict of an entry with a standard target.
fn verdict(entries: &[u8], at: usize, target_at: usize) -> Option<i32> {
    let offset = entries.get(at.checked_add(target_at)?..)?.first_chunk::<2>()?;
    let target = at + usize::from(u16::from_ne_bytes(*offset));
    word(entries, target.checked_add(TARGET)?).map(|verdict| verdict as i32)
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    bytes.get(at..)?.first_chunk().map(|word| u32::from_ne_bytes(*word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chains_with_rules_or_another_policy_count() {
        // Entries of 152 bytes; the target of each is at 112, its verdict 32 bytes later.
        let entries = |verdicts: &[i32]| {
            let entry = |verdict: &i32| {
                let mut entry = vec![0; 152];
                entry[88..90].copy_from_slice(&112u16.to_ne_bytes());
                entry[144..148].copy_from_slice(&verdict.to_ne_bytes());
                entry
            };
            verdicts.iter().flat_map(entry).collect::<Vec<u8>>()
        };
        let chains = |info: &Info, entries: &[u8]| info.chains(entries, 88).collect::<Vec<_>>();
        // INPUT, FORWARD and OUTPUT, as in the table `filter`.
        let mut info = Info {
            hooks: 0b1110,
            first: [0, 0, 152, 304, 0],
            policies: [0, 0, 152, 304, 0],
            bytes: 456,
        };
        assert_eq!(chains(&info, &entries(&[-1, -2, -1])), [""; 0]);
        assert_eq!(chains(&info, &entries(&[-2, -1, -2])), ["FORWARD"]);
        info.policies[2] = 304;
        assert_eq!(chains(&info, &entries(&[-2, -2, -2])), ["FORWARD"]);
        // What cannot be read may drop.
        info.policies[2] = 152;
        assert_eq!(chains(&info, &entries(&[-2])), ["FORWARD"]);
        info.policies[2] = u32::MAX;
        info.first[2] = u32::MAX;
        assert_eq!(chains(&info, &entries(&[-2, -2, -2])), ["FORWARD"]);
    }
}
