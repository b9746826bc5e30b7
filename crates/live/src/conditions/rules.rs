//! Policy routing rules (`ip rule`; linux/fib_rules.h).

use std::io;

use netlink_sys::protocols::NETLINK_ROUTE;
use wireloom_net::netlink::attributes;

use super::request::{Ask, ask};
use super::{Place, text_of};

/// `RTM_GETRULE`.
const GET_RULE: u16 = 34;
/// Length of `struct fib_rule_hdr`.
const HEADER: usize = 12;
/// `FR_ACT_TO_TBL`.
const TO_TABLE: u8 = 1;
/// `FIB_RULE_INVERT`.
const INVERT: u32 = 2;
/// The table `default`. The kernel looks it up last; the program hands packets without a route to
/// the kernel.
const DEFAULT: u32 = 253;

mod attribute {
    pub const INPUT: u16 = 3;
    pub const PRIORITY: u16 = 6;
    pub const SUPPRESS_LENGTH: u16 = 14;
    pub const TABLE: u16 = 15;
    pub const OUTPUT: u16 = 17;
    /// Attributes that are not conditions: padding, and the rule's creator.
    pub const OTHERS: [u16; 2] = [18, 21];
    pub const L3_MASTER: u16 = 19;
}

#[derive(Debug, Default, PartialEq, Eq)]
struct Rule {
    priority: u32,
    /// The table that the rule looks up. `None` for other actions.
    table: Option<u32>,
    /// The input interface that the rule matches. `None` matches all.
    input: Option<String>,
    /// The rule matches packets of sockets bound to an interface, or of VRFs.
    is_for_others: bool,
    /// The rule has further conditions, or suppresses some routes.
    is_limited: bool,
}

/// Describes how the kernel's lookup differs from the tables that the mirror follows.
pub fn find(place: &Place) -> io::Result<Option<String>> {
    let ports: Vec<String> = place.names().map(|(_, name)| name).collect();
    for (version, family) in [("IPv4", libc::AF_INET), ("IPv6", libc::AF_INET6)] {
        let mut request = [0; HEADER];
        request[0] = family as u8;
        let rules = match ask(NETLINK_ROUTE, Ask::All, GET_RULE, &request) {
            Ok(messages) => {
                // A kernel that does not know the family returns the rules of all families.
                let own = messages.iter().filter(|message| message.first() == Some(&request[0]));
                own.map(|message| parse(message)).collect::<io::Result<Vec<_>>>()?
            }
            Err(error) if super::is_absent(&error) => continue,
            Err(error) => return Err(error),
        };
        if let Some(found) = differs(&rules, &ports, place.follows_default_tables(), &place.tables)
        {
            return Ok(Some(format!("{version}: {found}")));
        }
    }
    Ok(None)
}

/// Describes how rules differ from a lookup of `tables` in order. Without `judges_order`, the
/// operator chose the tables and knows the unconditional rules: their order is not compared.
fn differs(rules: &[Rule], ports: &[String], judges_order: bool, tables: &[u32]) -> Option<String> {
    let is_for_ports = |rule: &&Rule| {
        let arrives = rule.input.as_ref().is_none_or(|input| ports.contains(input));
        arrives && !rule.is_for_others
    };
    let mut order = Vec::new();
    for rule in rules.iter().filter(is_for_ports) {
        match rule.table {
            Some(table) if rule.input.is_none() && !rule.is_limited => order.push(table),
            _ => return Some(format!("rule {} is not followed", rule.priority)),
        }
    }
    order.dedup();
    while order.last() == Some(&DEFAULT) && tables.last() != Some(&DEFAULT) {
        order.pop();
    }
    (judges_order && order != tables).then(|| {
        let order: Vec<String> = order.iter().map(u32::to_string).collect();
        format!("rules look in the tables {}", order.join(", "))
    })
}

