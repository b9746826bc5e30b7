//! Registers of a context, with their names in the program.

use wireloom_isa::microengine::{Bank, Index, Register, TransferFile};
use wireloom_machine::watch::RegisterValue;

use crate::engine::Microengine;

/// General-purpose registers of a context in each bank.
const GENERAL: u8 = 16;

/// The registers of a context. Transfer registers show both sides: `$3` is the side that units push
/// into, `$3 out` the side that they pull from.
pub fn of(engine: &Microengine, context: usize) -> Vec<RegisterValue> {
    let Some(state) = engine.contexts().get(context) else { return Vec::new() };
    let names = |register: Register| -> Vec<String> {
        let Some(image) = engine.program().image() else { return Vec::new() };
        let holds = |(from, to): (u16, u16)| (from..to).contains(&state.pc);
        let named = image.registers.iter();
        let named = named.filter(|name| name.register == register && holds(name.range));
        named.map(|name| name.name.clone()).collect()
    };
    let number = context as u8;
    let mut all = Vec::new();
    for (bank, letter) in [(Bank::A, 'a'), (Bank::B, 'b')] {
        for register in 0..GENERAL {
            let at = usize::from(number * GENERAL + register);
            all.push(RegisterValue {
                register: format!("{letter}{register}"),
                names: names(Register::Gpr(bank, Index::Relative(register))),
                value: engine.registers.general(bank, at),
            });
        }
    }
    for (file, mark) in [(TransferFile::Sram, "$"), (TransferFile::Sdram, "$$")] {
        for register in 0..engine.registers.share() as u8 {
            let at = engine.registers.transfer(number, register);
            let names = names(Register::Transfer(file, Index::Relative(register)));
            all.push(RegisterValue {
                register: format!("{mark}{register}"),
                names: names.clone(),
                value: engine.registers.pushed(file, at.into()),
            });
            all.push(RegisterValue {
                register: format!("{mark}{register} out"),
                names,
                value: engine.registers.to_pull(file, at.into()),
            });
        }
    }
    all
}
