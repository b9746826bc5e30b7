//! The default order of the passes.

use std::time::{Duration, Instant};

use wireloom_ir::Program;

use crate::deep;
use crate::passes::{Pass, PassOptions, pass};

/// The passes that [`optimise`] runs, in this order: from sequential code to regions. Each line
/// gives the reason for its position.
pub const DEFAULT: &[&str] = &[
    "evaluate",   // while calls have no guards
    "scatter",    // while it can follow the arms of an `if`
    "if-convert", // all other passes do more with flat code
    "fold",       // decides what is constant
    "cse",        // unifies equal guards, so that later passes see which exclude each other
    "fold",
    "dce",
    "park",   // before `fields`, which cuts the words that it moves
    "resize", // before `fields`, which makes its accesses fit; so does
    "window",
    "fields", // makes each access fit a header port
    "fold",
    "cse",
    "dce",
    "fuse",   // knows what will fit into a slot; while equal sums have equal widths
    "narrow", // before scheduling, so that spills are narrow
    "fold",   // lets slices meet extensions
    "cse",
    "dce",
    "ungate", // so that requests and replies do not wait for checks
    "fold",
    "cse",
    "dce",
    "split", // forms regions
    "fold",  // removes selects of merged calls, decides guards
    "cse",
    "narrow", // more bits of spilled values may be known across steps
    "fold",
    "dce",
    "clean", // numbers the remaining steps and values
];

/// Runs the default passes. The program is verified after each of them in debug builds.
///
/// # Panics
/// In debug builds, if a pass leaves a program that does not verify.
pub fn optimise(program: &mut Program, options: &PassOptions) {
    run(program, DEFAULT, options, |_, _, _| {});
}

/// Runs passes by name. After each pass it calls `after` with the pass's name, the program and the
/// time taken.
///
/// # Panics
/// If there is no pass of a name. In debug builds, also if a pass leaves a program that does not
/// verify.
pub fn run(
    program: &mut Program,
    names: &[&str],
    options: &PassOptions,
    mut after: impl FnMut(&str, &Program, Duration),
) {
    for name in names {
        let start = Instant::now();
        assert!(run_pass(program, name, options), "no pass named {name}");
        after(name, program, start.elapsed());
    }
}

/// Runs one pass. Returns `false` if there is none of this name.
///
/// # Panics
/// In debug builds, if the pass leaves a program that does not verify.
pub fn run_pass(program: &mut Program, name: &str, options: &PassOptions) -> bool {
    let Some(pass) = pass(name) else { return false };
    if deep::is_deep(program) {
        deep::call(|| run_on_this_stack(pass, program, options));
    } else {
        run_on_this_stack(pass, program, options);
    }
    true
}

fn run_on_this_stack(pass: &Pass, program: &mut Program, options: &PassOptions) {
    (pass.run)(program, options);
    if cfg!(debug_assertions)
        && let Err(problems) = wireloom_ir::verify(program)
    {
        let problems: Vec<String> = problems.iter().map(ToString::to_string).collect();
        let name = pass.name;
        panic!("after {name}:\n{}\n{}", problems.join("\n"), wireloom_ir::print(program));
    }
}
