//! Exits out of line. The code of an exit is placed after the rest of its step, since most packets
//! continue. After the branch to it, transfer registers have the same contents.

use super::code::{Code, Here, Pointer};

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
