//! Generated traffic.

use wireloom_machine::{Error, Result};
use wireloom_net::traffic::{Generator, Spec};
use wireloom_net::{Frame, Packet};

use crate::{BATCH, Source};

/// Traffic of a specification, the same in every run.
pub struct Generated {
    generator: Generator,
    batch: Vec<Packet>,
}

impl Generated {
    /// Creates the traffic of a specification.
    ///
    /// # Errors
    /// If the specification is refused.
    pub fn new(spec: &Spec) -> Result<Self> {
        let generator = Generator::new(spec).map_err(Error::new)?;
        Ok(Self { generator, batch: Vec::with_capacity(BATCH) })
    }
}

impl Source for Generated {
    fn next_batch(&mut self) -> Result<Vec<Frame<'_>>> {
        self.batch.clear();
        self.batch.extend(self.generator.by_ref().take(BATCH));
        Ok(self.batch.iter().map(Packet::frame).collect())
    }
}
