//! Joins writes of fields that follow each other in the packet, since a write at an arbitrary byte
//! reads, changes and writes whole words.
//!
//! ```text
//! packet[0] = %dst                  %inside = 12 <= window
//! packet[6] = %src           ->     packet[0] = %dst when not %inside
//!                                   packet[0] = %dst, %src when %inside
//! ```
//!
//! A field that lies partly outside the window is not written, so the joined write needs both
//! inside.

use wireloom_bits::Bits;
use wireloom_compile::analysis::resources::{Resource, reads};
use wireloom_ir::{BinaryOp, Block, Code, Meta, Op, OpKind, Step, UnaryOp, Value, ValueInfo};

use super::words::is_wide;

/// The width of offsets in a packet, and of the length of the window.
const OFFSET: u32 = 16;

/// A write to the packet that always happens, at a constant byte.
struct Write {
    base: Value,
    begin: u32,
    bit: u32,
    value: Value,
    width: u32,
}

impl Write {
    /// Returns the byte after the field.
    fn end(&self) -> u32 {
        self.begin + (self.bit + self.width).div_ceil(8)
    }
}

/// Returns a sequential step with its writes joined.
pub fn joined(step: Step) -> Step {
    let Code::Sequential(block) = step.code else { return step };
    let mut values = step.values;
    let ops = joined_ops(block.ops, &mut values);
    Step { values, code: Code::Sequential(Block { ops }), ..step }
}

fn joined_ops(mut ops: Vec<Op>, values: &mut Vec<ValueInfo>) -> Vec<Op> {
    let mut at = 0;
    while at < ops.len() {
        let found = write(&ops, at, values).and_then(|first| {
            let to = next(&ops, at)?;
            let second = write(&ops, to, values)?;
            let follows = first.begin == second.begin && first.bit + first.width == second.bit;
            let has_room = !is_wide(first.width + second.width) && second.end() >> OFFSET == 0;
            (follows && has_room).then_some((to, first, second))
        });
        let Some((to, first, second)) = found else {
            at += 1;
            continue;
        };
        let all = both(&ops[at], &first, &second, values);
        let after = to + all.len() - 1;
        ops.splice(to..=to, all);
        ops.remove(at);
        at = after;
    }
    ops
}

fn write(ops: &[Op], at: usize, values: &[ValueInfo]) -> Option<Write> {
    let OpKind::WritePacket { base, bit, value } = ops[at].kind else { return None };
    if ops[at].guard.is_some() {
        return None;
    }
    let is_base = |op: &&Op| op.results.contains(&base);
    let OpKind::Const(bits) = &ops.iter().find(is_base)?.kind else { return None };
    let begin = u32::try_from(bits.to_u128()?).ok()?;
    Some(Write { base, begin, bit, value, width: values[value.index()].width })
}

/// Returns the next operation that has an effect, unless the window is read before it.
fn next(ops: &[Op], at: usize) -> Option<usize> {
    let reads_window = |op: &Op| match &op.kind {
        OpKind::Evaluate { .. } => true,
        kind => reads(kind).is_some_and(|resource| Resource::Window.covers(resource)),
    };
    let to =
        (at + 1..ops.len()).find(|to| ops[*to].kind.has_effect() || reads_window(&ops[*to]))?;
    (!reads_window(&ops[to])).then_some(to)
}

/// Returns the operations that write both.
fn both(like: &Op, first: &Write, second: &Write, values: &mut Vec<ValueInfo>) -> Vec<Op> {
    let mut ops = Vec::new();
    let mut make = |ops: &mut Vec<Op>, kind, width| {
        let made = Value(values.len() as u32);
        values.push(ValueInfo { width, name: None });
        ops.push(Op { kind, results: vec![made], guard: None, loc: like.loc });
        made
    };
    let end = OpKind::Const(Bits::new(OFFSET, second.end().into()));
    let end = make(&mut ops, end, OFFSET);
    let window = make(&mut ops, OpKind::ReadMeta(Meta::Window), OFFSET);
    let inside = make(&mut ops, OpKind::Binary(BinaryOp::Ule, end, window), 1);
    let outside = make(&mut ops, OpKind::Unary(UnaryOp::Not, inside), 1);
    let parts = OpKind::Concat(vec![first.value, second.value]);
    let value = make(&mut ops, parts, first.width + second.width);
    for (value, guard) in [(first.value, outside), (value, inside)] {
        let kind = OpKind::WritePacket { base: first.base, bit: first.bit, value };
        ops.push(Op { kind, results: Vec::new(), guard: Some(guard), loc: like.loc });
    }
    ops
}

#[cfg(test)]
mod tests {
    use wireloom_ir::Exit;
    use wireloom_ir::builder::{EngineBuilder, program_of};

    use wireloom_compile::passes::exits_first::{Placement, exits_first};

    use super::*;

    /// The first bit of each write to the packet, its width, and whether it has a guard.
    fn writes(fields: &[(u32, u32)], reads_between: bool) -> Vec<(u32, u32, bool)> {
        let mut engine = EngineBuilder::packet("e");
        let kept = engine.context("kept", 8);
        engine.regions("only", |s| {
            let zero = s.constant(16, 0);
            s.next_region();
            for (bit, width) in fields {
                let value = s.constant(*width, 5);
                s.write_packet(zero, *bit, value);
                if reads_between {
                    let read = s.read_packet(zero, 3, 8);
                    s.write(kept, read);
                }
            }
            s.next_region();
            s.exit(Exit::Finish);
        });
        let program = program_of(engine);
        let engine = &program.engines[0];
        let step = joined(exits_first(engine, &engine.steps[0], Placement::AtUse));
        let write = |op: &&Op| match op.kind {
            OpKind::WritePacket { bit, value, .. } => {
                Some((bit, step.values[value.index()].width, op.guard.is_some()))
            }
            _ => None,
        };
        step.ops().filter_map(|op| write(&op)).collect()
    }

    #[test]
    fn fields_that_follow_each_other_are_written_together_if_both_are_inside() {
        let expected = [(0, 48, true), (0, 96, true), (96, 16, false)];
        assert_eq!(writes(&[(0, 48), (48, 48), (96, 16)], false), expected);
        for apart in [[(0, 48), (56, 48)], [(0, 48), (40, 16)], [(0, 96), (96, 48)]] {
            let expected = apart.map(|(bit, width)| (bit, width, false));
            assert_eq!(writes(&apart, false), expected);
        }
    }

    #[test]
    fn what_is_read_between_sees_the_first() {
        assert_eq!(writes(&[(0, 8), (8, 8)], true), [(0, 8, false), (8, 8, false)]);
    }
}
