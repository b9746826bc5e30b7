//! `crc`: its calls are operations on a constant table.

use wireloom_codegen::refused::Refused;

use crate::calls::{Call, Methods};
use crate::kind::KindOnMicroengines;
use crate::words::Words;

pub struct Crc;

impl KindOnMicroengines for Crc {
    fn name(&self) -> &'static str {
        "crc"
    }
}

impl Methods for Crc {
    fn call(&self, call: &mut Call<'_, '_>) -> Result<Option<Words>, Refused> {
        Err(call.unsupported())
    }
}
