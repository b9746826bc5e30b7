//! The numbers of a figure or benchmark by key, as docs/figures keeps them and pages show them.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize, Serializer};
use serde_json::Value;
use wireloom_console::thousands;
use wireloom_machine::{Error, Result};

use super::number;

/// Numbers by key. A key is a path of words with points in between:
/// `work.ipv4.54.armv4.instructions`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(transparent)]
pub struct Values(BTreeMap<String, f64>);

/// Significant digits that are kept of a fractional number: more than any page shows, and few
/// enough that rounding errors of a calculation do not change them.
const DIGITS: usize = 7;

impl Serialize for Values {
    /// Writes whole numbers without a fraction.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(key, value)| {
            let whole = (value.fract() == 0.0 && value.abs() < 1e15).then_some(*value as i64);
            (key, whole.map_or_else(|| Value::from(*value), Value::from))
        }))
    }
}

impl Values {
    /// Collects the numbers of a figure's data. `names` are the fields that tell the rows of its
    /// arrays apart; their contents become parts of keys, in this order. Fields in `skip` and texts
    /// are left out; a boolean is 1 or 0.
    ///
    /// # Errors
    /// If two numbers have the same key.
    pub fn of(data: &Value, names: &[&str], skip: &[&str]) -> Result<Self> {
        let mut values = Self::default();
        values.collect(String::new(), data, names, skip)?;
        Ok(values)
    }

    fn collect(&mut self, path: String, data: &Value, names: &[&str], skip: &[&str]) -> Result {
        match data {
            Value::Object(fields) => {
                let own = names.iter().filter_map(|name| word(fields.get(*name)?));
                let path = own.fold(path, |path, word| below(&path, &word));
                let others = fields.iter().filter(|(name, _)| {
                    !names.contains(&name.as_str()) && !skip.contains(&name.as_str())
                });
                for (name, value) in others {
                    self.collect(below(&path, name), value, names, skip)?;
                }
                Ok(())
            }
            Value::Array(rows) => {
                for (index, row) in rows.iter().enumerate() {
                    let is_named = names.iter().any(|name| row.get(name).is_some());
                    let path =
                        if is_named { path.clone() } else { below(&path, &index.to_string()) };
                    self.collect(path, row, names, skip)?;
                }
                Ok(())
            }
            Value::Number(value) => {
                self.set(path, value.as_f64().expect("JSON numbers are numbers of 64 bits"))
            }
            Value::Bool(value) => self.set(path, f64::from(u8::from(*value))),
            Value::String(_) | Value::Null => Ok(()),
        }
    }

    /// Adds a number, rounded to seven digits if it is fractional.
    ///
    /// # Errors
    /// If the key has a number already.
    pub fn set(&mut self, key: impl Into<String>, value: f64) -> Result {
        let key = key.into();
        let kept = if value.fract() == 0.0 {
            value
        } else {
            format!("{value:.*e}", DIGITS - 1).parse().expect("a number that was just written")
        };
        match self.0.insert(key.clone(), kept) {
            None => Ok(()),
            Some(_) => Err(Error::new(format!("two values have the key '{key}'"))),
        }
    }

    /// Returns the number of a key.
    ///
    /// # Errors
    /// If there is none.
    pub fn get(&self, key: &str) -> Result<f64> {
        let missing = || {
            let last = key.rsplit('.').next().unwrap_or(key);
            let near: Vec<&str> =
                self.0.keys().map(String::as_str).filter(|known| known.ends_with(last)).collect();
            let help = match near.split_at(near.len().min(5)) {
                ([], _) => "the keys are in docs/figures".to_owned(),
                (some, []) => format!("there are {}", some.join(", ")),
                (some, _) => format!("there are {}, ...", some.join(", ")),
            };
            Error::new(format!("there is no value '{key}'")).with_help(help)
        };
        self.0.get(key).copied().ok_or_else(missing)
    }

    /// Whether the key has a number.
    pub fn has(&self, key: &str) -> bool {
        self.0.contains_key(key)
    }

    /// Returns the middle parts of all keys that have this beginning and this end.
    pub fn between(&self, begin: &str, end: &str) -> impl Iterator<Item = &str> {
        self.0.keys().filter_map(move |key| key.strip_prefix(begin)?.strip_suffix(end))
    }

    /// Returns the differences between these values and newly measured ones, one sentence per key.
    pub fn differences(&self, measured: &Self) -> Vec<String> {
        let mut keys: Vec<&String> = self.0.keys().chain(measured.0.keys()).collect();
        keys.sort_unstable();
        keys.dedup();
        let text = |value: Option<&f64>| value.map_or("nothing".to_owned(), f64::to_string);
        let differs = keys.into_iter().filter(|key| self.0.get(*key) != measured.0.get(*key));
        differs
            .map(|key| {
                let (kept, new) = (text(self.0.get(key)), text(measured.0.get(key)));
                format!("{key}: {kept} is kept, {new} is measured")
            })
            .collect()
    }

    /// Formats a number with three significant digits.
    ///
    /// # Errors
    /// If the key has no number.
    pub fn short(&self, key: &str) -> Result<String> {
        Ok(number(self.get(key)?))
    }

