//! The contents of tables, as files that memories are loaded from.
//!
//! The format is that of `$readmemh`: hexadecimal words, `@` before an address in words. Only what is not zero is written.

use std::fmt::Write as _;

use wireloom_bits::Bits;
use wireloom_offloads::{Content, EntryKey, Row, Store};

use super::NpError;
use super::plan::{Plan, Service};
use crate::machine::Realisation;

/// The contents of a memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Image {
    /// Whose they are: `+wl_image_NAME=FILE`.
    pub name: String,
    /// The file's text.
    pub text: String,
}

impl Image {
    /// Where it stands in a folder that is built.
    pub fn path(&self) -> String {
        format!("images/{}.hex", self.name)
    }
}

/// The contents of all memories of a processor whose tables are in a store.
///
/// # Errors
/// If a table does not fit the memory that the machine has for it.
pub fn images(plan: &Plan, store: &Store) -> Result<Vec<Image>, NpError> {
    let mut images = Vec::new();
    for service in &plan.services {
        let instance = |path: &str| match store.find(path).map(|slot| &slot.content) {
            Some(Content::Kind { instance, .. }) => Some(instance),
            _ => None,
        };
        for path in service.called.iter().flat_map(|called| &called.tables) {
            images.extend(instance(path).map(|instance| table(path, &instance.rows())));
        }
        let Some(instance) = instance(&service.offload) else { continue };
        match service.rule.realisation {
            Realisation::Table => images.push(table(&service.offload, &instance.rows())),
            Realisation::Cached | Realisation::Direct => images.push(bursts(service, &instance.rows())),
            // Counters begin at zero; what the control plane sets, it sets over the control bus.
            Realisation::Counters | Realisation::FlowCounter => {}
            // So are entries with keys, and rates.
            Realisation::HashTable | Realisation::Meter => {}
            Realisation::Random | Realisation::Body | Realisation::Pipeline => {}
            Realisation::Automaton => {
                images.extend(super::patterns::images(plan, service, &instance.rows())?)
            }
            Realisation::Trie => images.extend(super::lookup::images(plan, service, instance.as_ref())?),
        }
    }
    images.iter_mut().for_each(|image| image.name.insert_str(0, &plan.label));
    Ok(images)
}

/// The packed value of a row, if it has one.
pub(super) fn packed(row: &Row) -> Option<Bits> {
    row.fields.iter().map(|(_, bits)| bits.clone()).reduce(|high, low| high.concat(&low))
}

/// Index and packed value of a row.
fn element(row: &Row) -> Option<(u64, Bits)> {
    let EntryKey::Index(index) = row.key else { return None };
    Some((index, packed(row)?))
}

/// A line for a word.
pub(super) fn line(text: &mut String, address: u64, word: &Bits) {
    let _ = writeln!(text, "@{address:x} {}", hex(word));
}

/// A word for each element.
fn table(path: &str, rows: &[Row]) -> Image {
    let mut text = String::new();
    for (index, value) in rows.iter().filter_map(element) {
        line(&mut text, index, &value);
    }
    Image { name: path.to_owned(), text }
}

/// Bursts of 72 bits, as many for an element as it needs, rounded up to a power of two; its lowest bits first.
fn bursts(service: &Service, rows: &[Row]) -> Image {
    const BURST: u32 = 72;
    let mut text = String::new();
    for (index, value) in rows.iter().filter_map(element) {
        let count = value.width().div_ceil(BURST);
        for part in 0..count {
            let low = part * BURST;
            let burst = value.slice(low, BURST.min(value.width() - low));
            let at = index * u64::from(count.next_power_of_two()) + u64::from(part);
            line(&mut text, at, &burst);
        }
    }
    Image { name: service.name.clone(), text }
}

/// A number in hexadecimal digits.
pub(super) fn hex(bits: &Bits) -> String {
    let bytes = bits.resize(bits.width().next_multiple_of(8)).to_bytes();
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_padded_to_bytes() {
        assert_eq!(hex(&Bits::new(12, 0xabc)), "0abc");
        assert_eq!(hex(&Bits::new(16, 0x12)), "0012");
    }

    #[test]
    fn the_fields_of_a_row_are_packed_the_first_most_significant() {
        let fields = vec![("a".to_owned(), Bits::new(4, 1)), ("b".to_owned(), Bits::new(8, 0x23))];
        let row = Row { key: EntryKey::Index(7), fields };
        assert_eq!(element(&row), Some((7, Bits::new(12, 0x123))));
    }
}
