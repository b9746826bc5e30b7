//! Derives what follows from conditions that are true.
//!
//! If a conjunction is 1, both its sides are 1. If it is 0 and one side is 1, the other side is 0.
//! The same holds for disjunctions with 0 and 1 exchanged. Open cases are tried: if a side leads to
//! a contradiction when it is 1, it is 0. This proves that the last exit of a step, which is taken
//! if no other is, is taken only if every condition on its path in the source is true.

use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};

use super::super::Definitions;
use super::terms::{Form, Terms};

/// Maximum number of open conjunctions and disjunctions that are tried.
const MOST_TRIALS: usize = 100;

/// The most terms that are known while open cases are tried. Each trial begins with a copy of
/// them.
const MOST_KNOWN_IN_TRIALS: usize = 500;

/// The most terms that are derived. Further implications stay unknown.
const MOST_KNOWN: usize = 4096;

/// Everything that follows from conditions that are true. If they contradict each other, any result
/// is possible.
pub struct Holds<'a, T: Terms = Definitions<'a>> {
    terms: &'a T,
    known: BTreeMap<T::Term, bool>,
    /// Conjunctions that are 0 and disjunctions that are 1, neither side of which is known: the two
    /// sides, and that bit.
    open: Vec<(T::Term, T::Term, bool)>,
    /// Cached results for other terms. The cache is cleared when more becomes known.
    found: RefCell<HashMap<T::Term, Option<bool>>>,
    /// Whether the conditions contradict each other.
    is_contradictory: bool,
}

// A derived implementation would need terms that can be cloned.
impl<T: Terms> Clone for Holds<'_, T> {
    fn clone(&self) -> Self {
        Self {
            terms: self.terms,
            known: self.known.clone(),
            open: self.open.clone(),
            found: self.found.clone(),
            is_contradictory: self.is_contradictory,
        }
    }
}

impl<'a, T: Terms> Holds<'a, T> {
    /// Derives what follows if one-bit terms have the given bits.
    pub fn new(terms: &'a T, said: impl IntoIterator<Item = (T::Term, bool)>) -> Self {
        let mut holds = Self {
            terms,
            known: BTreeMap::new(),
            open: Vec::new(),
            found: RefCell::default(),
            is_contradictory: false,
        };
        holds.extend(said);
        holds
    }

    /// Returns whether the conditions certainly cannot all be true.
    pub fn is_contradictory(&self) -> bool {
        self.is_contradictory
    }

    /// Adds that a one-bit term has a bit, and what follows without trials. Returns whether that
    /// is possible.
    pub fn assume(&mut self, term: T::Term, bit: bool) -> bool {
        self.add(vec![(term, bit)])
    }

    /// Returns whether a one-bit term certainly has a bit: that follows, or the other bit is
    /// impossible.
    pub fn must(&self, term: T::Term, bit: bool) -> bool {
        self.bit(term).map_or_else(|| !self.clone().assume(term, !bit), |known| known == bit)
    }

    /// Tries each of these one-bit terms by contradiction: a term whose one bit is impossible has
    /// the other. Repeats that until nothing more becomes known.
    pub fn probe(&mut self, values: &[T::Term]) {
        let mut is_stable = false;
        while !is_stable && !self.is_contradictory {
            is_stable = true;
            for value in values {
                if self.bit(*value).is_some() {
                    continue;
                }
                let is_possible = |bit| self.clone().assume(*value, bit);
                if let Some(bit) = [false, true].into_iter().find(|bit| !is_possible(*bit)) {
                    self.assume(*value, !bit);
                    is_stable = false;
                }
            }
        }
    }

