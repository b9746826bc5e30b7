//! Live forwarding between the network interfaces of this computer, with the Linux kernel as
//! control plane.
//!
//! ```text
//!   eth1 ── AF_XDP ─> machine ─> AF_XDP ──> eth2
//!                        └─ to_cpu ─> twin ─> receive path of eth1 ─> kernel
//! ```
//!
//! A [port](port::Port) takes the frames that an interface receives from the kernel. It uses a BPF
//! program in the driver and AF_XDP sockets ([`port`]'s `xdp`). Where AF_XDP is not available, it
//! uses a packet socket and a BPF program at the ingress, which drops the kernel's copy
//! ([`ingress`]). A packet that the machine hands `to_cpu` is written to a TAP device, the port's
//! [`shadow_tap`]. Another program moves it from there into the receive path of the port, after the
//! programs of the port. The kernel processes it as if the port had just received it. Therefore
//! addresses, ARP, neighbour discovery, routing daemons and ICMP errors work unchanged, and each
//! packet is processed once.
//!
//! The kernel removes sockets, TAP devices and BPF links when the descriptors that hold them close.
//! Hence the interfaces return to their former state however the process ends, SIGKILL included.
//! The programs of ports are removed before everything else ([`holder`]).
//!
//! [`Mirror`] follows the kernel's routes, neighbours and links and returns them as updates of a
//! router's tables. [`Forwarder`] connects these parts.
//!
//! On systems other than Linux this crate is empty.

#![cfg(target_os = "linux")]

mod bpf;
pub mod conditions;
mod control;
mod forwarder;
mod forwards;
mod holder;
mod ingress;
mod memory;
mod mirror;
mod police;
mod port;
mod removal;
mod rights;
mod segment;
mod shadow_tap;
mod stop;
mod system;
mod wakeup;

pub use control::Control;
pub use forwarder::{Forwarder, Observer, Paused, PortCounters, Worker};
pub use forwards::{Barred, Tagged};
pub use memory::Memory;
pub use mirror::{LOCAL_AND_MAIN, Mirror, MirrorCounters, RunningMirror, TABLES};
pub use police::{DEFAULT_RATE, Limits};
pub use port::{Exchange, Io, memory as port_memory};
pub use rights::{
    Capability, KERNEL_RIGHTS, MIRROR_RIGHTS, RELOAD_RIGHTS, TABLE_RIGHTS, give_up_all_but,
    unless_lacking,
};
pub use stop::Stop;
pub use wakeup::{Attention, Bell};
pub use wireloom_xdp::{
    Comparison, Event, Events, Header, InKernel, Interface, Live, Place, Test, Watch,
    WatchedPrograms,
};

use wireloom_machine::{Error, Result};

/// Returns the interface index of each port: `None` for TAP devices and captures.
///
/// # Errors
/// If there is no such interface.
pub fn interfaces(names: &[String]) -> Result<Vec<Option<u32>>> {
    names.iter().map(|name| port::interface(name)).collect()
}

/// Returns the interfaces that are ports of an engine in the kernel.
///
/// # Errors
/// If a name does not exist, is named twice, or is not an interface.
pub fn kernel_ports(names: &[String]) -> Result<Vec<Interface>> {
    let mut ports: Vec<Interface> = Vec::new();
    for name in names {
        let index = port::interface(name)?.ok_or_else(|| {
            Error::new(format!("port {name}: --io kernel needs interfaces of the kernel"))
        })?;
        port::unless_taken(name, index, ports.iter().map(|port| (&port.name[..], port.index)))?;
        ports.push(Interface { name: name.clone(), index });
    }
    Ok(ports)
}
