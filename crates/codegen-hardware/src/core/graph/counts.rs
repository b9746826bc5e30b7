//! Counts of bits, as sums and choices: the graph has no nodes for them.

use wireloom_bits::Bits;
use wireloom_ir::BinaryOp;

use super::{Graph, Node};

impl Graph {
    /// Returns the number of bits that are 1. It adds pairs of bits, then pairs of these sums, and
    /// so on; each sum is a bit wider.
    pub(super) fn popcount(&mut self, a: Node) -> Node {
        let width = self.width(a);
        let mut sums: Vec<Node> = (0..width).map(|bit| self.slice(a, bit, 1)).collect();
        let mut bits = 1;
        while sums.len() > 1 {
            bits += 1;
            sums = sums
                .chunks(2)
                .map(|pair| {
                    let first = self.extend(pair[0], bits);
                    match pair.get(1) {
                        Some(second) => {
                            let second = self.extend(*second, bits);
                            self.binary(BinaryOp::Add, first, second)
                        }
                        None => first,
                    }
                })
                .collect();
        }
        self.resize(sums[0], width)
    }

    /// Returns the number of zeros above the highest bit that is 1, or the width if no bit is 1.
    pub(super) fn clz(&mut self, a: Node) -> Node {
        let width = self.width(a);
        let whole = width.next_power_of_two();
        // Ones below end the zeros of a width that is no power of two.
        let padded = if whole == width {
            a
        } else {
            let below = self.constant(Bits::ones(whole - width));
            self.concat(vec![a, below])
        };
        let (is_zero, count) = self.leading(padded);
        let all = self.number(width, width.into());
        match count {
            Some(count) => {
                let count = self.resize(count, width);
                self.select(is_zero, all, count)
            }
            None => is_zero,
        }
    }

    /// Returns whether a node whose width is a power of two is zero, and otherwise the number of
    /// zeros above its highest one. A node of one bit has no zeros above.
    fn leading(&mut self, a: Node) -> (Node, Option<Node>) {
        let width = self.width(a);
        if width == 1 {
            return (self.not(a), None);
        }
        let half = width / 2;
        let (high, low) = (self.slice(a, half, half), self.slice(a, 0, half));
        let ((high_is_zero, in_high), (low_is_zero, in_low)) =
            (self.leading(high), self.leading(low));
        let is_zero = self.and(high_is_zero, low_is_zero);
        let count = match (in_high, in_low) {
            (Some(in_high), Some(in_low)) => {
                let rest = self.select(high_is_zero, in_low, in_high);
                self.concat(vec![high_is_zero, rest])
            }
            _ => high_is_zero,
        };
        (is_zero, Some(count))
    }
}
