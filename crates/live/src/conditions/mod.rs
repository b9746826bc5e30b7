//! Kernel features that forwarding ignores: they decide where packets go, and are not in the tables of
//! the program.
//!
//! A packet that the machine forwards does not pass the kernel's firewall, for example. Where that
//! is so, an operator has to know: before the first packet, and when it changes later. [`ALL`] is
//! the list, docs/operate/kernel.md shows it. [`look`] finds which of them hold, for the ports of
//! this process and for what concerns the whole network namespace.

mod firewall;
mod multicast;
mod policies;
mod ports;
mod request;
mod rules;
mod xtables;

use std::collections::BTreeMap;
use std::ffi::{CStr, c_char};
use std::fs;
use std::io;
use std::os::fd::AsRawFd;
use std::sync::Arc;
use std::time::Duration;

use netlink_sys::{Socket, protocols::NETLINK_ROUTE};
use serde::{Deserialize, Serialize};
use wireloom_ir::{self as ir, Exit, OpKind, Value};
use wireloom_machine::{Error, Result};

use crate::forwards::Tagged;
use crate::mirror::{LOCAL_AND_MAIN, TABLES};
use crate::system::wait_for;

/// Whether forwarding starts although a condition holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AtStart {
    /// Only if it is accepted: packets would bypass rules that stop or change them, or take another
    /// route.
    Refused,
    /// With a warning: some packets are treated in another way.
    Warned,
}

/// Something in the kernel that decides where packets go, and that the tables do not follow.
pub struct Condition {
    /// The name, for options and metrics.
    pub name: &'static str,
    /// The effect on a start.
    pub at_start: AtStart,
    /// The effect on packets in the kernel, and on those that the machine forwards.
    pub effect: &'static str,
    /// Where the kernel says it.
    pub source: &'static str,
    /// Returns what holds, in words.
    find: fn(&Place) -> io::Result<Option<String>>,
}

/// All conditions, the most severe first.
pub const ALL: [Condition; 10] = [
    Condition {
        name: "netfilter",
        at_start: AtStart::Refused,
        effect: "rules of nftables and iptables (prerouting, forward, postrouting, ingress, egress) \
                 do not see packets that the machine forwards",
        source: "base chains with rules or another policy than `accept`",
        find: netfilter,
    },
    Condition {
        name: "ipsec",
        at_start: AtStart::Refused,
        effect: "packets that a policy discards or protects are forwarded as they are",
        source: "`ip xfrm policy` of `fwd` and `out`, that block or have a template; defaults that block",
        find: policies::find,
    },
    Condition {
        name: "ip-rule",
        at_start: AtStart::Refused,
        effect: "all packets are forwarded by the tables that are followed, in their order",
        source: "`ip rule` with conditions that packets of the ports may meet, with another action than \
                 a table, or with other tables than `local` and `main` if `--table` is not given",
        find: rules::find,
    },
    Condition {
        name: "master",
        at_start: AtStart::Refused,
        effect: "frames of the port are not switched or routed by the bridge, bond or VRF that it is in",
        source: "`master` of `ip link`",
        find: ports::master,
    },
    Condition {
        name: "multicast-routes",
        at_start: AtStart::Refused,
        effect: "packets to groups are not forwarded: the program drops them",
        source: "`mc_forwarding` of the ports, which a routing daemon sets",
        find: multicast::routes,
    },
    Condition {
        name: "multicast-groups",
        at_start: AtStart::Warned,
        effect: "packets to groups that a process on this computer has joined do not reach it, unless \
                 the group is of the link (224.0.0.0/24, ff02::/16)",
        source: "`ip maddr` of the ports",
        find: multicast::groups,
    },
    Condition {
        name: "rp-filter",
        at_start: AtStart::Warned,
        effect: "IPv4 packets are forwarded whose source the kernel's filter would refuse",
        source: "`rp_filter` of the ports: 1, or 2 and the program does not check sources",
        find: ports::reverse_path,
    },
    Condition {
        name: "traffic-control",
        at_start: AtStart::Warned,
        effect: "queueing disciplines and filters of `tc` do not see packets that the machine forwards",
        source: "qdiscs of the ports other than noqueue, mq, pfifo_fast, pfifo, fq, fq_codel; filters at \
                 `ingress` and `clsact`",
        find: ports::traffic_control,
    },
    Condition {
        name: "vlan-tags",
        at_start: AtStart::Warned,
        effect: "frames are the program's to understand, whatever their tag: the kernel takes those of its \
                 VLAN devices only, as from these",
        source: "a frame of a VLAN that has arrived at a port; not seen with `--io kernel`",
        find: ports::tagged,
    },
    Condition {
        name: "no-forwarding",
        at_start: AtStart::Warned,
        effect: "packets of the port are not forwarded, as by the kernel; with `--io kernel` they are",
        source: "`forwarding` 0 for IPv4; for IPv6 `all/forwarding` 0, or `disable_ipv6` 1",
        find: ports::not_forwarding,
    },
];

