//! The memory side of a tile: loads and stores, misses, interrupts of devices.

use wireloom_isa::raw::Network;
use wireloom_isa::raw::tile::{self, Op};

use super::{Miss, Region, Tile, kind};
use crate::cache::{LINE_BYTES, LINE_WORDS};
use crate::layout::Layout;
use crate::message::Header;
use crate::queue::Queue;

impl Tile {
    /// Takes a device's interrupt off the memory network. The processor does so at any time, so
    /// interrupts never block lines or messages.
    #[inline]
    pub(super) fn take_interrupt(&mut self, layout: &Layout, queues: &mut [Queue], now: u64) {
        if self.memory_left > 0 {
            return;
        }
        let queue = &mut queues[layout.to_processor(self.number, Network::Memory as usize)];
        let is_one = |word| {
            let header = Header::of(word);
            header.user == kind::INTERRUPT && header.length == 0
        };
        if queue.front(now).is_some_and(is_one) {
            queue.pop(now);
            self.external += 1;
        }
    }

    /// Takes the next word off the memory network. The first word of a message is its header.
    pub(super) fn pop_memory(&mut self, queue: &mut Queue, now: u64) {
        self.memory_left = match self.memory_left {
            0 => queue.front(now).map_or(0, |word| Header::of(word).length),
            left => left - 1,
        };
        queue.pop(now);
    }

    /// Executes a load or a store. Returns the loaded value, or `None` if the line has to be
    /// fetched first.
    pub(super) fn access(
        &mut self,
        op: Op,
        address: u32,
        value: u32,
        regions: &[Region],
    ) -> Result<Option<u32>, String> {
        let size = match op {
            Op::Lb | Op::Lbu | Op::Sb | Op::Wbinv => 1,
            Op::Lh | Op::Lhu | Op::Sh => 2,
            _ => 4,
        };
        if !address.is_multiple_of(size) {
            return Err(format!("address {address:#x} is no multiple of {size}"));
        }
        if op == Op::Wbinv {
            if let Some(line) = self.cache.flush(address) {
                self.write_back(line, regions)?;
            }
            return Ok(Some(0));
        }
        let is_store = matches!(op, Op::Sb | Op::Sh | Op::Sw);
        if let Some(word) = self.cache.word(address, is_store) {
            if is_store {
                *word = tile::stored(op, *word, address, value);
            }
            let word = *word;
            self.cache.hits += 1;
            return Ok(Some(tile::loaded(op, word, address)));
        }
        let header = memory_of(address, regions)?;
        if let Some(line) = self.cache.evict(address) {
            self.write_back(line, regions)?;
        }
        self.cache.misses += 1;
        let base = address & !(LINE_BYTES - 1);
        self.to_send.push_back(Header { length: 1, user: kind::READ_LINE, ..header }.word());
        self.to_send.push_back(base);
        self.miss = Some(Miss { address: base, got: Vec::new() });
        Ok(None)
    }

    fn write_back(
        &mut self,
        (address, words): (u32, [u32; LINE_WORDS]),
        regions: &[Region],
    ) -> Result<(), String> {
        let header = memory_of(address, regions)?;
        let length = 1 + LINE_WORDS as u8;
        self.written_back += 1;
        self.to_send.push_back(Header { length, user: kind::WRITE_LINE, ..header }.word());
        self.to_send.push_back(address);
        self.to_send.extend(words);
        Ok(())
    }

    /// Simulates a cycle of a miss: a word goes out, or one comes in.
    pub(super) fn memory_cycle(
        &mut self,
        layout: &Layout,
        queues: &mut [Queue],
        now: u64,
    ) -> Result<bool, String> {
        let (to, from) = self.memory_queues(layout);
        if let Some(&word) = self.to_send.front() {
            let has_room = queues[to].has_room(now);
            if has_room {
                self.to_send.pop_front();
                queues[to].push(word, now);
            }
            return Ok(has_room);
        }
        let Some(word) = queues[from].front(now) else { return Ok(false) };
        self.pop_memory(&mut queues[from], now);
        let Some(miss) = &mut self.miss else { return Ok(false) };
        if miss.got.is_empty() && Header::of(word).user != kind::LINE {
            return Err(
                "the word after a miss is no line: does the program use `$cmni`?".to_owned()
            );
        }
        miss.got.push(word);
        if miss.got.len() == 1 + LINE_WORDS {
            let mut words = [0; LINE_WORDS];
            words.copy_from_slice(&miss.got[1..]);
            self.cache.fill(miss.address, words);
            self.miss = None;
        }
        Ok(true)
    }
}

fn memory_of(address: u32, regions: &[Region]) -> Result<Header, String> {
    let is_in = |region: &&Region| address.wrapping_sub(region.base) < region.bytes;
    let region = regions.iter().find(is_in);
    region.map(|region| region.header).ok_or_else(|| {
        format!("no memory holds address {address:#x}: attach one to the chip for it")
    })
}