    /// Formats a number with this number of decimals, and commas between thousands.
    ///
    /// # Errors
    /// If the key has no number.
    pub fn fixed(&self, key: &str, decimals: usize) -> Result<String> {
        Ok(decimal(self.get(key)?, decimals))
    }

    /// Formats a share as a percentage with this number of decimals.
    ///
    /// # Errors
    /// If the key has no number.
    pub fn percent(&self, key: &str, decimals: usize) -> Result<String> {
        Ok(format!("{} %", decimal(100.0 * self.get(key)?, decimals)))
    }
}

/// Formats a number with this number of decimals, and commas between thousands.
pub fn decimal(value: f64, decimals: usize) -> String {
    let text = format!("{:.decimals$}", value.abs());
    let (whole, rest) = text.split_at(text.find('.').unwrap_or(text.len()));
    let is_zero = text.chars().all(|c| "0.".contains(c));
    let sign = if value < 0.0 && !is_zero { "-" } else { "" };
    let whole = whole.parse().map_or_else(|_| whole.to_owned(), thousands);
    format!("{sign}{whole}{rest}")
}

/// Appends a word to a key.
fn below(path: &str, name: &str) -> String {
    if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") }
}

/// Converts a text or number to a part of a key.
fn word(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(slug(text)),
        Value::Number(number) => number.as_f64().map(|number| number.to_string()),
        Value::Bool(value) => Some(value.to_string()),
        _ => None,
    }
}

/// Converts a text to a part of a key: lower-case, with a hyphen for every character that is not a
/// letter, digit, point or underscore.
pub fn slug(text: &str) -> String {
    let is_kept = |c: char| c.is_ascii_alphanumeric() || "._".contains(c);
    let text = text.to_lowercase();
    let parts: Vec<&str> = text.split(|c| !is_kept(c)).filter(|part| !part.is_empty()).collect();
    parts.join("-")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn rows_are_named_by_their_fields() {
        let data = json!({
            "rows": [
                {"machine": "np-8-4-1", "counting": true, "traffic": "all six", "mpps": 24.25, "why": "so", "more": [1, 2]},
                {"machine": "np-8-4-1", "counting": false, "traffic": "MPLS_1-IPv4", "mpps": 31, "large": {"luts": 3}},
            ],
            "seeds": [1, 2],
            "fits": true,
        });
        let values =
            Values::of(&data, &["machine", "traffic", "counting"], &["seeds"]).expect("values");
        let text = serde_json::to_string(&values).expect("JSON");
        assert_eq!(
            text,
            "{\"fits\":1,\
             \"rows.np-8-4-1.all-six.true.more.0\":1,\
             \"rows.np-8-4-1.all-six.true.more.1\":2,\
             \"rows.np-8-4-1.all-six.true.mpps\":24.25,\
             \"rows.np-8-4-1.mpls_1-ipv4.false.large.luts\":3,\
             \"rows.np-8-4-1.mpls_1-ipv4.false.mpps\":31}"
        );
        assert_eq!(serde_json::from_str::<Values>(&text).expect("values"), values);
        assert!(Values::of(&json!([{"a": "x", "b": 1}, {"a": "X", "b": 2}]), &["a"], &[]).is_err());
    }

    #[test]
    fn numbers_are_kept_to_seven_digits_and_whole_ones_whole() {
        let mut values = Values::default();
        values.set("third", 1.0 / 3.0).expect("it is new");
        values.set("words", 2_816_096.0).expect("it is new");
        assert_eq!(values.get("third").expect("it is there"), 0.333_333_3);
        assert_eq!(values.fixed("words", 0).expect("it is there"), "2,816,096");
        assert_eq!(values.percent("third", 1).expect("it is there"), "33.3 %");
        assert!(values.set("words", 1.0).is_err());
        let missing = values.get("other.words").expect_err("there is none").to_string();
        assert!(missing.contains("no value 'other.words'"), "{missing}");
    }

    #[test]
    fn differences_name_what_is_kept_and_what_is_measured() {
        let values = |pairs: &[(&str, f64)]| {
            let mut values = Values::default();
            pairs.iter().for_each(|(key, value)| values.set(*key, *value).expect("it is new"));
            values
        };
        let (kept, new) = (values(&[("a", 1.0), ("b", 2.0)]), values(&[("a", 1.5), ("c", 3.0)]));
        assert_eq!(
            kept.differences(&new),
            [
                "a: 1 is kept, 1.5 is measured",
                "b: 2 is kept, nothing is measured",
                "c: nothing is kept, 3 is measured"
            ]
        );
        assert_eq!(kept.differences(&kept), [""; 0]);
    }

    #[test]
    fn decimals_have_commas_and_no_negative_zero() {
        for (value, decimals, text) in [
            (1234.5, 1, "1,234.5"),
            (-0.04, 1, "0.0"),
            (-1234.0, 0, "-1,234"),
            (0.506, 3, "0.506"),
            (999.96, 1, "1,000.0"),
        ] {
            assert_eq!(decimal(value, decimals), text);
        }
    }
}
