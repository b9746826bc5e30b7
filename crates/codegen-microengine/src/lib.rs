//! Step IR to microcode of an IXP1200, and of an IXP2400 or IXP2800.
//!
//! A thread is a context that takes a packet through all its steps (thread.uc; receive.uc,
//! finish.uc, send.uc and resume.uc). Steps that do not fit into one control store are spread over
//! engines (`spread`, chain.uc, handover.uc). `layout` places tables in the memories. `steps`
//! writes the steps, with `words` for values of any width, `frame_access` for fields of the packet
//! and `kinds` for offloads. The result is text for the assembler, which allocates registers.
//! `version2` translates it for version 2.
//!
//! [`place`] and `steps` look up the kinds of the program's offloads once. Everything below them
//! gets these kinds, and knows no list of kinds.

mod branches;
mod bursts;
mod calls;
mod check;
mod code;
mod cold_exits;
mod commands;
mod context_handover;
mod elements;
mod elide_waits;
mod exits;
mod fixed_fields;
mod flow;
mod frame;
mod frame_access;
mod hoist_reads;
mod inline;
mod kind;
mod kinds;
mod layout;
mod local;
mod lower;
mod memory;
mod merge_waits;
mod offset_groups;
mod operand;
mod operations;
mod order;
mod resize;
mod routine;
mod routines;
mod spill;
mod spill_slots;
mod spread;
mod state;
mod step_facts;
mod steps;
mod unit;
mod values;
mod version2;
mod wide;
mod window;
mod window_home;
mod words;
mod writes;
mod written;
mod zero_tail;

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fmt::Write as _;

use wireloom_codegen::context;
use wireloom_ir::{Engine, Program};
use wireloom_isa::microengine::Version;
use wireloom_offloads::Store;

use elide_waits::elide_waits;
pub use exits::RUNAWAY;
pub use frame::WORDS as FRAME;
use hoist_reads::{Waits, hoist_reads};
pub use inline::{Inlined, inline};
pub use layout::scratchpad::SCRATCHPAD;
use layout::scratchpad::{COUNTER, ELEMENTS, MAIL, RECEIVE_ELEMENTS};
pub use layout::{Layout, Memories, Slot, slots};
use merge_waits::merge_waits;
pub use spill_slots::Local;
pub use spread::Cut;
pub use unit::{Image, Unit};
pub use wireloom_codegen::refused::Refused;
use written::Written;

/// The instruction that gets the port of a packet from its status.
const PORT: &str = "    alu[number, 31, AND, number]\n";

/// A program as microcode.
#[derive(Clone, Debug)]
pub struct Microcode<'a> {
    engine: &'a Engine,
    steps: Vec<Written>,
    /// Microcode that sets the multipliers of the hash unit.
    multipliers: String,
    /// The reason set and the value of each reason, by its number in control words.
    pub reasons: Vec<(u32, u16)>,
    /// The first word of a frame after the zeros that follow the window.
    cleared: u32,
    local: Local,
    /// For each step, the words of local memory with variables that it or a later step may read.
    live: Vec<BTreeSet<u32>>,
    /// The number of order gates, and the number of words of the scratchpad in each.
    gates: u32,
    ring: u32,
    first_gate: u32,
    /// The number of words of the scratchpad of each thread of version 1, and the first word of all
    /// threads.
    near: u32,
    first_near: u32,
    /// The number of words of a thread's frame, a power of two. If it is larger than in the
    /// [`Layout`], the program needs a layout with this frame.
    pub frame: u32,
}

/// The microengines that a program is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// Version 1, with four contexts.
    One {
        /// The number of elements of the transmit FIFO.
        elements: u32,
    },
    /// Version 2, with eight contexts.
    Two {
        /// The number of elements of TBUF, of 64 bytes each; a power of two.
        elements: u32,
    },
}

impl Target {
    /// Returns the number of words of local memory of a context.
    pub fn local(self) -> u32 {
        match self {
            Self::One { .. } => 0,
            Self::Two { .. } => Version::Two.sizes().local as u32 / self.contexts(),
        }
    }

    /// Returns the number of contexts of an engine.
    pub fn contexts(self) -> u32 {
        match self {
            Self::One { .. } => 4,
            Self::Two { .. } => 8,
        }
    }

