//! Random programs: every pass alone, and all in order, leave their meaning as it is.

#[path = "../../ir/tests/support/mod.rs"]
mod generate;
mod support;

use proptest::prelude::*;
use wireloom_bits::Bits;
use wireloom_compile::passes::{HeaderPorts, PASSES, PassOptions};
use wireloom_compile::pipeline;
use wireloom_ir::{
    Block, Code, Engine, EngineKind, Exit, Op, OpKind, Program, StepId, Value, ValueInfo, print, verify,
};

/// Makes every jump lead forward, so that no thread runs 65,535 rounds, and gives every jump region one exit: the
/// generator's guards are arbitrary, but exactly one has to hold.
fn tame(mut program: Program) -> Program {
    for engine in &mut program.engines {
        let count = engine.steps.len();
        for index in 0..count {
            tame_step(engine, index, index + 1 == count);
        }
    }
    program
}

fn tame_step(engine: &mut Engine, index: usize, is_last: bool) {
    let reply = match engine.kind {
        EngineKind::Call { reply, .. } => Some(reply),
        EngineKind::Packet => None,
    };
    let step = &mut engine.steps[index];
    let zero = Value(step.values.len() as u32);
    if let Some(width) = reply {
        step.values.push(ValueInfo { width, name: None });
    }
    if let Code::Regions { jump, .. } = &mut step.code {
        let mut exits = 0;
        jump.ops.retain(|op| {
            exits += usize::from(matches!(op.kind, OpKind::Exit(_)));
            exits < 2 || !matches!(op.kind, OpKind::Exit(_))
        });
    }
    let last_block = step.code.blocks_mut().last().expect("code has a block");
    for op in &mut last_block.ops {
        tame_exits(op, index, is_last, reply.map(|_| zero));
    }
    if let Code::Regions { jump, .. } = &mut step.code {
        jump.ops.iter_mut().filter(|op| matches!(op.kind, OpKind::Exit(_))).for_each(|op| op.guard = None);
    }
    if let Some(width) = reply {
        let block: &mut Block = step.code.blocks_mut().next().expect("code has a block");
        let kind = OpKind::Const(Bits::zero(width));
        block.ops.insert(0, Op { kind, results: vec![zero], guard: None, loc: Default::default() });
    }
}

fn tame_exits(op: &mut Op, index: usize, is_last: bool, reply: Option<Value>) {
    match &mut op.kind {
        OpKind::Exit(exit @ (Exit::Next(_) | Exit::Emit(_))) if is_last => {
            *exit = reply.map_or(Exit::Done, Exit::Reply);
        }
        OpKind::Exit(Exit::Next(to) | Exit::Emit(to)) if to.index() <= index => {
            *to = StepId(index as u32 + 1)
        }
        OpKind::If { then, otherwise, .. } => {
            for arm in [then, otherwise] {
                arm.0.ops.iter_mut().for_each(|op| tame_exits(op, index, is_last, reply));
            }
        }
        _ => {}
    }
}

/// Makes steps that have regions sequential: only those are split.
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
        let program = tame(program);
        prop_assert_eq!(verify(&program), Ok(()));
        let expected = support::observe(&program, &support::packets());
        let free = PassOptions::default();
        for pass in PASSES {
            check(&program, &[pass.name], &free, &expected);
        }
        check(&program, pipeline::DEFAULT, &free, &expected);
        for header in [HeaderPorts::new(1, 1), HeaderPorts { reads: 2, writes: 2, bytes: 3 }] {
            let hardware = PassOptions { header: Some(header) };
            for pass in PASSES {
                check(&program, &[pass.name], &hardware, &expected);
            }
            check(&program, pipeline::DEFAULT, &hardware, &expected);
        }
    }

    #[test]
    fn steps_fit_the_header_ports(program in generate::programs()) {
        let program = sequential(tame(program));
        for header in [HeaderPorts::new(1, 1), HeaderPorts { reads: 2, writes: 2, bytes: 3 }] {
            let mut program = program.clone();
            pipeline::optimise(&mut program, &PassOptions { header: Some(header) });
            support::fits(&program, &header, "random program");
        }
    }

    #[test]
    fn passes_find_nothing_to_do_a_second_time(program in generate::programs()) {
        let program = tame(program);
        // Narrowing leaves slices for folding, which may let it narrow more.
        for pass in PASSES.iter().filter(|p| p.name != "narrow") {
            let mut once = program.clone();
            pipeline::run_pass(&mut once, pass.name, &PassOptions::default());
            let mut twice = once.clone();
            pipeline::run_pass(&mut twice, pass.name, &PassOptions::default());
            prop_assert_eq!(print(&once), print(&twice), "{}", pass.name);
        }
    }
}
