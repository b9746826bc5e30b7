//! The table and its changes.

use std::collections::VecDeque;
use std::sync::Arc;

use wireloom_bits::Bits;

use super::blocks::{self, BlockCount, Blocks};
use super::fib::{Capacity, Fib, LpmNode, leaf_bitmap};
use super::key::{Key, with_key};
use super::reader::{Reader, Shared};
use super::rib::{Change, Rib};
use super::runs::{LONGEST, Runs};
use super::spread::{self, Entry};
use super::values::{Certain, Values};
use super::writer::{Changed, Counted, Writer, Written};
use super::{DIRECT_BITS, STRIDE};
use crate::Refused;

#[cfg(test)]
mod check;

/// A prefix table that can be changed. Lookups in other threads go through a [`Reader`].
pub struct Table {
    key_width: u32,
    value_width: u32,
    direct_bits: u32,
    rib: Rib,
    values: Values,
    fib: Arc<Fib>,
    nodes: Runs,
    leaves: Runs,
    /// The blocks of a FIB of blocks.
    blocks: Blocks,
    shared: Arc<Shared>,
    /// The objects that the current change replaces.
    replaced: Vec<Retired>,
    /// The replaced objects with the epoch that ended at their replacement, oldest first.
    retired: VecDeque<(u64, Retired)>,
    /// Whether changes go to the RIB only, during a bulk load.
    bulk: bool,
    /// Whether readers might still access FIBs that were replaced.
    has_old_fibs: bool,
    /// Whether building new arrays fails, for tests.
    #[cfg(test)]
    is_without_memory: bool,
}

/// An object that readers might still access.
pub(super) enum Retired {
    /// A run of nodes: the first node and the length.
    Nodes(u32, usize),
    /// A run of leaves: the first leaf and the length.
    Leaves(u32, usize),
    /// A block, and whether it is deep.
    Block(u32, bool),
    /// The number of a value.
    Value(u32),
}

impl Table {
    /// Creates an empty table for keys of `key_width` bits. Lookups without a match return `miss`.
    ///
    /// # Errors
    /// If the width is not in 1 to 1024, or if there is not enough memory.
    pub fn new(key_width: u32, miss: &Bits) -> Result<Self, Refused> {
        if !(1..=1024).contains(&key_width) {
            return Err(Refused(format!(
                "keys of {key_width} bits: only 1 to 1024 can be searched"
            )));
        }
        let direct_bits = key_width.min(DIRECT_BITS);
        let values = Values::new(miss);
        let room = Self::longest_path(key_width);
        let mut capacity = Capacity { nodes: 1 + 2 * room, leaves: 1024, values: 16, blocks: None };
        let mut blocks = BlockCount::default();
        if let Some(wanted) = blocks.with_room(key_width, 1) {
            blocks = wanted;
            let blocks = Some(blocks.count());
            capacity = Capacity { nodes: 0, leaves: 0, values: 16, blocks };
        }
        let fib = Arc::new(Fib::new(key_width, direct_bits, miss.width(), capacity)?);
        fib.set_value(0, values.words(0));
        let shared = Arc::new(Shared::new(&fib));
        Ok(Self {
            key_width,
            value_width: miss.width(),
            direct_bits,
            rib: Rib::new(direct_bits),
            values,
            fib,
            nodes: Runs::new(1, capacity.nodes.max(1) as u32),
            leaves: Runs::new(0, capacity.leaves as u32),
            blocks: Blocks::new(blocks),
            shared,
            replaced: Vec::new(),
            retired: VecDeque::new(),
            bulk: false,
            has_old_fibs: false,
            #[cfg(test)]
            is_without_memory: false,
        })
    }

    /// Returns the bits that are certain in every value and in the miss value. A change can make
    /// fewer bits certain; only [`Self::look_again`] can make more bits certain.
    pub fn certain(&self) -> &Certain {
        self.values.certain()
    }

    /// Whether a prefix with this value keeps all certain bits certain.
    pub fn agrees(&self, value: &Bits) -> bool {
        self.values.agrees(value)
    }

    /// Whether no pinned reader still reads arrays that were replaced.
    pub fn is_seen(&mut self) -> bool {
        if self.has_old_fibs {
            self.has_old_fibs = self.shared.reclaim(self.shared.epochs.oldest_pinned());
        }
        !self.has_old_fibs
    }

    /// Scans the values, so that [`Self::certain`] contains all bits that are certain now.
    pub fn look_again(&mut self) {
        self.values.look_again();
    }

