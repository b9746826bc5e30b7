//! Finds the bits of a value that are certain: known to be 0 or known to be 1 for every packet.

use wireloom_bits::Bits;
pub use wireloom_bits::Known;
use wireloom_ir::{BinaryOp, Block, Meta, OpKind, Step, UnaryOp, Value};

/// Returns the known bits of each value of a step, given the known bits of the context at its
/// beginning.
pub fn of_step(step: &Step, context: &[Known]) -> Vec<Known> {
    let mut known: Vec<Known> = step.values.iter().map(|v| Known::nothing(v.width)).collect();
    let mut context = context.to_vec();
    for block in step.code.blocks() {
        of_block(block, &mut context, &mut known);
    }
    known
}

fn of_block(block: &Block, context: &mut Vec<Known>, known: &mut [Known]) {
    for op in &block.ops {
        if let OpKind::WriteContext(id, value) = op.kind {
            let (before, written) = (&context[id.index()], &known[value.index()]);
            context[id.index()] =
                if op.guard.is_none() { written.clone() } else { before.either(written) };
        } else if let OpKind::If { then, otherwise, .. } = &op.kind {
            let mut other = context.clone();
            of_block(&then.0, context, known);
            of_block(&otherwise.0, &mut other, known);
            context.iter_mut().zip(&other).for_each(|(a, b)| *a = a.either(b));
            for (i, result) in op.results.iter().enumerate() {
                known[result.index()] =
                    known[then.1[i].index()].either(&known[otherwise.1[i].index()]);
            }
        } else if let [result] = op.results[..] {
            let width = known[result.index()].width();
            known[result.index()] = of_operation(&op.kind, width, context, |v| &known[v.index()]);
        }
    }
}

/// Returns the known bits of an operation's result of `width` bits.
pub fn of_operation<'a>(
    kind: &OpKind,
    width: u32,
    context: &[Known],
    of: impl Fn(Value) -> &'a Known,
) -> Known {
    match kind {
        OpKind::Const(bits) => Known::constant(bits),
        OpKind::Unary(op, a) => unary(*op, of(*a)),
        OpKind::Binary(op, a, b) => binary(*op, of(*a), of(*b)),
        OpKind::Select(c, a, b) => {
            let (condition, a, b) = (of(*c), of(*a), of(*b));
            if condition.ones.is_ones() {
                a.clone()
            } else if condition.zeros.is_ones() {
                b.clone()
            } else {
                a.either(b)
            }
        }
        OpKind::Extend(a) => {
            let a = of(*a);
            let high = Bits::ones(width).shl(a.width());
            Known { zeros: a.zeros.resize(width).or(&high), ones: a.ones.resize(width) }
        }
        OpKind::Slice(a, lo) => {
            let a = of(*a);
            Known { zeros: a.zeros.slice(*lo, width), ones: a.ones.slice(*lo, width) }
        }
        OpKind::Table { elements, index } => {
            let index = of(*index);
            let is_inside = index.max().to_u64().is_some_and(|max| max < elements.len() as u64);
            let beyond = (!is_inside).then(|| Known::constant(&Bits::zero(width)));
            let elements = elements.iter().map(Known::constant).chain(beyond);
            elements.reduce(|a, b| a.either(&b)).expect("a table has elements")
        }
        OpKind::Concat(parts) => {
            let mut parts = parts.iter().map(|p| of(*p));
            let first = parts.next().expect("a concatenation has parts").clone();
            parts.fold(first, |high, low| Known {
                zeros: high.zeros.concat(&low.zeros),
                ones: high.ones.concat(&low.ones),
            })
        }
        OpKind::ReadContext(id) => context[id.index()].clone(),
        OpKind::ReadMeta(Meta::Window) => {
            Known::at_most(&Bits::new(width, u128::from(super::depth::WINDOW_BYTES)), width)
        }
        _ => Known::nothing(width),
    }
}

/// Returns the known bits of a sum or a difference, up to the lowest bit that is unknown in an
/// operand: carries only go upwards.
fn low_bits(a: &Known, b: &Known, result: fn(&Bits, &Bits) -> Bits) -> Known {
    let width = a.width();
    let unknown = |known: &Known| known.zeros.or(&known.ones).not();
    let either = unknown(a).or(&unknown(b));
    let certain = (0..width).find(|bit| either.bit(*bit)).unwrap_or(width);
    let mask = if certain == 0 { Bits::zero(width) } else { Bits::ones(certain).resize(width) };
    let value = result(&a.ones, &b.ones);
    Known { zeros: value.not().and(&mask), ones: value.and(&mask) }
}

