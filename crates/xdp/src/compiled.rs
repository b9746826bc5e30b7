//! A program as object files, in one of two forms. In the *joined* form its steps are part of the
//! function that executes them one after the other, which saves a packet some calls. The verifier
//! then proves all steps together, including the state that each step leaves to the next. If that
//! is too much for the verifier, or does not fit the stack, the steps are kept *apart*: as separate
//! functions, each proved alone.

use std::sync::OnceLock;

use wireloom_install::Cache;
use wireloom_machine::{Error, Result};

use crate::compiler::{COMPILER, Form, compile};
use crate::object::Object;
use crate::steps::Steps;

/// The longest source, in bytes, whose steps are joined. Compiler and verifier take too long with
/// more.
const LONGEST_JOINED: usize = 200_000;

/// A program in C.
pub struct Source {
    pub text: String,
    /// The steps of which its functions are made.
    pub steps: Steps,
}

/// A program as object files.
pub struct Compiled {
    source: Source,
    /// The cache of object files.
    cache: Option<Cache>,
    /// The joined form; none if the compiler could not join the steps.
    joined: Option<Object>,
    /// The form with steps apart, once it was needed.
    apart: OnceLock<Object>,
}

impl Compiled {
    /// Compiles C for BPF, joined if possible. Takes object files from the cache if it has them.
    ///
    /// # Errors
    /// If the compiler is missing or fails.
    pub fn new(source: Source, cache: Option<Cache>) -> Result<Self> {
        let joined = (source.text.len() <= LONGEST_JOINED)
            .then(|| {
                compile(&source, Form::Joined, cache.as_ref())
                    .and_then(|object| parsed(&object))
                    .ok()
            })
            .flatten();
        let compiled = Self { source, cache, joined, apart: OnceLock::new() };
        if compiled.joined.is_none() {
            compiled.apart()?;
        }
        Ok(compiled)
    }

    /// Returns the joined program; none if it could not be compiled, or after a call of
    /// [`Self::apart`].
    pub fn joined(&self) -> Option<&Object> {
        self.joined.as_ref().filter(|_| self.apart.get().is_none())
    }

    /// Returns the program with its steps apart.
    ///
    /// # Errors
    /// If the compiler is missing or fails.
    pub fn apart(&self) -> Result<&Object> {
        if let Some(object) = self.apart.get() {
            return Ok(object);
        }
        let object = parsed(&compile(&self.source, Form::Apart, self.cache.as_ref())?)?;
        Ok(self.apart.get_or_init(|| object))
    }

    /// Returns the steps of the program.
    pub fn steps(&self) -> &Steps {
        &self.source.steps
    }

    /// Returns the program in the form that would be loaded next.
    ///
    /// # Errors
    /// If the compiler is missing or fails.
    pub fn next(&self) -> Result<&Object> {
        self.joined().map_or_else(|| self.apart(), Ok)
    }
}

/// Returns the error of an invalid object file.
pub fn broken(why: &str) -> Error {
    Error::new(format!("the object file of {COMPILER}: {why}"))
}

fn parsed(object: &[u8]) -> Result<Object> {
    Object::parse(object).map_err(|why| broken(&why))
}
