//! The passes over the step IR: one a file, each with a name, each runnable alone.
//!
//! The order in which they run by default stands in [`pipeline`](crate::pipeline).

use wireloom_ir::Program;

pub mod clean;
pub mod cse;
pub mod dce;
pub mod fields;
pub mod fold;
pub mod fuse;
pub mod if_convert;
pub mod narrow;
pub mod resize;
mod sequence;
pub mod split;
pub mod ungate;
pub mod window;

/// What the machine that the program is compiled for can do in one step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct PassOptions {
    /// How engines in hardware reach the header; `None` for machines that run steps one operation after the other.
    pub header: Option<HeaderPorts>,
}

/// The ports of a header memory. All reads of a step happen at its beginning, all writes at its end; a port serves
/// accesses within a run of bytes that begins at any byte (see [`ports`](crate::analysis::ports)).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HeaderPorts {
    /// How many runs a step can read. At least 1.
    pub reads: u32,
    /// How many runs a step can write. At least 1.
    pub writes: u32,
    /// Length of a run in bytes. At least 1.
    pub bytes: u32,
}

impl HeaderPorts {
    /// So many ports of 16 bytes.
    pub fn new(reads: u32, writes: u32) -> Self {
        Self { reads, writes, bytes: 16 }
    }
}

/// A pass.
#[derive(Clone, Copy, Debug)]
pub struct Pass {
    /// Its name, as in `--ir NAME`.
    pub name: &'static str,
    /// What it does, in a sentence.
    pub doc: &'static str,
    /// Runs it. The program must verify; it does afterwards.
    pub run: fn(&mut Program, &PassOptions),
}

/// Every pass, by name.
pub const PASSES: &[Pass] = &[
    Pass {
        name: "if-convert",
        doc: "Flattens structured `if` to guards on effects and selects between values.",
        run: if_convert::run,
    },
    Pass { name: "fold", doc: "Folds constants and simplifies by algebraic identities.", run: fold::run },
    Pass { name: "cse", doc: "Computes and reads once what is computed or read twice.", run: cse::run },
    Pass {
        name: "narrow",
        doc: "Computes only the bits that can differ and that are looked at.",
        run: narrow::run,
    },
    Pass { name: "dce", doc: "Removes what has no effect and is not used.", run: dce::run },
    Pass {
        name: "resize",
        doc: "Makes insertions and removals behind byte 0 of pushes, pops and moves, for hardware whose header windows grow and shrink at the front.",
        run: resize::run,
    },
    Pass {
        name: "window",
        doc: "Computes in the engine what calls make of the header window, for hardware that keeps it apart from what lies behind.",
        run: window::run,
    },
    Pass {
        name: "fields",
        doc: "Cuts header fields that are longer than a header port serves; tells apart the places that a write can have.",
        run: fields::run,
    },
    Pass {
        name: "fuse",
        doc: "Does what the next step does at once, where hardware then takes fewer slots.",
        run: fuse::run,
    },
    Pass {
        name: "ungate",
        doc: "Takes conditions off context writes and calls that do no harm without them.",
        run: ungate::run,
    },
    Pass {
        name: "split",
        doc: "Schedules calls and effects, splits steps whose calls depend on each other, and forms regions.",
        run: split::run,
    },
    Pass {
        name: "clean",
        doc: "Threads jumps through empty steps, removes steps and context that nobody reaches.",
        run: clean::run,
    },
];

/// The pass of that name.
pub fn pass(name: &str) -> Option<&'static Pass> {
    PASSES.iter().find(|p| p.name == name)
}