    /// Returns the number of prefixes.
    pub fn len(&self) -> usize {
        self.rib.len()
    }

    /// Whether there are no prefixes.
    pub fn is_empty(&self) -> bool {
        self.rib.len() == 0
    }

    /// Returns the memory of the table in bytes: the RIB and the FIB, with an estimate of the
    /// allocator's overhead.
    pub fn memory(&self) -> usize {
        let runs = self.nodes.memory() + self.leaves.memory() + self.blocks.memory();
        self.shared.memory() + runs + self.rib.memory() + self.values.memory()
    }

    /// Inserts or replaces a prefix. It has the width of a key, and its bits after `length` are
    /// zero. Returns whether the table contained it.
    ///
    /// # Errors
    /// If a width or the length does not match the table, if a bit after the length is set, or if
    /// there is not enough memory.
    pub fn insert(&mut self, prefix: &Bits, length: u32, value: &Bits) -> Result<bool, Refused> {
        self.check(prefix, length)?;
        crate::kinds::check_value(value, self.value_width)?;
        let id = self.values.hold(value);
        if !self.bulk {
            if let Err(refused) = self.make_room() {
                self.release(id);
                self.retire();
                return Err(refused);
            }
            self.fib.set_value(id, self.values.words(id));
        }
        let before = with_key!(prefix, |key| {
            let (before, change) = self.rib.insert(key, length, id);
            let applied = self.apply(key, length, change);
            if applied.is_err() {
                match before {
                    Some(before) => _ = self.rib.insert(key, length, before),
                    None => _ = self.rib.remove(key, length),
                }
            }
            applied.map(|()| before)
        });
        // If memory did not suffice, nothing changed, and the new value is not needed.
        let unused = before.as_ref().map_or(Some(id), |before| *before);
        if let Some(unused) = unused {
            self.release(unused);
        }
        self.retire();
        before.map(|before| before.is_some())
    }

    /// Removes a prefix. Returns whether the table contained it.
    ///
    /// # Errors
    /// The errors of [`Table::insert`].
    pub fn remove(&mut self, prefix: &Bits, length: u32) -> Result<bool, Refused> {
        self.check(prefix, length)?;
        if !self.bulk {
            self.make_room()?;
        }
        let before = with_key!(prefix, |key| match self.rib.remove(key, length) {
            Some((before, change)) => {
                let applied = self.apply(key, length, change);
                if applied.is_err() {
                    self.rib.insert(key, length, before);
                }
                applied.map(|()| Some(before))
            }
            None => Ok(None),
        })?;
        if let Some(before) = before {
            self.release(before);
        }
        self.retire();
        Ok(before.is_some())
    }

    /// Returns the value of exactly this prefix.
    pub fn get(&self, prefix: &Bits, length: u32) -> Option<Bits> {
        self.check(prefix, length).ok()?;
        with_key!(prefix, |key| self.rib.find(key, length)).map(|id| self.values.value(id))
    }

    /// Returns the value of the longest prefix that matches a key, or the miss value. During a bulk
    /// load, lookups see the table as it was before.
    pub fn lookup(&self, key: &Bits) -> Bits {
        self.fib.value(with_key!(key, |key| self.fib.lookup(key)))
    }

    /// Begins a bulk load. Changes are recorded but invisible to lookups until [`Table::end_bulk`],
    /// which makes many changes faster.
    pub fn begin_bulk(&mut self) {
        self.bulk = true;
    }

    /// Ends a bulk load. Lookups then see all changes at once.
    ///
    /// # Errors
    /// If there is not enough memory. Lookups then still see the table as it was before the load.
    pub fn end_bulk(&mut self) -> Result<(), Refused> {
        if self.bulk {
            self.lay_out()?;
            self.bulk = false;
        }
        Ok(())
    }

    /// Visits every prefix (bits and length) with its value, in no particular order.
    pub fn for_each(&self, visit: &mut dyn FnMut(Bits, u32, Bits)) {
        self.for_each_after(None, &mut |bits, length, value| {
            visit(bits, length, value);
            true
        });
    }

    /// Visits the prefixes after another one, which need not be in the table, while `visit` returns
    /// true. The order of two prefixes does not depend on the table's contents.
    pub fn for_each_after(
        &self,
        after: Option<(&Bits, u32)>,
        visit: &mut dyn FnMut(Bits, u32, Bits) -> bool,
    ) {
        self.rib.for_each_after(self.key_width, after, &mut |bits, length, id| {
            visit(bits, length, self.values.value(id))
        });
    }

