//! Allocates general-purpose registers: a bank for each name, then a number.

use std::collections::VecDeque;

use wireloom_isa::microengine::table::Form;
use wireloom_isa::microengine::{Bank, Destination, Index, Source, Version};

use crate::flow::{Set, live_out, reads};
use crate::names::Node;
use crate::statement::Item;

/// The reason why allocation fails.
pub enum Unallocated {
    /// Two registers that one instruction reads would have to be in the same bank. Names the
    /// instruction, and the other instructions that lead to the conflict.
    Bank { item: usize, because: Vec<usize> },
    /// No register of the bank is left for a node.
    Full { node: usize, bank: Bank },
}

/// An operand that an instruction reads through one side of the register file.
#[derive(Clone, Copy)]
enum Side {
    Node(usize),
    Fixed(Bank),
}

fn side(node: Option<usize>, source: Source) -> Option<Side> {
    match node {
        Some(node) => Some(Side::Node(node)),
        None => source.bank().map(Side::Fixed),
    }
}

/// The two operands that must be in different banks.
fn sides(item: &Item) -> Option<(Side, Side)> {
    let first = match item.form {
        Form::LoadField { clear: false } => side(item.nodes[0], item.parts.destination.as_source()),
        _ => side(item.nodes[1], item.parts.a),
    };
    Some((first?, side(item.nodes[2], item.parts.b)?))
}

/// Finds a bank for each node.
fn banks(items: &[Item], nodes: &[Node]) -> Result<Vec<Bank>, Unallocated> {
    let mut edges: Vec<Vec<(usize, usize)>> = vec![Vec::new(); nodes.len()];
    let mut found: Vec<Option<Bank>> =
        nodes.iter().map(|node| node.pinned.map(|(bank, _)| bank)).collect();
    // The instruction that decided the bank, and the node from which the bank followed.
    let mut cause: Vec<Option<(usize, Option<usize>)>> = vec![None; nodes.len()];
    for (at, item) in items.iter().enumerate() {
        match sides(item) {
            Some((Side::Node(a), Side::Node(b))) => {
                if a == b {
                    return Err(Unallocated::Bank { item: at, because: Vec::new() });
                }
                edges[a].push((b, at));
                edges[b].push((a, at));
            }
            Some((Side::Node(node), Side::Fixed(bank)) | (Side::Fixed(bank), Side::Node(node))) => {
                match found[node] {
                    Some(known) if known == bank => {
                        let because = cause[node].iter().map(|cause| cause.0).collect();
                        return Err(Unallocated::Bank { item: at, because });
                    }
                    Some(_) => {}
                    None => {
                        found[node] = Some(bank.other());
                        cause[node] = Some((at, None));
                    }
                }
            }
            _ => {}
        }
    }
    let mut count = [0_usize; 2];
    let mut queue: VecDeque<usize> =
        (0..nodes.len()).filter(|&node| found[node].is_some()).collect();
    let mut start = 0;
    loop {
        while let Some(node) = queue.pop_front() {
            let Some(bank) = found[node] else { continue };
            count[bank as usize] += 1;
            for &(other, item) in &edges[node] {
                match found[other] {
                    None => {
                        found[other] = Some(bank.other());
                        cause[other] = Some((item, Some(node)));
                        queue.push_back(other);
                    }
                    Some(known) if known == bank => {
                        let because = chain(&cause, node, other, item);
                        return Err(Unallocated::Bank { item, because });
                    }
                    Some(_) => {}
                }
            }
        }
        // A group of nodes that is tied to no bank begins in the bank with fewer registers.
        let Some(free) = (start..nodes.len()).find(|&node| found[node].is_none()) else { break };
        start = free;
        found[free] = Some(if count[0] <= count[1] { Bank::A } else { Bank::B });
        queue.push_back(free);
    }
    Ok(found.into_iter().map(|bank| bank.unwrap_or(Bank::A)).collect())
}

/// A few of the instructions from which the conflicting banks of two nodes follow.
fn chain(cause: &[Option<(usize, Option<usize>)>], a: usize, b: usize, item: usize) -> Vec<usize> {
    let mut items = Vec::new();
    for mut node in [a, b] {
        while let Some((because, from)) = cause[node] {
            if because != item && !items.contains(&because) {
                items.push(because);
            }
            match from {
                Some(from) if items.len() < 6 => node = from,
                _ => break,
            }
        }
    }
    items
}

