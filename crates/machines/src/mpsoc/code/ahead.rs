//! Instructions that are executed before their time.
//!
//! What an instruction computes and when it is issued are found out apart. Instructions that touch nothing but their own thread (its registers, its
//! local store) and constants mean the same whenever they are executed; so a thread executes several in one go, while the host foresees its branches and has
//! its registers at hand. Each takes its turn in the pipeline later: then its line is fetched, its constant is looked for in the cache, and it counts.

use std::ops::Range;

use wireloom_isa::{Access, Bus, Flow, InstructionSet, Size, Stall, Thread as _};

use super::reach::region;
use super::{Bank, Code, Constants, put, value};
use crate::mpsoc::caches::Lookup;
use crate::mpsoc::context::{Context, Wait};
use crate::mpsoc::mpe::{self, LOCAL_BYTES, Registers};
use crate::mpsoc::parcel::{Request, Which};
use crate::mpsoc::workload::{Issued, Outcome, Port, Run};

/// The instructions that a thread has executed and not issued.
#[derive(Clone, Debug, Default)]
pub(super) struct Ahead {
    segments: [Segment; SEGMENTS],
    /// Those of them that were issued, and all.
    issued: u8,
    count: u8,
}

const SEGMENTS: usize = 8;

/// An instruction that was executed, and those behind it that only take their time.
#[derive(Clone, Copy, Debug, Default)]
struct Segment {
    /// Of the first one.
    pc: u32,
    /// The line of the constant that it reads; no line begins at an odd address.
    data: u32,
    /// For how long it keeps others from being issued.
    cycles: u8,
    /// Whether it is the first of its line.
    is_first: bool,
    has_jumped: bool,
    behind: Run,
}

/// It reads no constant.
const NO_DATA: u32 = 1;

impl Ahead {
    /// The address of the instruction that is to be issued, if it was executed.
    pub(super) fn pc(&self) -> Option<u32> {
        (self.issued < self.count).then(|| self.segments[usize::from(self.issued)].pc)
    }

    /// Issues the next instruction, if it was executed.
    #[inline(always)]
    pub(super) fn issue(&mut self, line_mask: u32, port: &mut Port<'_>) -> Option<Issued> {
        if self.issued == self.count {
            return None;
        }
        let segment = &mut self.segments[usize::from(self.issued)];
        let Segment { pc, data, cycles, has_jumped, behind, .. } = *segment;
        if segment.is_first {
            if !port.fetch(pc & line_mask) {
                return Some(Issued { cycles: 1, outcome: Outcome::Waits });
            }
            segment.is_first = false;
        }
        let cycles = u32::from(cycles);
        if data != NO_DATA && !port.read(data) {
            return Some(Issued { cycles, outcome: Outcome::Waits });
        }
        self.issued += 1;
        port.behind = behind;
        let outcome = if has_jumped { Outcome::Jumped } else { Outcome::Done };
        Some(Issued { cycles, outcome })
    }
}

impl Port<'_> {
    /// Looks for a line of constants in the cache; answers whether it is there.
    #[inline]
    fn read(&mut self, line: u32) -> bool {
        if self.context.fill == Some(line) {
            self.context.fill = None;
            return true;
        }
        match self.caches.read(Which::Data, line, self.context.lane) {
            Lookup::Hit => return true,
            Lookup::Coming => self.context.wait = Wait::Data,
            Lookup::Missing(line) => self.waits(Wait::Data, Request::Line(line)),
        }
        false
    }
}

