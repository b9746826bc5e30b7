//! Tests of the semantics of each operation on small engines, including edge cases.

use wireloom_bits::Bits;
use wireloom_net::Packet;
use wireloom_offloads::{Content, EntryKey};

use crate::builder::{EngineBuilder, ProgramBuilder, StepBuilder, config, program_of};
use crate::{
    BinaryOp, ContextId, Copied, EngineId, Execute, Exit, Golden, Meta, Program, Reason,
    ReasonSetId, StepId, UnaryOp, Value, Verdict, store,
};

fn packet(bytes: &[u8]) -> Packet {
    Packet { ingress: 7, arrival_ns: 1_000, bytes: bytes.to_vec() }
}

fn golden(program: Program) -> Golden {
    let store = store(&program).unwrap_or_else(|refused| panic!("{refused:?}"));
    Golden::new(program, store)
}

/// Runs packets and returns what leaves: sequence number, verdict and bytes.
fn run(golden: &mut Golden, packets: &[Packet]) -> Vec<(u64, Verdict, Vec<u8>)> {
    let mut out = Vec::new();
    golden.execute(packets, &mut |o| out.push((o.sequence, o.verdict, o.bytes.to_vec())));
    out
}

/// Returns the value that `body` computes in an engine of one step, for a packet of these bytes.
fn value_on(bytes: &[u8], body: impl FnOnce(&mut StepBuilder<'_>) -> Value) -> Bits {
    let mut engine = EngineBuilder::packet("e");
    let mut width = 0;
    // The value leaves in a new packet that is as long as the value in whole bytes.
    engine.step("only", |s| {
        let value = body(s);
        width = s.width(value);
        let count = s.constant(16, u128::from(width.div_ceil(8)));
        let base = s.constant(16, 0);
        s.reset(count);
        s.write_packet(base, 0, value);
        s.exit(Exit::Finish);
    });
    let out = run(&mut golden(program_of(engine)), &[packet(bytes)]);
    let bits = Bits::from_bytes(&out[0].2);
    bits.slice(bits.width() - width, width)
}

fn value(body: impl FnOnce(&mut StepBuilder<'_>) -> Value) -> Bits {
    value_on(&[], body)
}

fn sent(port: u16) -> Verdict {
    Verdict::Sent { port }
}

#[test]
fn operators_mean_what_bit_vectors_mean() {
    let unary = |op, a| {
        value(|s| {
            let a = s.constant(8, a);
            s.unary(op, a)
        })
    };
    assert_eq!(unary(UnaryOp::Not, 0x0f), Bits::new(8, 0xf0));
    assert_eq!(unary(UnaryOp::Neg, 1), Bits::new(8, 0xff));
    let cases = [
        (BinaryOp::Add, 200, 100, Bits::new(8, 44)),
        (BinaryOp::Sub, 1, 2, Bits::new(8, 255)),
        (BinaryOp::Mul, 16, 17, Bits::new(8, 16)),
        (BinaryOp::Udiv, 200, 7, Bits::new(8, 28)),
        (BinaryOp::Udiv, 200, 0, Bits::new(8, 255)),
        (BinaryOp::Urem, 200, 7, Bits::new(8, 4)),
        (BinaryOp::Urem, 200, 0, Bits::new(8, 200)),
        (BinaryOp::And, 0xcc, 0xaa, Bits::new(8, 0x88)),
        (BinaryOp::Or, 0xcc, 0xaa, Bits::new(8, 0xee)),
        (BinaryOp::Xor, 0xcc, 0xaa, Bits::new(8, 0x66)),
        (BinaryOp::Shl, 0x81, 1, Bits::new(8, 2)),
        (BinaryOp::Shl, 0x81, 8, Bits::new(8, 0)),
        (BinaryOp::Lshr, 0x81, 7, Bits::new(8, 1)),
        (BinaryOp::Lshr, 0x81, 255, Bits::new(8, 0)),
        (BinaryOp::Eq, 3, 3, Bits::bool(true)),
        (BinaryOp::Ne, 3, 3, Bits::bool(false)),
        (BinaryOp::Ult, 3, 3, Bits::bool(false)),
        (BinaryOp::Ult, 3, 255, Bits::bool(true)),
        (BinaryOp::Ule, 3, 3, Bits::bool(true)),
        (BinaryOp::Ule, 4, 3, Bits::bool(false)),
    ];
    for (op, a, b, expected) in cases {
        let got = value(|s| {
            let (a, b) = (s.constant(8, a), s.constant(8, b));
            s.binary(op, a, b)
        });
        assert_eq!(got, expected, "{op:?} {a} {b}");
    }
}

#[test]
fn shift_counts_have_any_width() {
    let by = |count_width, count: Bits| {
        value(move |s| {
            let a = s.constant(300, 1);
            let n = s.value(count_width);
            s.op(crate::Op {
                kind: crate::OpKind::Const(count),
                results: vec![n],
                guard: None,
                loc: crate::Loc::default(),
            });
            s.binary(BinaryOp::Shl, a, n)
        })
    };
    assert_eq!(by(9, Bits::new(9, 299)), Bits::new(300, 1).shl(299));
    assert_eq!(by(1, Bits::new(1, 1)), Bits::new(300, 2));
    assert_eq!(by(200, Bits::new(200, 1).shl(199)), Bits::zero(300));
}

#[test]
fn values_are_cut_joined_and_chosen() {
    let of = |body: fn(&mut StepBuilder<'_>, Value) -> Value| {
        value(|s| {
            let a = s.constant(16, 0xabcd);
            body(s, a)
        })
    };
    assert_eq!(of(|s, a| s.slice(a, 4, 8)), Bits::new(8, 0xbc));
    assert_eq!(of(|s, a| s.slice(a, 15, 1)), Bits::new(1, 1));
    assert_eq!(of(|s, a| s.extend(a, 200)), Bits::new(200, 0xabcd));
    assert_eq!(of(|s, a| s.concat(&[a])), Bits::new(16, 0xabcd));
    let joined = of(|s, a| {
        let b = s.constant(3, 5);
        s.concat(&[b, a, b])
    });
    assert_eq!(joined, Bits::new(22, 5 << 19 | 0xabcd << 3 | 5));
    for (condition, expected) in [(0, 0x1111), (1, 0xabcd)] {
        let chosen = value(|s| {
            let c = s.constant(1, condition);
            let (a, b) = (s.constant(16, 0xabcd), s.constant(16, 0x1111));
            s.select(c, a, b)
        });
        assert_eq!(chosen, Bits::new(16, expected));
    }
}

#[test]
fn fields_are_read_most_significant_bit_first_and_are_zero_outside_the_window() {
    let read = |base, bit, width| {
        value_on(&[0x12, 0x34, 0x56, 0x78], |s| {
            let base = s.constant(16, base);
            s.read_packet(base, bit, width)
        })
    };
    assert_eq!(read(0, 0, 16), Bits::new(16, 0x1234));
    assert_eq!(read(1, 4, 8), Bits::new(8, 0x45));
    assert_eq!(read(0, 3, 1), Bits::new(1, 1));
    assert_eq!(read(2, 8, 16), Bits::new(16, 0x7800), "half outside");
    assert_eq!(read(65_535, 0, 40), Bits::zero(40), "far outside");
    let long: Vec<u8> = (0..200).collect();
    let behind = value_on(&long, |s| {
        let base = s.constant(16, 127);
        s.read_packet(base, 0, 16)
    });
    assert_eq!(behind, Bits::new(16, 127 << 8), "the window ends at 128, the packet does not");
}

/// Returns an engine of one step that runs `body` and finishes.
fn editor(body: impl FnOnce(&mut StepBuilder<'_>)) -> Program {
    let mut engine = EngineBuilder::packet("e");
    engine.context("ok", 1);
    engine.step("only", |s| {
        body(s);
        s.exit(Exit::Finish);
    });
    program_of(engine)
}

fn edited(bytes: &[u8], body: impl FnOnce(&mut StepBuilder<'_>)) -> Vec<u8> {
    run(&mut golden(editor(body)), &[packet(bytes)]).remove(0).2
}

#[test]
fn fields_are_written_whole_or_not_at_all() {
    let write = |base, bit, width, value| {
        edited(&[0; 4], |s| {
            let (base, value) = (s.constant(16, base), s.constant(width, value));
            s.write_packet(base, bit, value);
        })
    };
    assert_eq!(write(1, 0, 16, 0xabcd), [0, 0xab, 0xcd, 0]);
    assert_eq!(write(0, 4, 8, 0xff), [0x0f, 0xf0, 0, 0]);
    assert_eq!(write(3, 0, 16, 0xabcd), [0; 4], "half outside");
    assert_eq!(write(65_535, 0, 8, 1), [0; 4]);
}

#[test]
fn resizes_answer_whether_they_were_done() {
    // Resizes, then writes the result into the first byte.
    let resized = |bytes: &[u8], resize: fn(&mut StepBuilder<'_>, Value, Value) -> Value, a, b| {
        edited(bytes, |s| {
            let (a, b, base) = (s.constant(16, a), s.constant(16, b), s.constant(16, 0));
            let ok = resize(s, a, b);
            s.write_packet(base, 7, ok);
        })
    };
    let insert: fn(&mut StepBuilder<'_>, Value, Value) -> Value = |s, a, b| s.insert(a, b);
    let remove: fn(&mut StepBuilder<'_>, Value, Value) -> Value = |s, a, b| s.remove(a, b);
    let reset: fn(&mut StepBuilder<'_>, Value, Value) -> Value = |s, a, _| s.reset(a);
    assert_eq!(resized(&[2, 4], insert, 1, 2), [3, 0, 0, 4]);
    assert_eq!(resized(&[2, 4], insert, 2, 1), [3, 4, 0], "at the window's end");
    assert_eq!(resized(&[2, 4], insert, 3, 1), [2, 4], "past it");
    assert_eq!(resized(&[2, 4], insert, 0, 255), [2, 4], "a window of 257");
    assert_eq!(resized(&[2, 4, 6], remove, 1, 1), [3, 6]);
    assert_eq!(resized(&[2, 4, 6], remove, 1, 3), [2, 4, 6]);
    assert_eq!(resized(&[2, 4, 6], remove, 65_535, 65_535), [2, 4, 6]);
    assert_eq!(resized(&[2, 4, 6], reset, 2, 0), [1, 0]);
    assert_eq!(resized(&[2, 4, 6], reset, 257, 0), [2, 4, 6]);
}

#[test]
fn metadata_is_that_of_the_packet() {
    let long = [9u8; 300];
    let meta = |meta| value_on(&long, |s| s.meta(meta));
    assert_eq!(meta(Meta::Ingress), Bits::new(16, 7));
    assert_eq!(meta(Meta::Egress), Bits::new(16, 0));
    assert_eq!(meta(Meta::Length), Bits::new(16, 300));
    assert_eq!(meta(Meta::Window), Bits::new(16, 128));
    assert_eq!(meta(Meta::Arrival), Bits::new(64, 1_000));
    let program = editor(|s| {
        let port = s.constant(16, 40_000);
        s.set_egress(port);
    });
    assert_eq!(run(&mut golden(program), &[packet(&[1])])[0].1, sent(40_000));
}

#[test]
fn an_operation_whose_guard_fails_leaves_nothing_but_a_zero() {
    let mut engine = EngineBuilder::packet("e");
    let var = engine.context("x", 16);
    let mem = engine.offload("mem", config("array", &[], &[("", 16)], &[("size", 4)]));
    engine.step("only", |s| {
        let (no, one) = (s.constant(1, 0), s.constant(16, 1));
        let index = s.constant(32, 1);
        let value = s.constant(16, 0xbeef);
        s.call(mem, "write", &[index, value]);
        s.when(no).write(var, value);
        s.when(no).set_egress(value);
        s.when(no).write_packet(one, 0, value);
        let inserted = s.when(no).insert(one, one);
        let reply = s.when(no).call(mem, "exchange", &[index, one]).expect("a reply");
        s.when(no).exit(Exit::Done);
        let x = s.read(var);
        let (ones, zeros) = (s.constant(16, 0), s.constant(15, 0));
        let flag = s.concat(&[zeros, inserted]);
        let all = s.binary(BinaryOp::Or, x, reply);
        let all = s.binary(BinaryOp::Or, all, flag);
        let zero = s.binary(BinaryOp::Eq, all, ones);
        s.when(zero).exit(Exit::Finish);
        s.exit(Exit::Done);
    });
    let mut golden = golden(program_of(engine));
    for _ in 0..2 {
        let out = run(&mut golden, &[packet(&[1, 2, 3])]);
        assert_eq!(
            out.iter().map(|o| (o.1, o.2.as_slice())).collect::<Vec<_>>(),
            [(sent(0), &[1, 2, 3][..])]
        );
    }
    let Content::Kind { instance, .. } = &golden.store().slots[0].content else {
        panic!("an array")
    };
    assert_eq!(
        instance.rows()[0].fields[0].1,
        Bits::new(16, 0xbeef),
        "the exchange did not happen"
    );
}

#[test]
fn branches_yield_and_may_end_the_step() {
    let build = |condition| {
        let mut engine = EngineBuilder::packet("e");
        engine.step("only", move |s| {
            let c = s.constant(1, condition);
            let port = s.choice(
                c,
                |s| vec![s.constant(16, 11)],
                |s| {
                    s.exit(Exit::Done);
                    vec![s.constant(16, 22)]
                },
            );
            s.set_egress(port[0]);
            s.exit(Exit::Finish);
        });
        program_of(engine)
    };
    assert_eq!(run(&mut golden(build(1)), &[packet(&[])])[0].1, sent(11));
    assert_eq!(run(&mut golden(build(0)), &[packet(&[])]), []);
}

#[test]
fn the_context_is_zero_at_first_and_lives_across_steps_but_not_packets() {
    let mut engine = EngineBuilder::packet("e");
    let (x, wide) = (engine.context("x", 16), engine.context("wide", 200));
    engine.step("first", |s| {
        let (old, one) = (s.read(x), s.constant(16, 1));
        let next = s.binary(BinaryOp::Add, old, one);
        s.write(x, next);
        let high = s.constant(200, 5);
        s.write(wide, high);
        s.exit(Exit::Next(StepId(1)));
    });
    engine.step("second", |s| {
        let (x, wide) = (s.read(x), s.read(wide));
        let low = s.slice(wide, 0, 16);
        let port = s.binary(BinaryOp::Add, x, low);
        s.set_egress(port);
        s.exit(Exit::Finish);
    });
    let out = run(&mut golden(program_of(engine)), &[packet(&[]), packet(&[])]);
    assert_eq!(out, [(0, sent(6), vec![]), (1, sent(6), vec![])]);
}

#[test]
fn emitted_copies_leave_in_order_before_what_follows() {
    let mut engine = EngineBuilder::packet("e");
    engine.step("first", |s| {
        let port = s.constant(16, 3);
        s.set_egress(port);
        s.exit(Exit::Emit(StepId(1), Copied::default()));
    });
    engine.step("second", |s| {
        let (base, byte, port) = (s.constant(16, 0), s.constant(8, 9), s.constant(16, 4));
        s.write_packet(base, 0, byte);
        s.set_egress(port);
        s.exit(Exit::Finish);
    });
    let out = run(&mut golden(program_of(engine)), &[packet(&[1, 2]), packet(&[5])]);
    assert_eq!(
        out,
        [
            (0, sent(3), vec![1, 2]),
            (0, sent(4), vec![9, 2]),
            (1, sent(3), vec![5]),
            (1, sent(4), vec![9])
        ]
    );
}

#[test]
fn drops_and_exceptions_carry_their_reason() {
    let mut program = ProgramBuilder::new();
    program.reasons("Other", &[]);
    let set = program.reasons("R", &["A", "B"]);
    let mut engine = EngineBuilder::packet("e");
    engine.step("only", |s| {
        let (length, two) = (s.meta(Meta::Length), s.constant(16, 2));
        let short = s.binary(BinaryOp::Ult, length, two);
        s.when(short).exit(Exit::Drop(length, set));
        s.exit(Exit::ToCpu(length, set));
    });
    program.engine(engine);
    let out = run(&mut golden(program.build()), &[packet(&[8]), packet(&[8, 9, 10])]);
    assert_eq!(
        out,
        [
            (0, Verdict::Dropped(Reason::Program(ReasonSetId(1), 1)), vec![8]),
            (1, Verdict::ToCpu(Reason::Program(ReasonSetId(1), 3)), vec![8, 9, 10])
        ]
    );
}

/// Adds a step that counts a context variable up to a limit by jumping to itself, then runs `last`.
fn counting(engine: &mut EngineBuilder, limit: u128, last: impl Fn(&mut StepBuilder<'_>)) {
    let count = engine.context("count", 32);
    engine.step("loop", |s| {
        let (old, one, limit) = (s.read(count), s.constant(32, 1), s.constant(32, limit));
        let next = s.binary(BinaryOp::Add, old, one);
        let again = s.binary(BinaryOp::Ult, old, limit);
        s.write(count, next);
        s.when(again).exit(Exit::Next(StepId(0)));
        last(s);
    });
}

#[test]
fn a_thread_may_jump_backward_65535_times() {
    for (jumps, expected) in [(65_535, sent(0)), (65_536, Verdict::Dropped(Reason::Runaway))] {
        let mut engine = EngineBuilder::packet("e");
        counting(&mut engine, jumps, |s| s.exit(Exit::Finish));
        let out = run(&mut golden(program_of(engine)), &[packet(&[1]), packet(&[2])]);
        assert_eq!(out, [(0, expected, vec![1]), (1, expected, vec![2])], "{jumps} jumps");
    }
}

#[test]
fn forward_jumps_are_not_counted() {
    // Each round jumps forward once and backward once: 40,000 rounds are 80,000 jumps.
    let mut engine = EngineBuilder::packet("e");
    let count = engine.context("count", 32);
    engine.step("a", |s| {
        let (old, one) = (s.read(count), s.constant(32, 1));
        let next = s.binary(BinaryOp::Add, old, one);
        s.write(count, next);
        s.exit(Exit::Next(StepId(1)));
    });
    engine.step("b", |s| {
        let (count, limit) = (s.read(count), s.constant(32, 40_000));
        let again = s.binary(BinaryOp::Ult, count, limit);
        s.when(again).exit(Exit::Next(StepId(0)));
        s.exit(Exit::Finish);
    });
    assert_eq!(run(&mut golden(program_of(engine)), &[packet(&[])])[0].1, sent(0));
}

#[test]
fn a_called_engine_that_runs_away_replies_zero() {
    for (jumps, expected) in [(65_535, sent(1)), (65_536, sent(0))] {
        let mut program = ProgramBuilder::new();
        let mut inner = EngineBuilder::called("inner", &[], 16);
        counting(&mut inner, jumps, |s| {
            let one = s.constant(16, 1);
            s.exit(Exit::Reply(one));
        });
        let inner = program.engine(inner);
        program.engine(caller(inner, 1));
        assert_eq!(run(&mut golden(program.build()), &[packet(&[])])[0].1, expected);
    }
}

/// Returns an engine that calls `inner` without arguments through `offloads` offloads. The last
/// reply becomes the egress port.
fn caller(inner: EngineId, offloads: usize) -> EngineBuilder {
    let mut engine = EngineBuilder::packet("main");
    let offloads: Vec<_> =
        (0..offloads).map(|i| engine.engine_offload(&format!("o{i}"), inner, 16)).collect();
    engine.step("only", |s| {
        for offload in offloads {
            let port = s.call(offload, "call", &[]).expect("a reply");
            s.set_egress(port);
        }
        s.exit(Exit::Finish);
    });
    engine
}

#[test]
fn each_offload_that_is_an_engine_has_offloads_of_its_own() {
    let mut program = ProgramBuilder::new();
    let mut inner = EngineBuilder::called("inner", &[], 16);
    let mem = inner.offload("mem", config("array", &[], &[("", 16)], &[("size", 1)]));
    inner.step("only", |s| {
        let (index, one) = (s.constant(32, 0), s.constant(16, 1));
        let old = s.call(mem, "fetch_add", &[index, one]).expect("a reply");
        s.exit(Exit::Reply(old));
    });
    let inner = program.engine(inner);
    program.engine(caller(inner, 2));
    let mut golden = golden(program.build());
    let out = run(&mut golden, &[packet(&[]), packet(&[]), packet(&[])]);
    assert_eq!(out.iter().map(|o| o.1).collect::<Vec<_>>(), [sent(0), sent(1), sent(2)]);
    for path in ["o0.mem", "o1.mem"] {
        let slot = golden.store_mut().find_mut(path).expect("nested offloads are found");
        let Content::Kind { instance, .. } = &slot.content else { panic!("an array") };
        let rows = instance.rows();
        assert_eq!((&rows[0].key, &rows[0].fields[0].1), (&EntryKey::Index(0), &Bits::new(16, 3)));
    }
}

#[test]
fn a_called_engine_takes_arguments_and_knows_time_and_sequence() {
    let mut program = ProgramBuilder::new();
    let mut inner = EngineBuilder::called("inner", &[("a", 8), ("b", 64)], 64);
    let clock = inner.offload("clock", config("clock", &[], &[], &[]));
    let scratch = inner.context("scratch", 8);
    inner.step("only", |s| {
        let (a, b) = (s.read(ContextId(0)), s.read(ContextId(1)));
        let now = s.call(clock, "now", &[]).expect("a reply");
        let old = s.read(scratch);
        s.write(scratch, a);
        let (a, old) = (s.extend(a, 64), s.extend(old, 64));
        let sum = s.binary(BinaryOp::Add, a, b);
        let sum = s.binary(BinaryOp::Add, sum, old);
        let sum = s.binary(BinaryOp::Add, sum, now);
        s.exit(Exit::Reply(sum));
    });
    let inner = program.engine(inner);
    let mut engine = EngineBuilder::packet("main");
    let sub = engine.engine_offload("sub", inner, 64);
    engine.step("only", |s| {
        let (a, b) = (s.constant(8, 20), s.constant(64, 300));
        s.call(sub, "call", &[a, b]);
        let sum = s.call(sub, "call", &[a, b]).expect("a reply");
        let port = s.slice(sum, 0, 16);
        s.set_egress(port);
        s.exit(Exit::Finish);
    });
    program.engine(engine);
    let out = run(&mut golden(program.build()), &[packet(&[])]);
    assert_eq!(out[0].1, sent(1_320), "the second call's context is fresh");
}

#[test]
fn regions_happen_in_order() {
    let mut engine = EngineBuilder::packet("e");
    let x = engine.context("x", 16);
    let mem = engine.offload("mem", config("array", &[], &[("", 16)], &[("size", 2)]));
    engine.regions("only", |s| {
        let (index, value) = (s.constant(32, 0), s.constant(16, 5));
        let reply = s.call(mem, "fetch_add", &[index, value]).expect("a reply");
        s.next_region();
        s.write(x, reply);
        let one = s.constant(16, 1);
        let x = s.read(x);
        let sum = s.binary(BinaryOp::Add, x, one);
        s.set_egress(sum);
        s.next_region();
        let first = s.binary(BinaryOp::Eq, sum, one);
        let later = s.unary(UnaryOp::Not, first);
        s.when(first).exit(Exit::Done);
        s.when(later).exit(Exit::Finish);
    });
    let out = run(&mut golden(program_of(engine)), &[packet(&[]), packet(&[]), packet(&[])]);
    assert_eq!(out, [(1, sent(6), vec![]), (2, sent(11), vec![])]);
}

#[test]
fn a_step_in_which_no_exit_happens_ends_the_thread() {
    let mut engine = EngineBuilder::packet("e");
    engine.step("only", |s| {
        let no = s.constant(1, 0);
        s.when(no).exit(Exit::Finish);
    });
    assert_eq!(run(&mut golden(program_of(engine)), &[packet(&[1])]), []);
}

#[test]
fn sequence_numbers_go_on_from_one_batch_to_the_next() {
    let mut golden = golden(editor(|_| {}));
    run(&mut golden, &[packet(&[]), packet(&[])]);
    assert_eq!(run(&mut golden, &[packet(&[])])[0].0, 2);
}

#[test]
#[should_panic(expected = "does not verify")]
fn programs_that_do_not_verify_are_not_run() {
    let mut program = editor(|_| {});
    program.main = EngineId(4);
    Golden::new(program, wireloom_offloads::Store::default());
}

#[test]
#[should_panic(expected = "another program's")]
fn a_store_of_another_program_is_not_run() {
    let mut engine = EngineBuilder::packet("e");
    engine.offload("clock", config("clock", &[], &[], &[]));
    engine.step("only", |s| s.exit(Exit::Finish));
    Golden::new(program_of(engine), wireloom_offloads::Store::default());
}

/// Records steps, operations that begin, and values after calls.
#[derive(Default)]
struct Notes(Vec<String>);

impl crate::Observer for Notes {
    fn step(&mut self, now: &crate::Moment<'_>) {
        self.0.push(format!("engine {} step {}", now.engine.0, now.step.0));
    }

    fn before(&mut self, operation: u32, now: &crate::Moment<'_>) {
        let packet = if now.packet.is_some() { "with" } else { "without" };
        self.0.push(format!("before {operation} {packet} packet"));
    }

    fn after(&mut self, operation: u32, now: &crate::Moment<'_>) {
        let reply = Value(u32::from(now.packet.is_some()));
        self.0.push(format!("after {operation}: {}", now.value(reply).low_u64()));
    }
}

#[test]
fn an_observer_is_told_of_called_engines_inside_their_calls() {
    let mut program = ProgramBuilder::new();
    let mut inner = EngineBuilder::called("inner", &[("a", 8)], 8);
    inner.step("only", |s| {
        let a = s.read(ContextId(0));
        s.exit(Exit::Reply(a));
    });
    let inner = program.engine(inner);
    let mut engine = EngineBuilder::packet("main");
    let sub = engine.engine_offload("sub", inner, 8);
    engine.step("only", |s| {
        let a = s.constant(8, 20);
        s.call(sub, "call", &[a]);
        let no = s.constant(1, 0);
        s.when(no).exit(Exit::Done);
        s.exit(Exit::Finish);
    });
    program.engine(engine);
    let (mut golden, mut notes) = (golden(program.build()), Notes::default());
    let mut outputs = 0;
    golden.observe(packet(&[]).frame(), &mut notes, &mut |_| outputs += 1);
    // Operation 0 of the outer step is a constant. So is operation 2, the guard of operation 3.
    let expected = [
        "engine 1 step 0",
        "before 1 with packet",
        "engine 0 step 0",
        "before 0 without packet",
        "after 0: 20",
        "before 1 without packet",
        "after 1: 20",
        "before 4 with packet",
    ];
    assert_eq!(notes.0, expected);
    assert_eq!(outputs, 1);
}
