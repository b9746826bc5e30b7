//! Compares traces of packets through small engines.

use std::net::Ipv4Addr;
use std::path::Path;

use wireloom_testkit::filetest;

use super::{packet, routes, traced};

/// The option of a section is the destination of the packet.
#[test]
fn a_trace_tells_conditions_calls_edits_and_context() {
    filetest::check(Path::new(env!("CARGO_MANIFEST_DIR")).join("src/trace/tests"), |case| {
        match (case.target, case.options.parse::<Ipv4Addr>()) {
            ("trace", Ok(destination)) => {
                Ok(traced(case.input, routes, &packet(destination.octets()), 100).text(80))
            }
            _ => case.unknown(),
        }
    });
}