    /// Creates a new reader of this table.
    pub fn reader(&self) -> Reader {
        Reader::of(&self.shared, self.key_width)
    }

    fn check(&self, prefix: &Bits, length: u32) -> Result<(), Refused> {
        let width = self.key_width;
        if prefix.width() != width {
            return Err(Refused(format!(
                "a key of {} bits where the table has {width}",
                prefix.width()
            )));
        }
        if length > width {
            return Err(Refused(format!(
                "a prefix of {length} bits is longer than the key, which has {width}"
            )));
        }
        if length < width && !prefix.slice(0, width - length).is_zero() {
            return Err(Refused(format!("the prefix has bits set behind its length, {length}")));
        }
        Ok(())
    }

    /// The maximum number of nodes that one change can write.
    fn longest_path(key_width: u32) -> usize {
        let depth = key_width.saturating_sub(DIRECT_BITS).div_ceil(STRIDE) as usize;
        (depth + 1) * LONGEST
    }

    /// Ensures that the next change has enough room.
    fn make_room(&mut self) -> Result<(), Refused> {
        let room = match self.fib.spread() {
            Some(_) => {
                let spare = blocks::spare(self.key_width);
                self.blocks.free().suffices_for(BlockCount { deep: spare, top: spare })
            }
            None => {
                self.nodes.untouched() >= Self::longest_path(self.key_width)
                    && self.leaves.untouched() >= LONGEST
            }
        };
        let room = room && self.values.count() <= self.fib.value_capacity();
        if room { Ok(()) } else { self.lay_out() }
    }

    /// Returns the blocks that the prefixes need, with room to grow; `None` if the FIB cannot
    /// consist of blocks. `short` contains the values of short prefixes by direct entry.
    fn wanted_blocks(&self, short: &[u32]) -> Option<BlockCount> {
        // If entries cannot number the values, counting blocks is unnecessary.
        BlockCount::default().with_room(self.key_width, self.values.count())?;
        let memory = Counted { spread: None, count: BlockCount::default() };
        let mut counter = Writer { rib: &self.rib, memory };
        for (slot, _) in self.rib.roots() {
            counter.below_direct(Entry::Value(short[slot]), slot, short[slot]);
        }
        counter.memory.count.with_room(self.key_width, self.values.count())
    }

    /// Builds a new FIB of blocks from the RIB, and publishes it.
    fn spread_out(&mut self, short: &[u32], wanted: BlockCount) -> Result<(), Refused> {
        let values = self.values.count();
        let capacity = Capacity {
            nodes: 0,
            leaves: 0,
            values: (values + values / 2 + 16).min(spread::most_values(self.key_width)),
            blocks: Some(wanted.count()),
        };
        let fib = Fib::new(self.key_width, self.direct_bits, self.value_width, capacity)?;
        for id in 0..values as u32 {
            fib.set_value(id, self.values.words(id));
        }
        let mut blocks = Blocks::new(wanted);
        let spread = fib.spread().expect("it was made with blocks");
        // No reader uses a new FIB, so nothing that it replaces needs to be retired.
        let mut replaced = Vec::new();
        let memory = Written { spread, blocks: &mut blocks, replaced: &mut replaced };
        let mut writer = Writer { rib: &self.rib, memory };
        for (slot, &value) in short.iter().enumerate() {
            let entry = writer.below_direct(Entry::Value(value), slot, value);
            spread.set_direct(slot, entry);
        }
        self.publish(fib, Runs::new(1, 1), Runs::new(0, 0), blocks);
        Ok(())
    }

    /// Publishes a new FIB, which lookups then read.
    fn publish(&mut self, fib: Fib, nodes: Runs, leaves: Runs, blocks: Blocks) {
        (self.fib, self.nodes, self.leaves) = (Arc::new(fib), nodes, leaves);
        self.blocks = blocks;
        self.shared.replace(&self.fib);
        // The runs of the old arrays disappear with the arrays. The new FIB contains only values
        // that some prefix uses.
        for (_, retired) in self.retired.drain(..) {
            if let Retired::Value(id) = retired {
                self.values.forget(id);
            }
        }
        self.has_old_fibs = self.shared.reclaim(self.shared.epochs.oldest_pinned());
    }

