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

/// Where a number stands in a message: in so many bits from a bit of a word on; above 32 bits in that word and the next, the low one first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// Of the number: 1, 8, 16, 32 or 64.
    pub bits: u32,
    /// Its first word.
    pub word: usize,
    /// Its lowest bit in that word.
    pub shift: u32,
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

impl Interfaces {
    /// Where the numbers of a value stand in a message, if its first word is `word`: in the order of fields and elements.
    pub fn places(&self, kind: &Type, word: usize) -> Vec<Place> {
        match kind {
            Type::Bool => vec![Place { bits: 1, word, shift: 0 }],
            Type::Unsigned(bits) | Type::Signed(bits) => vec![Place { bits: *bits, word, shift: 0 }],
            Type::Struct { index, .. } => {
                self.places_of_all(self.structs[*index].fields.iter().map(|field| &field.kind), word)
            }
            Type::Array(element, count) => {
                let packed = element.packed();
                let place = |at: usize| {
                    let shift = 32 / packed as u32 * (at % packed) as u32;
                    let places = self.places(element, word + at / packed * element.words());
                    places.into_iter().map(move |place| Place { shift: place.shift + shift, ..place })
                };
                (0..*count).flat_map(place).collect()
            }
        }
    }

    /// The same of several values, one behind the other.
    pub fn places_of_all<'a>(&self, kinds: impl IntoIterator<Item = &'a Type>, word: usize) -> Vec<Place> {
        let mut next = word;
        let mut places = Vec::new();
        for kind in kinds {
            places.extend(self.places(kind, next));
            next += kind.words();
        }
        places
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_those_of_the_description_of_messages() {
        let text = "
            struct Mac { u8 octet[6]; };
            struct Route { u64 number; bool ok; Mac mac; s16 pair[3]; u32 two[2]; Mac more[2]; };
            interface I { Route search(u8 first, u64 second); };
            service s : I;";
        let interfaces = crate::read("places.sidl", text).expect("it is right");
        let method = &interfaces.interfaces[0].methods[0];
        let triple = |places: Vec<Place>| {
            places.iter().map(|place| (place.bits, place.word, place.shift)).collect::<Vec<_>>()
        };
        let inputs = method.inputs.iter().map(|field| &field.kind);
        assert_eq!(triple(interfaces.places_of_all(inputs, 0)), [(8, 0, 0), (64, 1, 0)]);
        let mac = |word| {
            [(8, word, 0), (8, word, 8), (8, word, 16), (8, word, 24), (8, word + 1, 0), (8, word + 1, 8)]
        };
        let pair = [(16, 5, 0), (16, 5, 16), (16, 6, 0)];
        let expected =
            [&[(64, 0, 0), (1, 2, 0)][..], &mac(3), &pair, &[(32, 7, 0), (32, 8, 0)], &mac(9), &mac(11)]
                .concat();
        let result = method.result.as_ref().expect("a result");
        assert_eq!(triple(interfaces.places(result, 0)), expected);
        assert_eq!(method.reply_words(), 13);
    }
}
