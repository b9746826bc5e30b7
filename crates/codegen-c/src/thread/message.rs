//! The layout of calls on the network: which words carry arguments and replies.
//!
//! A message passing engine converts values to the processor's representation and back, so the
//! program does no shifting: arguments are stored as computed, and one load reads a field of a
//! reply.

use wireloom_bits::Bits;
use wireloom_ir::{EngineId, OffloadTarget, Program};
use wireloom_offloads::{Config, Layout, Method, ReplyType, ValueType, registry};

use super::elements::{Elements, Messages};

const WORD: u32 = 32;
/// The longest field, in bits, that a call can pass by its position. This is as far past the window
/// as the runtime can read within its area.
const LONGEST_FIELD: u32 = 8 * 40;

/// Returns whether a call passes its only argument by position in the window, if the argument is a
/// field that begins at a byte and has `width` bits. For a field of a single word, reading and
/// sending take as many instructions.
pub fn goes_by_place(width: u32) -> bool {
    width.is_multiple_of(8) && width > WORD && width <= LONGEST_FIELD
}

/// A target of calls, identified by its index in the list of [`objects`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Object {
    /// The names of the offloads that lead to the object, joined by dots, as in `Store::find`.
    pub path: String,
    /// The kind of target.
    pub is: ObjectIs,
}

/// The kind of target that an object is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ObjectIs {
    /// An offload of a kind.
    Kind(Config),
    /// An engine that is a hardware element.
    Element(EngineId),
}

impl Object {
    /// Returns the messages of the object's methods, in the order in which calls number them.
    pub fn methods(&self, program: &Program) -> Vec<Messages> {
        match &self.is {
            ObjectIs::Element(id) => vec![Messages::of_engine(&program.engines[id.index()])],
            ObjectIs::Kind(config) => {
                let methods = registry::kind(&config.kind).map_or(&[][..], |kind| kind.methods);
                let messages = |method| Messages {
                    arguments: Arguments::of(method, config),
                    reply: Reply::of(method, config),
                };
                methods.iter().map(messages).collect()
            }
        }
    }
}

/// Returns all objects that a program's main engine reaches: offloads of kinds in the order of
/// `Store::paths`, and engines that are hardware elements at their own positions. The objects of
/// any other called engine are at the position where that engine is declared.
pub fn objects(program: &Program, elements: &Elements) -> Vec<Object> {
    let mut objects = Vec::new();
    collect(program, elements, program.main, "", &mut objects);
    objects
}

fn collect(
    program: &Program,
    elements: &Elements,
    engine: EngineId,
    prefix: &str,
    objects: &mut Vec<Object>,
) {
    for (index, offload) in program.engines[engine.index()].offloads.iter().enumerate() {
        let path = format!("{prefix}{}", offload.name);
        match &offload.target {
            OffloadTarget::Kind(config) => {
                objects.push(Object { path, is: ObjectIs::Kind(config.clone()) })
            }
            OffloadTarget::Engine(id) if elements.contains(engine, index) => {
                objects.push(Object { path, is: ObjectIs::Element(*id) });
            }
            OffloadTarget::Engine(id) => {
                collect(program, elements, *id, &format!("{path}."), objects)
            }
        }
    }
}

/// Returns the number of words that carry a value of this width.
pub fn words(width: u32) -> u32 {
    width.div_ceil(WORD)
}

/// The arguments of a method. Each value takes as many words as it needs, lowest first, and the
/// values follow one another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Arguments {
    /// The width of each value in bits.
    pub widths: Vec<u32>,
}

impl Arguments {
    /// Returns the arguments of an offload's method.
    pub fn of(method: &Method, config: &Config) -> Self {
        Self { widths: method.args.iter().map(|(_, ty)| ty.width(config)).collect() }
    }

    /// Returns the number of words of the arguments.
    pub fn words(&self) -> u32 {
        self.widths.iter().map(|width| words(*width)).sum()
    }

    /// Decodes the values of a message of [`words`](Self::words) words. Bits above a value's width
    /// are ignored.
    ///
    /// # Panics
    /// If the message is shorter.
    pub fn decode(&self, message: &[u32]) -> impl Iterator<Item = Bits> {
        let mut rest = message;
        self.widths.iter().map(move |width| {
            let (own, behind) = rest.split_at(words(*width) as usize);
            rest = behind;
            from_words(*width, own)
        })
    }
}

/// A field of a reply and its position in the message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Leaf {
    /// The least significant bit of the field in the packed reply.
    pub lo: u32,
    /// The width in bits.
    pub width: u32,
    /// The word of the message that contains its least significant bit.
    pub word: u32,
    /// The position of that bit in the word.
    pub bit: u32,
    /// Whether other fields lie above its most significant bit in the same word.
    pub shares_top: bool,
}

/// The reply of a method as a list of leaves, least significant first. A leaf of more than 32 bits
/// has its own words; smaller leaves share a word as long as they fit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reply {
    /// The width of the packed reply in bits.
    pub width: u32,
    /// The leaves, least significant first.
    pub leaves: Vec<Leaf>,
}

impl Reply {
    /// Returns the reply of an offload's method, or `None` if it has none.
    pub fn of(method: &Method, config: &Config) -> Option<Self> {
        let widths = leaf_widths(&method.reply, config);
        (!widths.is_empty()).then(|| Self::packed(&widths))
    }

    /// Returns the reply of one value of `width` bits.
    pub fn of_value(width: u32) -> Self {
        Self::packed(&[width])
    }

