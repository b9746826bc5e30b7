//! The output of the parser. Names are not resolved.

use std::ops::Range;

/// A name and its position.
#[derive(Clone, Debug)]
pub struct Name {
    pub text: String,
    pub place: Range<usize>,
}

/// A declaration such as `u8 mac[6]`: a field, or a parameter with `is_out`.
#[derive(Clone, Debug)]
pub struct Declared {
    pub is_out: bool,
    /// The type; also `void`, which the parser treats as a name.
    pub kind: Name,
    pub name: Name,
    /// For an array, the number of elements and its position.
    pub count: Option<(u64, Range<usize>)>,
}

#[derive(Clone, Debug)]
pub struct Method {
    pub is_oneway: bool,
    pub result: Name,
    pub name: Name,
    pub parameters: Vec<Declared>,
}

#[derive(Clone, Debug)]
pub enum Item {
    Struct { name: Name, fields: Vec<Declared> },
    Interface { name: Name, methods: Vec<Method> },
    Service { name: Name, interface: Name },
}
