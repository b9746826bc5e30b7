//! Executes instructions.

use wireloom_isa::microengine::{
    Command, Completion, Condition, Destination, Index, Inputs, Instruction, Operation, Override,
    Source, TransferFile, Unit, Version, Wait, compute,
};

use super::program::swaps;
use super::{Around, Decoded, Microengine, Pending, Previous, Then};
use crate::request::{MAX_WORDS, Request};
use crate::units::Refused;

impl Microengine {
    /// Executes the next instruction of a context. Returns false on a stall: the command queue is
    /// full.
    #[inline]
    pub(super) fn execute(&mut self, active: u8, around: &mut Around<'_>) -> Result<bool, Refused> {
        let pc = self.contexts[usize::from(active)].pc;
        let Some(&decoded) = self.program.at(pc) else {
            return Err(self.refused(active, "is past the end of the program"));
        };
        let Decoded { instruction, a, b, destination, .. } = decoded;
        if self.second.has_late() {
            self.second.settle(self.cycles());
        }
        let value_a = self.value(a, active)?;
        let value_b = self.value(b, active)?;
        let inputs = Inputs {
            a: value_a,
            b: value_b,
            carry: self.flags.carry,
            previous_a: self.previous.a,
            previous_b: self.previous.b,
            byte_index: self.second.byte_index,
        };
        let outcome = match instruction {
            Instruction::Immediate { .. } if self.csr.is_some() => {
                let value = self.csr.take().unwrap_or_default();
                Some(compute::Outcome { value, flags: None })
            }
            _ => instruction.compute(&inputs),
        };
        let mut result = self.previous.result;
        if let Some(outcome) = outcome {
            result = outcome.value;
            self.write(destination, active, result)?;
            if let Some(flags) = outcome.flags {
                self.flags = flags;
            }
        } else {
            match instruction {
                Instruction::Nop => {}
                Instruction::Command(command) => {
                    let operands = (value_a, value_b);
                    if !self.command(&command, decoded, active, operands, around)? {
                        return Ok(false);
                    }
                }
                _ => self.other(decoded, active, (value_a, value_b), around)?,
            }
        }
        self.previous = Previous { a: value_a, b: value_b, result };
        self.executed[usize::from(pc)] += 1;
        self.contexts[usize::from(active)].pc = pc + 1;
        Ok(true)
    }

    fn other(
        &mut self,
        decoded: Decoded,
        active: u8,
        (a, b): (u32, u32),
        around: &mut Around<'_>,
    ) -> Result<(), Refused> {
        let context = usize::from(active);
        match decoded.instruction {
            Instruction::Branch { condition, target, .. } => {
                if condition == Condition::Always || condition.holds(self.flags) {
                    self.leaves(decoded, active, Then::Branch(target))?;
                }
            }
            Instruction::BranchBit { register, bit, set, target, .. } => {
                let value = self.value(register, active)?;
                if (value >> (bit & 31) & 1 != 0) == set {
                    self.leaves(decoded, active, Then::Branch(target))?;
                }
            }
            Instruction::BranchByte { register, byte, value, equal, target, .. } => {
                let found = self.value(register, active)? >> (8 * (byte & 3));
                if (found as u8 == value) == equal {
                    self.leaves(decoded, active, Then::Branch(target))?;
                }
            }
            Instruction::BranchContext { context, equal, target, .. } => {
                if (context == active) == equal {
                    self.leaves(decoded, active, Then::Branch(target))?;
                }
            }
            Instruction::BranchInput { state, target, .. } => {
                let holds = match state.0 {
                    0 => around.receive_ready,
                    2 => self.commands.len() >= self.spec.commands as usize,
                    ring @ 3..=6 => around.full_rings >> (ring - 3) & 1 != 0,
                    7 => around.transmit_full,
                    _ => false,
                };
                if holds {
                    self.leaves(decoded, active, Then::Branch(target))?;
                }
            }
            Instruction::BranchSignal { signal, set, target, .. } => {
                let has = self.contexts[context].signals & signal.bit() != 0;
                self.contexts[context].signals &= !signal.bit();
                if has == set {
                    self.leaves(decoded, active, Then::Branch(target))?;
                }
            }
            Instruction::Jump { register, base, .. } => {
                let target = self.value(register, active)?.wrapping_add(base.into());
                self.leaves(decoded, active, Then::Branch(target as u16))?;
            }
            Instruction::Return { register, .. } => {
                let target = self.value(register, active)? as u16;
                self.leaves(decoded, active, Then::Branch(target))?;
            }
            Instruction::Arbitrate { wait, .. } => {
                let then = match wait {
                    Wait::Kill => Then::Kill,
                    Wait::Breakpoint => Then::Breakpoint,
                    Wait::Voluntary => Then::Yield,
                    Wait::Signals { mask, any } => Then::Wait { mask, any },
                };
                self.leaves(decoded, active, then)?;
            }
            Instruction::LocalCsrRead { csr } => {
                self.csr = Some(match csr {
                    0 => active.into(),
                    1 => self.number.into(),
                    2 => {
                        let enabled = self.contexts.iter().enumerate();
                        enabled.map(|(number, _)| 1 << number).sum()
                    }
                    3 => self.flags.bits(),
                    4 => self.contexts[context].signals.into(),
                    5 if self.spec.version == Version::One => self.cycles() as u32,
                    _ => {
                        let cycle = self.cycles();
                        match self.second.csr(csr, active, cycle) {
                            Some(value) if self.spec.version == Version::Two => value,
                            _ => {
                                let what = format!("reads register {csr}, which it does not have");
                                return Err(self.refused(active, &what));
                            }
                        }
                    }
                });
            }
            Instruction::FindBitSet { shift, clear, .. } => {
                let value = if decoded.b == Source::None { a } else { b };
                let found = compute::find_bit(compute::shift(value, shift, self.previous.a));
                self.found = [found, if clear { 16 } else { self.found[0] }];
            }
            Instruction::LoadBitSetResult { destination, result } => {
                let found = self.found[usize::from(result == 2)];
                self.write(destination, active, found)?;
            }
            _ => return self.of_version_2(decoded, active, (a, b)),
        }
        Ok(())
    }

