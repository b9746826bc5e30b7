//! Writes to the current packet: fields are converted to bytes with conditions.

use wireloom_compile::analysis::ports::Group;
use wireloom_ir::BinaryOp;

use super::super::facts;
use super::super::graph::{Graph, Input, Node};
use super::{Clear, Hand, ReadWord, WriteWord, is_early};

/// The data that a write port writes.
pub(super) struct WriteGroup {
    /// The physical address of byte 0 of the window at the time of the write.
    pub(super) front: Node,
    /// The growth of the window up to the write.
    pub(super) growth: Option<Node>,
    /// The condition under which the packet was reset before the write.
    pub(super) zeroed: Option<Node>,
    pub(super) root: Option<Node>,
    pub(super) offset: i64,
    pub(super) bytes: Vec<Vec<Piece>>,
    /// The number of resizes since the anchor that `front` takes into account.
    moves: usize,
}

/// The bits of a byte that a write sets.
#[derive(Clone, Copy)]
pub(super) struct Piece {
    pub(super) condition: Node,
    /// The position of the lowest bit.
    low: u32,
    width: u32,
    value: Node,
}

impl Hand {
    /// Writes a field that begins at `bit` of a group, if the guard holds and all of its bytes are
    /// in the window.
    pub fn write(
        &mut self,
        graph: &mut Graph,
        (index, group, root): (usize, &Group, Option<Node>),
        bit: u32,
        guard: Node,
        value: Node,
    ) -> Result<(), String> {
        let width = graph.width(value);
        let end = (bit + width).div_ceil(8);
        let inside = self.is_inside(graph, root, group.offset + i64::from(end));
        let condition = graph.and(guard, inside);
        let (front, growth, zeroed) = (self.front(graph), self.total_growth(graph), self.zeroed);
        let bytes = group.bytes as usize;
        let moves = &self.moves;
        let into = self.groups[index].get_or_insert_with(|| WriteGroup {
            front,
            growth,
            zeroed,
            root,
            offset: group.offset,
            bytes: vec![Vec::new(); bytes],
            moves: moves.len(),
        });
        if into.front != front {
            // Whenever an earlier write happens, no resize has happened since, so byte 0 has not
            // moved.
            let mut pieces = into.bytes.iter().flatten();
            let since = moves.get(into.moves..).unwrap_or(moves);
            let apart =
                pieces.all(|p| since.iter().all(|(c, _)| facts::exclusive(graph, p.condition, *c)));
            if !apart || self.settled.is_some() {
                return Err(
                    "neighbouring bytes are written before and after a push or pop in one step"
                        .into(),
                );
            }
            (into.front, into.growth, into.zeroed) = (front, growth, zeroed);
            into.moves = moves.len();
        }
        for byte in bit / 8..end {
            let (from, to) = ((byte * 8).max(bit), ((byte + 1) * 8).min(bit + width));
            let piece = graph.slice(value, bit + width - to, to - from);
            into.bytes[byte as usize].push(Piece {
                condition,
                low: (byte + 1) * 8 - to,
                width: to - from,
                value: piece,
            });
        }
        Ok(())
    }

    /// Ends the step: converts the written and the cleared bytes to their final form.
    pub fn seal(&mut self, graph: &mut Graph) -> Result<(), String> {
        let groups: Vec<WriteGroup> = self.groups.drain(..).flatten().collect();
        for group in groups {
            let mut bytes = Vec::new();
            for (index, pieces) in group.bytes.iter().enumerate() {
                bytes.push(self.byte(graph, &group, index, pieces)?);
            }
            for (index, chunk) in bytes.chunks(self.word_bytes as usize).enumerate() {
                if chunk.iter().any(Option::is_some) {
                    self.writes.push(WriteWord {
                        front: group.front,
                        root: group.root,
                        offset: group.offset + (index as i64) * i64::from(self.word_bytes),
                        bytes: chunk.to_vec(),
                    });
                }
            }
        }
        if self.zeroed.is_some() && self.words.iter().any(Option::is_some) {
            return Err("the packet is reset in a step that reads it: this machine clears bytes \
                        before the step is done, so the read would find zeros"
                .into());
        }
        if !self.pushed.is_empty() {
            let valid = graph.any(self.pushed.iter().map(|(condition, _)| *condition));
            let (_, last) = self.pushed[self.pushed.len() - 1];
            let count = self.pushed[..self.pushed.len() - 1]
                .iter()
                .fold(last, |rest, (condition, count)| graph.select(*condition, *count, rest));
            let address = self.front(graph);
            let count = graph.slice(count, 0, 9);
            self.clear = Some(Clear { valid, address, count });
        }
        Ok(())
    }

