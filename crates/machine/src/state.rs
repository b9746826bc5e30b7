//! Contents of offloads: search by path, formatting for users, and comparison.

use std::net::{Ipv4Addr, Ipv6Addr};

use wireloom_bits::Bits;
use wireloom_offloads::populate::value_layout;
use wireloom_offloads::registry::{self, TableKey};
use wireloom_offloads::{Config, Content, EntryKey, Instance, Layout, StateRow, Store};

use crate::{Error, Result};

/// Returns the offload at a path.
///
/// # Errors
/// If the offload does not exist. The help lists the existing ones.
pub fn find_offload<'a>(store: &'a Store, path: &str) -> Result<(&'a Config, &'a dyn Instance)> {
    match store.find(path).map(|slot| &slot.content) {
        Some(Content::Kind { config, instance }) => Ok((config, instance.as_ref())),
        _ => {
            Err(Error::new(format!("the program has no offload '{path}' with contents of its own"))
                .with_help(format!("it has {}", store.paths().join(", "))))
        }
    }
}

/// Formats a key for users: addresses for 32 and 128 bits, the fields of a structure by name.
pub fn key_text(config: &Config, key: &EntryKey) -> String {
    match key {
        EntryKey::Index(index) => index.to_string(),
        // Table files do not escape apostrophes.
        EntryKey::Pattern(bytes) => {
            format!("\"{}\"", bytes.escape_ascii().to_string().replace("\\'", "'"))
        }
        EntryKey::Prefix { bits, length } => format!("{}/{length}", scalar_text(bits)),
        EntryKey::Exact(bits) => {
            let Some(layout) = &config.key else { return String::new() };
            let mut low = bits.width();
            let mut parts = Vec::new();
            for (name, width) in &layout.fields {
                low = low.saturating_sub(*width);
                let value = bits.slice(low, *width);
                let member = member_name(layout, name, &value).map(str::to_owned);
                let value = member.unwrap_or_else(|| scalar_text(&value));
                parts.push(if name.is_empty() { value } else { format!("{name}={value}") });
            }
            parts.join(" ")
        }
    }
}

/// Formats a row in the notation of table files, with the names of enumeration members. Only the
/// fields that table files give are included; see [`written_fields`].
pub fn entry_text(config: &Config, row: &StateRow) -> String {
    let mut text = key_text(config, &row.key);
    let has_named_key = |layout: &Layout| layout.fields.iter().any(|(name, _)| !name.is_empty());
    let written = written_fields(config, row);
    if matches!(row.key, EntryKey::Exact(_))
        && config.key.as_ref().is_some_and(has_named_key)
        && written > 0
    {
        text += " ->";
    }
    let layout = value_layout(config).unwrap_or_default();
    for ((name, _), (_, value)) in layout.fields.iter().zip(&row.fields[..written]) {
        let space = if name.is_empty() { "= " } else { "=" };
        text += &format!(" {name}{space}{}", value_text(&layout, name, value));
    }
    text
}

/// Returns the number of a row's fields that the control plane writes. Further fields are state of
/// packets, such as the tokens of a meter, and so are all fields of a row that is no entry of the
/// table, such as a stream next to patterns.
pub fn written_fields(config: &Config, row: &StateRow) -> usize {
    let table = registry::kind(&config.kind).and_then(|kind| kind.table);
    let is_pattern = matches!(row.key, EntryKey::Pattern(_));
    match table {
        Some(form) if (form.key == TableKey::Pattern) == is_pattern => {
            (form.value)(config).0.fields.len().min(row.fields.len())
        }
        _ => 0,
    }
}

/// Formats the fields of an entry's value for users, with the names of enumeration members.
pub fn fields_text(config: &Config, fields: &[(String, Bits)]) -> String {
    let layout = value_layout(config).unwrap_or_default();
    let text =
        |(name, value): &(String, Bits)| format!("{name}={}", value_text(&layout, name, value));
    fields.iter().map(text).collect::<Vec<_>>().join(" ")
}

/// Formats the value of a field for users, with the name of an enumeration member.
pub fn value_text(layout: &Layout, name: &str, value: &Bits) -> String {
    member_name(layout, name, value).map_or_else(|| value.to_string(), str::to_owned)
}

