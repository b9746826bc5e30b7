//! Engines in Loom C on the chip: their microcode in the control stores, and their tables in the
//! memories.

use std::collections::HashMap;
use std::path::Path;

use wireloom_codegen_microengine::{
    self as microengine, Layout, Local, Memories, Microcode, RUNAWAY, Refused, Target,
};
use wireloom_ir::{Reason, ReasonSetId};
use wireloom_isa::microengine::{Image, Version};
use wireloom_machine::{Error, Options, Pauses, Program};
use wireloom_offloads::Store;
use wireloom_sim::{EnergyMeter, Time};

use crate::assertions::{self, Rule};
use crate::energy;
use crate::engine::Program as Stored;
use crate::machine::Ixp;
use crate::processor::Processor;
use crate::spec::{Assignment, MPKT_BYTES, Spec};
use crate::tables::Tables;
use crate::watch::Sources;

/// The most threads on version 1: two for each element of the receive FIFO.
const THREADS: u32 = 32;
/// The most threads on version 2: a request can name no more.
const THREADS_2: u32 = 128;

/// An engine in Loom C, compiled for this chip.
pub struct Compiled {
    /// The image of each part.
    images: Vec<Image>,
    /// Whether the parts form a chain, in which each packet moves from part to part.
    is_chain: bool,
    /// The number of engines for each part, and the number of contexts that they run.
    engines: u32,
    contexts: u32,
    layout: Layout,
    reasons: Vec<(u32, u16)>,
    /// The assembler texts of the images.
    texts: Vec<String>,
    /// The source files in Loom C.
    files: Vec<String>,
    /// The clock of the engine, if times end at ticks.
    pauses: Option<Pauses>,
}

/// Compiles an engine, with the contents of its tables.
///
/// # Errors
/// The parts of the program that do not fit, each with the reason.
pub fn compile(
    spec: &Spec,
    program: &Program,
    store: &mut Store,
) -> Result<Compiled, Vec<Refused>> {
    let pauses = Pauses::of(&program.optimised);
    let inlined = microengine::inline(&program.optimised)?;
    let program = &inlined.program;
    let whole = |what: &str| {
        let name = &program.engines[program.main.index()].name;
        let message = format!("engine {name} does not fit into {}: {what}", spec.name);
        vec![Refused { offload: None, step: None, message }]
    };
    let target = target(spec).map_err(|what| whole(&what))?;
    let contexts = target.contexts();
    let most = match target {
        Target::One { .. } => THREADS.min(contexts * spec.engines),
        Target::Two { .. } => THREADS_2.min(contexts * spec.engines),
    };
    let mut memories = Memories {
        sram: spec.sram.bytes / 4,
        sdram: spec.sdram.bytes / 4,
        scratch: spec.scratch.bytes / 4,
        version: spec.engine.version,
        threads: most,
        frame: microengine::FRAME,
    };
    let mut layout = microengine::place(program, store, memories)?;
    let words = spec.engine.control_store as usize;
    let steps = program.engines[program.main.index()].steps.len();
    let mut local = match target {
        Target::One { .. } => Local::of_scratchpad(layout.near),
        Target::Two { .. } => Local::of(target.local()),
    };
    // The registers that each step may use for its values. The number falls while the assembler
    // runs out of registers.
    let mut kept = vec![microengine::KEPT[0]; steps];
    let mut assembled = HashMap::new();
    // The size of a step is known only after register allocation, and is at first overestimated: so
    // the budget starts a little above the control store and shrinks.
    let mut room = words + words / 16;
    let mut microcode = microengine::generate(&inlined, &layout, &kept, local)?;
    loop {
        if microcode.frame > layout.frame {
            memories.frame = microcode.frame;
            layout = microengine::place(program, store, memories)?;
            microcode = microengine::generate(&inlined, &layout, &kept, local)?;
            continue;
        }
        // In a chain each context of every part holds a packet.
        let chained = spec.engines.min(most / contexts);
        let cut = microcode.cut(room, chained, target).map_err(|refused| vec![refused])?;
        let parts = cut.parts.len() as u32;
        let less = local.of_part(cut.is_chain);
        if parts > 1 && less != local {
            local = less;
            microcode = microengine::generate(&inlined, &layout, &kept, local)?;
            continue;
        }
        let engines = match cut.is_chain {
            true => chained / parts,
            false => (spec.engines / parts).min(most / contexts),
        };
        if engines == 0 {
            return Err(whole(&format!(
                "its steps need {parts} control stores of {words} words, and there are {} engines",
                spec.engines
            )));
        }
        let text = |number| microcode.text(&cut, number, engines, target);
        let texts: Vec<String> = (0..cut.parts.len()).map(text).collect();
        match assemble(spec, &texts, &mut assembled) {
            Ok(images) => {
                let reasons = microcode.reasons;
                let files = program.files.clone();
                let is_chain = cut.is_chain;
                return Ok(Compiled {
                    images,
                    is_chain,
                    engines,
                    contexts,
                    layout,
                    reasons,
                    texts,
                    files,
                    pauses,
                });
            }
            Err((part, refused)) => {
                let is = |code| refused.diagnostics.iter().find(|error| error.code == code);
                let first = refused.diagnostics.first();
                let why = first.map_or("the assembler refuses it", |first| &first.message);
                if is(FULL).is_some() {
                    room -= words / 32;
                    continue;
                }
                let Some(error) = is(CROWDED) else { return Err(whole(why)) };
                // A register that steps share with a routine may be crowded by any of these steps.
                let steps = match Microcode::step_at(&texts[part], error.place.bytes.start) {
                    Some(step) => step..step + 1,
                    None => 0..kept.len(),
                };
                let most = kept[steps.clone()].iter().copied().max().unwrap_or_default();
                let fewer = microengine::KEPT.into_iter().find(|fewer| *fewer < most);
                let Some(fewer) = fewer else { return Err(whole(why)) };
                kept[steps].iter_mut().for_each(|kept| *kept = fewer.min(*kept));
                microcode = microengine::generate(&inlined, &layout, &kept, local)?;
            }
        }
    }
}

