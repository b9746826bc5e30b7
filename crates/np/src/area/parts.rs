//! The devices that the paper names, from `hardware/parts.toml`.

use serde::{Deserialize, Serialize};

/// A device.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Part {
    /// The order code without package and speed grade.
    pub name: String,
    /// The name of the device family in Yosys.
    pub family: String,
    /// Six-input LUTs.
    pub luts: u64,
    /// The LUT count that the paper calls 100 %, if it used an earlier listing of the part.
    pub luts_in_paper: Option<u64>,
    pub flip_flops: u64,
    /// Block RAMs of 36 Kb.
    pub block_rams: u64,
    /// LUTs that can be used as memory.
    pub of_lut_ram: u64,
    pub dsps: u64,
    /// The use of the device in the paper.
    pub paper: String,
}

impl Part {
    /// Returns the LUTs that the paper states as `percent` of this part.
    pub fn published(&self, percent: u64) -> u64 {
        self.luts_in_paper.unwrap_or(self.luts) * percent / 100
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    part: Vec<Part>,
}

pub fn parts() -> Vec<Part> {
    let file: File =
        toml::from_str(include_str!("../../../../hardware/parts.toml")).expect("a test reads it");
    file.part
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_part_is_of_a_family_that_can_be_estimated() {
        let parts = parts();
        assert_eq!(parts.len(), 4);
        for part in parts {
            assert!(
                super::super::FAMILIES.iter().any(|(family, _)| *family == part.family),
                "{part:?}"
            );
            assert!(part.of_lut_ram < part.luts);
        }
    }
}
