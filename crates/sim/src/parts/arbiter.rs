//! Arbiters choose one of several requesters.

use serde::{Deserialize, Serialize};

use crate::spec::{SpecError, within};

/// The policy that chooses one of several contenders.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ArbiterSpec {
    /// Always grants the lowest number. Others may wait for ever.
    Fixed,
    /// Grants the next requester after the last granted one.
    #[default]
    RoundRobin,
    /// Grants the least recently granted contender (a matrix arbiter).
    LeastRecent,
    /// Round robin with a number of consecutive grants for each contender. When all request, grants
    /// are proportional to the weights.
    Weighted(Vec<u32>),
}

/// A set of requests: a bit for each contender.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Requests {
    words: Vec<u64>,
}

impl Requests {
    /// Creates an empty set for this number of contenders.
    pub fn new(contenders: usize) -> Self {
        Self { words: vec![0; contenders.div_ceil(64)] }
    }

    /// Adds a contender's request.
    pub fn insert(&mut self, contender: usize) {
        self.words[contender / 64] |= 1 << (contender % 64);
    }

    /// Removes a contender's request.
    pub fn remove(&mut self, contender: usize) {
        self.words[contender / 64] &= !(1 << (contender % 64));
    }

    /// Whether a contender requests.
    pub fn contains(&self, contender: usize) -> bool {
        self.words[contender / 64] >> (contender % 64) & 1 != 0
    }

    /// Whether no contender requests.
    pub fn is_empty(&self) -> bool {
        self.words.iter().all(|word| *word == 0)
    }

    /// Removes all requests.
    pub fn clear(&mut self) {
        self.words.fill(0);
    }

    /// The first requester from a number on.
    pub fn first_from(&self, from: usize) -> Option<usize> {
        let mut word = from / 64;
        let mut bits = self.words.get(word)? & (u64::MAX << (from % 64));
        while bits == 0 {
            word += 1;
            bits = *self.words.get(word)?;
        }
        Some(word * 64 + bits.trailing_zeros() as usize)
    }

    /// The first requester from a number on, wrapping round after the last.
    pub fn first_around(&self, from: usize) -> Option<usize> {
        self.first_from(from).or_else(|| self.first_from(0))
    }

    /// Returns all requesting contenders.
    pub fn iter(&self) -> impl Iterator<Item = usize> {
        std::iter::successors(self.first_from(0), |last| self.first_from(last + 1))
    }
}

/// An arbiter and the state of its past grants.
#[derive(Clone, Debug)]
pub struct Arbiter(State);

#[derive(Clone, Debug)]
enum State {
    Fixed,
    RoundRobin { next: usize },
    LeastRecent { before: Vec<Requests> },
    Weighted { weights: Vec<u32>, holder: usize, left: u32 },
}

impl Arbiter {
    /// Creates an arbiter for this number of contenders.
    ///
    /// # Errors
    /// If there are no contenders, if the number of weights is different, or if a weight is 0.
    pub fn new(spec: &ArbiterSpec, contenders: usize) -> Result<Self, SpecError> {
        within("contenders", contenders as u64, 1..=4096)?;
        Ok(Self(match spec {
            ArbiterSpec::Fixed => State::Fixed,
            ArbiterSpec::RoundRobin => State::RoundRobin { next: 0 },
            ArbiterSpec::LeastRecent => {
                // Row i holds the contenders after i in priority. At first these are all with
                // higher numbers.
                let before = (0..contenders).map(|row| {
                    let mut lower = Requests::new(contenders);
                    (row + 1..contenders).for_each(|column| lower.insert(column));
                    lower
                });
                State::LeastRecent { before: before.collect() }
            }
            ArbiterSpec::Weighted(weights) => {
                if weights.len() != contenders {
                    let (given, wanted) = (weights.len(), contenders);
                    return Err(SpecError::new(
                        "weighted",
                        format!("has {given} weights; there are {wanted} contenders"),
                    ));
                }
                if let Some(zero) = weights.iter().position(|weight| *weight == 0) {
                    return Err(SpecError::new(
                        "weighted",
                        format!("weight {zero} is 0; it can be 1 or more"),
                    ));
                }
                State::Weighted { left: weights[0], weights: weights.clone(), holder: 0 }
            }
        }))
    }

    /// The contender that would be granted now. Nothing changes.
    pub fn choose(&self, requests: &Requests) -> Option<usize> {
        match &self.0 {
            State::Fixed => requests.first_from(0),
            State::RoundRobin { next } => requests.first_around(*next),
            State::LeastRecent { before } => requests.iter().find(|&one| {
                let rows = before[one].words.iter().zip(&requests.words).enumerate();
                // True if all other requesters come after this one.
                rows.fold(0, |others, (word, (behind, asking))| {
                    let own = if one / 64 == word { 1u64 << (one % 64) } else { 0 };
                    others | (asking & !behind & !own)
                }) == 0
            }),
            State::Weighted { holder, left, .. } => match left {
                0 => requests.first_around(holder + 1),
                _ => requests.first_around(*holder),
            },
        }
    }

    /// Records that this contender has been granted.
    pub fn granted(&mut self, contender: usize) {
        match &mut self.0 {
            State::Fixed => {}
            State::RoundRobin { next } => *next = contender + 1,
            State::LeastRecent { before } => {
                before[contender].clear();
                for (row, behind) in before.iter_mut().enumerate() {
                    if row != contender {
                        behind.insert(contender);
                    }
                }
            }
            State::Weighted { weights, holder, left } => {
                if *holder != contender || *left == 0 {
                    (*holder, *left) = (contender, weights[contender]);
                }
                *left -= 1;
            }
        }
    }

    /// Grants one of the requesters.
    pub fn grant(&mut self, requests: &Requests) -> Option<usize> {
        let chosen = self.choose(requests)?;
        self.granted(chosen);
        Some(chosen)
    }
}

#[cfg(test)]
mod tests;
