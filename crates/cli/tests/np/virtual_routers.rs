//! Virtual routers: built, simulated, held to golden one by one.

use super::*;

/// Two routers with the same addresses and labels and other next hops, of which one has MPLS only.
#[test]
fn virtual_routers_that_share_a_processor_forward_as_if_each_were_alone() {
    let place = Workplace::new();
    let mut list =
        "set = { NEXT_HOPS = 16, LABELS = 64, COUNT_FLOWS = false, CHECK_SOURCE = false }\n".to_owned();
    for (name, protocols, port) in [("red", "\"ipv4\", \"mpls\"", 5), ("blue", "\"mpls\"", 7)] {
        let tables = format!(
            "table ports\n0 mac=02:00:00:00:00:00 any_mac=true\ntable next_hops\n{port} port={port} dst=02:00:00:00:01:{port:02} \
             src=02:00:00:00:00:01 mtu=1500\ntable labels\n16 operation=1 next_hop={port} label={port}00\n\
             table destinations4\n10.0.0.0/8 next_hop={port} kind=1\n10.1.0.0/20 next_hop={port} class=1 kind=1\n"
        );
        place.write(&format!("{name}.tables"), tables.as_bytes());
        list += &format!(
            "[[router]]\nname = \"{name}\"\nprotocols = [{protocols}]\nrate = \"1 Mpps\"\ntables = [\"{name}.tables\"]\n"
        );
    }
    place.write("list.toml", list.as_bytes());
    let ran = place.wireloom("virtual list.toml --method merged --on np-1-1-2 --verify --json -");
    let report = report(&ran);
    for router in [0, 1] {
        assert_eq!(report["verified"][router]["router"], router);
        assert!(report["verified"][router]["packets"].as_u64().is_some_and(|packets| packets >= 2000));
        assert!(report["verified"][router]["differs"].is_null(), "{report}");
    }
}

#[test]
fn virtual_routers_that_cannot_be_had_are_refused_with_the_reason() {
    let place = Workplace::new();
    let router = |name: &str, protocols: &str, rate: &str, tables: &str| {
        format!(
            "[[router]]\nname = \"{name}\"\nprotocols = [{protocols}]\nrate = \"{rate}\"\ntables = [{tables}]\n"
        )
    };
    let cases = [
        (String::new(), "", "router"),
        (router("red", "\"ipv4\"", "10 Gbps", ""), "", "write \"10 Gb/s\" or \"15 Mpps\""),
        (router("red", "\"ipv4\"", "60 Gb/s", ""), "", "router 'red' is to carry 117.19 million"),
        (router("red", "\"ipv4\"", "1 Mpps", "\"no.tables\""), "", "no.tables"),
        (router("red", "\"ipv4\"", "1 Mpps", ""), "", "too few to size a machine by"),
        (
            router("red", "\"ipv6\"", "1 Mpps", "") + &router("blue", "\"ipv4\"", "1 Mpps", ""),
            "--method merged",
            "routers with IPv6 cannot share a processor",
        ),
        (router("red", "\"ipv4\"", "1 Mpps", ""), "--on np-1-1-1", "consolidation compares areas"),
        ("like = \"np-16-6-4\"\n".to_owned() + &router("red", "\"ipv4\"", "1 Mpps", ""), "", "has one lane"),
    ];
    for (list, options, why) in cases {
        place.write("list.toml", list.as_bytes());
        place.wireloom(&format!("virtual list.toml {options}")).status(2).complains(&[why]);
    }
    place.wireloom("virtual none.toml").status(2).complains(&["none.toml: cannot be read"]);
}

#[test]
fn virtual_routers_that_share_a_processor_are_built_with_tables_of_their_own() {
    let place = Workplace::new();
    let tables = |port: u8| {
        format!(
            "table ports\n0 mac=02:00:00:00:00:00 any_mac=true\ntable next_hops\n1 port={port} dst=02:00:00:00:01:00 \
             src=02:00:00:00:00:01 mtu=1500\ntable labels\n16 operation=1 next_hop=1 label={port}00\n"
        )
    };
    let mut list =
        "set = { NEXT_HOPS = 16, LABELS = 64, COUNT_FLOWS = false, CHECK_SOURCE = false }\n".to_owned();
    for (name, port) in [("red", 5), ("blue", 7)] {
        place.write(&format!("{name}.tables"), tables(port).as_bytes());
        list += &format!(
            "[[router]]\nname = \"{name}\"\nprotocols = [\"mpls\"]\nrate = \"1 Mpps\"\ntables = [\"{name}.tables\"]\n"
        );
    }
    place.write("list.toml", list.as_bytes());
    let said = place.wireloom("virtual list.toml --method merged --on np-1-1-2 -o made --json -");
    let report = said.status(0).json();
    assert_eq!(report["groups"][0][0]["routers"], serde_json::json!([0, 1]));
    // Label 16 of both; each packet leaves by a port of its own router (the upper byte), with that router's label.
    let text = |name: &str| String::from_utf8(place.read(name)).expect("text");
    let expected = text("made/processor0/sim/expected.txt");
    let ports: std::collections::BTreeSet<(&str, &str)> = expected
        .lines()
        .map(|line| {
            let words: Vec<&str> = line.split(' ').collect();
            assert_eq!(words[1], "sent", "{line}");
            (words[2], &words[3][28..33])
        })
        .collect();
    // Router 0: port 5, label 500; router 1: port 0x107, label 700.
    assert_eq!(ports, [("5", "001f4"), ("263", "002bc")].into());
    assert!(text("made/processor0/images/next_hops.hex").contains("@3 "), "element 1 of router 1");
    assert!(text("made/virtual.json").contains("\"merged\""));
}
