//! Compiled programs: instructions of an instruction set, their cycles, and the targets of their
//! loads and stores.

mod access_targets;
mod run_ahead;

use wireloom_isa::{
    Cause, Class, Compiled, Exception, Flow, Meaning, Program, Stop, Symbols, Text, Thread,
};

use wireloom_sim::parts::issue::Rounds;

use super::caches::{Caches, Lookup};
use super::context::{Context, Wait};
use super::local_memory::{Constants, LocalMemory};
use super::mpe;
use super::noc_payload::{Request, Which};
use super::objects::{MethodInterface, ObjectInterface};
use super::problem::Problem;
use super::sources::Sources;
use super::spec::{CyclesSpec, Multithreading, Spec};
use super::tally::Sums;
use super::workload::{Issued, Outcome, Port, Start, Workload};
use access_targets::Reach;
use run_ahead::RunAhead;

/// A program of an instruction set. All threads execute it from its entry, with the stack pointer
/// at the end of the local store and the thread's number on the chip as first argument.
#[derive(Clone, Debug)]
pub struct Code<S: Compiled> {
    text: Text<S>,
    steps: Vec<Step<S>>,
    /// The summed resource use of the instructions before each one, and at the end of all.
    uses: Vec<Sums>,
    constants: Constants,
    /// Loads, stores and jumps below this address are null-pointer accesses. If the program starts
    /// at address 0, this area holds the function that begins threads.
    null_end: u32,
    entry: u32,
    symbols: Symbols,
    sources: Sources,
    pub(super) objects: Vec<Vec<MethodInterface>>,
    /// For each object: whether it makes calls in the order of packets.
    in_order: Vec<bool>,
    /// The partition of a cut engine.
    cut: Cut,
    shared_bytes: u32,
    /// Whether the instruction after a jump is issued later than after other instructions.
    waits_behind_jumps: bool,
    /// The initial values of an application's variables; `None` for an engine's program, which has
    /// no variables.
    variables: Option<Vec<(u32, Vec<u8>)>>,
    /// The mask that selects the address bits of a line in the instruction cache.
    instruction_line: u32,
    /// The number of instructions in a line of the instruction cache.
    line_instructions: u32,
}

/// The parts of an engine.
#[derive(Clone, Debug, Default)]
struct Cut {
    /// The first step of each part; empty if the engine is whole.
    parts: Vec<String>,
    /// The part that each thread executes.
    of_thread: Vec<u32>,
}

/// An instruction of the program.
#[derive(Clone, Debug)]
struct Step<S: Compiled> {
    instruction: S::Instruction,
    /// The effect of the instruction in run-ahead execution.
    meaning: Meaning<S, LocalMemory>,
    /// The number of cycles for which the instruction blocks the issue of others.
    cycles: u8,
    /// Whether the instruction has only the effects that the instruction set defines, unless it
    /// accesses an address outside the local memory. The first instruction of the program is
    /// excluded, because a thread executes it once.
    is_known: bool,
    /// Whether the instruction may change the stack pointer. If so, it ends its stretch.
    moves_stack: bool,
    /// The number of instructions that one stretch from this one on executes: known instructions of
    /// one cycle, from at most [`STRETCH_LINES`] lines; otherwise 1.
    straight: u8,
    /// The number of instructions from this one to the end of the line.
    in_line: u16,
}

/// The register bank of a thread.
#[derive(Clone, Debug)]
pub struct Bank<T> {
    registers: T,
    /// The line in the thread's fetch buffer, or [`NO_LINE`]. After run-ahead execution, the line
    /// of the last executed instruction.
    line: u32,
    ahead: RunAhead,
    /// Whether the thread has executed the program's first instruction.
    has_begun: bool,
}

impl<T> Bank<T> {
    pub(super) fn registers(&self) -> &T {
        &self.registers
    }
}

/// The value of an empty fetch buffer: no text lies at so high an address.
const NO_LINE: u32 = u32::MAX;

