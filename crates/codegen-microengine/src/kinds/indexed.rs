//! Contents with an index: elements of arrays and counters, and words of filters.

use wireloom_bits::Bits;
use wireloom_offloads::{Config, Entry, EntryKey, Instance, StateRow};

use super::declared::size;
use crate::calls::Call;
use crate::kind::Wanted;
use crate::memory::Elements;
use crate::operand::Operand;
use crate::unit::{Region, Unit};
use crate::words::{self, Words, bits, halves};

/// The most words that one command reads, and thus the most words of an element.
const COMMAND: usize = 8;

/// Elements of `words` words each, in a stride of a power of two of words.
#[derive(Clone, Copy)]
pub struct Indexed {
    pub words: usize,
    /// The width of a value in bits.
    pub width: u32,
}

impl Indexed {
    fn stride(self) -> usize {
        self.words.next_power_of_two()
    }

    /// Returns the words of all elements, or `None` if an element is too wide.
    pub fn all(self, config: &Config) -> Option<u64> {
        (self.words <= COMMAND).then_some(size(config) * self.stride() as u64)
    }

    /// Returns the memory that they need, in one of these memories.
    ///
    /// # Errors
    /// If an element is too wide.
    pub fn wanted(self, config: &Config, units: &[Unit]) -> Result<Option<Wanted>, String> {
        let words = self.all(config).ok_or("a command reads 8 words at most")?;
        Ok(Some(Wanted::fixed(units, words)))
    }

    /// Returns where the elements are.
    pub fn elements(self, config: &Config, region: Region) -> Elements {
        let Region { unit, first: base, .. } = region;
        Elements { unit, base, shift: self.stride().trailing_zeros(), size: size(config) as u32 }
    }

    /// Returns the elements of an instance as words. `arrange` takes the words of a value, the low
    /// word first, to their order in memory.
    pub fn image(
        self,
        instance: &dyn Instance,
        region: Region,
        arrange: impl Fn(&mut [u32]),
    ) -> Vec<u32> {
        rows(instance, region.words, self.stride(), |row, words| {
            let value = instance.entry(row).value;
            words.iter_mut().zip(halves(&value)).for_each(|(word, half)| *word = half);
            arrange(words);
        })
    }

    /// Reads the element at the call's first argument; 0 if there is none at the index.
    pub fn read(self, call: &mut Call<'_, '_>) -> Words {
        let elements = self.elements(call.config, call.region());
        let lower = &mut *call.lower;
        let index = lower.get(call.args[0]);
        let result = words::registers(lower.code, self.width);
        result.iter().for_each(|word| lower.code.set(*word, Operand::Number(0)));
        let outside = lower.code.label();
        let offset = elements.offset(lower.code, &index, outside);
        let read = elements.read(lower.code, offset, words::count(self.width));
        for (result, word) in result.iter().zip(read) {
            lower.code.set(*result, word.into());
        }
        lower.code.place(outside);
        words::of(&result)
    }

    /// Copies the elements into an instance. `restore` undoes `arrange` of [`Indexed::image`].
    pub fn read_back(
        self,
        config: &Config,
        instance: &mut dyn Instance,
        region: Region,
        word: &dyn Fn(u32) -> u32,
        restore: impl Fn(&mut [u32]),
    ) {
        let Elements { base, shift, size, .. } = self.elements(config, region);
        for index in 0..size {
            let at = base + (index << shift);
            let mut words: Vec<u32> = (at..at + self.words as u32).map(word).collect();
            restore(&mut words);
            let key = EntryKey::Index(index.into());
            // Every index is within the size.
            let _ = match words.iter().all(|word| *word == 0) {
                true => instance.unload(&key).map(|_| ()),
                false => instance.load(Entry { key, value: bits(self.width, &words) }),
            };
        }
    }
}

/// Returns `words` words in parts of `stride` words. Each row of an instance fills the part of its
/// index; the other parts are 0.
pub fn rows(
    instance: &dyn Instance,
    words: u32,
    stride: usize,
    mut fill: impl FnMut(&StateRow, &mut [u32]),
) -> Vec<u32> {
    let mut image = vec![0; words as usize];
    instance.for_each_row(&mut |row| {
        if let EntryKey::Index(index) = row.key {
            fill(&row, &mut image[index as usize * stride..][..stride]);
        }
    });
    image
}

/// Copies words into an instance whose elements are single words.
pub fn load_words(instance: &mut dyn Instance, words: impl Iterator<Item = u32>) {
    for (index, word) in (0..).zip(words) {
        let value = Bits::new(32, word.into());
        // Every index is within the size.
        let _ = instance.load(Entry { key: EntryKey::Index(index), value });
    }
}
