//! The shared-memory side of MultiFlex (the StepNP paper, section 4.1): what the thread manager decides, and who accesses what without order.
//! Neither knows time; a machine asks them in the order in which requests and accesses take effect.

pub mod races;
pub mod threads;
