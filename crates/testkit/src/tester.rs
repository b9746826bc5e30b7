//! Packet tests on a machine.

use wireloom_ir::{self as ir, Output, Reason, Verdict};
use wireloom_machine::{Compared, Machine, Outputs, Settled, Sink, Wanted, missing_port_text};

use crate::mismatch::{Mismatch, packet_fields};
use crate::packet_file::{Action, ActionKind, Expected, RUNAWAY, reason_is};
use crate::state::Entry;

/// A machine, and the reasons of its program.
pub struct Tester {
    machine: Box<dyn Machine>,
    reasons: Vec<ir::ReasonSet>,
}

impl Tester {
    /// Creates a tester. `reasons` belong to the machine's program.
    pub fn new(machine: Box<dyn Machine>, reasons: Vec<ir::ReasonSet>) -> Self {
        Self { machine, reasons }
    }

    /// Executes the actions of a file in order. Returns the failed ones, each with the difference.
    pub fn failures<'a>(&mut self, actions: &'a [Action]) -> Vec<(&'a Action, Mismatch)> {
        let failed = |action: &'a Action| Some((action, self.act(&action.kind).err()?));
        actions.iter().filter_map(failed).collect()
    }

    /// Executes an action of a test, and lets the machine finish after each packet.
    fn act(&mut self, action: &ActionKind) -> Result<(), Mismatch> {
        match action {
            ActionKind::Send(packet, expected) => {
                let outputs =
                    self.outputs(|machine, sink| machine.offer(&[packet.frame()], sink))?;
                self.compare(expected, &outputs, "of this packet")
            }
            ActionKind::Advance(time_ns, expected) => {
                let outputs = self.outputs(|machine, sink| machine.advance_to(*time_ns, sink))?;
                self.compare(expected, &outputs, "of timers up to this time")
            }
            ActionKind::Table { now_ns, offload, key, fields } => {
                let read = self.machine.read_back(Wanted::Only(offload), &|_| ());
                read.map_err(|error| error.message)?;
                Entry::find(self.machine.store(), offload, key, *now_ns)?.compare(fields.as_deref())
            }
        }
    }

    /// Lets the machine work and finish. Returns the outputs.
    fn outputs(
        &mut self,
        work: impl FnOnce(&mut dyn Machine, Sink<'_>) -> wireloom_machine::Result<Settled>,
    ) -> Result<Outputs, String> {
        let mut outputs = Outputs::default();
        let mut sink = |output: Output<'_>| outputs.keep(output);
        let worked = work(self.machine.as_mut(), &mut sink);
        worked.and_then(|_| self.machine.finish(&mut sink)).map_err(|error| error.message)?;
        Ok(outputs)
    }

    /// Compares outputs with the expected ones in order. Reports the first difference.
    fn compare(
        &self,
        expected: &[Expected],
        outputs: &Outputs,
        whose: &str,
    ) -> Result<(), Mismatch> {
        let count = expected.len().max(outputs.len());
        let differs = |&index: &usize| match (expected.get(index), outputs.at(index)) {
            (Some(expected), Some(output)) => !self.is_met(expected, &output),
            _ => true,
        };
        let Some(index) = (0..count).find(differs) else { return Ok(()) };
        let what = match count {
            1 => String::new(),
            _ => {
                let (number, expected, came) = (index + 1, expected.len(), outputs.len());
                format!("output {number} {whose} ({expected} expected, {came} came)")
            }
        };
        let (expected, output) = (expected.get(index), outputs.at(index));
        let nothing = || "nothing was sent".to_owned();
        let mut fields = vec![Compared {
            field: "verdict".to_owned(),
            expected: expected.map_or_else(nothing, expected_text),
            got: output.map_or_else(nothing, |output| self.verdict_text(output.verdict)),
        }];
        if let (Some(Expected::Sent(_, packet)), Some(output)) = (expected, output)
            && !self.has_no_port(output.verdict)
        {
            fields.extend(packet_fields(packet, &output));
        }
        Err(Mismatch { what, fields })
    }

    fn is_met(&self, expected: &Expected, output: &Output<'_>) -> bool {
        match (expected, output.verdict) {
            (_, verdict) if self.has_no_port(verdict) => false,
            (Expected::Sent(port, packet), Verdict::Sent { port: got }) => {
                *port == got && packet.bytes == output.bytes
            }
            (Expected::Cpu(wanted), Verdict::ToCpu(reason))
            | (Expected::Dropped(wanted), Verdict::Dropped(reason)) => match self.named(reason) {
                Some((set, name)) => reason_is(wanted, set, name),
                None => wanted == RUNAWAY,
            },
            _ => false,
        }
    }

    /// Whether the machine dropped a packet since it lacks the port.
    fn has_no_port(&self, verdict: Verdict) -> bool {
        matches!(verdict, Verdict::Sent { port } if !self.machine.has_port(port))
    }

    /// Returns the set and the name of a reason of the program.
    fn named(&self, reason: Reason) -> Option<(&str, &str)> {
        let Reason::Program(set, value) = reason else { return None };
        let set = &self.reasons[set.index()];
        let member = set.members.iter().find(|(number, _)| *number == u64::from(value));
        Some((&set.name, member.map_or("", |(_, name)| name)))
    }

    fn verdict_text(&self, verdict: Verdict) -> String {
        let reason = |reason| self.named(reason).map_or(RUNAWAY, |(_, name)| name);
        match verdict {
            Verdict::Sent { port } if self.has_no_port(verdict) => missing_port_text(port),
            Verdict::Sent { port } => format!("sent to port {port}"),
            Verdict::ToCpu(why) => format!("to the cpu: {}", reason(why)),
            Verdict::Dropped(why) => format!("dropped: {}", reason(why)),
        }
    }
}

fn expected_text(expected: &Expected) -> String {
    match expected {
        Expected::Sent(port, _) => format!("sent to port {port}"),
        Expected::Cpu(reason) => format!("to the cpu: {reason}"),
        Expected::Dropped(reason) => format!("dropped: {reason}"),
    }
}
