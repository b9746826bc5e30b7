//! Routing daemons, traceroute and iperf3 through the forwarder. Without the tools that
//! `scripts/network-tools.sh` installs, nothing is tested.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use super::{Forwarding, REPLY4, address, each_way, reaches, start, until};
use crate::network::{Namespace, Network};

/// Returns a program of .cache/tools/network.
fn tool(path: &str) -> Option<Command> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../.cache/tools/network");
    let program = folder.join(path);
    if !program.exists() {
        eprintln!("warning: nothing was tested: {path} is missing (make tools-network)");
        return None;
    }
    let mut command = Command::new(program);
    let machine = format!("{}-linux-gnu", std::env::consts::ARCH);
    let libraries = ["usr/lib", "lib"].map(|lib| folder.join(lib).join(&machine));
    let libraries = std::env::join_paths(libraries).expect("folders");
    command.env("LD_LIBRARY_PATH", libraries).stdin(Stdio::null());
    Some(command)
}

/// A program that runs until it is dropped.
pub struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Starts BIRD in a namespace: OSPF on `interfaces`, each with its cost, and BGP with `neighbours`.
///
/// The router has autonomous system `system` and loopback address 10.9.AS.1. The neighbours are
/// given by their systems. BIRD announces the prefixes in `announced` by BGP.
pub fn bird(
    space: &Namespace,
    folder: &Path,
    system: u32,
    interfaces: &[(&str, u32)],
    neighbours: &[u32],
    announced: &[String],
) -> Option<Running> {
    let own = format!("10.9.{system}.1");
    space.ip(&format!("address add {own}/32 dev lo\n"));
    let ospf: String = interfaces
        .iter()
        .map(|(name, cost)| {
            format!("interface \"{name}\" {{ type ptp; cost {cost}; hello 1; dead count 3; }};\n")
        })
        .collect();
    let bgp: String = neighbours
        .iter()
        .map(|other| {
            format!(
                "protocol bgp {{ local {own} as {system}; neighbor 10.9.{other}.1 as {other};\n\
                 multihop 9; connect delay time 1; connect retry time 1; error wait time 1, 1;\n\
                 ipv4 {{ import all; export where source ~ [ RTS_STATIC, RTS_BGP ]; }}; }}\n"
            )
        })
        .collect();
    let announced: String =
        announced.iter().map(|net| format!("route {net} via \"lo\";\n")).collect();
    let text = format!(
        "router id {own};\n\
         protocol device {{ scan time 1; }}\n\
         protocol direct {{ ipv4; interface \"lo\"; }}\n\
         protocol kernel {{ ipv4 {{ import none; export where source ~ [ RTS_OSPF, RTS_OSPF_IA, RTS_BGP ]; }}; }}\n\
         protocol static {{ ipv4; {announced} }}\n\
         protocol ospf v2 {{ ipv4 {{ import all; export none; }}; area 0 {{\n\
         interface \"lo\" {{ stub; }};\n{ospf}}}; }}\n{bgp}"
    );
    let file = |end: &str| -> PathBuf { folder.join(format!("{system}.{end}")) };
    std::fs::write(file("conf"), text).expect("a file");
    let mut command = tool("usr/sbin/bird")?;
    command.arg("-f").arg("-c").arg(file("conf")).arg("-s").arg(file("socket"));
    command.arg("-P").arg(file("pid")).stderr(Stdio::null());
    Some(Running(space.run(|| command.spawn().expect("BIRD"))))
}

