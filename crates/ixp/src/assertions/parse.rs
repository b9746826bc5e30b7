//! Parses the text of rules.

use wireloom_isa::microengine::Order;

use super::{Demand, Group, Limit, Rule, Selection};
use crate::trace::{UNITS, What};

/// A syntax error in a rule.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {problem}")]
pub struct Malformed {
    /// The line number, from 1.
    pub line: usize,
    /// A description of the error.
    pub problem: String,
}

/// The operation names that a selection accepts.
const OPERATIONS: [&str; 14] = [
    "read",
    "write",
    "read_lock",
    "write_unlock",
    "unlock",
    "bit_wr",
    "pop",
    "incr",
    "hash",
    "r_fifo_rd",
    "t_fifo_wr",
    "csr_rd",
    "csr_wr",
    "fast_wr",
];

/// Parses rules, one on each line.
///
/// # Errors
/// Returns the first line that is not a rule.
pub fn parse(text: &str) -> Result<Vec<Rule>, Malformed> {
    let mut rules = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let line = line.split('#').next().unwrap_or_default().trim();
        if line.is_empty() {
            continue;
        }
        let wrong = |problem| Malformed { line: number + 1, problem };
        let Some((name, demand)) = line.split_once(':') else {
            return Err(wrong("a rule begins with its name and a colon".into()));
        };
        let mut words = Words { words: demand.split_whitespace().collect(), at: 0 };
        let demand = words.demand().map_err(wrong)?;
        if let Some(extra) = words.peek() {
            return Err(wrong(format!("`{extra}` is too much")));
        }
        rules.push(Rule { name: name.trim().to_owned(), demand });
    }
    Ok(rules)
}

struct Words<'a> {
    words: Vec<&'a str>,
    at: usize,
}

impl<'a> Words<'a> {
    fn peek(&self) -> Option<&'a str> {
        self.words.get(self.at).copied()
    }

    fn next(&mut self, expected: &str) -> Result<&'a str, String> {
        let word = self.peek().ok_or_else(|| format!("{expected} is missing at the end"))?;
        self.at += 1;
        Ok(word)
    }

    /// Takes the given keywords.
    fn literal(&mut self, text: &str) -> Result<(), String> {
        for expected in text.split(' ') {
            let word = self.next(&format!("`{expected}`"))?;
            if word != expected {
                return Err(format!("`{word}` stands where `{expected}` is expected"));
            }
        }
        Ok(())
    }

    fn is(&mut self, text: &str) -> bool {
        let is = self.peek() == Some(text);
        self.at += usize::from(is);
        is
    }

    fn event(&mut self) -> Result<What, String> {
        let word = self.next("an event")?;
        let found = What::ALL.iter().find(|(_, name)| *name == word);
        found.map(|(what, _)| *what).ok_or_else(|| {
            let names: Vec<&str> = What::ALL.iter().map(|(_, name)| *name).collect();
            format!("`{word}` is no event; say {}", names.join(", "))
        })
    }

    fn number(&mut self) -> Result<u64, String> {
        let word = self.next("a number")?;
        word.parse().map_err(|_| format!("`{word}` is no number"))
    }

    /// Parses the words after `of`, if there are any.
    fn selection(&mut self, what: What) -> Result<Selection, String> {
        let mut selection = Selection { what, unit: None, operation: None, order: None };
        if !self.is("of") {
            return Ok(selection);
        }
        let from = self.at;
        while let Some(word) = self.peek() {
            if let Some((unit, _)) = UNITS.iter().find(|(_, name)| *name == word) {
                selection.unit = Some(*unit);
            } else if OPERATIONS.contains(&word) {
                selection.operation = Some(word.to_owned());
            } else if let Some(order) = order(word) {
                selection.order = Some(order);
            } else {
                break;
            }
            self.at += 1;
        }
        if self.at == from {
            return Err("`of` needs a unit, an operation or a promised order".into());
        }
        Ok(selection)
    }

    fn group(&mut self) -> Result<Group, String> {
        if !self.is("by") {
            return Ok(Group::All);
        }
        match self.next("a group")? {
            "unit" => Ok(Group::Unit),
            "bus" => Ok(Group::Bus),
            "context" => Ok(Group::Context),
            word => Err(format!("`{word}` is no group; say unit, bus or context")),
        }
    }

    fn demand(&mut self) -> Result<Demand, String> {
        if self.is("every") {
            let what = self.event()?;
            let selection = self.selection(what)?;
            self.literal("has one")?;
            return Ok(Demand::Once(selection, self.event()?));
        }
        let first = self.event()?;
        if first == What::Run && self.is("needs") {
            self.literal("signal")?;
            return Ok(Demand::Signalled);
        }
        if self.is("to") {
            let to = self.event()?;
            let to = self.selection(to)?;
            self.literal("takes at")?;
            let limit = match self.next("`least` or `most`")? {
                "least" => Limit::Least(self.number()?),
                "most" => Limit::Most(self.number()?),
                word => return Err(format!("`{word}` is neither `least` nor `most`")),
            };
            return Ok(Demand::Takes { from: first, to, limit });
        }
        let what = self.selection(first)?;
        if self.is("follows") {
            let before = self.event()?;
            return Ok(Demand::Follows { what, before, by: self.group()? });
        }
        let by = self.group()?;
        self.literal("carries at most")?;
        Ok(Demand::Carries { what, by, most: self.number()? })
    }
}

fn order(word: &str) -> Option<Order> {
    Some(match word {
        "default" => Order::Default,
        "optimize" => Order::Optimize,
        "ordered" => Order::Ordered,
        "priority" => Order::Priority,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::assertions::RULES;

    #[test]
    fn the_rules_of_every_machine_are_rules() {
        assert!(parse(RULES).expect("they are rules").len() >= 10);
    }

    #[test]
    fn what_is_no_rule_is_refused_with_its_line() {
        for (text, says) in [
            ("every issue has one done", "line 1: a rule begins with its name and a colon"),
            ("\na: every isue has one done", "line 2: `isue` is no event"),
            ("a: every issue has two done", "`two` stands where `one` is expected"),
            ("a: issue to done takes at least", "a number is missing"),
            ("a: issue to done takes at last 3", "`last` is neither"),
            ("a: issue to done of takes at least 3", "`of` needs a unit"),
            ("a: start follows issue by door", "`door` is no group"),
            ("a: run needs signal now", "`now` is too much"),
        ] {
            let error = parse(text).expect_err(text).to_string();
            assert!(error.contains(says), "{text}: {error}");
        }
    }

    #[test]
    fn rules_can_select_what_they_are_about() {
        let rules = parse("a: push of sdram read by bus carries at most 2").expect("a rule");
        let Demand::Carries { what, by, most } = &rules[0].demand else { panic!("{rules:?}") };
        assert_eq!((*by, *most), (Group::Bus, 2));
        assert_eq!(what.operation.as_deref(), Some("read"));
    }
}
