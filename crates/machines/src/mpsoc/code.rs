//! Compiled programs: instructions of a set, their cycles, and what their loads and stores reach.

mod ahead;
mod reach;

use wireloom_isa::{Class, Exception, Flow, InstructionSet, Meaning, Program, Stop, Symbols, Text, Thread};

use super::caches::{Caches, Lookup};
use super::context::{Context, Wait};
use super::mpe;
use super::objects::{MethodInterface, ObjectInterface};
use super::own::{Constants, Own};
use super::parcel::{Request, Which};
use super::spec::{CyclesSpec, Multithreading, Spec};
use super::workload::{Issued, Outcome, Port, Rounds, Start, Workload};
use ahead::Ahead;
use reach::Reach;

/// A program of an instruction set, which all threads execute from its entry on: with the stack pointer at the end of the local store, and the
/// thread's number among all as first argument.
#[derive(Clone, Debug)]
pub struct Code<S: InstructionSet> {
    text: Text<S>,
    steps: Vec<Step<S>>,
    constants: Constants,
    entry: u32,
    symbols: Symbols,
    pub(super) objects: Vec<Vec<MethodInterface>>,
    /// Of each: whether it makes calls in the order of packets.
    in_order: Vec<bool>,
    /// Of an engine that is cut.
    cut: Cut,
    shared_bytes: u32,
    /// Whether the instruction behind a jump is issued later than behind any other.
    waits_behind_jumps: bool,
    /// Of an application: what its variables begin with. None of an engine's program, which has none.
    variables: Option<Vec<(u32, Vec<u8>)>>,
    /// The bits of an address that name its line in the instruction cache.
    instruction_line: u32,
    /// Instructions of such a line.
    line_instructions: u32,
}

/// The parts of an engine.
#[derive(Clone, Debug, Default)]
struct Cut {
    /// The steps with which they begin; none if it is whole.
    parts: Vec<String>,
    /// The part of each thread.
    of_thread: Vec<u32>,
}

/// An instruction.
#[derive(Clone, Debug)]
struct Step<S: InstructionSet> {
    instruction: S::Instruction,
    /// What it does ahead of its time.
    meaning: Meaning<S, Own>,
    /// For how long it keeps others from being issued.
    cycles: u8,
    /// Whether it does nothing but what the instruction set says, unless an access leads somewhere else.
    is_known: bool,
    /// How many from this one on are executed in one stretch: those that are known and take one cycle, of [`STRETCH_LINES`] lines at most; or just this one.
    straight: u8,
    /// How many from this one on are of its line.
    in_line: u16,
}

/// The register bank of a thread.
#[derive(Clone, Debug)]
pub struct Bank<T> {
    registers: T,
    /// The line that its fetch buffer holds, or [`NO_LINE`]. If it has executed instructions ahead, as behind the last of them.
    line: u32,
    ahead: Ahead,
}

/// No text lies so high.
const NO_LINE: u32 = u32::MAX;

