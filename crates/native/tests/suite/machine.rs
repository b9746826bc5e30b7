//! Checks promises of the native machine beyond single operations: order, copies, loops, calls,
//! sizes, builds.

use crate::support::{self, agree, options, outputs};
use wireloom_bits::Bits;
use wireloom_codegen_c::generate;
use wireloom_ir::builder::{EngineBuilder, ProgramBuilder, StepBuilder, config, program_of};
use wireloom_ir::{
    BinaryOp, Copied, Execute, Exit, MAX_BACKWARD_JUMPS, Meta, Program, Reason, StepId, UnaryOp,
    Value, Verdict,
};
use wireloom_native::{BuildError, BuildOptions, Library, Native};
use wireloom_net::Packet;
use wireloom_offloads::{Entry, EntryKey, Store};

fn nothing(_: &mut Store) {}

fn native(program: &Program) -> Native {
    let library = Library::build(program, &options()).unwrap_or_else(|e| panic!("{e}"));
    Native::new(library, wireloom_ir::store(program).expect("offloads of a verified program"))
}

fn packet(bytes: &[u8]) -> Packet {
    Packet { ingress: 1, arrival_ns: 0, bytes: bytes.to_vec() }
}

fn ports(machine: &mut Native, packets: &[Packet]) -> Vec<u16> {
    outputs(machine, packets)
        .iter()
        .map(|sent| match sent.verdict {
            Verdict::Sent { port } => port,
            other => panic!("{other:?}"),
        })
        .collect()
}

/// Returns the first byte as a number of 32 bits.
fn first_byte(step: &mut StepBuilder<'_>) -> Value {
    let start = step.constant(16, 0);
    let byte = step.read_packet(start, 0, 8);
    step.extend(byte, 32)
}

/// A batch has several packets of one flow. Each must see the state that the previous one left,
/// although packets of other kinds take longer paths to the same offload.
#[test]
fn order_sensitive_offloads_see_packets_in_order_of_arrival() {
    let mut engine = EngineBuilder::packet("ordered");
    let far = engine.offload("far", config("array", &[], &[("", 32)], &[("size", 1 << 16)]));
    let next = engine.offload("next", config("array", &[], &[("", 16)], &[("size", 256)]));
    engine.regions("detour", |step| {
        let index = first_byte(step);
        let value = step.call(far, "read", &[index]).unwrap();
        step.next_region();
        step.next_region();
        let odd = step.slice(index, 0, 1);
        let even = step.unary(UnaryOp::Not, odd);
        let zero = step.constant(32, 0);
        let is_zero = step.binary(BinaryOp::Eq, value, zero);
        let both = step.binary(BinaryOp::And, odd, is_zero);
        let longer = step.binary(BinaryOp::Xor, odd, both);
        let rest = step.binary(BinaryOp::Or, even, both);
        step.when(longer).exit(Exit::Next(StepId(0)));
        step.when(rest).exit(Exit::Next(StepId(1)));
    });
    engine.regions("count", |step| {
        let zero = step.constant(32, 0);
        let one = step.constant(16, 1);
        let ticket = step.call(next, "fetch_add", &[zero, one]).unwrap();
        step.next_region();
        step.set_egress(ticket);
        step.next_region();
        step.exit(Exit::Finish);
    });
    let program = program_of(engine);
    let packets: Vec<Packet> = (0..200u32).map(|i| packet(&[(i * 7) as u8, 0])).collect();
    let expected: Vec<u16> = (0..200).collect();
    assert_eq!(ports(&mut native(&program), &packets), expected);
    agree(&[program], &packets, &nothing);
}

/// A flow table is followed by a marker. A thread may use the first while earlier threads still use
/// the second.
#[test]
fn threads_pass_one_ordered_offload_while_others_wait_for_the_next() {
    let mut engine = EngineBuilder::packet("two");
    let flows = engine.offload("flows", config("exact", &[("", 8)], &[("", 16)], &[("size", 4)]));
    let far = engine.offload("far", config("array", &[], &[("", 32)], &[("size", 1 << 16)]));
    let count = engine.offload("count", config("array", &[], &[("", 16)], &[("size", 4)]));
    let flow = engine.context("flow", 16);
    engine.regions("account", |step| {
        let start = step.constant(16, 0);
        let key = step.read_packet(start, 0, 8);
        let one = step.constant(16, 1);
        let reply = step.call(flows, "accumulate", &[key, one]).unwrap();
        step.next_region();
        let total = step.slice(reply, 0, 16);
        step.write(flow, total);
        step.next_region();
        step.exit(Exit::Next(StepId(1)));
    });
    engine.regions("look", |step| {
        let index = first_byte(step);
        step.call(far, "read", &[index]);
        step.next_region();
        step.next_region();
        step.exit(Exit::Next(StepId(2)));
    });
    engine.regions("mark", |step| {
        let total = step.read(flow);
        let two = step.slice(total, 0, 2);
        let index = step.extend(two, 32);
        let before = step.call(count, "exchange", &[index, total]).unwrap();
        step.next_region();
        step.set_egress(before);
        step.next_region();
        step.exit(Exit::Finish);
    });
    let packets: Vec<Packet> = (0..300u32).map(|i| packet(&[(i * i % 5) as u8])).collect();
    agree(&[program_of(engine)], &packets, &nothing);
}

