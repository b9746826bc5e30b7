//! Time limits of live forwarding tests.

use std::net::IpAddr;
use std::time::{Duration, Instant};

/// The time limit for an event that has to happen, even on a computer with much other work. It is
/// shorter than the time that scripts/test.py gives a test, so that the test says what is missing.
pub const PATIENCE: Duration = Duration::from_secs(50);
/// The time after which a packet is sent again.
pub const TRY: Duration = Duration::from_millis(200);

/// Parses an address of the tests.
pub fn address(text: &str) -> IpAddr {
    text.parse().expect("an address")
}

/// Repeats an attempt until it has a result.
///
/// # Panics
/// After [`PATIENCE`], with the text `what`.
pub fn until<T>(what: &str, attempt: impl FnMut() -> Option<T>) -> T {
    until_within(PATIENCE, what, attempt)
}

/// As [`until`], with another time limit.
///
/// # Panics
/// After `patience`, with the text `what`.
pub fn until_within<T>(
    patience: Duration,
    what: &str,
    mut attempt: impl FnMut() -> Option<T>,
) -> T {
    let deadline = Instant::now() + patience;
    loop {
        if let Some(result) = attempt() {
            return result;
        }
        assert!(Instant::now() < deadline, "{what}");
    }
}
