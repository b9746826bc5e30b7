//! The memory of tables, while a program is placed.

use std::borrow::Borrow;

use wireloom_bits::Bits;

use super::words;

/// Bytes of a line of the cache.
pub const LINE: u32 = 32;

/// The memory of a program.
#[derive(Clone, Copy, Debug)]
pub struct Memories {
    /// The first address of tables and of arrays of the context, a multiple of 32.
    pub first: u32,
    /// The address after the last byte.
    pub end: u32,
    /// The number of tiles with a frame. Each has its own counters and its own arrays of the
    /// context.
    pub tiles: u32,
    /// Whether the tails of long packets stay outside the tiles.
    pub has_rest: bool,
}

/// The memory of tables: the free part, and the contents of the rest.
#[derive(Debug)]
pub struct Memory {
    /// The first free address.
    next: u32,
    end: u32,
    /// The number of tiles with copies of counters.
    pub tiles: u32,
    /// The contents of memory at the start: addresses and words.
    pub images: Vec<(u32, Vec<u32>)>,
    /// The contents that several offloads share, with their addresses.
    shared: Vec<(Vec<u32>, u32)>,
}

impl Memory {
    /// Returns memory that is all free.
    pub fn new(memories: Memories) -> Self {
        let Memories { first, end, tiles, .. } = memories;
        let (images, shared) = (Vec::new(), Vec::new());
        Self { next: first, end: end.max(first), tiles, images, shared }
    }

    /// Returns the first free address.
    pub fn next(&self) -> u32 {
        self.next
    }

    /// Returns the number of free bytes.
    pub fn left(&self) -> u32 {
        self.end.saturating_sub(self.next)
    }

    /// Takes bytes and returns their address, which is the beginning of a cache line.
    ///
    /// # Errors
    /// If fewer bytes are free.
    pub fn take(&mut self, bytes: u64) -> Result<u32, String> {
        let first = self.next;
        let last = u64::from(first) + bytes;
        if last > u64::from(self.end) {
            let left = self.left();
            return Err(format!("{bytes} bytes are more than the {left} of memory that are left"));
        }
        self.next = (last as u32).next_multiple_of(LINE);
        Ok(first)
    }

    /// Takes memory for words with these contents and returns their address.
    ///
    /// # Errors
    /// If there is too little memory.
    pub fn put(&mut self, words: Vec<u32>) -> Result<u32, String> {
        let base = self.take(4 * words.len() as u64)?;
        self.images.push((base, words));
        Ok(base)
    }

    /// Does the same for words that nothing changes. Equal words are placed once.
    ///
    /// # Errors
    /// If there is too little memory.
    pub fn shared(&mut self, words: Vec<u32>) -> Result<u32, String> {
        if let Some((_, base)) = self.shared.iter().find(|(other, _)| *other == words) {
            return Ok(*base);
        }
        let base = self.put(words.clone())?;
        self.shared.push((words, base));
        Ok(base)
    }

    /// Takes memory for elements that are `stride` bytes apart, and returns its address. The
    /// elements have these values by index; the others are 0.
    ///
    /// # Errors
    /// If there is too little memory.
    pub fn elements(
        &mut self,
        stride: u32,
        size: usize,
        values: impl Iterator<Item = (usize, impl Borrow<Bits>)>,
    ) -> Result<u32, String> {
        let base = self.take(u64::from(stride) * size as u64)?;
        let mut image = vec![0; size * stride as usize / 4];
        for (index, value) in values {
            let element = &mut image[index * stride as usize / 4..][..stride as usize / 4];
            element.iter_mut().zip(words_of(value.borrow())).for_each(|(to, word)| *to = word);
        }
        self.images.push((base, image));
        Ok(base)
    }
}

/// Returns the words of a value in memory, the lowest first. Zeros may follow.
pub fn words_of(value: &Bits) -> impl Iterator<Item = u32> + '_ {
    value.words().flat_map(|word| [word as u32, (word >> 32) as u32])
}

/// Returns the bytes from one element of this many words to the next.
pub fn stride_of(words: usize) -> u32 {
    4 * words.next_power_of_two() as u32
}

/// Returns the value at an address. `word` reads the word at an address.
pub fn value_at(at: u32, width: u32, word: &mut dyn FnMut(u32) -> u32) -> Bits {
    let count = words::count(width) as u32;
    let mut half = |half: u32| if half < count { u64::from(word(at + 4 * half)) } else { 0 };
    let wide: Vec<u64> =
        (0..width.div_ceil(64)).map(|at| half(2 * at) | half(2 * at + 1) << 32).collect();
    Bits::from_words(width, &wide)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Random;

    fn memory() -> Memory {
        Memory::new(Memories { first: 64, end: 192, tiles: 1, has_rest: false })
    }

    #[test]
    fn what_is_taken_begins_a_line_and_ends_with_the_memory() {
        let mut memory = memory();
        assert_eq!(memory.take(1), Ok(64));
        assert_eq!(memory.take(0), Ok(96));
        assert_eq!(memory.put(vec![7; 8]), Ok(96));
        let why = "65 bytes are more than the 64 of memory that are left".to_owned();
        assert_eq!(memory.take(65), Err(why));
        assert_eq!(memory.take(64), Ok(128));
        assert_eq!((memory.left(), memory.images), (0, vec![(96, vec![7; 8])]));
    }

    #[test]
    fn equal_words_are_shared() {
        let mut memory = memory();
        let places = [1, 2, 1].map(|word| memory.shared(vec![word]));
        assert_eq!(places, [Ok(64), Ok(96), Ok(64)]);
        assert_eq!(memory.images, [(64, vec![1]), (96, vec![2])]);
    }

    #[test]
    fn elements_have_their_values_by_index() {
        for seed in 0..100 {
            let mut random = Random::new(seed);
            let (width, size) = (1 + random.below(200) as u32, 1 + random.below(6) as usize);
            let values: Vec<Bits> = (0..size).map(|_| random.bits(width)).collect();
            let is_there: Vec<bool> = (0..size).map(|_| random.below(2) == 0).collect();
            let stride = stride_of(words::count(width));
            let mut memory =
                Memory::new(Memories { first: 64, end: 1024, tiles: 1, has_rest: false });
            let given = values.iter().enumerate().filter(|(index, _)| is_there[*index]);
            let base = memory.elements(stride, size, given).expect("room");
            let [(at, image)] = &memory.images[..] else { panic!("one image") };
            assert_eq!((*at, image.len()), (base, size * stride as usize / 4));
            let mut word = |at: u32| image[((at - base) / 4) as usize];
            for (index, value) in values.iter().enumerate() {
                let found = value_at(base + index as u32 * stride, width, &mut word);
                let wanted = if is_there[index] { value.clone() } else { Bits::zero(width) };
                assert_eq!(found, wanted, "{seed}: element {index}");
            }
        }
    }
}
