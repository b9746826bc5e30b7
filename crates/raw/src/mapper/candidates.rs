//! The mappings that a search tries.

use super::Candidate;
use crate::machine::{MachineSpec, Mapping, Outputs};

/// Limit on the tiles of a chain that can each be a stage. Engines have few steps.
const MOST_STAGES: usize = 8;

/// Returns the mappings of a machine's chip. Each has ports for its chains and for the memory.
pub fn candidates(spec: &MachineSpec) -> Vec<Candidate> {
    let (columns, rows) = (spec.chip.columns as u8, spec.chip.rows as u8);
    // These settings do not depend on the tiles.
    let Mapping { outputs, rest, .. } = &spec.mapping;
    let kept = Mapping { outputs: *outputs, rest: rest.clone(), ..Mapping::default() };
    let mut all = Vec::new();
    // Along the first row, which has a port at each tile.
    for tiles in 1..columns {
        let chain: Vec<_> = (0..tiles).map(|x| (x, 0)).collect();
        add(&mut all, &[chain], &kept);
    }
    // Each chain enters at the first column and goes back and forth through some rows.
    for together in (1..=rows).filter(|together| rows.is_multiple_of(*together)) {
        let chains: Vec<Vec<_>> = (0..rows / together)
            .map(|number| {
                let tiles = (0..together).flat_map(|row| {
                    (0..columns).map(move |x| {
                        let x = if row % 2 == 0 { x } else { columns - 1 - x };
                        (x, number * together + row)
                    })
                });
                tiles.collect()
            })
            .collect();
        add(&mut all, &chains, &kept);
    }
    // One chain for each tile on the edge of the chip.
    let edge = (0..rows).flat_map(|y| (0..columns).map(move |x| (x, y)));
    let is_outer = |(x, y): &(u8, u8)| *x == 0 || *y == 0 || *x + 1 == columns || *y + 1 == rows;
    let mut edge: Vec<Vec<_>> = edge.filter(is_outer).map(|tile| vec![tile]).collect();
    if edge.len() > 1 {
        // The memory needs a port, too.
        edge.pop();
    }
    add(&mut all, &edge, &kept);
    let has_ports = |candidate: &Candidate| {
        MachineSpec { mapping: candidate.mapping.clone(), ..spec.clone() }.placement().is_ok()
    };
    all.retain(has_ports);
    all
}

/// Adds chains, cut into stages in each possible way.
fn add(all: &mut Vec<Candidate>, chains: &[Vec<(u8, u8)>], kept: &Mapping) {
    let tiles = chains[0].len();
    let mut ways = vec![vec![tiles]];
    if tiles > 1 {
        ways.extend([vec![1, tiles - 1], vec![tiles - 1, 1], vec![tiles / 2, tiles - tiles / 2]]);
    }
    if tiles > 2 {
        ways.push(vec![1, tiles - 2, 1]);
        if tiles <= MOST_STAGES {
            ways.push(vec![1; tiles]);
        }
    }
    for replicas in ways {
        if kept.outputs == Outputs::Egress && replicas.last() != Some(&1) {
            continue;
        }
        let mapping = Mapping { chains: chains.to_vec(), replicas, ..kept.clone() };
        if all.iter().any(|other| other.mapping == mapping) {
            continue;
        }
        let stages: Vec<String> = mapping.replicas.iter().map(ToString::to_string).collect();
        let plural = |count: usize| if count == 1 { "" } else { "s" };
        let name = format!(
            "{} chain{} of {tiles} tile{}, {}",
            chains.len(),
            plural(chains.len()),
            plural(tiles),
            match &stages.iter().map(String::as_str).collect::<Vec<_>>()[..] {
                ["1"] => "all steps on it".to_owned(),
                [_] => "in turn".to_owned(),
                _ => format!("stages of {}", stages.join(" + ")),
            }
        );
        all.push(Candidate { name, mapping });
    }
}
