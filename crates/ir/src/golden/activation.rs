//! Storage for the values of a thread.

use wireloom_bits::Bits;

use super::decode::{DecodedEngine, Place};
use super::narrow::NARROW;

/// The values of a thread: first the context, then the values of each step.
#[derive(Clone)]
pub(super) struct Activation {
    /// Width of the value at each place in bits.
    widths: Vec<u32>,
    /// The values of at most [`NARROW`] bits.
    narrow: Vec<u128>,
    /// The wider values, at the same places. Entries at other places are unused.
    wide: Vec<Bits>,
    /// Number of places of the context.
    context: usize,
    /// Arguments of the current call. The vector is reused, so that calls do not allocate.
    pub args: Vec<Bits>,
}

impl Activation {
    pub(super) fn new(engine: &DecodedEngine) -> Self {
        let initial = &engine.initial;
        Self {
            widths: initial.iter().map(Bits::width).collect(),
            narrow: initial.iter().map(|v| v.to_u128().unwrap_or(0)).collect(),
            wide: initial
                .iter()
                .map(|v| if v.width() > NARROW { v.clone() } else { Bits::zero(1) })
                .collect(),
            context: engine.context,
            args: Vec::new(),
        }
    }

    /// Clears the context for a new thread.
    pub(super) fn begin(&mut self) {
        self.narrow[..self.context].fill(0);
        for place in 0..self.context {
            if self.widths[place] > NARROW {
                self.wide[place] = Bits::zero(self.widths[place]);
            }
        }
    }

    pub(super) fn width(&self, place: Place) -> u32 {
        self.widths[place]
    }

    /// Returns a value of at most [`NARROW`] bits.
    pub(super) fn narrow(&self, place: Place) -> u128 {
        self.narrow[place]
    }

    /// Sets a value of at most [`NARROW`] bits. `value` must fit.
    pub(super) fn set_narrow(&mut self, place: Place, value: u128) {
        self.narrow[place] = value;
    }

    /// Returns bits `lo .. lo + width` of the value at a place.
    pub(super) fn slice(&self, place: Place, lo: u32, width: u32) -> Bits {
        if self.widths[place] <= NARROW {
            self.bits(place).slice(lo, width)
        } else {
            self.wide[place].slice(lo, width)
        }
    }

    pub(super) fn bits(&self, place: Place) -> Bits {
        let width = self.widths[place];
        if width <= NARROW {
            Bits::new(width, self.narrow[place])
        } else {
            self.wide[place].clone()
        }
    }

    pub(super) fn set(&mut self, place: Place, value: Bits) {
        match value.to_u128() {
            Some(narrow) if value.width() <= NARROW => self.narrow[place] = narrow,
            _ => self.wide[place] = value,
        }
    }

    pub(super) fn copy(&mut self, from: Place, to: Place) {
        if self.widths[to] <= NARROW {
            self.narrow[to] = self.narrow[from];
        } else {
            self.wide[to] = self.wide[from].clone();
        }
    }

    /// Whether a one-bit value is 1.
    pub(super) fn is_set(&self, place: Place) -> bool {
        self.narrow[place] != 0
    }

    /// Returns a 16-bit value: an offset, a count, a port or a reason.
    pub(super) fn low16(&self, place: Place) -> u16 {
        self.narrow[place] as u16
    }
}
