//! The memory contents of a lookup accelerator for a prefix table, and how they change.

use std::any::Any;
use std::collections::{BTreeMap, HashMap};

use wireloom_bits::Bits;
use wireloom_offloads::kinds::lpm::{self, Lpm};
use wireloom_offloads::{Config, Instance};

use super::memory::Memory;
use super::places::{Identity, Placed, PlacedTail, Places};
use super::plan::{Block, Cell, Node, Part, Route, plan, tree};
use super::refusal::{self, DoesNotFit};
use super::shape::{KEY_BITS, Key, Shape, VALUE_BITS, head, key};
use super::values::Values;

/// One write by the control plane.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Write {
    /// A burst of entries of a memory.
    Burst {
        /// Index of the memory in [`Shape::memories`].
        memory: usize,
        /// The address of the burst: the address of its first entry divided by the entries of a
        /// burst.
        address: u32,
        /// The entries, the first in the least significant bits.
        data: Bits,
    },
    /// An element of the value table.
    Value { number: u32, value: Bits },
    /// Wait until every lookup that began earlier has ended: later writes may reuse memory that
    /// earlier writes freed.
    Barrier,
}

/// The memory images of a prefix table: a trie whose leaves are numbers of values, and the values.
///
/// It also keeps the prefixes, so that each change of a prefix yields the writes that bring the
/// memories from the old state to the new one ([`TrieImage::insert`]).
#[derive(Clone, Debug)]
pub struct TrieImage {
    shape: Shape,
    memories: Vec<Memory>,
    places: Places,
    values: Values,
    prefixes: BTreeMap<(Key, u32), u32>,
    /// The structure below each entry of the first level that has one.
    placed: HashMap<u32, Slot>,
}

/// The structure below an entry of the first level.
#[derive(Clone, Debug, Default)]
struct Slot {
    blocks: Vec<Placed>,
    tails: Vec<PlacedTail>,
}

impl Block {
    fn identity(&self) -> Identity {
        Identity { level: self.level, covers: self.covers }
    }
}

/// A change of the memories in progress: the old and the new structure, and the entries to write,
/// in order.
struct Change {
    old: Slot,
    new: Slot,
    writes: Entries,
}

/// Entries to write, in order: memory, address and contents.
type Entries = Vec<(usize, u32, Bits)>;

/// The error that there is no room.
struct Full;

impl TrieImage {
    /// Creates the image of an empty table: every lookup returns `miss`. The value table has
    /// `value_limit` elements.
    pub fn new(shape: Shape, miss: &Bits, value_limit: u32) -> Self {
        let memories = shape.memories.iter().map(|memory| Memory::new(*memory)).collect();
        let values = Values::new(miss, value_limit.min(1 << VALUE_BITS));
        let (prefixes, placed) = (BTreeMap::new(), HashMap::new());
        let mut image =
            Self { places: Places::new(&shape), shape, memories, values, prefixes, placed };
        let empty = entry(true, 0);
        for slot in 0..1 << shape.root_bits() {
            image.memories[0].set(slot, &empty);
        }
        image
    }

    /// Creates the image of the table of an `lpm` offload.
    ///
    /// # Errors
    /// If there is no accelerator for its keys, or if the table does not fit. The message says what
    /// would help.
    pub fn of_instance(
        config: &Config,
        instance: &dyn Instance,
        value_limit: u32,
    ) -> Result<Self, DoesNotFit> {
        let any: &dyn Any = instance;
        let lpm = any
            .downcast_ref::<Lpm>()
            .ok_or_else(|| DoesNotFit(format!("only `{}` has a trie", lpm::KIND.name)))?;
        let key_bits = config.key.as_ref().map_or(0, |key| key.width());
        let shape = Shape::for_key(key_bits).map_err(DoesNotFit)?;
        let mut routes = Vec::new();
        let table = lpm.table();
        let table = table.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        table.for_each(&mut |bits, length, value| {
            routes.push((key(&bits), length, value));
        });
        Self::build(shape, config.param("miss"), value_limit, &routes)
    }

