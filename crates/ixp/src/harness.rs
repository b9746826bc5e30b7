//! Runs unit tests in microcode. A test program writes 1 into the mailbox on success, or a failure,
//! and ends.

use wireloom_isa::microengine::Image;
use wireloom_sim::{SpecError, Stop};

use crate::assertions::{self, Broken};
use crate::engine::Program;
use crate::options::Options;
use crate::processor::{Processor, RunError};
use crate::spec::Spec;
use crate::units::Refused;

/// The mailbox value of a passed test.
pub const PASSED: u32 = 1;

/// The number of events over which assertions are checked.
const EVENTS: usize = 1 << 16;

/// The cycle limit of a test.
const LIMIT: u64 = 1_000_000;

/// Why a test in microcode failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Failed {
    /// The description is wrong.
    #[error(transparent)]
    Spec(#[from] SpecError),
    /// The image cannot be loaded.
    #[error(transparent)]
    Load(#[from] Refused),
    /// The program did something undefined.
    #[error(transparent)]
    Run(#[from] RunError),
    /// The program wrote a failure into the mailbox and the two words after it.
    #[error(
        "the mailbox has {mailbox:#x} (expectation {}), the value was {value:#x}, expected was \
         {expected:#x}",
        mailbox >> 8
    )]
    Mailbox {
        /// The mailbox. Bits 15 to 8 are the number of the expectation.
        mailbox: u32,
        /// The actual value.
        value: u32,
        /// The expected value.
        expected: u32,
    },
    /// An assertion over the events of the simulator failed.
    #[error("the simulator breaks the rule `{}`: {}", .0.rule, .0.message)]
    Broken(Broken),
    /// The test did not end within the cycle limit.
    #[error("the program has not ended after {LIMIT} cycles")]
    Endless,
}

/// Runs a test on these contexts of engine 0. Returns the machine after the run.
///
/// # Errors
/// If the test failed.
pub fn run(spec: &Spec, image: Image, contexts: u8) -> Result<Processor, Failed> {
    let program = Program::load(image, spec.engine.control_store)?;
    let options = Options { trace_events: EVENTS, ..Options::default() };
    let mut machine = Processor::new(spec, vec![(program, contexts)], &options)?;
    let stop = machine.run_cycles(LIMIT)?;
    let rules = assertions::rules();
    let broken = assertions::check(&rules, &machine.chip.trace, stop == Stop::Silent);
    if let Some(broken) = broken.into_iter().next() {
        return Err(Failed::Broken(broken));
    }
    let mailbox = machine.chip.fbi.mailbox();
    match (mailbox[0], stop) {
        (PASSED, Stop::Silent) => Ok(machine),
        (0 | PASSED, _) => Err(Failed::Endless),
        (code, _) => {
            Err(Failed::Mailbox { mailbox: code, value: mailbox[1], expected: mailbox[2] })
        }
    }
}
