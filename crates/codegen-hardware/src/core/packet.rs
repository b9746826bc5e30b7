//! The current packet as logic: `wireloom_net::PacketInHand` in terms of a circular header memory.
//!
//! Byte `k` of the window is at physical byte `front + k`. Pushes and pops move `front` and change
//! the two lengths by the same number. Each resize of a step is therefore a condition and a
//! *growth*, and resizes that exclude each other share their adders. All words are read at the
//! beginning of the step and written at its end.

mod piece;
mod write;

use wireloom_bits::Bits;
use wireloom_compile::analysis::ports::{Group, StepPorts};
use wireloom_ir::{BinaryOp, UnaryOp};

pub use self::piece::PIECE_BITS;
use self::write::WriteGroup;
use super::facts;
use super::graph::{Graph, Input, Node, NodeKind};
use super::layout::{self, Layout};
use super::{MAX_LENGTH, WINDOW_BYTES};

/// A word that a step reads: the bytes from an address on that a header port returns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReadWord {
    /// The origin of the address; `None` for the window's first byte.
    pub root: Option<Node>,
    /// The offset in bytes from the origin.
    pub offset: i64,
}

/// A word that a step writes.
pub struct WriteWord {
    /// The physical address of byte 0 of the window, 8 bits.
    pub front: Node,
    /// The origin of the address; `None` for the window's first byte.
    pub root: Option<Node>,
    /// The offset in bytes from the origin.
    pub offset: i64,
    /// For each byte that may be written, the condition and the value.
    pub bytes: Vec<Option<(Node, Node)>>,
}

/// The bytes that a step's pushes clear.
pub struct Clear {
    /// Whether any bytes are cleared.
    pub valid: Node,
    /// The first physical byte, 8 bits.
    pub address: Node,
    /// The number of bytes, 9 bits.
    pub count: Node,
}

/// The state of the packet at some point of a step.
pub struct Hand {
    /// The front at the anchor, which is the state before the `moves`.
    front: Node,
    window: Node,
    length: Node,
    /// Later resizes at the front, which exclude each other: condition and growth (16 bits, modulo
    /// 2^16).
    moves: Vec<(Node, Node)>,
    /// Whether the window has changed since the step began.
    is_moved: bool,
    /// The growth of the window up to the anchor, by pushes and pops.
    settled: Option<Node>,
    /// Whether bytes may have been pushed after a pop.
    is_mixed: bool,
    /// The condition under which the packet was reset.
    zeroed: Option<Node>,
    is_cut: bool,
    /// The number of bytes of a word.
    word_bytes: u32,
    words: Vec<Option<ReadWord>>,
    /// The first word of each group of reads.
    firsts: Vec<usize>,
    groups: Vec<Option<WriteGroup>>,
    /// The pushes: condition and number of bytes.
    pushed: Vec<(Node, Node)>,
    clear: Option<Clear>,
    writes: Vec<WriteWord>,
}

impl Hand {
    /// Creates the packet at the beginning of a step.
    pub fn new(graph: &mut Graph, layout: &Layout, ports: &StepPorts) -> Self {
        let field = |graph: &mut Graph, low, width, name| {
            if !layout.has_packet {
                return graph.number(width, 0);
            }
            let state = graph.input(Input::State, layout.state_bits);
            let node = graph.slice(state, low, width);
            graph.set_name(node, name);
            node
        };
        let mut firsts = Vec::new();
        let mut words = 0;
        for group in &ports.reads {
            firsts.push(words);
            words += group.bytes.div_ceil(layout.header_bytes) as usize;
        }
        Self {
            front: field(graph, layout::FRONT, 8, "packet_front"),
            window: field(graph, layout::WINDOW, 9, "packet_window"),
            length: field(graph, layout::LENGTH, 16, "packet_length"),
            moves: Vec::new(),
            is_moved: false,
            settled: None,
            is_mixed: false,
            zeroed: None,
            is_cut: false,
            word_bytes: layout.header_bytes,
            words: vec![None; words],
            firsts,
            groups: ports.writes.iter().map(|_| None).collect(),
            pushed: Vec::new(),
            clear: None,
            writes: Vec::new(),
        }
    }

