//! Checks engines cycle by cycle.

use crate::support::*;
use wireloom_isa::microengine::{
    AluOperation, Bank, Command, Completion, Condition, Instruction, Operation, Signal, Source,
    Unit, Version, Wait,
};
use wireloom_ixp::energy::{ChipPart, EnginePart, chip_part, engine_part};
use wireloom_ixp::{Options, Processor, RunError, energy};
use wireloom_power::PartKey;
use wireloom_sim::energy::Class;
use wireloom_sim::{Clock, Stop, Time};

/// A machine with one engine. The contexts in `mask` run a program.
fn one(code: Vec<Instruction>, mask: u8) -> Processor {
    let spec = spec(|spec| spec.engines = 1);
    let programs = vec![(program(code), mask)];
    Processor::new(&spec, programs, &Options::default()).expect("a machine")
}

fn run(code: Vec<Instruction>, mask: u8) -> Processor {
    let mut machine = one(code, mask);
    assert_eq!(machine.run_cycles(10_000), Ok(Stop::Silent), "all contexts end");
    machine
}

/// The busy and aborted slots of a program.
fn slots(code: Vec<Instruction>) -> (u64, u64) {
    let used = run(code, 1).chip.engines[0].used;
    (used.busy, used.aborted)
}

#[test]
fn an_instruction_takes_a_cycle() {
    let mut code = vec![NOP; 50];
    code.push(kill());
    assert_eq!(slots(code), (51, 0));
}

#[test]
fn taken_branches_abort_by_their_class_and_defer_slots_fill_that() {
    let unconditional = |defer| vec![br(Condition::Always, 4, defer), NOP, NOP, NOP, kill()];
    assert_eq!(slots(unconditional(0)), (2, 1));
    assert_eq!(slots(unconditional(1)), (3, 0));
    let conditional = |value: u8, defer| {
        let zero = alu(to_a(0), Source::None, AluOperation::B, Source::Constant(value));
        vec![zero, br(Condition::Equal, 6, defer), NOP, NOP, NOP, NOP, kill()]
    };
    assert_eq!(slots(conditional(0, 0)), (3, 2));
    assert_eq!(slots(conditional(0, 1)), (4, 1));
    assert_eq!(slots(conditional(0, 2)), (5, 0));
    assert_eq!(slots(conditional(1, 0)), (7, 0), "a branch that is not taken aborts nothing");
    let bit = |defer| {
        let branch =
            Instruction::BranchBit { register: a(0), bit: 3, set: false, target: 6, defer };
        vec![branch, NOP, NOP, NOP, NOP, NOP, kill()]
    };
    assert_eq!(slots(bit(0)), (2, 3));
    assert_eq!(slots(bit(2)), (4, 1));
}

#[test]
fn results_are_there_for_the_next_instruction() {
    let code = vec![
        immed(to_a(0), 40),
        immed(to_b(0), 2),
        alu(to_a(1), a(0), AluOperation::Add, b(0)),
        alu(to_b(1), a(1), AluOperation::Subtract, Source::Constant(1)),
        kill(),
    ];
    let machine = run(code, 1);
    let registers = &machine.chip.engines[0].registers;
    assert_eq!(registers.general(Bank::A, 1), 42);
    assert_eq!(registers.general(Bank::B, 1), 41);
}

#[test]
fn contexts_have_registers_of_their_own_and_take_turns() {
    let code = vec![
        Instruction::LocalCsrRead { csr: 0 },
        immed(to_a(0), 0),
        Instruction::Arbitrate { wait: Wait::Voluntary, defer: 0 },
        alu(to_b(0), a(0), AluOperation::Add, Source::Constant(10)),
        kill(),
    ];
    let machine = run(code, 0b1111);
    let engine = &machine.chip.engines[0];
    for context in 0..4 {
        assert_eq!(engine.registers.general(Bank::B, context * 16), context as u32 + 10);
    }
    assert_eq!(engine.used.busy, 20);
    // A change of context aborts one instruction. After the last kill, no other context is left.
    assert_eq!(engine.used.aborted, 7);
}

#[test]
fn a_context_that_waits_lets_the_others_run() {
    let read = command(Unit::Sram, Operation::Read, Source::Constant(0), 1);
    let code = vec![Instruction::Command(read), kill()];
    let alone = run(code.clone(), 1);
    let four = run(code, 0b1111);
    let (one, all) = (alone.now(), four.now());
    assert!(all.0 < 2 * one.0, "{one} and {all}");
}

#[test]
fn the_prefetched_kill_is_a_switch() {
    let code = vec![br(Condition::Always, 3, 0), kill(), NOP, immed(to_a(0), 7), NOP, NOP, kill()];
    for (quirk, value) in [(true, 0), (false, 7)] {
        let spec = spec(|spec| {
            spec.engines = 1;
            spec.engine.prefetched_kill_stops = quirk;
        });
        let programs = vec![(program(code.clone()), 1)];
        let mut machine = Processor::new(&spec, programs, &Options::default()).expect("a machine");
        machine.run_cycles(100).expect("it runs");
        assert_eq!(machine.chip.engines[0].registers.general(Bank::A, 0), value);
    }
}