    /// Returns the condition and the value of a written byte. If some of its bits keep their value,
    /// the old byte is read.
    fn byte(
        &mut self,
        graph: &mut Graph,
        group: &WriteGroup,
        index: usize,
        pieces: &[Piece],
    ) -> Result<Option<(Node, Node)>, String> {
        if pieces.is_empty() {
            return Ok(None);
        }
        let strobe = graph.any(pieces.iter().map(|p| p.condition));
        // Pieces with the same condition form one write.
        let runs: Vec<&[Piece]> = pieces.chunk_by(|a, b| a.condition == b.condition).collect();
        let mut now = match keeps_bits(graph, &runs) {
            true => Some(self.old_byte(graph, group, index)?),
            false => None,
        };
        for run in runs {
            let below = now.unwrap_or_else(|| graph.number(8, 0));
            let changed = run
                .iter()
                .fold(below, |byte, piece| with_slice(graph, byte, piece.low, piece.value));
            now = Some(match now {
                None => changed,
                Some(below) => graph.select(run[0].condition, changed, below),
            });
        }
        Ok(now.map(|value| (strobe, value)))
    }

    /// Returns the value of a group's byte at the beginning of the step, or zero if it was pushed
    /// since.
    fn old_byte(
        &mut self,
        graph: &mut Graph,
        group: &WriteGroup,
        index: usize,
    ) -> Result<Node, String> {
        let offset = group.offset + index as i64;
        let word_bits = 8 * self.word_bytes;
        if self.is_mixed {
            return Err(
                "part of a byte is written where bytes were popped and pushed in one step".into()
            );
        }
        let (root, offset) = match group.growth {
            None => (group.root, offset),
            Some(growth) => {
                // Bytes were at another offset before the resize. Pushed bytes were before the
                // window.
                let root = match group.root {
                    Some(root) => graph.resize(root, 17),
                    None => graph.number(17, 0),
                };
                let at = graph.number(17, offset.rem_euclid(1 << 17).unsigned_abs());
                let at = graph.binary(BinaryOp::Add, root, at);
                let sign = graph.slice(growth, 15, 1);
                let growth = graph.concat(vec![sign, growth]);
                (Some(graph.binary(BinaryOp::Sub, at, growth)), 0)
            }
        };
        if root.is_some_and(|root| !is_early(graph, root)) {
            return Err(
                "part of a byte is written at an offset that depends on a read or a reply of the \
                 same step: this machine reads the rest of the byte when the step begins"
                    .into(),
            );
        }
        let covers = |word: &Option<ReadWord>| {
            word.is_some_and(|w| {
                w.root == root
                    && (w.offset..w.offset + i64::from(self.word_bytes)).contains(&offset)
            })
        };
        let found = self.words.iter().position(covers);
        let number = found.unwrap_or_else(|| {
            self.words.push(Some(ReadWord { root, offset }));
            self.words.len() - 1
        });
        let word = self.words[number].expect("it was found or made");
        let byte = (offset - word.offset) as u32;
        let input = graph.input(Input::Word(number as u32), word_bits);
        let byte = graph.slice(input, word_bits - 8 * (byte + 1), 8);
        Ok(match group.zeroed {
            Some(zeroed) => {
                let kept = graph.not(zeroed);
                graph.mask(kept, byte)
            }
            None => byte,
        })
    }
}

/// Returns whether a byte may keep some of its bits when it is written: a write of a part of it may
/// happen without an earlier one of the whole byte.
fn keeps_bits(graph: &Graph, runs: &[&[Piece]]) -> bool {
    let is_whole = |run: &&&[Piece]| {
        run.iter().fold(0u32, |all, p| all | ((1 << p.width) - 1) << p.low) == 0xff
    };
    runs.iter().enumerate().filter(|(_, run)| !is_whole(run)).any(|(index, run)| {
        let facts = facts::given(graph, run[0].condition);
        let mut whole = runs[..index].iter().filter(is_whole);
        !whole.any(|whole| facts.bit(whole[0].condition) == Some(true))
    })
}

impl WriteGroup {
    /// Returns whether the group sets any of the bits `first .. end`, counted from the root.
    pub(super) fn overlaps(&self, first: i64, end: i64) -> bool {
        self.bytes.iter().enumerate().any(|(index, pieces)| {
            let byte = (self.offset + index as i64) * 8;
            // Bit 7 of a byte comes first.
            let end_of = |p: &Piece| byte + 8 - i64::from(p.low);
            pieces.iter().any(|p| end_of(p) > first && end_of(p) - i64::from(p.width) < end)
        })
    }
}

/// Returns a node with some of its bits replaced.
fn with_slice(graph: &mut Graph, node: Node, low: u32, part: Node) -> Node {
    let (width, part_width) = (graph.width(node), graph.width(part));
    let mut parts = Vec::new();
    if low + part_width < width {
        parts.push(graph.slice(node, low + part_width, width - low - part_width));
    }
    parts.push(part);
    if low > 0 {
        parts.push(graph.slice(node, 0, low));
    }
    graph.concat(parts)
}
