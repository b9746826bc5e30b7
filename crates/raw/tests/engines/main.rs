//! Engines in Loom C on the chip, next to golden.

mod mapping;
mod programs;
mod random;
