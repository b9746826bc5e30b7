//! Engines in the middle of a wire between two hosts, with the protocols of Linux as the reference.

use std::io::ErrorKind;
use std::net::{SocketAddr, TcpStream, UdpSocket};
use std::os::fd::AsRawFd;

use super::{Forwarding, count, transfer};
use crate::network::{Namespace, Network};
use crate::patience::{address, patience};

const LEFT: &str = "10.9.0.5";
const RIGHT: &str = "10.9.0.9";

/// Starts an engine between the two hosts, which are on one network then.
fn between_hosts(program: &str, way: &[&str]) -> Option<(Network, Forwarding)> {
    between_hosts_of_mtu(program, way, 1500)
}

/// As [`between_hosts`], with another MTU at the right host.
fn between_hosts_of_mtu(program: &str, way: &[&str], mtu: u32) -> Option<(Network, Forwarding)> {
    let network = match Network::new() {
        Ok(network) => network,
        Err(error) => {
            eprintln!("warning: nothing was tested: {error}");
            return None;
        }
    };
    for name in ["ipv4/ip_forward", "ipv6/conf/all/forwarding"] {
        network.router.set(name, "0");
    }
    for (host, device, address) in [(&network.left, "ha", LEFT), (&network.right, "hb", RIGHT)] {
        host.ip(&format!("address add {address}/24 dev {device}\n"));
    }
    network.router.ip(&format!("link set r2 mtu {mtu}\n"));
    network.right.ip(&format!("link set hb mtu {mtu}\n"));
    let forwarding = Forwarding::start_program(program, &network.router, &["r1", "r2"], way)?;
    Some((network, forwarding))
}

/// The left host is outside, and the engine completes its connections.
#[test]
fn connections_through_syn_cookies_carry_data_both_ways() {
    for io in ["xdp", "packet"] {
        let options = ["--io", io, "--tables", "programs/tests/syncookies.tables"];
        let Some((network, forwarding)) = between_hosts("programs/syncookies.loom", &options)
        else {
            return;
        };
        let (left, right) = (&network.left, &network.right);
        transfer(left, right, RIGHT, 3_000_000);
        transfer(right, left, LEFT, 3_000_000);
        // Nobody listens at this port.
        let closed = SocketAddr::new(address(RIGHT), 9);
        let refused = left.run(|| TcpStream::connect_timeout(&closed, patience()));
        // The client is connected before the server is asked.
        if let Ok(stream) = refused {
            stream.set_read_timeout(Some(patience())).expect("a timeout");
            let ended = std::io::Read::read(&mut &stream, &mut [0]).expect_err("a reset");
            assert_eq!(ended.kind(), ErrorKind::ConnectionReset);
        }
        let report = forwarding.stop();
        assert!(!report.contains("MALFORMED"), "{report}");
    }
}

/// Sends a datagram that routers may fragment.
fn send_in_pieces(from: &Namespace, data: &[u8], to: SocketAddr) {
    from.run(|| {
        let socket = UdpSocket::bind((address(LEFT), 0)).expect("a socket");
        let never = libc::IP_PMTUDISC_DONT;
        // SAFETY: the option's value outlives the call and has the length given.
        let set = unsafe {
            let value = (&raw const never).cast();
            libc::setsockopt(socket.as_raw_fd(), libc::IPPROTO_IP, libc::IP_MTU_DISCOVER, value, 4)
        };
        assert_eq!(set, 0);
        socket.send_to(data, to).expect("a datagram");
    });
}

/// Receives a datagram.
fn received(receiver: &UdpSocket) -> Vec<u8> {
    let mut got = vec![0; 65_536];
    loop {
        match receiver.recv(&mut got) {
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            received => {
                got.truncate(received.expect("a datagram"));
                return got;
            }
        }
    }
}

/// The left host sends fragments; the link of the right one takes whole packets.
#[test]
fn what_linux_has_fragmented_arrives_whole() {
    for io in ["xdp", "packet"] {
        // A frame of AF_XDP has one page of memory.
        let (mtu, sizes) = match io {
            "xdp" => (3498, &[1, 1473, 3000, 3400][..]),
            _ => (9000, &[1, 1473, 8000, 8972][..]),
        };
        let options = ["--io", io];
        let network = between_hosts_of_mtu("programs/reassemble.loom", &options, mtu);
        let Some((network, forwarding)) = network else { return };
        let receiver = network.right.run(|| UdpSocket::bind((address(RIGHT), 0)));
        let receiver = receiver.expect("a socket");
        receiver.set_read_timeout(Some(patience())).expect("a timeout");
        let to = receiver.local_addr().expect("an address");
        for size in sizes {
            let sent: Vec<u8> = (0..*size).map(|at: usize| (at / 3 + at / 251) as u8).collect();
            send_in_pieces(&network.left, &sent, to);
            assert!(received(&receiver) == sent, "{size} bytes");
        }
        let snmp = network.right.run(|| std::fs::read_to_string("/proc/thread-self/net/snmp"));
        let snmp = snmp.expect("counters of the kernel");
        let rows: Vec<Vec<&str>> = snmp
            .lines()
            .filter(|line| line.starts_with("Ip:"))
            .map(|line| line.split_whitespace().collect())
            .collect();
        let column = rows[0].iter().position(|name| *name == "ReasmReqds").expect("a column");
        assert_eq!(rows[1][column], "0", "fragments arrived");
        let report = forwarding.stop();
        assert_eq!(count(&report, "drop:"), 0, "{report}");
    }
}

/// The right host reassembles the pieces. Linux has already fragmented the datagrams of more than
/// 1,472 bytes when they reach the engine.
#[test]
fn linux_puts_together_what_the_engine_has_fragmented() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let tables = folder.path().join("mtus.tables");
    std::fs::write(&tables, "table mtus\n1 = 601\n").expect("a file");
    for io in ["xdp", "packet"] {
        let options = ["--io", io, "--tables", tables.to_str().expect("a path in UTF-8")];
        let Some((network, forwarding)) = between_hosts("programs/fragment.loom", &options) else {
            return;
        };
        let receiver = network.right.run(|| UdpSocket::bind((address(RIGHT), 0)));
        let receiver = receiver.expect("a socket");
        receiver.set_read_timeout(Some(patience())).expect("a timeout");
        let to = receiver.local_addr().expect("an address");
        for size in [1, 573, 574, 1148, 1149, 1472, 1473, 8000, 20_000] {
            let sent: Vec<u8> = (0..size).map(|at| (at / 3 + at / 251) as u8).collect();
            send_in_pieces(&network.left, &sent, to);
            assert!(received(&receiver) == sent, "{size} bytes");
        }
        let report = forwarding.stop();
        assert_eq!(count(&report, "drop:"), 0, "{report}");
    }
}
