//! Checks whether every path through a step ends it.

use crate::{Block, Op, OpKind};

/// Whether some path through a block reaches its end without an exit.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum FallsThrough {
    /// Every path takes an exit.
    Never,
    /// The guards decide.
    Perhaps,
    /// Some path contains no exit.
    Surely,
}

/// Classifies a block. `may_have_left` says that an earlier operation may have ended the step. A
/// condition can then be the flag that records this, and control never reaches an arm without an
/// exit.
pub(super) fn falls_through(block: &Block, mut may_have_left: bool) -> FallsThrough {
    let mut whole = FallsThrough::Surely;
    for op in &block.ops {
        let of_op = match &op.kind {
            OpKind::Exit(_) if op.guard.is_some() => FallsThrough::Perhaps,
            OpKind::Exit(_) => FallsThrough::Never,
            OpKind::If { then, otherwise, .. } => {
                let arms = [then, otherwise].map(|arm| falls_through(&arm.0, may_have_left));
                let (least, most) = (arms[0].min(arms[1]), arms[0].max(arms[1]));
                let flagged = may_have_left && least < FallsThrough::Surely;
                if flagged { most.min(FallsThrough::Perhaps) } else { most }
            }
            _ => continue,
        };
        whole = whole.min(of_op);
        may_have_left |= contains_exit(op);
    }
    whole
}

fn contains_exit(op: &Op) -> bool {
    match &op.kind {
        OpKind::Exit(_) => true,
        OpKind::If { then, otherwise, .. } => {
            [then, otherwise].iter().any(|arm| arm.0.ops.iter().any(contains_exit))
        }
        _ => false,
    }
}
