//! Each test breaks one rule of the verifier and no other.

use wireloom_bits::Bits;

use crate::builder::{EngineBuilder, ProgramBuilder, StepBuilder, config, program_of};
use crate::{
    BinaryOp, Block, ContextId, Engine, EngineId, EngineKind, Exit, Loc, Meta, OffloadId,
    OffloadTarget, Op, OpKind, Program, ReasonSetId, StepId, Value, verify,
};

/// Returns a program of one engine with one step with this body.
fn step(body: impl FnOnce(&mut StepBuilder<'_>)) -> Program {
    let mut engine = EngineBuilder::packet("e");
    engine.context("x", 8);
    engine.offload("mem", config("array", &[], &[("", 8)], &[("size", 4)]));
    engine.step("only", body);
    program_of(engine)
}

/// Returns a program of one engine with one step of regions.
fn regions(
    request: impl FnOnce(&mut StepBuilder<'_>),
    edit: impl FnOnce(&mut StepBuilder<'_>),
    jump: impl FnOnce(&mut StepBuilder<'_>),
) -> Program {
    let mut engine = EngineBuilder::packet("e");
    engine.context("x", 8);
    engine.offload("mem", config("array", &[], &[("", 8)], &[("size", 4)]));
    engine.regions("only", |s| {
        request(s);
        s.next_region();
        edit(s);
        s.next_region();
        jump(s);
    });
    program_of(engine)
}

/// Returns a program of a called engine and a main engine that does nothing.
fn called(body: impl FnOnce(&mut StepBuilder<'_>)) -> Program {
    let mut program = ProgramBuilder::new();
    let mut inner = EngineBuilder::called("inner", &[("k", 8)], 8);
    inner.offload("sum", config("checksum", &[], &[], &[]));
    inner.step("only", body);
    program.engine(inner);
    let mut main = EngineBuilder::packet("e");
    main.engine_offload("sub", EngineId(0), 8);
    main.step("only", finish);
    program.engine(main);
    program.build()
}

fn finish(s: &mut StepBuilder<'_>) {
    s.exit(Exit::Finish);
}

fn nothing(_: &mut StepBuilder<'_>) {}

fn op(kind: OpKind, results: Vec<Value>) -> Op {
    Op { kind, results, guard: None, loc: Loc::default() }
}

/// Checks that exactly this one rule is broken.
#[track_caller]
fn breaks(program: &Program, message: &str) {
    let problems = verify(program).expect_err("the program breaks a rule");
    let messages: Vec<_> = problems.iter().map(|p| p.message.as_str()).collect();
    assert!(matches!(messages[..], [one] if one.contains(message)), "{messages:#?}");
}

#[test]
fn well_formed_programs_have_no_problem() {
    let program = step(|s| {
        let (x, one) = (s.read(ContextId(0)), s.constant(8, 1));
        let sum = s.binary(BinaryOp::Add, x, one);
        let c = s.binary(BinaryOp::Ult, x, sum);
        let yields = s.choice(c, |s| vec![s.constant(8, 2)], |_| vec![sum]);
        s.when(c).write(ContextId(0), yields[0]);
        s.choice(
            c,
            |s| {
                s.exit(Exit::Done);
                vec![]
            },
            |_| vec![],
        );
        s.exit(Exit::Finish);
    });
    assert_eq!(verify(&program), Ok(()));
    let program = regions(
        |s| {
            let i = s.constant(32, 1);
            s.call(OffloadId(0), "read", &[i]);
        },
        |s| s.write(ContextId(0), Value(1)),
        |s| {
            let zero = s.constant(8, 0);
            let (is, is_not) =
                (s.binary(BinaryOp::Eq, Value(1), zero), s.binary(BinaryOp::Ne, Value(1), zero));
            s.when(is).exit(Exit::Finish);
            s.when(is_not).exit(Exit::Next(StepId(0)));
        },
    );
    assert_eq!(verify(&program), Ok(()));
    let program = called(|s| {
        let k = s.read(ContextId(0));
        s.exit(Exit::Reply(k));
    });
    assert_eq!(verify(&program), Ok(()));
}

#[test]
fn a_problem_names_engine_step_and_operation() {
    let program = step(|s| {
        s.when(Value(7)).exit(Exit::Finish);
    });
    let problems = verify(&program).expect_err("the guard is not there");
    assert_eq!(
        problems[0].to_string(),
        "engine e, step only, `finish when %7`: value %7 is not in the step's list"
    );
}

#[test]
fn the_main_engine_takes_packets() {
    let mut program = called(|s| {
        let k = s.read(ContextId(0));
        s.exit(Exit::Reply(k));
    });
    program.main = EngineId(0);
    breaks(&program, "main engine");
    program.main = EngineId(9);
    breaks(&program, "main engine");
}

#[test]
fn widths_are_possible() {
    let mut program = step(finish);
    program.engines[0].context[0].width = 0;
    breaks(&program, "context variable x has 0 bits");
    let mut program = step(|s| {
        s.value(0);
        s.exit(Exit::Finish);
    });
    breaks(&program, "value %0 has 0 bits");
    program.engines[0].steps[0].values[0].width = 5000;
    breaks(&program, "value %0 has 5000 bits");
}

#[test]
fn parameters_of_called_engines_are_context_variables() {
    let build = |params: Vec<ContextId>, reply| {
        let mut program = called(|s| {
            s.exit(Exit::Next(StepId(0)));
        });
        program.engines[0].kind = EngineKind::Call { params, reply };
        program
    };
    breaks(&build(vec![ContextId(3)], 8), "parameter 0 is context variable #3");
    breaks(&build(vec![ContextId(0), ContextId(0)], 8), "two parameters");
    breaks(&build(vec![], 0), "the reply has 0 bits");
}

#[test]
fn engine_offloads_are_called_engines_that_stand_before() {
    let program = |target| {
        let mut program = called(|s| {
            let k = s.read(ContextId(0));
            s.exit(Exit::Reply(k));
        });
        let mut other = program.engines[1].clone();
        other.name = "other".into();
        other.offloads[0].target = OffloadTarget::Engine(target);
        program.engines.push(other);
        program
    };
    breaks(&program(EngineId(2)), "does not precede");
    breaks(&program(EngineId(1)), "is an engine that takes packets");
}

#[test]
fn configurations_match_the_registry() {
    let with = |change: fn(&mut wireloom_offloads::Config)| {
        let mut program = step(finish);
        let OffloadTarget::Kind(config) = &mut program.engines[0].offloads[0].target else {
            panic!("an array")
        };
        change(config);
        program
    };
    breaks(&with(|c| c.kind = "cam".into()), "no offload kind cam");
    breaks(&with(|c| c.key = c.value.clone()), "array has no key");
    breaks(&with(|c| c.value = None), "array needs a value");
    breaks(
        &with(|c| c.value.as_mut().expect("a value").fields.push(("z".into(), 0))),
        "each of its fields must have",
    );
    breaks(
        &with(|c| {
            c.params.insert("depth".into(), Bits::zero(8));
        }),
        "no parameter depth",
    );
    breaks(
        &with(|c| {
            c.params.remove("size");
        }),
        "parameter size is missing",
    );
    breaks(
        &with(|c| {
            c.params.insert("size".into(), Bits::new(8, 4));
        }),
        "parameter size has 8 bits, not 32",
    );
    breaks(
        &with(|c| {
            c.params.insert("size".into(), Bits::zero(32));
        }),
        "outside 1 to",
    );
}

#[test]
fn an_engine_has_a_step() {
    let mut program = step(finish);
    program.engines[0].steps.clear();
    breaks(&program, "the engine has no step");
}

#[test]
fn locations_are_in_files_of_the_program() {
    let mut program = step(finish);
    program.engines[0].steps[0].loc = Loc { file: 0, line: 3 };
    breaks(&program, "the step refers to a source file");
    let program = step(|s| {
        s.op(Op { loc: Loc { file: 1, line: 3 }, ..op(OpKind::Exit(Exit::Finish), vec![]) });
    });
    breaks(&program, "the operation refers to a source file");
}

#[test]
fn every_path_ends_in_an_exit() {
    breaks(&step(nothing), "a path through the step without an exit");
    let one_sided = |s: &mut StepBuilder<'_>| {
        let c = s.constant(1, 1);
        s.choice(
            c,
            |s| {
                s.exit(Exit::Done);
                vec![]
            },
            |_| vec![],
        );
    };
    breaks(&step(one_sided), "a path through the step without an exit");
    let guarded = step(|s| {
        let c = s.constant(1, 1);
        s.when(c).exit(Exit::Done);
    });
    assert_eq!(verify(&guarded), Ok(()), "guards are not decided here");
}

#[test]
fn values_are_visible_where_they_are_used() {
    breaks(
        &step(|s| {
            let later = s.value(8);
            s.write(ContextId(0), later);
            s.op(op(OpKind::Const(Bits::zero(8)), vec![later]));
            s.exit(Exit::Finish);
        }),
        "value %0 is not defined before this use",
    );
    breaks(
        &step(|s| {
            let c = s.constant(1, 1);
            s.choice(
                c,
                |s| {
                    s.constant(8, 1);
                    vec![]
                },
                |_| vec![],
            );
            s.write(ContextId(0), Value(1));
            s.exit(Exit::Finish);
        }),
        "in a block that does not enclose",
    );
    breaks(
        &step(|s| {
            let c = s.constant(1, 1);
            s.choice(
                c,
                |s| vec![s.constant(8, 1)],
                |s| {
                    s.write(ContextId(0), Value(1));
                    vec![s.constant(8, 2)]
                },
            );
            s.exit(Exit::Finish);
        }),
        "in a block that does not enclose",
    );
    breaks(
        &step(|s| {
            s.write(ContextId(0), Value(0));
            s.exit(Exit::Finish);
        }),
        "not in the step's list",
    );
    breaks(
        &step(|s| {
            s.op(op(OpKind::Const(Bits::zero(8)), vec![Value(0)]));
            s.exit(Exit::Finish);
        }),
        "not in the step's list",
    );
}

#[test]
fn a_value_has_one_definition() {
    breaks(
        &step(|s| {
            let v = s.constant(8, 1);
            s.op(op(OpKind::Const(Bits::zero(8)), vec![v]));
            s.exit(Exit::Finish);
        }),
        "defined twice",
    );
}

#[test]
fn guards_have_one_bit_and_stand_where_they_may() {
    breaks(
        &step(|s| {
            let g = s.constant(8, 1);
            s.when(g).exit(Exit::Finish);
        }),
        "a guard must have one bit",
    );
    breaks(
        &step(|s| {
            let g = s.constant(1, 1);
            s.when(g).constant(1, 1);
            s.exit(Exit::Finish);
        }),
        "can have a guard",
    );
}

/// Returns a step of one operation and `finish`. The operation gets a value of one bit, one of 8
/// bits and one of 16 bits.
fn one_op(build: fn(Value, Value, Value) -> OpKind, results: &[u32]) -> Program {
    step(|s| {
        let (bit, byte, half) = (s.constant(1, 0), s.constant(8, 0), s.constant(16, 0));
        let results = results.iter().map(|w| s.value(*w)).collect();
        s.op(op(build(bit, byte, half), results));
        s.exit(Exit::Finish);
    })
}

#[test]
fn operations_have_operands_and_results_of_their_widths() {
    use OpKind::*;
    let cases: Vec<(Program, &str)> = vec![
        (one_op(|_, _, _| Const(Bits::zero(9)), &[8]), "the result has 8 bits, not 9"),
        (one_op(|_, _, _| Const(Bits::zero(9)), &[]), "one result, not 0"),
        (one_op(|_, a, _| Unary(crate::UnaryOp::Not, a), &[16]), "the result has 16 bits, not 8"),
        (one_op(|_, a, b| Binary(BinaryOp::Add, a, b), &[8]), "the operands differ in width"),
        (one_op(|_, a, _| Binary(BinaryOp::Add, a, a), &[9]), "the result has 9 bits, not 8"),
        (one_op(|_, a, _| Binary(BinaryOp::Ult, a, a), &[8]), "the result has 8 bits, not 1"),
        (one_op(|_, a, b| Binary(BinaryOp::Shl, a, b), &[16]), "the result has 16 bits, not 8"),
        (one_op(|_, a, _| Select(a, a, a), &[8]), "a condition must have one bit"),
        (one_op(Select, &[8]), "the operands differ in width"),
        (one_op(|_, a, _| Extend(a), &[8]), "wider than its operand"),
        (one_op(|_, a, _| Slice(a, 4), &[5]), "does not lie inside"),
        (one_op(|_, _, _| Concat(vec![]), &[5]), "needs at least one part"),
        (one_op(|c, a, _| Concat(vec![c, a]), &[10]), "the result has 10 bits, not 9"),
        (one_op(|_, _, _| ReadContext(ContextId(4)), &[8]), "the context variable does not exist"),
        (one_op(|_, _, _| ReadContext(ContextId(0)), &[9]), "the result has 9 bits, not 8"),
        (
            one_op(|_, a, _| WriteContext(ContextId(1), a), &[]),
            "the context variable does not exist",
        ),
        (one_op(|_, _, b| WriteContext(ContextId(0), b), &[]), "differ in width"),
        (one_op(|_, a, _| WriteContext(ContextId(0), a), &[8]), "has no result"),
        (
            one_op(|_, a, _| ReadPacket { base: a, bit: 0 }, &[8]),
            "base of a header must have 16 bits",
        ),
        (one_op(|_, _, b| ReadPacket { base: b, bit: u32::MAX }, &[8]), "65,536 bytes"),
        (one_op(|_, a, b| WritePacket { base: b, bit: 1 << 20, value: a }, &[]), "65,536 bytes"),
        (one_op(|_, _, _| ReadMeta(Meta::Arrival), &[16]), "the result has 16 bits, not 64"),
        (one_op(|_, _, b| WriteMeta(Meta::Length, b), &[]), "only the egress port"),
        (one_op(|_, a, _| WriteMeta(Meta::Egress, a), &[]), "16 bits"),
        (
            one_op(|_, a, b| Insert { offset: a, count: b }, &[1]),
            "offsets and counts must have 16 bits",
        ),
        (one_op(|_, _, b| Remove { offset: b, count: b }, &[2]), "the result has 2 bits, not 1"),
        (one_op(|_, a, _| Reset { count: a }, &[]), "offsets and counts must have 16 bits"),
        (
            one_op(
                |_, a, _| If {
                    condition: a,
                    then: (Block::default(), vec![]),
                    otherwise: (Block::default(), vec![]),
                },
                &[],
            ),
            "a condition must have one bit",
        ),
    ];
    for (program, message) in &cases {
        breaks(program, message);
    }
}

#[test]
fn branches_yield_what_the_results_take() {
    let build = |result| {
        step(move |s| {
            let c = s.constant(1, 1);
            let mut yields =
                s.choice(c, |s| vec![s.constant(8, 1)], |s| vec![s.constant(result, 1)]);
            yields.clear();
            s.exit(Exit::Finish);
        })
    };
    assert_eq!(verify(&build(8)), Ok(()));
    breaks(&build(9), "differ in width");
    let short = step(|s| {
        let c = s.constant(1, 1);
        s.choice(c, |s| vec![s.constant(8, 1)], |_| vec![]);
        s.exit(Exit::Finish);
    });
    breaks(&short, "yields 0 values, but the operation has 1 results");
}

#[test]
fn calls_have_the_interface_of_their_method() {
    let call = |offload, method, args: &[u32], results: &[u32]| {
        let (args, results) = (args.to_vec(), results.to_vec());
        step(move |s| {
            let args = args.iter().map(|w| s.constant(*w, 0)).collect();
            let results = results.iter().map(|w| s.value(*w)).collect();
            s.op(op(OpKind::Call { offload: OffloadId(offload), method, args }, results));
            s.exit(Exit::Finish);
        })
    };
    assert_eq!(verify(&call(0, 0, &[32], &[8])), Ok(()));
    breaks(&call(3, 0, &[32], &[8]), "the offload does not exist");
    breaks(&call(0, 9, &[32], &[8]), "the method does not exist");
    breaks(&call(0, 0, &[], &[8]), "takes 1 arguments, not 0");
    breaks(&call(0, 0, &[16], &[8]), "argument 0 has 16 bits, but the method takes 32");
    breaks(&call(0, 0, &[32], &[9]), "the result has 9 bits, not 8");
    breaks(&call(0, 0, &[32], &[]), "one result, not 0");
    breaks(&call(0, 1, &[32, 8], &[8]), "the operation has no result");
}

#[test]
fn calls_of_engines_have_the_interface_of_the_engine() {
    let build = |method, width, result| {
        let mut program = called(|s| {
            let k = s.read(ContextId(0));
            s.exit(Exit::Reply(k));
        });
        program.engines.pop();
        let mut main = EngineBuilder::packet("e");
        let sub = main.engine_offload("sub", EngineId(0), 8);
        main.step("only", |s| {
            let (arg, result) = (s.constant(width, 0), s.value(result));
            s.op(op(OpKind::Call { offload: sub, method, args: vec![arg] }, vec![result]));
            s.exit(Exit::Finish);
        });
        let main: Engine = program_of(main).engines.remove(0);
        program.engines.push(main);
        program
    };
    assert_eq!(verify(&build(0, 8, 8)), Ok(()));
    breaks(&build(1, 8, 8), "the only method of an engine is 0");
    breaks(&build(0, 9, 8), "argument 0 has 9 bits");
    breaks(&build(0, 8, 7), "the result has 7 bits, not 8");
}

#[test]
fn exits_suit_the_engine() {
    breaks(
        &step(|s| {
            let v = s.constant(8, 0);
            s.exit(Exit::Reply(v));
        }),
        "cannot reply",
    );
    breaks(&step(|s| s.exit(Exit::Next(StepId(4)))), "the step does not exist");
    let with_reason = |width, sets: bool| {
        let mut program = ProgramBuilder::new();
        if sets {
            program.reasons("R", &["A"]);
        }
        let mut engine = EngineBuilder::packet("e");
        engine.step("only", |s| {
            let v = s.constant(width, 0);
            s.exit(Exit::Drop(v, ReasonSetId(0)));
        });
        program.engine(engine);
        program.build()
    };
    assert_eq!(verify(&with_reason(16, true)), Ok(()));
    breaks(&with_reason(16, false), "the reason set does not exist");
    breaks(&with_reason(8, true), "a reason must have 16 bits");
    breaks(&called(finish), "a called engine has no packet");
    breaks(
        &called(|s| {
            let v = s.constant(9, 0);
            s.exit(Exit::Reply(v));
        }),
        "the engine replies 8 bits, not 9",
    );
}

#[test]
fn called_engines_do_not_touch_packets() {
    let reply = |s: &mut StepBuilder<'_>| {
        let k = s.read(ContextId(0));
        s.exit(Exit::Reply(k));
    };
    breaks(
        &called(|s| {
            s.meta(Meta::Length);
            reply(s);
        }),
        "has no packet",
    );
    breaks(
        &called(|s| {
            let base = s.constant(16, 0);
            s.read_packet(base, 0, 8);
            reply(s);
        }),
        "has no packet",
    );
    breaks(
        &called(|s| {
            let v = s.constant(16, 0);
            s.call(OffloadId(0), "sum", &[v, v, v]);
            reply(s);
        }),
        "has no packet",
    );
}

#[test]
fn operations_stand_in_their_region() {
    let call = |s: &mut StepBuilder<'_>| {
        let i = s.constant(32, 1);
        s.call(OffloadId(0), "read", &[i]);
    };
    let write = |s: &mut StepBuilder<'_>| {
        let v = s.constant(8, 1);
        s.write(ContextId(0), v);
    };
    let call_and_finish = |s: &mut StepBuilder<'_>| {
        call(s);
        finish(s);
    };
    let write_and_finish = |s: &mut StepBuilder<'_>| {
        write(s);
        finish(s);
    };
    breaks(&regions(nothing, call, finish), "calls are allowed in request regions only");
    breaks(
        &regions(nothing, nothing, call_and_finish),
        "calls are allowed in request regions only",
    );
    breaks(&regions(write, nothing, finish), "can be changed in edit regions only");
    breaks(&regions(nothing, nothing, write_and_finish), "can be changed in edit regions only");
    breaks(&regions(finish, nothing, finish), "exits are allowed in jump regions only");
    let choice = |s: &mut StepBuilder<'_>| {
        let c = s.constant(1, 1);
        s.choice(c, |_| vec![], |_| vec![]);
    };
    breaks(&regions(nothing, choice, finish), "`if` is not allowed in regions");
}

