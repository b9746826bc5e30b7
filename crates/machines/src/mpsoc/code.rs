//! Compiled programs: instructions of a set, their cycles, and what their loads and stores reach.

use wireloom_isa::{
    Access, Bus, Class, Exception, Fault, Flow, InstructionSet, Program, Size, Stall, Stop, Symbols, Text,
    Thread,
};

use super::caches::Lookup;
use super::context::{Context, Store, Wait};
use super::mpe;
use super::objects::{MethodInterface, ObjectInterface};
use super::parcel::{Request, Which};
use super::spec::{CyclesSpec, Spec};
use super::workload::{Issued, Outcome, Port, Workload};

/// A program of an instruction set, which all threads execute from its entry on: with the stack pointer at the end of the local store, and the
/// thread's number among all as first argument.
#[derive(Clone, Debug)]
pub struct Code<S: InstructionSet> {
    text: Text<S>,
    /// Where the text begins.
    begin: u32,
    /// Of each instruction.
    cycles: Vec<u8>,
    constants: Constants,
    entry: u32,
    symbols: Symbols,
    objects: Vec<Vec<MethodInterface>>,
    shared_bytes: u32,
    /// Of the lines of both caches.
    instruction_line: u32,
    data_line: u32,
}

/// What programs read and never change.
#[derive(Clone, Debug)]
struct Constants {
    base: u32,
    bytes: Vec<u8>,
}

/// The register bank of a thread.
#[derive(Clone, Debug)]
pub struct Bank<T> {
    registers: T,
    /// The line that its fetch buffer holds; no line begins at an odd address.
    line: u32,
}

const NO_LINE: u32 = 1;

impl<S: InstructionSet> Code<S> {
    /// A program for a machine, with the objects that it calls.
    ///
    /// # Errors
    /// A sentence, if the program is for another instruction set, has variables, or lies where something else is.
    pub fn new(program: &Program, spec: &Spec, objects: &[ObjectInterface]) -> Result<Self, String> {
        let text = program.text::<S>()?;
        let base = program.segments.first().map_or(0, |segment| segment.address);
        let mut bytes = Vec::new();
        for segment in &program.segments {
            if segment.is_writable && segment.size > 0 {
                return Err(format!(
                    "the program has variables at 0x{:08x}: threads of this machine have their local store, and shared memory at 0x{:08x}",
                    segment.address,
                    mpe::SHARED
                ));
            }
            let end = u64::from(segment.address) + u64::from(segment.size);
            if end > u64::from(mpe::LOCAL_STORE) {
                return Err(format!(
                    "the program ends at 0x{end:08x}, behind the local stores' 0x{:08x}",
                    mpe::LOCAL_STORE
                ));
            }
            bytes.resize((segment.address - base) as usize, 0);
            bytes.extend_from_slice(&segment.bytes);
            bytes.resize((end - u64::from(base)) as usize, 0);
        }
        let processor = &spec.processor;
        Ok(Self {
            begin: program.executable().address,
            cycles: text
                .instructions()
                .map(|(_, instruction)| cycles(&processor.cycles, S::class(instruction)))
                .collect(),
            text,
            constants: Constants { base, bytes },
            entry: program.entry,
            symbols: program.symbols.clone(),
            objects: objects.iter().map(|object| object.methods.clone()).collect(),
            shared_bytes: spec.memory.bytes,
            instruction_line: !(processor.instruction_cache.line_bytes as u32 - 1),
            data_line: !(processor.data_cache.line_bytes as u32 - 1),
        })
    }

    fn fail(&self, context: &mut Context, pc: u32, cause: wireloom_isa::Cause) -> Issued {
        let exception: Exception = self.text.exception(pc, cause);
        context.exception = Some(Box::new(exception));
        Issued { cycles: 1, outcome: Outcome::Failed }
    }
}

/// For how long an instruction keeps others from being issued.
fn cycles(cycles: &CyclesSpec, class: Class) -> u8 {
    match class {
        Class::Alu => cycles.alu,
        Class::AluShiftedByRegister => cycles.shifted_by_register,
        Class::Multiply => cycles.multiply,
        Class::MultiplyLong => cycles.multiply_long,
        Class::Divide => cycles.divide,
        Class::Load => cycles.load,
        Class::Store => cycles.store,
        Class::LoadMultiple(words) => cycles.load_multiple_word.saturating_mul(words.max(1)),
        Class::StoreMultiple(words) => cycles.store_multiple_word.saturating_mul(words.max(1)),
        Class::Swap => cycles.swap,
        Class::Branch | Class::Call => cycles.branch,
        Class::Service | Class::System | Class::Undefined => cycles.other,
    }
}

impl<S: InstructionSet> Workload for Code<S> {
    type Thread = Bank<S::Thread>;

