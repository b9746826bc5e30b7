//! Instruction counts by place in the program.

use std::collections::BTreeMap;

use wireloom_isa::Symbols;

/// An instruction count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Count {
    /// The number of all instructions.
    pub instructions: u64,
    /// The number of instructions that access the message passing engine, or the places of
    /// arguments and replies.
    pub communication: u64,
}

impl std::ops::AddAssign for Count {
    fn add_assign(&mut self, other: Self) {
        self.instructions += other.instructions;
        self.communication += other.communication;
    }
}

/// Instruction counts by step. A compiler mixes neighbouring steps a little: the counts of a step
/// are accurate to a few instructions.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Profile {
    /// The count of all instructions.
    pub total: Count,
    /// The count of each step, by its name in the program, and of each function that belongs to no
    /// step.
    pub parts: BTreeMap<String, Count>,
}

impl Profile {
    /// Sums counts by address.
    pub(super) fn new(symbols: &Symbols, counts: impl Iterator<Item = (u32, Count)>) -> Self {
        let mut profile = Self::default();
        for (address, count) in counts.filter(|(_, count)| *count != Count::default()) {
            let name = symbols.at(address).map_or("?", |(function, _)| part(&function.name));
            profile.total += count;
            *profile.parts.entry(name.to_owned()).or_default() += count;
        }
        profile
    }
}

/// The part of a program that a symbol names: `step.look.17` is a place where step `look` begins.
fn part(symbol: &str) -> &str {
    let step = symbol.strip_prefix("step.").and_then(|rest| rest.rsplit_once('.'));
    step.map_or(symbol, |(name, _)| name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_places_where_a_step_begins_are_one_part() {
        assert_eq!(part("step.look.17"), "look");
        assert_eq!(part("step.look.3"), "look");
        assert_eq!(part("wl_move"), "wl_move");
    }
}
