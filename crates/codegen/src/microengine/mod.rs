//! Step IR to microcode of an IXP1200.
//!
//! Every context of four engines is a thread that takes a packet through all its steps
//! (runtime.uc). [`layout`] places tables in SRAM and SDRAM; `lower` writes the steps, with `words`
//! for values of any width, `frame` for fields of the packet and `calls` for offloads. The result
//! is text for the assembler, which finds the places of registers.

mod calls;
mod code;
mod context;
mod elements;
mod frame;
pub mod layout;
mod lower;
mod resize;
mod routines;
mod spill;
pub mod trie;
mod wide;
mod words;

use wireloom_ir::Program;

use code::Code;
pub use layout::{Layout, Memories, Place, THREADS, Unit};
pub use lower::{RUNAWAY, Refused};

/// A program as microcode.
#[derive(Clone, Debug)]
pub struct Microcode {
    /// The text, for engines 0 to 3.
    pub text: String,
    /// The set and the value of each reason, by its number in control words.
    pub reasons: Vec<(u32, u16)>,
}

/// The most reasons that control words can tell apart.
const MOST_REASONS: usize = 1 << 16;

/// Writes a program whose steps are in the form of regions.
///
/// # Errors
/// What has no place.
pub fn generate(program: &Program, layout: &Layout) -> Result<Microcode, Vec<Refused>> {
    let mut code = Code::new(&frame::PINNED);
    let mut reasons = Vec::new();
    let words = lower::steps(program, layout, &mut code, &mut reasons)?;
    let whole = |message: String| vec![Refused { offload: None, step: None, message }];
    if words > frame::CONTEXT {
        return Err(whole(format!(
            "the context and its values need {words} words of a thread's {}",
            frame::CONTEXT
        )));
    }
    if reasons.len() > MOST_REASONS {
        return Err(whole(format!("there are more than {MOST_REASONS} reasons")));
    }
    let (declared, steps) = code.finish();
    let engine = &program.engines[program.main.index()];
    let name = &engine.name;
    let emits = if context::emits(engine) { "#define EMITS 1\n" } else { "" };
    let runtime = include_str!("runtime.uc");
    let text = format!(
        "; Engine `{name}`, written by Wireloom from the step IR.\n\
         {emits}{runtime}\n{declared}\n{steps}"
    );
    Ok(Microcode { text, reasons })
}
