//! Compares random engines on native and golden.

use crate::support;
use crate::support::random::{packets, program};
use wireloom_compile::passes::PassOptions;
use wireloom_compile::pipeline;

/// `WIRELOOM_NATIVE_RANDOM=FIRST..END` sets other seeds.
#[test]
fn random_engines_agree() {
    engines_agree(&support::seeds("WIRELOOM_NATIVE_RANDOM", 0..60));
}

#[test]
#[ignore = "takes long: make test-all"]
fn more_random_engines_agree() {
    engines_agree(&(60..1_000).collect::<Vec<_>>());
}

fn engines_agree(seeds: &[u64]) {
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
