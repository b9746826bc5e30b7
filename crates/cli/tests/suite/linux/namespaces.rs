//! A router made of the Linux kernel: two network namespaces, joined by one pair of virtual
//! Ethernet interfaces per port.
//!
//! The calling thread ends up in the outer namespace with the interfaces `p0`, `p1`, ...; their
//! peers `r0`, `r1`, ... are the router's ports. Everything is static (addresses, neighbours,
//! routes) and IPv6 is off outside, so the only frames are those that the test sends and the
//! router's reactions to them. The namespaces disappear with the last thread and the last
//! descriptor that hold them.

use std::fs::File;
use std::io::{self, Write};
use std::net::IpAddr;
use std::os::fd::AsRawFd;
use std::process::{Command, Stdio};

/// A port of the router.
#[derive(Clone, Debug)]
pub struct Port {
    /// The router's own address on the link.
    pub mac: [u8; 6],
    /// The next hop's MAC address.
    pub neighbour: [u8; 6],
    /// The link's MTU for IP packets, in bytes.
    pub mtu: u16,
    /// The router's own IP addresses, each with the length of its link's prefix.
    pub addresses: Vec<(IpAddr, u8)>,
    /// IP addresses of next hops on the link; all of them have the MAC address `neighbour`.
    pub gateways: Vec<IpAddr>,
}

#[derive(Clone, Copy, Debug)]
pub struct Route {
    /// The prefix's first address.
    pub prefix: IpAddr,
    pub length: u8,
    /// The gateway, one of some port's gateways.
    pub gateway: IpAddr,
}

/// The configuration of the router.
#[derive(Clone, Debug)]
pub struct Topology {
    pub ports: Vec<Port>,
    pub routes: Vec<Route>,
}

/// Formats a MAC address.
pub fn mac_text(mac: [u8; 6]) -> String {
    mac.map(|byte| format!("{byte:02x}")).join(":")
}

fn check(result: libc::c_int, what: &str) -> io::Result<()> {
    if result < 0 {
        let error = io::Error::last_os_error();
        return Err(io::Error::new(error.kind(), format!("{what}: {error}")));
    }
    Ok(())
}

/// Moves the thread into a new network namespace and returns a handle of it.
fn new_namespace() -> io::Result<File> {
    // SAFETY: changes the calling thread's namespace only.
    check(unsafe { libc::unshare(libc::CLONE_NEWNET) }, "a new network namespace")?;
    File::open("/proc/thread-self/ns/net")
}

/// Moves the thread into a namespace.
fn enter(namespace: &File) -> io::Result<()> {
    // SAFETY: the descriptor is open; changes the calling thread's namespace only.
    check(
        unsafe { libc::setns(namespace.as_raw_fd(), libc::CLONE_NEWNET) },
        "entering a network namespace",
    )
}

/// Pins the thread to one processor, so that the kernel forwards in the order in which the thread
/// sends.
fn stay_on_one_processor() -> io::Result<()> {
    // SAFETY: the set is initialised by zeroing, and has the size given.
    unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        let here = libc::sched_getcpu();
        check(here, "the processor at hand")?;
        libc::CPU_SET(here as usize, &mut set);
        check(
            libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &raw const set),
            "staying on a processor",
        )
    }
}

/// Runs commands of `ip`, one per line.
fn ip(commands: &str) -> io::Result<()> {
    let mut child = Command::new("ip")
        .args(["-batch", "-"])
        .stdin(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()?;
    child.stdin.take().expect("a pipe").write_all(commands.as_bytes())?;
    let output = child.wait_with_output()?;
    if output.status.success() {
        return Ok(());
    }
    Err(io::Error::other(format!("ip: {}", String::from_utf8_lossy(&output.stderr).trim())))
}

fn sysctl(name: &str, value: &str) -> io::Result<()> {
    std::fs::write(format!("/proc/sys/net/{name}"), value)
        .map_err(|error| io::Error::new(error.kind(), format!("net/{name}: {error}")))
}

/// Builds the router. The thread stays in the outer namespace. Returns the router's namespace,
/// which lasts as long as the returned file.
///
/// # Errors
/// Without the privileges, without `ip`, or if the kernel lacks virtual Ethernet.
pub fn build(topology: &Topology) -> io::Result<File> {
    stay_on_one_processor()?;
    let router = new_namespace()?;
    let outer = new_namespace()?;
    sysctl("ipv6/conf/all/disable_ipv6", "1")?;
    sysctl("ipv6/conf/default/disable_ipv6", "1")?;

    let place = format!("/proc/{}/fd/{}", std::process::id(), router.as_raw_fd());
    let mut commands = String::new();
    for (i, port) in topology.ports.iter().enumerate() {
        commands += &format!(
            "link add p{i} mtu 65535 address {} type veth peer name r{i} mtu 65535 address {} netns {place}\n\
             link set p{i} arp off up\n",
            mac_text(port.neighbour),
            mac_text(port.mac),
        );
    }
    ip(&commands)?;

    enter(&router)?;
    let built = configure(topology);
    enter(&outer)?;
    built.map(|()| router)
}

/// Configures the router's namespace, which the thread has entered.
fn configure(topology: &Topology) -> io::Result<()> {
    // Disable everything that is not requested: address detection, solicitations, and reverse-path
    // filtering, which is the task of the source lookup and tested there.
    for scope in ["all", "default"] {
        for (name, value) in [
            (format!("ipv4/conf/{scope}/forwarding"), "1"),
            (format!("ipv4/conf/{scope}/rp_filter"), "0"),
            (format!("ipv4/conf/{scope}/send_redirects"), "0"),
            (format!("ipv6/conf/{scope}/accept_dad"), "0"),
            (format!("ipv6/conf/{scope}/accept_ra"), "0"),
            (format!("ipv6/conf/{scope}/router_solicitations"), "0"),
            (format!("ipv6/conf/{scope}/forwarding"), "1"),
        ] {
            sysctl(&name, value)?;
        }
    }
    // Send an error for every packet that causes one, without a rate limit.
    sysctl("ipv4/icmp_ratelimit", "0")?;
    sysctl("ipv6/icmp/ratelimit", "0")?;

    let mut commands = String::from("link set lo up\n");
    for (i, port) in topology.ports.iter().enumerate() {
        commands += &format!("link set r{i} addrgenmode none mtu {} up\n", port.mtu);
        for (address, length) in &port.addresses {
            let no_detection = if address.is_ipv6() { "nodad" } else { "" };
            commands += &format!("address add {address}/{length} dev r{i} {no_detection}\n");
        }
        for gateway in &port.gateways {
            let mac = mac_text(port.neighbour);
            commands +=
                &format!("neighbour replace {gateway} lladdr {mac} dev r{i} nud permanent\n");
        }
    }
    for route in &topology.routes {
        commands += &format!("route add {}/{} via {}\n", route.prefix, route.length, route.gateway);
    }
    ip(&commands)
}
