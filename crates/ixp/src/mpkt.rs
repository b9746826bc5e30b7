//! MPKTs: the pieces of 64 bytes (on version 2 also 128 or 256) in which packets cross the bus to
//! the ports, with their status and control words. The layouts are assumed; docs/machines/ixp.md
//! has them as tables.

/// The description of an MPKT: the status word of an incoming one, or the control word of an
/// outgoing one.
///
/// | bits | meaning |
/// |---|---|
/// | 10, 9, 6 to 0 | bytes, 0 to 64 (bits 8 and 7 of the number on version 2) |
/// | 7 | first of its packet |
/// | 8 | last of its packet |
/// | 16 to 12 | the port; out: its bits 4 to 0 |
/// | 17 | in: the core sent the packet, for a timer; out: the packet has further outputs |
/// | 19 to 18 | out: 0 to the port, 1 to the processor core, 2 dropped, 3 no output |
/// | 23 to 20 | in: the element of the receive FIFO; out: bits 8 to 5 of the port |
/// | 30 to 24 | in, version 2: the element of RBUF; out: bits 15 to 9 of the port |
/// | 30 to 24, 16 to 12, 23 to 20 | out, to no port: bits 6 to 0, 11 to 7, 15 to 12 of the reason |
/// | 31 | in: an MPKT has come |
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Control {
    /// The length in bytes.
    pub bytes: u16,
    /// Whether this is the first MPKT of its packet.
    pub first: bool,
    /// Whether this is the last MPKT of its packet.
    pub last: bool,
    /// The lowest bits of the port; see [`egress`](Self::egress).
    pub port: u8,
    /// Whether the packet has further outputs; on the way in, whether the core sent it for a timer.
    pub more: bool,
    /// The destination of the packet.
    pub way: Way,
    /// The element of the receive FIFO.
    pub element: u8,
    /// The lowest seven bits of the reason's number, or the element of RBUF.
    pub reason: u8,
    /// Whether an MPKT has arrived.
    pub valid: bool,
}

/// The destination of a packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Way {
    /// A port.
    #[default]
    Port,
    /// The processor core.
    Core,
    /// The packet is dropped, with a reason.
    Drop,
    /// The packet is done and has no further output.
    Done,
}

impl Control {
    /// Decodes a word.
    pub fn from_word(word: u32) -> Self {
        let bit = |bit: u32| word >> bit & 1 != 0;
        Self {
            bytes: (word & 0x7f | (word >> 9 & 3) << 7) as u16,
            first: bit(7),
            last: bit(8),
            port: (word >> 12 & 0x1f) as u8,
            more: bit(17),
            way: match word >> 18 & 3 {
                0 => Way::Port,
                1 => Way::Core,
                2 => Way::Drop,
                _ => Way::Done,
            },
            element: (word >> 20 & 0xf) as u8,
            reason: (word >> 24 & 0x7f) as u8,
            valid: bit(31),
        }
    }

    /// The egress port.
    pub fn egress(&self) -> u16 {
        u16::from(self.port) | u16::from(self.element) << 5 | u16::from(self.reason) << 9
    }

    /// The number of the reason, if the packet does not leave by a port.
    pub fn reason_number(&self) -> u16 {
        u16::from(self.reason) | u16::from(self.port) << 7 | u16::from(self.element) << 12
    }

    /// Encodes the word.
    pub fn word(&self) -> u32 {
        u32::from(self.bytes & 0x7f)
            | u32::from(self.bytes >> 7 & 3) << 9
            | u32::from(self.first) << 7
            | u32::from(self.last) << 8
            | u32::from(self.port & 0x1f) << 12
            | u32::from(self.more) << 17
            | (self.way as u32) << 18
            | u32::from(self.element & 0xf) << 20
            | u32::from(self.reason & 0x7f) << 24
            | u32::from(self.valid) << 31
    }
}

/// A context's request for an MPKT: the value that it writes to `rcv_req`. Bits 4 to 0 are the
/// port, 11 to 8 the element of the receive FIFO, 22 to 16 the thread (engine * 4 + context).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wanted {
    pub port: u8,
    /// The element that receives the MPKT.
    pub element: u8,
    /// The thread that gets the signal.
    pub thread: u8,
}

impl Wanted {
    /// Decodes a word.
    pub fn from_word(word: u32) -> Self {
        Self {
            port: (word & 0x1f) as u8,
            element: (word >> 8 & 0xf) as u8,
            thread: (word >> 16 & 0x7f) as u8,
        }
    }

    /// Encodes the word.
    pub fn word(&self) -> u32 {
        u32::from(self.port) | u32::from(self.element) << 8 | u32::from(self.thread) << 16
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_say_what_they_mean() {
        let control = Control {
            bytes: 64,
            first: true,
            last: true,
            port: 31,
            more: true,
            way: Way::Drop,
            element: 15,
            reason: 127,
            valid: true,
        };
        assert_eq!(Control::from_word(control.word()), control);
        assert_eq!(Control::from_word(0), Control::default());
        let wanted = Wanted { port: 17, element: 9, thread: 63 };
        assert_eq!(Wanted::from_word(wanted.word()), wanted);
    }
}
