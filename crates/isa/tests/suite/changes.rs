//! Checks that an instruction changes only the registers that it declares.

use rand::{Rng as _, SeedableRng as _};
use rand_chacha::ChaCha8Rng;
use wireloom_isa::{Access, Arm, Bus, InstructionSet, Riscv, Stall, Thread as _};

/// Returns a different number for every access.
struct Anything(u32);

impl Bus for Anything {
    fn load(&mut self, _: Access) -> Result<u32, Stall> {
        self.0 = self.0.wrapping_mul(0x9e37_79b9).wrapping_add(1);
        Ok(self.0)
    }

    fn store(&mut self, _: Access, _: u32) -> Result<(), Stall> {
        Ok(())
    }

    fn swap(&mut self, access: Access, _: u32) -> Result<u32, Stall> {
        self.load(access)
    }
}

fn random_words<S: InstructionSet>(registers: usize) {
    let mut rng = ChaCha8Rng::seed_from_u64(7);
    let (mut changed, mut kept) = (0, 0);
    for _ in 0..200_000 {
        let instruction = S::decode(rng.random(), 0x1000);
        let mut thread = S::Thread::new(0x1000);
        for register in 0..registers {
            thread.set_register(register, rng.random::<u32>() & !3);
        }
        let before = thread.clone();
        if S::execute(&mut thread, &instruction, &mut Anything(rng.random())).is_err() {
            continue;
        }
        for register in 0..registers {
            let is_said = S::may_change(&instruction, register);
            let has = before.register(register) != thread.register(register);
            let word = S::word(&instruction);
            assert!(
                is_said || !has,
                "0x{word:08x} {} changes {register}",
                S::disassemble(word, 0x1000)
            );
            changed += u32::from(has);
            kept += u32::from(!is_said);
        }
    }
    assert!(changed > 5_000 && kept > 200_000, "{changed} changed, {kept} are said to be kept");
}

#[test]
fn arm_instructions_change_what_they_are_said_to() {
    random_words::<Arm>(15);
}

#[test]
fn riscv_instructions_change_what_they_are_said_to() {
    random_words::<Riscv>(32);
}
