//! Ports that are refused, that go down and come back, and that other programs change meanwhile.

use std::process::Command;
use std::time::Instant;

use serde_json::Value;
use wireloom_net::wire::checksum::checksum;

use super::routes::{add_neighbours, frame};
use super::{Forwarding, STATIC, command, each_way, ended, reaches, start};
use crate::echo::REPLY4;
use crate::network::Network;
use crate::patience::{TRY, address, until};
use crate::wire::{self, Wire};

/// Starts the command between the router's interfaces and returns the reason that it does not
/// start.
fn refused(network: &Network, options: &[&str]) -> String {
    let output = network.router.run(|| command(options).output().expect("the command"));
    let err = String::from_utf8(output.stderr).expect("text");
    assert_eq!(output.status.code(), Some(2), "{err}");
    err
}

#[test]
fn a_port_has_one_forwarder() {
    each_way(|way| {
        let Some((network, forwarding)) = start(way) else { return };
        let err = refused(&network, &["--port", "r2", "--io", "packet"]);
        assert!(err.contains("port r2: another process forwards on it"), "{err}");
        reaches(&network.left, "10.0.2.2", 64, (address("10.0.2.2"), REPLY4, 0));
        forwarding.stop();
    });
}

#[test]
fn interfaces_that_cannot_be_ports_are_refused() {
    let Ok(network) = Network::new() else { return };
    network.router.ip("tuntap add tunnel mode tun\n\
         link property add dev r1 altname uplink\n");
    let err = refused(&network, &["--port", "r1", "--port", "tunnel"]);
    assert!(err.contains("port tunnel: it is no Ethernet interface"), "{err}");
    for io in ["auto", "kernel"] {
        let err = refused(&network, &["--port", "r1", "--port", "uplink", "--io", io]);
        assert!(err.contains("port uplink: it is the same interface as r1"), "{err}");
    }
}

#[test]
fn a_twin_or_a_tap_device_that_is_removed_ends_the_command() {
    let Some((network, forwarding)) = start(&[]) else { return };
    let links = network.router.interfaces();
    let twin = links.split([' ', ':']).find(|word| word.starts_with("loom")).expect("a twin");
    network.router.ip(&format!("link delete {twin}\n"));
    let err = ended(forwarding);
    assert!(err.contains(&format!(": its device {twin} was removed")), "{err}");

    let forwarding = Forwarding::start_in(&network.router, &["tap:lan0"], &["--static"]);
    network.router.ip("link delete lan0\n");
    let err = ended(forwarding.expect("the rights are there"));
    assert!(err.contains("port tap:lan0: the device was removed"), "{err}");
}

#[test]
fn devices_that_cannot_be_made_are_refused() {
    let Ok(network) = Network::new() else { return };
    for (port, why) in [
        ("tap:a b", "port tap:a b: `a b` is no name of a device"),
        ("tap:..", "`..` is no name of a device"),
        ("tap:sixteen-bytes-xx", "is no name of a device"),
        ("tap:r1", "port tap:r1: there is another interface of this name"),
    ] {
        let err = refused(&network, &["--static", "--port", port]);
        assert!(err.contains(why), "{err}");
    }
}

/// Returns a UDP datagram from the left host to the right one.
fn datagram() -> Vec<u8> {
    let mut frame = vec![2, 0, 0, 0, 1, 1, 2, 0, 0, 0, 1, 2, 8, 0];
    frame.extend([0x45, 0, 0, 28, 0, 0, 0, 0, 64, 17, 0, 0, 10, 0, 1, 2, 10, 0, 2, 2]);
    let sum = checksum(&frame[14..34]);
    frame[24..26].copy_from_slice(&sum.to_be_bytes());
    frame.extend([0, 7, 0, 9, 0, 8, 0, 0]);
    frame
}

#[test]
fn a_port_that_is_down_loses_what_is_sent_to_it_and_comes_back() {
    each_way(|way| {
        // An engine in the kernel does not learn which frames the driver fails to send.
        if !way.contains(&"kernel") {
            goes_down(way);
        }
    });
}

