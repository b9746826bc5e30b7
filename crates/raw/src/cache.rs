//! The data cache of a tile: two ways, least recently used, write-back.

/// Words of a line (public).
pub(crate) const LINE_WORDS: usize = 8;
pub(crate) const LINE_BYTES: u32 = 32;
/// Ways of a set (assumed).
pub(crate) const WAYS: usize = 2;

#[derive(Clone, Copy, Debug, Default)]
struct Line {
    /// The address of the line, or `None` if it is empty.
    address: Option<u32>,
    is_dirty: bool,
    words: [u32; LINE_WORDS],
}

#[derive(Clone, Debug)]
pub(crate) struct Cache {
    lines: Vec<[Line; WAYS]>,
    /// The way of each set that was used last.
    last: Vec<u8>,
    pub hits: u64,
    pub misses: u64,
}

impl Cache {
    pub fn new(kilobytes: u32) -> Self {
        let sets = (kilobytes * 1024 / LINE_BYTES) as usize / WAYS;
        Self { lines: vec![Default::default(); sets], last: vec![0; sets], hits: 0, misses: 0 }
    }

    fn set(&self, address: u32) -> usize {
        (address / LINE_BYTES) as usize % self.lines.len()
    }

    /// Returns the word at an address if its line is cached. Set `marks_dirty` to write the word.
    pub fn word(&mut self, address: u32, marks_dirty: bool) -> Option<&mut u32> {
        let set = self.set(address);
        let base = address & !(LINE_BYTES - 1);
        let way = self.lines[set].iter().position(|line| line.address == Some(base))?;
        self.last[set] = way as u8;
        let line = &mut self.lines[set][way];
        line.is_dirty |= marks_dirty;
        Some(&mut line.words[(address % LINE_BYTES / 4) as usize])
    }

    /// Returns the word at an address if the cached copy is newer than memory.
    pub fn changed(&self, address: u32) -> Option<u32> {
        let base = address & !(LINE_BYTES - 1);
        let ways = &self.lines[self.set(address)];
        let line = ways.iter().find(|line| line.address == Some(base) && line.is_dirty)?;
        Some(line.words[(address % LINE_BYTES / 4) as usize])
    }

    /// Changes the word at an address from outside, if its line is cached.
    pub fn replace(&mut self, address: u32, word: u32) {
        let set = self.set(address);
        let base = address & !(LINE_BYTES - 1);
        let lines = self.lines[set].iter_mut().filter(|line| line.address == Some(base));
        lines.for_each(|line| line.words[(address % LINE_BYTES / 4) as usize] = word);
    }

    /// Returns the lines that are newer than memory, with their addresses.
    pub fn changed_lines(&self) -> impl Iterator<Item = (u32, &[u32; LINE_WORDS])> {
        let dirty = self.lines.iter().flatten().filter(|line| line.is_dirty);
        dirty.filter_map(|line| Some((line.address?, &line.words)))
    }

    /// Makes room for the line of an address. Returns the address and the words of a dirty line
    /// that it replaces.
    pub fn evict(&mut self, address: u32) -> Option<(u32, [u32; LINE_WORDS])> {
        let set = self.set(address);
        let free = self.lines[set].iter().position(|line| line.address.is_none());
        let way = free.unwrap_or(1 - usize::from(self.last[set]));
        self.last[set] = 1 - way as u8;
        self.drop_way(set, way)
    }

    /// Drops the line of an address. Returns the line if it is dirty.
    pub fn flush(&mut self, address: u32) -> Option<(u32, [u32; LINE_WORDS])> {
        let set = self.set(address);
        let base = address & !(LINE_BYTES - 1);
        let way = self.lines[set].iter().position(|line| line.address == Some(base))?;
        self.drop_way(set, way)
    }

    fn drop_way(&mut self, set: usize, way: usize) -> Option<(u32, [u32; LINE_WORDS])> {
        let line = std::mem::take(&mut self.lines[set][way]);
        line.address.filter(|_| line.is_dirty).map(|address| (address, line.words))
    }

    /// Puts a line where [`evict`](Self::evict) made room.
    pub fn fill(&mut self, address: u32, words: [u32; LINE_WORDS]) {
        let set = self.set(address);
        let way = 1 - usize::from(self.last[set]);
        let base = address & !(LINE_BYTES - 1);
        self.lines[set][way] = Line { address: Some(base), is_dirty: false, words };
    }
}
