//! What a forwarder counts, and what it did at a reload.

use serde::{Deserialize, Serialize};
use wireloom_console::{Fates, output, thousands};
use wireloom_live::PortCounters;
use wireloom_live::conditions::Found;

/// The state of a forwarder, counted from its start.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Status {
    /// The file of the program.
    pub program: String,
    /// The engine that takes the packets.
    pub engine: String,
    /// From the first packet that could arrive until now.
    pub seconds: f64,
    /// How often program and tables were replaced.
    pub reloads: u64,
    /// The ports, in the order of their numbers.
    pub ports: Vec<PortCounters>,
    /// Packets that the program sent to ports that there are not.
    pub without_port: u64,
    /// What became of packets.
    #[serde(flatten)]
    pub fates: Fates,
    /// Packets that were not handed to the kernel, since there were more than the limit allows.
    pub policed: Vec<Policed>,
    /// How often packets began the program's steps, if the machine counts that.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub steps: Vec<Stepped>,
    /// The program's offloads.
    pub offloads: Vec<Offload>,
    /// What was taken over from the kernel; absent with `--static`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kernel: Option<Kernel>,
    /// Kernel features that forwarding ignores and that are in use; absent if the program does not
    /// follow the kernel.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unfollowed: Option<Vec<Found>>,
    /// The memory of the process; absent without a limit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory: Option<Memory>,
}

/// Memory, in bytes.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Memory {
    /// What is in use.
    pub used: u64,
    /// What may be.
    pub limit: u64,
}

/// Packets above the limit of a reason.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Policed {
    /// The name of the reason.
    pub reason: String,
    /// How many.
    pub packets: u64,
}

/// An offload.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Offload {
    /// Its path.
    pub name: String,
    /// Its kind.
    pub kind: String,
    /// Its entries, for kinds that have some and count them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub entries: Option<u64>,
    /// Its methods that were called, if the machine counts calls.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub calls: Vec<Called>,
}

/// A step of the program.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Stepped {
    /// Its name.
    pub step: String,
    /// How often a packet began it.
    pub packets: u64,
}

/// A method of an offload.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Called {
    /// Its name.
    pub method: String,
    /// How often it was called.
    pub calls: u64,
    /// How often it found an entry, or something else than the miss value, if it searches.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub found: Option<u64>,
}

/// What was taken over from the kernel.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub struct Kernel {
    /// Prefixes of its routing tables that are followed.
    pub routes: u64,
    /// Its neighbours that can be sent to.
    pub neighbours: u64,
    /// Rows of tables that were changed, those at the start included.
    pub updates: u64,
    /// Rows that differed without a notification. Must stay 0.
    pub repairs: u64,
    /// How often everything was read.
    pub reads: u64,
    /// How often the kernel lost notifications.
    pub overruns: u64,
    /// Reads that failed.
    pub failures: u64,
    /// Routes for which there is no room in the memory: the kernel forwards their packets.
    #[serde(default)]
    pub unheld: u64,
}

/// What a reload did.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Reloaded {
    /// The file of the program.
    pub program: String,
    /// The engine that takes the packets.
    pub engine: String,
    /// Offloads that keep the state that packets made.
    pub kept: Vec<String>,
    /// Entries of kept offloads that were changed since the table files changed.
    pub changed_entries: u64,
    /// Entries that kept offloads refused, each with the reason.
    pub refused: Vec<String>,
    /// Offloads that were read anew from table files and from the kernel.
    pub read: Vec<String>,
    /// Offloads whose former state is gone, each with the reason.
    pub lost: Vec<String>,
    /// Settings that changed and take effect at the next start only.
    pub needs_restart: Vec<String>,
    /// How long it took to compile the program and to read the tables; packets flowed meanwhile.
    pub build_seconds: f64,
    /// How long packets waited for the exchange.
    pub swap_microseconds: f64,
}

