//! The 606,138 IPv4 prefixes of the Internet in the kernel's table: entered at once, and announced
//! by a routing daemon.

use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use rand::seq::IndexedRandom;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use serde_json::Value;
use wireloom_net::tables::{Family, Prefix, read_prefixes};

use super::daemons::bird;
use super::routes::{add_neighbours, frame, kernels, next_hops};
use super::{Forwarding, REPLY4, address, reaches, until};
use crate::network::Network;
use crate::patience::until_within;

const PREFIXES: &str =
    ".cache/data/pyasn/usr/lib/python3/dist-packages/data/ipasn6_20151101.dat.gz";
/// The time limit for a daemon to announce the prefixes and for the kernel to enter them.
const CONVERGENCE: Duration = Duration::from_secs(300);
/// The number of prefixes that are compared with the kernel's table.
const COMPARED: usize = 500;

/// Reads the prefixes. Returns `None`, with a warning, if the file is missing.
fn internet() -> Option<Vec<Prefix>> {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(PREFIXES);
    match read_prefixes(&file) {
        Ok(prefixes) => {
            Some(prefixes.into_iter().filter(|prefix| prefix.family() == Family::V4).collect())
        }
        Err(error) => {
            eprintln!("warning: nothing was tested: {error}");
            None
        }
    }
}

/// Returns an address in each of some of the prefixes.
fn some_addresses(prefixes: &[Prefix]) -> Vec<String> {
    let mut random = ChaCha8Rng::seed_from_u64(606_138);
    let some = prefixes.choose_multiple(&mut random, COMPARED).copied().collect::<Vec<_>>();
    some.iter()
        .map(|prefix| {
            let address = prefix.address(random.random());
            std::net::Ipv4Addr::from_bits(address as u32).to_string()
        })
        .collect()
}

/// Compares the machine's next hops with the kernel's, at these addresses.
fn forwards_as_the_kernel(network: &Network, addresses: &[String]) {
    let expected = kernels(&network.router, addresses.iter().map(String::as_str));
    let frames: Vec<_> = addresses.iter().map(|to| frame(to, 7)).collect();
    until("the machine forwards as the kernel would", || {
        (next_hops(network, &frames) == expected).then_some(())
    });
    let reached = expected.iter().flatten().count();
    assert!(reached * 10 > addresses.len() * 9, "{reached} of {} have a route", addresses.len());
}

#[test]
#[ignore = "606,138 routes: make test-all"]
fn the_whole_internet_is_mirrored_and_one_change_takes_milliseconds() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let json = folder.path().join("counters.json");
    let network = Network::new().expect("namespaces");
    add_neighbours(&network.router);
    let Some(prefixes) = internet() else { return };
    let mut text = String::new();
    for (index, prefix) in prefixes.iter().enumerate() {
        let _ = writeln!(text, "route replace {prefix} via 10.0.2.{}", 11 + index % 7);
    }
    let begin = Instant::now();
    network.router.ip_force(&text);
    eprintln!("{} prefixes into the kernel: {:?}", prefixes.len(), begin.elapsed());
    let begin = Instant::now();
    let options = ["--json", json.to_str().expect("a path"), "--reconcile", "1"];
    let Some(forwarding) = Forwarding::start(&network, &options) else { return };
    eprintln!("mirrored and forwarding after {:?}", begin.elapsed());
    eprintln!("resident memory: {} MiB", forwarding.memory_kib() / 1024);
    forwards_as_the_kernel(&network, &some_addresses(&prefixes));
    let change = |last: usize| format!("route replace 198.51.100.0/24 via 10.0.2.{last}\n");
    let leads = |last: usize| {
        until("the change", || {
            let found = next_hops(&network, &[frame("198.51.100.1", 7)]);
            (found == [Some(last as u8)]).then_some(())
        });
    };
    let mut times: Vec<Duration> = (0..101)
        .map(|index| {
            let last = 11 + index % 2;
            network.router.ip(&change(last));
            let begin = Instant::now();
            leads(last);
            begin.elapsed()
        })
        .collect();
    times.sort();
    eprintln!("one change: median {:?}, longest {:?}", times[50], times[100]);

    // A route flaps a thousand times.
    let flapping: String = (0..1000).map(|time| change(11 + time % 2)).collect();
    network.router.ip(&(flapping + &change(13)));
    let begin = Instant::now();
    leads(13);
    eprintln!("settled {:?} after a thousand changes of a route", begin.elapsed());
    forwards_as_the_kernel(&network, &some_addresses(&prefixes));
    eprintln!("resident memory: {} MiB", forwarding.memory_kib() / 1024);
    forwarding.stop();
    let written = std::fs::read_to_string(json).expect("a file");
    let report: Value = serde_json::from_str(&written).expect("JSON");
    let kernel = &report["kernel"];
    assert!(kernel["routes"].as_u64() >= Some(prefixes.len() as u64), "{kernel}");
    assert_eq!((&kernel["repairs"], &kernel["failures"]), (&0.into(), &0.into()), "{kernel}");
    assert!(times[50] < Duration::from_millis(50), "{:?}", times[50]);
    // The limit holds even while everything is read again.
    assert!(times[100] < Duration::from_secs(1), "{:?}", times[100]);
}

