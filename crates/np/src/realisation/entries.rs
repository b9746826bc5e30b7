//! Table entries: from golden instances to words of the control bus and back. Several realisations
//! share these functions.

use std::any::Any;
use std::collections::BTreeMap;

use wireloom_bits::Bits;
use wireloom_offloads::{Config, Content, Entry, EntryKey, Instance, StateRow, Store};

use crate::control::bus::{ControlBus, ControlError};
use crate::processor::image::{self, Image};

/// Returns the golden instance of the offload at a path.
pub(crate) fn instance<'a>(store: &'a Store, path: &str) -> Option<(&'a Config, &'a dyn Instance)> {
    match &store.find(path)?.content {
        Content::Kind { config, instance } => Some((config, instance.as_ref())),
        Content::Engine(_) => None,
    }
}

/// Returns the packed value of a row, with its first field most significant; `None` if it has no
/// fields.
pub(super) fn packed(row: &StateRow) -> Option<Bits> {
    row.fields.iter().map(|(_, bits)| bits.clone()).reduce(|high, low| high.concat(&low))
}

/// Returns the index and the packed value of a row.
pub(super) fn element(row: &StateRow) -> Option<(u64, Bits)> {
    let EntryKey::Index(index) = row.key else { return None };
    Some((index, packed(row)?))
}

/// Returns the packed values of all rows, by key.
pub(super) fn values(instance: &dyn Instance) -> BTreeMap<EntryKey, Bits> {
    let rows = instance.rows().into_iter();
    rows.map(|row| (row.key.clone(), packed(&row).unwrap_or_else(|| Bits::zero(1)))).collect()
}

/// Downcasts a golden instance to the type of its kind.
///
/// # Panics
/// If the instance is of another kind than the realisation suits.
pub(super) fn typed<T: Instance>(instance: &dyn Instance) -> &T {
    let instance: &dyn Any = instance;
    instance.downcast_ref().expect("a realisation gets offloads of its kind")
}

/// Downcasts a golden instance to the type of its kind.
///
/// # Panics
/// If the instance is of another kind than the realisation suits.
pub(super) fn typed_mut<T: Instance>(instance: &mut dyn Instance) -> &mut T {
    let instance: &mut dyn Any = instance;
    instance.downcast_mut().expect("a realisation gets offloads of its kind")
}

/// Returns the error message for an entry that a realisation cannot write.
pub(super) fn refused(config: &Config) -> String {
    format!("entries of `{}` cannot be changed on this machine", config.kind)
}

/// Returns the address of the element that a key names.
///
/// # Errors
/// If the key is not an index, or is out of range.
pub(super) fn index(path: &str, config: &Config, key: &EntryKey) -> Result<u32, String> {
    let elements = config.params.get("size").map_or(0, |size| size.low_u64());
    index_below(path, config, elements, key)
}

/// Returns the address of the element that a key names, in a table of this size.
///
/// # Errors
/// If the key is not an index, or is out of range.
pub(super) fn index_below(
    path: &str,
    config: &Config,
    elements: u64,
    key: &EntryKey,
) -> Result<u32, String> {
    match key {
        EntryKey::Index(index) if *index < elements => Ok(*index as u32),
        EntryKey::Index(index) => {
            Err(format!("index {index} is out of range: `{path}` has {elements} elements"))
        }
        _ => Err(refused(config)),
    }
}

/// Returns the write of an array element: its value, or zero if the element is removed.
///
/// # Errors
/// If the key is not an index, or is out of range.
pub(super) fn array_entry(
    path: &str,
    config: &Config,
    key: &EntryKey,
    value: Option<&Bits>,
) -> Result<(u32, Bits), String> {
    let width = config.value.as_ref().map_or(0, |layout| layout.width());
    Ok((index(path, config, key)?, value.cloned().unwrap_or_else(|| Bits::zero(width))))
}

/// Returns the write of a counter: packets and bytes, or zeros if the counter is removed.
///
/// # Errors
/// If the key is not an index, or is out of range.
pub(super) fn counter_entry(
    path: &str,
    config: &Config,
    key: &EntryKey,
    value: Option<&Bits>,
) -> Result<(u32, Bits), String> {
    Ok((index(path, config, key)?, value.cloned().unwrap_or_else(|| Bits::zero(COUNTER_BITS))))
}