/// The ports, and how they are served.
#[derive(Clone, Debug)]
pub struct Place {
    /// Indices of the interfaces.
    pub ports: Vec<u32>,
    /// The kernel's tables that are followed.
    pub tables: Vec<u32>,
    /// The program hands packets without a route to their source to the kernel.
    pub checks_sources: bool,
    /// Where tagged frames have arrived.
    pub tagged: Arc<Tagged>,
}

impl Place {
    /// The place of a program. `None` if no table of it follows the kernel's routes, so that it does
    /// not stand in for the kernel.
    pub fn of(program: &ir::Program, ports: &[Option<u32>], tables: &[u32]) -> Option<Self> {
        let engine = &program.engines[program.main.index()];
        engine.offloads.iter().any(|offload| TABLES.contains(&&offload.name[..])).then(|| Self {
            ports: ports.iter().flatten().copied().collect(),
            tables: tables.to_vec(),
            checks_sources: hands_over(program, "SOURCE_UNKNOWN"),
            tagged: Arc::default(),
        })
    }

    /// The ports with their present names.
    fn names(&self) -> impl Iterator<Item = (u32, String)> {
        self.ports.iter().filter_map(|index| Some((*index, interface_name(*index)?)))
    }

    fn follows_default_tables(&self) -> bool {
        self.tables == LOCAL_AND_MAIN
    }
}

/// Whether the main engine hands packets to the cpu for a reason of this name.
fn hands_over(program: &ir::Program, name: &str) -> bool {
    let engine = &program.engines[program.main.index()];
    engine.steps.iter().any(|step| {
        let mut makers: BTreeMap<Value, &OpKind> = BTreeMap::new();
        let mut reasons = Vec::new();
        let blocks = match &step.code {
            ir::Code::Sequential(block) => vec![block],
            ir::Code::Regions { request, edit, jump } => vec![request, edit, jump],
        };
        for block in blocks {
            block.for_each_op(&mut |op| {
                makers.extend(op.results.iter().map(|result| (*result, &op.kind)));
                if let OpKind::Exit(Exit::ToCpu(reason, set)) = op.kind {
                    let members = &program.reasons[set.index()].members;
                    let number = members.iter().find(|(_, own)| own == name);
                    reasons.extend(number.map(|(number, _)| (reason, u128::from(*number))));
                }
            });
        }
        while let Some((value, number)) = reasons.pop() {
            match makers.get(&value) {
                Some(OpKind::Const(bits)) if bits.to_u128() == Some(number) => return true,
                Some(OpKind::Select(_, yes, no)) => reasons.extend([(*yes, number), (*no, number)]),
                Some(OpKind::Extend(of)) => reasons.push((*of, number)),
                _ => {}
            }
        }
        false
    })
}

/// A condition that holds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Found {
    /// The name of the condition.
    pub condition: String,
    /// The detail, in words.
    pub detail: String,
}

/// Returns the conditions that hold now. What the kernel does not tell may hold.
pub fn look(place: &Place) -> Vec<Found> {
    let found = ALL.iter().filter_map(|condition| {
        let detail = match (condition.find)(place) {
            Ok(detail) => detail?,
            // The kernel, or this one, lacks it.
            Err(error) if is_absent(&error) => return None,
            Err(error) => format!("the kernel does not tell: {error}"),
        };
        Some(Found { condition: condition.name.into(), detail })
    });
    found.collect()
}

