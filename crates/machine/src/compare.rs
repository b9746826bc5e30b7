//! Compares a machine with golden, packet by packet.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde::Serialize;
use wireloom_ir as ir;
use wireloom_ir::{Output, Reason, TIMERS, Verdict};
use wireloom_net::{Frame, Packet, dissect};
use wireloom_offloads::{Store, Update};

use crate::state::differences;
use crate::{
    Configured, Options, Outputs, Program, Result, Running, Settled, UpdateError, Wanted, golden,
};

/// The first difference between a machine and golden.
#[derive(Clone, Debug, Serialize)]
pub struct Difference {
    /// The name of the machine.
    pub machine: String,
    /// The number of the arriving packet, from 0; `None` for the state after the last packet.
    pub sequence: Option<u64>,
    /// The differing fields, each with golden's value and the machine's value.
    pub fields: Vec<Compared>,
    /// The bytes that left golden and the machine. An entry is `None` if that side sent nothing;
    /// both are `None` for the state.
    #[serde(skip)]
    pub bytes: [Option<Vec<u8>>; 2],
}

/// A field's values on golden and on another machine.
#[derive(Clone, Debug, Serialize)]
pub struct Compared {
    pub field: String,
    /// Golden's value.
    pub expected: String,
    /// The machine's value.
    pub got: String,
}

/// A machine under comparison, and a golden machine that executes the packets that the machine has
/// accepted.
pub struct Contender {
    pub machine: Running,
    pub golden: Running,
    /// The number of compared packets, without packets that the machine lost at its input.
    pub compared: u64,
    /// The number of golden's outputs compared so far.
    pub outputs: u64,
    /// The number of golden's outputs that the machine lost at its own outputs. They are not
    /// compared.
    pub lost_outputs: u64,
    /// The first difference, if there is one. Comparison stops there.
    pub difference: Option<Difference>,
    /// Packets that have not settled yet, by number.
    open: BTreeMap<u64, Packet>,
    given: u64,
    left: Outputs,
    expected: Outputs,
    /// Outputs of timers that run before a packet that has not settled yet. Golden runs them
    /// together with that packet.
    ahead: Outputs,
}

impl Contender {
    /// Starts a machine and golden with the same program and the same offload contents.
    ///
    /// # Errors
    /// As [`Configured::start`].
    pub fn new(
        configured: Arc<dyn Configured>,
        program: &Program,
        store: &Store,
        options: &Options,
        progress: &dyn Fn(&str),
    ) -> Result<Self> {
        let start =
            |configured| Running::start(configured, program, store.clone(), options, progress);
        Ok(Self {
            golden: start(golden::machine())?,
            machine: start(configured)?,
            compared: 0,
            outputs: 0,
            lost_outputs: 0,
            difference: None,
            open: BTreeMap::new(),
            given: 0,
            left: Outputs::default(),
            expected: Outputs::default(),
            ahead: Outputs::default(),
        })
    }