    fn thread(&self, number: u32) -> Self::Thread {
        let mut registers = S::Thread::new(self.entry);
        registers.set_register(S::STACK_POINTER, mpe::STACK);
        registers.set_register(S::ARGUMENTS[0], number);
        Bank { registers, line: NO_LINE }
    }

    #[inline]
    fn issue(&self, thread: &mut Self::Thread, port: &mut Port<'_>) -> Issued {
        let pc = thread.registers.pc();
        let instruction = match self.text.fetch(pc) {
            Ok(instruction) => instruction,
            Err(cause) => return self.fail(port.context, pc, cause),
        };
        let line = pc & self.instruction_line;
        if line != thread.line {
            if !port.fetch(line) {
                return Issued { cycles: 1, outcome: Outcome::Waits };
            }
            thread.line = line;
        }
        let cycles = u32::from(self.cycles[(pc.wrapping_sub(self.begin) >> 2) as usize]);
        let outcome = match S::execute(&mut thread.registers, instruction, &mut Reach { code: self, port }) {
            Ok(Flow::Next | Flow::Skipped) => Outcome::Done,
            Ok(Flow::Taken) => Outcome::Jumped,
            Err(Stop::Wait) => Outcome::Waits,
            // There is no run-time beside the program that could serve it.
            Ok(Flow::Service(_) | Flow::Breakpoint) => {
                return self.fail(port.context, pc, wireloom_isa::Cause::Undefined);
            }
            Err(Stop::Raise(cause)) => return self.fail(port.context, pc, cause),
        };
        Issued { cycles, outcome }
    }

    fn place(&self, thread: &Self::Thread) -> String {
        let pc = thread.registers.pc();
        match self.symbols.at(pc) {
            Some((function, offset)) => format!("0x{pc:08x} ({}+0x{offset:x})", function.name),
            None => format!("0x{pc:08x}"),
        }
    }
}

impl Port<'_> {
    /// Brings a line of the program into the thread's fetch buffer; answers whether it is there.
    #[inline]
    fn fetch(&mut self, line: u32) -> bool {
        if self.context.fill == Some(line) {
            self.context.fill = None;
            return true;
        }
        match self.caches.read(Which::Instruction, line, self.context.lane) {
            Lookup::Hit => return true,
            Lookup::Coming => self.context.wait = Wait::Fetch,
            Lookup::Missing(line) => self.waits(Wait::Fetch, Request::Line(line)),
        }
        false
    }
}

/// What an instruction's accesses reach.
struct Reach<'a, 'b, S: InstructionSet> {
    code: &'a Code<S>,
    port: &'a mut Port<'b>,
}

/// The top four bits of the addresses that lead somewhere.
mod region {
    pub(super) const CONSTANTS: u32 = 0;
    pub(super) const LOCAL_STORE: u32 = super::mpe::LOCAL_STORE >> 28;
    pub(super) const REGISTERS: u32 = super::mpe::REGISTERS >> 28;
    pub(super) const SHARED: u32 = super::mpe::SHARED >> 28;
    pub(super) const CALLS: u32 = super::mpe::CALLS >> 28;
}

impl<S: InstructionSet> Bus for Reach<'_, '_, S> {
    #[inline(always)]
    fn load(&mut self, access: Access) -> Result<u32, Stall> {
        match access.address >> 28 {
            region::LOCAL_STORE => {
                value(self.port.context.local.as_slice(), access.address - mpe::LOCAL_STORE, access.size)
            }
            region::CONSTANTS => self.constant(access),
            region::REGISTERS => self.register(access),
            region::SHARED => self.shared(access, Store::Nothing),
            _ => Err(Stall::Fault(Fault::Nothing)),
        }
    }

    #[inline(always)]
    fn store(&mut self, access: Access, value: u32) -> Result<(), Stall> {
        match access.address >> 28 {
            region::LOCAL_STORE => {
                let begin = (access.address - mpe::LOCAL_STORE) as usize;
                let place = self.port.context.local.get_mut(begin..begin + access.size.bytes() as usize);
                let place = place.ok_or(Stall::Fault(Fault::Nothing))?;
                place.copy_from_slice(&value.to_le_bytes()[..place.len()]);
                Ok(())
            }
            region::CONSTANTS => Err(Stall::Fault(Fault::ReadOnly)),
            region::REGISTERS => self.set_register(access, value).map_err(Stall::Fault),
            region::SHARED => self.shared(access, Store::Value(value)).map(|_| ()),
            region::CALLS.. => self.call(access, value).map_err(Stall::Fault),
            _ => Err(Stall::Fault(Fault::Nothing)),
        }
    }

