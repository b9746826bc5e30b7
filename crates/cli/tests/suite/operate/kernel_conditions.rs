//! Kernel features that forwarding ignores: the detection of each, while packets are forwarded and
//! at the start.

use std::fs;
use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, TcpStream, UdpSocket};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::process::Command;

use serde_json::Value;

use super::{CONFIG, Operated, TRY, address, text, until, wireloom};
use crate::echo::Echo;
use crate::network::{Namespace, Network};

/// A value that keeps a condition in effect while it lives.
type Kept = Box<dyn std::any::Any + Send>;

/// A condition with the way to create and undo it: words of `ip`, or a function.
struct Made {
    name: &'static str,
    make: fn(&Namespace) -> io::Result<Kept>,
    undo: fn(&Namespace),
}

fn nothing() -> io::Result<Kept> {
    Ok(Box::new(()))
}

const CONDITIONS: [Made; 9] = [
    Made {
        name: "netfilter",
        make: |router| {
            router
                .run(|| nft(&[table(NEW_TABLE), chain_that_drops()]))
                .map(|()| Box::new(()) as Kept)
        },
        undo: |router| router.run(|| nft(&[table(DELETE_TABLE)])).expect("the table goes"),
    },
    Made {
        name: "ipsec",
        make: |router| {
            router.ip("xfrm policy add dir fwd src 10.8.0.0/24 dst 10.9.0.0/24 action block\n");
            nothing()
        },
        undo: |router| router.ip("xfrm policy flush\n"),
    },
    Made {
        name: "ip-rule",
        make: |router| {
            router.ip("rule add from 10.8.0.0/16 lookup 100\n");
            nothing()
        },
        undo: |router| router.ip("rule del from 10.8.0.0/16 lookup 100\n"),
    },
    Made {
        name: "master",
        make: |router| {
            router.ip("link add br0 type bridge\nlink set r2 master br0\n");
            nothing()
        },
        undo: |router| router.ip("link del br0\n"),
    },
    Made {
        name: "multicast-routes",
        make: |router| router.run(multicast_router).map(|socket| Box::new(socket) as Kept),
        undo: |_| {},
    },
    Made {
        name: "multicast-groups",
        make: |router| {
            router.run(|| {
                let socket = UdpSocket::bind("0.0.0.0:0")?;
                socket
                    .join_multicast_v4(&Ipv4Addr::new(239, 1, 2, 3), &Ipv4Addr::new(10, 0, 1, 1))?;
                Ok(Box::new(socket) as Kept)
            })
        },
        undo: |_| {},
    },
    Made {
        name: "rp-filter",
        make: |router| {
            router.set("ipv4/conf/r1/rp_filter", "1");
            nothing()
        },
        undo: |router| router.set("ipv4/conf/r1/rp_filter", "0"),
    },
    Made {
        name: "traffic-control",
        make: |router| tc(router, "qdisc add dev r2 root tbf rate 1gbit burst 1mb latency 10ms"),
        undo: |router| _ = tc(router, "qdisc del dev r2 root").expect("it goes"),
    },
    Made {
        name: "no-forwarding",
        make: |router| {
            router.set("ipv4/conf/r1/forwarding", "0");
            nothing()
        },
        undo: |router| router.set("ipv4/conf/r1/forwarding", "1"),
    },
];

fn tc(router: &Namespace, words: &str) -> io::Result<Kept> {
    let output = router.run(|| Command::new("tc").args(words.split(' ')).output())?;
    match output.status.success() {
        true => nothing(),
        false => Err(io::Error::other(text(&output.stderr))),
    }
}

fn socket(domain: libc::c_int, kind: libc::c_int, protocol: libc::c_int) -> io::Result<OwnedFd> {
    // SAFETY: plain system call; the descriptor is new.
    unsafe {
        match libc::socket(domain, kind | libc::SOCK_CLOEXEC, protocol) {
            ..0 => Err(io::Error::last_os_error()),
            fd => Ok(OwnedFd::from_raw_fd(fd)),
        }
    }
}