#[test]
fn a_full_queue_of_commands_stalls_the_engine() {
    let mut read = command(Unit::Sram, Operation::Read, Source::Constant(0), 8);
    read.completion = wireloom_isa::microengine::Completion::None;
    let mut code = vec![Instruction::Command(read); 40];
    code.push(kill());
    let used = run(code, 1).chip.engines[0].used;
    assert_eq!(used.busy, 41);
    assert!(used.stalled > 300, "{used:?}");
}

#[test]
fn every_cycle_is_counted_once() {
    let read = command(Unit::Sdram, Operation::Read, Source::Constant(0), 2);
    let mut code = vec![Instruction::Command(read); 5];
    code.push(br(Condition::Always, 0, 0));
    let mut machine = one(code, 0b11);
    machine.run_cycles(5_000).expect("it runs");
    let counted = machine.chip.engines[0].cycles() + machine.sleeping(0);
    assert_eq!(counted, 5_001, "edges 0 to 5,000");
}

#[test]
fn signals_wake_contexts_for_all_or_for_any() {
    let (sram, scratch) = (Unit::Sram, Unit::Scratch);
    let start = |unit| {
        let mut read = command(unit, Operation::Read, Source::Constant(0), 1);
        read.completion = wireloom_isa::microengine::Completion::Signal(signal(unit));
        Instruction::Command(read)
    };
    let both = [Signal::SRAM, Signal::FBI];
    let code = |any| vec![start(sram), start(scratch), wait(&both, any), kill()];
    let all = run(code(false), 1);
    let waited = |machine: &Processor| machine.chip.engines[0].contexts()[0].waited[0];
    let any = run(code(true), 1);
    assert!(waited(&any) < waited(&all), "{} and {}", waited(&any), waited(&all));
}

#[test]
fn engines_have_clocks_of_their_own() {
    let spec = spec(|spec| spec.engines = 3);
    let mut code = vec![NOP; 9];
    code.push(br(Condition::Always, 0, 0));
    let programs = vec![(program(code), 1); 3];
    let mut machine = Processor::new(&spec, programs, &Options::default()).expect("a machine");
    machine.set_engine_rate(1, Clock::hertz(116_000_000), Time::ZERO);
    machine.run_cycles(1_000).expect("it runs");
    machine.gate_engine(2);
    machine.run_cycles(1_000).expect("it runs");
    let cycles =
        |machine: &Processor| [0, 1, 2].map(|engine| machine.chip.engines[engine].cycles());
    assert_eq!(cycles(&machine), [2_001, 1_001, 1_001]);
    machine.ungate_engine(2, Time::ZERO);
    machine.run_cycles(1_000).expect("it runs");
    assert_eq!(cycles(&machine), [3_001, 1_501, 2_001]);
}

#[test]
fn a_meter_hears_of_every_access() {
    let spec = spec(|spec| spec.engines = 1);
    let meter = energy::meter(&spec, None).expect("a meter");
    let read = command(Unit::Sram, Operation::Read, Source::Constant(0), 4);
    let write = command(Unit::Sdram, Operation::Write, Source::Constant(0), 2);
    let code = vec![
        alu(to_a(0), a(1), AluOperation::Add, b(1)),
        alu(to_a(0), a(1), AluOperation::Xor, b(1)),
        Instruction::Command(read),
        Instruction::Command(write),
        kill(),
    ];
    let programs = vec![(program(code), 1)];
    let options = Options::default();
    let mut machine = Processor::with_energy(&spec, programs, &options, meter).expect("a machine");
    machine.run_cycles(1_000).expect("it runs");
    let meter = machine.meter().expect("it has one");
    let count = |component, class: usize| meter.events(component, Class(class as u32)).0;
    let engine = |part: EnginePart| {
        let classes = part.part().classes.iter().enumerate();
        classes.map(|(at, class)| (*class, count(engine_part(0, part), at))).collect::<Vec<_>>()
    };
    let cycles = machine.chip.engines[0].cycles() + machine.sleeping(0);
    assert_eq!(engine(EnginePart::Gpr), [("read", 4), ("write", 2), ("idle", 4 * cycles - 6)]);
    assert_eq!(engine(EnginePart::Xfer), [("access", 8), ("idle", 4 * cycles - 8)]);
    // Two commands and the kill give up the engine, with two accesses to control registers each.
    assert_eq!(engine(EnginePart::ControlRegisters), [("access", 6), ("idle", cycles - 6)]);
    assert_eq!(engine(EnginePart::ContextArbiter), [("grant", 3), ("idle", cycles - 3)]);
    assert_eq!(engine(EnginePart::ControlStore), [("fetch", 5), ("idle", cycles - 5)]);
    // The ALU also adds the addresses of two commands.
    assert_eq!(engine(EnginePart::Alu), [("add", 3), ("logic", 1), ("idle", cycles - 4)]);
    assert_eq!(engine(EnginePart::Shifter), [("shift", 0), ("idle", cycles)]);
    let fifo = engine(EnginePart::CommandFifo);
    assert_eq!(fifo, [("write", 2), ("read", 2), ("idle", 2 * cycles - 4)]);
    let chip = |part: ChipPart, class| count(chip_part(1, part), part.part().class(class));
    // The command bus, words on both pairs of buses, accesses to SRAM, and a row and two granules
    // of SDRAM.
    assert_eq!(chip(ChipPart::CommandBus, "command"), 2);
    assert_eq!([ChipPart::SramBus, ChipPart::SdramBus].map(|bus| chip(bus, "word")), [4, 4]);
    assert_eq!(chip(ChipPart::Sram, "access"), 4);
    assert_eq!(["activate", "burst"].map(|class| chip(ChipPart::Sdram, class)), [1, 2]);
}

