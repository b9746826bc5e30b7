//! Bytes put before a place of the packet, and taken away there.

use super::*;

/// Packets of lengths around those of a header window, whose first bytes are random.
fn packets(count: usize) -> Vec<u8> {
    let mut draw = draws(11);
    let packets: Vec<Vec<u8>> = (0..count)
        .map(|_| {
            let lengths = [5, 14, 18, 60, 64, 100, 127, 128, 129, 200, 600];
            let length = lengths[draw(lengths.len() as u64) as usize];
            (0..length).map(|_| draw(256) as u8).collect()
        })
        .collect();
    pcap(&packets.iter().map(Vec::as_slice).collect::<Vec<_>>())
}

#[test]
fn bytes_are_put_before_any_place_of_the_window_and_taken_away() {
    let place = Workplace::new();
    place.write("tags.loom", include_bytes!("tags.loom"));
    place.write("tags.pcap", &packets(2000));
    let verify = "verify tags.loom --on native,np-1-2-2 --in tags.pcap";
    place.wireloom(verify).status(0).says(&["2,000 outputs compared", "no difference"]);
}
