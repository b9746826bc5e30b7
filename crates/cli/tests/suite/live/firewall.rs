//! A program that ignores the kernel's state, in the middle of a wire: the firewall of `wireloom
//! new`.

use std::process::Command;

use super::{Forwarding, each_way, reaches};
use crate::echo::{Echo, REPLY4};
use crate::network::Network;
use crate::patience::{TRY, address};

#[test]
fn a_firewall_joins_two_hosts_where_the_kernel_forwards_nothing() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = |name: &str| folder.path().join(name).to_str().expect("a path").to_owned();
    let made = Command::new(env!("CARGO_BIN_EXE_wireloom"))
        .args(["new", &path("fw"), "--template", "firewall"])
        .output();
    assert!(made.expect("the command").status.success());
    let (program, tables) = (path("fw/fw.loom"), path("fw/fw.tables"));
    each_way(|way| {
        if way.ends_with(&["2"]) {
            return; // packets change its flows in an order that matters: one core executes them
        }
        let network = match Network::new() {
            Ok(network) => network,
            Err(error) => return eprintln!("warning: nothing was tested: {error}"),
        };
        for name in ["ipv4/ip_forward", "ipv6/conf/all/forwarding"] {
            network.router.set(name, "0");
        }
        for (host, device, address) in
            [(&network.left, "ha", "10.9.0.5"), (&network.right, "hb", "10.9.0.9")]
        {
            host.ip(&format!("address add {address}/24 dev {device}\n"));
            if way.contains(&"kernel") {
                host.poll(device);
            }
        }
        let options = [way, &["--tables", &tables]].concat();
        let ports = ["r1", "r2"];
        let started = Forwarding::start_program(&program, &network.router, &ports, &options);
        let Some(forwarding) = started else { return };
        reaches(&network.left, "10.9.0.9", 64, (address("10.9.0.9"), REPLY4, 0));
        network.right.run(|| {
            let mut echo = Echo::open(address("10.9.0.5"), 64);
            echo.send();
            assert_eq!(echo.receive(TRY), None, "nobody inside has asked for it");
        });
        let report = forwarding.stop();
        assert!(report.contains("drop: NOT_OPEN"), "{report}");
    });
}
