//! The instruction sets of a tiled processor whose networks are registers: of the tile processor,
//! which computes ([`tile`]), and of the switch processor, which moves words between tiles
//! ([`switch`]).
//!
//! Each set is one table. Encoder, decoder, disassembler, the assembler of `wireloom-raw` and
//! docs/machines/raw-instructions.md read it. The machine defines the timing: a row states only the
//! class of its latency.
//!
//! Public documents of the RAW microprocessor give the names of the network registers, the control
//! operations of the switch and the form of a route. The encodings here are assumed. The tile
//! processor uses the encodings of MIPS32 (big-endian, without delay slots), so that programs of a
//! MIPS compiler run on it. The switch processor has our own layout.

pub mod register;
pub mod switch;
pub mod tile;

pub use register::{Network, Register};