    fn header(self) -> String {
        let bits = self.contexts().trailing_zeros();
        match self {
            Self::One { elements } => format!(
                ".version 1\n.optimise\n#define CONTEXT_BITS {bits}\n\
                 #define TRANSMIT_ELEMENTS {elements}\n#define MAIL {ELEMENTS}\n"
            ),
            Self::Two { elements } => format!(
                ".version 2\n.optimise\n#define VERSION_2 1\n#define CONTEXT_BITS {bits}\n\
                 #define TBUF_ELEMENTS {elements}\n#define TURN {}\n#define MAIL {}\n\
                 .sig memory arrived\n",
                4 * COUNTER,
                4 * MAIL,
            ),
        }
    }

    /// Returns the code that receives packets. In a program with timers, it also receives the
    /// packets that the core sends for them.
    fn receive(self, has_timers: bool) -> Cow<'static, str> {
        let receive = match self {
            Self::One { .. } => include_str!("receive.uc"),
            Self::Two { .. } => include_str!("receive2.uc"),
        };
        match has_timers {
            true => receive.replace(PORT, &[PORT, include_str!("timer.uc")].concat()).into(),
            false => receive.into(),
        }
    }

    fn send(self) -> String {
        let send = match self {
            Self::One { .. } => include_str!("send.uc"),
            Self::Two { .. } => include_str!("send2.uc"),
        };
        [include_str!("finish.uc"), send, include_str!("resume.uc")].concat()
    }
}

/// Places the offloads of a program in these memories, with their contents. Its engine must not
/// call engines.
///
/// # Errors
/// The offloads that do not fit or are not supported.
pub fn place(
    program: &Program,
    store: &mut Store,
    memories: Memories,
) -> Result<Layout, Vec<Refused>> {
    let kinds = kinds::of(slots(store).iter().map(|slot| slot.config));
    layout::place(program, store, memories, kinds)
}

/// The most reasons that control words can tell apart.
const MOST_REASONS: usize = 1 << 16;

/// The numbers of value words that a step may keep in registers, in the order of attempts. With
/// fewer words the assembler finds registers for all sooner.
pub const KEPT: [usize; 8] = [20, 17, 14, 11, 8, 5, 2, 0];

/// Generates a program whose steps have the form of regions. At most `kept` words of values are in
/// registers of each step at a time, besides the operands of an operation.
///
/// # Errors
/// The parts of the program that are refused.
pub fn generate<'a>(
    inlined: &'a Inlined,
    layout: &Layout,
    kept: &[usize],
    local: Local,
) -> Result<Microcode<'a>, Vec<Refused>> {
    let mut reasons = Vec::new();
    let program = &inlined.program;
    let (steps, words) = steps::steps(inlined, layout, kept, local, &mut reasons)?;
    let whole = |message: String| vec![Refused { offload: None, step: None, message }];
    if reasons.len() > MOST_REASONS {
        return Err(whole(format!("more than {MOST_REASONS} reasons are not supported")));
    }
    let engine = &program.engines[program.main.index()];
    let multipliers = layout.multipliers();
    let frame = words.next_power_of_two().max(layout.frame);
    let cleared = zero_tail::cleared(engine, &layout.kinds);
    let Layout { gates, ring, first_gate, near, first_near, .. } = *layout;
    let live = spill_slots::Homes::of(engine, local).live(engine);
    Ok(Microcode {
        live,
        engine,
        steps,
        multipliers,
        reasons,
        cleared,
        local,
        gates,
        ring,
        first_gate,
        near,
        first_near,
        frame,
    })
}

