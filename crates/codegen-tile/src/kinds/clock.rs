//! `clock` returns the arrival time, which is in the frame.

use std::sync::Arc;

use wireloom_offloads::{Config, Instance};

use super::kind::{Call, KindOnTiles, Placed, Unsupported};
use crate::frame;
use crate::lower::Lower;
use crate::memory::Memory;
use crate::words::Words;

#[derive(Debug)]
pub struct Clock;

impl KindOnTiles for Clock {
    fn name(&self) -> &'static str {
        "clock"
    }

    fn place(
        &self,
        _config: &Config,
        _instance: &dyn Instance,
        _memory: &mut Memory,
    ) -> Result<Arc<dyn Placed>, String> {
        Ok(Arc::new(Self))
    }
}

impl Placed for Clock {
    fn call(&self, lower: &mut Lower<'_>, call: &Call<'_>) -> Result<Option<Words>, Unsupported> {
        match call.method.name {
            "now" => Ok(Some(lower.load(frame::ARRIVAL, 2))),
            _ => Err(Unsupported),
        }
    }
}
