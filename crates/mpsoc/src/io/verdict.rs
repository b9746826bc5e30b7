//! The verdicts on packets.

use wireloom_ir as ir;

use crate::mpe::kind;

/// The verdict on a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Sent to a port.
    Sent { port: u16 },
    /// Dropped for a reason that the program gives.
    Dropped(Reason),
    /// Dropped because its thread has exceeded the loop bound.
    Runaway,
    /// Sent to the control processor for a reason that the program gives.
    ToCpu(Reason),
    /// Nothing remains of the packet.
    Gone,
}

/// A reason code of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reason {
    /// The number of the reason's set.
    pub set: u8,
    /// The number of the reason in the set.
    pub number: u16,
}

impl Verdict {
    /// Decodes the word that a thread has written to [`SEND`](crate::mpe::SEND), with the port.
    /// `None` if the word has no valid kind.
    pub(crate) fn decode(word: u32, port: u16) -> Option<Self> {
        let reason = Reason { set: (word >> 24) as u8, number: (word >> 8) as u16 };
        Some(match word & 0xff {
            kind::FINISH | kind::EMIT => Self::Sent { port },
            kind::DROP => Self::Dropped(reason),
            kind::TO_CPU | kind::COPY_TO_CPU => Self::ToCpu(reason),
            kind::DONE => Self::Gone,
            kind::RUNAWAY => Self::Runaway,
            _ => return None,
        })
    }

    /// The verdict in the form common to all machines; `None` if nothing remains of the packet.
    pub(crate) fn meaning(self) -> Option<ir::Verdict> {
        let program = |reason: Reason| {
            ir::Reason::Program(ir::ReasonSetId(u32::from(reason.set)), reason.number)
        };
        match self {
            Self::Sent { port } => Some(ir::Verdict::Sent { port }),
            Self::Dropped(reason) => Some(ir::Verdict::Dropped(program(reason))),
            Self::Runaway => Some(ir::Verdict::Dropped(ir::Reason::Runaway)),
            Self::ToCpu(reason) => Some(ir::Verdict::ToCpu(program(reason))),
            Self::Gone => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_verdict_is_taken_apart() {
        let decode = |word| Verdict::decode(word, 7).map(Verdict::meaning);
        let sent = Some(Some(ir::Verdict::Sent { port: 7 }));
        assert_eq!(decode(kind::FINISH), sent);
        assert_eq!(decode(kind::EMIT), sent);
        let reason = ir::Reason::Program(ir::ReasonSetId(3), 0x1234);
        assert_eq!(decode(0x0312_3400 | kind::DROP), Some(Some(ir::Verdict::Dropped(reason))));
        assert_eq!(decode(0x0312_3400 | kind::TO_CPU), Some(Some(ir::Verdict::ToCpu(reason))));
        assert_eq!(decode(kind::DONE), Some(None));
        assert_eq!(decode(0x77), None);
    }
}