#[test]
fn what_has_no_meaning_is_refused_with_its_place() {
    let mut machine = one(vec![NOP, NOP], 1);
    let error = machine.run_cycles(100).expect_err("the program has no end");
    let RunError::Refused { message, .. } = error else { panic!("{error}") };
    assert_eq!(message, "engine 0, context 0: instruction 2 is past the end of the program");
    let far = command(Unit::Scratch, Operation::Read, Source::Constant(255), 1);
    let code = vec![
        immed(to_a(0), 5000),
        Instruction::Command({
            let mut far = far;
            far.a = a(0);
            far
        }),
        kill(),
    ];
    let error = one(code, 1).run_cycles(100).expect_err("there is no such word");
    assert!(error.to_string().contains("the memory has 1024 words"), "{error}");
}

/// The refusal message of a program.
fn refusal(code: Vec<Instruction>) -> String {
    one(code, 0b11).run_cycles(1_000).expect_err("it is refused").to_string()
}

#[test]
fn commands_stay_within_the_transfer_registers_of_their_context() {
    let read = |transfer, count, indirect| {
        let read = command(Unit::Sram, Operation::Read, Source::Constant(0), count);
        Instruction::Command(Command { transfer: Some(transfer), indirect, ..read })
    };
    // The next registers belong to the next context.
    let error = refusal(vec![read(1, 8, false), kill()]);
    let what = "transfers 8 words from transfer register 1 on: its context has 7 from there";
    assert!(error.contains(what), "{error}");
    // Bit 31: bits 30 to 26 hold the count less 1.
    let error = refusal(vec![immed(to_a(0), 1 << 31 | 8 << 26), read(0, 1, true), kill()]);
    assert!(error.contains("transfers 9 words from transfer register 0 on"), "{error}");
    run(vec![immed(to_a(0), 1 << 31 | 7 << 26), read(0, 1, true), kill()], 0b11);
}

#[test]
fn a_signal_for_a_thread_that_is_not_there_is_refused() {
    let signal = |thread| {
        Instruction::Command(Command {
            transfer: None,
            a: Source::Constant(thread),
            // The register `inter_thd_sig`.
            b: Source::Constant(8),
            completion: Completion::None,
            ..command(Unit::Fbi, Operation::FastWrite, Source::None, 0)
        })
    };
    let error = refusal(vec![signal(4), kill()]);
    assert!(error.contains("inter_thd_sig: there is no thread 4"), "{error}");
    run(vec![signal(3), kill()], 0b11);
    // In a request for an MPKT, bits 22 to 16 are the thread.
    let request = Instruction::Command(Command {
        transfer: None,
        a: a(0),
        // The register `rcv_req`.
        b: Source::Constant(2),
        completion: Completion::None,
        ..command(Unit::Fbi, Operation::FastWrite, Source::None, 0)
    });
    let error = refusal(vec![immed(to_a(0), 100 << 16), request, kill()]);
    assert!(error.contains("rcv_req: there is no thread 100"), "{error}");
}

#[test]
fn a_context_that_is_not_there_is_refused() {
    let read = command(Unit::Sram, Operation::Read, Source::Constant(0), 1);
    let read = Instruction::Command(Command { indirect: true, ..read });
    // Bit 15: bits 14 to 12 hold the context.
    let error = refusal(vec![immed(to_a(0), 1 << 15 | 4 << 12), read, kill()]);
    assert!(error.contains("names context 4, and its engine has fewer"), "{error}");
}

#[test]
fn a_breakpoint_stops_all_contexts() {
    let arbitrate = |wait| Instruction::Arbitrate { wait, defer: 0 };
    let code = vec![
        Instruction::BranchContext { context: 1, equal: true, target: 5, defer: 0 },
        NOP,
        NOP,
        arbitrate(Wait::Breakpoint),
        kill(),
        arbitrate(Wait::Voluntary),
        br(Condition::Always, 5, 0),
        NOP,
        NOP,
    ];
    let spec = spec(|spec| {
        spec.engines = 1;
        spec.engine.version = Version::Two;
    });
    let machine = Processor::new(&spec, vec![(program(code), 0b11)], &Options::default());
    let mut machine = machine.expect("a machine");
    assert_eq!(machine.run_cycles(1_000), Ok(Stop::Silent));
    let engine = &machine.chip.engines[0];
    assert!(engine.is_halted());
    assert_eq!((engine.executed()[3], engine.executed()[4]), (1, 0));
}