impl<S: InstructionSet> Code<S> {
    /// Executes instructions of a thread, all of whose instructions were issued, up to one that does more than is known here, or that cannot be executed.
    #[inline]
    pub(super) fn execute_ahead(&self, thread: &mut Bank<S::Thread>, context: &mut Context) {
        let Bank { registers, line, ahead } = thread;
        let Some(shared) = context.shared_bytes() else { return };
        let mut bus = Own {
            constants: &self.constants,
            data_line: self.data_line,
            shared,
            local: &mut context.local,
            registers: &mut context.registers,
            data: NO_DATA,
        };
        let (segments, mut count) = (&mut ahead.segments, 0);
        // The last segment's, and the line of the instruction before.
        let (mut behind, mut its_line) = (Run::default(), *line);
        'jumps: loop {
            let mut pc = registers.pc();
            for step in self.steps_from(pc) {
                // What is executed may begin a segment.
                if count == SEGMENTS || !step.is_known {
                    break 'jumps;
                }
                // One that is not executed leaves its thread as it was.
                let Ok(flow) = S::execute(registers, &step.instruction, &mut bus) else { break 'jumps };
                let has_jumped = flow == Flow::Taken;
                let is_first = (pc ^ its_line) & self.instruction_line != 0;
                let is_special = is_first | (bus.data != NO_DATA) | (has_jumped & self.waits_behind_jumps);
                if is_special || !behind.goes_on(step.cycles) {
                    if let Some(last) = segments[..count].last_mut() {
                        last.behind = behind;
                    }
                    behind = Run { count: 0, cycles: step.cycles };
                    let data = std::mem::replace(&mut bus.data, NO_DATA);
                    segments[count] = Segment { pc, data, cycles: step.cycles, is_first, has_jumped, behind };
                    count += 1;
                } else {
                    behind.count += 1;
                }
                its_line = pc;
                if has_jumped {
                    continue 'jumps;
                }
                pc += 4;
            }
            break;
        }
        if let Some(last) = segments[..count].last_mut() {
            last.behind = behind;
        }
        *line = its_line & self.instruction_line;
        (ahead.issued, ahead.count) = (0, count as u8);
    }
}

impl Run {
    /// Whether one more instruction of so many cycles can be of it.
    #[inline(always)]
    fn goes_on(self, cycles: u8) -> bool {
        self.cycles == cycles && self.count < u8::MAX
    }
}

/// What is a thread's own, and constants. What an instruction does beyond that must wait for its turn, and so must what cannot be done.
struct Own<'a> {
    constants: &'a Constants,
    data_line: u32,
    local: &'a mut [u8; LOCAL_BYTES],
    /// What of the local store others may write meanwhile.
    shared: Range<u32>,
    registers: &'a mut Registers,
    /// The line of the constant that the instruction has read.
    data: u32,
}

impl Own<'_> {
    /// Where in the local store an address is.
    #[inline(always)]
    fn place(&self, access: Access) -> Result<u32, Stall> {
        let place = access.address - mpe::LOCAL_STORE;
        if self.shared.contains(&place) { Err(Stall::Wait) } else { Ok(place) }
    }
}

impl Bus for Own<'_> {
    #[inline(always)]
    fn load(&mut self, access: Access) -> Result<u32, Stall> {
        match access.address >> 28 {
            region::LOCAL_STORE => value(self.local.as_slice(), self.place(access)?, access.size),
            region::CONSTANTS if access.count == 1 => {
                self.data = access.address & self.data_line;
                self.constants.value(access)
            }
            region::REGISTERS if access.size == Size::Word && access.count == 1 => {
                self.registers.at(access.address).copied().ok_or(Stall::Wait)
            }
            _ => Err(Stall::Wait),
        }
    }

    #[inline(always)]
    fn store(&mut self, access: Access, value: u32) -> Result<(), Stall> {
        match access.address >> 28 {
            region::LOCAL_STORE => put(self.local, self.place(access)?, access.size, value),
            region::REGISTERS if access.size == Size::Word => {
                *self.registers.at(access.address).ok_or(Stall::Wait)? = value;
                Ok(())
            }
            _ => Err(Stall::Wait),
        }
    }

    fn swap(&mut self, access: Access, value: u32) -> Result<u32, Stall> {
        if access.address >> 28 != region::LOCAL_STORE {
            return Err(Stall::Wait);
        }
        let old = self.load(access)?;
        self.store(access, value)?;
        Ok(old)
    }
}
