//! The passes over the step IR. Each pass has its own file and name and can run alone.
//!
//! [`pipeline`](crate::pipeline) lists the order in which they run by default.

use wireloom_ir::Program;

use crate::analysis::ports::HeaderPorts;

pub mod clean;
pub mod cse;
pub mod dce;
pub mod evaluate;
pub mod exits_first;
pub mod fields;
pub mod fold;
pub mod fuse;
pub mod if_convert;
pub mod narrow;
pub mod park;
pub mod resize;
pub mod scatter;
mod sequence;
pub mod split;
pub mod ungate;
pub mod window;

/// The capabilities of the target machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct PassOptions {
    /// How engines in hardware access the header. `None` for machines that execute a step one
    /// operation at a time.
    pub header: Option<HeaderPorts>,
    /// The kinds whose functions a service of the machine computes, by name. Their calls stay calls
    /// (see [`evaluate`]).
    pub served: &'static [&'static str],
    /// Whether the machine has no arrays in its threads' context. They then become variables (see
    /// [`scatter`]).
    pub scalars: bool,
}

impl PassOptions {
    /// Returns the options for engines in hardware with these header ports. Each engine has its own
    /// exclusive ORs for hashes, but they share the multipliers that a random number takes.
    pub fn hardware(ports: HeaderPorts) -> Self {
        Self { header: Some(ports), served: &["random"], scalars: true }
    }

    /// Returns the options for hardware with these header ports, or for software if there are none.
    pub fn for_ports(ports: Option<HeaderPorts>) -> Self {
        ports.map_or_else(Self::default, Self::hardware)
    }
}

#[derive(Clone, Copy, Debug)]
pub struct Pass {
    /// The name, as in `--ir NAME`.
    pub name: &'static str,
    /// A sentence that describes the pass.
    pub doc: &'static str,
    /// Runs the pass. The program must verify before, and verifies afterwards.
    pub run: fn(&mut Program, &PassOptions),
}

/// Every pass, by name.
pub const PASSES: &[Pass] = &[
    Pass {
        name: "evaluate",
        doc: "Makes calls of functions (hash, clock, random) operations, which split no step.",
        run: evaluate::run,
    },
    Pass {
        name: "scatter",
        doc: "Makes variables of context arrays, for machines whose threads have no arrays.",
        run: scatter::run,
    },
    Pass {
        name: "if-convert",
        doc: "Flattens structured `if` to guards on effects and selects between values.",
        run: if_convert::run,
    },
    Pass {
        name: "fold",
        doc: "Folds constants and simplifies by algebraic identities.",
        run: fold::run,
    },
    Pass { name: "cse", doc: "Computes and reads each value once.", run: cse::run },
    Pass {
        name: "narrow",
        doc: "Computes only the bits that can vary and that are used.",
        run: narrow::run,
    },
    Pass {
        name: "dce",
        doc: "Removes operations without effect whose results are not used.",
        run: dce::run,
    },
    Pass {
        name: "park",
        doc: "Splits the calls that keep and take packets into parts, for hardware that stores the header window apart from the payload.",
        run: park::run,
    },
    Pass {
        name: "resize",
        doc: "Replaces insertions and removals after byte 0 by pushes, pops and moves, for hardware whose header windows grow and shrink at the front.",
        run: resize::run,
    },
    Pass {
        name: "window",
        doc: "Computes in the engine how calls change the header window, for hardware that stores it apart from the payload.",
        run: window::run,
    },
    Pass {
        name: "fields",
        doc: "Cuts header fields that are longer than a header port serves; splits a write that has two possible positions.",
        run: fields::run,
    },
    Pass {
        name: "fuse",
        doc: "Merges a step with the next one where hardware then takes fewer slots.",
        run: fuse::run,
    },
    Pass {
        name: "ungate",
        doc: "Removes guards from context writes and calls that are harmless without them.",
        run: ungate::run,
    },
    Pass {
        name: "split",
        doc: "Schedules calls and effects, splits steps whose calls depend on each other, and forms regions.",
        run: split::run,
    },
    Pass {
        name: "clean",
        doc: "Threads jumps through empty steps; removes unreachable steps and unused context.",
        run: clean::run,
    },
];

/// Returns the pass of this name.
pub fn pass(name: &str) -> Option<&'static Pass> {
    PASSES.iter().find(|p| p.name == name)
}
