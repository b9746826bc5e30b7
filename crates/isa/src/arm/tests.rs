//! Cases that no random program covers: exceptions, services, waiting, refused words.
//! tests/random_programs compares all other cases with an independent implementation.

use super::Thread;
use crate::exception::Direction;
use crate::set::Thread as _;
use crate::{
    Access, Arm, Bus, Cause, Class, Fault, Flow, InstructionSet, Memory, Replies, Size, Stall, Stop,
};

const PC: u32 = 0x1000;
const DATA: u32 = 0x8000;

fn thread(registers: &[(usize, u32)]) -> Thread {
    let mut thread = Thread::new(PC);
    for (number, value) in registers {
        thread.set_register(*number, *value);
    }
    thread
}

fn run(word: u32, registers: &[(usize, u32)]) -> (Result<Flow, Stop>, Thread, Memory) {
    let mut thread = thread(registers);
    let mut memory = Memory::new(DATA, (1..=64).collect());
    let result = Arm::execute(&mut thread, &Arm::decode(word, PC), &mut memory);
    (result, thread, memory)
}

/// Checks that a word raises this exception, and that nothing has changed.
#[track_caller]
fn raises(word: u32, registers: &[(usize, u32)], cause: Cause) {
    let (result, after, memory) = run(word, registers);
    assert_eq!(result, Err(Stop::Raise(cause)), "0x{word:08x}");
    assert_eq!(after, thread(registers));
    assert_eq!(memory.bytes(), (1..=64).collect::<Vec<u8>>());
}

#[test]
fn services_are_told_with_their_number() {
    let (result, after, _) = run(0xef12_3456, &[]); // svc 0x123456
    assert_eq!((result, after.pc()), (Ok(Flow::Service), PC + 4));
    assert_eq!(Arm::service(&after, &Arm::decode(0xef12_3456, PC)), 0x12_3456);
    let (result, after, _) = run(0x0f00_0001, &[]); // svceq 1
    assert_eq!((result, after.pc()), (Ok(Flow::Skipped), PC + 4));
}

#[test]
fn the_program_counter_reads_as_two_instructions_further() {
    assert_eq!(run(0xe1a0_000f, &[]).1.register(0), PC + 8); // mov r0, pc
    let (_, after, _) = run(0xeb00_0000, &[]); // bl
    assert_eq!((after.pc(), after.register(14)), (PC + 8, PC + 4));
    let (_, _, memory) = run(0xe580_f000, &[(0, DATA)]); // str pc, [r0]
    assert_eq!(memory.bytes()[..4], (PC + 8).to_le_bytes());
}

#[test]
fn misaligned_accesses_raise_where_arm_would_rotate_or_ignore() {
    let misaligned = |direction, address, size| Cause::Misaligned { direction, address, size };
    let base = [(1, DATA + 2)];
    raises(0xe591_0000, &base, misaligned(Direction::Load, DATA + 2, Size::Word)); // ldr r0, [r1]
    raises(0xe4a1_0004, &base, misaligned(Direction::Store, DATA + 2, Size::Word)); // strt r0, [r1], #4
    raises(0xe1d1_00b1, &base, misaligned(Direction::Load, DATA + 3, Size::Half)); // ldrh r0, [r1, #1]
    raises(0xe8b1_000c, &base, misaligned(Direction::Load, DATA + 2, Size::Word)); // ldm r1!, {r2, r3}
    raises(0xe921_000c, &base, misaligned(Direction::Store, DATA + 2, Size::Word)); // stmdb r1!, {r2, r3}
    raises(0xe101_0092, &base, misaligned(Direction::Swap, DATA + 2, Size::Word)); // swp r0, r2, [r1]
}

#[test]
fn a_jump_to_no_instruction_raises_where_it_stands() {
    raises(0xe1a0_f000, &[(0, PC + 2)], Cause::MisalignedTarget { target: PC + 2 }); // mov pc, r0
    raises(0xe4b1_f004, &[(1, DATA)], Cause::Undefined); // ldrt pc, [r1], #4
    raises(0xe491_f004, &[(1, DATA)], Cause::MisalignedTarget { target: 0x0403_0201 }); // ldr pc, [r1], #4
    raises(0xe8b1_8001, &[(1, DATA)], Cause::MisalignedTarget { target: 0x0807_0605 }); // ldm r1!, {r0, pc}
}

