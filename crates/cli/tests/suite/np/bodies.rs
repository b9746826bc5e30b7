//! Reads and writes of engines beyond the header window.

use super::*;

/// Returns random packets with lengths near the lengths of a header window and of beats, and some
/// long ones.
fn ragged(count: usize) -> Vec<u8> {
    drawn(5, count, |draw| {
        let long = 900 + draw(600);
        random_bytes(draw, &[5, 20, 60, 64, 127, 128, 129, 130, 140, 191, 192, 200, 260, long])
    })
}

#[test]
fn what_lies_behind_the_header_window_is_read_written_and_appended() {
    let place = Workplace::new();
    place.write("bodies.loom", include_bytes!("bodies.loom"));
    place.write("ragged.pcap", &ragged(1000));
    let verify = "verify bodies.loom --on np-1-2-2 --in ragged.pcap";
    place.wireloom(verify).status(0).says(&["1,000 outputs compared", "no difference"]);
    place.wireloom(&format!("{verify} --idle 30 --stall 40")).status(0).says(&["no difference"]);
}

#[test]
#[ignore = "takes long: make test-all"]
fn sums_go_over_the_header_window_and_what_lies_behind() {
    let place = Workplace::new();
    place.write("sums.loom", include_bytes!("sums.loom"));
    place.write("ragged.pcap", &ragged(1000));
    let verify = "verify sums.loom --on np-1-2-2 --in ragged.pcap";
    place.wireloom(verify).status(0).says(&["1,000 outputs compared", "no difference"]);
}

#[test]
#[ignore = "builds a large model: make test-all"]
fn several_offloads_look_at_bodies_in_turn() {
    let place = Workplace::new();
    place.write("shared.loom", include_bytes!("shared.loom"));
    place.write("ragged.pcap", &ragged(1000));
    let verify = "verify shared.loom --on np-1-2-2 --in ragged.pcap";
    place.wireloom(verify).status(0).says(&["1,000 outputs compared", "no difference"]);
    place.wireloom(&format!("{verify} --idle 30 --stall 40")).status(0).says(&["no difference"]);
}