fn set(socket: &OwnedFd, level: libc::c_int, option: libc::c_int, value: &[u8]) -> io::Result<()> {
    let (fd, length) = (socket.as_raw_fd(), value.len() as libc::socklen_t);
    // SAFETY: the value has the length given.
    match unsafe { libc::setsockopt(fd, level, option, value.as_ptr().cast(), length) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Begins as a multicast routing daemon does: makes the kernel route groups that arrive on r1.
fn multicast_router() -> io::Result<OwnedFd> {
    const MRT_INIT: libc::c_int = 200;
    const MRT_ADD_VIF: libc::c_int = 202;
    let socket = socket(libc::AF_INET, libc::SOCK_RAW, libc::IPPROTO_IGMP)?;
    set(&socket, libc::IPPROTO_IP, MRT_INIT, &1i32.to_ne_bytes())?;
    // `struct vifctl`: number, flags, threshold, rate, local and remote address.
    let interface = [0, 0, 0, 1, 0, 0, 0, 0, 10, 0, 1, 1, 0, 0, 0, 0];
    set(&socket, libc::IPPROTO_IP, MRT_ADD_VIF, &interface)?;
    Ok(socket)
}

const NEW_TABLE: u16 = 10 << 8;
const DELETE_TABLE: u16 = 10 << 8 | 2;
const NEW_CHAIN: u16 = 10 << 8 | 3;
const CREATE: u16 = 0x400;

fn attribute(kind: u16, value: &[u8]) -> Vec<u8> {
    let mut bytes = (value.len() as u16 + 4).to_ne_bytes().to_vec();
    bytes.extend(kind.to_ne_bytes());
    bytes.extend(value);
    bytes.resize(bytes.len().next_multiple_of(4), 0);
    bytes
}

fn message(number: u16, flags: u16, family: u8, subsystem: u8, attributes: &[u8]) -> Vec<u8> {
    const REQUEST: u16 = 1;
    let mut bytes = (20 + attributes.len() as u32).to_ne_bytes().to_vec();
    bytes.extend(number.to_ne_bytes());
    bytes.extend((REQUEST | flags).to_ne_bytes());
    bytes.extend([0; 8]);
    bytes.extend([family, 0, 0, subsystem]);
    bytes.extend(attributes);
    bytes
}

const INET: u8 = 1;

fn table(number: u16) -> Vec<u8> {
    let flags = if number == NEW_TABLE { CREATE } else { 0 };
    message(number, flags, INET, 0, &attribute(1, b"t\0"))
}

/// Encodes the chain `c` at the hook `forward` with the policy `drop`.
fn chain_that_drops() -> Vec<u8> {
    let hook = [attribute(1, &2u32.to_be_bytes()), attribute(2, &0u32.to_be_bytes())].concat();
    const NESTED: u16 = 0x8000;
    let attributes = [
        attribute(1, b"t\0"),
        attribute(3, b"c\0"),
        attribute(4 | NESTED, &hook),
        attribute(5, &0u32.to_be_bytes()),
        attribute(7, b"filter\0"),
    ];
    message(NEW_CHAIN, CREATE, INET, 0, &attributes.concat())
}

/// Applies changes with nftables, all or none.
fn nft(changes: &[Vec<u8>]) -> io::Result<()> {
    const NFTABLES: u8 = 10;
    const ACKNOWLEDGE: u16 = 4;
    let socket = socket(libc::AF_NETLINK, libc::SOCK_RAW, libc::NETLINK_NETFILTER)?;
    let (begin, end) = (message(16, 0, 0, NFTABLES, &[]), message(17, 0, 0, NFTABLES, &[]));
    let mut batch = [&begin[..], &changes.concat(), &end].concat();
    // The acknowledgement of the last change confirms all of them.
    let last = begin.len() + changes[..changes.len() - 1].concat().len();
    batch[last + 6] |= ACKNOWLEDGE as u8;
    let mut reply = [0; 4096];
    // SAFETY: both buffers have the sizes given.
    let length = unsafe {
        libc::send(socket.as_raw_fd(), batch.as_ptr().cast(), batch.len(), 0);
        libc::recv(socket.as_raw_fd(), reply.as_mut_ptr().cast(), reply.len(), 0)
    };
    let code = i32::from_ne_bytes(reply[16..20].try_into().expect("four bytes"));
    match (length, code) {
        (20.., 0) => Ok(()),
        (20.., code) => Err(io::Error::from_raw_os_error(-code)),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Queries the table `filter` of iptables, which creates it. Its chains are empty and accept
/// packets.
fn iptables() -> io::Result<()> {
    const GET_INFO: libc::c_int = 64;
    let socket = socket(libc::AF_INET, libc::SOCK_DGRAM, 0)?;
    let (mut info, mut length) = ([0u8; 84], 84);
    info[..6].copy_from_slice(b"filter");
    let info = info.as_mut_ptr().cast();
    // SAFETY: the buffer has the length given.
    let got = unsafe {
        libc::getsockopt(socket.as_raw_fd(), libc::IPPROTO_IP, GET_INFO, info, &raw mut length)
    };
    if got == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Sends a frame out of an interface.
fn send(interface: &str, frame: &[u8]) -> io::Result<()> {
    let socket = socket(libc::AF_PACKET, libc::SOCK_RAW, 0)?;
    let name = std::ffi::CString::new(interface)?;
    // SAFETY: the name ends with a zero, all zeros is a valid address, and both outlive the calls.
    let sent = unsafe {
        let mut to: libc::sockaddr_ll = std::mem::zeroed();
        to.sll_family = libc::AF_PACKET as u16;
        to.sll_ifindex = libc::if_nametoindex(name.as_ptr()) as i32;
        let (to, length) = ((&raw const to).cast(), size_of::<libc::sockaddr_ll>() as u32);
        libc::sendto(socket.as_raw_fd(), frame.as_ptr().cast(), frame.len(), 0, to, length)
    };
    if sent < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

fn found(operated: &Operated) -> Vec<String> {
    let status = operated.asked(&["status"]);
    let found = status["unfollowed"].as_array().expect("conditions").iter();
    found.map(|found| found["condition"].as_str().expect("a name").to_owned()).collect()
}

/// Creates all conditions that this kernel supports, and returns their names.
fn make(router: &Namespace) -> (Vec<&'static Made>, Vec<Kept>) {
    let (mut made, mut kept) = (Vec::new(), Vec::new());
    for condition in &CONDITIONS {
        match (condition.make)(router) {
            Ok(thing) => {
                made.push(condition);
                kept.push(thing);
            }
            Err(error) => {
                eprintln!("warning: {} was not tested: {error}", condition.name);
            }
        }
    }
    (made, kept)
}

#[test]
fn ignored_kernel_features_are_named_when_they_appear_and_at_the_start() {
    let config = format!("{CONFIG}metrics = \"127.0.0.1:9100\"\n");
    let folder = tempfile::tempdir().expect("a temporary folder");
    // The state of usual systems is no condition: a loose filter, and firewall tables without
    // rules.
    let prepare = |network: &Network| {
        let router = &network.router;
        router.set("ipv4/conf/all/rp_filter", "2");
        if let Err(error) = router.run(iptables) {
            eprintln!("warning: iptables was not tested: {error}");
        }
        router.run(|| nft(&[table(NEW_TABLE)])).ok();
    };
    let started = Operated::start_after(folder, &config, &[], &[], prepare);
    let Some(mut operated) = started else { return };
    assert_eq!(found(&operated), [""; 0]);
    operated.forwards();
    let router = &operated.network.router;
    router.run(|| nft(&[table(DELETE_TABLE)])).ok();
    router.set("ipv4/conf/all/rp_filter", "0");

    let (made, kept) = make(router);
    let names: Vec<&str> = made.iter().map(|condition| condition.name).collect();
    until(&format!("{names:?}"), || (found(&operated) == names).then_some(()));
    let shown = text(&operated.ctl(&["status"]).stdout);
    let metrics = router.run(|| {
        let mut stream = TcpStream::connect("127.0.0.1:9100").expect("an endpoint");
        stream.write_all(b"GET /metrics HTTP/1.0\r\n\r\n").expect("a request");
        let mut response = String::new();
        stream.read_to_string(&mut response).expect("a response");
        response
    });
    for name in &names {
        assert!(shown.contains(&format!("not followed: {name}: ")), "{shown}");
        let metric = format!("wireloom_unfollowed{{condition=\"{name}\"}} 1\n");
        assert!(metrics.contains(&metric), "{metrics}");
    }

    // At the start all refused conditions are named, with the option that accepts them.
    let path = operated.path("forward.toml");
    let own = fs::read_to_string(&path).expect("a file").replace("control\"", "second\"");
    let second = operated.path("second.toml");
    fs::write(&second, own.replace("9100", "9101")).expect("a file");
    let second = second.to_str().expect("a path").to_owned();
    let start = |options: &[&str]| {
        let args = [&["forward", "--config", &second], options].concat();
        router.run(|| wireloom(&args).output().expect("the command"))
    };
    let refused = start(&[]);
    let err = text(&refused.stderr);
    assert_eq!(refused.status.code(), Some(2), "{err}");
    let warned = ["multicast-groups", "rp-filter", "traffic-control", "no-forwarding"];
    for name in &names {
        let is_accepted = err.contains(&format!("--accept {name}"));
        assert_eq!(is_accepted, !warned.contains(name), "{name}: {err}");
    }
    // With all of them accepted the command gets as far as the ports, which the first forwarder
    // holds.
    let accepted: Vec<&str> = names.iter().flat_map(|name| ["--accept", name]).collect();
    let accepted = start(&accepted);
    let err = text(&accepted.stderr);
    assert!(err.contains("another process forwards on it"), "{err}");
    assert!(!err.contains(" WARN "), "{err}");

    // A VLAN frame: a detected condition stays in the report.
    operated.network.left.run(|| {
        let tagged =
            [&[0xff; 6][..], &[2, 0, 0, 0, 1, 2], &[0x81, 0, 0, 5, 8, 0], &[0; 46]].concat();
        send("ha", &tagged).expect("a frame");
    });
    until("tagged frames", || found(&operated).contains(&"vlan-tags".into()).then_some(()));

    drop(kept);
    made.iter().for_each(|condition| (condition.undo)(router));
    until("no other condition", || (found(&operated) == ["vlan-tags"]).then_some(()));
    operated.reaches_the_right();
    operated.signal(libc::SIGTERM);
    let (status, _, err) = operated.end();
    assert_eq!(status, Some(0), "{err}");
    for name in names {
        assert_eq!(err.matches(&format!("WARN {name}: ")).count(), 1, "{err}");
        assert_eq!(err.matches(&format!("INFO {name}: no longer holds")).count(), 1, "{err}");
    }
}

#[test]
fn a_port_whose_forwarding_is_switched_off_forwards_nothing() {
    let Some(operated) = Operated::start(CONFIG, &[]) else { return };
    operated.forwards();
    let router = &operated.network.router;
    let not_forwarded = || operated.asked(&["status"])["ports"][0]["not_forwarded"].as_u64();
    assert_eq!(not_forwarded(), Some(0));
    router.set("ipv4/conf/r1/forwarding", "0");
    until("packets are not forwarded", || {
        operated.network.left.run(|| Echo::open(address("10.0.2.2"), 64).send());
        not_forwarded().filter(|packets| *packets > 0)
    });
    operated.network.left.run(|| {
        let mut echo = Echo::open(address("10.0.2.2"), 64);
        echo.send();
        assert_eq!(echo.receive(TRY), None);
    });
    let status: Value = operated.asked(&["status"]);
    assert_eq!(status["unfollowed"][0]["condition"], "no-forwarding", "{status}");
    router.set("ipv4/conf/r1/forwarding", "1");
    operated.reaches_the_right();
}
