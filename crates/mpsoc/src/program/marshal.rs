//! The representation of packets and calls in a thread: the function of a message passing engine,
//! untimed.

use std::ops::Range;

use smallvec::SmallVec;
use wireloom_bits::Bits;
use wireloom_codegen_c::thread::message::{Object, ObjectIs, Reply, objects};
use wireloom_codegen_c::thread::{Elements, Messages, ordered_objects};
use wireloom_ir::{EngineId, GoldenCalls, Origin, Program};
use wireloom_net::PacketInHand;
use wireloom_offloads::{Content, Env, Store, registry};

use crate::element::ObjectSpec;
use crate::energy::Unit;
use crate::mpe::{Registers, selected, unswizzle};
use crate::objects::{
    Called, CallersPacket, MethodInterface, ObjectInterface, Objects, PacketUse, Words,
};

/// The outgoing packet: its window, then the bytes after it from packet memory. `None` if the
/// registers name bytes outside both.
pub fn leaving(area: &[u8], registers: &Registers, behind: &[u8]) -> Option<Vec<u8>> {
    let (window, body) = registers.window_and_body()?;
    let mut packet = unswizzle(area, registers.front as usize, window as usize);
    packet.extend_from_slice(behind.get(..body as usize)?);
    let sent = selected(registers.extent, packet.len());
    packet.truncate(sent.end);
    packet.drain(..sent.start);
    Some(packet)
}

/// The objects of a program: its offloads, and the engines that are hardware elements, with
/// golden's behaviour.
#[derive(Clone)]
pub struct Offloads {
    interfaces: Vec<ObjectInterface>,
    placed: Vec<Placed>,
    /// The number of a packet that packet I/O takes, and its sequence number. Later ones follow.
    numbered: (u64, u64),
    store: Store,
    calls: GoldenCalls,
}

#[derive(Clone)]
struct Placed {
    /// The indices of the offloads on the path to the object.
    slots: Vec<usize>,
    methods: Vec<Messages>,
    is: ObjectIs,
}

impl Offloads {
    /// The objects of a program, with the offloads that `wireloom_ir::store` has created for it.
    ///
    /// # Panics
    /// The store, or an element, belongs to another program.
    pub fn new(program: &Program, elements: &Elements, store: Store) -> Self {
        let calls = GoldenCalls::new(program);
        let mut offloads =
            Self { interfaces: Vec::new(), placed: Vec::new(), numbered: (0, 0), store, calls };
        for (object, is_ordered) in
            objects(program, elements).into_iter().zip(ordered_objects(program, elements))
        {
            let slots = path_of(&offloads.store, &object.path).expect("the store is the program's");
            let methods = object.methods(program);
            let Object { path, is } = object;
            let interface = |(method, messages): (usize, &Messages)| MethodInterface {
                argument_words: messages.arguments.words(),
                reply_words: messages.reply.as_ref().map_or(0, Reply::words),
                packet: packet_use(&is, method),
            };
            offloads.interfaces.push(ObjectInterface {
                name: path,
                kind: match &is {
                    ObjectIs::Kind(config) => config.kind.clone(),
                    ObjectIs::Element(id) => program.engines[id.index()].name.clone(),
                },
                is_ordered,
                methods: methods.iter().enumerate().map(interface).collect(),
                times: None,
                unit: match &is {
                    ObjectIs::Kind(config) => Unit::of(config),
                    ObjectIs::Element(_) => Unit::default(),
                },
            });
            offloads.placed.push(Placed { slots, methods, is });
        }
        offloads
    }

    /// Sets the timing and the hardware of the objects that are hardware elements. `times` gets an
    /// element's path and engine.
    ///
    /// # Errors
    /// The first error of `times`.
    pub fn with_times<E>(
        mut self,
        times: impl Fn(&str, EngineId) -> Result<(ObjectSpec, Unit), E>,
    ) -> Result<Self, E> {
        for (interface, placed) in self.interfaces.iter_mut().zip(&self.placed) {
            if let ObjectIs::Element(engine) = placed.is {
                let (times, unit) = times(&interface.name, engine)?;
                (interface.times, interface.unit) = (Some(times), unit);
            }
        }
        Ok(self)
    }

    /// Removes the order requirement: objects may see packets in any order.
    pub fn without_order(mut self) -> Self {
        for interface in &mut self.interfaces {
            interface.is_ordered = false;
        }
        self
    }

    /// Sets the sequence number of the packet with this number among those that packet I/O takes.
    /// Later packets follow; all earlier ones have made their calls.
    pub fn number_from(&mut self, number: u64, sequence: u64) {
        self.numbered = (number, sequence);
    }

    /// The numbers of words in a method's arguments and reply; `None` if there is no such object or
    /// method.
    pub fn method(&self, object: usize, method: usize) -> Option<MethodInterface> {
        self.interfaces.get(object)?.methods.get(method).copied()
    }

    /// Calls a method of an object and returns its reply.
    ///
    /// # Panics
    /// There is no such object or method, or it has other arguments.
    pub fn answer(
        &mut self,
        object: usize,
        method: usize,
        arguments: &[Bits],
        packet: Option<CallersPacket>,
        mut hand: Option<&mut PacketInHand>,
    ) -> Bits {
        let placed = &self.placed[object];
        let (first, sequence) = self.numbered;
        let (sequence, arrival_ns) =
            packet.map_or((0, 0), |packet| (sequence + (packet.number - first), packet.arrival_ns));
        if let Some(hand) = &mut hand {
            hand.sequence = sequence;
        }
        match (content(&mut self.store, &placed.slots), &placed.is) {
            (Content::Engine(own), ObjectIs::Element(engine)) => {
                self.calls.call(*engine, own, arguments, Origin { sequence, arrival_ns })
            }
            (Content::Kind { instance, .. }, ObjectIs::Kind(_)) => {
                let mut env = Env { packet: hand, now_ns: arrival_ns, sequence };
                instance.call(method, arguments, &mut env)
            }
            _ => unreachable!("the store is the program's"),
        }
    }