    /// Creates the image of prefixes with their values. The prefixes are distinct right-aligned
    /// keys whose bits after the length are zero.
    ///
    /// # Errors
    /// As for [`TrieImage::of_instance`].
    pub fn build(
        shape: Shape,
        miss: &Bits,
        value_limit: u32,
        routes: &[(Key, u32, Bits)],
    ) -> Result<Self, DoesNotFit> {
        let mut image = Self::new(shape, miss, value_limit);
        for (key, length, value) in routes {
            let Some((number, _)) = image.values.hold(value) else {
                return Err(refusal::values(image.values.all().len()));
            };
            image.prefixes.insert((shape.align(*key), *length), number);
        }
        // Short prefixes are entered by length, so that longer ones overwrite shorter ones.
        let root_bits = shape.root_bits();
        let mut short: Vec<_> =
            image.prefixes.iter().filter(|((_, length), _)| *length <= root_bits).collect();
        short.sort_by_key(|((_, length), _)| *length);
        let mut inherited = vec![0u32; 1 << root_bits];
        for (&(key, length), &number) in short {
            inherited[shape.slot(key) as usize..][..1 << (root_bits - length)].fill(number);
        }
        for (slot, &number) in inherited.iter().enumerate() {
            image.memories[0].set(slot as u32, &entry(true, number));
        }
        let long = image.prefixes.keys().filter(|(_, length)| *length > root_bits);
        let mut slots: Vec<u32> = long.map(|(key, _)| shape.slot(*key)).collect();
        slots.dedup();
        for slot in slots {
            let (writes, _) = image.replan(slot, inherited[slot as usize])?;
            writes
                .iter()
                .for_each(|(memory, address, entry)| image.memories[*memory].set(*address, entry));
        }
        Ok(image)
    }

    pub fn shape(&self) -> &Shape {
        &self.shape
    }

    /// Returns the memories, in the order of [`Shape::memories`].
    pub fn memories(&self) -> &[Memory] {
        &self.memories
    }

    /// Returns the elements of the value table, by number. The contents of unused elements are
    /// unspecified.
    pub fn values(&self) -> &[Bits] {
        self.values.all()
    }

    /// Returns the number of entries of each level, over all of its blocks.
    pub fn levels(&self) -> &[u64] {
        &self.places.levels
    }

    /// Returns the number of prefixes.
    pub fn len(&self) -> usize {
        self.prefixes.len()
    }

    /// Whether there are no prefixes.
    pub fn is_empty(&self) -> bool {
        self.prefixes.is_empty()
    }

    /// Inserts or replaces a prefix (right-aligned bits; bits after the length are zero). If the
    /// writes are made in order, every concurrent lookup sees either the old table or the new one.
    ///
    /// # Errors
    /// If it does not fit. In that case nothing changes.
    ///
    /// # Panics
    /// If the length exceeds the width of the key.
    pub fn insert(
        &mut self,
        key: Key,
        length: u32,
        value: &Bits,
    ) -> Result<Vec<Write>, DoesNotFit> {
        let key = (self.shape.align(key), length);
        let Some((number, is_new)) = self.values.hold(value) else {
            return Err(refusal::values(self.values.all().len()));
        };
        let before = self.prefixes.insert(key, number);
        let mut writes = Vec::new();
        if is_new {
            writes.push(Write::Value { number, value: value.clone() });
        }
        match self.bring_up(key, &mut writes) {
            Ok(freed) => {
                self.finish(freed, before, &mut writes);
                Ok(writes)
            }
            Err(refused) => {
                match before {
                    Some(before) => self.prefixes.insert(key, before),
                    None => self.prefixes.remove(&key),
                };
                self.values.release(number);
                Err(refused)
            }
        }
    }

    /// Removes a prefix. The list of writes is empty if the table did not contain it. Concurrent
    /// lookups behave as for [`TrieImage::insert`].
    ///
    /// # Errors
    /// If there is no room: a tree of ranges that changes needs new nodes while the old ones are
    /// still in use. In that case nothing changes.
    pub fn remove(&mut self, key: Key, length: u32) -> Result<Vec<Write>, DoesNotFit> {
        let key = (self.shape.align(key), length);
        let mut writes = Vec::new();
        let Some(before) = self.prefixes.remove(&key) else { return Ok(writes) };
        match self.bring_up(key, &mut writes) {
            Ok(freed) => {
                self.finish(freed, Some(before), &mut writes);
                Ok(writes)
            }
            Err(refused) => {
                self.prefixes.insert(key, before);
                Err(refused)
            }
        }
    }

