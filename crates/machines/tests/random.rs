//! Random programs of the fuzzer: they mean on the processors what they mean on golden.

mod support;

use support::agree;
use wireloom_fuzz::campaign::case;
use wireloom_isa::program::Machine;

/// `WIRELOOM_MPSOC_RANDOM=FIRST..END` tries other seeds than those of every run.
#[test]
fn random_programs_agree() {
    let range = std::env::var("WIRELOOM_MPSOC_RANDOM").unwrap_or_else(|_| "0..24".into());
    let (first, end) = range.split_once("..").expect("FIRST..END");
    let (mut agreed, mut refused) = (0, Vec::new());
    for seed in first.parse().expect("a number")..end.parse::<u64>().expect("a number") {
        let (case, compiled) = case(seed);
        let compiled = compiled.unwrap_or_else(|failure| panic!("{}", failure.details));
        let machine = if seed % 2 == 0 { Machine::Arm } else { Machine::Riscv };
        match agree(&compiled.optimised, &case.input.packets, machine, &|store| case.input.load(store)) {
            Ok(()) => agreed += 1,
            Err(why) => refused.push(format!("{seed}: {why}")),
        }
    }
    assert!(agreed > refused.len(), "{agreed} agreed, refused were\n{}", refused.join("\n"));
}
