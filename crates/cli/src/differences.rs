//! Differences as tables for people.

use wireloom_console::output;
use wireloom_machine::Compared;

/// The most differing fields that are shown: a payload may have thousands of rows.
const SHOWN: usize = 100;

/// Formats fields as a table in which `!` marks differing ones. Equal rows of payload and padding
/// are left out.
pub fn table(fields: &[Compared], expected: &str, got: &str) -> String {
    let mut table = output::table(&["", "field", expected, got], &[]);
    let mut left_out = 0;
    let mut marked = 0;
    for row in fields.iter().filter(|row| row.tells()) {
        marked += usize::from(!row.same());
        if !row.same() && marked > SHOWN {
            left_out += 1;
            continue;
        }
        let mark = if row.same() { "" } else { "!" };
        table.add_row([mark, &row.field, &row.expected, &row.got]);
    }
    match left_out {
        0 => table.to_string(),
        _ => format!("{table}\n{left_out} more rows differ"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_payloads_are_shortened() {
        let row = |number: usize, got: &str| Compared {
            field: format!("payload[{}]", number * 16),
            expected: "00".into(),
            got: got.into(),
        };
        let fields: Vec<_> = (0..150).map(|n| row(n, "01")).chain([row(150, "00")]).collect();
        let text = table(&fields, "expected", "got");
        assert!(text.contains("payload[1584]") && !text.contains("payload[1600]"), "{text}");
        assert!(text.ends_with("50 more rows differ"), "{text}");
        assert!(!table(&fields[150..], "expected", "got").contains("payload"));
    }
}
