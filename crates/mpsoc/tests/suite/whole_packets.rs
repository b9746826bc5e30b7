//! Engines whose offloads work on whole packets, on timed machines: they behave like golden.

use crate::support::engine::{agree_in_time, own_spec};
use crate::support::{compiled, generated, load_file};
use wireloom_mpsoc::spec::Set;
use wireloom_net::Packet;
use wireloom_net::traffic::{Sizes, Spec as Traffic};
use wireloom_offloads::Store;

/// TCP packets of all sizes, from four ports.
fn packets(count: u64) -> Vec<Packet> {
    let spec = Traffic {
        seed: 11,
        count: Some(count),
        sizes: Sizes::Imix,
        mix: Traffic::parse_mix("ipv4=3,ipv6=3").expect("a mix"),
        transport: "tcp=3,udp=1".parse().expect("a mix"),
        ports: 4,
        ..Traffic::default()
    };
    generated(&spec)
}

#[test]
fn searching_and_extending_packets_is_what_it_is_on_golden() {
    let packets = packets(300);
    for set in [Set::Armv4, Set::Rv32im] {
        let spec = own_spec(set, "");
        let load = |store: &mut Store| load_file(store, "tables/url.tables");
        agree_in_time(&spec, &compiled("url.loom"), &packets, &load);
        agree_in_time(&spec, &compiled("md4.loom"), &packets[..100], &|_| ());
    }
}

#[test]
fn bytes_behind_the_window_are_waited_for_in_packet_memory() {
    let (program, packets) = (compiled("md4.loom"), packets(60));
    let long = packets
        .iter()
        .find(|packet| packet.bytes.len() == 1514)
        .expect("one of 1518 bytes with its check sequence");
    let time = |latency: &str| {
        let mut spec = own_spec(Set::Armv4, &format!("[io.memory]\nlatency_cycles = {latency}"));
        (spec.processors, spec.threads) = (1, 1);
        agree_in_time(&spec, &program, &[long.clone(), long.clone()], &|_| ()).totals().now
    };
    // The second packet waits for the first. Of the 1,500 bytes after Ethernet's header, 1,386 lie
    // after the window. They are read as the last 22 of the blocks, the appended bytes are written,
    // and then the packet is read to be sent. Each access waits 396 cycles more.
    let more = (time("400") - time("4")).0 as f64 / (2.0 * 24.0 * 792_000.0);
    assert!((0.95..1.05).contains(&more), "{more}");
}