    /// Builds a new FIB from the RIB with room to grow, and publishes it.
    fn lay_out(&mut self) -> Result<(), Refused> {
        #[cfg(test)]
        if self.is_without_memory {
            return Err(Refused("there is no memory in this test".into()));
        }
        let short = self.rib.all_covering();
        if let Some(wanted) = self.wanted_blocks(&short) {
            return self.spread_out(&short, wanted);
        }
        let (nodes, leaves, values) =
            (self.rib.node_count(), self.rib.leaf_count(), self.values.count());
        let capacity = Capacity {
            nodes: 1 + nodes + nodes / 2 + 2 * Self::longest_path(self.key_width),
            leaves: leaves + leaves / 2 + 1024,
            values: values + values / 2 + 16,
            blocks: None,
        };
        let fib = Fib::new(self.key_width, self.direct_bits, self.value_width, capacity)?;
        let mut layout = Layout {
            fib,
            nodes: Runs::new(1, capacity.nodes as u32),
            leaves: Runs::new(0, capacity.leaves as u32),
        };
        for id in 0..values as u32 {
            layout.fib.set_value(id, self.values.words(id));
        }
        for (slot, &value) in short.iter().enumerate() {
            layout.fib.publish(slot, 0, value);
        }
        for (slot, root) in self.rib.roots() {
            let node = layout.node(&self.rib, root);
            let id = layout.nodes.take(1);
            layout.fib.set_node(id, node);
            let (_, value) = layout.fib.direct(slot);
            layout.fib.publish(slot, id, value);
        }
        let Layout { fib, nodes, leaves } = layout;
        self.publish(fib, nodes, leaves, Blocks::new(BlockCount::default()));
        Ok(())
    }

    /// Makes a change of the RIB visible to lookups. The prefix has `length` bits.
    ///
    /// # Errors
    /// If the change needs more memory than there is. Lookups then see nothing of the change.
    fn apply(&mut self, key: &impl Key, length: u32, change: Change) -> Result<(), Refused> {
        if self.bulk {
            return Ok(());
        }
        if self.fib.spread().is_some() {
            let change = Changed { key, direct_bits: self.direct_bits, length, change: &change };
            if !self.has_room(&change) {
                return self.lay_out();
            }
            let Self { rib, fib, blocks, replaced, .. } = self;
            let spread = fib.spread().expect("the form has not changed");
            Writer { rib, memory: Written { spread, blocks, replaced } }.apply(&change);
            return Ok(());
        }
        match change {
            Change::Direct(slots, value) => {
                for slot in slots {
                    let (node, _) = self.fib.direct(slot);
                    self.fib.publish(slot, node, value);
                }
            }
            Change::Path { nodes, pruned } => self.apply_path(key, &nodes, pruned),
        }
        Ok(())
    }

    /// Whether the free blocks suffice for a change. Uniform blocks do not exist, so a change of a
    /// short prefix can need many blocks at once.
    fn has_room(&self, change: &Changed<'_, impl Key>) -> bool {
        let (rib, free) = (&self.rib, self.blocks.free());
        let limit = free.deep.min(free.top);
        if change.most_blocks(rib, limit) <= limit {
            return true;
        }
        let memory = Counted { spread: self.fib.spread(), count: BlockCount::default() };
        let mut counter = Writer { rib, memory };
        counter.apply(change);
        free.suffices_for(counter.memory.count)
    }

    fn apply_path(&mut self, key: &impl Key, path: &[u32], pruned: bool) {
        let direct_bits = self.direct_bits;
        let slot = key.chunk(0, direct_bits);
        let slot_at = |depth: usize| key.chunk(direct_bits + depth as u32 * STRIDE, STRIDE);
        let (old_root, value) = self.fib.direct(slot);
        let mut old = Vec::new();
        let mut id = old_root;
        while id != 0 {
            let node = self.fib.node(id);
            id = node.child(slot_at(old.len())).unwrap_or(0);
            old.push(node);
        }
        if old_root != 0 {
            self.replaced.push(Retired::Nodes(old_root, 1));
        }
        if pruned {
            for node in old.drain(path.len()..) {
                self.replace_children(&node);
                self.replace_leaves(&node);
            }
        }
        let Some((&last, above)) = path.split_last() else {
            self.fib.publish(slot, 0, value);
            return;
        };
        let was = |depth: usize| old.get(depth).copied().unwrap_or_default();
        let depth = above.len();
        let mut node = if pruned {
            self.with_child(was(depth), slot_at(depth), None)
        } else {
            self.replace_leaves(&was(depth));
            let slots = self.rib.slots(last);
            let (leaves, leaf_base) = write_leaves(&self.fib, &mut self.leaves, &slots);
            LpmNode { leaves, leaf_base, ..was(depth) }
        };
        for depth in (0..depth).rev() {
            node = self.with_child(was(depth), slot_at(depth), Some(node));
        }
        let root = self.nodes.take(1);
        self.fib.set_node(root, node);
        self.fib.publish(slot, root, value);
    }

