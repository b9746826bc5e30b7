//! Random engines: native does what golden does.

mod support;

use support::random::{packets, program};
use wireloom_compile::passes::PassOptions;
use wireloom_compile::pipeline;

/// `WIRELOOM_NATIVE_RANDOM=FIRST..END` tries other seeds than those of every run.
#[test]
fn random_engines_agree() {
    let range = std::env::var("WIRELOOM_NATIVE_RANDOM").unwrap_or_else(|_| "0..200".into());
    let (first, end) = range.split_once("..").expect("FIRST..END");
    let seeds: Vec<u64> =
        (first.parse().expect("a number")..end.parse().expect("a number")).collect();
    let packets = packets(1, 150);
    for chunk in seeds.chunks(100) {
        let programs: Vec<_> = chunk
            .iter()
            .map(|seed| {
                let mut program = program(*seed);
                pipeline::run_pass(&mut program, "evaluate", &PassOptions::default());
                program
            })
            .collect();
        support::agree(&programs, &packets, &support::fill_tables);
    }
}