#[test]
fn routing_daemons_have_their_sessions_through_it_and_move_traffic() {
    let network = match Network::new() {
        Ok(network) => network,
        Err(error) => return eprintln!("warning: nothing was tested: {error}"),
    };
    network.add_third();
    let folder = tempfile::tempdir().expect("a temporary folder");
    let (left, router, right) = (&network.left, &network.router, &network.right);
    right.ip("address add 203.0.113.1/32 dev lo\n");
    let ports = ["r1", "r2", "r3"];
    let Some(forwarding) = Forwarding::start_in(router, &ports, &[]) else { return };
    let start = |space, system, interfaces: &[_], neighbours: &[_], announced: &[&str]| {
        let announced: Vec<String> = announced.iter().map(ToString::to_string).collect();
        bird(space, folder.path(), system, interfaces, neighbours, &announced)
    };
    // The session between 1 and 3 goes through the forwarder.
    let daemons = [
        start(left, 1, &[("ha", 10)], &[2, 3], &[]),
        start(router, 2, &[("r1", 10), ("r2", 10), ("r3", 100)], &[1, 3], &[]),
        start(right, 3, &[("hb", 10), ("hc", 100)], &[1, 2], &["203.0.113.0/24"]),
    ];
    if daemons.iter().any(Option::is_none) {
        return;
    }
    let leads_by = |space: &Namespace, to: &str, device: &str| {
        until(&format!("a route to {to} by {device}"), || {
            space.ip_route_get(to).contains(&format!("dev {device} ")).then_some(())
        });
    };
    leads_by(router, "203.0.113.1", "r2");
    let reply = (address("203.0.113.1"), REPLY4, 0);
    let forwards = || {
        until("the machine forwards", || {
            let before = router.forwarded();
            reaches(left, "203.0.113.1", 64, reply);
            (router.forwarded() == before).then_some(())
        });
    };
    forwards();
    router.ip("link set r2 down\n");
    leads_by(router, "203.0.113.1", "r3");
    forwards();
    router.ip("link set r2 up\n");
    leads_by(router, "203.0.113.1", "r2");
    forwards();
    let report = forwarding.stop();
    assert!(report.contains("repaired: 0;"), "{report}");
}

#[test]
fn traceroute_shows_the_hops() {
    let Some((network, forwarding)) = start(&[]) else { return };
    reaches(&network.left, "10.0.2.2", 64, (address("10.0.2.2"), REPLY4, 0));
    for (to, hops) in [
        ("10.0.2.2", ["10.0.1.1", "10.0.2.2"]),
        ("2001:db8:2::2", ["2001:db8:1::1", "2001:db8:2::2"]),
    ] {
        let Some(mut command) = tool("usr/bin/traceroute.db") else { return };
        command.args(["-n", "-q", "1", "-m", "4", to]);
        let output = network.left.run(|| command.output().expect("traceroute"));
        let text = String::from_utf8_lossy(&output.stdout);
        let seen: Vec<&str> =
            text.lines().skip(1).filter_map(|line| line.split_whitespace().nth(1)).collect();
        assert_eq!(seen, hops, "{text}");
    }
    forwarding.stop();
}

#[test]
fn connections_carry_data_with_and_without_loss() {
    each_way(|options| {
        let Some((network, forwarding)) = start(options) else { return };
        for lossy in [false, true] {
            if lossy {
                let Some(mut nft) = tool("usr/sbin/nft") else { return };
                // Drop every fiftieth packet in turn, not at random: the kernel joins segments to
                // so few packets that random loss might drop none.
                nft.arg(
                    "table inet loss { chain input { type filter hook input priority 0; \
                     numgen inc mod 50 == 7 drop; }; }",
                );
                let status = network.right.run(|| nft.status().expect("nft"));
                assert!(status.success());
            }
            let (Some(mut server), Some(mut client)) =
                (tool("usr/bin/iperf3"), tool("usr/bin/iperf3"))
            else {
                return;
            };
            server.args(["-s", "-1", "-B", "10.0.2.2"]).stdout(Stdio::null());
            let _server = Running(network.right.run(|| server.spawn().expect("iperf3")));
            client.args(["-c", "10.0.2.2", "-n", "16M", "-J"]);
            let report = until("a transfer", || {
                let output = network.left.run(|| client.output().expect("iperf3"));
                let report: serde_json::Value = serde_json::from_slice(&output.stdout).ok()?;
                report["end"]["sum_received"].is_object().then_some(report)
            });
            let end = &report["end"];
            // iperf3 ends after sending this much, and may have begun another block by then.
            let (least, block) = (16 << 20, 128 << 10);
            let sent = end["sum_sent"]["bytes"].as_u64().expect("bytes");
            assert!((least..=least + block).contains(&sent), "{end}");
            assert!(!lossy || end["sum_sent"]["retransmits"].as_u64() > Some(0), "{end}");
        }
        forwarding.stop();
    });
}
