//! The instruction sets of a tiled processor whose networks are registers: the tile processor,
//! which computes ([`tile`]), and the switch processor, which moves words between tiles ([`switch`]).
//!
//! Each set is one table. Encoder, decoder, disassembler, the assembler of `wireloom-raw` and
//! docs/machines/raw-instructions.md read it. Timing is the machine's business: a row states only
//! the class of its latency.
//!
//! Public documents of the RAW microprocessor give the names of the network registers, the control
//! operations of the switch and the form of a route. The encodings here are assumed: the tile
//! processor has those of MIPS32 (big-endian, without delay slots), so that programs of a MIPS
//! compiler run on it, and the switch processor a layout of our own.

pub mod register;
pub mod switch;
pub mod tile;

pub use register::{Network, Register};
