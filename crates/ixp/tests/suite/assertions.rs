//! The method of the DATE 2004 paper: assertions over traces hold on the simulator, and each
//! assertion detects the injected fault that it targets.

use crate::support::*;
use wireloom_isa::microengine::{
    AluOperation, BitOperation, Completion, Condition, Instruction, Operation, Order, Source, Unit,
};
use wireloom_ixp::assertions::{self, Rule};
use wireloom_ixp::{Fault, Options, Processor, Program, Spec};
use wireloom_machine::Events;
use wireloom_sim::Stop;

/// The rules of every machine, and the rules that follow from a description.
fn rules(spec: &Spec) -> Vec<Rule> {
    let way = 1 + spec.command_bus.latency_cycles;
    let push = spec.sram_bus.push_cycles;
    let sram = way + spec.sram.access_cycles + push;
    let scratch = way + spec.scratch.access_cycles + push;
    let sdram = way + spec.sdram.access_cycles + spec.sdram_bus.push_cycles;
    let (narrow, wide) = (spec.sram_bus.words_per_cycle, spec.sdram_bus.words_per_cycle);
    let text = format!(
        "{}
        sram_least: issue to done of sram read takes at least {sram}
        scratch_least: issue to done of scratch read takes at least {scratch}
        sdram_least: issue to done of sdram read takes at least {sdram}
        sram_push: push of sram carries at most {narrow}
        push: push by bus carries at most {wide}
        pull: pull by bus carries at most {wide}",
        assertions::RULES
    );
    assertions::parse(&text).expect("they are rules")
}

/// A program that uses all units and all kinds of ordering, several times each.
fn busy() -> Program {
    let unheard = |unit, operation, count, order| {
        let mut command = command(unit, operation, a(0), count);
        command.order = order;
        command.completion = Completion::None;
        Instruction::Command(command)
    };
    let waited =
        |unit, operation, count| Instruction::Command(command(unit, operation, a(0), count));
    let round = [
        unheard(Unit::Sram, Operation::Read, 4, Order::Ordered),
        waited(Unit::Scratch, Operation::Increment, 1),
        unheard(Unit::Sdram, Operation::Write, 4, Order::Optimize),
        waited(Unit::Sram, Operation::Bits(BitOperation::TestAndSet), 1),
        waited(Unit::Sdram, Operation::Read, 4),
        unheard(Unit::Sram, Operation::Write, 2, Order::Priority),
        waited(Unit::Hash, Operation::Hash { keys: 2, bits: 64 }, 0),
        waited(Unit::Scratch, Operation::Write, 4),
        waited(Unit::Scratch, Operation::Read, 2),
        Instruction::Command(command(Unit::Fbi, Operation::CsrRead, Source::Constant(20), 1)),
    ];
    let mut code =
        vec![Instruction::LocalCsrRead { csr: 0 }, immed(to_a(0), 0), immed(to_b(0), 12)];
    code.extend(round);
    code.extend([
        alu(to_b(0), b(0), AluOperation::Subtract, Source::Constant(1)),
        br(Condition::Greater, 3, 0),
        // A kill in the slots that the branch aborts would end the context.
        NOP,
        NOP,
        kill(),
    ]);
    program(code)
}

fn broken(fault: Option<Fault>) -> Vec<String> {
    let spec = spec(|_| {});
    let options = Options { trace_events: 1 << 20, fault, ..Options::default() };
    let programs = vec![(busy(), 0b1111); spec.engines as usize];
    let mut machine = Processor::new(&spec, programs, &options).expect("a machine");
    let stop = machine.run_cycles(200_000).expect("it runs");
    assert!(fault.is_some() || machine.chip.trace.events().len() > 5_000);
    let is_over = stop == Stop::Silent;
    let broken = assertions::check(&rules(&spec), &machine.chip.trace, is_over);
    let mut names: Vec<String> = broken.into_iter().map(|broken| broken.rule).collect();
    names.dedup();
    names
}

#[test]
fn a_sound_simulator_keeps_all_rules() {
    assert_eq!(broken(None), [""; 0]);
}

#[test]
fn each_fault_is_found_by_the_rule_that_is_there_for_it() {
    for (fault, rule) in [
        (Fault::LostAnswer, "answered"),
        (Fault::SecondAnswer, "answered"),
        (Fault::EarlyAnswer, "sram_least"),
        (Fault::EarlyAnswer, "scratch_least"),
        (Fault::EarlyAnswer, "sdram_least"),
        (Fault::Overtaking, "ordered"),
        (Fault::Overtaking, "sram"),
        (Fault::NoWaiting, "signalled"),
        (Fault::WideBus, "sram_push"),
    ] {
        let broken = broken(Some(fault));
        assert!(broken.iter().any(|name| name == rule), "{fault:?}: {broken:?}");
    }
}

#[test]
fn traces_are_written_as_csv() {
    let spec = spec(|spec| spec.engines = 1);
    let options = Options { trace_events: 100, ..Options::default() };
    let read = Instruction::Command(command(Unit::Sram, Operation::Read, Source::Constant(8), 1));
    let programs = vec![(program(vec![read, kill()]), 1)];
    let mut machine = Processor::new(&spec, programs, &options).expect("a machine");
    machine.run_cycles(1000).expect("it runs");
    let mut csv = Vec::new();
    machine.chip.trace.write_csv(&mut csv).expect("memory takes everything");
    let csv = String::from_utf8(csv).expect("text");
    let lines: Vec<&str> = csv.lines().collect();
    assert_eq!(lines[0], "cycle,event,engine,context,value,id,unit,operation,order,address,words");
    assert_eq!(lines[1], "0,run,0,0,0,,,,,,");
    assert_eq!(lines[2], "3,issue,0,0,0,0,sram,read,default,8,1");
    assert_eq!(lines[6], "21,done,0,0,0,0,sram,read,default,8,1");
    assert_eq!(lines[7], "21,signal,0,0,1,,,,,,");
    assert_eq!(lines[8], "21,run,0,0,2,,,,,,");
}
