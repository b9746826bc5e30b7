//! `crc`: its calls are operations on a constant table.

use std::sync::Arc;

use wireloom_offloads::{Config, Instance};

use super::kind::{Call, KindOnTiles, Placed, Unsupported};
use crate::lower::Lower;
use crate::memory::Memory;
use crate::words::Words;

#[derive(Debug)]
pub struct Crc;

impl KindOnTiles for Crc {
    fn name(&self) -> &'static str {
        "crc"
    }

    fn place(
        &self,
        _: &Config,
        _: &dyn Instance,
        _: &mut Memory,
    ) -> Result<Arc<dyn Placed>, String> {
        Ok(Arc::new(Self))
    }
}

impl Placed for Crc {
    fn call(&self, _: &mut Lower<'_>, _: &Call<'_>) -> Result<Option<Words>, Unsupported> {
        Err(Unsupported)
    }
}
