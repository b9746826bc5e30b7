//! One program for each rule, which breaks just that rule.
