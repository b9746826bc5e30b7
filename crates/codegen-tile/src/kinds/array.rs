//! `array` reads and writes elements in memory.

use std::sync::Arc;

use wireloom_offloads::{Config, Instance, Layout};

use super::elements::Elements;
use super::kind::{Call, KindOnTiles, Placed, Unsupported};
use super::lanes;
use crate::code::{Operand, Register};
use crate::lower::Lower;
use crate::memory::{Memory, value_at};
use crate::words::{self, Words};

pub struct Array;

impl KindOnTiles for Array {
    fn name(&self) -> &'static str {
        "array"
    }

    fn place(
        &self,
        config: &Config,
        instance: &dyn Instance,
        memory: &mut Memory,
    ) -> Result<Arc<dyn Placed>, String> {
        Ok(Arc::new(PlacedArray(Elements::place(width(config), config, instance, memory)?)))
    }
}

#[derive(Debug)]
struct PlacedArray(Elements);

impl Placed for PlacedArray {
    fn call(&self, lower: &mut Lower<'_>, call: &Call<'_>) -> Result<Option<Words>, Unsupported> {
        let Elements { base, stride, size } = self.0;
        let (width, args) = (width(call.config), call.args);
        let count = words::count(width);
        let index = lower.word(args[0]);
        if call.method.name == "read" {
            return Ok(Some(lower.element(base, stride, size, index, count)));
        }
        let change = Change::of(call.method.name).ok_or(Unsupported)?;
        let values: Vec<Words> = args[1..].iter().map(|value| lower.get(*value)).collect();
        let reply = match change {
            Change::Write | Change::Add { has_reply: false } => 0,
            Change::Add { has_reply: true } | Change::Exchange => width,
            Change::CompareSwap => width + 1,
        };
        let words = lower.or_zero(words::count(reply), |lower, done| {
            let at = lower.inside(base, stride, size, index, done)?;
            let before: Words = match change {
                Change::Write => Words::new(),
                _ => (0..count).map(|word| lower.code.load(at, 4 * word as i32).into()).collect(),
            };
            match change {
                Change::Write | Change::Exchange => put(lower, at, &values[0]),
                Change::Add { .. } => {
                    let fields = call.config.value.as_ref().map_or(&[][..], |value| &value.fields);
                    let after = lanes::add(lower, &before, &values[0], width, fields);
                    put(lower, at, &after);
                }
                Change::CompareSwap => {
                    let same = lower.code.is_equal(&before, &values[0]);
                    let choose =
                        |(new, old): (&Operand, &Operand)| lower.code.choose(same, *new, *old);
                    let after: Words = values[1].iter().zip(&before).map(choose).collect();
                    put(lower, at, &after);
                    return Some(lower.code.concat(&[(vec![same], 1), (before, width)]));
                }
            }
            Some(before)
        });
        Ok((reply > 0).then_some(words))
    }

    fn read_back(
        &self,
        config: &Config,
        instance: &mut dyn Instance,
        word: &mut dyn FnMut(u32) -> u32,
    ) {
        let width = width(config);
        self.0.read_back(instance, |at| value_at(at, width, word));
    }
}

/// A method that changes an element.
#[derive(Clone, Copy)]
enum Change {
    Write,
    Add { has_reply: bool },
    Exchange,
    CompareSwap,
}

impl Change {
    fn of(method: &str) -> Option<Self> {
        Some(match method {
            "write" => Self::Write,
            "add" => Self::Add { has_reply: false },
            "fetch_add" => Self::Add { has_reply: true },
            "exchange" => Self::Exchange,
            "compare_swap" => Self::CompareSwap,
            _ => return None,
        })
    }
}

/// Returns the bits of an element.
fn width(config: &Config) -> u32 {
    config.value.as_ref().map_or(1, Layout::width)
}

fn put(lower: &mut Lower<'_>, at: Register, words: &[Operand]) {
    for (place, word) in words.iter().enumerate() {
        lower.code.store(*word, at, 4 * place as i32);
    }
}
