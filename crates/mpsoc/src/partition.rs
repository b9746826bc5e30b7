//! The partition of packet processing, and the assignment of threads to parts. A thread processes a
//! whole packet or a part of the steps (the paper, sections 5.1 and 5.3).

use serde::{Deserialize, Serialize};
use wireloom_codegen_c::thread::{PARTS, Refused};
use wireloom_ir::Program;
use wireloom_sim::SpecError;

use super::program::{Elements, Partition};

/// The distribution of packets over threads.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct PartitionSpec {
    pub kind: PartitionKind,
    /// Within a packet: the number of parts of about equal work, 1 to 16.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parts: Option<u32>,
    /// Within a packet: the steps that begin a new part.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cuts: Option<Vec<String>>,
    /// Within a packet: the ratio of hardware threads between the parts, 1 to 1,000 for each; by
    /// default, the ratio of their work.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shares: Option<Vec<u32>>,
}

/// The levels of partition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum PartitionKind {
    /// Each packet stays on one thread.
    BetweenPackets,
    /// Each packet passes through the parts of the engine, which have threads of their own.
    WithinPacket,
}

impl PartitionSpec {
    /// Rejects contradictions.
    ///
    /// # Errors
    /// A sentence that names the key.
    pub fn check(&self) -> Result<(), SpecError> {
        let Self { kind, parts, cuts, shares } = self;
        let error =
            |key: &str, problem: String| Err(SpecError::new(&format!("partition.{key}"), problem));
        if *kind == PartitionKind::BetweenPackets {
            let stated = [
                ("parts", parts.is_some()),
                ("cuts", cuts.is_some()),
                ("shares", shares.is_some()),
            ];
            return match stated.iter().find(|(_, is_stated)| *is_stated) {
                Some((key, _)) => error(key, "is only for `kind = \"within-packet\"`".to_owned()),
                None => Ok(()),
            };
        }
        let count = match (parts, cuts) {
            (Some(parts), None) => *parts as usize,
            (None, Some(cuts)) => cuts.len() + 1,
            (Some(_), Some(_)) => {
                return error("cuts", "is stated beside `parts`; say one of them".to_owned());
            }
            (None, None) => {
                let problem = "is missing; say how many, or name steps with `cuts`".to_owned();
                return error("parts", problem);
            }
        };
        if !(1..=PARTS).contains(&count) {
            let key = if parts.is_some() { "parts" } else { "cuts" };
            return error(key, format!("makes {count} parts; it can be 1 to {PARTS}"));
        }
        let Some(shares) = shares else { return Ok(()) };
        if shares.len() != count {
            return error(
                "shares",
                format!("has {} numbers for {count} parts; say one for each", shares.len()),
            );
        }
        match shares.iter().find(|share| !(1..=1000).contains(*share)) {
            Some(share) => error(
                "shares",
                format!("has {share}; it can be 1 to 1000: a part without threads does nothing"),
            ),
            None => Ok(()),
        }
    }

    /// Cuts an engine into parts.
    ///
    /// # Errors
    /// The engine has no steps of these names, or too few steps.
    pub fn partition(&self, program: &Program, elements: &Elements) -> Result<Partition, Refused> {
        match (self.kind, self.parts, &self.cuts) {
            (PartitionKind::WithinPacket, Some(parts), _) => {
                Partition::balanced(program, elements, parts as usize)
            }
            (PartitionKind::WithinPacket, None, Some(cuts)) => Partition::at(program, cuts),
            _ => Ok(Partition::whole()),
        }
    }

    /// The part of each hardware thread, for `processors` processors with `threads` threads each.
    ///
    /// # Errors
    /// A sentence, if there are fewer threads than parts.
    pub(super) fn threads(
        &self,
        work: &[u64],
        [processors, threads]: [u32; 2],
    ) -> Result<Vec<u32>, String> {
        let shares: Vec<u64> = match &self.shares {
            Some(shares) => shares.iter().map(|share| u64::from(*share)).collect(),
            None => work.to_vec(),
        };
        let parts = shares.len();
        let all = processors * threads;
        if parts > all as usize {
            return Err(format!(
                "{parts} parts need a thread each, and there are {all} threads: cut less"
            ));
        }
        // Parts get whole processors if there are enough of them, so that a processor's caches hold
        // one part.
        let (units, unit) =
            if parts <= processors as usize { (processors, threads) } else { (all, 1) };
        let counts = share_out(&shares, units);
        let of_part =
            |(part, count): (u32, &u32)| std::iter::repeat_n(part, (count * unit) as usize);
        Ok((0..).zip(&counts).flat_map(of_part).collect())
    }
}

/// Distributes `units` over parts, at least one for each. Minimises the maximum work per unit.
fn share_out(shares: &[u64], units: u32) -> Vec<u32> {
    let mut counts = vec![1; shares.len()];
    for _ in shares.len() as u32..units {
        let load = |part: &usize| u128::from(shares[*part]);
        let most = (0..shares.len()).rev().max_by(|a, b| {
            // Compares a / counts[a] with b / counts[b], exactly.
            (load(a) * u128::from(counts[*b])).cmp(&(load(b) * u128::from(counts[*a])))
        });
        counts[most.expect("there is a part")] += 1;
    }
    counts
}

#[cfg(test)]
mod tests {
    use super::*;

    fn within(parts: u32) -> PartitionSpec {
        PartitionSpec {
            kind: PartitionKind::WithinPacket,
            parts: Some(parts),
            cuts: None,
            shares: None,
        }
    }

    /// The part of each processor's threads.
    fn threads(spec: &PartitionSpec, work: &[u64], chip: [u32; 2]) -> Vec<Vec<u32>> {
        let threads = spec.threads(work, chip).expect("there are threads");
        threads.chunks(chip[1] as usize).map(<[u32]>::to_vec).collect()
    }

    #[test]
    fn parts_have_processors_of_their_own_in_proportion_to_their_work() {
        assert_eq!(threads(&within(2), &[10, 30], [4, 2]), [[0, 0], [1, 1], [1, 1], [1, 1]]);
        assert_eq!(threads(&within(3), &[100, 1, 1], [4, 1]), [[0], [0], [1], [2]]);
        // Parts with equal work share the units evenly; the first gets the remainder.
        assert_eq!(threads(&within(3), &[5, 5, 5], [4, 1]), [[0], [0], [1], [2]]);
    }

    #[test]
    fn threads_of_a_processor_are_shared_out_where_there_are_fewer_processors_than_parts() {
        assert_eq!(threads(&within(3), &[10, 20, 10], [2, 4]), [[0, 0, 1, 1], [1, 1, 2, 2]]);
    }

    #[test]
    fn what_is_stated_goes_before_the_work() {
        let stated = PartitionSpec { shares: Some(vec![3, 1]), ..within(2) };
        assert_eq!(threads(&stated, &[10, 30], [4, 1]), [[0], [0], [0], [1]]);
    }

    #[test]
    fn a_part_without_a_thread_is_refused() {
        let why = within(5).threads(&[1; 5], [2, 2]).expect_err("there are four threads");
        assert_eq!(why, "5 parts need a thread each, and there are 4 threads: cut less");
    }
}
