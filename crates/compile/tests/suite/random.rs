//! Tests random programs: every pass alone, and all in order, preserve their meaning.

use crate::generate;
use crate::support;

use proptest::prelude::*;
use wireloom_compile::analysis::ports::HeaderPorts;
use wireloom_compile::passes::{PASSES, PassOptions};
use wireloom_compile::pipeline;
use wireloom_ir::{Block, Code, Program, print, verify};

/// Makes steps with regions sequential, since only sequential steps are split.
fn sequential(mut program: Program) -> Program {
    for step in program.engines.iter_mut().flat_map(|e| &mut e.steps) {
        if let Code::Regions { .. } = &step.code {
            let ops = step.code.blocks_mut().flat_map(|b| std::mem::take(&mut b.ops)).collect();
            step.code = Code::Sequential(Block { ops });
        }
    }
    program
}

fn check(program: &Program, names: &[&str], options: &PassOptions, expected: &[String]) {
    let mut changed = program.clone();
    for name in names {
        assert!(pipeline::run_pass(&mut changed, name, options));
    }
    let got = support::observe(&changed, &support::packets());
    if got != expected {
        let difference = got.iter().zip(expected).find(|(a, b)| a != b);
        panic!(
            "{names:?} changes the meaning: {difference:#?}\nbefore:\n{}\nafter:\n{}",
            print(program),
            print(&changed)
        );
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300.max(ProptestConfig::default().cases), ..ProptestConfig::default() })]

    #[test]
    fn passes_keep_the_meaning(program in generate::programs()) {
        let program = support::tame(program);
        prop_assert_eq!(verify(&program), Ok(()));
        let expected = support::observe(&program, &support::packets());
        let free = PassOptions::default();
        for pass in PASSES {
            check(&program, &[pass.name], &free, &expected);
        }
        check(&program, pipeline::DEFAULT, &free, &expected);
        for header in [HeaderPorts::new(1, 1), HeaderPorts { reads: 2, writes: 2, bytes: 3 }] {
            let hardware = PassOptions::hardware(header);
            for pass in PASSES {
                check(&program, &[pass.name], &hardware, &expected);
            }
            check(&program, pipeline::DEFAULT, &hardware, &expected);
        }
    }

    #[test]
    fn steps_fit_the_header_ports(program in generate::programs()) {
        let program = sequential(support::tame(program));
        for header in [HeaderPorts::new(1, 1), HeaderPorts { reads: 2, writes: 2, bytes: 3 }] {
            let mut program = program.clone();
            pipeline::optimise(&mut program, &PassOptions::hardware(header));
            support::fits(&program, &header, "random program");
        }
    }

    #[test]
    fn passes_find_nothing_to_do_a_second_time(program in generate::programs()) {
        let program = support::tame(program);
        // Narrowing leaves slices for folding, after which it may narrow further.
        for pass in PASSES.iter().filter(|p| p.name != "narrow") {
            let mut once = program.clone();
            pipeline::run_pass(&mut once, pass.name, &PassOptions::default());
            let mut twice = once.clone();
            pipeline::run_pass(&mut twice, pass.name, &PassOptions::default());
            prop_assert_eq!(print(&once), print(&twice), "{}", pass.name);
        }
    }
}
