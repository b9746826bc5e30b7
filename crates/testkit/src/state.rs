//! The table entries that tests expect.

use wireloom_bits::Bits;
use wireloom_machine::{Compared, fields_text, find_offload, key_text, value_text};
use wireloom_net::tables::{Key, Literal};
use wireloom_offloads::populate::{entry_key, field_value, suggest, value_layout};
use wireloom_offloads::{Config, EntryKey, Env, Instance, Layout, StateRow, Store, registry};

use crate::mismatch::Mismatch;

/// The most rows that are listed of a table without the expected row.
const LISTED: usize = 8;

/// The place of an entry in the table of an offload.
pub struct Entry<'a> {
    offload: &'a str,
    config: &'a Config,
    instance: &'a dyn Instance,
    key: EntryKey,
    now_ns: u64,
    /// The fields of values.
    layout: Layout,
}

impl<'a> Entry<'a> {
    /// Finds the place of a key. `now_ns` is the time in nanoseconds.
    ///
    /// # Errors
    /// If there is no such offload, or the key does not suit it.
    pub fn find(
        store: &'a Store,
        offload: &'a str,
        key: &Key,
        now_ns: u64,
    ) -> Result<Self, String> {
        let (config, instance) = find_offload(store, offload)
            .map_err(|error| format!("{}; {}", error.message, error.help.unwrap_or_default()))?;
        let layout = value_layout(config);
        let key = match (&layout, key) {
            // State without a table is indexed by number.
            (None, Key::Scalar(Literal::Number(index))) => {
                EntryKey::Index(index.to_u64().ok_or("the index is out of range")?)
            }
            _ => entry_key(config, key).map_err(|what| format!("{offload}: {what}"))?,
        };
        let layout = layout.unwrap_or_default();
        Ok(Self { offload, config, instance, key, now_ns, layout })
    }

    /// Checks an expected field as far as possible before the test.
    ///
    /// # Errors
    /// If no value can have such a field.
    pub fn check(&self, (name, literal): &(String, Literal)) -> Result<(), String> {
        match self.width(name) {
            Some(width) => self.value(name, width, literal).map(|_| ()),
            // Rows of indexed state may have more fields than entries of their tables.
            None if matches!(self.key, EntryKey::Index(_)) => Ok(()),
            None => Err(self.no_field(name, &self.layout.fields)),
        }
    }

    /// Compares the entry with the expected fields; `None` expects no entry.
    ///
    /// # Errors
    /// If it differs.
    pub fn compare(&self, expected: Option<&[(String, Literal)]>) -> Result<(), Mismatch> {
        let rows = self.rows();
        let row = rows.iter().find(|row| row.key == self.key);
        let key = key_text(self.config, &self.key);
        match (expected, row) {
            (None, None) => Ok(()),
            (None, Some(row)) => {
                let got = fields_text(self.config, &row.fields);
                let what = format!("{} has an entry {key}", self.offload);
                let expected = "no such row".to_owned();
                Err(Mismatch { what, fields: vec![Compared { field: key, expected, got }] })
            }
            (Some(fields), Some(row)) => {
                self.compare_fields(fields, row, format!("{} {key}", self.offload))
            }
            // Indexed state lists no rows that are zero.
            (Some(fields), None) if matches!(self.key, EntryKey::Index(_)) => {
                let row = StateRow { key: self.key.clone(), fields: self.zeros(fields) };
                self.compare_fields(fields, &row, format!("{} {key}", self.offload))
            }
            (Some(_), None) => Err(Mismatch::from(self.missing(&key, &rows))),
        }
    }

    fn compare_fields(
        &self,
        expected: &[(String, Literal)],
        row: &StateRow,
        what: String,
    ) -> Result<(), Mismatch> {
        let compared = expected.iter().map(|(name, literal)| {
            let named = row.fields.iter().find(|(own, _)| own == name);
            // Rows of arrays name a scalar; entries of table files write it without a name.
            let scalar = if name.is_empty() { row.fields.first() } else { None };
            let (_, got) = named
                .or(scalar.filter(|_| row.fields.len() == 1))
                .ok_or_else(|| self.no_field(name, &row.fields))?;
            let expected = self.value(name, got.width(), literal)?;
            let text = |value: &Bits| value_text(&self.layout, name, value);
            let field = if name.is_empty() { "value" } else { name }.to_owned();
            Ok(Compared { field, expected: text(&expected), got: text(got) })
        });
        let fields = compared.collect::<Result<Vec<_>, String>>().map_err(Mismatch::from)?;
        if fields.iter().all(Compared::same) { Ok(()) } else { Err(Mismatch { what, fields }) }
    }

    /// Returns the rows at the expected time. The state itself may still hold rows that have
    /// expired since the last access.
    fn rows(&self) -> Vec<StateRow> {
        let kind = registry::kind(&self.config.kind);
        let expire = kind.and_then(|kind| kind.methods.iter().position(|m| m.name == "expire"));
        let Some(expire) = expire else { return self.instance.rows() };
        let mut later = self.instance.duplicate();
        let mut env = Env { packet: None, now_ns: self.now_ns, sequence: 0 };
        later.call(expire, &[Bits::new(64, u64::MAX.into())], &mut env);
        later.rows()
    }

    fn width(&self, name: &str) -> Option<u32> {
        Some(self.layout.fields.iter().find(|(own, _)| own == name)?.1)
    }

    fn value(&self, name: &str, width: u32, literal: &Literal) -> Result<Bits, String> {
        let value = field_value(self.layout.enums.get(name), width, literal);
        value.map_err(|what| match name {
            "" => format!("{}: {what}", self.offload),
            _ => format!("{}: field `{name}`: {what}", self.offload),
        })
    }

    fn zeros(&self, fields: &[(String, Literal)]) -> Vec<(String, Bits)> {
        let own = self.layout.fields.iter().map(|(name, width)| (name.clone(), Bits::zero(*width)));
        // State without a table has words, whose names are not known here.
        let words = fields.iter().filter(|_| self.layout.fields.is_empty());
        own.chain(words.map(|(name, _)| (name.clone(), Bits::zero(64)))).collect()
    }

    fn no_field<T>(&self, name: &str, fields: &[(String, T)]) -> String {
        let names = fields.iter().map(|(own, _)| own.as_str());
        format!("{}: there is no field `{name}`{}", self.offload, suggest(name, names))
    }

    /// Formats the error that there is no entry, and lists the existing entries.
    fn missing(&self, key: &str, rows: &[StateRow]) -> String {
        let mut what = format!("{} has no entry {key}; ", self.offload);
        what += &match rows.len() {
            0 => "it is empty".to_owned(),
            count => format!("it has {count}:"),
        };
        for row in rows.iter().take(LISTED) {
            let (key, fields) =
                (key_text(self.config, &row.key), fields_text(self.config, &row.fields));
            what += &format!("\n  {key} -> {fields}");
        }
        if rows.len() > LISTED {
            what += &format!("\n  and {} more", rows.len() - LISTED);
        }
        what
    }
}
