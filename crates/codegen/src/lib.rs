//! Step IR to the languages of the machines.
//!
//! [`c`] writes C for batches on the host and for single threads of processors of 32 bits;
//! [`hardware`] writes SystemVerilog. Both read step IR and nothing else, and know no machine's
//! clockwork.

pub mod c;
pub mod hardware;