/// Fails if conditions hold that are neither accepted nor only warned of. Returns the warnings.
///
/// # Errors
/// With all of them, and the options that accept them.
pub fn check(found: &[Found], accepted: &[String]) -> Result<Vec<String>> {
    let mut refused: Vec<&Found> = Vec::new();
    let mut warnings = Vec::new();
    for found in found.iter().filter(|found| !accepted.contains(&found.condition)) {
        match by_name(&found.condition).map(|condition| condition.at_start) {
            Some(AtStart::Refused) => refused.push(found),
            _ => warnings.push(found.text()),
        }
    }
    if refused.is_empty() {
        return Ok(warnings);
    }
    let texts: Vec<String> = refused.iter().map(|found| found.text()).collect();
    let options: Vec<String> =
        refused.iter().map(|found| format!("--accept {}", found.condition)).collect();
    Err(Error::new(format!(
        "kernel features that forwarding ignores are in use: {}",
        texts.join("; ")
    ))
    .with_help(format!(
        "remove it, or forward nevertheless with `{}` (`wireloom docs operate/kernel`)",
        options.join(" ")
    )))
}

impl Found {
    /// Describes the detail and its effect on packets.
    pub fn text(&self) -> String {
        let effect = by_name(&self.condition).map_or("", |condition| condition.effect);
        format!("{}: {}: {effect}", self.condition, self.detail)
    }
}

fn by_name(name: &str) -> Option<&'static Condition> {
    ALL.iter().find(|condition| condition.name == name)
}

/// A subscription to changes that may matter.
pub struct Changes(Socket);

impl Changes {
    /// Subscribes.
    ///
    /// # Errors
    /// If the kernel refuses.
    pub fn subscribe() -> Result<Self> {
        /// `RTNLGRP_...`: links, qdiscs, rules and settings of interfaces of IPv4 and IPv6.
        const GROUPS: [u32; 6] = [1, 4, 8, 19, 24, 25];
        let subscribed = || {
            let mut socket = Socket::new(NETLINK_ROUTE)?;
            socket.bind_auto()?;
            for group in GROUPS {
                socket.add_membership(group)?;
            }
            socket.set_non_blocking(true)?;
            Ok(Self(socket))
        };
        subscribed().map_err(|error: io::Error| Error::new(format!("notifications: {error}")))
    }

    /// Waits for a change, for at most this time.
    ///
    /// # Errors
    /// If the kernel refuses.
    pub fn wait(&self, patience: Duration) -> io::Result<()> {
        wait_for(&[self.0.as_raw_fd()], patience)?;
        // What changed does not matter: everything is looked at.
        let mut nothing: &mut [u8] = &mut [];
        while self.0.recv(&mut nothing, libc::MSG_TRUNC).is_ok() {}
        Ok(())
    }
}

fn netfilter(place: &Place) -> io::Result<Option<String>> {
    let mut found = Vec::new();
    for part in [firewall::find(place), xtables::find()] {
        match part {
            Ok(part) => found.extend(part),
            Err(error) if is_absent(&error) => {}
            Err(error) => return Err(error),
        }
    }
    Ok((!found.is_empty()).then(|| shortened(&found)))
}

/// Whether an error says that the kernel does not have what is asked for.
fn is_absent(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::NotFound
        || matches!(
            error.raw_os_error(),
            Some(libc::EPROTONOSUPPORT | libc::EOPNOTSUPP | libc::ENOPROTOOPT | libc::EAFNOSUPPORT)
        )
}

/// Joins the first of several texts.
fn shortened(texts: &[String]) -> String {
    const SHOWN: usize = 4;
    let shown = texts[..texts.len().min(SHOWN)].join(", ");
    match texts.len().checked_sub(SHOWN) {
        Some(more @ 1..) => format!("{shown} and {more} more"),
        _ => shown,
    }
}

/// The present name of an interface.
pub fn interface_name(index: u32) -> Option<String> {
    let mut name: [c_char; libc::IF_NAMESIZE] = [0; libc::IF_NAMESIZE];
    // SAFETY: the buffer has the size that the function requires, which ends it with a zero.
    unsafe {
        let name = libc::if_indextoname(index, name.as_mut_ptr());
        (!name.is_null()).then(|| CStr::from_ptr(name).to_string_lossy().into_owned())
    }
}

/// A number below `/proc/sys/net`; `None` if there is no such setting.
pub fn setting(path: &str) -> Option<u32> {
    fs::read_to_string(format!("/proc/sys/net/{path}")).ok()?.trim().parse().ok()
}

fn text_of(value: &[u8]) -> String {
    let end = value.iter().position(|byte| *byte == 0).unwrap_or(value.len());
    String::from_utf8_lossy(&value[..end]).into_owned()
}

#[cfg(test)]
mod tests;