#[test]
fn requests_do_not_depend_on_replies() {
    let program = regions(
        |s| {
            let i = s.constant(32, 1);
            let reply = s.call(OffloadId(0), "read", &[i]).expect("a reply");
            let index = s.extend(reply, 32);
            s.call(OffloadId(0), "read", &[index]);
        },
        nothing,
        finish,
    );
    breaks(&program, "depends on a reply");
    let program = regions(
        |s| {
            let i = s.constant(32, 1);
            let reply = s.call(OffloadId(0), "read", &[i]).expect("a reply");
            let bit = s.slice(reply, 0, 1);
            s.when(bit).call(OffloadId(0), "read", &[i]);
        },
        nothing,
        finish,
    );
    breaks(&program, "depends on a reply");
}

#[test]
fn the_exits_of_a_jump_region_exclude_each_other() {
    breaks(&regions(nothing, nothing, nothing), "the jump region has no exit");
    breaks(
        &regions(nothing, nothing, |s| {
            let c = s.constant(1, 1);
            s.when(c).exit(Exit::Done);
            s.exit(Exit::Finish);
        }),
        "must be the only one",
    );
    breaks(
        &regions(nothing, nothing, |s| {
            let c = s.constant(1, 1);
            s.when(c).exit(Exit::Done);
            s.when(c).exit(Exit::Finish);
        }),
        "two exits have the same guard",
    );
}
