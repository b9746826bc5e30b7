//! Short functions for frequent constructs in modules that consist of instances.

use std::fmt::Debug;

use super::{Expr, Instance, Type};

/// Returns the expression of a name.
pub fn name(name: impl Into<String>) -> Expr {
    Expr::name(name)
}

/// Returns a number without a width. It must not be negative.
pub fn int<N: TryInto<u64, Error: Debug>>(number: N) -> Expr {
    Expr::int(number.try_into().expect("numbers of hardware are not negative"))
}

/// Returns a vector type, even if its width is one bit.
pub fn vector<N: TryInto<u64, Error: Debug>>(width: N) -> Type {
    Type::vector(int(width))
}

/// Creates an instance connected to clock and reset.
pub fn clocked(module: impl Into<String>, instance: impl Into<String>) -> Instance {
    Instance::new(module, instance).port("clk_i", name("clk_i")).port("rst_i", name("rst_i"))
}
