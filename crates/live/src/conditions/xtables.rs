//! iptables rules on the path of forwarded packets, where iptables does not use nftables
//! (linux/netfilter_ipv4/ip_tables.h, linux/netfilter_ipv6/ip6_tables.h).

use std::fs;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};

use crate::system::{check, owned};

/// The constants of one address family.
struct Family {
    domain: libc::c_int,
    level: libc::c_int,
    /// The file that lists the existing tables of this network namespace. Asking the kernel for
    /// another table would create it.
    names: &'static str,
    command: &'static str,
    /// Offset of the field with the target's offset in an entry.
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
/// `XT_TABLE_MAXNAMELEN`, including the terminating zero.
const NAME: usize = 32;
/// Length of `struct ipt_getinfo`: name, hooks, 5 chains, 5 policies, entries, bytes.
const INFO: usize = NAME + 4 + 20 + 20 + 4 + 4;
/// Length of `struct ipt_get_entries` without the entries.
const ENTRIES: usize = 40;
/// Length of `struct xt_entry_target`. The verdict of a standard target follows it.
const TARGET: usize = 32;
/// `-NF_ACCEPT - 1`.
const ACCEPT: i32 = -2;
/// `NF_INET_PRE_ROUTING`, `NF_INET_FORWARD`, `NF_INET_POST_ROUTING`.
const WAY: [(usize, &str); 3] = [(0, "PREROUTING"), (2, "FORWARD"), (4, "POSTROUTING")];
/// Largest size of the entries in bytes. Larger tables are not copied.
const MOST: usize = 64 << 20;
/// Attempts to read a table that is replaced between two calls.
const ATTEMPTS: usize = 10;

/// Returns the chains that may decide about forwarded packets.
pub fn find() -> io::Result<Vec<String>> {
    let mut found = Vec::new();
    for family in &FAMILIES {
        let Ok(names) = fs::read_to_string(family.names) else { continue };
        for table in names.lines() {
            let socket = family.socket()?;
            let mut get = |option, buffer: &mut [u8]| family.get(&socket, option, table, buffer);
            match chains(family.target_at, &mut get) {
                Ok(chains) => {
                    let name = |chain| format!("{} {table} {chain}", family.command);
                    found.extend(chains.into_iter().map(name));
                }
                // The table was removed meanwhile.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(error),
            }
        }
    }
    Ok(found)
}

/// Fills a buffer with the value of a socket option.
type Get<'a> = dyn FnMut(libc::c_int, &mut [u8]) -> io::Result<()> + 'a;

/// Returns the chains of a table that may decide about forwarded packets. The entries may be many.
/// They are read, for the policies, only if no chain has rules.
fn chains(target_at: usize, get: &mut Get<'_>) -> io::Result<Vec<&'static str>> {
    let mut attempts = 0;
    loop {
        let mut info = vec![0; INFO];
        get(GET_INFO, &mut info)?;
        let info = Info::parse(&info);
        let with_rules: Vec<_> = info.chains(|hook| info.has_rules(hook)).collect();
        if !with_rules.is_empty() {
            return Ok(with_rules);
        }
        if info.bytes > MOST {
            return Ok(info.chains(|_| true).collect());
        }
        let mut entries = vec![0; ENTRIES + info.bytes];
        entries[NAME..NAME + 4].copy_from_slice(&(info.bytes as u32).to_ne_bytes());
        attempts += 1;
        match get(GET_ENTRIES, &mut entries) {
            Ok(()) => {
                let entries = &entries[ENTRIES..];
                let accepts = |hook| info.policy(hook, entries, target_at) == Some(ACCEPT);
                return Ok(info.chains(|hook| !accepts(hook)).collect());
            }
            // The table was replaced by one of another size.
            Err(error) if error.raw_os_error() == Some(libc::EAGAIN) && attempts < ATTEMPTS => {}
            Err(error) => return Err(error),
        }
    }
}

impl Family {
    fn socket(&self) -> io::Result<OwnedFd> {
        // SAFETY: plain system call.
        owned(unsafe { libc::socket(self.domain, libc::SOCK_DGRAM | libc::SOCK_CLOEXEC, 0) })
    }

    /// Asks the kernel about a table. The buffer begins with the table's name.
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

/// The header of a table: where its chains are.
struct Info {
    hooks: u32,
    /// Offsets of the first entry and of the policy of each chain. The policy is the chain's last
    /// entry.
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

    /// Returns the table's chains on the path of forwarded packets whose hook meets a condition.
    fn chains(&self, meets: impl Fn(usize) -> bool) -> impl Iterator<Item = &'static str> {
        let way = WAY.into_iter().filter(move |(hook, _)| self.hooks & 1 << hook != 0);
        way.filter(move |(hook, _)| meets(*hook)).map(|(_, name)| name)
    }

    fn has_rules(&self, hook: usize) -> bool {
        self.first[hook] != self.policies[hook]
    }

    /// Returns the verdict of the chain's policy.
    fn policy(&self, hook: usize, entries: &[u8], target_at: usize) -> Option<i32> {
        verdict(entries, self.policies[hook] as usize, target_at)
    }
}

/// Returns the verdict of an entry with a standard target.
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

    /// Builds entries of 152 bytes. The target of each is at 112, its verdict 32 bytes later.
    fn entries(verdicts: &[i32]) -> Vec<u8> {
        let entry = |verdict: &i32| {
            let mut entry = vec![0; 152];
            entry[88..90].copy_from_slice(&112u16.to_ne_bytes());
            entry[144..148].copy_from_slice(&verdict.to_ne_bytes());
            entry
        };
        verdicts.iter().flat_map(entry).collect()
    }

    /// Builds the header of a table with the chains INPUT, FORWARD and OUTPUT, as `filter` has
    /// them.
    fn info(first: u32, policy: u32, bytes: u32) -> Vec<u8> {
        let words = [0b1110, 0, 0, first, 304, 0, 0, 0, policy, 304, 0, 3, bytes];
        let words = words.into_iter().flat_map(u32::to_ne_bytes);
        [0; NAME].into_iter().chain(words).collect()
    }

    /// Returns the chains found if the kernel returns this table. The table has been replaced the
    /// first `replaced` times that its entries are read.
    fn find(info: &[u8], entries: &[u8], mut replaced: usize) -> io::Result<Vec<&'static str>> {
        chains(88, &mut |option, buffer| {
            if option == GET_INFO {
                buffer.copy_from_slice(info);
                return Ok(());
            }
            assert_eq!(buffer[NAME..NAME + 4], info[INFO - 4..], "the size of the entries");
            if replaced > 0 {
                replaced -= 1;
                return Err(io::Error::from_raw_os_error(libc::EAGAIN));
            }
            buffer[ENTRIES..].copy_from_slice(entries);
            Ok(())
        })
    }