/// The enumeration member of a field that has a value.
fn member_name<'a>(layout: &'a Layout, name: &str, value: &Bits) -> Option<&'a str> {
    let members = layout.enums.get(name)?;
    let (name, _) = members.iter().find(|(_, number)| value.to_u64() == Some(*number))?;
    Some(name)
}

/// Formats 48 bits as a link-layer address.
fn mac_text(bits: &Bits) -> String {
    bits.to_bytes().iter().map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().join(":")
}

fn scalar_text(bits: &Bits) -> String {
    let value = bits.to_u128().unwrap_or_default();
    match bits.width() {
        32 => Ipv4Addr::from(value as u32).to_string(),
        48 => mac_text(bits),
        128 => Ipv6Addr::from(value).to_string(),
        _ => bits.to_string(),
    }
}

/// A row in which two machines differ.
pub struct RowDifference {
    /// The path of the offload.
    pub offload: String,
    pub key: String,
    /// The fields on golden as text; `None` if golden lacks the row.
    pub expected: Option<String>,
    /// The fields on the other machine as text; `None` if it lacks the row.
    pub got: Option<String>,
}

/// Returns the time at which an entry ends or its timer runs, if that is at a tick. Entries that end
/// without a tick are removed by the packets that look for them, which outputs show.
fn ends_ns(config: &Config, instance: &dyn Instance, key: &EntryKey) -> Option<u64> {
    instance.lifetime(key).filter(|_| config.has_ticks())?.ends_ns
}

/// Returns the first different row of each offload, for two stores of the same program. Rows differ
/// if their fields do, or the ticks at which they end.
pub fn differences(expected: &Store, got: &Store) -> Vec<RowDifference> {
    let mut differences = Vec::new();
    for path in expected.paths() {
        let (Ok((config, left)), Ok((_, right))) =
            (find_offload(expected, &path), find_offload(got, &path))
        else {
            continue;
        };
        let ending = |instance: &dyn Instance| {
            let row = |row: StateRow| (ends_ns(config, instance, &row.key), row);
            instance.rows().into_iter().map(row).collect::<Vec<_>>()
        };
        let (left, right) = (ending(left), ending(right));
        let Some(at) = (0..left.len().max(right.len())).find(|&i| left.get(i) != right.get(i))
        else {
            continue;
        };
        // Rows are sorted by key. Where the keys differ, the side with the greater key lacks the
        // other row.
        let (mut one, mut other) = (left.get(at), right.get(at));
        if let (Some((_, a)), Some((_, b))) = (one, other) {
            if a.key < b.key {
                other = None;
            } else if b.key < a.key {
                one = None;
            }
        }
        let key = one.or(other).map(|(_, row)| key_text(config, &row.key)).unwrap_or_default();
        let fields = |(ends, row): &(Option<u64>, StateRow)| {
            let ends = ends.map(|ends| format!("ends at {ends} ns"));
            [fields_text(config, &row.fields)]
                .into_iter()
                .filter(|text| !text.is_empty())
                .chain(ends)
                .collect::<Vec<_>>()
                .join(", ")
        };
        differences.push(RowDifference {
            offload: path,
            key,
            expected: one.map(fields),
            got: other.map(fields),
        });
    }
    differences
}

#[cfg(test)]
mod tests {
    use super::*;
    use wireloom_offloads::Layout;

    fn exact(fields: &[(&str, u32)]) -> Config {
        let fields = fields.iter().map(|(name, width)| ((*name).to_owned(), *width)).collect();
        Config {
            kind: "exact".into(),
            key: Some(Layout::plain(fields)),
            value: None,
            params: Default::default(),
        }
    }

