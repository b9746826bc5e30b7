//! Engines in Loom C on the chip: their microcode in the control stores, their tables in the
//! memories.

use std::path::Path;

use wireloom_codegen::microengine::{
    self, Layout, Memories, Microcode, Place, RUNAWAY, Refused, Unit,
};
use wireloom_ir::{Reason, ReasonSetId};
use wireloom_isa::microengine::Image;
use wireloom_machine::{Error, Options, Program};
use wireloom_offloads::{Content, Store};
use wireloom_sim::{EnergyMeter, Time};

use crate::energy;
use crate::engine::Program as Stored;
use crate::machine::Ixp;
use crate::processor::Processor;
use crate::spec::Spec;

/// Engines that process packets.
const ENGINES: u32 = microengine::THREADS / 4;

/// An engine in Loom C for this chip.
pub struct Compiled {
    image: Image,
    layout: Layout,
    reasons: Vec<(u32, u16)>,
    /// The text that the image is assembled from.
    pub text: String,
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
    let program = &program.optimised;
    let whole = |what: &str| {
        let name = &program.engines[program.main.index()].name;
        let message = format!("engine {name} does not fit into {}: {what}", spec.name);
        vec![Refused { offload: None, step: None, message }]
    };
    if spec.engines < ENGINES || spec.engine.contexts < 4 || !spec.ports.count.is_power_of_two() {
        return Err(whole(
            "programs in Loom C take four engines of four contexts, and a power of two of ports",
        ));
    }
    let memories = Memories { sram: spec.sram.bytes / 4, sdram: spec.sdram.bytes / 4 };
    let layout = microengine::layout::place(program, store, memories)?;
    let Microcode { text, reasons } = microengine::generate(program, &layout)?;
    let options = wireloom_microcode::Options {
        control_store: Some(spec.engine.control_store as usize),
        optimise: true,
        definitions: vec![("PORT_MASK".into(), (spec.ports.count - 1).to_string())],
        ..Default::default()
    };
    let mut none = |file: &Path| Err(format!("{} is not there", file.display()));
    match wireloom_microcode::assemble("engine.uc", &text, &options, &mut none) {
        Ok(image) => Ok(Compiled { image, layout, reasons, text }),
        Err(refused) => {
            let first = refused.diagnostics.first();
            Err(whole(first.map_or("the assembler refuses it", |first| &first.message)))
        }
    }
}

impl Compiled {
    /// Starts a machine with it.
    ///
    /// # Errors
    /// If a number of the description is out of its range.
    pub fn start(
        self,
        spec: &Spec,
        store: Store,
        options: &Options,
    ) -> wireloom_machine::Result<Ixp<EnergyMeter>> {
        let stored = Stored::load(self.image, spec.engine.control_store)
            .map_err(|refused| Error::new(refused.0))?;
        let programs = vec![(stored, 0b1111); ENGINES as usize];
        let energy_interval = options.interval_ns.map(Time::nanoseconds);
        let seed = options.seed.unwrap_or_default();
        let own = crate::Options { seed, energy_interval, ..Default::default() };
        let meter = energy::meter(spec, energy_interval).map_err(Error::new)?;
        let mut processor =
            Processor::with_energy(spec, programs, &own, meter).map_err(Error::new)?;
        for (unit, first, words) in &self.layout.images {
            let memory = match unit {
                Unit::Sram => processor.chip.sram.words_mut(),
                Unit::Sdram => processor.chip.sdram.words_mut(),
            };
            memory[*first as usize..][..words.len()].copy_from_slice(words);
        }
        let reasons = self.reasons.iter().map(|reason| match *reason {
            RUNAWAY => Reason::Runaway,
            (set, value) => Reason::Program(ReasonSetId(set), value),
        });
        Ok(Ixp::new(processor, store, reasons.collect()).with_tables(self.layout.places))
    }
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
