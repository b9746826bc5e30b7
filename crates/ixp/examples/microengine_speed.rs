//! Measures the simulator's speed: microengine cycles that one host core simulates in a second,
//! with all engines busy.
//!
//!     cargo run --release -p wireloom-ixp --example microengine_speed

use std::time::Instant;

use wireloom_isa::microengine::{
    AluOperation, Bank, Command, Completion, Condition, Destination, Index, Instruction, Operation,
    Order, Shift, Signal, Source, Unit,
};
use wireloom_ixp::{Options, Processor, Program, Spec};

const CYCLES: u64 = 2_000_000;

/// Every context executes nine arithmetic instructions for each four-word read of SRAM.
fn code() -> Vec<Instruction> {
    let register = |bank, number| Source::Gpr(bank, Index::Relative(number));
    let sum = Instruction::Alu {
        destination: Destination::Gpr(Bank::A, Index::Relative(1)),
        a: register(Bank::A, 1),
        operation: AluOperation::Add,
        b: register(Bank::B, 1),
    };
    let mix = Instruction::AluShift {
        destination: Destination::Gpr(Bank::B, Index::Relative(1)),
        a: register(Bank::A, 1),
        operation: AluOperation::Xor,
        b: register(Bank::B, 1),
        shift: Shift::Rotate(3),
    };
    let read = Instruction::Command(Command {
        unit: Unit::Sram,
        operation: Operation::Read,
        transfer: Some(0),
        a: Source::Constant(16),
        b: Source::Constant(0),
        count: 4,
        indirect: false,
        order: Order::Default,
        completion: Completion::Swap(Signal::SRAM),
        defer: 0,
    });
    let mut code = vec![Instruction::Immediate {
        destination: Destination::Gpr(Bank::B, Index::Relative(1)),
        value: 0x9e37_79b9,
    }];
    for _ in 0..12 {
        code.extend([sum, mix, sum, mix]);
    }
    code.push(read);
    code.push(Instruction::Branch { condition: Condition::Always, target: 1, defer: 0 });
    code
}

fn main() {
    let spec = Spec::base();
    let program = Program::of(code(), spec.engine.control_store).expect("it fits");
    let programs = vec![(program, 0b1111); spec.engines as usize];
    let mut machine = Processor::new(&spec, programs, &Options::default()).expect("a machine");
    machine.run_cycles(10_000).expect("it runs");
    let before = machine.work();
    let begin = Instant::now();
    machine.run_cycles(CYCLES).expect("it runs");
    let seconds = begin.elapsed().as_secs_f64();
    let engines = CYCLES * u64::from(spec.engines);
    let used = machine.chip.engines.iter().map(|engine| engine.used.busy).sum::<u64>();
    let (cycles, events) = machine.work();
    println!(
        "{:.2} million microengine cycles a second: {} engines, {:.1} % of their cycles busy; \
         {:.2} cycles of units and {:.2} events of the kernel in a cycle of the chip",
        engines as f64 / seconds / 1e6,
        spec.engines,
        100.0 * used as f64 / ((CYCLES + 10_000) * u64::from(spec.engines)) as f64,
        (cycles - before.0) as f64 / CYCLES as f64,
        (events - before.1) as f64 / CYCLES as f64,
    );
}