impl<S: Compiled> Code<S> {
    /// Prepares a program for a machine, with the objects that it calls.
    ///
    /// # Errors
    /// A sentence, if the program is for another instruction set, has variables, or overlaps
    /// another region.
    pub fn new(
        program: &Program,
        spec: &Spec,
        objects: &[ObjectInterface],
    ) -> Result<Self, String> {
        let mut variables = Vec::new();
        let code = Self::with_variables(program, spec, objects, &mut variables)?;
        match variables.first() {
            None => Ok(code),
            Some((address, _)) => Err(format!(
                "the program has variables at 0x{address:08x}: threads of engines have their local store, and shared memory at 0x{:08x}",
                mpe::SHARED
            )),
        }
    }

    pub(super) fn text(&self) -> &Text<S> {
        &self.text
    }

    /// Gives the program's instructions the lines of these sources.
    pub(super) fn with_sources(self, sources: Sources) -> Self {
        Self { sources, ..self }
    }

    /// The source lines of its instructions.
    pub(super) fn sources(&self) -> &Sources {
        &self.sources
    }

    /// The program's functions.
    pub(super) fn symbols(&self) -> &Symbols {
        &self.symbols
    }

    /// Cuts the program into parts, which begin with these steps. Each thread gets the number of
    /// its part as second argument.
    pub(super) fn cut(self, parts: Vec<String>, of_thread: Vec<u32>) -> Self {
        Self { cut: Cut { parts, of_thread }, ..self }
    }

    /// Prepares an application for a machine. Its first thread executes from the entry with two
    /// zeros as arguments. Created threads get their argument and their function. Variables lie in
    /// shared memory.
    ///
    /// # Errors
    /// A sentence, if the program is for another instruction set or overlaps another region.
    pub fn application(program: &Program, spec: &Spec) -> Result<Self, String> {
        let mut variables = Vec::new();
        let code = Self::with_variables(program, spec, &[], &mut variables)?;
        let end =
            variables.iter().map(|(address, bytes)| u64::from(*address) + bytes.len() as u64).max();
        let room = u64::from(mpe::SHARED) + u64::from(spec.memory.bytes);
        if let Some(end) = end.filter(|end| *end > room) {
            return Err(format!(
                "the program's variables end at 0x{end:08x}, and shared memory at 0x{room:08x}: say `[memory] bytes` of {} or more",
                end - u64::from(mpe::SHARED)
            ));
        }
        if let Some((address, _)) = variables.iter().find(|(address, _)| *address < mpe::SHARED) {
            return Err(format!(
                "the program has variables at 0x{address:08x}, below shared memory's 0x{:08x}",
                mpe::SHARED
            ));
        }
        let sources = Sources::of_program(program);
        Ok(Self { variables: Some(variables), sources, ..code })
    }

    fn with_variables(
        program: &Program,
        spec: &Spec,
        objects: &[ObjectInterface],
        variables: &mut Vec<(u32, Vec<u8>)>,
    ) -> Result<Self, String> {
        spec.check().map_err(|error| error.to_string())?;
        let text = program.text::<S>()?;
        let base = program.segments.first().map_or(0, |segment| segment.address);
        let mut bytes = Vec::new();
        for segment in &program.segments {
            if segment.is_writable {
                let mut bytes = segment.bytes.clone();
                bytes.resize(segment.size as usize, 0);
                variables.extend((segment.size > 0).then_some((segment.address, bytes)));
                continue;
            }
            let end = u64::from(segment.address) + u64::from(segment.size);
            if end > u64::from(mpe::LOCAL_STORE) {
                return Err(format!(
                    "the program ends at 0x{end:08x}, beyond the start of the local stores, 0x{:08x}",
                    mpe::LOCAL_STORE
                ));
            }
            bytes.resize((segment.address - base) as usize, 0);
            bytes.extend_from_slice(&segment.bytes);
            bytes.resize((end - u64::from(base)) as usize, 0);
        }
        // The code that begins a program at address 0 is not data, nor is the area in front of a
        // program that begins elsewhere.
        let null_end = match program.symbols.at(base) {
            Some((first, 0)) if base == 0 => first.size.min(bytes.len() as u32),
            _ => base,
        };
        let processor = &spec.processor;
        let data_line_bytes = processor.data_cache.line_bytes as u32;
        let line_bytes = processor.instruction_cache.line_bytes as u32;
        let line_instructions = line_bytes / 4;
        Ok(Self {
            steps: steps(&text, &processor.cycles, line_instructions, program.entry),
            uses: Sums::of(text.instructions().map(|(_, instruction)| S::uses(instruction))),
            text,
            constants: Constants::new(base, null_end, &bytes, data_line_bytes),
            null_end,
            entry: program.entry,
            symbols: program.symbols.clone(),
            sources: Sources::default(),
            objects: objects.iter().map(|object| object.methods.clone()).collect(),
            in_order: objects.iter().map(|object| object.is_ordered).collect(),
            cut: Cut::default(),
            shared_bytes: spec.memory.bytes,
            waits_behind_jumps: processor.multithreading == Multithreading::Blocking,
            variables: None,
            instruction_line: !(line_bytes - 1),
            line_instructions,
        })
    }

