//! Short words for what modules made of instances are full of.

use std::fmt::Debug;

use super::{Expr, Instance, Type};

/// A name.
pub fn name(name: impl Into<String>) -> Expr {
    Expr::name(name)
}

/// A number without width; it must not be negative.
pub fn int<N: TryInto<u64, Error: Debug>>(number: N) -> Expr {
    Expr::int(number.try_into().expect("numbers of hardware are not negative"))
}

/// Bits in a vector, be it of one only.
pub fn vector<N: TryInto<u64, Error: Debug>>(width: N) -> Type {
    Type::vector(int(width))
}

/// An instance at clock and reset.
pub fn clocked(module: impl Into<String>, instance: impl Into<String>) -> Instance {
    Instance::new(module, instance).port("clk_i", name("clk_i")).port("rst_i", name("rst_i"))
}