impl Status {
    /// Formats the state for people.
    pub fn text(&self) -> String {
        let heads = ["port", "by", "received", "sent", "lost in", "lost out", "lost to kernel"];
        let mut table = output::table(&heads, &[2, 3, 4, 5, 6]);
        for (number, port) in self.ports.iter().enumerate() {
            let counts = [
                port.received_packets,
                port.sent_packets,
                port.lost_at_input,
                port.lost_at_output,
                port.lost_to_kernel,
            ];
            let name = format!("{number} {}", port.name);
            let by = port.exchange.words().to_owned();
            table.add_row([name, by].into_iter().chain(counts.map(thousands)));
        }
        let mut text = format!("after {:.1} s\n{table}\n\n{}", self.seconds, self.fates.text());
        for Policed { reason, packets } in &self.policed {
            text += &format!("policed: {reason}: {}\n", thousands(*packets));
        }
        for port in self.ports.iter().filter(|port| port.not_forwarded > 0) {
            let packets = thousands(port.not_forwarded);
            text += &format!("not forwarded from {}: {packets}\n", port.name);
        }
        if self.without_port > 0 {
            text += &format!("to ports that there are not: {}\n", thousands(self.without_port));
        }
        if let Some(kernel) = &self.kernel {
            text += &format!(
                "kernel: {} routes, {} neighbours; rows updated: {}, repaired: {}; reads of \
                 everything: {}, failed: {}; overruns: {}\n",
                thousands(kernel.routes),
                thousands(kernel.neighbours),
                thousands(kernel.updates),
                thousands(kernel.repairs),
                thousands(kernel.reads),
                thousands(kernel.failures),
                thousands(kernel.overruns)
            );
            text += &kernel.unheld_text();
        }
        for found in self.unfollowed.iter().flatten() {
            text += &format!("not followed: {}\n", found.text());
        }
        if let Some(memory) = &self.memory {
            text += &memory.text();
        }
        text
    }

    /// Formats for people what packets did in the program; empty if the machine does not count it.
    pub fn program_text(&self) -> String {
        let mut text = String::new();
        if !self.steps.is_empty() {
            let mut table = output::table(&["step", "packets"], &[1]);
            for Stepped { step, packets } in &self.steps {
                table.add_row([step.clone(), thousands(*packets)]);
            }
            text += &format!("\n{table}\n");
        }
        if self.offloads.iter().any(|offload| !offload.calls.is_empty()) {
            let heads = ["offload", "method", "calls", "found", "not found"];
            let mut table = output::table(&heads, &[2, 3, 4]);
            for offload in &self.offloads {
                for Called { method, calls, found } in &offload.calls {
                    let missed = found.map(|found| calls.saturating_sub(found));
                    let number = |number: Option<u64>| number.map(thousands).unwrap_or_default();
                    let name = format!("{} ({})", offload.name, offload.kind);
                    let numbers = [thousands(*calls), number(*found), number(missed)];
                    table.add_row([name, method.clone()].into_iter().chain(numbers));
                }
            }
            text += &format!("\n{table}\n");
        }
        text
    }
}

impl Reloaded {
    /// Formats the report for people.
    pub fn text(&self) -> String {
        let mut text = format!(
            "reloaded {} (engine {}): built in {:.1} s, exchanged in {:.0} us\n",
            self.program, self.engine, self.build_seconds, self.swap_microseconds
        );
        let mut list = |what: &str, names: &[String]| {
            if !names.is_empty() {
                text += &format!("{what}: {}\n", names.join(", "));
            }
        };
        list("kept, with the state of packets", &self.kept);
        list("read anew", &self.read);
        list("state lost", &self.lost);
        list("entries refused", &self.refused);
        list("changed, but only used after a restart", &self.needs_restart);
        if self.changed_entries > 0 {
            let count = thousands(self.changed_entries);
            text += &format!("entries of kept tables changed: {count}\n");
        }
        text
    }
}

impl Memory {
    /// Formats it for people, as a line.
    pub fn text(&self) -> String {
        let mebibytes = |bytes: u64| thousands(bytes.div_ceil(1 << 20));
        format!("memory: {} of {} MiB\n", mebibytes(self.used), mebibytes(self.limit))
    }
}

impl Kernel {
    /// Says for people, in a line, which routes had no room; empty if all had.
    pub fn unheld_text(&self) -> String {
        match self.unheld {
            0 => String::new(),
            routes => format!(
                "no room for {} routes, which the kernel forwards, with the routes around them: \
                 raise --memory\n",
                thousands(routes)
            ),
        }
    }

    /// Adds what a former mirror did; sizes stay.
    pub(crate) fn after(self, before: Self) -> Self {
        Self {
            updates: self.updates + before.updates,
            repairs: self.repairs + before.repairs,
            reads: self.reads + before.reads,
            overruns: self.overruns + before.overruns,
            failures: self.failures + before.failures,
            ..self
        }
    }
}
