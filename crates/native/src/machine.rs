//! The machine kind `native`.

use wireloom_codegen_c::generate;
use wireloom_machine::software::{InSoftware, Single, Software};
use wireloom_machine::{Counts, Error, MachineKind};
use wireloom_offloads::Store;

use crate::{BuildOptions, Library, Native};

/// The kind `native`.
pub static KIND: &dyn MachineKind = &NATIVE;

static NATIVE: Single = Single {
    name: "native",
    about: "C, compiled by the system's compiler and run on one core of this computer",
    refusals: None,
    try_out: None,
    start: |program, store, options, progress| {
        progress("compiling C");
        let build = BuildOptions { is_short: options.is_short, ..BuildOptions::default() };
        let build = if options.keeps_code { build.cached() } else { build };
        let library = Library::build(&program.optimised, &build).map_err(Error::new)?;
        Ok(Box::new(InSoftware::new(Native::new(library, store))))
    },
    generate: |program| Ok(generate(&program.optimised).files),
};

impl Software for Native {
    fn store(&self) -> &Store {
        self.store()
    }

    fn store_mut(&mut self) -> &mut Store {
        self.store_mut()
    }

    fn counts(&self) -> Option<Counts> {
        self.counts()
    }
}
