//! Time limits of live forwarding tests.

use std::net::IpAddr;
use std::time::{Duration, Instant};

/// Returns the time limit for an event that has to happen, even on a computer with much other work.
/// It is shorter than the time that scripts/test.py gives a test, so that the test says what is
/// missing; both are multiplied by `WIRELOOM_TEST_PATIENCE`.
pub fn patience() -> Duration {
    let factor = std::env::var("WIRELOOM_TEST_PATIENCE").ok().and_then(|text| text.parse().ok());
    Duration::from_secs(50).mul_f64(factor.unwrap_or(1.0))
}

/// The time after which a packet is sent again.
pub const TRY: Duration = Duration::from_millis(200);

/// Parses an address of the tests.
pub fn address(text: &str) -> IpAddr {
    text.parse().expect("an address")
}

/// Repeats an attempt until it has a result.
///
/// # Panics
/// After [`patience`], with the text `what`.
pub fn until<T>(what: &str, attempt: impl FnMut() -> Option<T>) -> T {
    until_within(patience(), what, attempt)
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
