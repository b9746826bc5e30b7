//! Tests that context variables that share bits do not disturb each other: if every thread's
//! context is kept in one vector, as in hardware, nothing changes.

use crate::generate;
use crate::support;

use proptest::prelude::*;
use wireloom_bits::MAX_WIDTH;
use wireloom_compile::analysis::storage::Storage;
use wireloom_compile::passes::PassOptions;
use wireloom_compile::pipeline;
use wireloom_ir::{
    Block, Code, ContextId, ContextVar, Engine, EngineKind, Op, OpKind, Program, Step, Value,
    ValueInfo, parse, print, verify,
};

/// Keeps the context of each engine in a vector. The vector is read into the variables when a step
/// begins, and assembled from the writes of the step when it ends. An extra first step stores the
/// parameters.
fn stored(mut program: Program) -> Option<Program> {
    for engine in &mut program.engines {
        let storage = Storage::of(engine);
        if storage.bits == 0 {
            continue;
        }
        if storage.bits > MAX_WIDTH || matches!(engine.kind, EngineKind::Call { .. }) {
            return None;
        }
        let vector = ContextId(engine.context.len() as u32);
        let variables = engine.context.clone();
        engine.context.push(ContextVar { name: "everything".to_owned(), width: storage.bits });
        for step in &mut engine.steps {
            store_step(step, &variables, &storage, vector);
        }
    }
    Some(program)
}

fn store_step(step: &mut Step, variables: &[ContextVar], storage: &Storage, vector: ContextId) {
    let blocks: Vec<Block> = step.code.blocks_mut().map(std::mem::take).collect();
    let ops: Vec<Op> = blocks.into_iter().flat_map(|block| block.ops).collect();
    let mut out = Vec::new();
    let mut new = |out: &mut Vec<Op>, width, kind| {
        let value = Value(step.values.len() as u32);
        step.values.push(ValueInfo { width, name: None });
        out.push(Op { kind, results: vec![value], guard: None, loc: Default::default() });
        value
    };
    let mut whole = new(&mut out, storage.bits, OpKind::ReadContext(vector));
    let plain = |kind| Op { kind, results: vec![], guard: None, loc: Default::default() };
    for (index, variable) in variables.iter().enumerate() {
        let value = new(&mut out, variable.width, OpKind::Slice(whole, storage.offsets[index]));
        out.push(plain(OpKind::WriteContext(ContextId(index as u32), value)));
    }
    for op in ops {
        if let OpKind::WriteContext(id, value) = op.kind {
            let (low, width) = (storage.offsets[id.index()], variables[id.index()].width);
            let mut parts = Vec::new();
            if low + width < storage.bits {
                let above = storage.bits - low - width;
                parts.push(new(&mut out, above, OpKind::Slice(whole, low + width)));
            }
            parts.push(value);
            if low > 0 {
                parts.push(new(&mut out, low, OpKind::Slice(whole, 0)));
            }
            let mut next = new(&mut out, storage.bits, OpKind::Concat(parts));
            if let Some(guard) = op.guard {
                next = new(&mut out, storage.bits, OpKind::Select(guard, next, whole));
            }
            whole = next;
        }
        if let OpKind::Exit(_) = op.kind {
            out.push(Op { guard: op.guard, ..plain(OpKind::WriteContext(vector, whole)) });
        }
        out.push(op);
    }
    step.code = Code::Sequential(Block { ops: out });
}

fn check(program: &Program) {
    let Some(other) = stored(program.clone()) else { return };
    assert_eq!(verify(&other), Ok(()));
    let packets = support::packets();
    assert_eq!(
        support::observe(&other, &packets),
        support::observe(program, &packets),
        "{}\n{}",
        print(program),
        print(&other)
    );
}

fn width(body: &str) -> (u32, u32) {
    let program = parse(&format!("loom_ir 1\n{body}\nmain e\n")).expect("the text is IR");
    verify(&program).expect("the program verifies");
    check(&program);
    let engine: &Engine = &program.engines[0];
    (Storage::of(engine).bits, engine.context.iter().map(|c| c.width).sum())
}

/// Writes a variable in step `a`, reads it in `b`, where it writes another one, and reads that one
/// in `c`.
const ONE_AFTER_THE_OTHER: &str = "engine e {\n context x : u8\n context y : u8\n step a {\n %0:u16 = const 0\n \
    %1:u8 = packet.read %0 + 0\n context.write x, %1\n next b\n }\n step b {\n %0:u8 = context.read x\n \
    context.write y, %0\n next c\n }\n step c {\n %0:u8 = context.read y\n %1:u16 = extend %0\n \
    meta.write egress, %1\n finish\n }\n}";

#[test]
fn variables_that_live_one_after_the_other_share_bits() {
    assert_eq!(width(ONE_AFTER_THE_OTHER), (8, 16));
}

#[test]
fn a_variable_that_may_be_read_as_zero_has_its_bits_to_itself_from_the_beginning() {
    let text = ONE_AFTER_THE_OTHER.replace(
        "context.write y, %0\n",
        "%1:u1 = slice %0 from 0\n context.write y, %0 when %1\n",
    );
    assert_eq!(width(&text), (16, 16));
}

#[test]
fn what_one_successor_reads_does_not_disturb_what_another_does() {
    let text = "engine e {\n context x : u8\n context y : u8\n step a {\n %0:u16 = const 0\n %1:u8 = packet.read %0 + 0\n \
        %2:u1 = slice %1 from 0\n %3:u1 = not %2\n context.write x, %1\n context.write y, %1 when %2\n next b when %2\n \
        next c when %3\n }\n step b {\n %0:u8 = context.read y\n %1:u16 = extend %0\n meta.write egress, %1\n finish\n }\n \
        step c {\n %0:u8 = context.read x\n %1:u16 = extend %0\n meta.write egress, %1\n finish\n }\n}";
    assert_eq!(width(text), (16, 16));
}

#[test]
fn the_programs_of_the_passes_keep_their_meaning() {
    for (_, mut program) in crate::passes::programs() {
        pipeline::optimise(&mut program, &PassOptions::default());
        check(&program);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300.max(ProptestConfig::default().cases), ..ProptestConfig::default() })]

    #[test]
    fn random_programs_keep_their_meaning(program in generate::programs()) {
        let mut program = support::tame(program);
        for pass in ["if-convert", "fold", "cse", "dce"] {
            pipeline::run_pass(&mut program, pass, &PassOptions::default());
        }
        check(&program);
    }
}
