//! Bytes that are inserted into a packet, and removed from it.

use super::*;

/// Returns packets with lengths near the length of a header window, whose first bytes are random.
fn packets(count: usize) -> Vec<u8> {
    drawn(11, count, |draw| random_bytes(draw, &[5, 14, 18, 60, 64, 100, 127, 128, 129, 200, 600]))
}

#[test]
#[ignore = "builds a large model: make test-all"]
fn bytes_are_put_before_any_place_of_the_window_and_taken_away() {
    let place = Workplace::new();
    place.write("tags.loom", include_bytes!("tags.loom"));
    place.write("tags.pcap", &packets(2000));
    let verify = "verify tags.loom --on native,np-1-2-2 --in tags.pcap";
    place.wireloom(verify).status(0).says(&["2,000 outputs compared", "no difference"]);
}
