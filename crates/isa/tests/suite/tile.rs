//! An instruction set without a stack, an address space or a compiler. Its words come from a
//! control store, it has a scratch memory besides data memory, and some of its registers are ports.

use std::collections::VecDeque;

use proptest::prelude::*;
use wireloom_isa::program::End;
use wireloom_isa::{
    Access, Bus, Cause, Class, Fault, Flow, InstructionSet, Meaning, Memory, Operand, Operands,
    Ports, Size, Space, Spaces, Stall, Stop, Text,
};

/// Instructions `operation d a b`, one byte each. Registers 0 to 7 are plain, 16 to 18 are ports.
#[derive(Clone, Copy, Debug, Default)]
struct Tile;

const SCRATCH: Space = Space(2);
const PORT: u8 = 16;

#[derive(Clone, Debug, PartialEq, Eq)]
struct Thread {
    pc: u32,
    registers: [u32; 8],
}

impl wireloom_isa::Thread for Thread {
    fn new(pc: u32) -> Self {
        Self { pc, registers: [0; 8] }
    }

    fn pc(&self) -> u32 {
        self.pc
    }

    fn set_pc(&mut self, pc: u32) {
        self.pc = pc;
    }

    fn register(&self, number: usize) -> u32 {
        self.registers[number]
    }

    fn set_register(&mut self, number: usize, value: u32) {
        self.registers[number] = value;
    }
}

const ADD: u8 = 0;
const LOAD: u8 = 1;
const LOAD_SCRATCH: u8 = 2;
const STORE_SCRATCH: u8 = 3;
const LOAD_CODE: u8 = 4;
const JUMP_UNLESS_ZERO: u8 = 5;
const HALT: u8 = 6;
const SET: u8 = 7;

fn word(operation: u8, d: u8, a: u8, b: u8) -> u32 {
    u32::from_le_bytes([operation, d, a, b])
}

/// The operands of one execution, with the number of uses of each port.
struct Uses<'a, B> {
    thread: &'a Thread,
    bus: &'a mut B,
    received: [u8; 256],
    uses_ports: bool,
}

impl<B: Bus> Uses<'_, B> {
    fn read(&mut self, register: u8) -> Result<u32, Stop> {
        if register < PORT {
            return Ok(self.thread.registers[usize::from(register)]);
        }
        let number = self.received[usize::from(register)];
        self.received[usize::from(register)] += 1;
        self.uses_ports = true;
        self.bus.receive(Operand { port: register, number }).map_err(stop)
    }
}

fn stop(stall: Stall) -> Stop {
    match stall {
        Stall::Wait => Stop::Wait,
        Stall::Fault(_) => Stop::Raise(Cause::Undefined),
    }
}

fn execute<B: Bus>(thread: &mut Thread, word: &u32, bus: &mut B) -> Result<Flow, Stop> {
    let [operation, d, a, b] = word.to_le_bytes();
    let mut uses = Uses { thread, bus, received: [0; 256], uses_ports: false };
    let access = |address, space| Access { space, ..Access::single(address, Size::Word) };
    let mut flow = Flow::Next;
    let value = match operation {
        ADD => Some(uses.read(a)?.wrapping_add(uses.read(b)?)),
        SET => Some(u32::from(a) << 8 | u32::from(b)),
        LOAD | LOAD_SCRATCH | LOAD_CODE => {
            let address = uses.read(a)?.wrapping_add(u32::from(b));
            let space = [Space::DATA, SCRATCH, Space::DATA, Space::INSTRUCTIONS];
            let value = uses.bus.load(access(address, space[usize::from(operation) - 1]));
            Some(value.map_err(stop)?)
        }
        STORE_SCRATCH => {
            let (address, value) = (uses.read(a)?, uses.read(d)?);
            uses.bus.store(access(address + u32::from(b), SCRATCH), value).map_err(stop)?;
            None
        }
        JUMP_UNLESS_ZERO => {
            if uses.read(d)? != 0 {
                flow = Flow::Taken;
            }
            None
        }
        HALT => {
            flow = Flow::Service;
            None
        }
        _ => return Err(Cause::Undefined.into()),
    };
    let mut uses_ports = uses.uses_ports;
    if let Some(value) = value
        && d >= PORT
    {
        uses.bus.send(Operand { port: d, number: 0 }, value).map_err(stop)?;
        uses_ports = true;
    }
    bus.done();
    if uses_ports {
        bus.retire();
    }
    if let Some(value) = value
        && d < PORT
    {
        thread.registers[usize::from(d)] = value;
    }
    thread.pc = if flow == Flow::Taken { u32::from(a) } else { thread.pc + 1 };
    Ok(flow)
}