/// Three routers: router 3 announces everything by BGP to router 2, where the command forwards, and
/// router 2 to router 1. They reach each other by OSPF, over two links between 2 and 3.
#[test]
#[ignore = "606,138 routes by BGP: make test-all"]
fn the_whole_internet_is_announced_by_bgp_and_its_traffic_moves_with_a_link() {
    let network = match Network::new() {
        Ok(network) => network,
        Err(error) => return eprintln!("warning: nothing was tested: {error}"),
    };
    network.add_third();
    let (left, router, right) = (&network.left, &network.router, &network.right);
    let Some(prefixes) = internet() else { return };
    let addresses = some_addresses(&prefixes);
    let probed = &addresses[0];
    right.ip(&format!("address add {probed}/32 dev lo\n"));
    // The frames that end a comparison go to this neighbour.
    router.ip("neighbour replace 10.0.2.18 lladdr 02:00:00:00:02:02 dev r2 nud permanent\n");

    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = |name: &str| folder.path().join(name).display().to_string();
    let (control, json) = (path("control"), path("counters.json"));
    let options = ["--control", &control, "--json", &json, "--reconcile", "1"];
    let ports = ["r1", "r2", "r3"];
    let Some(forwarding) = Forwarding::start_in(router, &ports, &options) else { return };
    let routes = || -> u64 {
        let mut ctl = Command::new(env!("CARGO_BIN_EXE_wireloom"));
        ctl.args(["ctl", "--control", &control, "status", "--json", "-"]);
        let output = ctl.output().expect("the command").stdout;
        let status: Value = serde_json::from_slice(&output).expect("JSON");
        status["kernel"]["routes"].as_u64().expect("a number")
    };
    let announced: Vec<String> = prefixes.iter().map(Prefix::to_string).collect();
    let begin = Instant::now();
    let start = |space, system, interfaces: &[_], neighbours: &[_], announced: &[String]| {
        bird(space, folder.path(), system, interfaces, neighbours, announced)
    };
    let daemons = [
        start(left, 1, &[("ha", 10)], &[2], &[]),
        start(router, 2, &[("r1", 10), ("r2", 10), ("r3", 100)], &[1, 3], &[]),
        start(right, 3, &[("hb", 10), ("hc", 100)], &[2], &announced),
    ];
    if daemons.iter().any(Option::is_none) {
        return;
    }
    let mirrored = |begin: Instant, device: &str| {
        let in_kernel = || {
            let words = ["route", "show", "proto", "bird", "dev", device];
            router.ip_show(&words).lines().count()
        };
        let what = format!("everything is sent by {device}");
        until_within(CONVERGENCE, &what, || (in_kernel() >= prefixes.len()).then_some(()));
        let kernel = begin.elapsed();
        until_within(CONVERGENCE, &what, || (routes() >= prefixes.len() as u64).then_some(()));
        let (both, memory) = (begin.elapsed(), forwarding.memory_kib() / 1024);
        eprintln!("{what} by the kernel after {kernel:?}, mirrored after {both:?}, {memory} MiB");
    };
    mirrored(begin, "r2");
    forwards_as_the_kernel(&network, &addresses);
    let reply = (address(probed), REPLY4, 0);
    reaches(left, probed, 64, reply);

    // A link goes down, and comes back.
    for (change, device) in [("down", "r3"), ("up", "r2")] {
        router.ip(&format!("link set r2 {change}\n"));
        let begin = Instant::now();
        until_within(CONVERGENCE, &format!("the kernel sends by {device}"), || {
            router.ip_route_get(probed).contains(&format!("dev {device} ")).then_some(())
        });
        let changed = Instant::now();
        reaches(left, probed, 64, reply);
        let moved = changed.elapsed();
        let kernel = changed - begin;
        eprintln!(
            "r2 {change}: the kernel has another way after {kernel:?}, traffic {moved:?} later"
        );
        assert!(moved < Duration::from_secs(1), "r2 {change}: {moved:?}");
        mirrored(begin, device);
    }
    // The marker's neighbour disappeared with the link.
    router.ip("neighbour replace 10.0.2.18 lladdr 02:00:00:00:02:02 dev r2 nud permanent\n");
    forwards_as_the_kernel(&network, &addresses);
    forwarding.stop();
    let written = std::fs::read_to_string(json).expect("a file");
    let report: Value = serde_json::from_str(&written).expect("JSON");
    let kernel = &report["kernel"];
    eprintln!("{kernel}");
    assert_eq!(kernel["repairs"], 0, "{kernel}");
}