impl Microcode<'_> {
    /// Cuts the steps into as few parts as control stores of `store` words allow, for a chip with
    /// `engines` engines.
    ///
    /// # Errors
    /// A step that is too long for a control store.
    pub fn cut(&self, store: usize, engines: u32, target: Target) -> Result<Cut, Refused> {
        // Version 1 has no next-neighbour registers.
        let chained = match target {
            Target::One { .. } => 0,
            Target::Two { .. } => engines as usize,
        };
        spread::cut(self.engine, &self.steps, store, chained).map_err(|step| Refused {
            offload: None,
            step: Some(self.engine.steps[step].name.clone()),
            message: format!(
                "the step does not fit a control store: it needs {} words",
                self.steps[step].words
            ),
        })
    }

    /// Returns the macro that computes the address of a thread's words of the scratchpad.
    fn find_near(&self) -> String {
        if self.near == 0 {
            return String::new();
        }
        let mut text = format!(
            "#define NEAR_WORDS {}\n#macro find_near()\n    .begin\n    .reg part\n    immed[near, {}]\n",
            self.near, self.first_near
        );
        // Multiply the number of the thread by the number of words.
        for bit in (0..u32::BITS).filter(|bit| self.near >> bit & 1 == 1) {
            let _ = write!(
                text,
                "    alu_shf[part, --, B, thread, <<{bit}]\n    alu[near, near, +, part]\n"
            );
        }
        text + "    .end\n#endm\n"
    }

    /// Returns the number of the step that contains this byte of the text of a part.
    pub fn step_at(text: &str, byte: usize) -> Option<usize> {
        let rest = text.get(byte..)?;
        let label = rest.lines().find_map(|line| line.strip_prefix("step")?.strip_suffix("#:"))?;
        label.parse().ok()
    }

    /// Returns the text of a part, for `engines` engines. In a chain these are interleaved with the
    /// engines of the other parts; otherwise they follow the engines of all earlier parts.
    pub fn text(&self, cut: &Cut, number: usize, engines: u32, target: Target) -> String {
        let name = &self.engine.name;
        let parts = cut.parts.len();
        let first = if cut.is_chain { number as u32 } else { number as u32 * engines };
        let own = match cut.is_chain {
            true => format!("every {parts}th microengine from {first} on"),
            false => format!("microengines {first} to {}", first + engines - 1),
        };
        let mut text = format!(
            "; Engine `{name}`, written by Wireloom from the step IR: part {} of {parts}, for {own}.\n\
             {}{}{}{}{}{}#define ARRIVAL {}\n#define GATES {}\n#define FIRST_GATE {}\n\
             #define RING {}\n#define FIRST_THREAD {}\n#define FRAME_BITS {}\n#define STATE {}\n#define CLEARED {}\n{}{}\n{}\n",
            number + 1,
            target.header(),
            if number == 0 { "#define FIRST_PART 1\n" } else { "" },
            match (cut.is_chain, number + 1 == parts) {
                (true, true) => "#define CHAIN 1\n#define LAST_PART 1\n",
                (true, false) => "#define CHAIN 1\n",
                (false, _) => "",
            },
            match target {
                Target::One { .. } if engines * target.contexts() > RECEIVE_ELEMENTS => format!(
                    "#define SHARED_ELEMENTS {}\n",
                    engines * target.contexts() - RECEIVE_ELEMENTS
                ),
                _ => String::new(),
            },
            self.find_near(),
            match self.local.has_window {
                true => format!("#define WINDOW_BASE {}\n", self.local.window_base()),
                false => String::new(),
            },
            frame::ARRIVAL,
            self.gates,
            self.first_gate,
            self.ring,
            target.contexts() * first,
            self.frame.trailing_zeros(),
            frame::STATE,
            self.cleared,
            match (context::emits(self.engine), context::emits_pieces(self.engine)) {
                (_, true) => "#define EMITS 1\n#define PIECES 1\n",
                (true, false) => "#define EMITS 1\n",
                (false, false) => "",
            },
            if context::uses_arrival(self.engine) { "#define USES_ARRIVAL 1\n" } else { "" },
            include_str!("thread.uc"),
        );
        text.push_str(&self.multipliers);
        let threads = target.contexts() * engines;
        let steps = cut.part(self.engine, &self.steps, &self.live, number, threads);
        let runtime = match number {
            0 => [&target.receive(context::has_timers(self.engine)), &*target.send()].concat(),
            _ if cut.is_chain => target.send(),
            _ => String::new(),
        };
        // With several parts, the runtime reaches the first step by a branch.
        match parts {
            1 => text.extend([&runtime, "\n", &steps]),
            _ => text.extend([&steps, "\n", &runtime]),
        }
        let text = bursts::joined(&branches::fused(&text));
        match target {
            Target::One { .. } => elide_waits(&hoist_reads(&text, Waits::Ordered)),
            Target::Two { .. } => {
                version2::translated(&merge_waits(&hoist_reads(&text, Waits::Signals)))
            }
        }
    }
}