impl InstructionSet for Tile {
    type Thread = Thread;
    type Instruction = u32;

    const NAME: &'static str = "tile";
    const PC_STEP: u32 = 1;

    fn decode(word: u32, _: u32) -> u32 {
        word
    }

    fn meaning<B: Bus>(_: &u32) -> Meaning<Self, B> {
        execute
    }

    fn service(_: &Thread, word: &u32) -> u32 {
        word >> 8
    }

    fn class(_: &u32) -> Class {
        Class::Alu
    }

    fn may_change(word: &u32, register: usize) -> bool {
        usize::from(word.to_le_bytes()[1]) == register
    }

    fn word(word: &u32) -> u32 {
        *word
    }

    fn disassemble(word: u32, _: u32) -> String {
        format!("{word:08x}")
    }
}

/// Three queues in each direction, with limited room.
#[derive(Clone, Debug, Default)]
struct Queues {
    inputs: [VecDeque<u32>; 3],
    outputs: [Vec<u32>; 3],
    room: [u8; 3],
}

fn index(port: u8) -> Result<usize, Fault> {
    let port = usize::from(port - PORT);
    if port < 3 { Ok(port) } else { Err(Fault::Nothing) }
}

impl Ports for Queues {
    fn peek(&self, port: u8, number: u8) -> Result<Option<u32>, Fault> {
        Ok(self.inputs[index(port)?].get(usize::from(number)).copied())
    }

    fn room(&self, port: u8) -> Result<u8, Fault> {
        Ok(self.room[index(port)?])
    }

    fn take(&mut self, port: u8) {
        self.inputs[usize::from(port - PORT)].pop_front();
    }

    fn put(&mut self, port: u8, word: u32) {
        self.outputs[usize::from(port - PORT)].push(word);
        self.room[usize::from(port - PORT)] -= 1;
    }
}

#[derive(Clone, Debug, Default)]
struct World {
    spaces: Spaces,
    operands: Operands,
    queues: Queues,
}

impl Bus for World {
    fn load(&mut self, access: Access) -> Result<u32, Stall> {
        self.spaces.load(access)
    }

    fn store(&mut self, access: Access, value: u32) -> Result<(), Stall> {
        self.spaces.store(access, value)
    }

    fn swap(&mut self, access: Access, value: u32) -> Result<u32, Stall> {
        self.spaces.swap(access, value)
    }

    fn receive(&mut self, operand: Operand) -> Result<u32, Stall> {
        self.operands.receive(operand, &self.queues)
    }

    fn send(&mut self, operand: Operand, value: u32) -> Result<(), Stall> {
        self.operands.send(operand, value, &self.queues)
    }

    fn retire(&mut self) {
        self.operands.retire(&mut self.queues);
    }
}

fn memory(words: &[u32]) -> Memory {
    Memory::new(0, words.iter().flat_map(|word| word.to_le_bytes()).collect())
}

fn start() -> Thread {
    <Thread as wireloom_isa::Thread>::new(0)
}

#[test]
fn an_address_means_another_word_in_each_space() {
    let program = [
        word(SET, 1, 0, 4),
        word(LOAD, 2, 1, 0),
        word(LOAD_SCRATCH, 3, 1, 0),
        word(LOAD_CODE, 4, 1, 4),
        word(STORE_SCRATCH, 2, 1, 4),
        word(HALT, 9, 0, 0),
    ];
    let spaces = Spaces::default()
        .with(Space::DATA, memory(&[1, 2, 3]))
        .with(SCRATCH, memory(&[10, 20, 30]))
        .with(Space::INSTRUCTIONS, memory(&program));
    let mut world = World { spaces, ..World::default() };
    let text = Text::<Tile>::from_words(0, program);
    let mut thread = start();
    let end = text.runner().run(&mut thread, &mut world, 100);
    assert_eq!(end, Ok((6, End::Service(9))));
    assert_eq!(thread.registers[1..5], [4, 2, 20, program[2]]);
    assert_eq!(world.spaces.memory(SCRATCH), Some(&memory(&[10, 20, 2])));
    assert_eq!(world.spaces.memory(Space::DATA), Some(&memory(&[1, 2, 3])));
    // The program counter counts instructions. The one after the last is outside.
    assert_eq!(
        (thread.pc, text.fetch(5).is_ok(), text.fetch(6)),
        (6, true, Err(Cause::OutsideText))
    );
    assert_eq!(text.instructions().last(), Some((5, &program[5])));
    // A missing space causes a fault.
    let mut bare = World::default();
    let exception = text.runner().run(&mut start(), &mut bare, 100).unwrap_err();
    assert_eq!((exception.address, exception.cause), (1, Cause::Undefined));
}

