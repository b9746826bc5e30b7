//! Whether every path through a step ends it.

use crate::{Block, OpKind};

/// How control can reach the end of a block without an exit, over all paths through it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum FallsThrough {
    /// Every path takes an exit.
    Never,
    /// Guards decide.
    Perhaps,
    /// Some path has no exit at all.
    Surely,
}

pub(super) fn falls_through(block: &Block) -> FallsThrough {
    let of_op = |kind: &OpKind, guarded: bool| match kind {
        OpKind::Exit(_) if guarded => FallsThrough::Perhaps,
        OpKind::Exit(_) => FallsThrough::Never,
        OpKind::If { then, otherwise, .. } => falls_through(&then.0).max(falls_through(&otherwise.0)),
        _ => FallsThrough::Surely,
    };
    block.ops.iter().map(|op| of_op(&op.kind, op.guard.is_some())).min().unwrap_or(FallsThrough::Surely)
}
