//! Test results as JUnit XML, for systems of continuous integration.

use std::collections::BTreeMap;
use std::fmt::Write;

use super::{Report, Run};

/// Formats a report: a suite for each file on each machine, a case for each test.
pub fn xml(report: &Report) -> String {
    let tests: usize = report.runs.iter().map(|run| run.names.len()).sum();
    let failed: usize = report.runs.iter().map(|run| failures(run).len()).sum();
    let mut out = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    let counts = format!("tests=\"{tests}\" failures=\"{failed}\" errors=\"0\"");
    out += &format!("<testsuites name=\"wireloom test\" {counts}>\n");
    report.runs.iter().for_each(|run| suite(&mut out, run));
    out + "</testsuites>\n"
}

/// Returns the texts of failures by the number of the test.
fn failures(run: &Run) -> BTreeMap<usize, String> {
    let mut texts = BTreeMap::<usize, String>::new();
    for missed in &run.failures {
        let text = texts.entry(missed.number).or_default();
        if !text.is_empty() {
            text.push('\n');
        }
        *text += &missed.text(run);
    }
    texts
}

fn suite(out: &mut String, run: &Run) {
    let failures = failures(run);
    let suite = escaped(&format!("{} on {}", run.file, run.machine));
    let counts =
        format!("tests=\"{}\" failures=\"{}\" errors=\"0\"", run.names.len(), failures.len());
    let _ = writeln!(out, "  <testsuite name=\"{suite}\" {counts}>");
    let mut seen = BTreeMap::<&str, usize>::new();
    for test in &run.names {
        let number = seen.entry(&test.name).or_default();
        *number += 1;
        let name = match (test.name.as_str(), *number) {
            ("", _) => format!("line {}", test.line),
            (name, 1) => name.to_owned(),
            (name, _) => format!("{name} (line {})", test.line),
        };
        let (name, file, line) = (escaped(&name), escaped(&run.file), test.line);
        let case = format!(
            "    <testcase name=\"{name}\" classname=\"{suite}\" file=\"{file}\" line=\"{line}\""
        );
        let _ = match failures.get(&test.number) {
            None => writeln!(out, "{case}/>"),
            Some(text) => {
                let title = escaped(text.lines().next().unwrap_or_default());
                let text = escaped(text);
                writeln!(
                    out,
                    "{case}>\n      <failure message=\"{title}\">{text}</failure>\n    </testcase>"
                )
            }
        };
    }
    out.push_str("  </testsuite>\n");
}

/// Escapes text for elements and for attributes in double quotes. Characters that XML 1.0 cannot
/// hold (section 2.2) become U+FFFD.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\n' | '\t' => out.push(c),
            '\0'..='\x1f' | '\u{fffe}' | '\u{ffff}' => out.push('\u{fffd}'),
            _ => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::super::{Missed, Named};
    use super::*;

    #[test]
    fn each_test_is_a_case_and_text_is_escaped() {
        let missed = |number, problem: &str| Missed {
            test: "a < \"b\" & c".into(),
            number,
            line: 9,
            problem: problem.into(),
            fields: Vec::new(),
        };
        let named = |number, name: &str, line| Named { number, name: name.into(), line };
        let run = Run {
            file: "t.packets".into(),
            machine: "golden".into(),
            tests: 4,
            packets: 4,
            failures: vec![missed(1, "x\u{1b}[0m]]>"), missed(1, "second")],
            names: vec![
                named(0, "", 2),
                named(1, "a < \"b\" & c", 5),
                named(2, "same", 10),
                named(3, "same", 12),
            ],
        };
        let expected = "\
<?xml version=\"1.0\" encoding=\"UTF-8\"?>
<testsuites name=\"wireloom test\" tests=\"4\" failures=\"1\" errors=\"0\">
  <testsuite name=\"t.packets on golden\" tests=\"4\" failures=\"1\" errors=\"0\">
    <testcase name=\"line 2\" classname=\"t.packets on golden\" file=\"t.packets\" line=\"2\"/>
    <testcase name=\"a &lt; &quot;b&quot; &amp; c\" classname=\"t.packets on golden\" \
file=\"t.packets\" line=\"5\">
      <failure message=\"t.packets:9: a &lt; &quot;b&quot; &amp; c: on golden\">\
t.packets:9: a &lt; &quot;b&quot; &amp; c: on golden
x\u{fffd}[0m]]&gt;

t.packets:9: a &lt; &quot;b&quot; &amp; c: on golden
second
</failure>
    </testcase>
    <testcase name=\"same\" classname=\"t.packets on golden\" file=\"t.packets\" line=\"10\"/>
    <testcase name=\"same (line 12)\" classname=\"t.packets on golden\" file=\"t.packets\" \
line=\"12\"/>
  </testsuite>
</testsuites>
";
        assert_eq!(xml(&Report { runs: vec![run] }), expected);
    }
}
