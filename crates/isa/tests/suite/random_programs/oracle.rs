//! Runs Unicorn in a separate process. oracle.py describes the protocol.

use std::io::{Read, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use super::{DATA, DATA_BYTES, State, TEXT, Trace};

pub struct Oracle {
    process: Child,
    questions: ChildStdin,
    answers: ChildStdout,
}

impl Oracle {
    /// # Panics
    /// If the virtual environment is missing, with a sentence that says what to do.
    pub fn start() -> Self {
        let isa = Path::new(env!("CARGO_MANIFEST_DIR"));
        let python = isa.join("../../.cache/tools/isa/bin/python3");
        assert!(python.exists(), "'{}' is missing: run `make tools`", python.display());
        let mut process = Command::new(python)
            .arg(isa.join("tests/random_programs/oracle.py"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("Python starts");
        let questions = process.stdin.take().expect("piped");
        let answers = process.stdout.take().expect("piped");
        Self { process, questions, answers }
    }

    /// Runs a program in Unicorn, from the first state of its trace.
    pub fn run(&mut self, set: u32, trace: &Trace) -> Result<Vec<State>, String> {
        let first = &trace.states[0];
        let mut question = Vec::new();
        for number in [set, TEXT, trace.text.len() as u32, DATA, DATA_BYTES] {
            question.extend(number.to_le_bytes());
        }
        question
            .extend(first.registers.iter().chain(&trace.text).flat_map(|word| word.to_le_bytes()));
        question.extend(&first.data);
        self.questions.write_all(&question).expect("the oracle listens");

        match self.number() {
            u32::MAX => {
                let length = self.number() as usize;
                Err(String::from_utf8_lossy(&self.bytes(length)).into_owned())
            }
            states => Ok((0..states).map(|_| self.state(first.registers.len())).collect()),
        }
    }

    fn state(&mut self, registers: usize) -> State {
        let pc = self.number();
        let registers = (0..registers).map(|_| self.number()).collect();
        State { pc, registers, data: self.bytes(DATA_BYTES as usize) }
    }

    fn number(&mut self) -> u32 {
        let bytes = self.bytes(4);
        u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]])
    }

    fn bytes(&mut self, count: usize) -> Vec<u8> {
        let mut bytes = vec![0; count];
        self.answers.read_exact(&mut bytes).expect("the oracle answers");
        bytes
    }
}

impl Drop for Oracle {
    fn drop(&mut self) {
        // The process holds no state worth saving, and may be in the middle of an unread reply.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
