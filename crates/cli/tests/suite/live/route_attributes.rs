//! Routes with more than a prefix and a next hop: with an MTU or a lifetime, for a type of service
//! or for some sources, and `throw`.

use super::routes::{add_neighbours, frame, next_hops};
use super::{Forwarding, REPLY4, REPLY6, address, count, discovered_mtu, forwards, start, until};
use crate::network::Network;

#[test]
fn mtus_of_routes_and_of_ipv6_are_followed() {
    let Some((network, forwarding)) = start(&[]) else { return };
    let (left, router, right) = (&network.left, &network.router, &network.right);
    right.ip("address add 198.51.100.1/32 dev lo\naddress add 2001:db8:9::1/128 dev lo nodad\n");
    router.ip("route add 198.51.100.0/24 via 10.0.2.2 mtu 1300\n\
         route add 2001:db8:9::/48 via 2001:db8:2::2 mtu 1310\n");
    forwards(&network, "198.51.100.1", (address("198.51.100.1"), REPLY4, 0));
    forwards(&network, "2001:db8:9::1", (address("2001:db8:9::1"), REPLY6, 0));
    assert_eq!(left.run(|| discovered_mtu("10.0.1.2", "198.51.100.1")), 1300);
    assert_eq!(left.run(|| discovered_mtu("2001:db8:1::2", "2001:db8:9::1")), 1310);
    forwards(&network, "2001:db8:2::2", (address("2001:db8:2::2"), REPLY6, 0));
    router.set("ipv6/conf/r2/mtu", "1320");
    assert_eq!(left.run(|| discovered_mtu("2001:db8:1::2", "2001:db8:2::2")), 1320);
    let report = forwarding.stop();
    assert!(count(&report, "cpu: EXCEEDS_MTU") >= 3, "{report}");
}

#[test]
fn routes_that_tables_cannot_describe_lead_where_the_kernel_says() {
    let network = match Network::new() {
        Ok(network) => network,
        Err(error) => return eprintln!("warning: nothing was tested: {error}"),
    };
    let router = &network.router;
    let tables = ["--table", "local", "--table", "main", "--table", "100"];
    let Some(forwarding) = Forwarding::start_in(router, &["r1", "r2"], &tables) else { return };
    add_neighbours(router);
    // Expired routes stay in the kernel's table until its next garbage collection.
    router.set("ipv6/route/gc_interval", "100000");
    router.ip("rule add priority 32767 lookup 100\n\
         route add 0.0.0.0/0 via 10.0.2.18\n\
         route add 203.0.113.0/24 via 10.0.2.13 table 100\n\
         route add 198.51.100.0/24 via 10.0.2.11\n\
         route add 2001:db8:7::/48 via fe80::16 dev r2\n\
         route add 2001:db8:8::/48 via fe80::18 dev r2 metric 20\n");
    let mut with_service = frame("198.51.100.7", 2);
    with_service[15] = 0x10;
    with_service[24..26].fill(0);
    let sum = wireloom_net::wire::checksum::checksum(&with_service[14..34]);
    with_service[24..26].copy_from_slice(&sum.to_be_bytes());
    let frames = [
        with_service,
        frame("198.51.100.7", 1),
        frame("203.0.113.7", 1),
        frame("2001:db8:7::7", 1),
        frame("2001:db8:8::7", 1),
    ];
    let lead_to = |expected: [u8; 5]| {
        until(&format!("{expected:?}"), || {
            (next_hops(&network, &frames) == expected.map(Some)).then_some(())
        });
    };
    lead_to([11, 11, 18, 16, 18]);
    router.ip("route add 198.51.100.0/24 tos 0x10 via 10.0.2.12\n\
         route add throw 203.0.113.0/24\n\
         route add 2001:db8:7::/48 from 2001:db8:1::/48 via fe80::15 dev r2\n\
         route add 2001:db8:8::/48 via fe80::17 dev r2 metric 10 expires 1000\n");
    lead_to([12, 11, 13, 15, 17]);
    router.ip("route replace 2001:db8:8::/48 via fe80::17 dev r2 metric 10 expires 1\n");
    lead_to([12, 11, 13, 15, 18]);
    router.ip("route del 198.51.100.0/24 tos 0x10 via 10.0.2.12\n\
         route del throw 203.0.113.0/24\n\
         route del 2001:db8:7::/48 from 2001:db8:1::/48 via fe80::15 dev r2\n");
    lead_to([11, 11, 18, 16, 18]);
    let report = forwarding.stop();
    assert!(report.contains("repaired: 0;"), "{report}");
}

#[test]
fn next_hops_of_table_files_keep_their_numbers() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let tables = folder.path().join("labels.tables");
    let path = tables.to_str().expect("a path");
    let write = |number: u32| {
        let text = format!(
            "table next_hops\n{number} port=1 dst=02:00:00:00:02:77 src=02:00:00:00:02:01 mtu=1500\n\
             table labels\n100 operation=1 next_hop={number} label=100\n"
        );
        std::fs::write(&tables, text).expect("a file");
    };
    write(1);
    let Some((network, forwarding)) = start(&["--tables", path]) else { return };
    add_neighbours(&network.router);
    network.router.ip("route add 198.51.100.0/24 via 10.0.2.11\n");
    let plain = frame("198.51.100.7", 1);
    // The stack has only label 100, with a TTL of 64.
    let labelled = [&plain[..12], &[0x88, 0x47, 0, 6, 0x41, 64], &plain[14..]].concat();
    let frames = [plain, labelled];
    until("both next hops", || {
        (next_hops(&network, &frames) == [Some(11), Some(77)]).then_some(())
    });
    forwarding.stop();

    let options = ["--port", "r1", "--port", "r2", "--tables", path];
    let refused = |number, why: &str| {
        write(number);
        let output = network.router.run(|| super::command(&options).output().expect("the command"));
        let err = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{err}");
        let what =
            format!("table `next_hops`: entry {number} of a table file is the kernel's: {why}");
        assert!(err.contains(&what), "{err}");
        assert!(err.contains("table files can have entries 1 to 32767; "), "{err}");
    };
    refused(32_768, "routes of the kernel use it");
    refused(0, "routes out of interfaces that are no ports name it");
}

#[test]
fn a_last_resort_with_the_largest_metric_does_not_override_a_route() {
    let Some((network, forwarding)) = start(&[]) else { return };
    add_neighbours(&network.router);
    network.router.ip("route add unreachable 0.0.0.0/0 metric 4294967295\n\
         route add 0.0.0.0/0 via 10.0.2.11\n");
    let frames = [frame("198.51.100.7", 1)];
    until("the default route", || (next_hops(&network, &frames) == [Some(11)]).then_some(()));
    forwarding.stop();
}
