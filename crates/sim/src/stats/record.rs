//! A nested record of all measurements.

use std::fmt;

use comfy_table::{CellAlignment, LineStyle, Table, TableStyle};
use serde::ser::{Serialize, SerializeMap, Serializer};

use super::{Gauge, Histogram, Summary, Unit};
use crate::Time;
use crate::energy::Energy;

/// Named values, in the order in which they were added.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Record {
    fields: Vec<(String, Value)>,
}

/// A value of a record.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    Count(u64),
    /// A share, a mean or a rate.
    Number(f64),
    /// A duration or a point in time.
    Time(Time),
    Energy(Energy),
    Text(String),
    /// A summary of a distribution.
    Summary(Summary),
    /// Nested named values.
    Record(Record),
    /// Numbered values, from 0.
    List(Vec<Value>),
}

impl Record {
    /// Creates an empty record.
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns the record with another field.
    #[must_use]
    pub fn with(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.add(name, value);
        self
    }

    /// Adds a field.
    pub fn add(&mut self, name: &str, value: impl Into<Value>) {
        self.fields.push((name.to_owned(), value.into()));
    }

    pub fn fields(&self) -> impl Iterator<Item = (&str, &Value)> {
        self.fields.iter().map(|(name, value)| (name.as_str(), value))
    }

    /// The value at a path: names separated by dots, and indices within lists.
    pub fn value(&self, path: &str) -> Option<&Value> {
        let mut names = path.split('.');
        let mut value = self.field(names.next()?)?;
        for name in names {
            value = match value {
                Value::Record(record) => record.field(name)?,
                Value::List(values) => values.get(name.parse::<usize>().ok()?)?,
                _ => return None,
            };
        }
        Some(value)
    }

    fn field(&self, name: &str) -> Option<&Value> {
        self.fields.iter().find(|(other, _)| other == name).map(|(_, value)| value)
    }

    /// Formats the record as a table, one line a value under its path.
    pub fn table(&self) -> Table {
        // A rule under the heads and no other lines. This copies well and is readable without
        // colour.
        const STYLE: TableStyle =
            TableStyle::new().header_separator(LineStyle::none().fill('─').junction('─'));
        let mut table = Table::new();
        table.load_style(STYLE).set_header(["what", "value", "unit"]);
        if let Some(column) = table.column_mut(1) {
            column.set_cell_alignment(CellAlignment::Right);
        }
        for (path, value) in self.lines() {
            let (text, unit) = value.text();
            table.add_row([path, text, unit.to_owned()]);
        }
        table
    }

    /// The paths and values of all leaves.
    fn lines(&self) -> Vec<(String, &Value)> {
        fn go<'a>(path: String, value: &'a Value, lines: &mut Vec<(String, &'a Value)>) {
            match value {
                Value::Record(record) => {
                    for (name, value) in record.fields() {
                        go(format!("{path}.{name}"), value, lines);
                    }
                }
                Value::List(values) => {
                    for (number, value) in values.iter().enumerate() {
                        go(format!("{path}.{number}"), value, lines);
                    }
                }
                _ => lines.push((path, value)),
            }
        }
        let mut lines = Vec::new();
        for (name, value) in self.fields() {
            go(name.to_owned(), value, &mut lines);
        }
        lines
    }
}

impl fmt::Display for Record {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.table().fmt(f)
    }
}

impl Value {
    /// Formats a value that is neither record nor list, and returns its unit.
    fn text(&self) -> (String, &'static str) {
        match self {
            Self::Count(count) => (thousands(*count), ""),
            Self::Number(number) => (digits(*number), ""),
            Self::Time(time) => (digits(time.as_nanoseconds()), "ns"),
            Self::Energy(energy) => (digits(energy.as_picojoules()), "pJ"),
            Self::Text(text) => (text.clone(), ""),
            Self::Summary(summary) => {
                let unit = if summary.unit == Unit::Time { "ns" } else { "" };
                let Summary { count, mean, p50, p99, max, .. } = *summary;
                let [mean, p50, p99, max] = [mean, p50, p99, max].map(digits);
                (
                    format!(
                        "mean {mean}, median {p50}, 99 % {p99}, most {max} of {}",
                        thousands(count)
                    ),
                    unit,
                )
            }
            Self::Record(_) | Self::List(_) => (String::new(), ""),
        }
    }

    /// Returns the unit suffix of a key, since JSON has numbers only.
    fn suffix(&self) -> &'static str {
        match self {
            Self::Time(_) | Self::Summary(Summary { unit: Unit::Time, .. }) => "_ns",
            Self::Energy(_) => "_pj",
            Self::List(values) => values.first().map_or("", Self::suffix),
            _ => "",
        }
    }
}