    /// Executes instructions that only version 2 has, except pure computations.
    fn of_version_2(
        &mut self,
        decoded: Decoded,
        active: u8,
        (a, b): (u32, u32),
    ) -> Result<(), Refused> {
        let cycle = self.cycles();
        let result = match decoded.instruction {
            Instruction::Multiply { step, .. } => self.second.multiply(step, a, b),
            Instruction::CamLookup { pointer, .. } => {
                self.second.look_up(b, pointer, active, cycle)
            }
            Instruction::Crc { little_endian, check, .. } => {
                let remainder = &mut self.second.remainder;
                *remainder = check.remainder(*remainder, b, little_endian);
                b
            }
            Instruction::CamWrite { state, .. } => {
                self.second.write_cam(a, b, state);
                0
            }
            Instruction::CamWriteState { state, .. } => {
                self.second.write_cam_state(a, state);
                0
            }
            Instruction::CamReadTag { .. } => self.second.cam_entry(a).0,
            Instruction::CamReadState { .. } => u32::from(self.second.cam_entry(a).1) << 8,
            Instruction::CamClear => {
                self.second.clear_cam();
                0
            }
            Instruction::LocalCsrWrite { csr, .. } => {
                let value = if decoded.b == Source::None { a } else { b };
                let written = self.second.write_csr(csr, active, value, cycle);
                return written.map_err(|what| self.refused(active, &what));
            }
            _ => return Err(self.refused(active, "has no meaning")),
        };
        self.write(decoded.destination, active, result)
    }

    /// Reads an operand.
    #[inline]
    fn value(&mut self, source: Source, active: u8) -> Result<u32, Refused> {
        match source {
            Source::None | Source::Gpr(..) | Source::Transfer(..) | Source::Constant(_) => {
                Ok(self.registers.value(source, active))
            }
            Source::TransferIndexed(step) => {
                let most = self.registers.share();
                let index = Index::Relative(self.second.indexed(active, step, most));
                Ok(self.registers.value(Source::Transfer(TransferFile::Sram, index), active))
            }
            _ => self.second.read(source, active).map_err(|what| self.refused(active, &what)),
        }
    }

    /// Writes a result.
    #[inline]
    fn write(&mut self, to: Destination, active: u8, value: u32) -> Result<(), Refused> {
        match to {
            Destination::None | Destination::Gpr(..) | Destination::Transfer(..) => {
                self.registers.write(to, active, value);
                Ok(())
            }
            Destination::TransferIndexed(step) => {
                let most = self.registers.share();
                let index = Index::Relative(self.second.indexed(active, step, most));
                let to = Destination::Transfer(TransferFile::Sram, index);
                self.registers.write(to, active, value);
                Ok(())
            }
            _ => self.second.write(to, active, value).map_err(|what| self.refused(active, &what)),
        }
    }