    #[test]
    fn entries_that_end_at_different_ticks_differ() {
        let mut config = exact(&[("", 8)]);
        config.value = Some(Layout::scalar(8));
        for (name, value) in [("size", 4), ("age", 1_000), ("tick", 100)] {
            config.params.insert(name.to_owned(), Bits::new(64, value));
        }
        let kind = registry::kind("exact").expect("a kind");
        let method = |name| kind.methods.iter().position(|m| m.name == name).expect("a method");
        let after = |insert_ns| {
            let mut instance = wireloom_offloads::instantiate(&config).expect("an offload");
            let env = &mut wireloom_offloads::Env { packet: None, now_ns: insert_ns, sequence: 0 };
            instance.call(method("insert"), &[Bits::new(8, 7), Bits::new(8, 1)], env);
            let content = Content::Kind { config: config.clone(), instance };
            Store { slots: vec![wireloom_offloads::Slot { name: "t".into(), content }] }
        };
        assert!(differences(&after(150), &after(180)).is_empty(), "both end at 1200 ns");
        let found = differences(&after(150), &after(250));
        let text = |side: &Option<String>| side.clone().expect("both have the row");
        assert_eq!(text(&found[0].expected), "value=1, ends at 1200 ns");
        assert_eq!(text(&found[0].got), "value=1, ends at 1300 ns");
    }

    #[test]
    fn keys_are_written_as_people_write_them() {
        let flow = exact(&[("src", 32), ("port", 16)]);
        let key = EntryKey::Exact(Bits::new(48, 0x0a00_0001_0050));
        assert_eq!(key_text(&flow, &key), "src=10.0.0.1 port=80");
        let mut states = exact(&[("link", 48), ("state", 8)]);
        let members = vec![("NEW".to_owned(), 0), ("OPEN".to_owned(), 5)];
        states.key.as_mut().expect("a key").enums.insert("state".to_owned(), members.clone());
        let key = EntryKey::Exact(Bits::new(56, 0x02_0000_0000_0105));
        assert_eq!(key_text(&states, &key), "link=02:00:00:00:00:01 state=OPEN");
        let mut value = Layout::plain(vec![("state".to_owned(), 8), ("age".to_owned(), 8)]);
        value.enums.insert("state".to_owned(), members);
        states.value = Some(value);
        let fields =
            |state| [("state".into(), Bits::new(8, state)), ("age".into(), Bits::new(8, 3))];
        assert_eq!(fields_text(&states, &fields(5)), "state=OPEN age=3");
        assert_eq!(fields_text(&states, &fields(4)), "state=4 age=3");
        let row = |state| StateRow {
            key: EntryKey::Exact(Bits::new(56, 0x02_0000_0000_0105)),
            fields: fields(state).to_vec(),
        };
        let text = "link=02:00:00:00:00:01 state=OPEN -> state=OPEN age=3";
        assert_eq!(entry_text(&states, &row(5)), text);
        let scalar = exact(&[("", 128)]);
        assert_eq!(key_text(&scalar, &EntryKey::Exact(Bits::new(128, 1))), "::1");
        let prefix = EntryKey::Prefix { bits: Bits::new(32, 0xc000_0200), length: 24 };
        assert_eq!(key_text(&scalar, &prefix), "192.0.2.0/24");
        assert_eq!(key_text(&scalar, &EntryKey::Pattern(b"GET \r\n".to_vec())), "\"GET \\r\\n\"");
        assert_eq!(key_text(&scalar, &EntryKey::Pattern(b"it's".to_vec())), "\"it's\"");
        let mut routes = exact(&[("", 32)]);
        (routes.kind, routes.value) = ("lpm".into(), Some(Layout::scalar(16)));
        let key = EntryKey::Prefix { bits: Bits::new(32, 0xc000_0200), length: 24 };
        let row = StateRow { key, fields: vec![("value".into(), Bits::new(16, 7))] };
        assert_eq!(
            (entry_text(&routes, &row).as_str(), written_fields(&routes, &row)),
            ("192.0.2.0/24 = 7", 1)
        );
        let mut streams = exact(&[("src", 32), ("port", 16)]);
        (streams.kind, streams.value) = ("stream".into(), Some(Layout::scalar(16)));
        let key = EntryKey::Exact(Bits::new(48, 0x0a00_0001_0050));
        let row = StateRow { key, fields: vec![("start".into(), Bits::new(32, 7))] };
        assert_eq!(
            (entry_text(&streams, &row).as_str(), written_fields(&streams, &row)),
            ("src=10.0.0.1 port=80", 0)
        );
    }
}
