//! Engines in Loom C on the chip: their microcode in the control stores, their tables in the
//! memories.

use std::path::Path;

use wireloom_codegen::microengine::{self, Layout, Microcode, Place, RUNAWAY, Unit};
use wireloom_ir::{Reason, ReasonSetId};
use wireloom_machine::{Error, Options, Program, Result};
use wireloom_offloads::{Content, Store};

use crate::engine::Program as Stored;
use crate::machine::Ixp;
use crate::processor::Processor;
use crate::spec::Spec;

/// Engines that process packets.
const ENGINES: u32 = microengine::THREADS / 4;

/// Starts a machine with a compiled engine.
pub fn start(
    spec: &Spec,
    program: &Program,
    store: Store,
    microcode: Microcode,
    layout: Layout,
    options: &Options,
) -> Result<Ixp> {
    let engine = &program.optimised.engines[program.optimised.main.index()];
    let failed = |what: &str| {
        Error::new(format!("engine {} does not fit into {}: {what}", engine.name, spec.name))
    };
    if spec.engines < ENGINES || spec.engine.contexts < 4 || !spec.ports.count.is_power_of_two() {
        return Err(failed(
            "programs in Loom C take four engines of four contexts, and a power of two of ports",
        ));
    }
    std::fs::write("/tmp/x/engine.uc", &microcode.text).ok();
    let control_store = spec.engine.control_store;
    let assembling = wireloom_microcode::Options {
        control_store: Some(control_store as usize),
        optimise: true,
        definitions: vec![("PORT_MASK".into(), (spec.ports.count - 1).to_string())],
        ..Default::default()
    };
    let mut none = |file: &Path| Err(format!("{} is not there", file.display()));
    let image =
        wireloom_microcode::assemble("engine.uc", &microcode.text, &assembling, &mut none)
            .map_err(|refused| {
                let first = refused.diagnostics.first();
                failed(&first.map(|first| first.message.clone()).unwrap_or_default())
            })?;
    let stored = Stored::load(image, control_store).map_err(|refused| failed(&refused.0))?;
    let programs = vec![(stored, 0b1111); ENGINES as usize];
    let own = crate::Options { seed: options.seed.unwrap_or_default(), ..Default::default() };
    let mut processor =
        Processor::new(spec, programs, &own).map_err(|error| failed(&error.to_string()))?;
    for (unit, first, words) in &layout.images {
        let memory = match unit {
            Unit::Sram => processor.chip.sram.words_mut(),
            Unit::Sdram => processor.chip.sdram.words_mut(),
        };
        memory[*first as usize..][..words.len()].copy_from_slice(words);
    }
    let reasons = microcode.reasons.iter().map(|reason| match *reason {
        RUNAWAY => Reason::Runaway,
        (set, value) => Reason::Program(ReasonSetId(set), value),
    });
    Ok(Ixp::new(processor, store, reasons.collect()).with_tables(layout.places))
}

/// Takes what packets changed from the memories into the store.
pub fn read_back<E>(processor: &Processor<E>, places: &[Place], store: &mut Store) {
    for (place, slot) in places.iter().zip(&mut store.slots) {
        let Content::Kind { config, instance } = &mut slot.content else { continue };
        microengine::layout::read_back(config, instance.as_mut(), *place, |unit, word| {
            let words = match unit {
                Unit::Sram => processor.chip.sram.words(),
                Unit::Sdram => processor.chip.sdram.words(),
            };
            words[word as usize]
        });
    }
}