    /// Updates the memories after a change of this prefix. Returns whether any memory was freed.
    fn bring_up(
        &mut self,
        (key, length): (Key, u32),
        writes: &mut Vec<Write>,
    ) -> Result<bool, DoesNotFit> {
        let root_bits = self.shape.root_bits();
        let first = self.shape.slot(key);
        if length > root_bits {
            let inherited = self.inherited(first, root_bits);
            let (entries, freed) = self.replan(first, inherited)?;
            self.write(&entries, writes);
            return Ok(freed);
        }
        // The prefix covers whole entries of the first level.
        let inherited = self.inherited(first, length);
        let leaf = entry(true, inherited);
        let (mut freed, mut entries) = (false, Vec::new());
        let mut slot = first;
        while slot < first + (1 << (root_bits - length)) {
            if let Some(nested) = self.nested(slot, length) {
                slot += 1 << (root_bits - nested);
                continue;
            }
            if self.placed.contains_key(&slot) {
                let (below, also) = self.replan(slot, inherited)?;
                freed |= also;
                entries.extend(below);
            } else if self.memories[0].low(slot) != leaf.low_u64() {
                entries.push((0, slot, leaf.clone()));
            }
            slot += 1;
        }
        self.write(&entries, writes);
        Ok(freed)
    }

    /// Returns the length of the shortest prefix that ends in the first level, begins at the entry
    /// `slot` and is longer than `length`.
    fn nested(&self, slot: u32, length: u32) -> Option<u32> {
        let root_bits = self.shape.root_bits();
        if length == root_bits {
            return None;
        }
        let key = Key::from(slot) << (KEY_BITS - root_bits);
        let longer = self.prefixes.range((key, length + 1)..=(key, root_bits));
        longer.map(|((_, length), _)| *length).next()
    }

    fn finish(&mut self, freed: bool, before: Option<u32>, writes: &mut Vec<Write>) {
        let forgotten = before.is_some_and(|number| self.values.release(number));
        if freed || forgotten {
            writes.push(Write::Barrier);
        }
    }

    /// Returns the value of the longest prefix of at most `longest` bits that covers an entry of
    /// the first level.
    fn inherited(&self, slot: u32, longest: u32) -> u32 {
        let key = Key::from(slot) << (KEY_BITS - self.shape.root_bits());
        let lengths = (0..=longest).rev();
        let mut found =
            lengths.filter_map(|length| self.prefixes.get(&(head(key, length), length)));
        found.next().copied().unwrap_or(0)
    }

    /// Plans the structure below an entry of the first level again, and allocates it. Returns the
    /// entries to write, in order, children before the entries that point to them, and whether any
    /// memory was freed.
    fn replan(&mut self, slot: u32, inherited: u32) -> Result<(Entries, bool), DoesNotFit> {
        let root_bits = self.shape.root_bits();
        let from = Key::from(slot) << (KEY_BITS - root_bits);
        let below = self.prefixes.range((from, 0)..=(from | Key::MAX >> root_bits, KEY_BITS));
        let long = below.filter(|((_, length), _)| *length > root_bits);
        let routes: Vec<Route> =
            long.map(|(&(key, length), &value)| Route { key, length, value }).collect();
        let cell = plan(&self.shape, &routes, from, inherited);
        let old = self.placed.remove(&slot).unwrap_or_default();
        let mut change = Change { old, new: Slot::default(), writes: Vec::new() };
        let placed = self.place(&cell, &mut change);
        let Change { old, new, mut writes } = change;
        // Frees the blocks and trees that only one structure has. If there was no room, the new
        // structure goes; otherwise the old one goes.
        let (from, kept) = if placed.is_ok() { (&old, &new) } else { (&new, &old) };
        let mut freed = false;
        for block in from.blocks.iter().filter(|block| !kept.blocks.contains(block)) {
            self.places.give(&self.shape, block);
            freed = true;
        }
        for tail in from.tails.iter().filter(|tail| !kept.tails.contains(tail)) {
            self.places.give_tail(tail);
            freed = true;
        }
        match placed {
            Ok(entry) => {
                writes.push((0, slot, entry));
                if !new.blocks.is_empty() {
                    self.placed.insert(slot, new);
                }
                Ok((writes, freed))
            }
            Err(Full) => {
                if !old.blocks.is_empty() {
                    self.placed.insert(slot, old);
                }
                let prefixes = self.prefixes.keys().copied().collect();
                Err(refusal::full(&self.shape, prefixes, &cell))
            }
        }
    }

