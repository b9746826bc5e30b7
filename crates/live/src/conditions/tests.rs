use std::fs;

use super::*;

fn found(condition: &str) -> Found {
    Found { condition: condition.into(), detail: "x".into() }
}

#[test]
fn grave_conditions_are_refused_unless_they_are_accepted() {
    let all = [found("netfilter"), found("rp-filter"), found("ip-rule")];
    let error = check(&all, &[]).expect_err("refused");
    for text in ["netfilter: x: rules of", "; ip-rule: x: "] {
        assert!(error.message.contains(text), "{}", error.message);
    }
    assert!(!error.message.contains("rp-filter"), "{}", error.message);
    let help = error.help.expect("help");
    assert!(help.contains("`--accept netfilter --accept ip-rule`"), "{help}");
    let accepted = ["netfilter".to_owned(), "ip-rule".to_owned()];
    let warnings = check(&all, &accepted).expect("accepted");
    assert!(
        matches!(&warnings[..], [warning] if warning.starts_with("rp-filter: x: IPv4 packets"))
    );
    let accepted = [&accepted[..], &["rp-filter".to_owned()]].concat();
    assert_eq!(check(&all, &accepted).expect("accepted"), [""; 0]);
}

#[test]
fn the_documentation_lists_all_conditions() {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/operate/kernel.md");
    let text = fs::read_to_string(page).expect("the page");
    let rows = ALL.iter().map(|condition| {
        let at_start = match condition.at_start {
            AtStart::Refused => "refuses",
            AtStart::Warned => "warns",
        };
        let Condition { name, effect, source, .. } = condition;
        format!("| `{name}` | {effect} | {source} | {at_start} |\n")
    });
    let rows: String = rows.collect();
    assert!(text.contains(&rows), "docs/operate/kernel.md should have these rows:\n{rows}");
}
