//! The golden model as a machine.

use std::sync::Arc;

use wireloom_ir::Golden;

use crate::software::{InSoftware, Single};
use crate::{Configured, Error, MachineKind};

/// The kind `golden`.
pub static KIND: &dyn MachineKind = &GOLDEN;

static GOLDEN: Single = Single {
    name: "golden",
    about: "the interpreter that defines what programs mean",
    refusals: None,
    try_out: None,
    start: |program, store, _, _| {
        Ok(Box::new(InSoftware::new(Golden::new(program.optimised.clone(), store))))
    },
    generate: |_| {
        Err(Error::new("golden interprets programs: there is nothing to build for it").with_help(
            "build --on native writes C; explain --ir shows the step IR that golden runs",
        ))
    },
};

/// The machine `golden`.
pub fn machine() -> Arc<dyn Configured> {
    Arc::new(GOLDEN)
}
