//! Interfaces that were checked, and how their values stand in messages.
//!
//! A message is a row of 32-bit words. A value of up to 32 bits is one word, zero above its bits; one of 64 bits is two, the low one first. Elements of
//! an array that have 8 or 16 bits are packed, the first in the lowest bits; others follow one another. A struct is its fields in order. So a
//! message means the same to either side, whatever its byte order and alignment.

/// A type that stands in a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Type {
    /// One bit.
    Bool,
    /// 8, 16, 32 or 64 bits.
    Unsigned(u32),
    /// The same with a sign, in two's complement.
    Signed(u32),
    /// A struct, by its place in [`Interfaces::structs`], and how many words it has.
    Struct { index: usize, words: usize },
    /// So many of one type, which is no array.
    Array(Box<Type>, usize),
}

impl Type {
    /// Words of a message.
    pub fn words(&self) -> usize {
        match self {
            Type::Bool => 1,
            Type::Unsigned(bits) | Type::Signed(bits) => bits.div_ceil(32) as usize,
            Type::Struct { words, .. } => *words,
            Type::Array(element, count) => count.div_ceil(element.packed()) * element.words(),
        }
    }

    /// How many elements of an array of this type one word holds (at least one, of larger types too).
    pub fn packed(&self) -> usize {
        match self {
            Type::Unsigned(bits) | Type::Signed(bits) => (32 / *bits).max(1) as usize,
            Type::Bool | Type::Struct { .. } | Type::Array(..) => 1,
        }
    }
}

/// A field of a struct or a parameter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Field {
    /// Its name.
    pub name: String,
    /// Its type.
    pub kind: Type,
}

/// A struct.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Struct {
    /// Its name.
    pub name: String,
    /// In the order of their declaration.
    pub fields: Vec<Field>,
}

/// A method; it is called by its place in the interface.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Method {
    /// Its name.
    pub name: String,
    /// Whether the caller gets no reply, and does not wait.
    pub is_oneway: bool,
    /// What it answers.
    pub result: Option<Type>,
    /// What goes with the request.
    pub inputs: Vec<Field>,
    /// What comes with the reply, behind the result.
    pub outputs: Vec<Field>,
}

impl Method {
    /// Words of the request.
    pub fn request_words(&self) -> usize {
        self.inputs.iter().map(|field| field.kind.words()).sum()
    }

    /// Words of the reply; none if it only says that the method has ended.
    pub fn reply_words(&self) -> usize {
        let result = self.result.as_ref().map_or(0, Type::words);
        result + self.outputs.iter().map(|field| field.kind.words()).sum::<usize>()
    }
}

/// An interface.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Interface {
    /// Its name.
    pub name: String,
    /// In the order of their declaration, by which they are numbered from zero.
    pub methods: Vec<Method>,
}

/// What clients name to reach any one of its servers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Service {
    /// Its name.
    pub name: String,
    /// The place of its interface.
    pub interface: usize,
}

/// Everything that a file declares.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Interfaces {
    /// The file, for what is generated to tell.
    pub source: String,
    /// A struct stands behind those that it has.
    pub structs: Vec<Struct>,
    /// In the order of their declaration.
    pub interfaces: Vec<Interface>,
    /// In the order of their declaration, by which they are numbered from zero.
    pub services: Vec<Service>,
}
