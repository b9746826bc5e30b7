//! Finds the step of an engine that the compiler or the kernel's verifier refuses.

use wireloom_codegen_c::bpf::BpfProgram;
use wireloom_ir as ir;
use wireloom_machine::Error;

use crate::kernel::Instruction;

/// The steps of an engine.
pub struct Steps {
    engine: String,
    /// The function of each step if steps are apart, with the step's name.
    functions: Vec<(String, String)>,
}

impl Steps {
    /// Returns the steps of a program's engine.
    pub fn of(program: &ir::Program, written: &BpfProgram) -> Self {
        let engine = &program.engines[program.main.index()];
        let functions = written.functions.iter().map(|(function, _)| function.clone());
        let steps = engine.steps.iter().map(|step| step.name.clone());
        Self { engine: engine.name.clone(), functions: functions.zip(steps).collect() }
    }

    /// Returns the function of the step that takes most of the stack. `functions` has the first
    /// instruction and the name of each function, in order.
    pub fn largest<'a>(
        &self,
        instructions: &[Instruction],
        functions: &'a [(u32, String)],
    ) -> Option<&'a str> {
        let ends = functions.iter().skip(1).map(|(first, _)| *first as usize);
        let all = functions.iter().zip(ends.chain([instructions.len()]));
        let steps = all.filter(|((_, name), _)| self.functions.iter().any(|(own, _)| own == name));
        let depth = |first: &u32, end: usize| {
            let pairs = instructions[*first as usize..end].windows(2);
            pairs.map(|pair| pair[1].stack_depth(&pair[0])).max()
        };
        let largest = steps.max_by_key(|((first, _), end)| depth(first, *end));
        largest.map(|((_, name), _)| name.as_str())
    }

    /// Returns the error for a function that does not fit the kernel. Without a function, or if it
    /// is not a step, the error is about the whole engine.
    pub fn refused(&self, function: Option<&str>, why: &str) -> Error {
        let engine = &self.engine;
        let mut steps = self.functions.iter();
        match steps.find(|(own, _)| Some(own.as_str()) == function) {
            Some((_, step)) => {
                Error::new(format!("engine `{engine}`, step `{step}`: {why}")).with_step(step)
            }
            None => Error::new(format!("engine `{engine}`: {why}")),
        }
    }
}

/// Returns the function in which the compiler found its first error.
pub fn in_messages(messages: &str) -> Option<&str> {
    let before = &messages[..messages.find(": error: ")?];
    let (_, named) = before.rsplit_once(": In function '")?;
    named.split('\'').next()
}

/// Returns the function at whose instruction the verifier stopped. `functions` has the first
/// instruction and the name of each function, in order.
pub fn in_log<'a>(log: &str, functions: &'a [(u32, String)]) -> Option<&'a str> {
    let number = |line: &str| line.split_once(": (")?.0.parse::<u32>().ok();
    let stopped = log.lines().rev().find_map(number)?;
    let after = functions.partition_point(|(first, _)| *first <= stopped);
    functions[..after].last().map(|(_, name)| name.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_compilers_messages_name_a_function() {
        let said = "engine.c: In function 'e_first':\nengine.c:7: warning: unused\n\
                    engine.c: In function 'e_second':\nengine.c:9: error: eBPF stack limit exceeded\n\
                    engine.c: In function 'e_third':\n";
        assert_eq!(in_messages(said), Some("e_second"));
        assert_eq!(in_messages("cc1: error: no such option"), None);
    }

    #[test]
    fn the_step_with_the_largest_stack_is_found() {
        let load = |offset| Instruction::new(0x79, 1, 10, offset, 0);
        let store = |offset| Instruction::new(0x7b, 10, 1, offset, 0);
        let elsewhere = Instruction::new(0x79, 1, 2, -500, 0);
        let [copy, add] =
            [Instruction::new(0xbf, 3, 10, 0, 0), Instruction::new(0x07, 3, 0, 0, -200)];
        let other = Instruction::new(0x07, 4, 0, 0, -400);
        let functions = [(0, "entry"), (2, "e_first"), (5, "e_second"), (7, "e_third")];
        let functions = functions.map(|(first, name)| (first, name.to_owned()));
        let own = ["e_first", "e_second", "e_third"].map(|name| (name.to_owned(), "step".into()));
        let steps = Steps { engine: "e".into(), functions: own.into() };
        let largest = |instructions: &[Instruction]| {
            steps.largest(instructions, &functions).map(str::to_owned)
        };
        let none = Instruction::default();
        let mut all =
            [none, store(-480), none, copy, add, none, load(-100), none, elsewhere, other];
        assert_eq!(largest(&all).as_deref(), Some("e_first"));
        all[6] = store(-208);
        assert_eq!(largest(&all).as_deref(), Some("e_second"));
        all[9] = load(-512);
        assert_eq!(largest(&all).as_deref(), Some("e_third"));
    }

    #[test]
    fn the_verifiers_log_ends_in_a_function() {
        let functions = [(0, "entry"), (40, "e_first"), (90, "e_second")];
        let functions = functions.map(|(first, name)| (first, name.to_owned()));
        let log = "Validating e_first() func#1...\n88: (95) exit\n89: (bf) r0 = r1\n\
                   invalid access\nprocessed 9 insns\n";
        assert_eq!(in_log(log, &functions), Some("e_first"));
        assert_eq!(in_log("90: (95) exit", &functions), Some("e_second"));
        assert_eq!(in_log("the stack is too large", &functions), None);
    }
}