    #[test]
    fn chains_with_another_policy_count() {
        let is_found = |verdicts: &[i32], policy| {
            let entries = entries(verdicts);
            let info = info(policy, policy, entries.len() as u32);
            find(&info, &entries, 0).expect("chains") == ["FORWARD"]
        };
        assert!(!is_found(&[-1, -2, -1], 152));
        assert!(is_found(&[-2, -1, -2], 152));
        // An entry that cannot be read may drop packets.
        assert!(is_found(&[-2], 152));
        assert!(is_found(&[-2, -2, -2], u32::MAX));
    }

    #[test]
    fn entries_are_not_read_where_a_chain_has_rules_or_the_table_is_too_large() {
        let found = |info: &[u8]| {
            let mut get = |option, buffer: &mut [u8]| {
                assert_eq!(option, GET_INFO);
                buffer.copy_from_slice(info);
                Ok(())
            };
            chains(88, &mut get).expect("chains")
        };
        assert_eq!(found(&info(152, 304, 456)), ["FORWARD"]);
        assert_eq!(found(&info(152, 152, MOST as u32 + 1)), ["FORWARD"]);
    }

    #[test]
    fn a_table_that_is_replaced_is_read_again() {
        let entries = entries(&[-2, -2, -2]);
        let info = info(152, 152, entries.len() as u32);
        assert_eq!(find(&info, &entries, ATTEMPTS - 1).expect("chains"), [""; 0]);
        let error = find(&info, &entries, ATTEMPTS).expect_err("always another");
        assert_eq!(error.raw_os_error(), Some(libc::EAGAIN));
    }
}
