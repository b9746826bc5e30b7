//! Elements at successive addresses, for `array` and `counter`.

use wireloom_bits::Bits;
use wireloom_offloads::{Config, Entry, EntryKey, Instance};

use crate::memory::{Memory, stride_of};
use crate::words;

/// The elements of an offload.
#[derive(Clone, Copy, Debug)]
pub struct Elements {
    /// The address of the first element.
    pub base: u32,
    /// The bytes from one element to the next.
    pub stride: u32,
    /// The number of elements.
    pub size: u32,
}

impl Elements {
    /// Takes memory for elements of this width and writes the instance's elements there.
    ///
    /// # Errors
    /// If the memory is too small.
    pub fn place(
        width: u32,
        config: &Config,
        instance: &dyn Instance,
        memory: &mut Memory,
    ) -> Result<Self, String> {
        let stride = stride_of(words::count(width));
        let size = config.param("size").low_u64() as u32;
        let mut rows = Vec::new();
        instance.for_each_row(&mut |row| {
            let entry = instance.entry(&row);
            if let EntryKey::Index(index) = entry.key {
                rows.push((index as usize, entry.value));
            }
        });
        let base = memory.elements(stride, size as usize, rows.into_iter())?;
        Ok(Self { base, stride, size })
    }

    /// Loads all elements into the instance. `value` returns the element at an address.
    pub fn read_back(&self, instance: &mut dyn Instance, mut value: impl FnMut(u32) -> Bits) {
        for index in 0..self.size {
            let value = value(self.base + index * self.stride);
            // The instance has an element at each index below the size.
            let _ = instance.load(Entry { key: EntryKey::Index(index.into()), value });
        }
    }
}
