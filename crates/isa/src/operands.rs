//! Operands that are ports: registers whose reads and writes can stall.
//!
//! An instruction receives all its operands, sends its results, and retires. If a word has not
//! arrived, or there is no room for one, it stalls with [`Stall::Wait`](crate::Stall::Wait) without
//! effect, and is later executed again from the start. An instruction with two such operands
//! therefore takes both or none, as in a pipeline with an interlock at the register read.

use crate::{Fault, Stall};

/// A use of a port by an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Operand {
    /// The port, a number of the instruction set.
    pub port: u8,
    /// The number of earlier uses of this port in the same direction by the instruction.
    pub number: u8,
}

/// The other end of the ports: queues, a network, or a device.
pub trait Ports {
    /// Peeks at a word of a port, `number` words after the next one, if it has arrived.
    ///
    /// # Errors
    /// A fault, if the port does not exist.
    fn peek(&self, port: u8, number: u8) -> Result<Option<u32>, Fault>;

    /// Returns the number of words that a port accepts now, at most 255.
    ///
    /// # Errors
    /// A fault, if the port does not exist.
    fn room(&self, port: u8) -> Result<u8, Fault>;

    /// Takes the next word of a port.
    fn take(&mut self, port: u8);

    /// Puts a word into a port that has room.
    fn put(&mut self, port: u8, word: u32);
}

/// The words that the current instruction has received and sent: one for each thread.
///
/// A bus passes [`Bus::receive`](crate::Bus::receive), [`Bus::send`](crate::Bus::send) and
/// [`Bus::retire`](crate::Bus::retire) on to this. The machine calls [`Operands::clear`] when an
/// instruction waits or causes an exception.
#[derive(Clone, Debug, Default)]
pub struct Operands {
    received: Vec<u8>,
    sent: Vec<(u8, u32)>,
}

impl Operands {
    /// Receives an operand.
    ///
    /// # Errors
    /// As [`Bus::receive`](crate::Bus::receive).
    pub fn receive(&mut self, operand: Operand, ports: &impl Ports) -> Result<u32, Stall> {
        let word = ports.peek(operand.port, operand.number).map_err(Stall::Fault)?;
        let word = word.ok_or(Stall::Wait)?;
        self.received.push(operand.port);
        Ok(word)
    }

    /// Sends a result.
    ///
    /// # Errors
    /// As [`Bus::send`](crate::Bus::send).
    pub fn send(&mut self, operand: Operand, value: u32, ports: &impl Ports) -> Result<(), Stall> {
        if ports.room(operand.port).map_err(Stall::Fault)? <= operand.number {
            return Err(Stall::Wait);
        }
        self.sent.push((operand.port, value));
        Ok(())
    }

    /// Removes the received words from the ports and adds the sent ones.
    pub fn retire(&mut self, ports: &mut impl Ports) {
        self.received.drain(..).for_each(|port| ports.take(port));
        self.sent.drain(..).for_each(|(port, word)| ports.put(port, word));
    }

    /// Discards received and sent words: the instruction has had no effect.
    pub fn clear(&mut self) {
        self.received.clear();
        self.sent.clear();
    }
}
