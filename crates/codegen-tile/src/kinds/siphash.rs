//! `siphash`: its secrets are elements in memory. A call reads one; operations compute the hash.

use std::sync::Arc;

use wireloom_offloads::{Config, Instance};

use super::elements::Elements;
use super::kind::{Call, KindOnTiles, Placed, Unsupported};
use crate::lower::Lower;
use crate::memory::Memory;
use crate::words::{self, Words};

pub struct SipHash;

/// The bits of a secret.
const WIDTH: u32 = 128;

impl KindOnTiles for SipHash {
    fn name(&self) -> &'static str {
        "siphash"
    }

    fn place(
        &self,
        config: &Config,
        instance: &dyn Instance,
        memory: &mut Memory,
    ) -> Result<Arc<dyn Placed>, String> {
        Ok(Arc::new(Secrets(Elements::place(WIDTH, config, instance, memory)?)))
    }
}

#[derive(Debug)]
struct Secrets(Elements);

impl Placed for Secrets {
    fn call(&self, lower: &mut Lower<'_>, call: &Call<'_>) -> Result<Option<Words>, Unsupported> {
        if call.method.name != "of" {
            return Err(Unsupported);
        }
        let Elements { base, stride, size } = self.0;
        let index = lower.word(call.args[0]);
        Ok(Some(lower.element(base, stride, size, index, words::count(WIDTH))))
    }
}
