//! `checksum` adds the bytes of the packet in a routine.

use std::sync::Arc;

use wireloom_offloads::{Config, Instance};

use super::kind::{Call, KindOnTiles, Placed, Unsupported};
use crate::lower::Lower;
use crate::memory::Memory;
use crate::words::Words;

#[derive(Debug)]
pub struct Checksum;

impl KindOnTiles for Checksum {
    fn name(&self) -> &'static str {
        "checksum"
    }

    fn place(
        &self,
        _config: &Config,
        _instance: &dyn Instance,
        _memory: &mut Memory,
    ) -> Result<Arc<dyn Placed>, String> {
        Ok(Arc::new(Self))
    }

    fn routines(&self) -> &'static [&'static str] {
        &[include_str!("checksum.s")]
    }
}

impl Placed for Checksum {
    fn call(&self, lower: &mut Lower<'_>, call: &Call<'_>) -> Result<Option<Words>, Unsupported> {
        if call.method.name != "sum" {
            return Err(Unsupported);
        }
        let arguments: Words = call.args.iter().map(|value| lower.word(*value)).collect();
        Ok(Some(lower.code.call("checksum", &arguments, 1)))
    }
}