#[test]
fn a_fault_behind_the_first_word_leaves_the_thread_as_it_was() {
    let fault = Cause::Fault {
        direction: Direction::Load,
        address: DATA + 64,
        size: Size::Word,
        fault: Fault::Nothing,
    };
    raises(0xe8b1_000c, &[(1, DATA + 60)], fault); // ldm r1!, {r2, r3}
}

#[test]
fn what_armv4_has_not_or_leaves_open_raises() {
    let words = [
        0xf1a0_0000,                       // condition 15
        0xe12f_ff1e,                       // bx lr: v4T
        0xe16f_0f10,                       // clz: v5
        0xe120_0070,                       // bkpt: v5
        0xe1c0_00d0,                       // ldrd: v5TE
        0xe100_0050,                       // qadd: v5TE
        0xe1a0_0091 & !0x80 | 0x0000_f000, // mov pc, r1, lsl r0
        0xe1a0_f110 | 0x8000_0000,         // mov pc, r0, lsl r1
        0xe081_0f12,                       // add r0, r1, r2, lsl pc
        0xe1b0_f00e,                       // movs pc, lr: the saved status
        0xe1a1_0000,                       // mov with a first operand
        0xe351_1000,                       // cmp with a destination
        0xe000_0190,                       // mul r0, r0, r1: destination is first factor
        0xe001_1192,                       // mul with an addend
        0xe00f_0192,                       // mul pc
        0xe080_0192,                       // umull r0, r0, r2, r1
        0xe082_0192,                       // umull r0, r2, r2, r1
        0xe0a0_1f92,                       // umlal with pc
        0xe491_1004,                       // ldr r1, [r1], #4
        0xe5b1_1004,                       // ldr r1, [r1, #4]!
        0xe49f_0004,                       // ldr r0, [pc], #4
        0xe5d1_f000,                       // ldrb pc
        0xe791_000f,                       // ldr r0, [r1, pc]
        0xe691_0001,                       // ldr r0, [r1], r1
        0xe7f0_00f0,                       // udf: space of media instructions
        0xe1d1_f0b0,                       // ldrh pc
        0xe0f1_00b0,                       // ldrh with the user's view
        0xe191_01b2,                       // ldrh with bits that should be 0
        0xe1c1_00f0,                       // strd: v5TE
        0xe8b1_0000,                       // an empty list
        0xe8b1_0002,                       // ldm r1!, {r1}
        0xe8a1_0003,                       // stm r1!, {r0, r1}
        0xe8d1_0001,                       // ldm r1, {r0}^
        0xe89f_0001,                       // ldm pc
        0xe101_0091,                       // swp r0, r1, [r1]
        0xe10f_0190,                       // swp with pc
        0xe102_0391,                       // swp with bits that should be 0
        0xe14f_0000,                       // mrs r0, SPSR
        0xe10f_f000,                       // mrs pc, CPSR
        0xe168_f000,                       // msr SPSR_f, r0
        0xe12a_f000,                       // msr CPSR_fx
        0xe128_f00f,                       // msr CPSR_f, pc
        0xe128_f010,
        0xe300_0000, // movw
        0xee00_0010, // coprocessors
        0xed90_0000,
        0xec40_0000,
    ];
    for word in words {
        raises(word, &[], Cause::Undefined);
        assert_eq!(Arm::class(&Arm::decode(word, PC)), Class::Undefined);
        assert_eq!(Arm::disassemble(word, PC), "undefined");
    }
}

#[test]
fn the_status_is_that_of_user_mode_and_only_its_flags_can_be_set() {
    let mut after = run(0xe128_f000, &[(0, u32::MAX)]).1; // msr CPSR_f, r0
    assert_eq!(after.status(), 0xf000_0010);
    after.set_pc(PC);
    Arm::execute(&mut after, &Arm::decode(0xe10f_1000, PC), &mut Memory::new(0, Vec::new()))
        .expect("mrs");
    assert_eq!(after.register(1), 0xf000_0010);
    assert_eq!(run(0xe121_f000, &[(0, u32::MAX)]).1.status(), 0x10); // msr CPSR_c, r0
}

