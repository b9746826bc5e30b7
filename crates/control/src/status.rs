//! The counters of a forwarder, and the result of a reload.

use serde::{Deserialize, Serialize};
use wireloom_console::{VerdictCounts, output, thousands};
use wireloom_live::PortCounters;
use wireloom_live::conditions::Found;

/// The state of a forwarder, counted from its start.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Status {
    /// The file of the program.
    pub program: String,
    /// The engine that takes the packets.
    pub engine: String,
    /// Seconds since packets could first arrive.
    pub seconds: f64,
    /// How often program and tables were replaced.
    pub reloads: u64,
    /// The ports, in the order of their numbers.
    pub ports: Vec<PortCounters>,
    /// Packets that the program sent to ports that do not exist.
    pub without_port: u64,
    /// The verdict counts.
    #[serde(flatten)]
    pub fates: VerdictCounts,
    /// Packets that were not handed to the kernel because they exceeded the limit of their reason.
    pub policed: Vec<Policed>,
    /// How often packets began the program's steps, if the machine counts that.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub steps: Vec<Stepped>,
    pub offloads: Vec<Offload>,
    /// The state taken over from the kernel; absent with `--static`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kernel: Option<Kernel>,
    /// Kernel features that are in use and that forwarding ignores; absent if the program does not
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
    /// Bytes in use.
    pub used: u64,
    /// The limit in bytes.
    pub limit: u64,
}

/// Packets above the limit of a reason.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Policed {
    pub reason: String,
    pub packets: u64,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Offload {
    /// The path of the offload.
    pub name: String,
    pub kind: String,
    /// The number of entries, for kinds that count them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub entries: Option<u64>,
    /// The called methods, if the machine counts calls.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub calls: Vec<Called>,
}

/// A step of the program.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Stepped {
    pub step: String,
    /// How often a packet began the step.
    pub packets: u64,
}

/// A method of an offload.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Called {
    pub method: String,
    pub calls: u64,
    /// How often a search found an entry, or returned a value other than the miss value. `None` if
    /// the method does not search.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub found: Option<u64>,
}

/// The state taken over from the kernel.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub struct Kernel {
    /// Prefixes in the followed routing tables.
    pub routes: u64,
    /// Neighbours to which packets can be sent.
    pub neighbours: u64,
    /// Table rows that were changed, including the rows at the start.
    pub updates: u64,
    /// Rows that differed without a notification. Must stay 0.
    pub repairs: u64,
    /// How often the whole kernel state was read.
    pub reads: u64,
    /// How often the kernel lost notifications.
    pub overruns: u64,
    /// Reads that failed.
    pub failures: u64,
    /// Routes without room in the memory. The kernel forwards their packets.
    #[serde(default)]
    pub unheld: u64,
}

/// The result of a reload.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Reloaded {
    /// The file of the program.
    pub program: String,
    /// The engine that takes the packets.
    pub engine: String,
    /// Offloads that keep the state that packets made.
    pub kept: Vec<String>,
    /// Entries of kept offloads that were changed because the table files changed.
    pub changed_entries: u64,
    /// Entries that kept offloads refused, each with the reason.
    pub refused: Vec<String>,
    /// Offloads that were read anew from table files and from the kernel.
    pub read: Vec<String>,
    /// Offloads whose former state is gone, each with the reason.
    pub lost: Vec<String>,
    /// Settings that have changed and take effect only at the next start.
    pub needs_restart: Vec<String>,
    /// Seconds to compile the program and to read the tables. Packets flow meanwhile.
    pub build_seconds: f64,
    /// Microseconds that packets waited for the exchange.
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

    /// Formats the counts of steps and offloads for people. Empty if the machine does not count
    /// them.
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
    /// Formats the memory for people, as a line.
    pub fn text(&self) -> String {
        let mebibytes = |bytes: u64| thousands(bytes.div_ceil(1 << 20));
        format!("memory: {} of {} MiB\n", mebibytes(self.used), mebibytes(self.limit))
    }
}

impl Kernel {
    /// Formats the number of routes without room as a line for people. Empty if all routes had
    /// room.
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

    /// Adds the counters of an earlier mirror. Sizes stay.
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
