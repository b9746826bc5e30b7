//! Runs many simulations in parallel on host threads.

use std::cmp::Reverse;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

/// A simulation panicked: the machine's model has a bug.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the simulation of point {point} has failed: {message}")]
pub struct SweepError {
    /// The number of the point, from 0.
    pub point: usize,
    /// The panic message.
    pub message: String,
}

/// Runs a simulation for each point on a number of threads (at least one). Returns the results in
/// the order of the points. The simulations are independent, so results do not depend on the number
/// of threads.
///
/// # Errors
/// If a simulation panics. The error is for the first such point in order; the others run to their
/// ends.
pub fn sweep<P: Sync, R: Send>(
    points: &[P],
    workers: usize,
    simulate: impl Fn(&P) -> R + Sync,
) -> Result<Vec<R>, SweepError> {
    sweep_longest_first(points, workers, |_| 0, simulate)
}

/// Runs a sweep as [`sweep`] does, but starts the longest points first, and points of equal length
/// in order, so that the threads end at about the same time. `length` is in any unit and can be
/// approximate.
///
/// # Errors
/// As [`sweep`].
pub fn sweep_longest_first<P: Sync, R: Send>(
    points: &[P],
    workers: usize,
    length: impl Fn(&P) -> u64,
    simulate: impl Fn(&P) -> R + Sync,
) -> Result<Vec<R>, SweepError> {
    let mut order: Vec<(usize, &P)> = points.iter().enumerate().collect();
    order.sort_by_cached_key(|(_, point)| Reverse(length(point)));
    let next = AtomicUsize::new(0);
    // An idle thread takes the next point, as lengths differ.
    let work = || {
        let mut results = Vec::new();
        loop {
            let Some(&(number, point)) = order.get(next.fetch_add(1, Ordering::Relaxed)) else {
                return results;
            };
            // A simulation owns all its mutable state, so no partial change is visible after a
            // panic.
            let result = catch_unwind(AssertUnwindSafe(|| simulate(point)));
            results.push((number, result.map_err(|panic| message(panic.as_ref()))));
        }
    };
    let workers = workers.clamp(1, points.len().max(1));
    let mut results = thread::scope(|scope| {
        let others: Vec<_> = (1..workers).map(|_| scope.spawn(work)).collect();
        let mut results = work();
        for other in others {
            results.extend(other.join().expect("panics are caught within"));
        }
        results
    });
    results.sort_unstable_by_key(|(number, _)| *number);
    results
        .into_iter()
        .map(|(point, result)| result.map_err(|message| SweepError { point, message }))
        .collect()
}

fn message(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "a panic without a text".to_owned())
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;

    #[test]
    fn results_come_in_the_order_of_the_points_with_any_number_of_threads() {
        let points: Vec<u64> = (0..50).collect();
        // The first points take longest.
        let simulate = |point: &u64| {
            (0..(50 - point) * 1000).fold(*point, |sum, n| sum.wrapping_mul(31).wrapping_add(n))
        };
        let alone = sweep(&points, 1, simulate).unwrap();
        assert_eq!(alone, points.iter().map(simulate).collect::<Vec<_>>());
        for workers in [0, 2, 7, 100] {
            assert_eq!(sweep(&points, workers, simulate).unwrap(), alone);
        }
        assert!(sweep(&[], 2, simulate).unwrap().is_empty());
    }

    #[test]
    fn the_longest_points_are_begun_first() {
        let points = [(3, 'a'), (7, 'b'), (1, 'c'), (7, 'd'), (9, 'e')];
        let begun = Mutex::new(String::new());
        let simulate = |&(_, name): &(u64, char)| begun.lock().unwrap().push(name);
        sweep_longest_first(&points, 1, |(length, _)| *length, simulate).unwrap();
        assert_eq!(begun.into_inner().unwrap(), "ebdac");
    }

    #[test]
    fn a_panic_is_told_with_its_point() {
        let error = sweep(&[1, 2, 3, 4], 2, |point| assert!(point % 2 == 1, "{point} is even"))
            .unwrap_err();
        assert_eq!(error, SweepError { point: 1, message: "2 is even".to_owned() });
        assert_eq!(error.to_string(), "the simulation of point 1 has failed: 2 is even");
    }
}
