//! A machine under packet tests.

use std::fmt::Write;

use wireloom_bits::Bits;
use wireloom_ir::{self as ir, Reason, Verdict};
use wireloom_machine::{Machine, Wanted};
use wireloom_net::Packet;
use wireloom_offloads::{Content, EntryKey, Layout};

use crate::packet_file::{Action, ActionKind, Expected};

/// A machine and its expected outputs.
pub struct Tester {
    machine: Box<dyn Machine>,
    reasons: Vec<ir::ReasonSet>,
}

impl Tester {
    /// Creates a tester of a machine with a program that has these reasons.
    pub fn new(machine: Box<dyn Machine>, reasons: Vec<ir::ReasonSet>) -> Self {
        Self { machine, reasons }
    }

    /// Executes the actions of a file, in order, and returns those that failed, with the difference.
    pub fn failures<'a>(&mut self, actions: &'a [Action]) -> Vec<(&'a Action, String)> {
        let failed = |action: &'a Action| Some((action, self.act(&action.kind).err()?));
        actions.iter().filter_map(failed).collect()
    }

    /// Executes an action of a test, and lets the machine finish after each packet.
    ///
    /// # Errors
    /// If the outputs differ, with what was expected and what came.
    pub fn act(&mut self, action: &ActionKind) -> Result<(), String> {
        match action {
            ActionKind::Send(packet, expected) => {
                let got = self.send(packet)?;
                if got == *expected { Ok(()) } else { Err(difference(expected, &got)) }
            }
            ActionKind::Table { offload, key, fields } => self.look(offload, key, fields),
        }
    }

    fn send(&mut self, packet: &Packet) -> Result<Vec<Expected>, String> {
        let (mut got, reasons) = (Vec::new(), &self.reasons);
        let mut sink = |output: ir::Output<'_>| {
            got.push(match output.verdict {
                Verdict::Sent { port } => Expected::Sent(port, output.bytes.to_vec()),
                Verdict::ToCpu(reason) => Expected::Cpu(reason_name(reason, reasons)),
                Verdict::Dropped(reason) => Expected::Dropped(reason_name(reason, reasons)),
            });
        };
        let worked = self.machine.offer(&[packet.frame()], &mut sink);
        worked.and_then(|_| self.machine.finish(&mut sink)).map_err(|error| error.message)?;
        Ok(got)
    }

    fn look(
        &mut self,
        offload: &str,
        key: &[(String, u128)],
        fields: &[(String, u128)],
    ) -> Result<(), String> {
        self.machine.read_back(Wanted::All, &|_| ()).map_err(|error| error.message)?;
        let store = self.machine.store();
        let slot = store.find(offload).ok_or(format!("there is no offload `{offload}`"))?;
        let Content::Kind { config, instance } = &slot.content else {
            return Err(format!("`{offload}` is an engine"));
        };
        let key = match &config.key {
            Some(layout) => EntryKey::Exact(packed(layout, key)?),
            None => EntryKey::Index(key[0].1 as u64),
        };
        let rows = instance.rows();
        let row = rows.iter().find(|row| row.key == key).ok_or_else(|| {
            let there: Vec<_> = rows.iter().map(|row| format!("{:?}", row.key)).collect();
            format!("{offload} has no entry {key:?}; there are:\n{}", there.join("\n"))
        })?;
        for (name, wanted) in fields {
            let got =
                row.fields.iter().find(|(n, _)| n == name).and_then(|(_, value)| value.to_u128());
            if got != Some(*wanted) {
                return Err(format!("{name} of {offload} {key:?}: expected {wanted}, got {got:?}"));
            }
        }
        Ok(())
    }
}

/// Packs a key from its fields, all of which must be given.
fn packed(layout: &Layout, fields: &[(String, u128)]) -> Result<Bits, String> {
    let mut bits: Option<Bits> = None;
    for (name, width) in &layout.fields {
        let (_, value) = fields
            .iter()
            .find(|(n, _)| n == name)
            .ok_or(format!("field `{name}` of the key is missing"))?;
        let field = Bits::new(*width, *value);
        bits = Some(bits.map_or(field.clone(), |front| front.concat(&field)));
    }
    bits.ok_or("an empty key".to_owned())
}

fn reason_name(reason: Reason, sets: &[ir::ReasonSet]) -> String {
    match reason {
        Reason::Program(set, value) => sets[set.index()]
            .members
            .iter()
            .find(|(v, _)| *v == u64::from(value))
            .map_or(format!("reason {value}"), |(_, name)| name.clone()),
        Reason::Runaway => "runaway".to_owned(),
    }
}

fn difference(expected: &[Expected], got: &[Expected]) -> String {
    let mut out = String::new();
    for (what, list) in [("expected", expected), ("got", got)] {
        if list.is_empty() {
            let _ = writeln!(out, "  {what} nothing");
        }
        for one in list {
            let _ = match one {
                Expected::Sent(port, bytes) => {
                    writeln!(out, "  {what} on port {port}: {}", hex(bytes))
                }
                Expected::Cpu(reason) => writeln!(out, "  {what} to the cpu: {reason}"),
                Expected::Dropped(reason) => writeln!(out, "  {what} a drop: {reason}"),
            };
        }
    }
    if let ([Expected::Sent(_, a)], [Expected::Sent(_, b)]) = (expected, got) {
        let first = a.iter().zip(b).position(|(x, y)| x != y).unwrap_or(a.len().min(b.len()));
        let _ = writeln!(
            out,
            "  lengths {} and {}, first difference at byte {first}",
            a.len(),
            b.len()
        );
    }
    out
}

/// At most the first 160 bytes, in fours.
fn hex(bytes: &[u8]) -> String {
    let mut out = String::new();
    for word in bytes[..bytes.len().min(160)].chunks(4) {
        for byte in word {
            let _ = write!(out, "{byte:02x}");
        }
        out.push(' ');
    }
    if bytes.len() > 160 {
        out.push_str("...");
    }
    out
}