    fn swap(&mut self, access: Access, value: u32) -> Result<u32, Stall> {
        match access.address >> 28 {
            region::LOCAL_STORE => {
                let old = self.load(access)?;
                self.store(access, value)?;
                Ok(old)
            }
            region::SHARED => self.shared(access, Store::Swap(value)),
            _ => Err(Stall::Fault(Fault::Unsupported)),
        }
    }

    #[inline(always)]
    fn done(&mut self) {
        self.port.context.replies.clear();
        self.port.context.fill = None;
    }
}

impl<S: InstructionSet> Reach<'_, '_, S> {
    /// A constant, through the data cache.
    fn constant(&mut self, access: Access) -> Result<u32, Stall> {
        let Constants { base, bytes } = &self.code.constants;
        let value = value(bytes, access.address.wrapping_sub(*base), access.size)?;
        let line = access.address & self.code.data_line;
        let Port { context, caches, request } = &mut *self.port;
        let Context { replies, fill, wait, lane, .. } = &mut **context;
        replies.answer(access, || {
            if *fill == Some(line) {
                return Ok(value);
            }
            match caches.read(Which::Data, line, *lane) {
                Lookup::Hit => return Ok(value),
                Lookup::Coming => {}
                Lookup::Missing(line) => *request = Some(Request::Line(line)),
            }
            *wait = Wait::Data;
            Err(Stall::Wait)
        })
    }

    /// An access to shared memory, which waits for its answer.
    fn shared(&mut self, access: Access, store: Store) -> Result<u32, Stall> {
        // No sum overflows: the region is smaller than the address space.
        let end = access.address - mpe::SHARED + access.size.bytes();
        if end > self.code.shared_bytes {
            return Err(Stall::Fault(Fault::Nothing));
        }
        let Port { context, request, .. } = &mut *self.port;
        let Context { replies, access: under_way, wait, spent, .. } = &mut **context;
        replies.answer(access, || {
            *under_way = Some((access, store));
            *wait = Wait::Memory;
            *request = Some(Request::Access);
            spent.accesses += 1;
            Err(Stall::Wait)
        })
    }

    /// Reads a register of the message passing engine.
    fn register(&mut self, access: Access) -> Result<u32, Stall> {
        if access.size != Size::Word || access.count != 1 {
            return Err(Stall::Fault(Fault::Unsupported));
        }
        let tickets = mpe::WAIT..mpe::WAIT + 4 * mpe::TICKETS as u32;
        let answer = match access.address {
            mpe::RECEIVE => self.port.receive(),
            address if tickets.contains(&address) => {
                self.port.wait((address - mpe::WAIT) >> 2).map_err(Stall::Fault)?
            }
            mpe::EGRESS..=mpe::SEND => return Err(Stall::Fault(Fault::WriteOnly)),
            _ => return Err(Stall::Fault(Fault::Nothing)),
        };
        answer.ok_or(Stall::Wait)
    }

    /// Writes a register of the message passing engine.
    fn set_register(&mut self, access: Access, value: u32) -> Result<(), Fault> {
        if access.size != Size::Word {
            return Err(Fault::Unsupported);
        }
        match access.address {
            mpe::EGRESS..mpe::SEND => {
                *self.port.context.registers.at(access.address).ok_or(Fault::Nothing)? = value;
                Ok(())
            }
            // An instruction sends one message.
            mpe::SEND if access.number == 0 => self.port.send(value),
            mpe::SEND => Err(Fault::Unsupported),
            mpe::RECEIVE => Err(Fault::ReadOnly),
            _ => Err(Fault::Nothing),
        }
    }

    /// Calls an object.
    fn call(&mut self, access: Access, value: u32) -> Result<(), Fault> {
        if access.size != Size::Word || access.count != 1 {
            return Err(Fault::Unsupported);
        }
        let call = access.address - mpe::CALLS;
        let [object, method, ticket] = [call >> 24, call >> 8 & 0xffff, call >> 4 & 0xf];
        let methods = self.code.objects.get(object as usize).ok_or(Fault::Nothing)?;
        let interface = *methods.get(method as usize).ok_or(Fault::Nothing)?;
        self.port.call([object, method, ticket], interface, value)
    }
}

/// The value at a place in bytes, little-endian.
#[inline(always)]
fn value(bytes: &[u8], at: u32, size: Size) -> Result<u32, Stall> {
    let at = at as usize;
    match bytes.get(at..at.wrapping_add(size.bytes() as usize)) {
        Some(&[a, b, c, d]) => Ok(u32::from_le_bytes([a, b, c, d])),
        Some(&[a, b]) => Ok(u32::from(u16::from_le_bytes([a, b]))),
        Some(&[a]) => Ok(u32::from(a)),
        _ => Err(Stall::Fault(Fault::Nothing)),
    }
}