    /// Whether an object makes calls in the order of packets.
    pub(super) fn takes_turns(&self, object: u32) -> bool {
        self.in_order.get(object as usize).is_some_and(|in_order| *in_order)
    }

    /// Raises an exception for an instruction that cannot be executed.
    #[cold]
    fn fail(&self, context: &mut Context, pc: u32, cause: Cause) -> Issued {
        let (instruction, end) = (self.instruction(pc), self.null_end);
        let leads_to = match cause {
            Cause::Fault { address, .. } | Cause::Misaligned { address, .. } => address,
            Cause::MisalignedTarget { target } => target,
            Cause::OutsideText | Cause::Undefined => u32::MAX,
        };
        let problem = if leads_to < end.min(NEAR_NULL) {
            Problem::NullPointer { instruction, cause, end }
        } else {
            Problem::Exception { instruction, cause }
        };
        context.exception = Some(Box::new((pc, problem)));
        Issued { cycles: 1, outcome: Outcome::Failed }
    }

    /// Raises an exception for a jump to a null pointer. The return address identifies the caller.
    #[cold]
    fn null_call(&self, context: &mut Context, registers: &S::Thread) -> Issued {
        let from = registers.register(S::RETURN_ADDRESS);
        context.exception = Some(Box::new((from, Problem::NullCall { target: registers.pc() })));
        Issued { cycles: 1, outcome: Outcome::Failed }
    }

    /// Raises an exception for an instruction that sets the stack pointer outside the stack.
    #[cold]
    fn overflow(&self, context: &mut Context, pc: u32, stack_pointer: u32) -> Issued {
        let problem = Problem::StackOverflow { instruction: self.instruction(pc), stack_pointer };
        context.exception = Some(Box::new((pc, problem)));
        Issued { cycles: 1, outcome: Outcome::Failed }
    }

    /// The instruction at an address, as the prefix of an error message.
    fn instruction(&self, pc: u32) -> String {
        match self.text.exception(pc, Cause::Undefined) {
            Exception { word: Some(word), disassembly, .. } => {
                format!("`{disassembly}` (0x{word:08x}): ")
            }
            Exception { word: None, .. } => String::new(),
        }
    }

    /// The stack pointer that an instruction at `pc` has set, if it lies outside the stack. The
    /// code that begins threads is excluded, because it builds the stack pointer in several
    /// instructions.
    #[inline(always)]
    fn overflown(&self, pc: u32, registers: &S::Thread) -> Option<u32> {
        let stack_pointer = registers.register(S::STACK_POINTER);
        let is_within =
            stack_pointer.wrapping_sub(mpe::STACK_BEGIN) <= mpe::STACK - mpe::STACK_BEGIN;
        (!is_within && pc >= self.null_end).then_some(stack_pointer)
    }
}

/// Accesses below this address are reported as null pointers if nothing lies there.
const NEAR_NULL: u32 = 4096;

/// The maximum number of lines in one stretch of instructions.
const STRETCH_LINES: usize = 3;