    /// Adds that one-bit terms have the given bits, and derives what follows.
    pub fn extend(&mut self, said: impl IntoIterator<Item = (T::Term, bool)>) {
        let holds = self;
        if !holds.add(said.into_iter().collect()) {
            return;
        }
        let mut at = 0;
        while holds.open.len() <= MOST_TRIALS
            && holds.known.len() <= MOST_KNOWN_IN_TRIALS
            && let Some(&(a, b, bit)) = holds.open.get(at)
        {
            let sides = [a, b].into_iter().find(|side| !holds.clone().add(vec![(*side, !bit)]));
            match sides {
                // The new knowledge may decide earlier trials.
                Some(side) if holds.add(vec![(side, bit)]) => at = 0,
                Some(_) => return,
                None => at += 1,
            }
        }
    }

    /// Returns the terms that the conditions determine, with their bits.
    pub fn iter(&self) -> impl Iterator<Item = (T::Term, bool)> + '_ {
        self.known.iter().map(|(value, bit)| (*value, *bit))
    }

    /// Returns the bit of a one-bit term, if it follows.
    pub fn bit(&self, term: T::Term) -> Option<bool> {
        self.bit_at(term, T::DEPTH)
    }

    /// Returns the bit of a one-bit term, if it follows, looking at operands to this depth.
    pub fn bit_at(&self, term: T::Term, depth: u32) -> Option<bool> {
        if let Some(bit) = self.known.get(&term) {
            return Some(*bit);
        }
        if let Some(bit) = self.found.borrow().get(&term) {
            return *bit;
        }
        let bit = self.computed_bit(term, depth.checked_sub(1)?);
        self.found.borrow_mut().insert(term, bit);
        bit
    }

    fn computed_bit(&self, term: T::Term, depth: u32) -> Option<bool> {
        match self.terms.form(term) {
            Form::Constant(bit) => Some(bit),
            Form::Not(x) => self.bit_at(x, depth).map(|bit| !bit),
            Form::And(a, b) => self.joined(a, b, false, depth),
            Form::Or(a, b) => self.joined(a, b, true, depth),
            Form::Other => self.terms.decide(self, term, depth),
        }
    }

    /// Returns the bit of a conjunction or disjunction. `strong` is the bit of a side that alone
    /// decides.
    fn joined(&self, a: T::Term, b: T::Term, strong: bool, depth: u32) -> Option<bool> {
        match (self.bit_at(a, depth), self.bit_at(b, depth)) {
            (Some(bit), _) | (_, Some(bit)) if bit == strong => Some(strong),
            (Some(_), Some(_)) => Some(!strong),
            _ => None,
        }
    }

    /// Adds facts, and derives what follows without trials. Returns `false` if that contradicts
    /// known facts.
    fn add(&mut self, said: Vec<(T::Term, bool)>) -> bool {
        self.is_contradictory |= !self.derive(said);
        !self.is_contradictory
    }

    fn derive(&mut self, mut said: Vec<(T::Term, bool)>) -> bool {
        loop {
            while let Some((value, bit)) = said.pop() {
                if self.known.len() >= MOST_KNOWN {
                    return true;
                }
                match self.bit(value) {
                    Some(known) if known != bit => return false,
                    _ if self.known.insert(value, bit).is_some() => continue,
                    _ => self.found.borrow_mut().clear(),
                }
                match (self.terms.form(value), bit) {
                    (Form::Not(x), _) => said.push((x, !bit)),
                    (Form::And(a, b), true) | (Form::Or(a, b), false) => {
                        said.extend([(a, bit), (b, bit)]);
                    }
                    (Form::And(a, b) | Form::Or(a, b), _) if self.open.len() < T::MOST_OPEN => {
                        self.open.push((a, b, bit));
                    }
                    _ => {}
                }
            }
            let open = std::mem::take(&mut self.open);
            for (a, b, bit) in open {
                match (self.bit(a), self.bit(b)) {
                    (Some(x), Some(y)) if x != bit && y != bit => return false,
                    (Some(x), None) if x != bit => said.push((b, bit)),
                    (None, Some(y)) if y != bit => said.push((a, bit)),
                    (None, None) => self.open.push((a, b, bit)),
                    _ => {}
                }
            }
            if said.is_empty() {
                return true;
            }
        }
    }
}