/// A bus on which every access is a transaction, which ends when `replies` gets its reply. It logs
/// new transactions.
#[derive(Default)]
struct Split {
    replies: Replies,
    begun: Vec<(u32, Option<u32>)>,
}

impl Split {
    fn access(&mut self, access: Access, value: Option<u32>) -> Result<u32, Stall> {
        self.replies.answer(access, || {
            self.begun.push((access.address, value));
            Err(Stall::Wait)
        })
    }
}

impl Bus for Split {
    fn load(&mut self, access: Access) -> Result<u32, Stall> {
        self.access(access, None)
    }

    fn store(&mut self, access: Access, value: u32) -> Result<(), Stall> {
        self.access(access, Some(value)).map(|_| ())
    }

    fn swap(&mut self, access: Access, value: u32) -> Result<u32, Stall> {
        self.access(access, Some(value))
    }

    fn done(&mut self) {
        self.replies.clear();
    }
}

/// Executes a word until it is complete, with these replies. Nothing may change before.
#[track_caller]
fn in_pieces(word: u32, before: &Thread, replies: &[u32]) -> (Thread, Split) {
    let (mut after, mut bus) = (before.clone(), Split::default());
    let instruction = Arm::decode(word, PC);
    for reply in replies {
        for _ in 0..2 {
            assert_eq!(Arm::execute(&mut after, &instruction, &mut bus), Err(Stop::Wait));
            assert_eq!(after, *before);
        }
        bus.replies.arrive(&[*reply]);
    }
    assert_eq!(Arm::execute(&mut after, &instruction, &mut bus), Ok(Flow::Next));
    (after, bus)
}

#[test]
fn several_words_that_come_one_by_one_have_effect_together() {
    let before = thread(&[(1, DATA), (2, 20), (3, 30)]);
    let (after, bus) = in_pieces(0xe8b1_000c, &before, &[7, 8]); // ldm r1!, {r2, r3}
    assert_eq!([1, 2, 3].map(|number| after.register(number)), [DATA + 8, 7, 8]);
    assert_eq!(bus.begun, [(DATA, None), (DATA + 4, None)]);

    let (after, bus) = in_pieces(0xe921_000c, &before, &[0, 0]); // stmdb r1!, {r2, r3}
    assert_eq!(after.register(1), DATA - 8);
    assert_eq!(bus.begun, [(DATA - 8, Some(20)), (DATA - 4, Some(30))]);
}

#[test]
fn a_swap_is_one_transaction() {
    let (after, bus) = in_pieces(0xe101_0092, &thread(&[(1, DATA), (2, 20)]), &[7]); // swp r0, r2, [r1]
    assert_eq!((after.register(0), bus.begun), (7, vec![(DATA, Some(20))]));
}

#[test]
fn a_burst_is_answered_at_once() {
    let (mut after, mut bus) = (thread(&[(1, DATA)]), Split::default());
    let instruction = Arm::decode(0xe891_000c, PC); // ldm r1, {r2, r3}
    assert_eq!(Arm::execute(&mut after, &instruction, &mut bus), Err(Stop::Wait));
    bus.replies.arrive(&[7, 8]);
    assert_eq!(Arm::execute(&mut after, &instruction, &mut bus), Ok(Flow::Next));
    assert_eq!((after.register(3), bus.begun.len()), (8, 1));
}

#[test]
fn classes_say_what_takes_cycles() {
    let class = |word| Arm::class(&Arm::decode(word, PC));
    assert_eq!(class(0xe8bd_80f0), Class::LoadMultiple(5));
    assert_eq!(class(0xe92d_40f0), Class::StoreMultiple(5));
    assert_eq!(class(0xe1a0_0211), Class::AluShiftedByRegister);
    assert_eq!(class(0xe1a0_0101), Class::Alu);
    assert_eq!(class(0xe080_1293), Class::MultiplyLong);
    assert_eq!(class(0xeb00_0000), Class::Call);
}
