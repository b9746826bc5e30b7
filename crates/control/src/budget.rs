//! A memory limit: the fixed need of the process, and the room that remains for kernel routes.

use std::sync::Arc;

use wireloom_console::thousands;
use wireloom_live::{Io, Memory, port_memory};
use wireloom_machine::{Error, Result};

/// The most memory, in bytes, for captures that wait to be written, for clients, for threads, and
/// for an engine that is specialised to its tables.
const SERVICES: u64 = 24 << 20;

/// A memory limit and the need of each part.
pub struct Budget {
    /// The memory of this process.
    pub memory: Arc<Memory>,
    ports: Vec<(String, u64)>,
}

impl Budget {
    /// Reserves the memory of these ports and of the other fixed parts, so that kernel routes
    /// cannot take it.
    ///
    /// # Errors
    /// If a port does not exist, or the engine is in the kernel.
    pub fn new(limit: u64, ports: &[String], io: Io, cores: usize) -> Result<Self> {
        if io == Io::Kernel {
            return Err(Error::new("--memory has no effect with --io kernel")
                .with_help("the tables are the kernel's: limit the memory of its control group"));
        }
        let need = |name: &String| Ok((name.clone(), port_memory(name, io, cores)?));
        let ports = ports.iter().map(need).collect::<Result<Vec<_>>>()?;
        let memory = Arc::new(Memory::limited(limit)?);
        memory.promise(SERVICES + ports.iter().map(|(_, bytes)| bytes).sum::<u64>());
        Ok(Self { memory, ports })
    }

    /// Fails if the ports and the other fixed parts do not fit next to the memory in use.
    ///
    /// # Errors
    /// Lists all parts and their needs.
    pub fn check(&self) -> Result {
        if self.memory.has_room(0) {
            return Ok(());
        }
        let used = self.memory.used();
        let ports = self.ports.iter().map(|(name, bytes)| (format!("port {name}"), *bytes));
        let parts: Vec<(String, u64)> = [("the program and its tables".to_owned(), used)]
            .into_iter()
            .chain(ports)
            .chain([("captures and clients".to_owned(), SERVICES)])
            .collect();
        Err(too_little(self.memory.limit(), &parts))
    }

    /// Opens the ports, and releases the memory that was reserved for them.
    pub fn ports<T>(&self, open: impl FnOnce() -> T) -> T {
        let opened = self.memory.apart(open);
        self.memory.promise(SERVICES);
        opened
    }
}

fn too_little(limit: u64, parts: &[(String, u64)]) -> Error {
    let mebibytes = |bytes: u64| bytes.div_ceil(1 << 20);
    let all: u64 = parts.iter().map(|(_, bytes)| mebibytes(*bytes)).sum();
    let texts: Vec<_> = parts
        .iter()
        .map(|(what, bytes)| format!("{what} {}", thousands(mebibytes(*bytes))))
        .collect();
    let limit = thousands(mebibytes(limit));
    Error::new(format!(
        "--memory: {limit} MiB are too few: {} are needed, in MiB: {}",
        thousands(all),
        texts.join(", ")
    ))
    .with_help(format!(
        "give --memory {all}M and what the kernel's routes need, or take fewer --cores, fewer queues of \
         the ports (`ethtool -L`) or smaller tables"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn too_little_memory_is_explained() {
        let parts =
            [("the program".to_owned(), (40 << 20) + 1), ("port eth1".to_owned(), 16 << 20)];
        let error = too_little(48 << 20, &parts);
        assert_eq!(
            error.message,
            "--memory: 48 MiB are too few: 57 are needed, in MiB: the program 41, port eth1 16"
        );
        assert!(error.help.is_some_and(|help| help.contains("--memory 57M ")));
    }

    #[test]
    fn what_is_needed_is_kept_from_others() {
        let budget = Budget::new(64 << 30, &[], Io::Auto, 1).expect("a budget");
        budget.check().expect("room");
        let budget = Budget::new(SERVICES, &[], Io::Auto, 1).expect("a budget");
        assert!(budget.check().expect_err("none").message.contains("captures and clients 24"));
        assert!(Budget::new(1 << 30, &[], Io::Kernel, 1).is_err());
    }
}
