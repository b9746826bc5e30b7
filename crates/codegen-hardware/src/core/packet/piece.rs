//! The bytes of the packet that leave: all, or those of a copy.

use wireloom_ir::BinaryOp;

use super::Hand;
use crate::core::graph::{Graph, Node};
use crate::core::step_logic::Extent;

/// The number of bits of `wl_pkg::piece_t`.
pub const PIECE_BITS: u32 = 49;

impl Hand {
    /// Returns the bytes that leave as `wl_pkg::piece_t`.
    pub fn piece(&self, graph: &mut Graph, extent: Option<Extent>) -> Node {
        let (front, window, length) = (self.front(graph), self.window(graph), self.length(graph));
        let Some(Extent { offset, count }) = extent else {
            let skip = graph.number(16, 0);
            return self.record(graph, skip, length, window, front);
        };
        let is_inside = graph.binary(BinaryOp::Ule, offset, length);
        let left = graph.binary(BinaryOp::Sub, length, offset);
        let left = graph.mask(is_inside, left);
        let to_the_end = graph.binary(BinaryOp::Ule, left, count);
        let length = graph.select(to_the_end, left, count);

        let wide = graph.extend(window, 16);
        let in_window = graph.binary(BinaryOp::Ult, offset, wide);
        let rest = graph.binary(BinaryOp::Sub, wide, offset);
        let in_window_only = graph.binary(BinaryOp::Ule, length, rest);
        let (rest, all) = (graph.slice(rest, 0, 9), graph.slice(length, 0, 9));
        let window = graph.select(in_window_only, all, rest);
        let window = graph.mask(in_window, window);

        let after_window = graph.not(in_window);
        let skip = graph.binary(BinaryOp::Sub, offset, wide);
        let skip = graph.mask(after_window, skip);
        let offset = graph.slice(offset, 0, 8);
        let front = graph.binary(BinaryOp::Add, front, offset);
        self.record(graph, skip, length, window, front)
    }

    /// Returns the record. Without a byte of the window, its front is 0.
    fn record(
        &self,
        graph: &mut Graph,
        skip: Node,
        length: Node,
        window: Node,
        front: Node,
    ) -> Node {
        let zero = graph.number(9, 0);
        let is_empty = graph.binary(BinaryOp::Eq, window, zero);
        let some = graph.not(is_empty);
        let front = graph.mask(some, front);
        graph.concat(vec![skip, length, window, front])
    }
}
