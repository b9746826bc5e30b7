//! Runs many programs in sequence, on all cores.

use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Instant;

use crate::compare::{self, Failure, compile, run_batch};
use crate::crash;
use crate::generate::{Uses, program};
use crate::input::Input;
use crate::regression::save;
use crate::shrink::{Case, shrink};

/// The number of programs whose native code is built together.
const BATCH: u64 = 50;
/// The number of cuts tried on a failing program.
const TRIES: u32 = 4_000;

/// A fuzzing campaign.
pub struct Campaign<'a> {
    /// The first seed. The programs use this seed and those after it.
    pub seed: u64,
    /// The number of programs. Fewer are run if the time is up.
    pub programs: u64,
    /// The time at which to stop.
    pub until: Option<Instant>,
    /// The folder for failing cases.
    pub keep: &'a Path,
    /// Called with the number of programs done, after each batch.
    pub progress: &'a (dyn Fn(u64) + Sync),
}

/// A failure, with the seed of the failing program and the name of the saved case.
pub struct Found {
    pub seed: u64,
    /// The failure after shrinking.
    pub failure: Failure,
    /// The name of the saved file, without extension.
    pub name: String,
}

/// Runs a campaign and returns the number of programs run. It stops at the first failure, shrinks
/// it and saves it. If native code crashes, the process prints the seed and ends.
pub fn run(campaign: &Campaign<'_>) -> (u64, Option<Found>) {
    crash::name_seeds();
    let (next, done) = (AtomicU64::new(0), AtomicU64::new(0));
    let (stop, found) = (AtomicBool::new(false), Mutex::new(None));
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                loop {
                    let first = next.fetch_add(BATCH, Ordering::Relaxed);
                    let late = campaign.until.is_some_and(|until| Instant::now() >= until);
                    if first >= campaign.programs || late || stop.load(Ordering::Relaxed) {
                        return;
                    }
                    let count = BATCH.min(campaign.programs - first);
                    if let Some((seed, failure)) = batch(campaign.seed + first, count)
                        && !stop.swap(true, Ordering::Relaxed)
                    {
                        let kept = keep(campaign.keep, seed, &failure);
                        *found.lock().expect("no thread panics with the lock") = Some(kept);
                    }
                    (campaign.progress)(done.fetch_add(count, Ordering::Relaxed) + count);
                }
            });
        }
    });
    let found = found.into_inner().expect("no thread panics with the lock");
    (done.into_inner(), found)
}

/// Returns the program of a seed and its input. The input is empty if the program does not compile.
pub fn case(seed: u64) -> (Case, Result<crate::compare::Compiled, Failure>) {
    case_of(seed, Uses::default())
}

/// Returns the same as [`case`], but for a program without what only machines in software have.
pub fn case_for_all(seed: u64) -> (Case, Result<crate::compare::Compiled, Failure>) {
    case_of(seed, Uses { in_software: false, ..Uses::default() })
}

/// Returns the same as [`case`], but for a program that uses only the features in `uses`.
pub fn case_of(seed: u64, uses: Uses) -> (Case, Result<crate::compare::Compiled, Failure>) {
    let program = program(seed, uses);
    let compiled = compile(&program.text());
    let input =
        compiled.as_ref().map_or_else(|_| Input::default(), |c| Input::random(&c.plain, seed));
    (Case { program, input }, compiled)
}

/// Returns the first failure among `count` programs from `first`.
fn batch(first: u64, count: u64) -> Option<(u64, Failure)> {
    let cases: Vec<_> = (first..first + count)
        .map(|seed| {
            let (case, compiled) = case(seed);
            (compiled, case.input)
        })
        .collect();
    let results = run_batch(&cases, |index| crash::works_on(first + index as u64));
    let results = results.into_iter().zip(first..);
    results.filter_map(|(result, seed)| result.err().map(|failure| (seed, failure))).next()
}

fn keep(dir: &Path, seed: u64, failure: &Failure) -> Found {
    // Native code takes long to build, so only failures of native code build it.
    let native = failure.kind.is_native();
    let (small, failure) = shrink(case(seed).0, failure.clone(), TRIES, |case| {
        compare::run(&case.program.text(), &case.input, native)
    });
    let name = format!("seed_{seed}");
    let why = format!("{:?}\n{}", failure.kind, failure.details);
    if let Err(error) = save(dir, &name, &small.program.text(), &small.input, &why) {
        eprintln!("{}: {error}", dir.display());
    }
    Found { seed, failure, name }
}
