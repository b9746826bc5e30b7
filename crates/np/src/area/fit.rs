//! Whether a design fits a part.

use std::fmt;

use serde::Serialize;
use wireloom_machine::thousands;

use super::{Cost, Part};

/// A resource of which a part has too little.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Overrun {
    pub resource: &'static str,
    /// The amount that the design uses.
    pub used: u64,
    /// The amount that the part has.
    pub available: u64,
}

impl fmt::Display for Overrun {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { resource, used, available } = self;
        let percent = 100.0 * *used as f64 / *available as f64;
        let (used, available) = (thousands(*used), thousands(*available));
        write!(f, "{used} of {available} {resource} ({percent:.1} %)")
    }
}

/// The name of the block RAM resource, which holds the memories of a design.
pub(super) const BLOCK_RAMS: &str = "block RAMs of 18 Kb";

impl Overrun {
    /// Returns whether the part lacks memory, not logic.
    pub fn is_memory(&self) -> bool {
        self.resource == BLOCK_RAMS
    }
}

impl Part {
    /// Returns the resources of which the part has too little for a design.
    pub fn overruns(&self, cost: &Cost) -> Vec<Overrun> {
        let resources = [
            ("LUTs", cost.luts, self.luts),
            ("LUTs that can be memory", cost.lut_rams, self.of_lut_ram),
            ("flip-flops", cost.flip_flops, self.flip_flops),
            (BLOCK_RAMS, cost.block_rams_18k, 2 * self.block_rams),
            ("DSP blocks", cost.dsps, self.dsps),
        ];
        let too_many = resources.into_iter().filter(|(_, used, available)| used > available);
        too_many.map(|(resource, used, available)| Overrun { resource, used, available }).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part() -> Part {
        Part {
            name: "small".into(),
            family: "xc7".into(),
            luts: 1000,
            luts_in_paper: None,
            flip_flops: 2000,
            block_rams: 10,
            of_lut_ram: 100,
            dsps: 1,
            paper: String::new(),
        }
    }

    #[test]
    fn a_full_part_is_not_over_full() {
        let full =
            Cost { luts: 1000, lut_rams: 100, flip_flops: 2000, block_rams_18k: 20, dsps: 1 };
        assert_eq!(part().overruns(&full), []);
    }

    #[test]
    fn each_resource_is_compared_with_what_the_part_has() {
        let over =
            Cost { luts: 1001, lut_rams: 101, flip_flops: 2010, block_rams_18k: 21, dsps: 2 };
        let told: Vec<String> = part().overruns(&over).iter().map(ToString::to_string).collect();
        assert_eq!(
            told,
            [
                "1,001 of 1,000 LUTs (100.1 %)",
                "101 of 100 LUTs that can be memory (101.0 %)",
                "2,010 of 2,000 flip-flops (100.5 %)",
                "21 of 20 block RAMs of 18 Kb (105.0 %)",
                "2 of 1 DSP blocks (200.0 %)",
            ]
        );
    }
}