#[test]
fn an_emitted_packet_is_a_copy_and_leaves_before_what_follows() {
    let mut engine = EngineBuilder::packet("copies");
    let payload = engine.offload("payload", config("payload", &[], &[("", 16)], &[]));
    engine.regions("first", |step| {
        step.next_region();
        let port = step.constant(16, 7);
        step.set_egress(port);
        step.next_region();
        step.exit(Exit::Emit(StepId(1), Copied::default()));
    });
    engine.regions("second", |step| {
        let (offset, data, count) =
            (step.constant(16, 150), step.constant(16, 0xaaaa), step.constant(16, 2));
        step.call(payload, "write", &[offset, data, count]);
        step.next_region();
        let start = step.constant(16, 0);
        let byte = step.constant(8, 0xff);
        step.write_packet(start, 0, byte);
        step.next_region();
        step.exit(Exit::Emit(StepId(2), Copied::default()));
    });
    engine.regions("third", |step| {
        let (data, count) = (step.constant(16, 0xbbbb), step.constant(16, 2));
        step.call(payload, "append", &[data, count]);
        step.next_region();
        let (start, count) = (step.constant(16, 0), step.constant(16, 4));
        step.insert(start, count);
        step.next_region();
        step.exit(Exit::Finish);
    });
    let program = program_of(engine);
    let packets: Vec<Packet> = [0usize, 1, 64, 150, 152, 300, 65_533, 65_535]
        .iter()
        .map(|n| packet(&vec![5; *n]))
        .collect();
    let sent = outputs(&mut native(&program), &packets);
    assert_eq!(sent.len(), 3 * packets.len());
    assert!(sent.iter().map(|s| s.sequence).eq((0..8).flat_map(|n| [n, n, n])));
    assert_eq!((sent[15].bytes[0], sent[15].bytes[150]), (5, 5), "as it arrived");
    assert_eq!(
        (sent[16].bytes[0], sent[16].bytes[150]),
        (0xff, 0xaa),
        "as the second step left it"
    );
    agree(&[program], &packets, &nothing);
}

#[test]
fn a_payload_leaves_from_where_it_arrived_unless_it_is_changed() {
    let mut engine = EngineBuilder::packet("pieces");
    let payload = engine.offload("payload", config("payload", &[], &[("", 16)], &[]));
    engine.regions("only", |step| {
        // The call is refused if the packet has less than 200 bytes.
        let (offset, data, count) =
            (step.constant(16, 199), step.constant(16, 0xaa), step.constant(16, 1));
        let length = step.meta(Meta::Length);
        let most = step.constant(16, 400);
        let is_changed = step.binary(BinaryOp::Ult, length, most);
        step.when(is_changed).call(payload, "write", &[offset, data, count]);
        step.next_region();
        let (start, count) = (step.constant(16, 0), step.constant(16, 4));
        step.insert(start, count);
        step.next_region();
        step.exit(Exit::Finish);
    });
    let program = program_of(engine);
    let packets: Vec<Packet> =
        [60, 128, 129, 300, 400, 1500, 65_531].map(|n| packet(&vec![5; n])).into();
    let frames: Vec<_> = packets.iter().map(Packet::frame).collect();
    let (mut seen, mut whole) = (0, Vec::new());
    native(&program).offer_in_pieces(&frames, &mut |output, rest| {
        let frame = frames[output.sequence as usize].bytes;
        let lies_in_frame = frame.as_ptr_range().contains(&rest.as_ptr());
        let is_changed = (200..400).contains(&frame.len());
        assert_eq!(output.bytes.len(), 4 + frame.len().min(128));
        assert_eq!(rest.len(), frame.len().saturating_sub(128));
        assert!(rest.is_empty() || lies_in_frame != is_changed, "{}", frame.len());
        whole.push([output.bytes, rest].concat());
        seen += 1;
    });
    assert_eq!(seen, packets.len());
    assert!(outputs(&mut native(&program), &packets).iter().map(|sent| &sent.bytes).eq(&whole));
    agree(&[program], &packets, &nothing);
}

