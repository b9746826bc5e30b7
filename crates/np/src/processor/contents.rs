//! The contents of a control target: the meaning of its addresses, and the fields of its entries.

use serde::Serialize;
use wireloom_bits::Bits;
use wireloom_offloads::Layout;

/// The address kind of entries that are accessed by burst, in a memory outside the chip.
pub(crate) const BURST: &str = "burst";
/// Bits in a register of the control port.
pub(super) const REGISTER_BITS: u32 = 32;

/// The contents of a control target: entries, each of which is read and written as a whole.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Contents {
    /// The table of an offload, or another description of the contents.
    pub holds: String,
    /// The meaning of ADDRESS.
    pub address: String,
    /// Number of addresses, starting at 0.
    pub addresses: u64,
    /// Bits in an entry. They occupy the lowest data registers.
    pub bits: u32,
    /// Number of data registers that an entry occupies.
    pub words: u32,
    /// `rw`, or `ro` if writes have no effect.
    pub access: &'static str,
    /// The fields of an entry, the most significant first.
    pub fields: Vec<Field>,
    /// The fields on reads, if they differ from those on writes.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub read: Vec<Field>,
    /// The meaning of the entry at each address, if the entries differ.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub entries: Vec<String>,
    /// The seed of the entries' hashes, if there are hashes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seed: Option<Seed>,
}

/// The seed of the hashes of a table or of its caches. One write sets it and empties the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Seed {
    /// The address of the write.
    pub address: u32,
    /// The lowest bits of the address that are part of the seed.
    pub address_bits: u32,
    /// The lowest bits of the data that are part of the seed.
    pub data_bits: u32,
}

impl Seed {
    /// Draws a seed. Returns the address and the data of the write that sets it.
    pub fn write(&self, random: &mut dyn FnMut() -> u64) -> (u32, Bits) {
        let drawn = random() & ((1 << self.address_bits) - 1);
        let words: Vec<u64> = (0..self.data_bits.div_ceil(64)).map(|_| random()).collect();
        let data = match self.data_bits {
            0 => Bits::zero(1),
            bits => Bits::from_words(64 * words.len() as u32, &words).slice(0, bits),
        };
        (self.address | drawn as u32, data)
    }
}

/// A part of an entry.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Field {
    /// The name. If the program declares the field, it is the name in the source.
    pub name: String,
    /// The lowest bit.
    pub offset: u32,
    /// The width in bits.
    pub bits: u32,
}

impl Contents {
    /// Returns contents whose entries have these fields, with `addresses` addresses.
    pub(crate) fn new(holds: &str, address: &str, addresses: u64, fields: Vec<Field>) -> Self {
        let mut contents = Self {
            holds: holds.to_owned(),
            address: address.to_owned(),
            addresses,
            bits: 0,
            words: 0,
            access: "rw",
            fields,
            read: Vec::new(),
            entries: Vec::new(),
            seed: None,
        };
        contents.measure();
        contents
    }

    /// Returns the contents of a target with read-only 64-bit counters.
    pub(crate) fn statistics(entries: Vec<String>) -> Self {
        let count = packed([("count".to_owned(), 64)]);
        let contents = Self::new("statistics", "number of a counter", entries.len() as u64, count);
        Self { access: "ro", entries, ..contents }
    }

    /// Returns these contents with other fields for reads than for writes.
    pub(crate) fn reading(mut self, read: Vec<Field>) -> Self {
        self.read = read;
        self.measure();
        self
    }

    /// Returns these contents with a seed.
    pub(crate) fn seeded(self, seed: Seed) -> Self {
        Self { seed: Some(seed), ..self }
    }

    fn measure(&mut self) {
        let ends = self.fields.iter().chain(&self.read).map(|field| field.offset + field.bits);
        self.bits = ends.max().unwrap_or(0);
        self.words = self.bits.div_ceil(REGISTER_BITS);
    }
}

/// Returns names and widths, the most significant first, as the fields of one entry.
pub(crate) fn packed(parts: impl IntoIterator<Item = (String, u32)>) -> Vec<Field> {
    let parts: Vec<(String, u32)> = parts.into_iter().collect();
    let mut offset: u32 = parts.iter().map(|(_, bits)| bits).sum();
    let field = |(name, bits)| {
        offset -= bits;
        Field { name, offset, bits }
    };
    parts.into_iter().map(field).collect()
}

/// Returns the leaves of a key or value. A leaf without a name gets the name `whole`.
pub(crate) fn leaves(whole: &str, layout: Option<&Layout>) -> Vec<(String, u32)> {
    let name = |name: &str| if name.is_empty() { whole.to_owned() } else { name.to_owned() };
    layout
        .iter()
        .flat_map(|layout| &layout.fields)
        .map(|(leaf, bits)| (name(leaf), *bits))
        .collect()
}

/// Returns the leaves with names prefixed by `whole`, so that they differ from equally named leaves
/// of other layouts.
pub(crate) fn leaves_of(whole: &str, layout: Option<&Layout>) -> Vec<(String, u32)> {
    let name =
        |name: &str| if name.is_empty() { whole.to_owned() } else { format!("{whole}.{name}") };
    layout
        .iter()
        .flat_map(|layout| &layout.fields)
        .map(|(leaf, bits)| (name(leaf), *bits))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_fill_an_entry_from_its_highest_bit() {
        let layout = Layout::plain(vec![("port".into(), 16), ("known".into(), 1)]);
        let names = |fields: &[Field]| {
            let field = |f: &Field| format!("{} {}+{}", f.name, f.offset, f.bits);
            fields.iter().map(field).collect::<Vec<_>>()
        };
        assert_eq!(names(&packed(leaves("value", Some(&layout)))), ["port 1+16", "known 0+1"]);
        let key = leaves_of("key", Some(&Layout::scalar(32)));
        let both = packed([key, leaves_of("value", Some(&layout))].concat());
        assert_eq!(names(&both), ["key 17+32", "value.port 1+16", "value.known 0+1"]);
        let contents = Contents::new("elements", "index", 4, both);
        assert_eq!((contents.bits, contents.words), (49, 2));
    }
}