    fn arguments(&self, object: usize, method: usize, message: &[u32]) -> SmallVec<[Bits; 4]> {
        self.placed[object].methods[method].arguments.decode(message).collect()
    }

    /// The offloads with their state.
    pub fn store(&self) -> &Store {
        &self.store
    }

    /// The offloads, for the control plane to change between packets.
    pub fn store_mut(&mut self) -> &mut Store {
        &mut self.store
    }
}

impl Objects for Offloads {
    fn interfaces(&self) -> &[ObjectInterface] {
        &self.interfaces
    }

    /// # Panics
    /// There is no such object or method, or the call has fewer words than the method's interface
    /// states.
    fn call(&mut self, call: Called<'_>) -> Words {
        let arguments = self.arguments(call.object, call.method, call.arguments);
        let reply = self.answer(call.object, call.method, &arguments, call.packet, call.hand);
        let messages = &self.placed[call.object].methods[call.method];
        let Some(layout) = &messages.reply else { return Words::new() };
        let mut words = Words::from_elem(0, layout.words() as usize);
        layout.encode(&reply, &mut words);
        words
    }

    /// # Panics
    /// See [`call`](Self::call).
    fn extent(
        &self,
        object: usize,
        method: usize,
        arguments: &[u32],
        length: usize,
    ) -> Range<usize> {
        let ObjectIs::Kind(config) = &self.placed[object].is else { return 0..0 };
        let extent =
            registry::kind(&config.kind).expect("a verified program").methods[method].extent;
        extent.bytes(config, &self.arguments(object, method, arguments), length)
    }
}

/// How a method of an object uses the packet. Called engines do not use it.
fn packet_use(is: &ObjectIs, method: usize) -> PacketUse {
    let ObjectIs::Kind(config) = is else { return PacketUse::Nothing };
    let method = &registry::kind(&config.kind).expect("a verified program").methods[method];
    match (method.reads_packet, method.writes_packet) {
        (_, true) => PacketUse::Writes,
        (true, false) => PacketUse::Reads,
        (false, false) => PacketUse::Nothing,
    }
}

fn path_of(store: &Store, path: &str) -> Option<Vec<usize>> {
    let mut slots = Vec::new();
    let (mut store, mut rest) = (store, path);
    loop {
        let (name, behind) =
            rest.split_once('.').map_or((rest, None), |(name, behind)| (name, Some(behind)));
        let index = store.slots.iter().position(|slot| slot.name == name)?;
        slots.push(index);
        match (&store.slots[index].content, behind) {
            (Content::Engine(inner), Some(behind)) => (store, rest) = (inner, behind),
            (_, None) => return Some(slots),
            _ => return None,
        }
    }
}

fn content<'a>(store: &'a mut Store, slots: &[usize]) -> &'a mut Content {
    let (first, rest) = slots.split_first().expect("a path has a name");
    let content_of_first = &mut store.slots[*first].content;
    if rest.is_empty() {
        return content_of_first;
    }
    match content_of_first {
        Content::Engine(inner) => content(inner, rest),
        Content::Kind { .. } => unreachable!("a path goes on in an engine"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wireloom_net::packet::WINDOW;

    use crate::mpe::{AREA_BYTES, FRONT, place_window, swizzle};

    fn area(packet: &[u8]) -> Vec<u8> {
        let mut area = vec![0xee; AREA_BYTES];
        place_window(&mut area, &packet[..packet.len().min(WINDOW)]);
        area
    }

    fn behind(packet: &[u8]) -> &[u8] {
        &packet[packet.len().min(WINDOW)..]
    }

    fn arrived(length: usize) -> Registers {
        Registers::arrived(length as u32, length.min(WINDOW) as u32)
    }

    #[test]
    fn a_packet_leaves_as_it_came_if_nobody_changes_it() {
        for length in [0, 1, 60, 127, 128, 129, 1500] {
            let packet: Vec<u8> = (0..length).map(|i| i as u8).collect();
            let left = leaving(&area(&packet), &arrived(length), behind(&packet));
            assert_eq!(left, Some(packet));
        }
    }

    #[test]
    fn behind_the_window_there_are_zeros() {
        let area = area(&[0xff; 200]);
        assert_eq!(unswizzle(&area, FRONT + WINDOW, 8), [0; 8]);
        assert_eq!(area[AREA_BYTES - 1], 0);
    }

    #[test]
    fn pushes_and_cuts_show_in_what_leaves() {
        let packet: Vec<u8> = (0..200).map(|i| i as u8).collect();
        let mut area = area(&packet);
        let mut registers = arrived(200);
        registers.front -= 4;
        registers.length += 4;
        swizzle(&mut area, FRONT - 4, &[9, 8, 7, 6]);
        let left = leaving(&area, &registers, behind(&packet)).expect("it lies in the area");
        assert_eq!((&left[..5], left.len()), (&[9, 8, 7, 6, 0][..], 204));
        registers.length = 140;
        assert_eq!(
            leaving(&area, &registers, behind(&packet)).map(|left| left[132..].to_vec()),
            Some(packet[128..136].to_vec())
        );
        registers.length = 100;
        assert_eq!(leaving(&area, &registers, behind(&packet)), None, "less than the window");
        registers.length = 300;
        assert_eq!(leaving(&area, &registers, behind(&packet)), None, "more than there is");
    }
}
