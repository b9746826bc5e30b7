//! Cases that no random program covers: exceptions, services, waiting, invalid words.
//! tests/random_programs compares all other cases with an independent implementation.

use crate::exception::Direction;
use crate::set::Thread as _;
use crate::{
    Access, Bus, Cause, Class, Fault, Flow, InstructionSet, Memory, Replies, Riscv, Size, Stall,
    Stop,
};

const PC: u32 = 0x1000;
const DATA: u32 = 0x8000;

/// Executes a word with these registers. Also returns the thread.
fn run(word: u32, registers: &[(usize, u32)]) -> (Result<Flow, Stop>, super::Thread, Memory) {
    let mut thread = super::Thread::new(PC);
    for (number, value) in registers {
        thread.set_register(*number, *value);
    }
    let mut memory = Memory::new(DATA, vec![0; 64]);
    let result = Riscv::execute(&mut thread, &Riscv::decode(word, PC), &mut memory);
    (result, thread, memory)
}

/// Checks that a word raises this exception, and that nothing has changed.
#[track_caller]
fn raises(word: u32, registers: &[(usize, u32)], cause: Cause) {
    let (result, thread, _) = run(word, registers);
    assert_eq!(result, Err(Stop::Raise(cause)));
    let mut before = super::Thread::new(PC);
    for (number, value) in registers {
        before.set_register(*number, *value);
    }
    assert_eq!(thread, before);
}

#[test]
fn services_and_breakpoints_are_told_and_the_thread_is_behind_them() {
    let (result, thread, _) = run(0x0000_0073, &[(17, 93)]); // ecall
    assert_eq!((result, thread.pc()), (Ok(Flow::Service), PC + 4));
    assert_eq!(Riscv::service(&thread, &Riscv::decode(0x0000_0073, PC)), 93);
    let (result, thread, _) = run(0x0010_0073, &[]); // ebreak
    assert_eq!((result, thread.pc()), (Ok(Flow::Breakpoint), PC + 4));
}

#[test]
fn division_never_traps() {
    let by = |word, a, b| run(word, &[(1, a), (2, b)]).1.register(3);
    let (div, divu, rem, remu) = (0x0220_c1b3, 0x0220_d1b3, 0x0220_e1b3, 0x0220_f1b3);
    assert_eq!([div, divu, rem, remu].map(|word| by(word, 7, 0)), [u32::MAX, u32::MAX, 7, 7]);
    assert_eq!([div, rem].map(|word| by(word, 0x8000_0000, u32::MAX)), [0x8000_0000, 0]);
}

#[test]
fn misaligned_accesses_and_addresses_without_memory_raise() {
    let direction = Direction::Load;
    let (address, size) = (DATA + 2, Size::Word);
    raises(0x0020_a183, &[(1, DATA)], Cause::Misaligned { direction, address, size }); // lw gp,2(ra)
    let (address, fault) = (0xffff_fffc, Fault::Nothing);
    raises(0xffc0_2183, &[], Cause::Fault { direction, address, size, fault }); // lw gp,-4(zero)
    let (direction, address, size) = (Direction::Store, DATA + 1, Size::Half);
    raises(0x0030_90a3, &[(1, DATA)], Cause::Misaligned { direction, address, size }); // sh gp,1(ra)
}

#[test]
fn a_jump_to_half_a_word_raises_where_it_stands_and_leaves_no_return_address() {
    raises(0x0020_00ef, &[], Cause::MisalignedTarget { target: PC + 2 }); // jal ra,.+2
    raises(0x0030_80e7, &[(1, PC)], Cause::MisalignedTarget { target: PC + 2 }); // jalr ra,3(ra)
    raises(0x0000_0163, &[], Cause::MisalignedTarget { target: PC + 2 }); // beq zero,zero,.+2
    let (result, thread, _) = run(0x0000_1163, &[]); // bne zero,zero,.+2 is not taken
    assert_eq!((result, thread.pc()), (Ok(Flow::Next), PC + 4));
}

