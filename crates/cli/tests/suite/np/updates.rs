//! Table updates while packets flow.

use super::*;

/// A program that sends packets by the longest prefix of their first four bytes.
const ROUTE: &str = "\
struct Route { u16 port; };
header Ask { u32 dst; };
engine route() {
    offload routes : lpm<u32, Route>;
    Ask ask @ 0;
    step look { packet.egress = routes.search(ask.dst).port; finish; }
}
";

#[test]
fn tables_change_at_a_packet_or_while_packets_flow() {
    let place = Workplace::new();
    place.write("route.loom", ROUTE.as_bytes());
    place.write("route.tables", b"table routes\n10.1.0.0/16 port=1\n");
    place.write(
        "route.updates",
        b"at 700\ntable routes\n10.2.3.0/24 port=2\nat 1400\nremove 10.1.0.0/16\n10.2.3.0/24 port=3\nat 9000\n10.2.3.0/24 port=9\n",
    );
    let packet = |i: u32| {
        let dst = [0x0a01_0000 | i, 0x0a02_0300 | i & 0xff, 0x0b00_0000 | i][i as usize % 3];
        [&dst.to_be_bytes()[..], &[0; 60]].concat()
    };
    let packets: Vec<Vec<u8>> = (0..2000).map(packet).collect();
    place.write("asks.pcap", &pcap(&packets));
    let words = "route.loom --tables route.tables --updates route.updates --in asks.pcap";

    // Updates between two packets, on every machine.
    let verify = format!("verify {words} --on native,np-1-1-2");
    place.wireloom(&verify).status(0).says(&["2,000 outputs compared", "no difference"]);
    let run = |machine: &str| {
        report(&place.wireloom(&format!("run {words} --on {machine} --dump routes --json -")))
    };
    let (golden, np) = (run("golden"), run("np-1-1-2"));
    let sent = |report: &serde_json::Value, port: u64| {
        let all = report["sent"].as_array().expect("ports").iter();
        all.filter(|sent| sent["port"] == port)
            .map(|sent| sent["packets"].as_u64().expect("a number"))
            .sum::<u64>()
    };
    assert_eq!([1, 2, 3, 9].map(|port| sent(&golden, port)), [467, 234, 200, 0]);

    // Updates while packets flow: a packet inside the machine finds a table as it was either before
    // or after the update.
    let updates = np["simulation"]["updates"].as_array().expect("updates");
    assert_eq!(
        updates.iter().map(|update| update["packet"].clone()).collect::<Vec<_>>(),
        [700, 1400, 1400]
    );
    let number = |update: &serde_json::Value, what: &str| update[what].as_u64().expect("a number");
    assert!(updates.iter().all(|update| number(update, "begun") < number(update, "done")));
    let between: u64 = updates.iter().map(|update| number(update, "between")).sum();
    assert!((1..1800).contains(&between), "{updates:?}");
    for port in [0, 1, 2, 3] {
        assert!(sent(&np, port).abs_diff(sent(&golden, port)) <= between, "port {port}: {np}");
    }
    assert_eq!(
        (sent(&np, 9), &np["offloads"]),
        (0, &golden["offloads"]),
        "a packet that never came"
    );
    assert!(sent(&np, 2) > 0 && sent(&np, 3) > 0, "{np}");

    for (text, complaint) in [
        ("at 1\ntable nothing\n1 = 2", "bad.updates:3: there is no offload `nothing`"),
        ("at 1\ntable routes\n10.0.0.0/8 prt=2", "bad.updates:3: there is no field `prt`"),
        (
            "table routes\n10.0.0.0/8 port=2",
            "bad.updates:2: an update before the first `at NUMBER`",
        ),
    ] {
        place.write("bad.updates", text.as_bytes());
        let bad = words.replace("route.updates", "bad.updates");
        place.wireloom(&format!("run {bad} --on golden")).status(2).complains(&[complaint]);
    }
}

#[test]
fn elements_counters_keys_and_rates_change_as_on_golden() {
    let place = hub();
    place.write(
        "hub.updates",
        b"at 300\ntable ports\n0 out=3\ntable seen\n0 packets=5 bytes=6\nat 600\nremove 0\n",
    );
    place
        .wireloom(&format!(
            "verify hub.loom --on native,{MACHINE} --tables hub.tables --updates hub.updates --in many.pcap"
        ))
        .status(0)
        .says(&["no difference"]);
    place.write("far.updates", b"at 1\ntable ports\n16 out=3\n");
    for machine in ["golden", MACHINE] {
        let words = "hub.loom --tables hub.tables --updates far.updates --in many.pcap";
        place
            .wireloom(&format!("run {words} --on {machine}"))
            .status(2)
            .complains(&["far.updates:3: ", "out of range"]);
    }

    place.write("services.loom", include_bytes!("services.loom"));
    place.write("services.tables", include_bytes!("services.tables"));
    place.write("commands.pcap", &commands(600));
    place.write(
        "services.updates",
        b"at 200\ntable names\n5 -> = 77\nremove 3\ntable police\n2 cir=500 cbs=2000 ebs=100\nat 400\nremove 2\ntable learned\nkey=9 rest=7 -> sum=1 last=2\n",
    );
    let words = "services.loom --on np-1-2-2 --tables services.tables --updates services.updates --in commands.pcap";
    place
        .wireloom(&format!("verify {words}"))
        .status(0)
        .says(&["600 outputs compared", "no difference"]);
}
