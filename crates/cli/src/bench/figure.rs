//! Figures of the papers: tables of many numbers, published beside ours.

use serde::Serialize;
use serde_json::Value;

use super::{
    Settings, np_arbitration, np_area, np_channels, np_million, np_rig, np_search, np_storage, np_threads,
    np_throughput, np_virtual,
};
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
pub const FIGURES: &[Figure] = &[
    np_storage::FIGURE,
    np_channels::FIGURE,
    np_throughput::FIGURE_9,
    np_throughput::FIGURE_10,
    np_area::FIGURE_11,
    np_area::FIGURE_12,
    np_threads::FIGURE,
    np_arbitration::FIGURE,
    np_search::FIGURE,
    np_million::FIGURE,
    np_rig::FIGURE,
    np_virtual::FIGURE,
];