    /// Offers these frames to both machines and compares settled packets. `heard` receives golden's
    /// outputs.
    ///
    /// # Errors
    /// If the machine fails.
    pub fn offer(
        &mut self,
        program: &ir::Program,
        frames: &[Frame<'_>],
        heard: &mut dyn FnMut(Output<'_>),
    ) -> Result {
        self.work(
            program,
            heard,
            |machine, left| Ok(machine.offer(frames, &mut |output| left.keep(output))?),
            frames,
        )
        .map_err(failed)
    }

    /// Runs the timers of both machines that are due by a time, in nanoseconds.
    ///
    /// # Errors
    /// If a machine fails.
    pub fn advance_to(
        &mut self,
        program: &ir::Program,
        time_ns: u64,
        heard: &mut dyn FnMut(Output<'_>),
    ) -> Result {
        self.begin();
        let settled = self.machine.advance_to(time_ns, &mut |output| self.left.keep(output))?;
        self.expect(&settled, heard)?;
        let (expected, machine) = (&mut self.expected, &self.machine);
        self.golden.advance_to(time_ns, &mut |output| {
            heard(output);
            expected.keep(machine.shown(output));
        })?;
        self.outputs += self.expected.len() as u64;
        if self.difference.is_none() {
            self.difference =
                first_difference(program, self.machine.name(), &self.expected, &self.left);
        }
        Ok(())
    }

    /// Lets the machine finish, and compares the remaining packets.
    ///
    /// # Errors
    /// If the machine fails.
    pub fn finish(&mut self, program: &ir::Program, heard: &mut dyn FnMut(Output<'_>)) -> Result {
        self.work(
            program,
            heard,
            |machine, left| Ok(machine.finish(&mut |output| left.keep(output))?),
            &[],
        )
        .map_err(failed)?;
        if self.difference.is_none() {
            let (name, nothing) = (self.machine.name(), Outputs::default());
            self.difference = first_difference(program, name, &nothing, &self.ahead);
        }
        Ok(())
    }

    /// Changes an entry in both machines between two packets.
    ///
    /// # Errors
    /// As [`crate::Machine::update`].
    pub fn update(
        &mut self,
        program: &ir::Program,
        update: &Update,
        heard: &mut dyn FnMut(Output<'_>),
    ) -> Result<(), UpdateError> {
        self.work(
            program,
            heard,
            |machine, left| machine.update(update, &mut |output| left.keep(output)),
            &[],
        )?;
        self.golden.update(update, &mut |_| ()).map(|_| ())
    }

    /// Compares the offload contents of a finished machine.
    ///
    /// # Errors
    /// If the machine fails.
    pub fn compare_state(&mut self, progress: &dyn Fn(&str)) -> Result {
        if self.difference.is_some() {
            return Ok(());
        }
        let wanted = Wanted::Like(self.golden.machine.store());
        let unread = self.machine.machine.read_back(wanted, progress)?;
        self.difference = state_difference(&self.golden, &self.machine, &unread);
        Ok(())
    }

    fn work(
        &mut self,
        program: &ir::Program,
        heard: &mut dyn FnMut(Output<'_>),
        work: impl FnOnce(&mut Running, &mut Outputs) -> Result<Settled, UpdateError>,
        frames: &[Frame<'_>],
    ) -> Result<(), UpdateError> {
        self.begin();
        let settled = work(&mut self.machine, &mut self.left)?;
        self.open.extend((self.given..).zip(frames.iter().map(Frame::to_packet)));
        self.given += frames.len() as u64;
        self.expect(&settled, heard)?;
        let is_timer = |output: Output<'_>| output.sequence >= TIMERS;
        let (mut count, expected) = (self.left.len(), self.expected.len());
        while count > expected && self.left.at(count - 1).is_some_and(is_timer) {
            count -= 1;
        }
        self.ahead = self.left.split_off(count);
        if self.difference.is_none() {
            self.difference =
                first_difference(program, self.machine.name(), &self.expected, &self.left);
        }
        Ok(())
    }

    /// Begins a batch of outputs, with those that the machine was ahead of golden.
    fn begin(&mut self) {
        self.left.clear();
        self.ahead.iter().for_each(|output| self.left.keep(output));
        self.ahead.clear();
    }

    /// Makes golden execute the settled packets that were not lost, in the order in which the
    /// machine accepted them.
    fn expect(&mut self, settled: &Settled, heard: &mut dyn FnMut(Output<'_>)) -> Result {
        settled.lost.iter().for_each(|number| {
            self.open.remove(&number);
        });
        let kept: Vec<u64> = settled.taken.iter().collect();
        let taken: Vec<Packet> =
            kept.iter().filter_map(|number| self.open.remove(number)).collect();
        self.expected.clear();
        // Golden numbers the packets that it receives; reports number the packets that arrived.
        let base = self.compared;
        self.compared += kept.len() as u64;
        let machine = &self.machine;
        let (expected, lost_outputs) = (&mut self.expected, &mut self.lost_outputs);
        let lost: BTreeSet<_> =
            settled.lost_outputs.iter().map(|lost| (lost.packet, lost.output, lost.port)).collect();
        // The current packet, and the number of its next output.
        let mut next = (0, 0);
        self.golden.execute(&taken, &mut |output| {
            let is_timer = output.sequence >= TIMERS;
            let sequence =
                if is_timer { output.sequence } else { kept[(output.sequence - base) as usize] };
            heard(output);
            let number = if next.0 == sequence { next.1 } else { 0 };
            next = (sequence, number + 1);
            if let Verdict::Sent { port } = output.verdict
                && lost.contains(&(sequence, number, port))
            {
                *lost_outputs += 1;
                return;
            }
            expected.keep(Output { sequence, ..machine.shown(output) });
        })?;
        self.outputs += self.expected.len() as u64;
        Ok(())
    }
}

/// The error of an operation that updates no entry.
fn failed(error: UpdateError) -> crate::Error {
    match error {
        UpdateError::Failed(error) => error,
        UpdateError::Refused(message) => crate::Error::new(message),
    }
}

/// The first output of a batch in which a machine differs from golden.
pub fn first_difference(
    program: &ir::Program,
    machine: &str,
    golden: &Outputs,
    other: &Outputs,
) -> Option<Difference> {
    let count = golden.len().max(other.len());
    (0..count).find_map(|index| {
        let (expected, got) = (golden.at(index), other.at(index));
        if expected == got {
            return None;
        }
        let sequence = match (&expected, &got) {
            (Some(a), Some(b)) => a.sequence.min(b.sequence),
            (one, two) => one.or(*two).map_or(0, |output| output.sequence),
        };
        // A machine that is already at a later packet lacks this output.
        let expected = expected.filter(|output| output.sequence == sequence);
        let got = got.filter(|output| output.sequence == sequence);
        Some(Difference {
            machine: machine.to_owned(),
            sequence: Some(sequence),
            fields: compare_outputs(program, expected, got),
            bytes: [expected, got].map(|output| Some(output?.bytes.to_vec())),
        })
    })
}

/// Compares two outputs: the verdict, the length and every dissected field. `None` stands for a
/// missing output.
pub fn compare_outputs(
    program: &ir::Program,
    expected: Option<Output<'_>>,
    got: Option<Output<'_>>,
) -> Vec<Compared> {
    let says = |output: &Option<Output<'_>>| {
        output.map_or("nothing was sent".to_owned(), |output| verdict_text(program, output.verdict))
    };
    let mut fields =
        vec![Compared { field: "verdict".into(), expected: says(&expected), got: says(&got) }];
    let (Some(expected), Some(got)) = (expected, got) else { return fields };
    let number = |field: &str, a: u64, b: u64| Compared {
        field: field.into(),
        expected: a.to_string(),
        got: b.to_string(),
    };
    fields.push(number("ingress port", expected.ingress.into(), got.ingress.into()));
    fields.push(number("arrival, ns", expected.arrival_ns, got.arrival_ns));
    fields.push(number("length", expected.bytes.len() as u64, got.bytes.len() as u64));
    fields.extend(dissect::compare(expected.bytes, got.bytes).into_iter().map(Compared::from));
    fields
}

impl From<dissect::Comparison> for Compared {
    fn from(field: dissect::Comparison) -> Self {
        let missing = || "-".to_owned();
        Self {
            field: field.name,
            expected: field.expected.unwrap_or_else(missing),
            got: field.got.unwrap_or_else(missing),
        }
    }
}

impl Compared {
    /// Whether golden and the machine agree.
    pub fn same(&self) -> bool {
        self.expected == self.got
    }

    /// Whether the row is worth showing: it differs, or it is not part of a payload, which may have
    /// thousands of rows.
    pub fn tells(&self) -> bool {
        let is_rest = self.field.starts_with("payload") || self.field.starts_with("padding");
        !self.same() || !is_rest
    }
}

/// Returns the first difference between the offloads of two machines after the same packets.
fn state_difference(golden: &Running, other: &Running, unread: &[String]) -> Option<Difference> {
    let mut found = differences(golden.machine.store(), other.machine.store());
    found.retain(|row| !unread.contains(&row.offload));
    if found.is_empty() {
        return None;
    }
    let text = |fields: Option<String>| fields.unwrap_or_else(|| "no such row".to_owned());
    let fields = found
        .into_iter()
        .map(|row| Compared {
            field: format!("{} {}", row.offload, row.key),
            expected: text(row.expected),
            got: text(row.got),
        })
        .collect();
    let machine = other.name().to_owned();
    Some(Difference { machine, sequence: None, fields, bytes: [None, None] })
}

/// The program's name for a reason, prefixed with its enumeration's name if the program has
/// several.
pub fn reason_name(program: &ir::Program, reason: Reason) -> String {
    let Reason::Program(set, value) = reason else { return "runaway".into() };
    let set = &program.reasons[set.index()];
    let member = set.members.iter().find(|(number, _)| *number == u64::from(value));
    let name = member.map_or_else(|| value.to_string(), |(_, name)| name.clone());
    if program.reasons.len() > 1 { format!("{}.{name}", set.name) } else { name }
}

/// Formats a verdict in words.
pub fn verdict_text(program: &ir::Program, verdict: Verdict) -> String {
    match verdict {
        Verdict::Sent { port } => format!("sent to port {port}"),
        Verdict::ToCpu(reason) => format!("to the cpu: {}", reason_name(program, reason)),
        Verdict::Dropped(reason) => format!("dropped: {}", reason_name(program, reason)),
    }
}

/// Formats what became of a packet that was sent to a port that the machine lacks.
pub fn missing_port_text(port: u16) -> String {
    format!("dropped: the machine has no port {port}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use wireloom_ir::{EngineId, Execute};

    /// A machine that sends each packet to its ingress port, except packet `odd`.
    struct Fake {
        odd: Option<u64>,
        copies: usize,
        spoil: fn(&mut Vec<u8>),
    }

    impl Execute for Fake {
        fn offer(&mut self, frames: &[Frame<'_>], sink: &mut dyn FnMut(Output<'_>)) {
            for (sequence, packet) in (0..).zip(frames) {
                let odd = self.odd == Some(sequence);
                let mut bytes = packet.bytes.to_vec();
                if odd {
                    (self.spoil)(&mut bytes);
                }
                for _ in 0..if odd { self.copies } else { 1 } {
                    let verdict = Verdict::Sent { port: packet.ingress };
                    let (ingress, arrival_ns) = (packet.ingress, packet.arrival_ns);
                    sink(Output { sequence, arrival_ns, ingress, verdict, bytes: &bytes });
                }
            }
        }
    }

    fn difference(copies: usize, spoil: fn(&mut Vec<u8>)) -> Option<Difference> {
        let program = ir::Program {
            files: Vec::new(),
            reasons: Vec::new(),
            engines: Vec::new(),
            main: EngineId(0),
        };
        let packets = vec![Packet { ingress: 3, arrival_ns: 5, bytes: vec![0x45; 60] }; 4];
        let (mut golden, mut other) = (Outputs::default(), Outputs::default());
        Fake { odd: None, copies: 1, spoil }.execute(&packets, &mut |output| golden.keep(output));
        Fake { odd: Some(2), copies, spoil }.execute(&packets, &mut |output| other.keep(output));
        first_difference(&program, "fake", &golden, &other)
    }

    fn differing(difference: &Difference) -> Vec<&str> {
        let rows = difference.fields.iter().filter(|row| row.expected != row.got);
        rows.map(|row| row.field.as_str()).collect()
    }

    #[test]
    fn equal_outputs_do_not_differ() {
        assert!(difference(1, |_| {}).is_none());
    }

    #[test]
    fn a_changed_byte_is_shown_as_the_field_that_it_is_in() {
        let found = difference(1, |bytes| bytes[0] = 0x46).expect("a difference");
        assert_eq!(found.sequence, Some(2));
        assert_eq!(differing(&found), ["ethernet.dst"]);
        let [expected, got] = found.bytes.map(|bytes| bytes.expect("both sent a packet"));
        assert_eq!((expected[0], got[0], &expected[1..]), (0x45, 0x46, &got[1..]));
    }

    #[test]
    fn a_missing_packet_is_told_from_the_next_one() {
        let found = difference(0, |_| {}).expect("a difference");
        assert_eq!(found.sequence, Some(2));
        assert_eq!(
            (found.fields[0].expected.as_str(), found.fields[0].got.as_str()),
            ("sent to port 3", "nothing was sent")
        );
    }

    #[test]
    fn a_packet_too_many_is_a_difference() {
        let found = difference(2, |_| {}).expect("a difference");
        assert_eq!(found.sequence, Some(2));
        assert_eq!(found.fields[0].expected, "nothing was sent");
    }

    #[test]
    fn a_different_length_is_said() {
        let found = difference(1, |bytes| bytes.truncate(59)).expect("a difference");
        assert!(differing(&found).contains(&"length"), "{:?}", differing(&found));
    }
}