    /// Schedules a branch or a change of context after the defer slots.
    fn leaves(&mut self, decoded: Decoded, active: u8, then: Then) -> Result<(), Refused> {
        if self.pending.is_some() {
            return Err(self.refused(active, "branches in a defer slot"));
        }
        let aborts = match then {
            Then::Branch(_) => decoded.class.map_or(0, |class| class.aborts(self.spec.version)),
            _ => self.spec.swap_aborts as u8,
        };
        let aborts = aborts.saturating_sub(decoded.defer);
        self.pending = Some(Pending { slots: decoded.defer, aborts, then });
        Ok(())
    }

    /// Issues a command. Returns false if the command queue is full.
    fn command(
        &mut self,
        command: &Command,
        decoded: Decoded,
        active: u8,
        (a, b): (u32, u32),
        around: &mut Around<'_>,
    ) -> Result<bool, Refused> {
        if self.commands.len() >= self.spec.commands as usize {
            return Ok(false);
        }
        let over = if command.indirect {
            Override::from_word(self.previous.result)
        } else {
            Override::default()
        };
        let receiver = over.context.unwrap_or(active);
        if usize::from(receiver) >= self.contexts.len() {
            let what = format!("names context {receiver}, and its engine has fewer");
            return Err(self.refused(active, &what));
        }
        let count = over.count.unwrap_or(command.count);
        // The first transfer register, and the number of registers from it on that the command may
        // use. An absolute number may use the whole file. A relative one may use only its context's
        // registers, as those of other contexts follow.
        let (share, all) = (self.registers.share(), self.registers.transfers());
        let (register, most) = match (over.transfer, command.transfer) {
            (Some(register), _) => (register, all.saturating_sub(register.into())),
            (None, Some(register)) => {
                (self.registers.transfer(receiver, register), share.saturating_sub(register.into()))
            }
            (None, None) => (0, 0),
        };
        let (out, inward) = if usize::from(count) > MAX_WORDS {
            (u8::MAX, 0)
        } else {
            (command.words_out(count), command.words_in(count))
        };
        let words = usize::from(out.max(inward));
        if words > MAX_WORDS.min(most) {
            let whose = if over.transfer.is_some() { "the engine" } else { "its context" };
            let what = format!(
                "transfers {words} words from transfer register {register} on: {whose} has {most} \
                 from there, and a command transfers at most {MAX_WORDS}"
            );
            return Err(self.refused(active, &what));
        }
        // Operand A is a value or a FIFO address, so B alone is the address in the unit.
        let is_apart = command.operation == Operation::FastWrite
            || command.unit == Unit::Sdram
                && matches!(
                    command.operation,
                    Operation::ReceiveFifoRead | Operation::TransmitFifoWrite
                );
        let signal = match command.completion {
            Completion::None => None,
            Completion::Signal(signal) | Completion::Swap(signal) => Some(signal),
        };
        let handle = around.pool.insert(Request {
            id: 0,
            engine: self.number,
            context: active,
            receiver,
            unit: command.unit,
            channel: 0,
            cluster: 0,
            operation: command.operation,
            address: self.address(command, if is_apart { b } else { a.wrapping_add(b) }),
            count,
            register,
            fifo: over.fifo.map_or_else(
                || match self.spec.version {
                    Version::One => (a & 0xff) as u16,
                    Version::Two => (a >> 3) as u16,
                },
                u16::from,
            ),
            value: a,
            order: command.order,
            signal,
            words_out: out,
            words_in: inward,
            moved: 0,
            is_ready: out == 0,
            data: [0; MAX_WORDS],
        });
        self.commands.push_back((handle, around.now));
        around.issued = Some(handle);
        if let Some(mask) = swaps(command.completion) {
            self.leaves(decoded, active, Then::Wait { mask, any: false })?;
        }
        Ok(true)
    }

    /// Converts an address to granules of the unit. Addresses on version 2 are in bytes, except for
    /// rings, queues and registers.
    fn address(&self, command: &Command, address: u32) -> u32 {
        let is_ring =
            matches!(command.operation, Operation::Get | Operation::Put | Operation::Queue(_));
        match command.unit {
            _ if self.spec.version == Version::One || is_ring => address,
            Unit::Sram | Unit::Scratch => address >> 2,
            Unit::Sdram => address >> 3,
            _ => address,
        }
    }

    fn refused(&self, active: u8, what: &str) -> Refused {
        let pc = self.contexts[usize::from(active)].pc;
        let line = self.program.image().and_then(|image| {
            let line = image.lines.get(usize::from(pc)).copied().flatten()?;
            Some(format!(" ({}:{})", image.files.get(usize::from(line.file))?, line.line))
        });
        Refused(format!(
            "engine {}, context {active}: instruction {pc}{} {what}",
            self.number,
            line.unwrap_or_default()
        ))
    }
}
