//! Lane-wise arithmetic on packed values, and the packing of replies.

use wireloom_bits::Bits;

use crate::Layout;

/// The leaves of a packed value. Operations apply to each leaf separately.
#[derive(Clone, Debug)]
pub(crate) struct Lanes {
    /// The position of the least significant bit and the width of each leaf, in bits.
    lanes: Vec<(u32, u32)>,
}

impl Lanes {
    pub(crate) fn new(layout: &Layout) -> Self {
        let mut top = layout.width();
        let lanes = layout.fields.iter().map(|(_, width)| {
            top -= width;
            (top, *width)
        });
        Self { lanes: lanes.collect() }
    }

    /// Adds leaf by leaf. Each sum wraps at the width of the leaf.
    pub(crate) fn add(&self, a: &Bits, b: &Bits) -> Bits {
        if let [_] = self.lanes[..] {
            return a.add(b);
        }
        self.lanes
            .iter()
            .map(|&(lo, width)| a.slice(lo, width).add(&b.slice(lo, width)))
            .reduce(|high, low| high.concat(&low))
            .expect("a type has at least one leaf")
    }
}

/// Packs the parts of a structure. The first part is the most significant.
pub(crate) fn pack(parts: &[Bits]) -> Bits {
    parts
        .iter()
        .cloned()
        .reduce(|high, low| high.concat(&low))
        .expect("a reply has at least one part")
}

/// Returns the placeholder for a method without a reply.
pub(crate) fn nothing() -> Bits {
    Bits::zero(1)
}

/// Returns the number of 64-bit words of a value of `width` bits.
pub(crate) fn words(width: u32) -> usize {
    width.div_ceil(64) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn carries_do_not_cross_lanes() {
        let layout = Layout::plain(vec![("packets".into(), 4), ("bytes".into(), 8)]);
        let lanes = Lanes::new(&layout);
        assert_eq!(lanes.add(&Bits::new(12, 0x1ff), &Bits::new(12, 0x101)), Bits::new(12, 0x200));
        assert_eq!(lanes.add(&Bits::new(12, 0xf00), &Bits::new(12, 0x100)), Bits::new(12, 0x000));
        assert_eq!(
            Lanes::new(&Layout::scalar(12)).add(&Bits::new(12, 0x1ff), &Bits::new(12, 1)).low_u64(),
            0x200
        );
    }
}
