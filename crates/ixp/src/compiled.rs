//! Engines in Loom C on the chip: their microcode in the control stores, their tables in the
//! memories.

use std::collections::HashMap;
use std::path::Path;

use wireloom_codegen_microengine::{
    self as microengine, Layout, Local, Memories, Microcode, RUNAWAY, Refused, Target,
};
use wireloom_ir::{Reason, ReasonSetId};
use wireloom_isa::microengine::{Image, Version};
use wireloom_machine::{Error, Options, Program};
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

/// Threads on version 1 at most: two for each element of the receive FIFO.
const THREADS: u32 = 32;
/// Threads on version 2 at most: the chip's requests can name so many.
const THREADS_2: u32 = 128;

/// An engine in Loom C for this chip.
pub struct Compiled {
    /// For each part.
    images: Vec<Image>,
    /// Whether engines of different parts take turns.
    is_chain: bool,
    /// Engines of each part, and their contexts.
    engines: u32,
    contexts: u32,
    layout: Layout,
    reasons: Vec<(u32, u16)>,
    /// The texts that the images are assembled from.
    texts: Vec<String>,
    /// The files in Loom C.
    files: Vec<String>,
}

/// Compiles an engine, with the contents of its tables.
///
/// # Errors
/// What has no place.
pub fn compile(
    spec: &Spec,
    program: &Program,
    store: &mut Store,
) -> Result<Compiled, Vec<Refused>> {
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
    let mut layout = microengine::layout::place(program, store, memories)?;
    let words = spec.engine.control_store as usize;
    let steps = program.engines[program.main.index()].steps.len();
    let mut local = match target {
        Target::One { .. } => Local::of_scratchpad(layout.near),
        Target::Two { .. } => Local::of(target.local()),
    };
    // For each step: with fewer registers for its values, the assembler finds places for all.
    let mut kept = vec![microengine::KEPT[0]; steps];
    let mut assembled = HashMap::new();
    // What a step takes is known only when its registers have places, and is less than it seems:
    // first there is a little more room, then less.
    let mut room = words + words / 16;
    let mut microcode = microengine::generate(&inlined, &layout, &kept, local)?;
    loop {
        if microcode.frame > layout.frame {
            memories.frame = microcode.frame;
            layout = microengine::layout::place(program, store, memories)?;
            microcode = microengine::generate(&inlined, &layout, &kept, local)?;
            continue;
        }
        // In a chain each context of every part has a packet.
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
                // A register that steps share with a routine is crowded by any of them.
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

/// The microengines of a chip, if they run programs in Loom C.
///
/// # Errors
/// What they lack.
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
        // One stays free.
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

/// The assembler's errors for a full control store, and for too many registers.
const FULL: &str = "U0304";
const CROWDED: &str = "U0305";

/// Assembles the texts of parts, if that was not done before. The error has the part.
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
        // A text says which part of how many it is, so a known one has its name.
        let name = file_name(part, texts.len());
        let image = wireloom_microcode::assemble(&name, text, &options, &mut none)
            .map_err(|refused| (part, refused))?;
        assembled.insert(text.clone(), image.clone());
        images.push(image);
    }
    Ok(images)
}

/// The name of the text of a part.
fn file_name(part: usize, parts: usize) -> String {
    if parts == 1 { "engine.uc".to_owned() } else { format!("part{part}.uc") }
}

impl Compiled {
    /// The texts that the images are assembled from, with their names.
    pub fn named(&self) -> Vec<(String, String)> {
        let texts = self.texts.iter().enumerate();
        texts.map(|(part, text)| (file_name(part, self.texts.len()), text.clone())).collect()
    }

    /// The instructions of each part.
    pub fn words(&self) -> Vec<usize> {
        self.images.iter().map(|image| image.words.len()).collect()
    }

    /// How many packets are worked on at a time.
    pub fn threads(&self) -> u32 {
        let parts = if self.is_chain { self.images.len() as u32 } else { 1 };
        parts * self.engines * self.contexts
    }

    /// Starts a machine with it.
    ///
    /// # Errors
    /// If a number of the description is out of its range.
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
            // No thread would ask for some of the ports.
            spec.ports.assignment = Assignment::Any;
        }
        let (mut processor, rules) = started(&spec, programs, options)?;
        let tables = Tables::new(self.layout);
        tables.write(&mut processor, &mut store).map_err(Error::new)?;
        let reasons = self.reasons.iter().map(|reason| match *reason {
            RUNAWAY => Reason::Runaway,
            (set, value) => Reason::Program(ReasonSetId(set), value),
        });
        let sources = Sources { microcode, loom: self.files };
        Ok(Ixp::new(processor, store, reasons.collect())
            .with_tables(tables)
            .with_sources(sources)
            .with_rules(rules)
            .with_rate(options.rate))
    }
}

/// Events that rules are checked over, at least.
const CHECKED: usize = 1 << 20;

/// Makes a chip with a program for each engine, and reads the rules that its run is held to: they are
/// checked over the events that are kept.
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

/// The rules that a run is held to.
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
