//! Executes the packets up to the traced one, on golden and on another machine.

use std::collections::BTreeMap;

use wireloom_compile::names::Names;
use wireloom_console::traced::Subject;
use wireloom_ir::{Execute, Golden, Output, Program};
use wireloom_machine::trace::{Trace, trace};
use wireloom_machine::{Outputs, Running, Settled, UpdateError};
use wireloom_net::{Frame, Packet};
use wireloom_offloads::Update;

use crate::failure::Outcome;

/// Golden, and another machine if one was requested. Golden executes the packets that the machine
/// accepted, in the machine's order.
pub struct Executed<'a> {
    program: &'a Program,
    names: &'a Names,
    golden: Golden,
    machine: Option<Running>,
    /// The number of the traced packet.
    number: u64,
    most_steps: u64,
    /// Packets that the machine has not settled, by number.
    open: BTreeMap<u64, Packet>,
    given: u64,
    subject: Option<Packet>,
    /// The machine's outputs for the traced packet.
    left: Outputs,
    is_lost: bool,
    lost_outputs: Vec<usize>,
    traced: Option<(Trace, Outputs)>,
}

impl<'a> Executed<'a> {
    /// Starts with machines that have executed nothing.
    pub fn new(
        program: &'a Program,
        names: &'a Names,
        golden: Golden,
        machine: Option<Running>,
        number: u64,
        most_steps: u64,
    ) -> Self {
        Self {
            program,
            names,
            golden,
            machine,
            number,
            most_steps,
            open: BTreeMap::new(),
            given: 0,
            subject: None,
            left: Outputs::default(),
            is_lost: false,
            lost_outputs: Vec::new(),
            traced: None,
        }
    }

    pub fn machine(&self) -> Option<&Running> {
        self.machine.as_ref()
    }

    /// Offers the next frames.
    ///
    /// # Errors
    /// If the machine fails.
    pub fn offer(&mut self, frames: &[Frame<'_>]) -> Outcome {
        let first = self.given;
        self.given += frames.len() as u64;
        if let Some(frame) = self.number.checked_sub(first).and_then(|at| frames.get(at as usize)) {
            self.subject = Some(frame.to_packet());
        }
        let Some(machine) = &mut self.machine else {
            (first..).zip(frames).for_each(|(number, frame)| self.execute(number, *frame));
            return Ok(());
        };
        let settled = machine.offer(frames, &mut keep(self.number, &mut self.left))?;
        self.open.extend((first..).zip(frames.iter().map(Frame::to_packet)));
        self.settle(&settled);
        Ok(())
    }

    /// Updates an entry on both machines between two packets.
    ///
    /// # Errors
    /// As [`wireloom_machine::Machine::update`].
    pub fn update(&mut self, update: &Update) -> Result<(), UpdateError> {
        if let Some(machine) = &mut self.machine {
            let settled = machine.update(update, &mut keep(self.number, &mut self.left))?;
            self.settle(&settled);
        }
        let made = update.apply(self.golden.store_mut());
        made.map(drop).map_err(|refused| UpdateError::Refused(refused.0))
    }

    /// Lets the machine finish its packets.
    ///
    /// # Errors
    /// If the machine fails.
    pub fn finish(&mut self) -> Outcome {
        if let Some(machine) = &mut self.machine {
            let settled = machine.finish(&mut keep(self.number, &mut self.left))?;
            self.settle(&settled);
        }
        // For a packet that the machine lost, golden shows the path that it would have taken.
        if let (None, Some(packet)) = (&self.traced, self.subject.clone()) {
            self.execute(self.number, packet.frame());
        }
        Ok(())
    }

    /// Lets golden execute settled packets, except lost ones.
    fn settle(&mut self, settled: &Settled) {
        for number in settled.lost.iter() {
            self.is_lost |= number == self.number;
            self.open.remove(&number);
        }
        let own = settled.lost_outputs.iter().filter(|lost| lost.packet == self.number);
        self.lost_outputs.extend(own.map(|lost| lost.output));
        for number in settled.taken.iter() {
            if let Some(packet) = self.open.remove(&number) {
                self.execute(number, packet.frame());
            }
        }
    }

    fn execute(&mut self, number: u64, frame: Frame<'_>) {
        if number == self.number {
            let (program, names) = (self.program, self.names);
            self.traced = Some(trace(program, names, &mut self.golden, frame, self.most_steps));
        } else {
            self.golden.offer(&[frame], &mut |_| ());
        }
    }

    /// Returns the results for the traced packet; `None` if it was never offered.
    pub fn subject(self) -> Option<Subject<'a>> {
        Some(Subject {
            program: self.program,
            packet: self.subject?,
            traced: self.traced?,
            machine: self.machine.map(|machine| (machine, self.left)),
            is_lost: self.is_lost,
            lost_outputs: self.lost_outputs,
        })
    }
}

/// Keeps the outputs of one packet.
fn keep(number: u64, left: &mut Outputs) -> impl FnMut(Output<'_>) {
    move |output| {
        if output.sequence == number {
            left.keep(output);
        }
    }
}
