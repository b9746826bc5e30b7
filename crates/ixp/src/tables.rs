//! The tables of an engine in Loom C in the chip's memories. They are written at the start, changed
//! by the control plane between two packets, and read back.

use wireloom_codegen_microengine::{Image, Layout, Unit, slots};
use wireloom_machine::Snapshot;
use wireloom_offloads::{Config, Store, Update};
use wireloom_sim::EnergySink;

use crate::processor::Processor;

/// The memory layout of the tables.
#[derive(Clone, Debug, Default)]
pub struct Tables {
    layout: Layout,
    /// The declarations of the offloads.
    configs: Vec<Config>,
}

impl Tables {
    /// Creates tables with this layout, of a store with these offloads.
    pub fn new(layout: Layout, store: &mut Store) -> Self {
        let configs = slots(store).into_iter().map(|slot| slot.config.clone()).collect();
        Self { layout, configs }
    }

    /// Writes all tables into the memories.
    ///
    /// # Errors
    /// The first table that does not fit any more.
    pub fn write<E: EnergySink>(
        &self,
        processor: &mut Processor<E>,
        store: &mut Store,
    ) -> Result<(), String> {
        // Every image is built before the first one is written, so a table that does not fit
        // changes nothing.
        let mut images = self.layout.fixed.clone();
        for (number, mut slot) in slots(store).into_iter().enumerate() {
            let image = self.layout.image(number, &mut slot);
            images.extend(image.map_err(|why| format!("`{}`: {why}", slot.path))?);
        }
        images.iter().for_each(|image| put(processor, image));
        Ok(())
    }

    /// Copies state that packets changed from the memories into the store: of the offload with this
    /// path, or of all offloads.
    pub fn read_back<E>(&self, processor: &Processor<E>, store: &mut Store, path: Option<&str>) {
        for (number, mut slot) in slots(store).into_iter().enumerate() {
            if path.is_some_and(|path| path != slot.path) {
                continue;
            }
            self.layout.read_back(number, &mut slot, |unit, at| word(processor, unit, at));
        }
    }

    /// Copies the times for which steps run from the memories into the store.
    pub fn read_timers<E>(&self, processor: &Processor<E>, store: &mut Store) {
        for (number, mut slot) in slots(store).into_iter().enumerate() {
            if slot.config.has_step() {
                self.layout.read_back(number, &mut slot, |unit, at| word(processor, unit, at));
            }
        }
    }

    /// Returns when the next time ends for which a step runs, in nanoseconds.
    pub fn next_due<E>(&self, processor: &Processor<E>) -> Option<u64> {
        let next = |(number, config): (usize, &Config)| {
            self.layout.next_due(number, config, |unit, at| word(processor, unit, at))
        };
        self.configs.iter().enumerate().filter_map(next).min()
    }

    /// Advances the offloads whose times end at ticks to engine time. No packet may be in the chip.
    pub fn pass_tick<E: EnergySink>(&self, processor: &mut Processor<E>, now_ns: u64) {
        for (number, config) in self.configs.iter().enumerate() {
            if let Some(unit) = self.layout.ticks_in(number, config) {
                self.layout.pass_tick(number, config, now_ns, words_mut(processor, unit));
            }
        }
    }

    /// Sets the difference between the sequence number of the packets that the chip takes next and
    /// their number on the chip. No packet may be in the chip.
    pub fn number_from<E>(&self, processor: &mut Processor<E>, difference: u64) {
        if let Some(first) = self.layout.numbers {
            let words = [difference as u32, (difference >> 32) as u32];
            words_mut(processor, Unit::Sram)[first as usize..][..2].copy_from_slice(&words);
        }
    }

    /// Changes a table entry. No packet may be in the chip.
    ///
    /// # Errors
    /// If the update does not suit its offload, or if there is no room. Nothing changes then.
    pub fn update<E: EnergySink>(
        &self,
        processor: &mut Processor<E>,
        store: &mut Store,
        update: &Update,
    ) -> Result<(), String> {
        self.read_back(processor, store, Some(&update.offload));
        let find =
            |store: &mut Store| slots(store).iter().position(|slot| slot.path == update.offload);
        let number = find(store);
        let before = number.map(|number| slots(store)[number].instance.duplicate());
        update.apply(store).map_err(|refused| refused.0)?;
        let Some((number, before)) = number.zip(before) else { return Ok(()) };
        let slot = &mut slots(store)[number];
        match self.layout.image(number, slot) {
            Ok(image) => {
                image.iter().for_each(|image| put(processor, image));
                Ok(())
            }
            Err(why) => {
                slot.instance.assign(before.as_ref());
                Err(format!("`{}`: {why}", update.offload))
            }
        }
    }

    /// Writes the state of a snapshot to the chip. No packet may be in the chip.
    ///
    /// # Errors
    /// If the snapshot is of another program, or if it has no room. Nothing changes then.
    pub fn restore<E: EnergySink>(
        &self,
        processor: &mut Processor<E>,
        store: &mut Store,
        snapshot: &Snapshot,
    ) -> wireloom_machine::Result {
        let mut restored = store.clone();
        snapshot.restore(&mut restored)?;
        self.write(processor, &mut restored).map_err(wireloom_machine::Error::new)?;
        *store = restored;
        Ok(())
    }
}

fn put<E>(processor: &mut Processor<E>, image: &Image) {
    let memory = words_mut(processor, image.unit);
    memory[image.first as usize..][..image.words.len()].copy_from_slice(&image.words);
}

fn words_mut<E>(processor: &mut Processor<E>, unit: Unit) -> &mut [u32] {
    match unit {
        Unit::Sram => processor.chip.sram.words_mut(),
        Unit::Sdram => processor.chip.sdram.words_mut(),
        Unit::Scratch => processor.chip.scratch.words_mut(),
    }
}

fn word<E>(processor: &Processor<E>, unit: Unit, at: u32) -> u32 {
    let words = match unit {
        Unit::Sram => processor.chip.sram.words(),
        Unit::Sdram => processor.chip.sdram.words(),
        Unit::Scratch => processor.chip.scratch.words(),
    };
    words[at as usize]
}