fn parse(payload: &[u8]) -> io::Result<Rule> {
    let malformed = || io::Error::other("a rule that cannot be read");
    let (header, list) = payload.split_at_checked(HEADER).ok_or_else(malformed)?;
    let [_, destination, source, tos, table, _, _, action, ..] = *header else {
        return Err(malformed());
    };
    let flags = word(&header[8..]).ok_or_else(malformed)?;
    let mut rule = Rule {
        is_limited: [destination, source, tos].iter().any(|length| *length > 0)
            || flags & INVERT != 0,
        ..Rule::default()
    };
    let mut table = u32::from(table);
    for (kind, value) in attributes(list)? {
        match kind {
            attribute::INPUT => rule.input = Some(text_of(value)),
            attribute::PRIORITY => rule.priority = word(value).ok_or_else(malformed)?,
            attribute::TABLE => table = word(value).ok_or_else(malformed)?,
            attribute::OUTPUT | attribute::L3_MASTER => rule.is_for_others = true,
            // -1 means no suppression.
            attribute::SUPPRESS_LENGTH if word(value) == Some(u32::MAX) => {}
            kind if attribute::OTHERS.contains(&kind) => {}
            _ => rule.is_limited = true,
        }
    }
    rule.table = (action == TO_TABLE).then_some(table);
    Ok(rule)
}

fn word(value: &[u8]) -> Option<u32> {
    value.first_chunk().map(|word| u32::from_ne_bytes(*word))
}

#[cfg(test)]
mod tests {
    use super::super::request::tests::attribute;
    use super::*;

    fn rule(table: u32) -> Rule {
        Rule { table: Some(table), ..Rule::default() }
    }

    #[test]
    fn rules_are_compared_with_the_tables_that_are_followed() {
        let ports = ["eth1".to_owned()];
        let from = |input: &str, table| Rule { input: Some(input.into()), ..rule(table) };
        let differs = |rules: &[Rule], tables: &[u32]| {
            differs(rules, &ports, tables == [255, 254], tables).is_some()
        };
        let usual = || vec![rule(255), rule(254), rule(DEFAULT)];
        assert!(!differs(&usual(), &[255, 254]));
        for (at, more, expected) in [
            (1, rule(100), true),
            (1, from("lo", 100), false),
            (1, from("eth1", 100), true),
            (1, Rule { is_for_others: true, ..rule(100) }, false),
            (1, Rule { is_limited: true, ..rule(254) }, true),
            (1, Rule::default(), true),
        ] {
            let mut rules = usual();
            rules.insert(at, more);
            assert_eq!(differs(&rules, &[255, 254]), expected, "{rules:?}");
        }
        // The operator chose the tables.
        assert!(!differs(&[rule(255), rule(100), rule(254)], &[100, 255, 254]));
        assert!(differs(&[Rule { is_limited: true, ..rule(9) }], &[100, 255, 254]));
    }

    #[test]
    fn rules_are_read() {
        let message = |header: [u8; HEADER], list: &[Vec<u8>]| {
            parse(&[&header[..], &list.concat()].concat()).expect("a rule")
        };
        let plain = [2, 0, 0, 0, 254, 0, 0, TO_TABLE, 0, 0, 0, 0];
        let usual = [
            attribute(attribute::TABLE, &1000u32.to_ne_bytes()),
            attribute(attribute::SUPPRESS_LENGTH, &u32::MAX.to_ne_bytes()),
            attribute(21, &[2]),
            attribute(attribute::PRIORITY, &7u32.to_ne_bytes()),
        ];
        assert_eq!(message(plain, &usual), Rule { priority: 7, ..rule(1000) });
        const MARK: u16 = 10;
        for limited in [
            attribute(MARK, &1u32.to_ne_bytes()),
            attribute(attribute::SUPPRESS_LENGTH, &0u32.to_ne_bytes()),
        ] {
            assert!(message(plain, &[limited]).is_limited);
        }
        let mut from = plain;
        from[2] = 8;
        assert!(message(from, &[]).is_limited);
        let mut inverted = plain;
        inverted[8..].copy_from_slice(&INVERT.to_ne_bytes());
        assert!(message(inverted, &[]).is_limited);
        let mut blackhole = plain;
        blackhole[7] = 6;
        assert_eq!(message(blackhole, &[]).table, None);
        assert!(parse(&plain[..11]).is_err());
        assert!(parse(&[&plain[..], &attribute(attribute::TABLE, &[1])].concat()).is_err());
    }
}
