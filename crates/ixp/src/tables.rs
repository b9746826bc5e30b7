//! The tables of an engine in Loom C in the chip's memories. They are written at the start, changed
//! by the control plane between two packets, and read back.

use wireloom_codegen_microengine::{Image, Layout, Unit, slots};
use wireloom_machine::Snapshot;
use wireloom_offloads::{Store, Update};
use wireloom_sim::EnergySink;

use crate::processor::Processor;

/// The memory layout of the tables.
#[derive(Clone, Debug, Default)]
pub struct Tables {
    layout: Layout,
}

impl Tables {
    /// Creates tables with this layout.
    pub fn new(layout: Layout) -> Self {
        Self { layout }
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
            self.layout.read_back(number, &mut slot, |unit, word| {
                let words = match unit {
                    Unit::Sram => processor.chip.sram.words(),
                    Unit::Sdram => processor.chip.sdram.words(),
                    Unit::Scratch => processor.chip.scratch.words(),
                };
                words[word as usize]
            });
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
    let memory = match image.unit {
        Unit::Sram => processor.chip.sram.words_mut(),
        Unit::Sdram => processor.chip.sdram.words_mut(),
        Unit::Scratch => processor.chip.scratch.words_mut(),
    };
    memory[image.first as usize..][..image.words.len()].copy_from_slice(&image.words);
}