fn thousands(count: u64) -> String {
    let digits = count.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// Formats a number with four significant digits, or with all digits before the point.
fn digits(number: f64) -> String {
    let magnitude = number.abs();
    let places = match magnitude {
        _ if magnitude == 0.0 || magnitude >= 1000.0 => 0,
        _ if magnitude >= 100.0 => 1,
        _ if magnitude >= 10.0 => 2,
        _ => 3,
    };
    format!("{number:.places$}")
}

/// JSON for programs: objects in the order of the fields. Times are in nanoseconds, with keys that
/// end in `_ns`; energies are in picojoules, with keys that end in `_pj`.
impl Serialize for Record {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let mut map = to.serialize_map(Some(self.fields.len()))?;
        for (name, value) in &self.fields {
            map.serialize_entry(&format!("{name}{}", value.suffix()), value)?;
        }
        map.end()
    }
}

impl Serialize for Value {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Count(count) => to.serialize_u64(*count),
            Self::Number(number) => to.serialize_f64(*number),
            Self::Time(time) => to.serialize_f64(time.as_nanoseconds()),
            Self::Energy(energy) => to.serialize_f64(energy.as_picojoules()),
            Self::Text(text) => to.serialize_str(text),
            Self::Summary(summary) => summary.serialize(to),
            Self::Record(record) => record.serialize(to),
            Self::List(values) => values.serialize(to),
        }
    }
}

impl From<u64> for Value {
    fn from(count: u64) -> Self {
        Self::Count(count)
    }
}

impl From<f64> for Value {
    fn from(number: f64) -> Self {
        Self::Number(number)
    }
}

impl From<Time> for Value {
    fn from(time: Time) -> Self {
        Self::Time(time)
    }
}

impl From<Energy> for Value {
    fn from(energy: Energy) -> Self {
        Self::Energy(energy)
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<&Histogram> for Value {
    fn from(histogram: &Histogram) -> Self {
        Self::Summary(histogram.summary())
    }
}

impl From<Record> for Value {
    fn from(record: Record) -> Self {
        Self::Record(record)
    }
}

impl<V: Into<Value>> From<Vec<V>> for Value {
    fn from(values: Vec<V>) -> Self {
        Self::List(values.into_iter().map(Into::into).collect())
    }
}

/// The time is the end of the gauge's measurement.
impl From<(&Gauge, Time)> for Value {
    fn from((gauge, now): (&Gauge, Time)) -> Self {
        Self::Record(Record::new().with("mean", gauge.mean(now)).with("most", gauge.most()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record() -> Record {
        let mut waits = Histogram::times();
        waits.time(Time(1500));
        waits.time(Time(2500));
        let banks = (0..2u64).map(|n| Record::new().with("reads", 1000 * n)).collect::<Vec<_>>();
        Record::new()
            .with("kind", "sram")
            .with("use", 0.25)
            .with("wait", &waits)
            .with("last", Time(2500))
            .with("banks", banks)
    }

    #[test]
    fn machines_read_it_as_json_in_the_order_of_the_fields() {
        assert_eq!(
            serde_json::to_string(&record()).unwrap(),
            r#"{"kind":"sram","use":0.25,"wait_ns":{"count":2,"mean":2.0,"min":1.5,"p50":1.503,"p90":2.5,"p99":2.5,"p999":2.5,"max":2.5},"last_ns":2.5,"banks":[{"reads":0},{"reads":1000}]}"#
        );
    }

    #[test]
    fn people_read_it_as_a_table() {
        let text = record().to_string();
        let line = |start: &str| {
            text.lines().find(|line| line.trim_start().starts_with(start)).unwrap().to_owned()
        };
        assert!(line("banks.1.reads").contains("1,000"), "{text}");
        assert!(line("last").contains("2.500") && line("last").contains("ns"), "{text}");
        assert!(
            line("wait").contains("mean 2.000, median 1.503, 99 % 2.500, most 2.500 of 2"),
            "{text}"
        );
    }

    #[test]
    fn a_value_has_a_path() {
        assert_eq!(record().value("banks.1.reads"), Some(&Value::Count(1000)));
        assert_eq!(record().value("use"), Some(&Value::Number(0.25)));
        for path in ["banks.2.reads", "banks.x", "use.more", "none", ""] {
            assert_eq!(record().value(path), None, "{path}");
        }
    }
}