    /// Returns a copy of a node with another child, or no child, at a slot.
    fn with_child(&mut self, node: LpmNode, slot: usize, child: Option<LpmNode>) -> LpmNode {
        let first = node.child_base;
        let mut children: Vec<LpmNode> =
            (first..first + node.child_count() as u32).map(|id| self.fib.node(id)).collect();
        self.replace_children(&node);
        let (there, at) = (node.child(slot).is_some(), node.child_rank(slot));
        children.splice(at..at + usize::from(there), child);
        let bit = 1 << slot;
        let bitmap = if child.is_some() { node.children | bit } else { node.children & !bit };
        let child_base = write_nodes(&self.fib, &mut self.nodes, &children);
        LpmNode { children: bitmap, child_base, ..node }
    }

    fn replace_children(&mut self, node: &LpmNode) {
        if node.children != 0 {
            self.replaced.push(Retired::Nodes(node.child_base, node.child_count()));
        }
    }

    fn replace_leaves(&mut self, node: &LpmNode) {
        if node.leaves != 0 {
            self.replaced.push(Retired::Leaves(node.leaf_base, node.leaf_count()));
        }
    }

    fn release(&mut self, value: u32) {
        if self.values.release(value) {
            self.replaced.push(Retired::Value(value));
        }
    }

    /// Ends the epoch of a change, and frees objects that no reader can see.
    fn retire(&mut self) {
        if !self.replaced.is_empty() {
            let epoch = self.shared.epochs.end();
            self.retired.extend(self.replaced.drain(..).map(|retired| (epoch, retired)));
        }
        // Most changes replace nothing. They must not read the notes, which readers write when they
        // are pinned.
        if self.retired.is_empty() && !self.has_old_fibs {
            return;
        }
        let oldest = self.shared.epochs.oldest_pinned();
        let free = self.retired.iter().take_while(|(epoch, _)| *epoch < oldest).count();
        for (_, retired) in self.retired.drain(..free) {
            match retired {
                Retired::Nodes(first, length) => self.nodes.give(first, length),
                Retired::Leaves(first, length) => self.leaves.give(first, length),
                Retired::Block(block, is_deep) => self.blocks.give(block, is_deep),
                Retired::Value(id) => self.values.forget(id),
            }
        }
        if self.has_old_fibs {
            self.has_old_fibs = self.shared.reclaim(oldest);
        }
    }
}

/// A FIB under construction.
struct Layout {
    fib: Fib,
    nodes: Runs,
    leaves: Runs,
}

impl Layout {
    /// Builds everything below a node of the RIB. The caller stores the node itself.
    fn node(&mut self, rib: &Rib, id: u32) -> LpmNode {
        let (leaves, leaf_base) = write_leaves(&self.fib, &mut self.leaves, &rib.slots(id));
        let (bitmap, kids) = rib.children(id);
        let children: Vec<LpmNode> = kids.iter().map(|&kid| self.node(rib, kid)).collect();
        let child_base = write_nodes(&self.fib, &mut self.nodes, &children);
        LpmNode { children: bitmap, leaves, child_base, leaf_base }
    }
}

/// Writes the leaves of a node to memory that no reader reads. Returns the bitmap and the index of
/// the first leaf.
fn write_leaves(fib: &Fib, runs: &mut Runs, slots: &[u32; 64]) -> (u64, u32) {
    let bitmap = leaf_bitmap(slots);
    if bitmap == 0 {
        return (0, 0);
    }
    let base = runs.take(bitmap.count_ones() as usize);
    let starts = (0..64).filter(|s| bitmap >> s & 1 == 1);
    for (id, slot) in (base..).zip(starts) {
        fib.set_leaf(id, slots[slot]);
    }
    (bitmap, base)
}

/// Writes a run of nodes to memory that no reader reads. Returns the index of the first node.
fn write_nodes(fib: &Fib, runs: &mut Runs, nodes: &[LpmNode]) -> u32 {
    if nodes.is_empty() {
        return 0;
    }
    let base = runs.take(nodes.len());
    for (id, node) in (base..).zip(nodes) {
        fib.set_node(id, *node);
    }
    base
}
