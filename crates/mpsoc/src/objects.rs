//! Hardware elements that serve calls, such as the search engine.

use std::collections::BTreeMap;
use std::ops::Range;

use smallvec::SmallVec;
use wireloom_net::PacketInHand;
use wireloom_sim::stats::{Histogram, Record};
use wireloom_sim::{SpecError, Time};

use super::element::ObjectSpec;
use super::energy::Unit;

/// The words of a message; most messages have few.
pub type Words = SmallVec<[u32; 8]>;

/// The function of the objects that serve calls. Their timing is in their specifications.
pub trait Objects {
    /// The interfaces of the objects, by object number.
    fn interfaces(&self) -> &[ObjectInterface];

    /// Executes a call. Returns as many words as the method's interface states.
    fn call(&mut self, call: Called<'_>) -> Words;

    /// The bytes of the caller's packet that a call works on: the object fetches them. The packet
    /// has `length` bytes after the call.
    fn extent(
        &self,
        _object: usize,
        _method: usize,
        _arguments: &[u32],
        _length: usize,
    ) -> Range<usize> {
        0..0
    }

    /// The services that objects serve; the broker gives calls to them.
    fn servers(&self) -> &[Server] {
        &[]
    }
}

/// A service that hardware serves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Server {
    /// The number of the service in the application.
    pub service: u32,
    /// The numbers of the objects that implement the service's methods.
    pub objects: Range<usize>,
    /// The number of calls that the hardware can hold. It offers itself to the broker that many
    /// times.
    pub places: u32,
}

/// The interface of an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObjectInterface {
    pub name: String,
    /// The kind of the object, such as `lpm`.
    pub kind: String,
    /// Whether the object must see packets in the order of their arrival.
    pub is_ordered: bool,
    /// The methods, by method number.
    pub methods: Vec<MethodInterface>,
    /// The timing, if it differs from the machine file's timing for the name or kind.
    pub times: Option<ObjectSpec>,
    /// The hardware of the object, for the account of energy.
    pub unit: Unit,
}

/// The words of a method's arguments and reply. Each value has its own words, the lowest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MethodInterface {
    /// The number of words in the arguments, 0 to 17.
    pub argument_words: u32,
    /// The number of words in the reply, 0 to 32; a call without a reply is one-way.
    pub reply_words: u32,
    /// How the method uses the bytes of the caller's packet.
    pub packet: PacketUse,
}

/// How a method uses the bytes of the caller's packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PacketUse {
    /// The method does not use the bytes: the packet stays with the thread.
    #[default]
    Nothing,
    /// The method reads the bytes: they go with the call.
    Reads,
    /// The method may change the bytes: they go with the call, and come back with the reply, which
    /// is mandatory.
    Writes,
}

/// A call.
#[derive(Debug)]
pub struct Called<'a> {
    /// The number of the object.
    pub object: usize,
    /// The number of the method in the object.
    pub method: usize,
    pub arguments: &'a [u32],
    /// The caller's packet.
    pub packet: Option<CallersPacket>,
    /// The whole packet, if the method works on its bytes.
    pub hand: Option<&'a mut PacketInHand>,
}

/// The packet of a calling thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CallersPacket {
    /// The number of the packet among all that the machine has taken.
    pub number: u64,
    /// The arrival time in nanoseconds.
    pub arrival_ns: u64,
}

/// An empty set of objects.
#[derive(Clone, Copy, Debug)]
pub struct NoObjects;

impl Objects for NoObjects {
    fn interfaces(&self) -> &[ObjectInterface] {
        &[]
    }

    fn call(&mut self, _: Called<'_>) -> Words {
        Words::new()
    }
}

/// The timing of an object.
#[derive(Clone, Debug)]
pub(super) struct Element {
    name: String,
    spec: ObjectSpec,
    /// The time at which each port can begin the next call.
    ports: Vec<Time>,
    /// The start time of the statistics on port use.
    since: Time,
    busy: Time,
    latency: Histogram,
    /// The number of calls of each method, and of packet bytes that they worked on, over the whole
    /// run.
    done: Vec<[u64; 2]>,
}

