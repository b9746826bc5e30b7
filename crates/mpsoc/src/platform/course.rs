//! The course of one packet: where it was at which time, and the messages that its thread sent and
//! received.

use wireloom_sim::Time;
use wireloom_sim::parts::network::Node;

use super::super::call::{Call, Target};
use super::super::context::Wait;
use super::super::noc_payload::{Line, Request, Which};
use super::super::objects::Objects;
use super::super::processor::Sent;
use super::super::workload::Workload;
use super::Platform;

/// The maximum number of events that are kept: far more than anyone reads.
const MOST_EVENTS: usize = 100_000;

/// The recorder of the course of one packet.
#[derive(Clone, Debug)]
pub(crate) struct Course {
    /// The number of the packet among all offered packets.
    offered: u64,
    /// The number of the packet among all packets that were taken.
    taken: Option<u64>,
    /// The place of the packet in packet memory.
    place: Option<u32>,
    /// The thread that holds the packet, and its instruction count at the last event.
    thread: Option<u32>,
    instructions: u64,
    events: Vec<CourseEvent>,
    omitted: u64,
}

/// An event on the course of a packet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CourseEvent {
    pub at: Time,
    /// The component of the platform.
    pub place: String,
    pub what: String,
}

impl Course {
    pub(crate) fn new(offered: u64) -> Self {
        Self {
            offered,
            taken: None,
            place: None,
            thread: None,
            instructions: 0,
            events: Vec::new(),
            omitted: 0,
        }
    }

    /// Returns the events by time, and the number of further events that were not kept.
    pub(crate) fn events(&self) -> (Vec<CourseEvent>, u64) {
        let mut events = self.events.clone();
        // Processors run ahead of the platform, so events are recorded out of order.
        events.sort_by_key(|event| event.at);
        (events, self.omitted)
    }

    fn note(&mut self, at: Time, place: impl Into<String>, what: impl Into<String>) {
        if self.events.len() == MOST_EVENTS {
            self.omitted += 1;
            return;
        }
        self.events.push(CourseEvent { at, place: place.into(), what: what.into() });
    }

    /// The number of instructions that the packet's thread has executed since the last event.
    fn since(&mut self, instructions: u64) -> String {
        let count = instructions - self.instructions;
        self.instructions = instructions;
        match count {
            1 => "after 1 instruction".to_owned(),
            count => format!("after {count} instructions"),
        }
    }
}

const PACKET_IO: &str = "packet I/O";
const BROKER: &str = "broker";

/// The platform's calls of the recorder. They have no effect on the simulation.
impl<W: Workload, O: Objects> Platform<W, O> {
    /// Records the course of a packet. Its number is its position among all offered packets.
    pub(in super::super) fn follow(&mut self, offered: u64) {
        self.course = Some(Course::new(offered));
    }

    /// Returns the recorder if it follows the packet at this place in packet memory.
    fn course_at(&mut self, place: u32) -> Option<&mut Course> {
        self.course.as_mut().filter(|course| course.place == Some(place))
    }

    /// Returns the recorder if the thread holds the followed packet.
    fn course_of(&mut self, thread: u32) -> Option<&mut Course> {
        self.course.as_mut().filter(|course| course.thread == Some(thread))
    }

    fn object_name(&self, object: u32) -> String {
        self.elements[object as usize].name().to_owned()
    }

    /// Records that packet I/O has taken a packet from the line, and has it in packet memory at
    /// `stored`.
    pub(super) fn tell_taken(&mut self, place: u32, now: Time, stored: Time) {
        let Some(course) = &mut self.course else { return };
        let (offered, taken) = self.io.numbers(place);
        if offered == course.offered {
            (course.place, course.taken) = (Some(place), Some(taken));
            course.note(now, PACKET_IO, "taken from the line");
            course.note(stored, PACKET_IO, "stored in packet memory");
        }
    }

    pub(super) fn tell_broker(&mut self, place: u32, now: Time, what: &str) {
        if let Some(course) = self.course_at(place) {
            course.note(now, BROKER, what);
        }
    }

    /// Records that the broker has found a thread.
    pub(super) fn tell_matched(&mut self, place: u32, thread: u32, at: Time) {
        if self.course_at(place).is_none() {
            return;
        }
        let name = self.thread_name(thread);
        self.tell_broker(place, at, &format!("sent to {name}"));
    }

    /// Records that the packet is at its thread, with the number of instructions that the thread
    /// has executed before.
    pub(super) fn tell_begun(&mut self, place: u32, thread: u32, now: Time) {
        if self.course_at(place).is_none() {
            return;
        }
        let instructions = self.instructions_of(thread);
        let name = self.thread_name(thread);
        if let Some(course) = self.course_at(place) {
            (course.thread, course.instructions) = (Some(thread), instructions);
            course.note(now, name, "has the packet");
        }
    }

