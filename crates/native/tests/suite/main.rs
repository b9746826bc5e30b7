//! The integration tests of this crate, in one program, since each program takes long to link.

mod control;
mod cores;
mod counts;
mod edges;
mod hashes;
mod joined;
mod kept;
mod lanes;
mod large;
mod machine;
mod matching;
mod order;
mod ordered;
mod prefixes;
mod random_engines;
mod sanitized;
mod special;
mod streams;
mod support;