    /// Returns the reply of leaves of these widths, most significant first.
    fn packed(widths: &[u32]) -> Self {
        let mut leaves: Vec<Leaf> = Vec::new();
        let (mut lo, mut at) = (0, 0);
        for &width in widths.iter().rev().filter(|width| **width > 0) {
            let fits = width <= WORD && at % WORD + width <= WORD;
            if !fits {
                at = at.next_multiple_of(WORD);
            }
            if at % WORD != 0
                && let Some(below) = leaves.last_mut()
            {
                below.shares_top = true;
            }
            leaves.push(Leaf { lo, width, word: at / WORD, bit: at % WORD, shares_top: false });
            lo += width;
            at += if width > WORD { width.next_multiple_of(WORD) } else { width };
        }
        Self { width: lo, leaves }
    }

    /// Returns the number of words of the reply.
    pub fn words(&self) -> u32 {
        self.leaves.last().map_or(0, |leaf| leaf.word + words(leaf.bit + leaf.width))
    }

    /// Returns the words, except the first, that have more than one leaf.
    pub fn shared_words(&self) -> impl Iterator<Item = u32> + '_ {
        let neighbours = self.leaves.windows(2).filter(|pair| pair[0].word == pair[1].word);
        let mut words: Vec<u32> =
            neighbours.map(|pair| pair[0].word).filter(|word| *word > 0).collect();
        words.dedup();
        words.into_iter()
    }

    /// Writes a packed reply into a message of [`words`](Self::words) words that are zero.
    ///
    /// # Panics
    /// If the message is shorter.
    pub fn encode(&self, reply: &Bits, message: &mut [u32]) {
        for leaf in &self.leaves {
            for (index, word) in
                (leaf.word as usize..).zip(message_words(reply, leaf.lo, leaf.width))
            {
                message[index] |= word << leaf.bit;
            }
        }
    }
}

/// Returns the widths of a reply's leaves in bits, most significant first.
fn leaf_widths(reply: &ReplyType, config: &Config) -> Vec<u32> {
    let of = |ty: &ValueType| {
        let layout = match ty {
            ValueType::Key => &config.key,
            ValueType::Value => &config.value,
            _ => &None,
        };
        let fields = |layout: &Layout| layout.fields.iter().map(|(_, width)| *width).collect();
        layout.as_ref().map_or_else(|| vec![ty.width(config)], fields)
    };
    match reply {
        ReplyType::None => Vec::new(),
        ReplyType::One(ty) => of(ty),
        ReplyType::Record(fields) => fields.iter().flat_map(|(_, ty)| of(ty)).collect(),
    }
}

/// Returns `width` bits of a value from bit `lo` on, as words, lowest first.
fn message_words(value: &Bits, lo: u32, width: u32) -> impl Iterator<Item = u32> + '_ {
    (0..width)
        .step_by(WORD as usize)
        .map(move |at| value.extract(lo + at, WORD.min(width - at)) as u32)
}

/// Returns the value of `width` bits in words, lowest first.
fn from_words(width: u32, words: &[u32]) -> Bits {
    if width <= u128::BITS {
        return Bits::new(
            width,
            words.iter().rev().fold(0, |value, word| value << WORD | u128::from(*word)),
        );
    }
    let pairs: Vec<u64> = words
        .chunks(2)
        .map(|pair| u64::from(pair[0]) | pair.get(1).map_or(0, |high| u64::from(*high) << WORD))
        .collect();
    Bits::from_words(width, &pairs)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn encoded<const WORDS: usize>(layout: &Reply, value: &Bits) -> [u32; WORDS] {
        let mut message = [0; WORDS];
        layout.encode(value, &mut message);
        message
    }

    #[test]
    fn a_small_reply_is_its_value() {
        let reply = Reply::packed(&[16, 8, 3]);
        assert_eq!(reply.words(), 1);
        assert_eq!(encoded(&reply, &Bits::new(27, 0x5a5_a5a5)), [0x5a5_a5a5]);
    }

    #[test]
    fn no_small_leaf_straddles_words_and_large_ones_are_alone() {
        // Port, link addresses, MTU, tag, labels: the router's next hop.
        let reply = Reply::packed(&[16, 48, 48, 16, 12, 2, 20, 20]);
        let places: Vec<(u32, u32, u32)> =
            reply.leaves.iter().map(|l| (l.width, l.word, l.bit)).collect();
        let expected = [
            (20, 0, 0),
            (20, 1, 0),
            (2, 1, 20),
            (12, 2, 0),
            (16, 2, 12),
            (48, 3, 0),
            (48, 5, 0),
            (16, 7, 0),
        ];
        assert_eq!(places, expected);
        assert_eq!(reply.words(), 8);
        let shared: Vec<bool> = reply.leaves.iter().map(|l| l.shares_top).collect();
        assert_eq!(shared, [false, true, false, true, false, false, false, false]);
        let value = Bits::ones(182).with_slice(90, &Bits::zero(28));
        let message: [u32; 8] = encoded(&reply, &value);
        assert_eq!(message[0], 0xf_ffff, "second label");
        assert_eq!(
            message[4],
            0xffff & (value.slice(102, 16).low_u64() as u32),
            "source, upper part"
        );
        assert_eq!(message[7], 0xffff, "port");
    }

    #[test]
    fn arguments_come_as_they_went() {
        let arguments = Arguments { widths: vec![32, 70, 1] };
        let values = [Bits::new(32, 7), Bits::new(70, 5 << 64 | 3 << 32 | 1), Bits::new(1, 1)];
        let message: Vec<u32> =
            values.iter().flat_map(|value| message_words(value, 0, value.width())).collect();
        assert_eq!(message, [7, 1, 3, 5, 1]);
        assert_eq!(arguments.words(), 5);
        assert!(arguments.decode(&message).eq(values));
    }
}