/// Allocates all nodes. Returns the bank and the number of each.
pub fn allocate(
    version: Version,
    items: &[Item],
    next: &[Vec<u16>],
    nodes: &[Node],
) -> Result<Vec<(Bank, Index)>, Unallocated> {
    let mut banks = banks(items, nodes)?;
    let is_loose = loose(items, nodes);
    let sizes = version.sizes();
    let share = sizes.bank / sizes.contexts;
    // The registers that the program names by number are taken for the whole program.
    let mut relative = [vec![false; share], vec![false; share]];
    let mut absolute = [vec![false; sizes.bank], vec![false; sizes.bank]];
    let mut take = |bank: Bank, index: Index| match index {
        Index::Relative(number) if usize::from(number) < share => {
            relative[bank as usize][usize::from(number)] = true;
        }
        Index::Absolute(number) if usize::from(number) < sizes.bank => {
            absolute[bank as usize][usize::from(number)] = true;
            relative[bank as usize][usize::from(number) % share] = true;
        }
        _ => {}
    };
    for item in items {
        for source in [item.parts.a, item.parts.b, item.parts.destination.as_source()] {
            if let Source::Gpr(bank, index) = source {
                take(bank, index);
            }
        }
    }
    for node in nodes {
        if let Some((bank, index)) = node.pinned {
            take(bank, index);
        }
    }
    let mut places: Vec<Option<(Bank, Index)>> = nodes.iter().map(|node| node.pinned).collect();
    // Registers that the contexts share come first, from the top.
    for (at, node) in nodes.iter().enumerate().filter(|(_, node)| node.is_absolute) {
        if places[at].is_some() {
            continue;
        }
        let bank = banks[at];
        let by_share = |number: &usize| (share - 1 - number % share, number / share);
        let mut numbers: Vec<usize> = (0..sizes.bank).collect();
        numbers.sort_by_key(by_share);
        let is_free = |&number: &usize| {
            let place = number % share;
            // The place is free in all contexts, or already used for shared registers.
            !absolute[bank as usize][number]
                && (!relative[bank as usize][place]
                    || absolute[bank as usize]
                        .iter()
                        .skip(place)
                        .step_by(share)
                        .any(|&taken| taken))
        };
        let Some(number) = numbers.into_iter().find(is_free) else {
            return Err(Unallocated::Full { node: at, bank });
        };
        let _ = node;
        absolute[bank as usize][number] = true;
        relative[bank as usize][number % share] = true;
        places[at] = Some((bank, Index::Absolute(number as u8)));
    }
    let fixed = places.clone();
    if colour(items, next, &[], &mut banks, &relative, &mut places).is_err() {
        // Registers that fit in either bank come last, and take the remaining places.
        places = fixed;
        colour(items, next, &is_loose, &mut banks, &relative, &mut places)?;
    }
    Ok(places.into_iter().map(|place| place.unwrap_or((Bank::A, Index::Relative(0)))).collect())
}

/// Whether each node is loose: no instruction reads it together with another register.
fn loose(items: &[Item], nodes: &[Node]) -> Vec<bool> {
    let mut is_loose: Vec<bool> =
        nodes.iter().map(|node| node.pinned.is_none() && !node.is_absolute).collect();
    for (a, b) in items.iter().filter_map(sides) {
        for side in [a, b] {
            if let Side::Node(node) = side {
                is_loose[node] = false;
            }
        }
    }
    is_loose
}

/// Assigns numbers to the registers of a context. Registers that are live at the same time get
/// different numbers. Loose registers come last, in a bank that has a free number.
fn colour(
    items: &[Item],
    next: &[Vec<u16>],
    is_loose: &[bool],
    banks: &mut [Bank],
    taken: &[Vec<bool>; 2],
    places: &mut [Option<(Bank, Index)>],
) -> Result<(), Unallocated> {
    let count = places.len();
    let live = live_out(items, next, count);
    let mut conflicts = vec![Set::new(count); count];
    let mut order: Vec<usize> = Vec::new();
    let mut is_seen = vec![false; count];
    let mut see = |node: usize| {
        if !std::mem::replace(&mut is_seen[node], true) {
            order.push(node);
        }
    };
    for (item, live) in items.iter().zip(&live) {
        for node in reads(item).chain(item.nodes[0]) {
            see(node);
        }
        if let Some(written) = item.nodes[0] {
            for other in live.iter().filter(|&other| other != written) {
                conflicts[written].insert(other);
                conflicts[other].insert(written);
            }
        }
    }
    // The host sets the registers that are live before the first instruction, all at once.
    if let Some(first) = items.first() {
        let mut entry = live[0].clone();
        first.nodes[0].into_iter().for_each(|written| entry.remove(written));
        reads(first).for_each(|read| entry.insert(read));
        let entry: Vec<usize> = entry.iter().collect();
        for &a in &entry {
            entry.iter().filter(|&&b| b != a).for_each(|&b| conflicts[a].insert(b));
        }
    }
    let loose = |node: &usize| is_loose.get(*node).is_some_and(|is_loose| *is_loose);
    order.sort_by_key(loose);
    for node in order {
        if places[node].is_some() {
            continue;
        }
        let free = |bank: Bank| {
            let mut used = taken[bank as usize].clone();
            for other in conflicts[node].iter() {
                match places[other] {
                    Some((other_bank, Index::Relative(number))) if other_bank == bank => {
                        used[usize::from(number)] = true;
                    }
                    _ => {}
                }
            }
            used.iter().position(|used| !used)
        };
        let bank = banks[node];
        let other = || loose(&node).then(|| Some((bank.other(), free(bank.other())?))).flatten();
        let Some((bank, number)) = free(bank).map(|number| (bank, number)).or_else(other) else {
            return Err(Unallocated::Full { node, bank });
        };
        banks[node] = bank;
        places[node] = Some((bank, Index::Relative(number as u8)));
    }
    Ok(())
}

/// Writes the allocated registers into an instruction.
pub fn place(item: &mut Item, places: &[(Bank, Index)]) {
    if let Some(node) = item.nodes[0] {
        item.parts.destination = Destination::Gpr(places[node].0, places[node].1);
    }
    if let Some(node) = item.nodes[1] {
        item.parts.a = Source::Gpr(places[node].0, places[node].1);
    }
    if let Some(node) = item.nodes[2] {
        item.parts.b = Source::Gpr(places[node].0, places[node].1);
    }
}