    /// Allocates the blocks and trees that an entry leads to. Returns the entry.
    fn place(&mut self, cell: &Cell, change: &mut Change) -> Result<Bits, Full> {
        let block = match cell {
            Cell::Leaf(number) => return Ok(entry(true, *number)),
            Cell::Tail(ranges) => return self.place_tail(ranges, change),
            Cell::Block(block) => block,
        };
        let level = &self.shape.levels[block.level];
        let identity = block.identity();
        let kept = change.old.blocks.iter().find(|block| block.identity == identity).copied();
        let placed = match kept {
            Some(placed) => placed,
            None => Placed {
                identity,
                address: self.places.take(&self.shape, block.level).ok_or(Full)?,
            },
        };
        change.new.blocks.push(placed);
        let mut own = Vec::with_capacity(block.cells.len());
        for below in &block.cells {
            own.push(self.place(below, change)?);
        }
        for (address, entry) in (placed.address..).zip(own) {
            // The contents of a newly allocated entry are unknown: memory that was never written
            // may contain anything.
            if kept.is_none() || self.memories[level.memory].low(address) != entry.low_u64() {
                change.writes.push((level.memory, address, entry));
            }
        }
        Ok(entry(false, (placed.address - level.base) >> level.stride))
    }

    /// Allocates the nodes of a tree of ranges and writes them, unless the same tree already
    /// exists.
    fn place_tail(&mut self, ranges: &[(u64, u32)], change: &mut Change) -> Result<Bits, Full> {
        if let [(_, number)] = ranges {
            return Ok(entry(true, *number));
        }
        if let Some(tail) = change.old.tails.iter().find(|tail| tail.ranges == ranges) {
            let root = tail.nodes[0].1;
            change.new.tails.push(tail.clone());
            return Ok(entry(false, root));
        }
        change.new.tails.push(PlacedTail { ranges: ranges.to_vec(), nodes: Vec::new() });
        self.place_node(&tree(ranges, 0), change)
    }

    fn place_node(&mut self, node: &Node, change: &mut Change) -> Result<Bits, Full> {
        let address = self.places.take_node(node.level).ok_or(Full)?;
        change.new.tails.last_mut().expect("it was begun").nodes.push((node.level, address));
        let mut parts = Vec::with_capacity(4);
        for (from, part) in &node.parts {
            let entry = match part {
                Part::Leaf(number) => entry(true, *number),
                Part::Node(node) => self.place_node(node, change)?,
            };
            parts.push((Bits::new(64, u128::from(*from)), entry));
        }
        // A node with fewer parts repeats its last one, after bounds that separate nothing.
        let last = parts.last().expect("a node has parts").1.clone();
        parts.resize(4, (Bits::ones(64), last));
        let bounds = parts[1..].iter().map(|(from, _)| from);
        let fields = bounds.chain(parts.iter().map(|(_, entry)| entry)).cloned();
        let word = fields.reduce(|high, low| high.concat(&low)).expect("a node has fields");
        let tails = self.shape.tails.expect("a shape whose plan has trees has them");
        change.writes.push((tails.memory + node.level as usize, address, word));
        Ok(entry(false, address))
    }

    /// Makes the writes and records them as bursts.
    fn write(&mut self, entries: &[(usize, u32, Bits)], writes: &mut Vec<Write>) {
        let burst = |(memory, address, _): &(usize, u32, Bits)| {
            (*memory, address / self.shape.memories[*memory].burst)
        };
        for group in entries.chunk_by(|a, b| burst(a) == burst(b)) {
            let (memory, address) = burst(&group[0]);
            // Entries of the first level are listed even if they do not change.
            let is_root = memory == 0 && group[0].1 >> self.shape.root_bits() == 0;
            let changes =
                |(_, at, entry): &(usize, u32, Bits)| self.memories[memory].get(*at) != *entry;
            if is_root && !group.iter().any(changes) {
                continue;
            }
            group.iter().for_each(|(_, at, entry)| self.memories[memory].set(*at, entry));
            writes.push(Write::Burst {
                memory,
                address,
                data: self.memories[memory].burst(address),
            });
        }
    }
}

/// Returns an entry of a block.
fn entry(leaf: bool, next: u32) -> Bits {
    Bits::new(VALUE_BITS + 1, u128::from(leaf) << VALUE_BITS | u128::from(next))
}
