//! The command's use of the computer: packets to the kernel, privileges and time.

use std::fmt::Write as _;

use super::routes::{add_neighbours, frame, kernels, next_hops};
use super::{Forwarding, REPLY4, address, count, reaches, start, until};
use crate::network::Network;
use crate::wire::{self, Wire};

#[test]
fn packets_to_the_kernel_are_limited_by_reason() {
    let options = ["--cpu-rate", "TTL_EXPIRED=50"];
    let Some((network, forwarding)) = start(&options) else { return };
    let left = &network.left;
    super::until("the machine forwards", || {
        let before = network.router.forwarded();
        reaches(left, "10.0.2.2", 64, (address("10.0.2.2"), REPLY4, 0));
        (network.router.forwarded() == before).then_some(())
    });
    left.run(|| {
        let wire = Wire::open().expect("a packet socket");
        let ha = wire::interface_index("ha").expect("an interface");
        let mut frame = vec![2, 0, 0, 0, 1, 1, 2, 0, 0, 0, 1, 2, 8, 0];
        frame.extend([0x45, 0, 0, 28, 0, 0, 0, 0, 1, 17, 0x61, 0xcf, 10, 0, 1, 2, 10, 0, 2, 2]);
        let sum = wireloom_net::wire::checksum::checksum(
            &[&frame[14..24], &[0, 0], &frame[26..34]].concat(),
        );
        frame[24..26].copy_from_slice(&sum.to_be_bytes());
        frame.extend([0, 7, 0, 9, 0, 8, 0, 0]);
        (0..2000).for_each(|_| wire.send(ha, &frame).expect("sent"));
    });
    // Other reasons are not limited.
    reaches(left, "10.0.1.1", 64, (address("10.0.1.1"), REPLY4, 0));
    let report = forwarding.stop();
    let (all, policed) =
        (count(&report, "cpu: TTL_EXPIRED"), count(&report, "policed: TTL_EXPIRED:"));
    assert_eq!(all, 2000, "{report}");
    assert!((1000..2000).contains(&policed), "{report}");
    assert_eq!(report.matches("policed").count(), 1, "{report}");
}

#[test]
fn a_reason_that_the_program_does_not_have_is_refused() {
    let mut command = super::command(&["--port", "lo", "--cpu-rate", "TTL_EXPIRE=50"]);
    let output = command.output().expect("the command");
    assert_eq!(output.status.code(), Some(2));
    let err = String::from_utf8_lossy(&output.stderr);
    assert!(err.contains("no reason `TTL_EXPIRE`"), "{err}");
    assert!(err.contains("did you mean `TTL_EXPIRED`?"), "{err}");
}

/// Returns the name of each thread of a forwarder with these rows of its status, the main thread
/// first.
fn threads<const ROWS: usize>(
    forwarding: &Forwarding,
    rows: [&str; ROWS],
) -> Vec<(String, [String; ROWS])> {
    let main = forwarding.child.id();
    let tasks = std::fs::read_dir(format!("/proc/{main}/task")).expect("threads");
    let number = |task: std::io::Result<std::fs::DirEntry>| {
        let name = task.expect("a thread").file_name();
        name.to_str().and_then(|name| name.parse::<u32>().ok()).expect("a number")
    };
    let mut numbers: Vec<u32> = tasks.map(number).collect();
    numbers.sort_by_key(|number| *number != main);
    let status = |number: u32| {
        let path = format!("/proc/{main}/task/{number}/status");
        // A thread that has ended since has no status.
        let text = std::fs::read_to_string(path).ok()?;
        let row_of = |row: &str| {
            let line = text.lines().find(|line| line.starts_with(row)).expect("a row");
            line[row.len()..].trim_start_matches(':').trim().to_owned()
        };
        Some((row_of("Name"), rows.map(row_of)))
    };
    numbers.into_iter().filter_map(status).collect()
}

#[test]
fn rights_are_given_up_after_the_start() {
    const NONE: &str = "0000000000000000";
    // The privilege to inform the kernel of neighbours.
    const NET_ADMIN: &str = "0000000000001000";
    // The privilege to read files again. Requests to the kernel pass through this thread too.
    const NET_ADMIN_AND_READ: &str = "0000000000001004";
    let Some((network, forwarding)) = start(&["--cores", "2"]) else { return };
    // A thread has its creator's name until it sets its own.
    let mut before = Vec::new();
    super::until("each thread has its rights and no more", || {
        let all = threads(&forwarding, ["CapEff", "CapPrm", "NoNewPrivs"]);
        let is_right = |(name, [effective, permitted, no_new]): &(String, [String; 3])| {
            let expected = match name.as_str() {
                "wireloom" | "core" | "holder" | "specialise" | "command" => NONE,
                // `reading` reads the kernel's state for the first, and comes and goes;
                // `conditions` looks for kernel features that forwarding ignores.
                "mirror" | "reading" | "conditions" => NET_ADMIN,
                "reload" => NET_ADMIN_AND_READ,
                _ => return false,
            };
            [effective.as_str(), permitted, no_new] == [expected, expected, "1"]
        };
        let is_there = |name| all.iter().any(|(own, _)| own == name);
        let done =
            all.iter().all(is_right) && ["core", "holder", "mirror", "reload"].iter().all(is_there);
        if before != all {
            eprintln!("{all:?}");
            before = all;
        }
        done.then_some(())
    });
    // Forwarding works without further privileges.
    reaches(&network.left, "10.0.2.2", 64, (address("10.0.2.2"), REPLY4, 0));
    reaches(&network.left, "10.0.2.2", 1, (address("10.0.1.1"), 11, 0));
    forwarding.stop();
}

