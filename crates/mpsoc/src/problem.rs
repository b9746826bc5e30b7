//! The errors that threads can make.

use wireloom_isa::Cause;
use wireloom_sim::Time;

use super::broker::Service;
use super::mpe;
use crate::multiflex::threads::Misuse;

/// The errors that threads can make.
#[derive(Clone, Debug, thiserror::Error)]
pub enum Problem {
    /// An instruction that cannot be executed.
    #[error("{instruction}{cause}")]
    Exception {
        /// The instruction as assembly, with its word and a colon; empty if there is none.
        instruction: String,
        cause: Cause,
    },
    /// An access or a jump to an address in the area of null pointers.
    #[error("{instruction}a null pointer: {cause}, and nothing lies below 0x{end:08x}")]
    NullPointer {
        /// The instruction, as in [`Problem::Exception`].
        instruction: String,
        cause: Cause,
        /// The address at which the program begins.
        end: u32,
    },
    /// A call of a null pointer. The place is the return address.
    #[error("it has called a null pointer: there is no function at 0x{target:08x}")]
    NullCall { target: u32 },
    /// A stack that has grown into the area of replies, or beyond.
    #[error(
        "{instruction}its stack overflows: the stack pointer is 0x{stack_pointer:08x}, and the stack has the {} bytes from 0x{:08x} on",
        mpe::STACK - mpe::STACK_BEGIN,
        mpe::STACK_BEGIN
    )]
    StackOverflow {
        /// The instruction that has changed the stack pointer, as in [`Problem::Exception`].
        instruction: String,
        /// The new stack pointer.
        stack_pointer: u32,
    },
    /// An invalid request to the thread manager.
    #[error(transparent)]
    Misuse(Misuse),
    /// Two simultaneous requests to the thread manager.
    #[error("it asks the thread manager before that has answered what it asked last")]
    Asks,
    /// A call that a hardware element does not implement.
    #[error(
        "it calls method {method} of {service} with {words} words, which its hardware element does not implement"
    )]
    NoMethod {
        service: Service,
        method: u32,
        /// The number of words in the call's arguments.
        words: u32,
    },
    /// A reply of a hardware element that is too long for the ticket.
    #[error(
        "it calls {service} under ticket {ticket}, which has no room for a reply of {words} words: take a lower ticket"
    )]
    NoRoom {
        service: Service,
        ticket: u32,
        /// The number of words in the reply.
        words: usize,
    },
}

/// An exception that a thread has raised.
#[derive(Clone, Debug, thiserror::Error)]
#[error("processor {processor} thread {thread} at {at}, {place}: {problem}")]
pub struct Failure {
    pub processor: u32,
    /// The number of the thread in its processor.
    pub thread: u32,
    pub at: Time,
    /// The place in the program: the address, and the function with the offset in it.
    pub place: String,
    pub problem: Problem,
}
