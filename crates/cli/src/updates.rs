//! Changes of tables during a run, from a file.

use std::collections::VecDeque;
use std::path::PathBuf;

use clap::{Args, ValueHint};
use wireloom_net::Packet;
use wireloom_net::tables::UpdateFile;
use wireloom_offloads::{Update, resolve_updates};

use crate::failure::{Failure, Outcome};
use crate::machine::load_store;
use crate::program::Program;

/// The option that names the file.
#[derive(Args, Debug)]
pub struct UpdatesArgs {
    /// Change tables on the way: a file of updates, which says before which packets. A network processor that is run makes them
    /// while packets flow; under `verify` all machines make them between two packets
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    updates: Option<PathBuf>,
}

/// Updates that were not made yet, in order.
#[derive(Default)]
pub struct Updates {
    file: Option<UpdateFile>,
    waiting: VecDeque<Update>,
}

/// A part of a batch.
pub enum Part<'a> {
    /// Packets, one at least.
    Packets(&'a [Packet]),
    /// An update that is made before the packets behind it.
    Update(Update),
}

impl UpdatesArgs {
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
    /// A batch that begins with packet number `first`, cut where updates are due. An update whose packet never comes is not made.
    pub fn cut<'a>(&mut self, first: u64, mut batch: &'a [Packet]) -> Vec<Part<'a>> {
        let end = first + batch.len() as u64;
        let mut parts = Vec::new();
        let mut next = first;
        while self.waiting.front().is_some_and(|update| update.packet < end) {
            let Some(update) = self.waiting.pop_front() else { break };
            let (before, rest) = batch.split_at((update.packet - next) as usize);
            if !before.is_empty() {
                parts.push(Part::Packets(before));
            }
            (batch, next) = (rest, update.packet);
            parts.push(Part::Update(update));
        }
        if !batch.is_empty() {
            parts.push(Part::Packets(batch));
        }
        parts
    }

    /// Takes all that are left, for a machine that makes them itself.
    pub fn take(&mut self) -> Vec<Update> {
        self.waiting.drain(..).collect()
    }

    /// The failure of an update.
    pub fn failure(&self, line: u64, what: impl Into<String>) -> Failure {
        let what = what.into();
        match &self.file {
            Some(file) => Failure::unusable(file.error(line, what)),
            None => Failure::unusable(what),
        }
    }
}

#[cfg(test)]
mod tests {
    use wireloom_offloads::EntryKey;

    use super::*;

    fn cuts(updates: &mut Updates, first: u64, count: usize) -> Vec<String> {
        let batch = vec![Packet::default(); count];
        let parts = updates.cut(first, &batch);
        let said = parts.iter().map(|part| match part {
            Part::Packets(packets) => packets.len().to_string(),
            Part::Update(update) => format!("@{}", update.packet),
        });
        said.collect()
    }

    #[test]
    fn batches_are_cut_where_updates_are_due() {
        let update =
            |packet| Update { packet, offload: "a".into(), key: EntryKey::Index(0), value: None, line: 1 };
        let mut updates = Updates { file: None, waiting: [0, 3, 3, 10, 14].map(update).into() };
        assert_eq!(cuts(&mut updates, 0, 10), ["@0", "3", "@3", "@3", "7"]);
        assert_eq!(cuts(&mut updates, 10, 4), ["@10", "4"]);
        // Packet 14 never came.
        assert_eq!(cuts(&mut updates, 14, 0), Vec::<String>::new());
        assert_eq!(updates.take().len(), 1);
    }
}