#[test]
fn what_is_no_instruction_raises() {
    let words = [
        0x0000_0000, // all zeros and all ones are reserved for this
        0xffff_ffff,
        0x0000_0001, // compressed
        0x0000_1067, // jalr with another function
        0x0000_2063, // branch 2
        0x0000_3003, // ld
        0x0000_3023, // sd
        0x0200_1013, // slli by 32
        0x4000_1033, // sll with sub's function
        0x0400_0033,
        0x0000_100f, // fence.i is an extension
        0x3000_2073, // csrr
        0x1050_0073, // wfi
        0x0000_0007, // flw's space
    ];
    for word in words {
        raises(word, &[], Cause::Undefined);
        assert_eq!(Riscv::class(&Riscv::decode(word, PC)), Class::Undefined);
        assert_eq!(Riscv::disassemble(word, PC), "undefined");
    }
}

#[test]
fn what_a_bus_answers_above_an_accesss_size_is_ignored() {
    struct Ones;
    impl Bus for Ones {
        fn load(&mut self, _: Access) -> Result<u32, Stall> {
            Ok(0xffff_ff7f)
        }
        fn store(&mut self, _: Access, _: u32) -> Result<(), Stall> {
            Ok(())
        }
        fn swap(&mut self, _: Access, _: u32) -> Result<u32, Stall> {
            Err(Stall::Fault(Fault::Unsupported))
        }
    }
    let load = |word| {
        let mut thread = super::Thread::new(PC);
        Riscv::execute(&mut thread, &Riscv::decode(word, PC), &mut Ones).expect("answered");
        thread.register(3)
    };
    assert_eq!([0x0000_0183, 0x0000_4183, 0x0000_5183].map(load), [0x7f, 0x7f, 0xff7f]); // lb, lbu, lhu
}

#[test]
fn a_load_waits_without_effect_and_ends_when_the_reply_is_there() {
    #[derive(Default)]
    struct Split {
        replies: Replies,
        begun: Vec<u32>,
    }
    impl Bus for Split {
        fn load(&mut self, access: Access) -> Result<u32, Stall> {
            self.replies.answer(access, || {
                self.begun.push(access.address);
                Err(Stall::Wait)
            })
        }
        fn store(&mut self, _: Access, _: u32) -> Result<(), Stall> {
            Ok(())
        }
        fn swap(&mut self, _: Access, _: u32) -> Result<u32, Stall> {
            Err(Stall::Fault(Fault::Unsupported))
        }
        fn done(&mut self) {
            self.replies.clear();
        }
    }
    let (mut thread, mut bus) = (super::Thread::new(PC), Split::default());
    thread.set_register(1, DATA);
    let before = thread.clone();
    let instruction = Riscv::decode(0x0040_a083, PC); // lw ra,4(ra)
    for _ in 0..3 {
        assert_eq!(Riscv::execute(&mut thread, &instruction, &mut bus), Err(Stop::Wait));
        assert_eq!(thread, before);
    }
    bus.replies.arrive(&[77]);
    assert_eq!(Riscv::execute(&mut thread, &instruction, &mut bus), Ok(Flow::Next));
    assert_eq!((thread.register(1), thread.pc(), bus.begun), (77, PC + 4, vec![DATA + 4]));
}

#[test]
fn calls_are_told_from_branches_by_their_return_address() {
    let class = |word| Riscv::class(&Riscv::decode(word, PC));
    assert_eq!(class(0x0080_00ef), Class::Call); // jal ra
    assert_eq!(class(0x0080_006f), Class::Branch); // j
    assert_eq!(class(0x0000_8067), Class::Branch); // ret
    assert_eq!(class(0x0220_c1b3), Class::Divide);
    assert_eq!(class(0x0220_91b3), Class::MultiplyLong);
    assert_eq!(class(0x0ff0_000f), Class::System);
}
