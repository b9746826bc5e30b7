//! The paths of packet tails through switches, from the first tile of a chain to a memory.
//!
//! A path follows the tiles of its chain. Their switches let a tail pass before the message with
//! its head. The path leaves the chain where a neighbour is the memory, or a tile that belongs to
//! no chain. Switches off the chain only pass words on. No two paths share a tile, since a switch
//! cannot wait for the first of two words.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use wireloom_codegen_tile::{Link, Ready};

use super::mapping::{Mapping, Placement};
use super::place::{Edge, Place};
use crate::Side;
use crate::layout::Layout;

/// The tiles of a path, with the sides at which tails enter and leave.
pub type Way = Vec<(Place, Side, Side)>;

/// Returns the shortest path of each chain, searched one chain after the other.
///
/// # Errors
/// A sentence about a chain without a path.
pub fn of(layout: &Layout, placement: &Placement, mapping: &Mapping) -> Result<Vec<Way>, String> {
    let mut used: BTreeSet<Place> =
        placement.chains.iter().flat_map(|chain| chain.tiles.clone()).collect();
    used.extend(mapping.state_owner);
    // The switch of a queue is free if neither packets nor the ready word go through it.
    if let Some(queues) = &mapping.queues
        && (queues.network == Link::Static || queues.ready == Ready::Polling)
    {
        used.extend(&queues.tiles);
    }
    let mut ways = Vec::new();
    for (number, chain) in placement.chains.iter().enumerate() {
        let memory = placement.rests[number];
        let way = shortest(layout, &chain.tiles, chain.input(), memory, &used).ok_or_else(|| {
            let (x, y) = memory.0;
            format!(
                "the rests of packets of chain {number} have no way by switches to the memory at tile ({x},{y}) that \
                 crosses no other, no other chain and no queue that uses its switch: move `mapping.rest.memories`, \
                 say `network = \"general\"` and `ready = \"interrupts\"` in `mapping.queues`, or `network = \
                 \"memory\"` in `mapping.rest`"
            )
        })?;
        used.extend(way.iter().map(|(tile, ..)| *tile));
        ways.push(way);
    }
    Ok(ways)
}

fn shortest(
    layout: &Layout,
    chain: &[Place],
    (first, input): Edge,
    (last, output): Edge,
    used: &BTreeSet<Place>,
) -> Option<Way> {
    let number = |(x, y): Place| usize::from(y) * layout.columns + usize::from(x);
    let place = |tile: usize| ((tile % layout.columns) as u8, (tile / layout.columns) as u8);
    // For each tile the previous tile.
    let mut before: BTreeMap<Place, Place> = BTreeMap::new();
    let mut open = VecDeque::from([first]);
    while let Some(tile) = open.pop_front() {
        if tile == last {
            break;
        }
        let in_chain = chain.iter().position(|own| *own == tile);
        for side in Side::ALL {
            let Some(next) = layout.neighbour(number(tile), side as usize).map(place) else {
                continue;
            };
            let is_along = in_chain.is_some_and(|at| chain.get(at + 1) == Some(&next));
            let is_free = is_along || !used.contains(&next);
            if is_free && next != first && !before.contains_key(&next) {
                before.insert(next, tile);
                open.push_back(next);
            }
        }
    }
    let mut tiles = vec![last];
    while let Some(tile) = before.get(&tiles[tiles.len() - 1]) {
        tiles.push(*tile);
    }
    tiles.reverse();
    if tiles[0] != first {
        return None;
    }
    let side_to = |from: Place, to: Place| {
        let is_to =
            |side: &Side| layout.neighbour(number(from), *side as usize) == Some(number(to));
        Side::ALL.into_iter().find(is_to)
    };
    let mut way = Vec::new();
    let mut from = input;
    for (at, tile) in tiles.iter().enumerate() {
        let to = match tiles.get(at + 1) {
            Some(next) => side_to(*tile, *next)?,
            None => output,
        };
        way.push((*tile, from, to));
        from = Side::ALL[to as usize ^ 2];
    }
    Some(way)
}
