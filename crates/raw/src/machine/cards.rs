//! Line cards that several chains share: `mapping.cards`.
//!
//! A chain without a card gets packets from the card of a neighbour, in turn. The switch of the
//! neighbour's first tile forwards its share of the messages. The switch of the neighbour's last
//! tile collects its outgoing packets, in the same turn. So packets of a card leave from one tile,
//! in their order of arrival.

use super::mapping::{Mapping, Outputs};
use super::place::{Edge, Place};
use crate::Side;
use crate::layout::Layout;
use wireloom_codegen_tile::Link;

/// A line card.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CardAt {
    pub port: Edge,
    /// The chains that get its packets, in turn. All of their packets leave from the last tile of
    /// the first chain.
    pub chains: Vec<usize>,
}

/// A neighbour to which a chain forwards messages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Branch {
    /// The number of the neighbour.
    pub chain: usize,
    /// The sides of the first and of the last tile at which the neighbour is.
    pub first: Side,
    pub last: Side,
    /// The messages in a turn: one for each chain that gets its packets this way.
    pub messages: usize,
}

/// The source of a chain's packets: its own card, or a neighbour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Feed {
    Card,
    Neighbour(usize),
}

impl Mapping {
    /// Checks the numbers of chains with a card, and that the other chains can get packets in turn.
    pub(super) fn check_cards(&self) -> Result<(), String> {
        let (cards, chains) = (&self.cards, self.chains.len());
        if let Some(card) = cards.iter().find(|card| **card >= chains) {
            return Err(format!(
                "`mapping.cards` names chain {card}, and there are {chains}, from 0 on"
            ));
        }
        let is_twice = |at: &usize| cards[..*at].contains(&cards[*at]);
        if let Some(at) = (0..cards.len()).find(is_twice) {
            return Err(format!("`mapping.cards` names chain {} twice", cards[at]));
        }
        if !self.has_shared_cards() {
            return Ok(());
        }
        let why = if self.outputs != Outputs::Egress {
            "what leaves of it has no port of its own: say `outputs = \"egress\"` as well"
        } else if self.links == Link::General {
            "the switches of chains keep the turn: say `links = \"static\"`"
        } else if self.replicas.iter().any(|tiles| *tiles > 1) {
            "tiles that take packets in turn would have to wait for those of other chains: leave out \
             `mapping.replicas`"
        } else {
            return Ok(());
        };
        Err(format!("`mapping.cards` leaves a chain without a line card, and {why}"))
    }

    /// Whether some chains have no card.
    pub fn has_shared_cards(&self) -> bool {
        !self.cards.is_empty() && self.cards.len() < self.chains.len()
    }

    /// Returns the chains with a card, in the order of the cards.
    pub fn carded(&self) -> Vec<usize> {
        if self.cards.is_empty() { (0..self.chains.len()).collect() } else { self.cards.clone() }
    }

    /// Returns the source of each chain's packets. A chain without a card is fed by the neighbour
    /// whose card has the fewest chains.
    ///
    /// # Errors
    /// A sentence about a chain without card and neighbour.
    pub(super) fn feeds(&self, layout: &Layout) -> Result<Vec<Feed>, String> {
        let mut feeds: Vec<Option<(Feed, usize)>> = vec![None; self.chains.len()];
        for (card, chain) in self.carded().into_iter().enumerate() {
            feeds[chain] = Some((Feed::Card, card));
        }
        while let Some(first) = feeds.iter().position(Option::is_none) {
            let count = |card| feeds.iter().flatten().filter(|(_, own)| *own == card).count();
            let next = (0..feeds.len()).filter(|chain| feeds[*chain].is_none()).flat_map(|chain| {
                let to = feeds.iter().enumerate().filter_map(move |(other, feed)| {
                    let (_, card) = (*feed)?;
                    self.sides(layout, other, chain)?;
                    Some((card, other))
                });
                to.map(|(card, other)| (count(card), card, other, chain)).collect::<Vec<_>>()
            });
            let (_, card, other, chain) = next.min().ok_or_else(|| {
                format!(
                    "chain {first} has no line card (`mapping.cards`), and no chain with packets has its first and \
                     its last tile next to those of this one, two tiles each at least: name it in `mapping.cards`, \
                     or move it"
                )
            })?;
            feeds[chain] = Some((Feed::Neighbour(other), card));
        }
        Ok(feeds.into_iter().flatten().map(|(feed, _)| feed).collect())
    }

    /// Returns the sides of a chain's first and last tile at which the other chain is.
    pub(super) fn sides(&self, layout: &Layout, from: usize, to: usize) -> Option<(Side, Side)> {
        let (from, to) = (&self.chains[from], &self.chains[to]);
        // If the first tile were also the last, words would bounce between two switches.
        if from.len() < 2 || to.len() < 2 {
            return None;
        }
        let side = |from: &Place, to: &Place| side_to(layout, *from, *to);
        Some((side(from.first()?, to.first()?)?, side(from.last()?, to.last()?)?))
    }
}

/// Returns the side of a tile at which another one is its neighbour.
pub fn side_to(layout: &Layout, from: Place, to: Place) -> Option<Side> {
    let number = |(x, y): Place| usize::from(y) * layout.columns + usize::from(x);
    let is_to = |side: &Side| layout.neighbour(number(from), *side as usize) == Some(number(to));
    Side::ALL.into_iter().find(is_to)
}

/// Returns the branches of each chain, and the chains of each card in the order of their turns.
pub fn turns(
    mapping: &Mapping,
    layout: &Layout,
    feeds: &[Feed],
) -> (Vec<Vec<Branch>>, Vec<Vec<usize>>) {
    fn order(feeds: &[Feed], chain: usize, into: &mut Vec<usize>) {
        into.push(chain);
        let is_next = |next: &usize| feeds[*next] == Feed::Neighbour(chain);
        (0..feeds.len()).filter(is_next).for_each(|next| order(feeds, next, into));
    }
    let from = |chain: usize| {
        let mut all = Vec::new();
        order(feeds, chain, &mut all);
        all
    };
    let branches = |chain: usize| {
        let next = (0..feeds.len()).filter(move |next| feeds[*next] == Feed::Neighbour(chain));
        let branch = |next: usize| {
            let (first, last) = mapping.sides(layout, chain, next)?;
            Some(Branch { chain: next, first, last, messages: from(next).len() })
        };
        next.filter_map(branch).collect()
    };
    let branches = (0..feeds.len()).map(branches).collect();
    (branches, mapping.carded().into_iter().map(from).collect())
}
