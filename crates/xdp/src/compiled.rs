//! A program as object files, in one of two forms. *Joined*, its steps are part of the function that
//! executes them one after the other, which saves a packet some calls. The verifier then proves all
//! steps together, with what each leaves to the next. If that is too much for it, or does not fit the
//! stack, steps are kept *apart*: functions, each proved alone.

use std::sync::OnceLock;

use wireloom_install::Cache;
use wireloom_machine::{Error, Result};

use crate::compiler::{COMPILER, Form, compile};
use crate::object::Object;
use crate::steps::Steps;

/// The longest source whose steps are joined: compilers and verifier take too long with more.
const LONGEST_JOINED: usize = 200_000;

/// A program in C.
pub struct Source {
    /// The text.
    pub text: String,
    /// The steps that its functions are.
    pub steps: Steps,
}

/// A program as object files.
pub struct Compiled {
    source: Source,
    /// Where object files are kept.
    cache: Option<Cache>,
    /// Unless the compiler could not join it.
    joined: Option<Object>,
    /// Once it was needed.
    apart: OnceLock<Object>,
}

impl Compiled {
    /// Compiles C for BPF: joined, if it can be. What the cache has is taken from there.
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

    /// Returns the joined program, unless it could not be compiled or [`Self::apart`] was asked for.
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

    /// Returns the program in the form in which it would be loaded next.
    ///
    /// # Errors
    /// If the compiler is missing or fails.
    pub fn next(&self) -> Result<&Object> {
        self.joined().map_or_else(|| self.apart(), Ok)
    }
}

/// Returns the error of an object file that is not what it should be.
pub fn broken(why: &str) -> Error {
    Error::new(format!("the object file of {COMPILER}: {why}"))
}

fn parsed(object: &[u8]) -> Result<Object> {
    Object::parse(object).map_err(|why| broken(&why))
}