fn goes_down(way: &[&str]) {
    const FRAMES: u64 = 500;
    /// Frames of the first batch may wait for the interface.
    const BATCH: u64 = 64;
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = |name: &str| folder.path().join(name).display().to_string();
    std::fs::write(path("tables"), STATIC).expect("a file");
    let (tables, control) = (path("tables"), path("control"));
    // The program sends to the port all the time.
    let more = ["--static", "--tables", &tables, "--control", &control];
    let Some((network, forwarding)) = start(&[way, &more].concat()) else { return };
    let reply = (address("10.0.2.2"), REPLY4, 0);
    let status = || -> Value {
        let mut ctl = Command::new(env!("CARGO_BIN_EXE_wireloom"));
        ctl.args(["ctl", "--control", &control, "status", "--json", "-"]);
        serde_json::from_slice(&ctl.output().expect("the command").stdout).expect("JSON")
    };
    let number = |status: &Value, name: &str| status["ports"][1][name].as_u64().expect("a number");
    let sent_by_program = |status: &Value| -> u64 {
        let sent = status["sent"].as_array().expect("ports").iter();
        let right = sent.filter(|row| row["port"] == 1);
        right.map(|row| row["packets"].as_u64().expect("a number")).sum()
    };
    let arrived = || -> u64 {
        let text = network.right.ip_show(&["-j", "-s", "link", "show", "hb"]);
        let links: Value = serde_json::from_str(&text).expect("JSON");
        links[0]["stats64"]["rx"]["packets"].as_u64().expect("a number")
    };
    let ends = [
        (&network.router, "link set r2 down\n", "link set r2 up\n"),
        (&network.right, "link set hb down\n", "link set hb up\nroute add default via 10.0.2.1\n"),
    ];
    for (space, down, up) in ends {
        reaches(&network.left, "10.0.2.2", 64, reply);
        space.ip(down);
        let (before, arrived_before) = (status(), arrived());
        network.left.run(|| {
            let wire = Wire::open().expect("a packet socket");
            let ha = wire::interface_index("ha").expect("an interface");
            (0..FRAMES).for_each(|_| wire.send(ha, &datagram()).expect("sent"));
        });
        let after = until("all are sent", || {
            let status = status();
            (sent_by_program(&status) >= sent_by_program(&before) + FRAMES).then_some(status)
        });
        let lost = number(&after, "lost_at_output") - number(&before, "lost_at_output");
        assert!(lost + BATCH >= FRAMES, "{down}{lost} of {FRAMES} are lost");
        space.ip(up);
        reaches(&network.left, "10.0.2.2", 64, reply);
        let late = arrived() - arrived_before;
        assert!(late < FRAMES, "{late} frames arrive when the link is up again");
        let end = status();
        let all = number(&end, "sent_packets") + number(&end, "lost_at_output");
        assert_eq!(all, sent_by_program(&end), "{end}");
    }
    forwarding.stop();
}

#[test]
fn what_a_port_does_not_forward_is_judged_as_it_arrives() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let tables = folder.path().join("labels.tables");
    // The label is popped.
    let text = "table next_hops\n1 port=1 dst=02:00:00:00:02:77 src=02:00:00:00:02:01 mtu=1500\n\
                table labels\n100 operation=2 next_hop=1\n";
    std::fs::write(&tables, text).expect("a file");
    let options = ["--tables", tables.to_str().expect("a path")];
    let Some((network, forwarding)) = start(&options) else { return };
    add_neighbours(&network.router);
    network.router.ip("route add 198.51.100.0/24 via 10.0.2.11\n");
    let plain = frame("198.51.100.7", 1);
    let labelled = [&plain[..12], &[0x88, 0x47, 0, 6, 0x41, 64], &plain[14..]].concat();
    // The last bytes of the next hops' addresses, in the order of arrival.
    let arrive_at = |expected: &[u8]| {
        until(&format!("{expected:x?}"), || {
            let found = network.right.run(|| {
                let at_right = Wire::open().expect("a packet socket");
                network.left.run(|| {
                    let wire = Wire::open().expect("a packet socket");
                    let ha = wire::interface_index("ha").expect("an interface");
                    for frame in [&plain, &labelled] {
                        wire.send(ha, frame).expect("sent");
                    }
                });
                let mut found = Vec::new();
                while !found.contains(&0x77)
                    && let Some(frame) = at_right.receive(Instant::now() + TRY).expect("frames")
                {
                    let is_ip = frame.bytes.starts_with(&[2, 0, 0, 0, 2]);
                    found.extend(is_ip.then_some(frame.bytes[5]));
                }
                found
            });
            (found == expected).then_some(())
        });
    };
    arrive_at(&[0x11, 0x77]);
    network.router.set("ipv4/conf/r1/forwarding", "0");
    arrive_at(&[0x77]);
    forwarding.stop();
}
