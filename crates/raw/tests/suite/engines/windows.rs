//! Packets that are too short for the headers of an engine.

use super::mapping::{agrees, compiled};
use super::programs::machine;

#[test]
fn fields_past_the_end_of_a_packet_are_zeros_and_stay_unwritten() {
    for on in ["raw-1", "raw-3"] {
        agrees(&machine(on), &compiled("windows.loom"));
    }
}
