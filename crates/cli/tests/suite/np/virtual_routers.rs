//! Virtual routers: built, simulated, and compared with golden one by one.

use super::*;

/// Creates a folder with `list.toml`: two routers with these protocols, equal addresses and labels,
/// and different next hops.
fn two(protocols: [&[&str]; 2]) -> Workplace {
    let place = Workplace::new();
    let mut list =
        "set = { NEXT_HOPS = 16, LABELS = 64, COUNT_FLOWS = false, CHECK_SOURCE = false }\n"
            .to_owned();
    for ((name, port), protocols) in [("red", 5), ("blue", 7)].into_iter().zip(protocols) {
        let mut tables = format!(
            "table ports\n0 mac=02:00:00:00:00:00 any_mac=true\ntable next_hops\n{port} port={port} dst=02:00:00:00:01:{port:02} \
             src=02:00:00:00:00:01 mtu=1500\n"
        );
        for protocol in protocols {
            tables += &match *protocol {
                "ipv4" => format!(
                    "table destinations4\n10.0.0.0/8 next_hop={port} kind=1\n10.1.0.0/20 next_hop={port} class=1 kind=1\n"
                ),
                // The prefixes of a router fill several levels of the trie and of the tree after
                // it. Only the last prefix differs between the routers.
                "ipv6" => format!(
                    "table destinations6\n2001:d00::/24 next_hop={port} kind=1\n2001:db8::/32 next_hop={port} class=1 kind=1\n\
                     2001:db8:1::/48 next_hop={port} class=2 kind=1\n2001:db8:1:8000::/56 next_hop={port} class=3 kind=1\n\
                     2001:db8:1:8001::{port}/128 next_hop={port} class=4 kind=1\n"
                ),
                _ => format!("table labels\n16 operation=1 next_hop={port} label={port}00\n"),
            };
        }
        let protocols: Vec<String> =
            protocols.iter().map(|protocol| format!("{protocol:?}")).collect();
        let protocols = protocols.join(", ");
        place.write(&format!("{name}.tables"), tables.as_bytes());
        list += &format!(
            "[[router]]\nname = \"{name}\"\nprotocols = [{protocols}]\nrate = \"2 Mpps\"\ntables = [\"{name}.tables\"]\n"
        );
    }
    place.write("list.toml", list.as_bytes());
    place
}

/// Creates one router with IPv4 and MPLS and one with MPLS only.
fn two_with_labels() -> Workplace {
    two([&["ipv4", "mpls"], &["mpls"]])
}

/// Runs the whole chip while one router sends at the full rate of its lane. The other router loses
/// nothing, and all packets that are not lost leave as from golden with their router alone.
fn overload(options: &str, overloaded: usize) {
    let ran = two_with_labels()
        .wireloom(&format!("np virtual list.toml --on np-1-1-8 --verify --json - {options}"));
    let report = report(&ran);
    for (router, verified) in report["verified"].as_array().expect("a list").iter().enumerate() {
        assert_eq!(verified["router"], router);
        assert!(verified["packets"].as_u64().is_some_and(|packets| packets >= 2000), "{report}");
        assert!(verified["differs"].is_null(), "{report}");
        assert_eq!(verified["lost"].as_u64() > Some(1000), router == overloaded, "{report}");
        assert_eq!(verified["lost"] == 0, router != overloaded, "{report}");
    }
}

#[test]
#[ignore = "builds a large model: make test-all"]
fn the_overload_of_a_virtual_router_costs_the_one_beside_it_in_a_processor_nothing() {
    overload("--method merged --overload blue", 1);
}

#[test]
#[ignore = "builds a large model: make test-all"]
fn the_overload_of_a_virtual_router_costs_the_other_processor_nothing() {
    overload("--method isolated --overload red", 0);
}

#[test]
#[ignore = "builds a large model: make test-all"]
fn virtual_routers_with_ipv6_share_a_processor_and_no_prefix() {
    let place = two([&["ipv6"], &["ipv6"]]);
    let ran =
        place.wireloom("np virtual list.toml --method merged --on np-1-1-8 --verify --json -");
    let report = report(&ran);
    for verified in report["verified"].as_array().expect("a list") {
        assert!(verified["packets"].as_u64().is_some_and(|packets| packets >= 2000), "{report}");
        assert!(verified["differs"].is_null() && verified["lost"] == 0, "{report}");
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
        (router("red", "\"ipv4\"", "1 Mpps", ""), "--on np-1-1-1", "consolidation compares areas"),
        (
            router("red", "\"ipv4\"", "1 Mpps", ""),
            "--verify --overload blue",
            "there is no virtual router 'blue'",
        ),
        (
            "set = { NEXT_HOP = 16 }\n".to_owned() + &router("red", "\"ipv4\"", "1 Mpps", ""),
            "",
            "list.toml: `set.NEXT_HOP`: there is no constant",
        ),
        (
            router("red", "\"ipv4\"", "1 Mpps", ""),
            "--method merged --on native",
            "no network processor is called",
        ),
        (
            "like = \"np-16-6-4\"\n".to_owned() + &router("red", "\"ipv4\"", "1 Mpps", ""),
            "",
            "has one lane",
        ),
    ];
    for (list, options, why) in cases {
        place.write("list.toml", list.as_bytes());
        place.wireloom(&format!("np virtual list.toml {options}")).status(2).complains(&[why]);
    }
    place.wireloom("np virtual none.toml").status(2).complains(&["none.toml: cannot be read"]);
}

#[test]
#[ignore = "takes long: make test-all"]
fn a_chip_of_virtual_routers_is_a_folder_that_stands_alone() {
    let place = two_with_labels();
    let said =
        place.wireloom("np virtual list.toml --method merged --on np-1-1-2 -o made --json -");
    let report = said.status(0).json();
    assert_eq!(report["groups"][0][0]["routers"], serde_json::json!([0, 1]));
    // Both routers use label 16; each packet leaves by a port of its own router (the upper byte),
    // with that router's label.
    let text = |name: &str| String::from_utf8(place.read(name)).expect("text");
    let labelled =
        |line: &str| line.split(' ').nth(3).is_some_and(|bytes| &bytes[24..28] == "8847");
    let expected = text("made/sim/expected.txt");
    let ports: std::collections::BTreeSet<(&str, &str)> = expected
        .lines()
        .filter(|line| labelled(line))
        .map(|line| {
            let words: Vec<&str> = line.split(' ').collect();
            assert_eq!(words[1], "sent", "{line}");
            (words[2], &words[3][28..33])
        })
        .collect();
    // Router 0: port 5, label 500; router 1: port 0x107, label 700.
    assert_eq!(ports, [("5", "001f4"), ("263", "002bc")].into());
    assert!(text("made/images/p0_next_hops.hex").contains("@f "), "element 7 of router 1");
    assert!(text("made/virtual.json").contains("\"merged\""));
    assert!(text("made/README.md").contains("| 1 | `blue` | 0 | 0 | 1 | 0.0200 |"));
    assert!(text("made/memory_map.json").contains("\"of\": \"p0\""));
    assert!(text("made/np.core").contains("toplevel: \"virtual_top\""));
    for method in ["merged", "isolated"] {
        place
            .wireloom(&format!("np virtual list.toml --method {method} --on np-1-1-2 -o {method}"))
            .status(0);
        lint(&place, method, "virtual_top");
    }
}
