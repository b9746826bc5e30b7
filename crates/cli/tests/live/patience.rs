//! How long tests of live forwarding wait.

use std::net::IpAddr;
use std::time::{Duration, Instant};

/// How long something may take that has to happen, on a computer with much other work too.
pub const PATIENCE: Duration = Duration::from_secs(120);
/// How long one packet may take before it is sent again.
pub const TRY: Duration = Duration::from_millis(200);

/// Parses an address of the tests.
pub fn address(text: &str) -> IpAddr {
    text.parse().expect("an address")
}

/// Repeats until there is a result.
///
/// # Panics
/// After [`PATIENCE`], with these words.
pub fn until<T>(what: &str, attempt: impl FnMut() -> Option<T>) -> T {
    until_within(PATIENCE, what, attempt)
}

/// As [`until`], for what takes longer.
///
/// # Panics
/// After this time, with these words.
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