    /// Returns the words that the step reads.
    pub fn words(&self) -> impl Iterator<Item = ReadWord> + '_ {
        self.words.iter().flatten().copied()
    }

    /// Returns the words that the step writes.
    pub fn writes(&self) -> &[WriteWord] {
        &self.writes
    }

    /// Returns the bytes to clear.
    pub fn clear(&self) -> Option<&Clear> {
        self.clear.as_ref()
    }

    /// Returns whether the step may move the window's front.
    pub fn moves_front(&self) -> bool {
        self.is_moved
    }

    /// Returns the maximum number of bytes that the step can push.
    pub fn most_pushed(&self, graph: &Graph) -> u64 {
        self.pushed
            .iter()
            .map(|(done, count)| facts::most_given(graph, *done, *count))
            .max()
            .unwrap_or(0)
    }

    /// Returns the growth of the window since the anchor, or `None` if it was not resized.
    fn growth(&self, graph: &mut Graph) -> Option<Node> {
        let (_, first) = *self.moves.first()?;
        if self.moves.iter().all(|(_, growth)| *growth == first) {
            let condition = graph.any(self.moves.iter().map(|(condition, _)| *condition));
            return Some(graph.mask(condition, first));
        }
        let zero = graph.number(16, 0);
        Some(
            self.moves
                .iter()
                .fold(zero, |rest, (condition, growth)| graph.select(*condition, *growth, rest)),
        )
    }

    /// Returns the current physical address of byte 0, 8 bits.
    pub fn front(&self, graph: &mut Graph) -> Node {
        match self.growth(graph) {
            Some(growth) => {
                let growth = graph.slice(growth, 0, 8);
                graph.binary(BinaryOp::Sub, self.front, growth)
            }
            None => self.front,
        }
    }

    /// Returns the current length of the window, 9 bits.
    pub fn window(&self, graph: &mut Graph) -> Node {
        match self.growth(graph) {
            Some(growth) => {
                let growth = graph.slice(growth, 0, 9);
                graph.binary(BinaryOp::Add, self.window, growth)
            }
            None => self.window,
        }
    }

    /// Returns the current length of the packet, 16 bits.
    pub fn length(&self, graph: &mut Graph) -> Node {
        match self.growth(graph) {
            Some(growth) => graph.binary(BinaryOp::Add, self.length, growth),
            None => self.length,
        }
    }

    /// Returns the growth of the window since the beginning of the step, or `None` if it was not
    /// resized.
    fn total_growth(&self, graph: &mut Graph) -> Option<Node> {
        match (self.settled, self.growth(graph)) {
            (Some(a), Some(b)) => Some(graph.binary(BinaryOp::Add, a, b)),
            (a, b) => a.or(b),
        }
    }

    /// Makes the current state the anchor.
    fn settle(&mut self, graph: &mut Graph) {
        self.settled = self.total_growth(graph);
        let (front, window, length) = (self.front(graph), self.window(graph), self.length(graph));
        (self.front, self.window, self.length) = (front, window, length);
        self.moves.clear();
    }

    /// Pushes `count` (16 bits) bytes if the guard holds. Returns the condition under which this is
    /// done.
    pub fn insert(&mut self, graph: &mut Graph, guard: Node, count: Node) -> Result<Node, String> {
        if self.is_moved && !self.excludes_writes(graph, guard) {
            return Err("bytes are popped, written and pushed in one step: \
                        this machine clears pushed bytes before it writes any"
                .into());
        }
        self.is_mixed |= self.is_moved
            && (self.settled.is_some()
                || self.moves.iter().any(|(other, _)| !facts::exclusive(graph, *other, guard)));
        self.prepare(graph, guard);
        let (window, length) = (self.window, self.length);
        let limit = graph.number(9, u64::from(WINDOW_BYTES));
        let room = graph.binary(BinaryOp::Sub, limit, window);
        let room = graph.extend(room, 16);
        let fits_window = graph.binary(BinaryOp::Ule, count, room);
        let limit = graph.number(16, u64::from(MAX_LENGTH));
        let room = graph.binary(BinaryOp::Sub, limit, length);
        let fits_length = graph.binary(BinaryOp::Ule, count, room);
        let done = graph.all([guard, fits_window, fits_length]);
        if self.pushed.iter().any(|(other, _)| !facts::exclusive(graph, *other, done)) {
            return Err(
                "bytes are pushed twice in one step: this machine clears one run of bytes a step"
                    .into(),
            );
        }
        self.moves.push((done, count));
        self.pushed.push((done, count));
        self.is_moved = true;
        Ok(done)
    }

    /// Pops `count` (16 bits) bytes if the guard holds. Returns the condition under which this is
    /// done.
    pub fn remove(&mut self, graph: &mut Graph, guard: Node, count: Node) -> Result<Node, String> {
        self.prepare(graph, guard);
        let window = graph.extend(self.window, 16);
        let fits = graph.binary(BinaryOp::Ule, count, window);
        let done = graph.and(guard, fits);
        if self.pushed.iter().any(|(other, _)| !facts::exclusive(graph, *other, done)) {
            return Err("bytes are pushed and popped again in one step: \
                        this machine clears one run of bytes a step, at the window's front"
                .into());
        }
        let growth = graph.unary(UnaryOp::Neg, count);
        self.moves.push((done, growth));
        self.is_moved = true;
        Ok(done)
    }

    /// Prepares a resize under a guard: if the guard does not exclude the resizes since the anchor,
    /// the anchor moves to the current state.
    fn prepare(&mut self, graph: &mut Graph, guard: Node) {
        if self.moves.iter().any(|(other, _)| !facts::exclusive(graph, *other, guard)) {
            self.settle(graph);
        }
    }

    /// Returns whether a condition excludes all earlier writes.
    fn excludes_writes(&self, graph: &Graph, condition: Node) -> bool {
        let mut pieces = self.groups.iter().flatten().flat_map(|g| g.bytes.iter().flatten());
        pieces.all(|piece| facts::exclusive(graph, piece.condition, condition))
    }

    /// Replaces the packet by `count` zero bytes.
    pub fn reset(&mut self, graph: &mut Graph, guard: Node, count: Node) -> Result<Node, String> {
        if !self.excludes_writes(graph, guard) {
            return Err("the packet is reset after a write in one step: \
                        this machine clears bytes before it writes any"
                .into());
        }
        if self.pushed.iter().any(|(other, _)| !facts::exclusive(graph, *other, guard)) {
            return Err(
                "the packet is reset after a push in the same step: this machine clears one range \
                 of bytes in each step"
                    .into(),
            );
        }
        self.settle(graph);
        let limit = graph.number(16, u64::from(WINDOW_BYTES));
        let fits = graph.binary(BinaryOp::Ule, count, limit);
        let done = graph.and(guard, fits);
        let window = graph.slice(count, 0, 9);
        self.window = graph.select(done, window, self.window);
        self.length = graph.select(done, count, self.length);
        self.pushed.push((done, count));
        self.zeroed = Some(match self.zeroed {
            Some(zeroed) => graph.or(zeroed, done),
            None => done,
        });
        self.is_moved = true;
        Ok(done)
    }

    /// Truncates the packet to `length` (16 bits) bytes.
    pub fn truncate(&mut self, graph: &mut Graph, guard: Node, length: Node) -> Node {
        self.settle(graph);
        let fits = graph.binary(BinaryOp::Ule, length, self.length);
        let done = graph.and(guard, fits);
        let window = graph.extend(self.window, 16);
        let shorter = graph.binary(BinaryOp::Ult, length, window);
        let cuts = graph.and(done, shorter);
        let low = graph.slice(length, 0, 9);
        self.window = graph.select(cuts, low, self.window);
        self.length = graph.select(done, length, self.length);
        self.is_cut = true;
        done
    }

    /// Extends the packet by `count` (16 bits) bytes after its window, if a condition holds.
    pub fn append(&mut self, graph: &mut Graph, done: Node, count: Node) {
        self.settle(graph);
        let length = graph.binary(BinaryOp::Add, self.length, count);
        self.length = graph.select(done, length, self.length);
    }

    /// Reads a field of `width` bits from `bit` of a group on. Bytes outside the window are zero.
    pub fn read(
        &mut self,
        graph: &mut Graph,
        (index, group, root): (usize, &Group, Option<Node>),
        bit: u32,
        width: u32,
    ) -> Result<Node, String> {
        if self.is_moved {
            return Err("the header is read after a push or pop in the same step: \
                        this machine reads its words as a step begins"
                .into());
        }
        let (first, end) =
            (group.offset * 8 + i64::from(bit), group.offset * 8 + i64::from(bit + width));
        for written in self.groups.iter().flatten() {
            if written.root != root || written.overlaps(first, end) {
                return Err(
                    "the header is read after a write of the same step that may change it: \
                            this machine reads its words as a step begins"
                        .into(),
                );
            }
        }
        let field = self.field(graph, (index, group, root), bit, width);
        if !self.is_cut {
            return Ok(field);
        }
        let mut bytes = Vec::new();
        let mut low = width;
        for byte in bit / 8..(bit + width).div_ceil(8) {
            let part = ((byte + 1) * 8).min(bit + width) - (byte * 8).max(bit);
            low -= part;
            let piece = graph.slice(field, low, part);
            let inside = self.is_inside(graph, root, group.offset + i64::from(byte) + 1);
            bytes.push(graph.mask(inside, piece));
        }
        Ok(graph.concat(bytes))
    }

    fn field(
        &mut self,
        graph: &mut Graph,
        (index, group, root): (usize, &Group, Option<Node>),
        bit: u32,
        width: u32,
    ) -> Node {
        let word_bits = 8 * self.word_bytes;
        let mut parts = Vec::new();
        let mut at = bit;
        while at < bit + width {
            let number = at / word_bits;
            let word = self.firsts[index] + number as usize;
            let offset = group.offset + i64::from(number * self.word_bytes);
            self.words[word] = Some(ReadWord { root, offset });
            let end = ((number + 1) * word_bits).min(bit + width);
            let input = graph.input(Input::Word(word as u32), word_bits);
            parts.push(graph.slice(input, (number + 1) * word_bits - end, end - at));
            at = end;
        }
        graph.concat(parts)
    }

    /// Returns whether the bytes before `end`, counted from a root, lie inside the window.
    fn is_inside(&self, graph: &mut Graph, root: Option<Node>, end: i64) -> Node {
        let window = self.window(graph);
        let Some(root) = root else {
            let end = graph.number(17, end.unsigned_abs());
            let window = graph.extend(window, 17);
            return graph.binary(BinaryOp::Ule, end, window);
        };
        let root = graph.resize(root, 16);
        if end < 0 {
            let before = graph.extend(root, 17);
            let distance = graph.number(17, end.unsigned_abs());
            let end = graph.binary(BinaryOp::Sub, before, distance);
            let window = graph.extend(window, 17);
            return graph.binary(BinaryOp::Ule, end, window);
        }
        // The number of window bytes after the root, computed once for all fields after it. Bit 16
        // is set if there are none.
        let (window, root) = (graph.extend(window, 17), graph.extend(root, 17));
        let left = graph.binary(BinaryOp::Sub, window, root);
        let nothing = graph.slice(left, 16, 1);
        let something = graph.not(nothing);
        let left = graph.slice(left, 0, 9);
        let end = graph.number(17, end.unsigned_abs());
        let left = graph.extend(left, 17);
        let enough = graph.binary(BinaryOp::Ule, end, left);
        graph.and(something, enough)
    }
}

/// Returns whether a node depends only on the step's number, the state and the packet's
/// information.
pub fn is_early(graph: &Graph, node: Node) -> bool {
    let cone = graph.cone([node]);
    graph.nodes().filter(|n| cone[n.index()]).all(|n| {
        !matches!(graph.kind(n), NodeKind::Input(Input::Word(_) | Input::Reply(_) | Input::Phase))
    })
}

/// Returns a constant of `width` bits from a number modulo 2^`width`.
pub fn wrapped(graph: &mut Graph, width: u32, value: i64) -> Node {
    let bits = Bits::new(width, u128::from(value.rem_euclid(1i64 << width).unsigned_abs()));
    graph.constant(bits)
}
