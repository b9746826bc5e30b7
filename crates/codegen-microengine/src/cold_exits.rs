//! Exits out of line. The code of an exit is placed after the rest of its step, since most packets
//! continue. After the branch to it, transfer registers have the same contents.

use super::code::Code;
use super::local::Pointer;

/// Consecutive words of the frame in read transfer registers of SRAM.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Here {
    /// The first word of the frame.
    pub first: u32,
    pub count: u32,
    /// The transfer register with the first word.
    pub transfer: u8,
}

impl Here {
    /// Returns the register with the first of these words, if all are there.
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
    /// Begins the code of an exit, which is placed after the rest of the step. It ends with
    /// [`Self::rejoin`].
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