/// Decodes the instructions of a text; a line holds `line_instructions` instructions.
fn steps<S: Compiled>(
    text: &Text<S>,
    of: &CyclesSpec,
    line_instructions: u32,
    entry: u32,
) -> Vec<Step<S>> {
    let in_line = |address: u32| line_instructions - address / 4 % line_instructions;
    let step = |(address, it): (u32, &S::Instruction)| Step::new(*it, of, in_line(address) as u16);
    let mut steps: Vec<Step<S>> = text.instructions().map(step).collect();
    // A thread executes the first instruction once.
    if let Some(first) = steps.get_mut(text.index(entry)) {
        first.is_known = false;
    }
    let mut straight = 0_u32;
    for step in steps.iter_mut().rev() {
        let stretch = u32::from(step.in_line) + (STRETCH_LINES as u32 - 1) * line_instructions;
        straight = match () {
            () if !step.is_known || step.cycles != 1 => 0,
            () if step.moves_stack => 1,
            () => straight + 1,
        };
        step.straight = straight.clamp(1, stretch.min(u32::from(u8::MAX))) as u8;
    }
    steps
}

impl<S: Compiled> Step<S> {
    /// Decodes one instruction alone. `in_line` is the number of instructions from this one to the
    /// end of its line.
    fn new(instruction: S::Instruction, of: &CyclesSpec, in_line: u16) -> Self {
        let class = S::class(&instruction);
        let is_known = !matches!(class, Class::Service | Class::Undefined);
        let meaning = S::meaning(&instruction);
        let moves_stack = S::may_change(&instruction, S::STACK_POINTER);
        let cycles = cycles(of, class);
        Self { instruction, meaning, cycles, is_known, moves_stack, straight: 1, in_line }
    }
}

/// The number of cycles for which an instruction blocks the issue of other instructions.
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

impl<S: Compiled> Workload for Code<S> {
    type Thread = Bank<S::Thread>;

    fn thread(&self, number: u32) -> Self::Thread {
        let mut registers = S::Thread::new(self.entry);
        registers.set_register(S::STACK_POINTER, mpe::STACK);
        registers.set_register(S::ARGUMENTS[0], if self.is_application() { 0 } else { number });
        registers.set_register(S::ARGUMENTS[1], self.part(number));
        Bank { registers, line: NO_LINE, ahead: RunAhead::default(), has_begun: false }
    }

    fn is_application(&self) -> bool {
        self.variables.is_some()
    }

    fn begin(&self, thread: &mut Self::Thread, start: Start) {
        let mut registers = S::Thread::new(self.entry);
        registers.set_register(S::STACK_POINTER, mpe::STACK);
        registers.set_register(S::ARGUMENTS[0], start.argument);
        registers.set_register(S::ARGUMENTS[1], start.function);
        *thread = Bank { registers, line: NO_LINE, ahead: RunAhead::default(), has_begun: false };
    }

    fn variables(&self) -> &[(u32, Vec<u8>)] {
        self.variables.as_deref().unwrap_or_default()
    }

    #[inline(always)]
    fn issue(&self, thread: &mut Self::Thread, port: &mut Port<'_>) -> Issued {
        if port.may_be_ahead && thread.ahead.is_over() {
            self.execute_ahead(thread, port.context);
        }
        if let Some(issued) = thread.ahead.issue(self.instruction_line, port) {
            if issued.outcome == Outcome::Failed {
                let stack_pointer = thread.registers.register(S::STACK_POINTER);
                return self.overflow(port.context, thread.ahead.last_issued(), stack_pointer);
            }
            return issued;
        }
        let issued = self.issue_now(thread, port);
        thread.ahead.is_stopped = issued.outcome == Outcome::Waits;
        issued
    }

    #[inline]
    fn at_hand(
        &self,
        thread: &mut Self::Thread,
        context: &mut Context,
        caches: &Caches,
    ) -> (u32, bool) {
        if thread.ahead.is_over() {
            self.execute_ahead(thread, context);
        }
        if context.fill.is_some() { (0, true) } else { thread.ahead.at_hand(caches) }
    }

    #[inline]
    fn issue_before(
        &self,
        thread: &mut Self::Thread,
        edge: u64,
        rounds: Rounds,
        caches: &mut Caches,
    ) -> u32 {
        thread.ahead.issue_before(edge, rounds, caches)
    }