/// Bits of a counter: packets and bytes, 64 bits each.
pub(super) const COUNTER_BITS: u32 = 128;

/// Reads the elements at these indices, of `width` bits each, from the only copy.
///
/// # Errors
/// If the machine fails or the instance refuses an element.
pub(super) fn read_elements(
    width: u32,
    targets: &[u8],
    indices: &[u64],
    bus: &mut dyn ControlBus,
    instance: &mut dyn Instance,
) -> Result<(), ControlError> {
    let addresses: Vec<u32> = indices.iter().map(|&index| index as u32).collect();
    let Some(&target) = targets.first() else { return Ok(()) };
    for (&index, value) in indices.iter().zip(bus.read_entries(target, &addresses)?) {
        load(instance, EntryKey::Index(index), value.resize(width))?;
    }
    Ok(())
}

/// Reads the counters at these indices and sums the copies. There is no carry between packets and
/// bytes.
///
/// # Errors
/// If the machine fails or the instance refuses a counter.
pub(super) fn read_counters(
    targets: &[u8],
    indices: &[u64],
    bus: &mut dyn ControlBus,
    instance: &mut dyn Instance,
) -> Result<(), ControlError> {
    let addresses: Vec<u32> = indices.iter().map(|&index| index as u32).collect();
    let mut sums = vec![[0u64; 2]; indices.len()];
    for &target in targets {
        for (sum, entry) in sums.iter_mut().zip(bus.read_entries(target, &addresses)?) {
            let entry = entry.resize(COUNTER_BITS);
            *sum = [sum[0].wrapping_add(entry.word(0)), sum[1].wrapping_add(entry.word(1))];
        }
    }
    for (&index, sum) in indices.iter().zip(sums) {
        load(instance, EntryKey::Index(index), Bits::from_words(COUNTER_BITS, &sum))?;
    }
    Ok(())
}

/// Loads an entry into a golden instance.
///
/// # Errors
/// If the instance refuses it.
pub(super) fn load(
    instance: &mut dyn Instance,
    key: EntryKey,
    value: Bits,
) -> Result<(), ControlError> {
    instance.load(Entry { key, value }).map_err(|refused| ControlError::Refused(refused.0))
}

/// Returns the image of a memory with one word for each element.
pub(super) fn table_image(path: &str, rows: &[StateRow]) -> Image {
    let mut text = String::new();
    for (index, value) in rows.iter().filter_map(element) {
        image::line(&mut text, index, &value);
    }
    Image { name: path.to_owned(), text }
}

/// Returns the image of a memory of 72-bit bursts. The number of bursts per element is rounded up
/// to a power of two. The lowest bits of an element come first.
pub(super) fn burst_image(name: &str, rows: &[StateRow]) -> Image {
    const BURST: u32 = 72;
    let mut text = String::new();
    for (index, value) in rows.iter().filter_map(element) {
        let count = value.width().div_ceil(BURST);
        for part in 0..count {
            let low = part * BURST;
            let burst = value.slice(low, BURST.min(value.width() - low));
            let at = index * u64::from(count.next_power_of_two()) + u64::from(part);
            image::line(&mut text, at, &burst);
        }
    }
    Image { name: name.to_owned(), text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fields_of_a_row_are_packed_the_first_most_significant() {
        let fields = vec![("a".to_owned(), Bits::new(4, 1)), ("b".to_owned(), Bits::new(8, 0x23))];
        let row = StateRow { key: EntryKey::Index(7), fields };
        assert_eq!(element(&row), Some((7, Bits::new(12, 0x123))));
    }

    #[test]
    fn a_wide_element_takes_a_power_of_two_of_bursts_the_lowest_first() {
        let fields = vec![("value".to_owned(), Bits::new(80, 0xab_0000_0000_0000_0001 << 8))];
        let rows = [StateRow { key: EntryKey::Index(3), fields }];
        let text = burst_image("hops", &rows).text;
        assert_eq!(text, "@6 000000000000000100\n@7 ab\n");
    }
}