    fn instructions_of(&self, thread: u32) -> u64 {
        let processor = &self.processors[(thread / self.threads) as usize];
        processor.context(thread % self.threads).spent.instructions
    }

    /// Records that a thread sends a message.
    pub(super) fn tell_sent(&mut self, sent: &Sent) {
        if self.course_of(sent.thread).is_none() {
            return;
        }
        let (what, is_last) = match &sent.request {
            Request::Call(Call { target, .. }) => (self.call_text(*target), false),
            Request::Probe | Request::Access => ("asks shared memory".to_owned(), false),
            Request::Line(line) => (format!("misses {}", line_text(line)), false),
            Request::Forward(forward) => {
                (format!("hands over to part {}", forward.contents.part), true)
            }
            Request::Finish(finish) if finish.is_kept() => ("sends a copy".to_owned(), false),
            Request::Finish(_) => ("is done with it".to_owned(), true),
            Request::Idle(_) | Request::Release(_) | Request::Answer { .. } => return,
        };
        let name = self.thread_name(sent.thread);
        if let Some(course) = self.course_of(sent.thread) {
            let since = course.since(sent.instructions);
            course.note(sent.at, name, format!("{what}, {since}"));
            if is_last {
                course.thread = None;
            }
        }
    }

    fn call_text(&self, target: Target) -> String {
        match target {
            Target::Object { object, .. } => format!("calls {}", self.object_name(object)),
            Target::Service { service, .. } => format!("calls {service}"),
            Target::ThreadManager { .. } => "calls the thread manager".to_owned(),
            Target::Console { .. } => "prints".to_owned(),
        }
    }

    /// Records an event of a call of the packet's thread at an object.
    pub(super) fn tell_object(&mut self, number: u32, at: Time, what: &str) {
        if self.course.is_none() {
            return;
        }
        let Some(&Call { target: Target::Object { object, .. }, caller, .. }) =
            self.calls.get(number as usize)
        else {
            return;
        };
        let name = self.object_name(object);
        let packet = caller.map(|caller| caller.number);
        if let Some(course) =
            self.course.as_mut().filter(|course| packet.is_some() && course.taken == packet)
        {
            course.note(at, name, what);
        }
    }

    /// Records that a message for the packet's thread has arrived.
    pub(super) fn tell_arrived(&mut self, thread: u32, from: Node, now: Time, what: &str) {
        if self.course_of(thread).is_none() {
            return;
        }
        let first = self.object_node(0).0;
        let from = match from.0.checked_sub(first) {
            Some(object) if (object as usize) < self.elements.len() => self.object_name(object),
            _ if from == self.memory_node() => "shared memory".to_owned(),
            _ if from == self.broker_node() => BROKER.to_owned(),
            _ => "another processor".to_owned(),
        };
        let name = self.thread_name(thread);
        if let Some(course) = self.course_of(thread) {
            course.note(now, name, format!("{what} from {from}"));
        }
    }

    /// Records that a cache line has arrived at a processor.
    pub(super) fn tell_filled(&mut self, processor: u32, line: &Line, now: Time) {
        let Some(thread) = self.course.as_ref().and_then(|course| course.thread) else { return };
        if thread / self.threads != processor {
            return;
        }
        let wait = self.processors[processor as usize].context(thread % self.threads).wait;
        let waits = match line.cache {
            Which::Instruction => Wait::Fetch,
            Which::Data => Wait::Data,
        };
        if wait == waits {
            let name = self.thread_name(thread);
            if let Some(course) = self.course_of(thread) {
                course.note(now, name, format!("{} arrives", line_text(line)));
            }
        }
    }

    /// Records that an output of the packet has arrived at packet I/O.
    pub(super) fn tell_finished(&mut self, place: u32, now: Time, is_last: bool) {
        if let Some(course) = self.course_at(place) {
            let what = if is_last { "waits for its turn to leave" } else { "has a copy" };
            course.note(now, PACKET_IO, what);
            if is_last {
                // The next packet at this place is another one.
                course.place = None;
            }
        }
    }

    pub(in super::super) fn course(&self) -> Option<&Course> {
        self.course.as_ref()
    }
}

fn line_text(line: &Line) -> String {
    let what = match line.cache {
        Which::Instruction => "instructions",
        Which::Data => "data",
    };
    format!("cache line 0x{:08x} of {what}", line.address)
}
