//! Aggregates as leaves: each structure or array is lowered to one scalar for each of its leaves,
//! in packed order.

use wireloom_lang::hir::{Program, Type};

/// Returns the number of leaves of a type; 0 for `void`.
pub fn count(program: &Program, ty: &Type) -> usize {
    match ty {
        Type::Void => 0,
        Type::Bits(_) | Type::Bool | Type::Enum(_) => 1,
        Type::Struct(id) => {
            program.structs[id.index()].fields.iter().map(|f| count(program, &f.ty)).sum()
        }
        Type::Array(element, n) => count(program, element) * *n as usize,
    }
}

/// Returns the name suffix (`.port`, `[2]`, or empty) and the width of each leaf.
pub fn of(program: &Program, ty: &Type) -> Vec<(String, u32)> {
    let mut out = Vec::new();
    collect(program, ty, &mut String::new(), &mut out);
    out
}

fn collect(program: &Program, ty: &Type, prefix: &mut String, out: &mut Vec<(String, u32)>) {
    let length = prefix.len();
    match ty {
        Type::Void => {}
        Type::Bits(_) | Type::Bool | Type::Enum(_) => out.push((prefix.clone(), program.width(ty))),
        Type::Struct(id) => {
            for field in &program.structs[id.index()].fields {
                prefix.push('.');
                prefix.push_str(&field.name);
                collect(program, &field.ty, prefix, out);
                prefix.truncate(length);
            }
        }
        Type::Array(element, n) => {
            for i in 0..*n {
                prefix.push_str(&format!("[{i}]"));
                collect(program, element, prefix, out);
                prefix.truncate(length);
            }
        }
    }
}

/// Returns the type of field `index` of a structure, its first leaf, and its bit offset from the
/// structure's most significant bit.
///
/// # Panics
/// If the type is not a structure. The checker excludes that.
pub fn field(program: &Program, ty: &Type, index: u32) -> (Type, usize, u32) {
    let Type::Struct(id) = ty else { panic!("field of {ty:?}") };
    let fields = &program.structs[id.index()].fields;
    let before = &fields[..index as usize];
    let first = before.iter().map(|f| count(program, &f.ty)).sum();
    let bit = before.iter().map(|f| program.width(&f.ty)).sum();
    (fields[index as usize].ty.clone(), first, bit)
}

/// Returns the element type and the number of elements of an array.
///
/// # Panics
/// If the type is not an array. The checker excludes that.
pub fn element(ty: &Type) -> (&Type, u32) {
    let Type::Array(element, count) = ty else { panic!("element of {ty:?}") };
    (element, *count)
}
