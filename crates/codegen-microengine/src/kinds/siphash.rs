//! `siphash`: its secrets are elements in memory. A call reads one; operations compute the hash.

use wireloom_codegen::refused::Refused;
use wireloom_isa::microengine::Version;
use wireloom_offloads::{Config, Instance};

use super::indexed::Indexed;
use crate::calls::{Call, Methods};
use crate::kind::{KindOnMicroengines, Wanted};
use crate::unit::{Region, Unit};
use crate::words::Words;

pub struct SipHash;

const SECRETS: Indexed = Indexed { words: 4, width: 128 };

impl KindOnMicroengines for SipHash {
    fn name(&self) -> &'static str {
        "siphash"
    }

    fn wanted(
        &self,
        config: &Config,
        _: &mut dyn Instance,
        _: u32,
    ) -> Result<Option<Wanted>, String> {
        SECRETS.wanted(config, &[Unit::Sram, Unit::Sdram])
    }

    fn scratchpad_words(&self, config: &Config, _: Version) -> Option<u64> {
        SECRETS.all(config)
    }

    fn image(
        &self,
        _: &Config,
        instance: &mut dyn Instance,
        region: Region,
        _: u64,
    ) -> Result<Vec<u32>, String> {
        Ok(SECRETS.image(instance, region, |_| {}))
    }

    fn keeps_registers(&self, _: &str) -> bool {
        true
    }
}

impl Methods for SipHash {
    fn call(&self, call: &mut Call<'_, '_>) -> Result<Option<Words>, Refused> {
        match call.method {
            "of" => Ok(Some(SECRETS.read(call))),
            _ => Err(call.unsupported()),
        }
    }
}