fn unary(op: UnaryOp, a: &Known) -> Known {
    let width = a.width();
    match op {
        UnaryOp::Not => a.complement(),
        UnaryOp::Neg => Known::nothing(width),
        // At most the number of bits that may be 1.
        UnaryOp::Popcount => Known::at_most(&a.zeros.not().popcount(), width),
        UnaryOp::Clz => Known::at_most(&a.min().clz(), width),
    }
}

fn binary(op: BinaryOp, a: &Known, b: &Known) -> Known {
    let width = a.width();
    let bit =
        |value: Option<bool>| value.map_or(Known::nothing(1), |v| Known::constant(&Bits::bool(v)));
    let count = || b.value_in(&Bits::ones(b.width())).map(|c| c.to_shift());
    match op {
        BinaryOp::And => Known { zeros: a.zeros.or(&b.zeros), ones: a.ones.and(&b.ones) },
        BinaryOp::Or => Known { zeros: a.zeros.and(&b.zeros), ones: a.ones.or(&b.ones) },
        BinaryOp::Xor => Known {
            zeros: a.zeros.and(&b.zeros).or(&a.ones.and(&b.ones)),
            ones: a.zeros.and(&b.ones).or(&a.ones.and(&b.zeros)),
        },
        BinaryOp::Add if width < wireloom_bits::MAX_WIDTH => {
            let sum = a.max().resize(width + 1).add(&b.max().resize(width + 1));
            let low = low_bits(a, b, Bits::add);
            if sum.bit(width) { low } else { Known::at_most(&sum, width).both(&low) }
        }
        BinaryOp::Add | BinaryOp::Sub => {
            low_bits(a, b, if op == BinaryOp::Add { Bits::add } else { Bits::sub })
        }
        BinaryOp::Mul if a.significant() + b.significant() <= width => {
            Known::at_most(&a.max().mul(&b.max()), width)
        }
        // A division by zero returns all ones.
        BinaryOp::Udiv if !b.min().is_zero() => Known::at_most(&a.max().udiv(b.min()), width),
        BinaryOp::Urem => {
            let by_divisor = b.max().sub(&Bits::new(width, 1));
            let max = if b.min().is_zero() { a.max() } else { a.max().min(by_divisor) };
            Known::at_most(&max, width)
        }
        BinaryOp::Shl => match count() {
            Some(count) => {
                let low = Bits::ones(width).shl(count).not();
                Known { zeros: a.zeros.shl(count).or(&low), ones: a.ones.shl(count) }
            }
            None => Known::nothing(width),
        },
        BinaryOp::Lshr => match count() {
            Some(count) => {
                let high = Bits::ones(width).lshr(count).not();
                Known { zeros: a.zeros.lshr(count).or(&high), ones: a.ones.lshr(count) }
            }
            None => Known::at_most(&a.max(), width),
        },
        BinaryOp::Eq | BinaryOp::Ne => {
            let differ = !a.ones.and(&b.zeros).is_zero() || !a.zeros.and(&b.ones).is_zero();
            bit(differ.then_some(op == BinaryOp::Ne))
        }
        BinaryOp::Ult => bit(if a.max() < *b.min() {
            Some(true)
        } else {
            (*a.min() >= b.max()).then_some(false)
        }),
        BinaryOp::Ule => bit(if a.max() <= *b.min() {
            Some(true)
        } else {
            (*a.min() > b.max()).then_some(false)
        }),
        BinaryOp::Umin => Known::at_most(&a.max().min(b.max()), width).both(&a.either(b)),
        BinaryOp::Umax => a.either(b),
        BinaryOp::Mul | BinaryOp::Udiv => Known::nothing(width),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_low_bits_of_a_sum_are_known_as_far_as_those_of_both_operands() {
        // The offset is 14 or 18 after Ethernet, plus four bytes for each label.
        let at = Known::constant(&Bits::new(9, 14)).either(&Known::constant(&Bits::new(9, 18)));
        let labels = Known { zeros: Bits::new(9, 0b11), ones: Bits::zero(9) };
        let low = |known: &Known| known.value_in(&Bits::new(9, 0b11));
        assert_eq!(low(&binary(BinaryOp::Add, &at, &labels)), Some(Bits::new(9, 2)));
        assert_eq!(low(&binary(BinaryOp::Sub, &at, &labels)), Some(Bits::new(9, 2)));
        let one = Known::constant(&Bits::new(9, 1));
        assert_eq!(low(&binary(BinaryOp::Sub, &labels, &one)), Some(Bits::new(9, 3)));
        let any = Known::nothing(9);
        assert_eq!(binary(BinaryOp::Add, &at, &any), any);
        let whole = [Known::constant(&Bits::new(9, 500)), Known::constant(&Bits::new(9, 100))];
        assert_eq!(binary(BinaryOp::Add, &whole[0], &whole[1]), Known::constant(&Bits::new(9, 88)));
    }
}