#[test]
fn functions_of_keys_of_every_size_class_agree() {
    let widths = [1, 8, 31, 32, 33, 47, 48, 49, 63, 64, 65, 100, 127, 128, 129, 320, 511, 512];
    let programs: Vec<Program> = widths
        .into_iter()
        .map(|width| {
            let mut engine = EngineBuilder::packet("functions");
            let hash = engine.offload("hash", config("hash", &[("", width)], &[], &[]));
            let dice = engine.offload("dice", config("random", &[], &[], &[("seed", 9)]));
            let time = engine.offload("time", config("clock", &[], &[], &[]));
            engine.regions("only", |step| {
                let start = step.constant(16, 0);
                let key = step.read_packet(start, 3, width);
                let crc = step.evaluate(hash, "crc32", &[key]);
                step.next_region();
                let others = [
                    step.evaluate(hash, "hash48", &[key]),
                    step.evaluate(hash, "hash64", &[key]),
                    step.evaluate(dice, "next", &[crc]),
                    step.evaluate(time, "now", &[]),
                ];
                let all = step.concat(&[&[crc], &others[..]].concat());
                step.write_packet(start, 0, all);
                step.next_region();
                step.exit(Exit::Finish);
            });
            program_of(engine)
        })
        .collect();
    let packets: Vec<Packet> = support::patterns()
        .into_iter()
        .enumerate()
        .map(|(index, packet)| Packet { arrival_ns: 1 << (7 * index), ..packet })
        .collect();
    agree(&programs, &packets, &nothing);
}

#[test]
fn runaway_threads_are_stopped_where_the_golden_model_stops_them() {
    // The packet goes through the only step once for each of its bytes, times `factor`.
    let looping = |name: &str, factor: u128| {
        let mut engine = EngineBuilder::packet(name);
        let count = engine.context("count", 32);
        engine.regions("turn", |step| {
            let before = step.read(count);
            let one = step.constant(32, 1);
            let now = step.binary(BinaryOp::Add, before, one);
            step.next_region();
            step.write(count, now);
            step.next_region();
            let length = step.meta(Meta::Length);
            let wide = step.extend(length, 32);
            let factor = step.constant(32, factor);
            let goal = step.binary(BinaryOp::Mul, wide, factor);
            let goes_on = step.binary(BinaryOp::Ult, now, goal);
            let ends = step.unary(UnaryOp::Not, goes_on);
            step.when(goes_on).exit(Exit::Next(StepId(0)));
            step.when(ends).exit(Exit::Finish);
        });
        program_of(engine)
    };
    // A packet of n bytes jumps back n - 1 times: at most 65,534 times, one fewer than allowed.
    // From the second engine it jumps twice as often.
    let most = vec![0; MAX_BACKWARD_JUMPS as usize];
    let packets = [packet(&most), packet(&[0; 3]), packet(&most[..40_000])];
    agree(&[looping("loop", 1)], &packets, &nothing);

    let program = looping("longer loop", 2);
    let exact = &most[..(MAX_BACKWARD_JUMPS as usize).div_ceil(2)];
    let packets = [packet(exact), packet(&most), packet(&[0; 3]), packet(&exact[1..])];
    let verdicts: Vec<Verdict> =
        outputs(&mut native(&program), &packets).iter().map(|s| s.verdict).collect();
    assert_eq!(verdicts[1], Verdict::Dropped(Reason::Runaway));
    assert_eq!(verdicts[2], Verdict::Sent { port: 0 });
    agree(&[program], &packets, &nothing);
}

/// A called engine that never replies returns zero. Two offloads of one engine share nothing.
#[test]
fn called_engines_have_state_and_ends_of_their_own() {
    let mut program = ProgramBuilder::new();
    let mut lost = EngineBuilder::called("lost", &[("n", 8)], 130);
    lost.regions("again", |step| {
        step.next_region();
        step.next_region();
        step.exit(Exit::Next(StepId(0)));
    });
    let lost = program.engine(lost);
    let mut inner = EngineBuilder::called("inner", &[("n", 16)], 16);
    let memory = inner.offload("memory", config("array", &[], &[("", 16)], &[("size", 2)]));
    inner.regions("only", |step| {
        let n = step.read(wireloom_ir::ContextId(0));
        let zero = step.constant(32, 0);
        let before = step.call(memory, "fetch_add", &[zero, n]).unwrap();
        step.next_region();
        step.next_region();
        step.exit(Exit::Reply(before));
    });
    let inner = program.engine(inner);
    let mut main = EngineBuilder::packet("main");
    let first = main.engine_offload("first", inner, 16);
    let second = main.engine_offload("second", inner, 16);
    let never = main.engine_offload("never", lost, 130);
    main.regions("only", |step| {
        let start = step.constant(16, 0);
        let n = step.read_packet(start, 0, 16);
        let a = step.call(first, "call", &[n]).unwrap();
        let one = step.constant(16, 1);
        let b = step.call(second, "call", &[one]).unwrap();
        let small = step.slice(n, 0, 8);
        let c = step.call(never, "call", &[small]).unwrap();
        step.next_region();
        step.set_egress(a);
        step.write_packet(start, 0, b);
        step.write_packet(start, 16, c);
        step.next_region();
        step.exit(Exit::Finish);
    });
    program.engine(main);
    let packets: Vec<Packet> = (0..70).map(|i| packet(&[i; 40])).collect();
    agree(&[program.build()], &packets[..8], &nothing);
}

