//! Table updates during a run, read from a file.

use std::collections::VecDeque;
use std::path::PathBuf;

use clap::{Args, ValueHint};
use wireloom_machine::UpdateError;
use wireloom_net::tables::UpdateFile;
use wireloom_offloads::{Update, resolve_updates};

use crate::failure::{Failure, Outcome};
use wireloom_console::{Places, load_store};
use wireloom_machine::Program;

/// The option that names the file.
#[derive(Args, Debug)]
pub struct UpdatesArgs {
    /// Apply the table updates of a file, each before the packet that it names. A network processor
    /// applies them while packets flow under `run`; under `verify` all machines apply them between
    /// two packets
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    updates: Option<PathBuf>,
}

/// Pending updates, in order.
#[derive(Default)]
pub struct Updates {
    file: Option<UpdateFile>,
    waiting: VecDeque<Update>,
}

/// A piece of a batch.
pub enum Part<'a, T> {
    /// At least one frame.
    Frames(&'a [T]),
    /// An update to apply before the packets that follow it.
    Update(Update),
}

impl UpdatesArgs {
    /// Adds the file to the inputs.
    pub fn places(&self, places: Places) -> Places {
        places.reads(&self.updates)
    }

    /// Reads the file.
    ///
    /// # Errors
    /// If it cannot be read, is malformed, or does not suit the program's offloads.
    pub fn open(&self, program: &Program) -> Outcome<Updates> {
        let Some(path) = &self.updates else { return Ok(Updates::default()) };
        let file = UpdateFile::open(path).map_err(Failure::unusable)?;
        let (mut store, _) = load_store(&program.optimised, &[])?;
        let updates = resolve_updates(&mut store, &file).map_err(Failure::unusable)?;
        Ok(Updates { file: Some(file), waiting: updates.into() })
    }
}

impl Updates {
    /// Splits a batch that begins with packet number `first` at the updates that are due. An update
    /// whose packet never arrives is not applied.
    pub fn cut<'a, T>(&mut self, first: u64, mut batch: &'a [T]) -> Vec<Part<'a, T>> {
        let end = first + batch.len() as u64;
        let mut parts = Vec::new();
        let mut next = first;
        while self.waiting.front().is_some_and(|update| update.packet < end) {
            let Some(update) = self.waiting.pop_front() else { break };
            let (before, rest) = batch.split_at((update.packet - next) as usize);
            if !before.is_empty() {
                parts.push(Part::Frames(before));
            }
            (batch, next) = (rest, update.packet);
            parts.push(Part::Update(update));
        }
        if !batch.is_empty() {
            parts.push(Part::Frames(batch));
        }
        parts
    }

    /// Takes all pending updates, for a machine that applies them itself.
    pub fn take(&mut self) -> Vec<Update> {
        self.waiting.drain(..).collect()
    }

    /// Returns the failure of an update.
    pub fn failure(&self, update: &Update, why: UpdateError) -> Failure {
        match (why, &self.file) {
            (UpdateError::Refused(what), Some(file)) => {
                Failure::unusable(file.error(update.line, what))
            }
            (UpdateError::Refused(what), None) => Failure::unusable(what),
            (UpdateError::Failed(error), _) => error.into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use wireloom_offloads::EntryKey;

    use super::*;

    fn cuts(updates: &mut Updates, first: u64, count: usize) -> Vec<String> {
        let batch = vec![(); count];
        let parts = updates.cut(first, &batch);
        let said = parts.iter().map(|part| match part {
            Part::Frames(packets) => packets.len().to_string(),
            Part::Update(update) => format!("@{}", update.packet),
        });
        said.collect()
    }

    #[test]
    fn batches_are_cut_where_updates_are_due() {
        let update = |packet| Update {
            packet,
            offload: "a".into(),
            key: EntryKey::Index(0),
            value: None,
            line: 1,
        };
        let mut updates = Updates { file: None, waiting: [0, 3, 3, 10, 14].map(update).into() };
        assert_eq!(cuts(&mut updates, 0, 10), ["@0", "3", "@3", "@3", "7"]);
        assert_eq!(cuts(&mut updates, 10, 4), ["@10", "4"]);
        // Packet 14 has not arrived.
        assert_eq!(cuts(&mut updates, 14, 0), Vec::<String>::new());
        assert_eq!(updates.take().len(), 1);
    }
}