#[test]
fn without_traffic_it_sleeps() {
    let Some((network, forwarding)) = start(&[]) else { return };
    reaches(&network.left, "10.0.2.2", 64, (address("10.0.2.2"), REPLY4, 0));
    let mut busy = Vec::new();
    // At first the engine is still specialised to its tables. A thread that polls is never quiet.
    while busy.len() < 3 && busy.last().is_none_or(|ticks| *ticks > 6) {
        let before = forwarding.cpu_ticks();
        // This sleep is the measured time, not a wait for an event.
        std::thread::sleep(std::time::Duration::from_secs(2));
        busy.push(forwarding.cpu_ticks() - before);
    }
    // A tick is 10 ms, so 3 % of two seconds are six ticks.
    assert!(busy.last() <= Some(&6), "{busy:?} ticks, each in two seconds");
    forwarding.stop();
}

/// Returns the least memory in MiB that the command says it needs for these ports.
fn needed_memory(network: &Network) -> Option<u64> {
    let options = ["--port", "r1", "--port", "r2", "--memory", "1M"];
    let output = network.router.run(|| super::command(&options).output().expect("the command"));
    let err = String::from_utf8_lossy(&output.stderr);
    if ["Operation not permitted", "is not installed"].iter().any(|why| err.contains(why)) {
        eprintln!("warning: nothing was tested: {err}");
        return None;
    }
    assert_eq!(output.status.code(), Some(2), "{err}");
    for part in ["--memory: 1 MiB are too few", "port r1", "port r2", "the program"] {
        assert!(err.contains(part), "{part}: {err}");
    }
    let number = err.split_once("give --memory ").expect("advice").1;
    Some(number.split_once('M').expect("MiB").0.parse().expect("a number"))
}

#[test]
fn memory_stays_within_its_limit_and_the_kernel_forwards_what_has_no_room() {
    const ROUTES: u32 = 60_000;
    let Ok(network) = Network::new() else {
        return eprintln!("warning: nothing was tested: no namespaces");
    };
    let Some(needed) = needed_memory(&network) else { return };
    let limit = needed + 24;
    let memory = format!("{limit}M");
    let options = ["--memory", memory.as_str(), "--reconcile", "1"];
    let Some(forwarding) = Forwarding::start(&network, &options) else { return };
    add_neighbours(&network.router);
    let routes = |verb: &str, numbers: std::ops::Range<u32>| {
        let mut text = String::new();
        for number in numbers {
            let [_, high, low, last] = (number * 5).to_be_bytes();
            let hop = 11 + number % 7;
            let _ = writeln!(text, "route {verb} 20.{high}.{low}.{last}/32 via 10.0.2.{hop}");
        }
        text
    };
    let forwards_as_the_kernel = || {
        let sample = (0..ROUTES).step_by(997).map(|number| {
            let [_, high, low, last] = (number * 5).to_be_bytes();
            format!("20.{high}.{low}.{last}")
        });
        let sample: Vec<String> = sample.chain(["20.0.0.1".into()]).collect();
        let expected = kernels(&network.router, sample.iter().map(String::as_str));
        let frames: Vec<_> = sample.iter().map(|to| frame(to, 7)).collect();
        until("it forwards as the kernel would", || {
            (next_hops(&network, &frames) == expected).then_some(())
        });
    };
    let by_kernel = || network.router.forwarded();
    network.router.ip("route add 20.0.0.0/8 via 10.0.2.17\n");
    network.router.ip_force(&routes("add", 0..ROUTES));
    forwards_as_the_kernel();
    let before = by_kernel();
    forwards_as_the_kernel();
    assert!(by_kernel() > before, "some have no room");
    let most = forwarding.most_memory_kib();
    assert!(most <= limit << 10, "{most} KiB of {limit} MiB");

    // With room again, all routes are in our tables.
    network.router.ip_force(&routes("del", ROUTES / 5..ROUTES));
    until("there is room for all", || {
        let before = by_kernel();
        next_hops(&network, &[frame("20.0.0.5", 7), frame("20.0.0.1", 7)]);
        (by_kernel() == before).then_some(())
    });
    forwards_as_the_kernel();
    let most = forwarding.most_memory_kib();
    assert!(most <= limit << 10, "{most} KiB of {limit} MiB");
    let report = forwarding.stop();
    assert!(report.contains(&format!("of {limit} MiB")), "{report}");
    assert!(!report.contains("no room"), "{report}");
    assert!(report.contains("repaired: 0;"), "{report}");
}
