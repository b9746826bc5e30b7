//! Figures of the papers: tables of many numbers, published beside ours.

use serde::Serialize;
use serde_json::Value;

use super::{Settings, np_channels, np_storage};
use crate::failure::Outcome;

/// A figure.
pub struct Figure {
    /// As on the command line.
    pub name: &'static str,
    /// What it shows, in a sentence.
    pub what: &'static str,
    /// Makes it.
    pub make: fn(&Settings) -> Outcome<Drawn>,
}

/// A figure, made.
#[derive(Clone, Debug, Serialize)]
pub struct Drawn {
    /// Tables for people.
    #[serde(skip)]
    pub text: String,
    /// The numbers.
    pub data: Value,
    /// The plot, as SVG.
    #[serde(skip)]
    pub svg: String,
}

/// All of them, in the order in which they are shown.
pub const FIGURES: &[Figure] = &[np_storage::FIGURE, np_channels::FIGURE];