impl<S: InstructionSet> Code<S> {
    /// A program for a machine, with the objects that it calls.
    ///
    /// # Errors
    /// A sentence, if the program is for another instruction set, has variables, or lies where something else is.
    pub fn new(program: &Program, spec: &Spec, objects: &[ObjectInterface]) -> Result<Self, String> {
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

    /// The same program cut into parts, which begin with these steps; each thread gets the number of its part as second argument.
    pub(super) fn cut(self, parts: Vec<String>, of_thread: Vec<u32>) -> Self {
        Self { cut: Cut { parts, of_thread }, ..self }
    }

    /// An application for a machine: its first thread executes from the entry on, with two zeros as arguments; threads that it creates do so with
    /// their argument and their function. Variables lie in shared memory.
    ///
    /// # Errors
    /// A sentence, if the program is for another instruction set, or lies where something else is.
    pub fn application(program: &Program, spec: &Spec) -> Result<Self, String> {
        let mut variables = Vec::new();
        let code = Self::with_variables(program, spec, &[], &mut variables)?;
        let end = variables.iter().map(|(address, bytes)| u64::from(*address) + bytes.len() as u64).max();
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
        Ok(Self { variables: Some(variables), ..code })
    }

    fn with_variables(
        program: &Program,
        spec: &Spec,
        objects: &[ObjectInterface],
        variables: &mut Vec<(u32, Vec<u8>)>,
    ) -> Result<Self, String> {
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
                    "the program ends at 0x{end:08x}, behind the local stores' 0x{:08x}",
                    mpe::LOCAL_STORE
                ));
            }
            bytes.resize((segment.address - base) as usize, 0);
            bytes.extend_from_slice(&segment.bytes);
            bytes.resize((end - u64::from(base)) as usize, 0);
        }
        let processor = &spec.processor;
        let line_bytes = processor.instruction_cache.line_bytes as u32;
        let line_instructions = line_bytes / 4;
        Ok(Self {
            steps: steps(&text, &processor.cycles, line_instructions),
            text,
            constants: Constants::new(base, &bytes, processor.data_cache.line_bytes as u32),
            entry: program.entry,
            symbols: program.symbols.clone(),
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

    #[cold]
    fn fail(&self, context: &mut Context, pc: u32, cause: wireloom_isa::Cause) -> Issued {
        let exception: Exception = self.text.exception(pc, cause);
        context.exception = Some(Box::new(exception));
        Issued { cycles: 1, outcome: Outcome::Failed }
    }
}

/// Lines that instructions in one stretch are of at most.
const STRETCH_LINES: usize = 3;

/// The instructions of a text, so many of which are a line.
fn steps<S: InstructionSet>(text: &Text<S>, of: &CyclesSpec, line_instructions: u32) -> Vec<Step<S>> {
    let in_line = |address: u32| line_instructions - address / 4 % line_instructions;
    let step = |(address, it): (u32, &S::Instruction)| Step::new(*it, of, in_line(address) as u16);
    let mut steps: Vec<Step<S>> = text.instructions().map(step).collect();
    let mut straight = 0_u32;
    for step in steps.iter_mut().rev() {
        let stretch = u32::from(step.in_line) + (STRETCH_LINES as u32 - 1) * line_instructions;
        straight = if step.is_known && step.cycles == 1 { straight + 1 } else { 0 };
        step.straight = straight.clamp(1, stretch.min(u32::from(u8::MAX))) as u8;
    }
    steps
}

impl<S: InstructionSet> Step<S> {
    /// By itself, with so many from this one on of its line.
    fn new(instruction: S::Instruction, of: &CyclesSpec, in_line: u16) -> Self {
        let class = S::class(&instruction);
        let is_known = !matches!(class, Class::Service | Class::Undefined);
        let meaning = S::meaning(&instruction);
        Self { instruction, meaning, cycles: cycles(of, class), is_known, straight: 1, in_line }
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
        registers.set_register(S::ARGUMENTS[0], if self.is_application() { 0 } else { number });
        registers.set_register(S::ARGUMENTS[1], self.part(number));
        Bank { registers, line: NO_LINE, ahead: Ahead::default() }
    }

    fn is_application(&self) -> bool {
        self.variables.is_some()
    }

    fn begin(&self, thread: &mut Self::Thread, start: Start) {
        let mut registers = S::Thread::new(self.entry);
        registers.set_register(S::STACK_POINTER, mpe::STACK);
        registers.set_register(S::ARGUMENTS[0], start.argument);
        registers.set_register(S::ARGUMENTS[1], start.function);
        *thread = Bank { registers, line: NO_LINE, ahead: Ahead::default() };
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
            return issued;
        }
        let issued = self.issue_now(thread, port);
        thread.ahead.is_stopped = issued.outcome == Outcome::Waits;
        issued
    }

    #[inline]
    fn at_hand(&self, thread: &mut Self::Thread, context: &mut Context, caches: &Caches) -> (u32, bool) {
        if thread.ahead.is_over() {
            self.execute_ahead(thread, context);
        }
        if context.fill.is_some() { (0, true) } else { thread.ahead.at_hand(caches) }
    }

    #[inline]
    fn issue_before(&self, thread: &mut Self::Thread, edge: u64, rounds: Rounds, caches: &mut Caches) -> u32 {
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

    fn place(&self, thread: &Self::Thread) -> String {
        let pc = thread.ahead.pc().unwrap_or_else(|| thread.registers.pc());
        match self.symbols.at(pc) {
            Some((function, offset)) => format!("0x{pc:08x} ({}+0x{offset:x})", function.name),
            None => format!("0x{pc:08x}"),
        }
    }
}

impl<S: InstructionSet> Code<S> {
    /// Executes the next instruction of a thread in its turn.
    fn issue_now(&self, thread: &mut Bank<S::Thread>, port: &mut Port<'_>) -> Issued {
        let pc = thread.registers.pc();
        let Some(Step { instruction, cycles, .. }) = self.steps.get(self.text.index(pc)) else {
            return self.fail(port.context, pc, wireloom_isa::Cause::OutsideText);
        };
        let line = pc & self.instruction_line;
        if line != thread.line {
            if !port.find(Which::Instruction, line) {
                return Issued { cycles: 1, outcome: Outcome::Waits };
            }
            thread.line = line;
        }
        let outcome =
            match S::execute(&mut thread.registers, instruction, &mut Reach { code: self, port, pc }) {
                Ok(Flow::Next | Flow::Skipped) => Outcome::Done,
                Ok(Flow::Taken) => Outcome::Jumped,
                Err(Stop::Wait) => Outcome::Waits,
                // There is no run-time beside the program that could serve it.
                Ok(Flow::Service | Flow::Breakpoint) => {
                    return self.fail(port.context, pc, wireloom_isa::Cause::Undefined);
                }
                Err(Stop::Raise(cause)) => return self.fail(port.context, pc, cause),
            };
        Issued { cycles: u32::from(*cycles), outcome }
    }
}

impl Port<'_> {
    /// Looks for a line of the program, or of constants, in its cache; answers whether it is there.
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
