//! Helpers for modules that are made of instances.

use wireloom_codegen_hardware::sv::{Expr, Item, Port, Type};

/// Returns the number of bits needed to number `count` items: `wl_pkg::bits`.
pub fn bits(count: usize) -> u32 {
    count.max(2).next_power_of_two().trailing_zeros()
}

/// Declares a net of this width. The net is always a vector because its elements are selected.
pub fn vector(name: impl Into<String>, width: usize) -> Item {
    Item::net(name, Type::vector(Expr::int(width as u64)))
}

/// Declares a net of a type from the module or from a package.
pub fn typed(name: impl Into<String>, ty: &str) -> Item {
    Item::net(name, Type::Named(ty.into()))
}

/// Declares a packed array whose element type is from the module or from a package.
pub fn array(name: impl Into<String>, ty: &str, count: usize) -> Item {
    Item::net(name, Type::array(ty, Expr::int(count as u64)))
}

/// Returns the type of `count` elements of `width` bits: a packed array, or a vector of bits.
pub fn elements(count: usize, width: usize) -> Type {
    let (count, bits) = (Expr::int(count as u64), Expr::int(width as u64));
    if width == 1 { Type::vector(count) } else { Type::vectors(count, bits) }
}

/// Declares a vector input.
pub fn input(name: impl Into<String>, width: usize, doc: &str) -> Port {
    Port::input(name, Type::vector(Expr::int(width as u64)), doc)
}

/// Declares a vector output.
pub fn output(name: impl Into<String>, width: usize, doc: &str) -> Port {
    Port::output(name, Type::vector(Expr::int(width as u64)), doc)
}

/// Declares a one-bit input.
pub fn bit_in(name: impl Into<String>, doc: &str) -> Port {
    Port::input(name, Type::Bit, doc)
}

/// Declares a one-bit output.
pub fn bit_out(name: impl Into<String>, doc: &str) -> Port {
    Port::output(name, Type::Bit, doc)
}

/// Returns element `index` of a vector whose elements have `width` bits. The index may be a loop
/// variable.
pub fn element(name: impl Into<String>, index: Expr, width: usize) -> Expr {
    let width = Expr::int(width as u64);
    let low = match &index {
        Expr::Int(0) => Expr::int(0),
        _ => index.mul(width.clone()),
    };
    Expr::name(name).part(low, width)
}

/// Returns bit `index` of a vector, or element `index` of an array.
pub fn bit(name: impl Into<String>, index: Expr) -> Expr {
    Expr::name(name).index(index)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_are_those_of_the_package() {
        for (count, expected) in [(1, 1), (2, 1), (3, 2), (4, 2), (5, 3), (64, 6), (65, 7)] {
            assert_eq!(bits(count), expected, "{count}");
        }
    }
}