/// The target that the microengines of a chip are for programs in Loom C.
///
/// # Errors
/// A sentence that says what the chip lacks.
fn target(spec: &Spec) -> Result<Target, String> {
    let [_, elements] = spec.elements();
    let target = match spec.engine.version {
        Version::One => Target::One { elements },
        Version::Two => Target::Two { elements },
    };
    let contexts = target.contexts();
    if spec.engine.contexts < contexts {
        return Err(format!("programs in Loom C take engines of {contexts} contexts"));
    }
    if spec.scratch.bytes < microengine::SCRATCHPAD {
        let least = microengine::SCRATCHPAD;
        return Err(format!(
            "programs in Loom C take {least} bytes of scratchpad (`scratch.bytes`)"
        ));
    }
    match target {
        // One element must stay free.
        Target::One { elements: ..=1 } => {
            Err("programs in Loom C take two elements of the transmit FIFO at least \
                 (`fbi.transmit_elements`)"
                .into())
        }
        Target::One { .. } if !spec.ports.count.is_power_of_two() => {
            Err("programs in Loom C take a power of two of ports".into())
        }
        Target::Two { .. }
            if spec.msf.element_bytes != MPKT_BYTES || !elements.is_power_of_two() =>
        {
            Err("programs in Loom C take elements of 64 bytes, and a power of two of them in TBUF \
                 (`msf.element_bytes`, `msf.transmit_bytes`)"
                .into())
        }
        Target::Two { .. } if spec.msf.freelists != 1 => {
            Err("programs in Loom C take one list of threads (`msf.freelists`)".into())
        }
        _ => Ok(target),
    }
}

/// The assembler's codes for a full control store and for too many registers.
const FULL: &str = "U0304";
const CROWDED: &str = "U0305";

/// Assembles the texts of the parts that are not in `assembled` yet. An error names the part.
fn assemble(
    spec: &Spec,
    texts: &[String],
    assembled: &mut HashMap<String, Image>,
) -> Result<Vec<Image>, (usize, wireloom_microcode::Refused)> {
    let options = wireloom_microcode::Options {
        control_store: Some(spec.engine.control_store as usize),
        definitions: vec![("PORT_MASK".into(), (spec.ports.count - 1).to_string())],
        ..Default::default()
    };
    let mut none = |file: &Path| Err(format!("{} is not there", file.display()));
    let mut images = Vec::new();
    for (part, text) in texts.iter().enumerate() {
        if let Some(image) = assembled.get(text) {
            images.push(image.clone());
            continue;
        }
        // The text says which part it is and of how many, so an equal text also has an equal name.
        let name = file_name(part, texts.len());
        let image = wireloom_microcode::assemble(&name, text, &options, &mut none)
            .map_err(|refused| (part, refused))?;
        assembled.insert(text.clone(), image.clone());
        images.push(image);
    }
    Ok(images)
}

