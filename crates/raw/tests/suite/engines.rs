//! Engines in Loom C on the chip, compared with golden.

mod cards;
mod energy;
mod lengths;
mod lines;
mod links;
mod mapping;
mod packet_tails;
mod programs;
mod queues;
mod random;
mod tasks;
mod versions;
mod windows;
