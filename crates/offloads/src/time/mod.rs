//! Times that end at ticks: deadlines, and the order in which they come.

mod wheel;

pub(crate) use wheel::{LOOSE, Places, Wheel};

/// The ingress port of the packets that start the steps of timers. No other packet may arrive from
/// it. Such a packet begins with a 16-bit number: the position of the step's offload among the
/// offloads that have a step. The packed key follows.
pub const TIMER: u16 = u16::MAX;

/// The deadline, and the duration, that never comes to an end.
pub const NEVER: u64 = u64::MAX;

/// Returns when a duration ends, in nanoseconds: at the first tick that is not before its end and
/// that is later than its beginning. Ticks are the multiples of `tick_ns`. [`NEVER`] if the
/// duration is [`NEVER`], or if there is no such tick.
pub fn deadline(tick_ns: u64, from_ns: u64, duration_ns: u64) -> u64 {
    let end = from_ns.saturating_add(duration_ns);
    if end == NEVER {
        return NEVER;
    }
    let tick = end.div_ceil(tick_ns).max(from_ns / tick_ns + 1);
    tick.checked_mul(tick_ns).unwrap_or(NEVER)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_deadline_is_a_tick_after_the_beginning() {
        let deadline = |from, duration| deadline(100, from, duration);
        assert_eq!(deadline(0, 0), 100, "a duration of nothing ends at the next tick");
        assert_eq!(deadline(0, 1), 100);
        assert_eq!(deadline(0, 100), 100);
        assert_eq!(deadline(0, 101), 200);
        assert_eq!(deadline(52, 3), 100);
        assert_eq!(deadline(52, 48), 100);
        assert_eq!(deadline(52, 49), 200);
        assert_eq!(deadline(100, 0), 200, "strictly after the beginning");
        assert_eq!(deadline(100, 100), 200);
    }

    #[test]
    fn what_lies_beyond_time_never_ends() {
        assert_eq!(deadline(100, 5, NEVER), NEVER);
        assert_eq!(deadline(100, u64::MAX - 5, 5), NEVER);
        assert_eq!(deadline(100, u64::MAX - 3, 1), NEVER, "the last tick is before");
        assert_eq!(deadline(1, u64::MAX - 3, 1), u64::MAX - 2);
    }
}
