//! Longest-prefix match: a trie walk in QDR SRAM and a table of values, made by [`crate::pipelined`].

use wireloom_offloads::Instance;

use super::NpError;
use super::images::Image;
use super::plan::{Plan, Service};
use crate::sv::Item;

pub(super) fn items(_plan: &Plan, _service: &Service) -> Vec<Item> {
    Vec::new()
}

pub(super) fn targets(_plan: &Plan, _service: &Service) -> Vec<String> {
    Vec::new()
}

pub(super) fn images(
    _plan: &Plan,
    _service: &Service,
    _instance: &dyn Instance,
) -> Result<Vec<Image>, NpError> {
    Ok(Vec::new())
}