impl Element {
    /// An idle object. `specs` are the timings of a machine.
    pub(super) fn new(
        interface: &ObjectInterface,
        specs: &BTreeMap<String, ObjectSpec>,
    ) -> Result<Self, SpecError> {
        let ObjectInterface { name, kind, times, methods, .. } = interface;
        let found = times.as_ref().or_else(|| ObjectSpec::of(specs, name, kind));
        let object = found.copied().ok_or_else(|| {
            let problem = format!("is missing: the program has an object '{name}' of kind {kind}; say `object.any` for all others");
            SpecError::new(&format!("object.{kind}"), problem)
        })?;
        let ports = vec![Time::ZERO; object.ports as usize];
        Ok(Self {
            name: name.clone(),
            spec: object,
            ports,
            since: Time::ZERO,
            busy: Time::ZERO,
            latency: Histogram::times(),
            done: vec![[0; 2]; methods.len()],
        })
    }

    /// Handles the arrival of a call whose data is complete at `ready`. Returns the time at which
    /// its reply leaves. Calls begin in the order of their arrival.
    pub(super) fn call(&mut self, now: Time, ready: Time) -> Time {
        let port = self.ports.iter_mut().min().expect("an object has a port");
        let begin = ready.max(*port);
        *port = begin + self.spec.interval;
        self.busy += self.spec.interval;
        let done = begin + self.spec.latency;
        self.latency.time(done - now);
        done
    }

    /// Counts a call of a method that works on `bytes` bytes of its packet.
    pub(super) fn count(&mut self, method: usize, bytes: usize) {
        if let Some([calls, all]) = self.done.get_mut(method) {
            (*calls, *all) = (*calls + 1, *all + bytes as u64);
        }
    }

    /// The number of calls of each method, and of packet bytes that they worked on.
    pub(super) fn done(&self) -> &[[u64; 2]] {
        &self.done
    }

    /// The start time of a call whose reply leaves at `done`.
    pub(super) fn begun(&self, done: Time) -> Time {
        Time(done.0 - self.spec.latency.0)
    }

    /// The earliest start of the call after the call whose reply leaves at `done`.
    pub(super) fn begins_next(&self, done: Time) -> Time {
        Time(done.0 - self.spec.latency.0) + self.spec.interval
    }

    /// Resets the statistics.
    pub(super) fn begin_to_count(&mut self, now: Time) {
        (self.since, self.busy, self.latency) = (now, Time::ZERO, Histogram::times());
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// Statistics: `name`, `calls`, `use` of the ports, `latency` from the arrival of a call to the
    /// departure of its reply.
    pub(super) fn record(&self, now: Time) -> Record {
        let time = now.since(self.since).0.max(1) as f64 * self.ports.len() as f64;
        Record::new()
            .with("name", self.name.as_str())
            .with("calls", self.latency.count())
            .with("use", self.busy.0 as f64 / time)
            .with("latency", &self.latency)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_begin_at_the_rate_of_the_ports_and_take_the_latency() {
        let spec = ObjectSpec { latency: Time(50), interval: Time(10), ports: 2 };
        let mut element = Element {
            name: "routes".to_owned(),
            spec,
            ports: vec![Time::ZERO; 2],
            since: Time::ZERO,
            busy: Time::ZERO,
            latency: Histogram::times(),
            done: vec![[0; 2]],
        };
        let done: Vec<u64> = (0..5).map(|_| element.call(Time(100), Time(100)).0).collect();
        assert_eq!(done, [150, 150, 160, 160, 170]);
        assert_eq!(element.call(Time(1000), Time(1000)), Time(1050));
        assert_eq!(element.begins_next(Time(1050)), Time(1010));
        // A call that waits for bytes keeps its port.
        assert_eq!(element.call(Time(1000), Time(1200)), Time(1250));
        assert_eq!(element.call(Time(1001), Time(1001)), Time(1060));
        assert_eq!(element.call(Time(1002), Time(1002)), Time(1070));
    }
}
