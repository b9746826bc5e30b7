//! Checked interfaces, and the layout of their values in messages.
//!
//! A message is a sequence of 32-bit words. A value of up to 32 bits takes one word, whose upper
//! bits are zero; a value of 64 bits takes two, low word first. Array elements of 8 or 16 bits are
//! packed, the first in the lowest bits; other elements follow one another. A struct is the
//! sequence of its fields. Both sides therefore read a message alike, whatever their byte order and
//! alignment.

/// A type that a message can carry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Type {
    /// One bit.
    Bool,
    /// 8, 16, 32 or 64 bits.
    Unsigned(u32),
    /// 8, 16, 32 or 64 bits with a sign, in two's complement.
    Signed(u32),
    /// A struct: its index in [`Interfaces::structs`] and its number of words.
    Struct { index: usize, words: usize },
    /// An array of one type, which is not itself an array, and its length.
    Array(Box<Type>, usize),
}

impl Type {
    /// The number of words in a message.
    pub fn words(&self) -> usize {
        match self {
            Type::Bool => 1,
            Type::Unsigned(bits) | Type::Signed(bits) => bits.div_ceil(32) as usize,
            Type::Struct { words, .. } => *words,
            Type::Array(element, count) => count.div_ceil(element.packed()) * element.words(),
        }
    }

    /// The number of elements of this type that one word of an array holds; 1 for larger types.
    pub fn packed(&self) -> usize {
        match self {
            Type::Unsigned(bits) | Type::Signed(bits) => (32 / *bits).max(1) as usize,
            Type::Bool | Type::Struct { .. } | Type::Array(..) => 1,
        }
    }
}

/// The position of a number in a message. It starts at a bit of a word; a number of more than 32
/// bits continues in the next word, low word first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// The width of the number in bits: 1, 8, 16, 32 or 64.
    pub bits: u32,
    /// The index of its first word in the message.
    pub word: usize,
    /// The position of its lowest bit in that word.
    pub shift: u32,
}

/// A field of a struct or a parameter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Field {
    pub name: String,
    pub kind: Type,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Struct {
    pub name: String,
    /// The fields, in declaration order.
    pub fields: Vec<Field>,
}

/// A method. A call names it by its index in the interface.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Method {
    pub name: String,
    /// Whether the method has no reply, so that the caller does not wait.
    pub is_oneway: bool,
    /// The type of the result; `None` if it is `void`.
    pub result: Option<Type>,
    /// The values sent with the request.
    pub inputs: Vec<Field>,
    /// The values returned with the reply, after the result.
    pub outputs: Vec<Field>,
}

impl Method {
    /// The number of words of the request.
    pub fn request_words(&self) -> usize {
        self.inputs.iter().map(|field| field.kind.words()).sum()
    }

    /// The number of words of the reply; 0 if the reply only signals that the method has ended.
    pub fn reply_words(&self) -> usize {
        let result = self.result.as_ref().map_or(0, Type::words);
        result + self.outputs.iter().map(|field| field.kind.words()).sum::<usize>()
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Interface {
    pub name: String,
    /// The methods in declaration order, which numbers them from zero.
    pub methods: Vec<Method>,
}

/// A name by which clients reach any one of a set of servers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Service {
    pub name: String,
    /// The index of the interface in [`Interfaces::interfaces`].
    pub interface: usize,
}

/// Everything that a file declares.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Interfaces {
    /// The source file, which generated code names.
    pub source: String,
    /// The structs. Each comes after the structs that it contains.
    pub structs: Vec<Struct>,
    /// The interfaces, in declaration order.
    pub interfaces: Vec<Interface>,
    /// The services in declaration order, which numbers them from zero.
    pub services: Vec<Service>,
}

impl Interfaces {
    /// Returns the positions of a value's numbers in a message, in the order of fields and
    /// elements. The value starts at word `word`.
    pub fn places(&self, kind: &Type, word: usize) -> Vec<Place> {
        match kind {
            Type::Bool => vec![Place { bits: 1, word, shift: 0 }],
            Type::Unsigned(bits) | Type::Signed(bits) => {
                vec![Place { bits: *bits, word, shift: 0 }]
            }
            Type::Struct { index, .. } => self
                .places_of_all(self.structs[*index].fields.iter().map(|field| &field.kind), word),
            Type::Array(element, count) => {
                let packed = element.packed();
                let place = |at: usize| {
                    let shift = 32 / packed as u32 * (at % packed) as u32;
                    let places = self.places(element, word + at / packed * element.words());
                    places
                        .into_iter()
                        .map(move |place| Place { shift: place.shift + shift, ..place })
                };
                (0..*count).flat_map(place).collect()
            }
        }
    }

    /// Returns the positions of the numbers of consecutive values. The first starts at word `word`.
    pub fn places_of_all<'a>(
        &self,
        kinds: impl IntoIterator<Item = &'a Type>,
        word: usize,
    ) -> Vec<Place> {
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
            [
                (8, word, 0),
                (8, word, 8),
                (8, word, 16),
                (8, word, 24),
                (8, word + 1, 0),
                (8, word + 1, 8),
            ]
        };
        let pair = [(16, 5, 0), (16, 5, 16), (16, 6, 0)];
        let expected = [
            &[(64, 0, 0), (1, 2, 0)][..],
            &mac(3),
            &pair,
            &[(32, 7, 0), (32, 8, 0)],
            &mac(9),
            &mac(11),
        ]
        .concat();
        let result = method.result.as_ref().expect("a result");
        assert_eq!(triple(interfaces.places(result, 0)), expected);
        assert_eq!(method.reply_words(), 13);
    }
}