/// Covers each operator at widths on both sides of every change of C type, with operands from the
/// packet.
#[test]
fn operators_agree_at_every_class_of_width() {
    const WIDTHS: [u32; 22] = [
        1, 2, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65, 127, 128, 129, 191, 192, 193, 1023, 1024,
    ];
    let programs = WIDTHS.map(support::operators);
    for packet in support::patterns() {
        agree(&programs, &[packet], &nothing);
    }
}

/// Constant arrays become C tables. The cases cover indices that reach past the end and indices
/// that do not, elements of every class, the same array twice, and writes under a guard.
#[test]
fn constant_arrays_are_tables() {
    let mut engine = EngineBuilder::packet("tables");
    engine.regions("only", |step| {
        step.next_region();
        let start = step.constant(16, 0);
        let mut at = 32;
        for (reach, count, width) in [
            (8, 12, 8),
            (4, 16, 1),
            (4, 16, 33),
            (3, 8, 100),
            (16, 40, 8),
            (8, 12, 8),
            (9, 20, 200),
        ] {
            let index = step.read_packet(start, 0, reach);
            let element = |i: u128| Bits::new(width, (3 + i * i) & ((1 << width.min(100)) - 1));
            let chosen = step.table((0..count).map(element).collect(), index);
            let odd = step.read_packet(start, 7, 1);
            step.when(odd).write_packet(start, at, chosen);
            let doubled = step.binary(BinaryOp::Add, chosen, chosen);
            step.write_packet(start, at + width, doubled);
            at += 2 * width;
        }
        step.next_region();
        step.exit(Exit::Finish);
    });
    let program = program_of(engine);
    assert!(generate(&program).files[0].1.contains("static const uint8_t table[13] = {"));
    let packets: Vec<Packet> = (0..=255u8)
        .map(|first| {
            let mut bytes = [0; 128];
            bytes[..2].copy_from_slice(&[first, first.wrapping_mul(7)]);
            packet(&bytes)
        })
        .collect();
    agree(&[program], &packets, &nothing);
}

/// Generated code has temporaries. Program values with the same names are distinct from them.
#[test]
fn temporaries_hide_no_value_of_the_program() {
    let mut engine = EngineBuilder::packet("names");
    let table = engine.offload("table", config("lpm", &[("", 32)], &[("", 100)], &[("miss", 77)]));
    engine.regions("only", |step| {
        let start = step.constant(16, 0);
        let divisor = step.read_packet(start, 0, 160);
        let divisor = step.name(divisor, "quotient");
        let dividend = step.read_packet(start, 160, 160);
        let dividend = step.name(dividend, "rest");
        let key = step.read_packet(start, 8, 32);
        let key = step.name(key, "words");
        let found = step.call(table, "search", &[key]).unwrap();
        step.next_region();
        let quotient = step.binary(BinaryOp::Udiv, dividend, divisor);
        let rest = step.binary(BinaryOp::Urem, dividend, divisor);
        step.write_packet(start, 320, quotient);
        step.write_packet(start, 480, rest);
        step.write_packet(start, 640, found);
        step.write_packet(start, 744, key);
        step.next_region();
        step.exit(Exit::Finish);
    });
    let bytes: Vec<u8> = (1..=128).collect();
    agree(&[program_of(engine)], &[packet(&bytes)], &nothing);
}

