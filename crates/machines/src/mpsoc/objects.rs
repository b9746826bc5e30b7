//! Hardware elements that answer calls, such as the search engine.

use std::ops::Range;

use smallvec::SmallVec;
use wireloom_net::PacketInHand;
use wireloom_sim::stats::{Histogram, Record};
use wireloom_sim::{SpecError, Time};

use super::services::Server;
use super::spec::{ObjectSpec, Spec};

/// The words of a message; most have a few.
pub type Words = SmallVec<[u32; 8]>;

/// What answers calls: the meaning of the objects, which take the times of their specifications.
pub trait Objects {
    /// The objects, by their numbers.
    fn interfaces(&self) -> &[ObjectInterface];

    /// Executes a call; answers as many words as the method's interface says.
    fn call(&mut self, call: Called<'_>) -> Words;

    /// Which bytes of the caller's packet, which has `length` of them afterwards, a call works on: those that the object fetches.
    fn extent(&self, _object: usize, _method: usize, _arguments: &[u32], _length: usize) -> Range<usize> {
        0..0
    }

    /// Services that objects serve, to which the broker gives calls.
    fn servers(&self) -> &[Server] {
        &[]
    }
}

/// What an object looks like from outside.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObjectInterface {
    /// Its name.
    pub name: String,
    /// What it is, such as `lpm`.
    pub kind: String,
    /// Whether it must see packets in the order of their arrival.
    pub is_ordered: bool,
    /// Its methods, by their numbers.
    pub methods: Vec<MethodInterface>,
    /// Its times, if they are not those that the machine file has for its name or kind.
    pub times: Option<ObjectSpec>,
}

/// What a method takes and answers, in words: each value has its own, the lowest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MethodInterface {
    /// Of the arguments, 0 to 17.
    pub argument_words: u32,
    /// Of the reply, 0 to 32; a call without a reply is one-way.
    pub reply_words: u32,
    /// What it does with the bytes of the caller's packet.
    pub packet: PacketUse,
}

/// What a method does with the bytes of the caller's packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PacketUse {
    /// Nothing: the packet stays with the thread.
    #[default]
    Nothing,
    /// It reads them: they go with the call.
    Reads,
    /// It may change them: they go with the call, and come back with the reply, which there must be.
    Writes,
}

/// A call.
#[derive(Debug)]
pub struct Called<'a> {
    /// The number of the object.
    pub object: usize,
    /// The number of its method.
    pub method: usize,
    /// The arguments.
    pub arguments: &'a [u32],
    /// The caller's packet.
    pub packet: Option<CallersPacket>,
    /// All of it, if the method works on its bytes.
    pub hand: Option<&'a mut PacketInHand>,
}

/// The packet of a thread that calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CallersPacket {
    /// Its number among all that the machine has taken.
    pub number: u64,
    /// When it arrived, in nanoseconds.
    pub arrival_ns: u64,
}

/// No objects at all.
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

/// The times of an object.
#[derive(Clone, Debug)]
pub(super) struct Element {
    name: String,
    spec: ObjectSpec,
    /// When each port can begin the next call.
    ports: Vec<Time>,
    busy: Time,
    latency: Histogram,
}

impl Element {
    /// One that has nothing to do.
    pub(super) fn new(interface: &ObjectInterface, spec: &Spec) -> Result<Self, SpecError> {
        let ObjectInterface { name, kind, times, .. } = interface;
        let object = times.as_ref().or_else(|| spec.object(name, kind)).copied().ok_or_else(|| {
            let problem = format!("is missing: the program has an object '{name}' of kind {kind}; say `object.any` for all others");
            SpecError::new(&format!("object.{kind}"), problem)
        })?;
        let ports = vec![Time::ZERO; object.ports as usize];
        Ok(Self { name: name.clone(), spec: object, ports, busy: Time::ZERO, latency: Histogram::times() })
    }

    /// A call has come, for which everything is there at `ready`: when its reply leaves. Calls are begun in the order in which they come.
    pub(super) fn call(&mut self, now: Time, ready: Time) -> Time {
        let port = self.ports.iter_mut().min().expect("an object has a port");
        let begin = ready.max(*port);
        *port = begin + self.spec.interval;
        self.busy += self.spec.interval;
        let done = begin + self.spec.latency;
        self.latency.time(done - now);
        done
    }

    /// When the next call can begin behind one whose reply leaves then.
    pub(super) fn begins_next(&self, done: Time) -> Time {
        Time(done.0 - self.spec.latency.0) + self.spec.interval
    }

    /// Its name.
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// `name`, `calls`, `use` of the ports, `latency` from a call's coming to its reply's going.
    pub(super) fn record(&self, now: Time) -> Record {
        let time = now.0.max(1) as f64 * self.ports.len() as f64;
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
            busy: Time::ZERO,
            latency: Histogram::times(),
        };
        let done: Vec<u64> = (0..5).map(|_| element.call(Time(100), Time(100)).0).collect();
        assert_eq!(done, [150, 150, 160, 160, 170]);
        assert_eq!(element.call(Time(1000), Time(1000)), Time(1050));
        assert_eq!(element.begins_next(Time(1050)), Time(1010));
        // One that has to wait for bytes keeps its port.
        assert_eq!(element.call(Time(1000), Time(1200)), Time(1250));
        assert_eq!(element.call(Time(1001), Time(1001)), Time(1060));
        assert_eq!(element.call(Time(1002), Time(1002)), Time(1070));
    }
}
