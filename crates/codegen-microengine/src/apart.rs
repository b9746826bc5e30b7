//! Ways out of a step, which stand after the rest of it: most packets go on. What transfer registers hold is the same
//! after the branch to one.

use super::code::Code;
use super::local::Pointer;

/// Words of the frame in read transfer registers of SRAM that follow each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Here {
    /// The first word.
    pub first: u32,
    pub count: u32,
    /// The register that has it.
    pub transfer: u8,
}

impl Here {
    /// The register with the first of some words, if all are there.
    pub fn transfer_of(self, first: u32, count: u32) -> Option<u8> {
        let is_there = self.first <= first && first + count <= self.first + self.count;
        is_there.then(|| self.transfer + (first - self.first) as u8)
    }
}

/// The main path of a step, put aside while the code of an exit is written.
pub struct Main {
    text: String,
    here: Option<Here>,
    pointer: Option<Pointer>,
}

impl Code {
    /// What is written from here on, until [`Self::rejoin`], is a way out of the step, after all else.
    pub fn set_apart(&mut self) -> Main {
        Main { text: std::mem::take(&mut self.text), here: self.here, pointer: self.pointer }
    }

    /// Continues the main path from where [`Self::set_apart`] was called.
    pub fn rejoin(&mut self, main: Main) {
        let apart = std::mem::replace(&mut self.text, main.text);
        self.apart.push_str(&apart);
        (self.here, self.pointer) = (main.here, main.pointer);
    }
}
