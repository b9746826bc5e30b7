//! Frames of random bytes: nothing fails, and every frame is counted once.

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::network::Network;
use super::wire::{self, Wire};
use super::{Forwarding, REPLY4, address, each_way, reaches};

/// Random bytes behind headers that are right up to some byte, `per_length` frames of each length.
fn send(network: &Network, lengths: std::ops::RangeInclusive<usize>, per_length: usize) {
    let mut random = ChaCha8Rng::seed_from_u64(23);
    network.left.run(|| {
        let wire = Wire::open().expect("a packet socket");
        let ha = wire::interface_index("ha").expect("an interface");
        for length in lengths {
            for _ in 0..per_length {
                let mut frame = vec![2, 0, 0, 0, 1, 1, 2, 0, 0, 0, 1, 2];
                match random.random() {
                    true => frame.extend([
                        8, 0, 0x45, 0, 0, 46, 0, 0, 0, 0, 64, 17, 0, 0, 10, 0, 1, 2, 10, 0, 2, 2,
                    ]),
                    false => {
                        frame.extend([0x86, 0xdd, 0x60, 0, 0, 0, 0, 6, 17, 64]);
                        frame.extend([0x20, 1, 0xd, 0xb8, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2]);
                        frame.extend([0x20, 1, 0xd, 0xb8, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2]);
                    }
                }
                frame.truncate(random.random_range(0..=frame.len()).min(length));
                frame.resize_with(length, || random.random());
                wire.send(ha, &frame).expect("sent");
            }
        }
    });
}

/// Stops and checks the sums. At least so many frames arrived.
fn adds_up(forwarding: Forwarding, json: &std::path::Path, least: u64) {
    let text = forwarding.stop();
    let written = std::fs::read_to_string(json).expect("a file");
    let report: serde_json::Value = serde_json::from_str(&written).expect("JSON");
    let sum = |list: &str, counter: &str| -> u64 {
        let rows = report[list].as_array().expect("a list");
        rows.iter().map(|row| row[counter].as_u64().expect("a number")).sum()
    };
    let received = sum("ports", "received_packets");
    assert!(received + sum("ports", "lost_at_input") > least, "{text}");
    let (sent, cpu) = (sum("sent", "packets"), sum("cpu", "packets"));
    assert_eq!(sent + cpu + sum("dropped", "packets"), received, "{text}");
    let out = sum("ports", "sent_packets") + sum("ports", "lost_at_output");
    assert_eq!(out, sent, "{text}");
    assert!(sum("policed", "packets") + sum("ports", "lost_to_kernel") <= cpu, "{text}");
}

#[test]
fn every_frame_is_counted_once_whatever_is_in_it() {
    each_way(|options| random_frames(options, None, 14..=1514, 1));
}

#[test]
#[ignore = "takes minutes: make test-all"]
fn every_frame_of_every_length_is_counted_once() {
    // Frames shorter than an Ethernet header cannot be sent.
    each_way(|options| random_frames(options, None, 14..=1514, 100));
    random_frames(&["--io", "packet"], Some(9000), 14..=9014, 20);
}

fn random_frames(
    options: &[&str],
    mtu: Option<u32>,
    lengths: std::ops::RangeInclusive<usize>,
    per_length: usize,
) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let json = folder.path().join("counters.json");
    let options = [options, &["--json", json.to_str().expect("a path")]].concat();
    let network = match Network::new() {
        Ok(network) => network,
        Err(error) => return eprintln!("warning: nothing was tested: {error}"),
    };
    if let Some(mtu) = mtu {
        network.router.ip(&format!("link set r1 mtu {mtu}\nlink set r2 mtu {mtu}\n"));
        network.left.ip(&format!("link set ha mtu {mtu}\n"));
        network.right.ip(&format!("link set hb mtu {mtu}\n"));
    }
    let Some(forwarding) = Forwarding::start(&network, &options) else { return };
    let memory = forwarding.memory_kib();
    let count = lengths.clone().count() * per_length;
    send(&network, lengths, per_length);
    reaches(&network.left, "10.0.2.2", 64, (address("10.0.2.2"), REPLY4, 0));
    let growth = forwarding.memory_kib().saturating_sub(memory);
    // Buffers are touched for the first time; nothing grows with the number of frames.
    assert!(growth < 64 << 10, "{growth} KiB after {count} frames");
    adds_up(forwarding, &json, count as u64);
}
