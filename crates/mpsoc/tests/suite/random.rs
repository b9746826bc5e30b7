//! Random programs of the fuzzer: they behave on the processors as on golden.

use std::ops::Range;

use crate::support::agree_on_log;
use crate::support::engine::{agree_on_both_kernels, own_spec};
use wireloom_fuzz::campaign::case;
use wireloom_ir::Program;
use wireloom_isa::program::Architecture;
use wireloom_mpsoc::for_threads;
use wireloom_mpsoc::program::{Elements, PARTS, Partition};
use wireloom_mpsoc::spec::Set;

/// Returns the seeds that `WIRELOOM_MPSOC_RANDOM=FIRST..END` names, or else the usual ones.
fn seeds(usual: Range<u64>) -> Range<u64> {
    let Ok(range) = std::env::var("WIRELOOM_MPSOC_RANDOM") else { return usual };
    let (first, end) = range.split_once("..").expect("FIRST..END");
    first.parse().expect("a number")..end.parse().expect("a number")
}

#[test]
fn random_programs_agree() {
    agree(seeds(0..8));
}

#[test]
#[ignore = "takes long: make test-all"]
fn more_random_programs_agree() {
    agree(8..60);
}

fn agree(seeds: Range<u64>) {
    let (mut agreed, mut refused) = (0, Vec::new());
    for seed in seeds {
        let (case, compiled) = case(seed);
        let compiled = compiled.unwrap_or_else(|failure| panic!("{}", failure.details));
        let machine = if seed % 2 == 0 { Architecture::Arm } else { Architecture::Riscv };
        let program = &for_threads(compiled.plain);
        for partition in [Partition::whole(), cut(program, seed)] {
            match agree_on_log(
                program,
                &partition,
                &Elements::none(),
                &case.input,
                machine,
                &|store| case.input.load(store),
            ) {
                Ok(()) => agreed += 1,
                Err(why) => refused.push(format!("{seed}: {why}")),
            }
        }
    }
    // The other programs need more room for arguments or replies than a thread has.
    assert!(agreed > 9 * refused.len(), "{agreed} agreed, refused were\n{}", refused.join("\n"));
}

#[test]
fn random_programs_agree_in_time_and_in_order() {
    agree_in_time_and_in_order(seeds(0..8));
}

#[test]
#[ignore = "takes long: make test-all"]
fn more_random_programs_agree_in_time_and_in_order() {
    agree_in_time_and_in_order(8..60);
}

/// Tests whole and cut programs on chips of several processors, where threads take packets in any
/// order, each with both kernels.
fn agree_in_time_and_in_order(seeds: Range<u64>) {
    let (mut agreed, mut refused) = (0, Vec::new());
    for seed in seeds {
        let (case, compiled) = case(seed);
        let compiled = compiled.unwrap_or_else(|failure| panic!("{}", failure.details));
        let program = &for_threads(compiled.plain);
        let cuts = cut(program, seed).names(program);
        let cut = format!("[partition]\nkind = \"within-packet\"\ncuts = {:?}", &cuts[1..]);
        let set = if seed % 2 == 0 { Set::Armv4 } else { Set::Rv32im };
        for keys in ["", &cut][..cuts.len().min(2)].iter() {
            match agree_on_both_kernels(&own_spec(set, keys), program, &case.input) {
                Ok(()) => agreed += 1,
                Err(why) => refused.push(format!("{seed}: {why}")),
            }
        }
    }
    assert!(agreed > 4 * refused.len(), "{agreed} agreed, refused were\n{}", refused.join("\n"));
}

/// A partition that cuts before about half of the steps, chosen by a hash of their numbers and the
/// seed.
fn cut(program: &Program, seed: u64) -> Partition {
    let steps = &program.engines[program.main.index()].steps;
    let is_chosen =
        |step: &usize| (seed << 8 | *step as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 63 == 0;
    let names: Vec<&String> =
        (1..steps.len()).filter(is_chosen).take(PARTS - 1).map(|step| &steps[step].name).collect();
    Partition::at(program, &names).unwrap_or_else(|why| panic!("{why}"))
}