    fn constants(&self) -> Constants {
        self.constants.clone()
    }

    fn parts(&self) -> &[String] {
        &self.cut.parts
    }

    fn part(&self, number: u32) -> u32 {
        self.cut.of_thread.get(number as usize).copied().unwrap_or(0)
    }

    fn address(&self, thread: &Self::Thread) -> Option<u32> {
        Some(thread.ahead.pc().unwrap_or_else(|| thread.registers.pc()))
    }

    fn instructions(&self) -> usize {
        self.steps.len()
    }

    fn index(&self, thread: &Self::Thread) -> usize {
        self.address(thread).map_or(usize::MAX, |address| self.text.index(address))
    }

    fn place(&self, thread: &Self::Thread) -> String {
        self.address(thread).map(|address| self.place_at(address)).unwrap_or_default()
    }

    fn place_at(&self, address: u32) -> String {
        match self.symbols.at(address) {
            Some((function, offset)) => {
                let line = self.sources.line(self.text.index(address));
                let line = line.map_or_else(String::new, |line| format!(", {line}"));
                format!("0x{address:08x} ({}+0x{offset:x}{line})", function.name)
            }
            None => format!("0x{address:08x}"),
        }
    }
}

impl<S: Compiled> Code<S> {
    /// Executes the next instruction of a thread at its issue time.
    fn issue_now(&self, thread: &mut Bank<S::Thread>, port: &mut Port<'_>) -> Issued {
        let pc = thread.registers.pc();
        let index = self.text.index(pc);
        let Some(Step { instruction, cycles, moves_stack, .. }) = self.steps.get(index) else {
            if pc < self.null_end.min(NEAR_NULL) {
                return self.null_call(port.context, &thread.registers);
            }
            return self.fail(port.context, pc, Cause::OutsideText);
        };
        if pc == self.entry && thread.has_begun && pc < self.null_end {
            return self.null_call(port.context, &thread.registers);
        }
        let line = pc & self.instruction_line;
        if line != thread.line {
            if !port.find(Which::Instruction, line) {
                return Issued { cycles: 1, outcome: Outcome::Waits };
            }
            thread.line = line;
        }
        let mut reach = Reach { code: self, port, pc, constants: 0, outside: [0; 2] };
        let flow = S::execute(&mut thread.registers, instruction, &mut reach);
        let Reach { constants, outside, .. } = reach;
        let outcome = match flow {
            Ok(Flow::Next | Flow::Skipped) => Outcome::Done,
            Ok(Flow::Taken) => Outcome::Jumped,
            Err(Stop::Wait) => Outcome::Waits,
            // There is no run-time environment to serve it.
            Ok(Flow::Service | Flow::Breakpoint) => {
                return self.fail(port.context, pc, Cause::Undefined);
            }
            Err(Stop::Raise(cause)) => return self.fail(port.context, pc, cause),
        };
        thread.has_begun = true;
        if outcome != Outcome::Waits {
            let tally = &mut port.context.own.tally;
            tally.add(&self.uses[index], &self.uses[index + 1]);
            tally.constants += constants;
            tally.outside.iter_mut().zip(outside).for_each(|(all, these)| *all += these);
        }
        if *moves_stack && let Some(stack_pointer) = self.overflown(pc, &thread.registers) {
            return self.overflow(port.context, pc, stack_pointer);
        }
        Issued { cycles: u32::from(*cycles), outcome }
    }
}

impl Port<'_> {
    /// Looks up a line of the program or of constants in its cache. Returns whether the line is
    /// present.
    #[inline]
    fn find(&mut self, which: Which, line: u32) -> bool {
        if self.context.fill == Some(line) {
            self.context.fill = None;
            return true;
        }
        let wait = match which {
            Which::Instruction => Wait::Fetch,
            Which::Data => Wait::Data,
        };
        match self.caches.read(which, line, self.context.lane, self.cycle) {
            Lookup::Hit => return true,
            Lookup::Coming => self.context.wait = wait,
            Lookup::Missing(line) => self.waits(wait, Request::Line(line)),
        }
        false
    }
}
