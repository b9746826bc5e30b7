//! Kernel features that forwarding ignores: they decide where packets go, but the tables of the
//! program do not contain them.
//!
//! A packet that the machine forwards bypasses the kernel's firewall, for example. An operator has
//! to know that before the first packet, and when it changes later. [`ALL`] lists the conditions;
//! docs/operate/kernel.md shows the list. [`look`] finds the conditions that hold for the ports of
//! this process, or for the whole network namespace.

mod firewall;
mod multicast;
mod policies;
mod ports;
mod request;
mod rules;
mod xtables;

use std::collections::BTreeMap;
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
use crate::system::{interface_name, wait_for};

/// Whether forwarding starts although a condition holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AtStart {
    /// Forwarding starts only if the operator accepts the condition: packets would bypass rules
    /// that stop or change them, or would take another route.
    Refused,
    /// Forwarding starts with a warning: some packets are treated differently.
    Warned,
}

/// A kernel feature that decides where packets go and that the tables do not follow.
pub struct Condition {
    /// The name of the condition in options and metrics.
    pub name: &'static str,
    pub at_start: AtStart,
    /// The effect on packets in the kernel, and on packets that the machine forwards.
    pub effect: &'static str,
    /// Where the kernel reports the feature.
    pub source: &'static str,
    /// Returns a description of each match, or `None` if the condition does not hold.
    find: fn(&Place) -> io::Result<Option<String>>,
}

/// All conditions, ordered by severity, most severe first.
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

/// The ports of this process, and what matters about how they are served.
#[derive(Clone, Debug)]
pub struct Place {
    /// Interface indices.
    pub ports: Vec<u32>,
    /// The kernel's routing tables that the mirror follows.
    pub tables: Vec<u32>,
    /// Whether the program hands packets without a route to their source to the kernel.
    pub checks_sources: bool,
    /// The interfaces at which tagged frames have arrived.
    pub tagged: Arc<Tagged>,
}

impl Place {
    /// Returns the place of a program. Returns `None` if no table of the program follows the
    /// kernel's routes: such a program does not replace the kernel's forwarding.
    pub fn of(program: &ir::Program, ports: &[Option<u32>], tables: &[u32]) -> Option<Self> {
        let engine = &program.engines[program.main.index()];
        engine.offloads.iter().any(|offload| TABLES.contains(&&offload.name[..])).then(|| Self {
            ports: ports.iter().flatten().copied().collect(),
            tables: tables.to_vec(),
            checks_sources: hands_over(program, "SOURCE_UNKNOWN"),
            tagged: Arc::default(),
        })
    }

    /// Returns the index and present name of each port.
    fn names(&self) -> impl Iterator<Item = (u32, String)> {
        self.ports.iter().filter_map(|index| Some((*index, interface_name(*index)?)))
    }

    fn follows_default_tables(&self) -> bool {
        self.tables == LOCAL_AND_MAIN
    }
}

/// Returns whether the main engine hands packets to the CPU for the reason with this name.
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
    pub condition: String,
    /// The detail, in words.
    pub detail: String,
}

/// Returns the conditions that hold now. A condition that the kernel fails to report counts as
/// holding.
pub fn look(place: &Place) -> Vec<Found> {
    let found = ALL.iter().filter_map(|condition| {
        let detail = match (condition.find)(place) {
            Ok(detail) => detail?,
            // This kernel does not have the feature.
            Err(error) if is_absent(&error) => return None,
            Err(error) => format!("the kernel does not tell: {error}"),
        };
        Some(Found { condition: condition.name.into(), detail })
    });
    found.collect()
}

/// Fails if conditions hold that are neither accepted nor only warned about. Returns the warnings.
///
/// # Errors
/// The error lists all refused conditions, and the options that accept them.
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

/// A subscription to kernel changes after which conditions may differ.
pub struct Changes(Socket);

impl Changes {
    /// Subscribes to the kernel's notifications.
    ///
    /// # Errors
    /// If the kernel refuses.
    pub fn subscribe() -> Result<Self> {
        /// `RTNLGRP_...`: links, qdiscs, rules, and the settings of IPv4 and IPv6 interfaces.
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

    /// Waits for a change, at most for `patience`.
    ///
    /// # Errors
    /// If the kernel refuses.
    pub fn wait(&self, patience: Duration) -> io::Result<()> {
        wait_for(&[self.0.as_raw_fd()], patience)?;
        // The content does not matter: all conditions are checked again.
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

/// Returns whether an error means that the kernel does not have the feature.
fn is_absent(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::NotFound
        || matches!(
            error.raw_os_error(),
            Some(libc::EPROTONOSUPPORT | libc::EOPNOTSUPP | libc::ENOPROTOOPT | libc::EAFNOSUPPORT)
        )
}

/// Joins the first few texts, and counts the rest.
fn shortened(texts: &[String]) -> String {
    const SHOWN: usize = 4;
    let shown = texts[..texts.len().min(SHOWN)].join(", ");
    match texts.len().checked_sub(SHOWN) {
        Some(more @ 1..) => format!("{shown} and {more} more"),
        _ => shown,
    }
}

fn text_of(value: &[u8]) -> String {
    let end = value.iter().position(|byte| *byte == 0).unwrap_or(value.len());
    String::from_utf8_lossy(&value[..end]).into_owned()
}

#[cfg(test)]
mod tests;
