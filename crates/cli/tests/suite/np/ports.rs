//! Narrow ports: each physical port is a separate stream.

use super::report;
use crate::workplace::Workplace;

/// Returns traffic from this number of ports in turn, and a program with every possible verdict.
fn place(ports: usize) -> Workplace {
    let place = Workplace::new();
    place.write("ports.loom", include_bytes!("ports.loom"));
    place.write("ethernet.loom", include_bytes!("../../../../../programs/include/ethernet.loom"));
    place.write("four.toml", b"extends = \"np-four-10g\"\nclusters = 1\n");
    let traffic = format!(
        "traffic --packets 2000 --ports {ports} --sizes imix --mix ipv4=3,ipv6=1 --out in.pcapng"
    );
    place.wireloom(&traffic).status(0);
    place
}

#[test]
fn packets_of_four_ports_leave_on_four_ports_in_order() {
    let place = place(4);
    let verify = "verify ports.loom --on four.toml --in in.pcapng";
    place.wireloom(verify).status(0).says(&[
        "2,000 packets",
        "no difference",
        "no such port",
        "MPPS at 100 MHz",
    ]);
    // The order of ports depends on pauses; every packet sees the state that earlier ones left.
    place.wireloom(&format!("{verify} --idle 30 --stall 60")).status(0).says(&["no difference"]);
    place.wireloom(&format!("{verify} --rate 60 --buffer 1")).status(0).says(&["no difference"]);

    let run = |machine: &str| {
        report(&place.wireloom(&format!(
            "run ports.loom --on {machine} --in in.pcapng --dump arrived --json -"
        )))
    };
    let (golden, np) = (run("golden"), run("four.toml"));
    assert_eq!(np["offloads"], golden["offloads"]);
    assert_eq!(np["cpu"][0]["packets"], golden["cpu"][0]["packets"]);
    let sent = |report: &serde_json::Value| {
        let ports = report["sent"].as_array().expect("ports").clone();
        let count = |exists: bool| -> u64 {
            let chosen = ports
                .iter()
                .filter(|port| (port["port"].as_u64().expect("a number") < 4) == exists);
            chosen.map(|port| port["packets"].as_u64().expect("a number")).sum()
        };
        (count(true), count(false))
    };
    let (existing, others) = sent(&golden);
    assert!(existing > 500 && others > 100, "{existing}, {others}");
    assert_eq!(sent(&np), (existing, 0));
    assert_eq!(np["simulation"]["unported"], others);
}

#[test]
#[ignore = "takes long: make test-all"]
fn ports_that_there_are_not_are_refused_where_packets_come_in() {
    let place = place(5);
    for command in ["verify", "run", "build -o np"] {
        place
            .wireloom(&format!("{command} ports.loom --on four.toml --in in.pcapng"))
            .status(2)
            .complains(&[
                "packet 4 ",
                "came in on port 4",
                "its ports are 0, 1, 2, 3",
                "[ports] numbers",
            ]);
    }
    place.write("other.toml", b"extends = \"np-four-10g\"\n[ports]\nbytes = 64\n");
    place
        .wireloom("build ports.loom --on other.toml -o np")
        .status(2)
        .complains(&["`ports`: 4 ports of 64 bytes"]);
    place
        .wireloom("np rig ports.loom --on four.toml --cycles 100")
        .status(2)
        .complains(&["the embedded rig drives lanes", "kind = \"wide\""]);
}

#[test]
#[ignore = "builds a large model: make test-all"]
fn a_folder_with_narrow_ports_has_a_test_bench() {
    let place = place(4);
    place.write("four.tables", b"table ports\n0 out=3\n1 out=0\n2 out=2\n3 out=9\n");
    place
        .wireloom(
            "build hub.loom --on four.toml --tables four.tables --in in.pcapng --packets 200 -o np",
        )
        .status(0);
    let readme = String::from_utf8(place.read("np/README.md")).expect("text");
    assert!(readme.contains("packets for ports that do not exist"), "{readme}");
    super::sim(&place, &[]).status(0).says(&["200 outputs compared, 0 differ", "PASS"]);
}