/// The control plane changes tables between packets; packets see the new entries.
#[test]
fn the_control_plane_changes_tables_between_packets() {
    let mut engine = EngineBuilder::packet("routes");
    let routes = engine.offload("routes", config("lpm", &[("", 32)], &[("", 16)], &[("miss", 9)]));
    engine.regions("look", |step| {
        let start = step.constant(16, 0);
        let key = step.read_packet(start, 0, 32);
        let port = step.call(routes, "search", &[key]).unwrap();
        step.next_region();
        step.set_egress(port);
        step.next_region();
        step.exit(Exit::Finish);
    });
    let mut machine = native(&program_of(engine));
    let packets = [packet(&[10, 1, 2, 3]), packet(&[10, 1, 2, 4]), packet(&[11, 0, 0, 0])];
    assert_eq!(ports(&mut machine, &packets), [9, 9, 9]);
    let bits = |value: u32, length: u32| EntryKey::Prefix {
        bits: Bits::new(32, u128::from(value)),
        length,
    };
    for (key, port) in [(bits(0x0a00_0000, 8), 1), (bits(0x0a01_0203, 32), 2), (bits(0, 0), 3)] {
        let slot = machine.store_mut().find_mut("routes").expect("the routes");
        let wireloom_offloads::Content::Kind { instance, .. } = &mut slot.content else {
            unreachable!("a kind")
        };
        instance.load(Entry { key, value: Bits::new(16, port) }).expect("room for a prefix");
    }
    assert_eq!(ports(&mut machine, &packets), [2, 1, 3]);
}

#[test]
#[should_panic(expected = "the store is another program's")]
fn a_store_of_another_program_is_refused_before_packets_reach_it() {
    let array = |size| {
        let mut engine = EngineBuilder::packet("reader");
        let array = engine.offload("array", config("array", &[], &[("", 32)], &[("size", size)]));
        engine.regions("only", |step| {
            let index = first_byte(step);
            step.call(array, "read", &[index]);
            step.next_region();
            step.next_region();
            step.exit(Exit::Finish);
        });
        program_of(engine)
    };
    let mut machine = native(&array(256));
    *machine.store_mut() = wireloom_ir::store(&array(2)).expect("offloads of a verified program");
    outputs(&mut machine, &[packet(&[200])]);
}

fn small_program() -> Program {
    let text = include_str!("../../../codegen-c/tests/filetests/forward.ir");
    wireloom_ir::parse(text).expect("a valid program")
}

#[test]
fn generated_code_is_the_same_from_run_to_run() {
    let program = small_program();
    let generated = generate(&program);
    assert_eq!(generated.files[0].0, "forward.c");
    assert_eq!(generate(&program).files, generated.files);
}

#[test]
fn the_generated_folder_builds_by_itself_without_a_warning() {
    let dir = tempfile::tempdir().expect("a temporary folder");
    for (name, text) in generate(&small_program()).files {
        let path = dir.path().join(name);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        std::fs::write(path, text).expect("a file");
    }
    let make = std::process::Command::new("make")
        .current_dir(dir.path())
        .arg("CFLAGS=-O1 -Wall -Wextra -Werror")
        .output()
        .expect("make starts");
    assert!(make.status.success(), "{}", String::from_utf8_lossy(&make.stderr));
    assert!(dir.path().join("forward.so").exists());
}

#[test]
fn build_errors_say_what_was_tried() {
    let with = |cc: &str, flag: &str| BuildOptions {
        cc: cc.into(),
        flags: vec![flag.into()],
        ..BuildOptions::default()
    };
    let error = Library::build(&small_program(), &with("no-such-compiler", "-O1")).err();
    assert!(
        matches!(&error, Some(BuildError::NoCompiler { command, .. }) if command == "no-such-compiler")
    );
    let error = Library::build(&small_program(), &with("cc", "-fno-such-option")).err();
    let Some(error) = error else { panic!("an option that no compiler has") };
    let BuildError::Compiler { log: Some(log), .. } = &error else { panic!("{error:?}") };
    let log = std::fs::read_to_string(log).expect("the log");
    assert!(log.contains(" -fno-such-option ") && log.contains("error:"), "{log}");
    let said = error.to_string();
    assert!(said.contains("-fno-such-option") && said.contains("`cc`"), "{said}");
    assert!(!said.contains('\n'), "{said}");
}

#[test]
fn a_folder_that_is_named_keeps_the_sources() {
    let dir = tempfile::tempdir().expect("a temporary folder");
    let options = BuildOptions { keep_dir: Some(dir.path().join("kept")), ..options() };
    let library = Library::build(&small_program(), &options).unwrap_or_else(|e| panic!("{e}"));
    assert!(
        dir.path().join("kept/engines.c").exists()
            && dir.path().join("kept/runtime/packet.h").exists()
    );
    let mut machine = Native::new(library, wireloom_ir::store(&small_program()).expect("offloads"));
    machine.execute(&[], &mut |_| panic!("no packet, no output"));
}
