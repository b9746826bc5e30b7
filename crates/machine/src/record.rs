//! The record of a run on a machine, for users and for other programs.

use std::fmt;

/// The record of a run. The machine chooses the lines that users read; `values` contains all
/// measurements.
pub struct Record {
    /// The summary for users, in order.
    pub lines: Vec<Line>,
    /// The bars of a histogram.
    pub bars: Vec<Bar>,
    /// The use of the machine's parts.
    pub parts: Vec<Part>,
    /// All measurements, for other programs.
    pub values: Box<dyn erased_serde::Serialize + Send>,
}

/// A line of the summary.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Line {
    /// The name of the value, one or two words.
    pub name: &'static str,
    /// The value with its unit.
    pub text: String,
}

/// A bar of a histogram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bar {
    /// The minimum value, inclusive.
    pub from: u64,
    /// The maximum value, inclusive.
    pub to: u64,
    /// The number of packets with a value in this range.
    pub packets: u64,
}

/// The use of a part.
#[derive(Clone, Debug, PartialEq)]
pub struct Part {
    /// The name of the kind of part.
    pub kind: String,
    /// The utilisation, 0 to 1.
    pub share: f64,
}

impl Line {
    /// Creates a line.
    pub fn new(name: &'static str, text: impl Into<String>) -> Self {
        Self { name, text: text.into() }
    }

    /// Counts the packets that were dropped since they were sent to ports that the machine lacks.
    pub fn no_such_port(packets: u64) -> Self {
        let packets = thousands(packets);
        let text = format!("{packets} packets dropped, for their egress port does not exist");
        Self::new("no such port", text)
    }
}

impl serde::Serialize for Record {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        erased_serde::serialize(&*self.values, serializer)
    }
}

impl fmt::Debug for Record {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Record").field("lines", &self.lines).finish_non_exhaustive()
    }
}

/// Formats a count with separated thousands.
pub fn thousands(count: u64) -> String {
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

/// Formats a number of things, such as "1 packet" or "1,234 packets". `thing` takes an s in the
/// plural.
pub fn counted(count: u64, thing: &str) -> String {
    format!("{} {thing}{}", thousands(count), if count == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn things_are_counted_in_singular_and_plural() {
        let text = [0, 1, 1000].map(|count| counted(count, "packet"));
        assert_eq!(text, ["0 packets", "1 packet", "1,000 packets"]);
    }

    #[test]
    fn thousands_are_set_apart() {
        for (count, text) in [(0, "0"), (999, "999"), (1000, "1,000"), (1_234_567, "1,234,567")] {
            assert_eq!(thousands(count), text);
        }
    }
}