/// The file name of a part's text.
fn file_name(part: usize, parts: usize) -> String {
    if parts == 1 { "engine.uc".to_owned() } else { format!("part{part}.uc") }
}

impl Compiled {
    /// The assembler texts, with their names.
    pub fn named(&self) -> Vec<(String, String)> {
        let texts = self.texts.iter().enumerate();
        texts.map(|(part, text)| (file_name(part, self.texts.len()), text.clone())).collect()
    }

    /// The number of instructions of each part.
    pub fn words(&self) -> Vec<usize> {
        self.images.iter().map(|image| image.words.len()).collect()
    }

    /// The most packets in flight.
    pub fn threads(&self) -> u32 {
        let parts = if self.is_chain { self.images.len() as u32 } else { 1 };
        parts * self.engines * self.contexts
    }

    /// Starts a machine that runs the engine.
    ///
    /// # Errors
    /// If a number of the description is out of range.
    pub fn start(
        self,
        spec: &Spec,
        mut store: Store,
        options: &Options,
    ) -> wireloom_machine::Result<Ixp<EnergyMeter>> {
        let microcode = self.named();
        let mut programs = Vec::new();
        for image in self.images {
            let stored = Stored::load(image, spec.engine.control_store)
                .map_err(|refused| Error::new(refused.0))?;
            let contexts = ((1_u32 << self.contexts) - 1) as u8;
            programs.push((stored, contexts));
        }
        let engines = self.engines as usize;
        let programs: Vec<_> = match self.is_chain {
            true => std::iter::repeat_n(&programs, engines).flatten().cloned().collect(),
            false => programs.into_iter().flat_map(|own| vec![own; engines]).collect(),
        };
        let mut spec = spec.clone();
        if engines as u32 * self.contexts < spec.ports.count {
            // With fixed assignment, some ports would have no thread.
            spec.ports.assignment = Assignment::Any;
        }
        let (mut processor, rules) = started(&spec, programs, options)?;
        let tables = Tables::new(self.layout, &mut store);
        tables.write(&mut processor, &mut store).map_err(Error::new)?;
        let reasons = self.reasons.iter().map(|reason| match *reason {
            RUNAWAY => Reason::Runaway,
            (set, value) => Reason::Program(ReasonSetId(set), value),
        });
        let sources = Sources { microcode, loom: self.files };
        Ok(Ixp::new(processor, store, reasons.collect())
            .with_tables(tables)
            .with_pauses(self.pauses)
            .with_sources(sources)
            .with_rules(rules)
            .with_rate(options.rate))
    }
}

/// The least number of events that are kept when rules are checked.
const CHECKED: usize = 1 << 20;

/// Creates a chip with a program for each engine, and reads the assertions of the run. They are
/// checked over the events that the trace keeps.
pub(crate) fn started(
    spec: &Spec,
    programs: Vec<(Stored, u8)>,
    options: &Options,
) -> wireloom_machine::Result<(Processor<EnergyMeter>, Vec<Rule>)> {
    let rules = checked_rules(options)?;
    let least = if rules.is_empty() { 0 } else { CHECKED };
    let own = crate::Options {
        seed: options.seed.unwrap_or_default(),
        rate: options.rate,
        buffer: options.buffer,
        warm: options.warm,
        trace_events: options.events.max(least),
        energy_interval: options.interval_ns.map(Time::nanoseconds),
        ..Default::default()
    };
    let meter = energy::meter(spec, own.energy_interval).map_err(Error::new)?;
    let processor = Processor::with_energy(spec, programs, &own, meter).map_err(Error::new)?;
    Ok((processor, rules))
}

/// The assertions of a run.
fn checked_rules(options: &Options) -> wireloom_machine::Result<Vec<Rule>> {
    let mut rules = match options.assertions || options.rules.is_some() {
        true => assertions::rules(),
        false => Vec::new(),
    };
    if let Some(file) = &options.rules {
        let text = wireloom_files::read_text(file, wireloom_files::MAX_TEXT_BYTES);
        let text = text.map_err(|error| Error::new(format!("{}: {error}", file.display())))?;
        let own = assertions::parse(&text);
        rules.extend(own.map_err(|why| {
            Error::new(format!("{}:{}: {}", file.display(), why.line, why.problem))
                .with_help("`wireloom docs machines/ixp` describes the rules")
        })?);
    }
    Ok(rules)
}
