//! Rows of offloads as text, in the notation of table files.

use serde::{Deserialize, Serialize};
use wireloom_bits::Bits;
use wireloom_offloads::populate::value_layout;
use wireloom_offloads::{Config, Lifetime, StateRow};

use crate::{entry_text, key_text, value_text, written_fields};

/// A row, and the times of its entry if it has any.
pub type RowWithTimes = (StateRow, Option<Lifetime>);

/// A row of an offload's state.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Row {
    pub key: String,
    /// The row in the notation of table files. If they cannot give rows of this kind, only the key.
    pub entry: String,
    /// The name and value of each field that table files give.
    pub fields: Vec<(String, String)>,
    /// The name and value of each further field: state that packets made.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub state: Vec<(String, String)>,
    /// The nanoseconds since a packet made or touched the entry; absent if entries do not age.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub age_ns: Option<u64>,
    /// The nanoseconds until the entry ends or its timer runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub left_ns: Option<u64>,
}

impl Row {
    /// Formats a row. `now_ns` is the present time.
    pub fn new(config: &Config, (row, times): &RowWithTimes, now_ns: u64) -> Self {
        let layout = value_layout(config).unwrap_or_default();
        let text =
            |(name, value): &(String, Bits)| (name.clone(), value_text(&layout, name, value));
        let (written, state) = row.fields.split_at(written_fields(config, row));
        Self {
            key: key_text(config, &row.key),
            entry: entry_text(config, row),
            fields: written.iter().map(text).collect(),
            state: state.iter().map(text).collect(),
            age_ns: times.map(|times| now_ns.saturating_sub(times.touched_ns)),
            left_ns: times.and_then(|times| times.ends_ns).map(|end| end.saturating_sub(now_ns)),
        }
    }

    /// Returns the row as a line of a table file. The state of packets is a comment.
    pub fn line(&self) -> String {
        let mut notes: Vec<String> =
            self.state.iter().map(|(name, value)| format!("{name}={value}")).collect();
        notes.extend(self.age_ns.map(|age| format!("age {}", seconds(age))));
        notes.extend(self.left_ns.map(|left| format!("ends in {}", seconds(left))));
        match notes.is_empty() {
            true => format!("{}\n", self.entry),
            false => format!("{}  # {}\n", self.entry, notes.join(", ")),
        }
    }
}

/// Formats nanoseconds as seconds.
fn seconds(ns: u64) -> String {
    format!("{:.1} s", ns as f64 / 1e9)
}
