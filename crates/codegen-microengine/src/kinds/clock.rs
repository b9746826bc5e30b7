//! `clock`: the arrival time of the packet, from the frame.

use wireloom_codegen::refused::Refused;

use crate::calls::{Call, Methods};
use crate::frame::ARRIVAL;
use crate::kind::KindOnMicroengines;
use crate::words::{self, Words};

pub struct Clock;

impl KindOnMicroengines for Clock {
    fn name(&self) -> &'static str {
        "clock"
    }

    fn keeps_registers(&self, method: &str) -> bool {
        method == "now"
    }
}

impl Methods for Clock {
    fn call(&self, call: &mut Call<'_, '_>) -> Result<Option<Words>, Refused> {
        match call.method {
            "now" => Ok(Some(words::of(&call.lower.load(ARRIVAL, 2)))),
            _ => Err(call.unsupported()),
        }
    }
}