#[test]
fn an_instruction_takes_all_its_operands_or_none() {
    let text = Text::<Tile>::from_words(0, [word(ADD, PORT + 2, PORT, PORT), word(HALT, 0, 0, 0)]);
    let (mut thread, mut world) = (start(), World::default());
    let mut attempt = |world: &mut World| {
        let before = thread.clone();
        let end = text.runner().run(&mut thread, world, 1);
        if end == Ok((0, End::Waits)) {
            world.operands.clear();
            assert_eq!(thread, before);
        }
        end
    };
    assert_eq!(attempt(&mut world), Ok((0, End::Waits)));
    world.queues.inputs[0].push_back(5);
    // The first operand has arrived, the second has not. The first stays in its queue.
    assert_eq!(attempt(&mut world), Ok((0, End::Waits)));
    world.queues.inputs[0].push_back(6);
    // Both have arrived, and there is no room for the result.
    assert_eq!(attempt(&mut world), Ok((0, End::Waits)));
    assert_eq!(world.queues.inputs[0], [5, 6]);
    world.queues.room[2] = 1;
    assert_eq!(attempt(&mut world), Ok((1, End::Enough)));
    assert!(world.queues.inputs[0].is_empty());
    assert_eq!(world.queues.outputs[2], [11]);
}

#[test]
fn a_port_that_is_not_there_raises_an_exception() {
    let text = Text::<Tile>::from_words(0, [word(ADD, 1, PORT + 3, 0)]);
    let exception = text.runner().run(&mut start(), &mut World::default(), 1).unwrap_err();
    assert_eq!(exception.cause, Cause::Undefined);
}

proptest! {
    #![proptest_config(ProptestConfig {
        rng_seed: prop::test_runner::RngSeed::Fixed(31),
        failure_persistence: None,
        cases: 300,
        ..Default::default()
    })]

    /// The timing of arrivals does not matter: a program behaves as if all words had been there
    /// from the beginning.
    #[test]
    fn stalls_do_not_change_what_a_program_does(
        program in prop::collection::vec((0u8..6, 0u8..6, 0u8..6), 1..20),
        arrivals in prop::collection::vec((any::<bool>(), 0usize..3), 600),
    ) {
        // Registers 3 to 5 of the random instructions are ports.
        let register = |number: u8| if number < 3 { number } else { PORT + number - 3 };
        let words = program.iter().map(|&(d, a, b)| word(ADD, register(d), register(a), register(b)));
        let text = Text::<Tile>::from_words(0, words.chain([word(HALT, 0, 0, 0)]));
        let inputs = [0, 1, 2].map(|port| (0..40).map(|n| 100 * port + n).collect::<VecDeque<_>>());
        let queues = Queues { inputs: inputs.clone(), room: [40; 3], ..Queues::default() };
        let (mut wanted, mut all) = (start(), World { queues, ..World::default() });
        let end = text.runner().run(&mut wanted, &mut all, 100);
        prop_assert_eq!(end, Ok((program.len() as u64 + 1, End::Service(0))));

        let (mut thread, mut world, mut left) = (start(), World::default(), inputs);
        let mut arrivals = arrivals.into_iter();
        let mut executed = 0;
        while executed <= program.len() as u64 {
            match text.runner().run(&mut thread, &mut world, 1).unwrap() {
                (0, End::Waits) => {
                    world.operands.clear();
                    // After the random arrivals all words come.
                    let all = [(true, 0), (true, 1), (true, 2), (false, 0), (false, 1), (false, 2)];
                    let some = arrivals.next().map_or(all.to_vec(), |arrival| vec![arrival]);
                    for (is_word, port) in some {
                        match is_word {
                            true => world.queues.inputs[port].extend(left[port].pop_front()),
                            false => world.queues.room[port] += u8::from(world.queues.room[port] < 9),
                        }
                    }
                }
                (count, _) => executed += count,
            }
        }
        prop_assert_eq!(&thread, &wanted);
        prop_assert_eq!(&world.queues.outputs, &all.queues.outputs);
        for (input, left) in world.queues.inputs.iter_mut().zip(&mut left) {
            input.append(left);
        }
        prop_assert_eq!(&world.queues.inputs, &all.queues.inputs);
    }
}
