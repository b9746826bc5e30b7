//! How packets and calls look to a thread, and back: what a message passing engine does, without its time.

use wireloom_ir::Program;
use wireloom_native::thread::message::{Arguments, Reply, objects};
use wireloom_net::packet::WINDOW;
use wireloom_offloads::{Content, Env, Instance, Store};

use crate::mpsoc::mpe::{Registers, unswizzle};
use crate::mpsoc::objects::{Called, MethodInterface, ObjectInterface, Objects};

/// The packet that leaves: its window, then the rest of the packet that arrived behind the window that it had. `None` if the
/// registers name bytes that are in neither.
pub fn leaving(area: &[u8], registers: &Registers, arrived: &[u8]) -> Option<Vec<u8>> {
    let (window, body) = registers.window_and_body()?;
    let mut packet = unswizzle(area, registers.front as usize, window as usize);
    packet.extend_from_slice(arrived.get(WINDOW.min(arrived.len())..)?.get(..body as usize)?);
    Some(packet)
}

/// How a method's values become words.
#[derive(Clone, Debug)]
struct Layout {
    arguments: Arguments,
    /// None if calls are one-way.
    reply: Option<Reply>,
}

/// The objects of a program: its offloads as golden has them.
pub struct Offloads {
    interfaces: Vec<ObjectInterface>,
    placed: Vec<Placed>,
    store: Store,
}

struct Placed {
    /// Indices of the offloads that lead to it.
    slots: Vec<usize>,
    methods: Vec<Layout>,
}

impl Offloads {
    /// Those of a program, with the offloads that `wireloom_ir::store` has made for it.
    ///
    /// # Panics
    /// If the store is another program's.
    pub fn new(program: &Program, store: Store) -> Self {
        let mut offloads = Self { interfaces: Vec::new(), placed: Vec::new(), store };
        for object in objects(program) {
            let slots = path_of(&offloads.store, &object.path).expect("the store is the program's");
            let layout = |method| Layout {
                arguments: Arguments::of(method, &object.config),
                reply: Reply::of(method, &object.config),
            };
            let methods: Vec<Layout> = object.methods().iter().map(layout).collect();
            let words = |layout: &Layout| MethodInterface {
                argument_words: layout.arguments.words(),
                reply_words: layout.reply.as_ref().map_or(0, Reply::words),
            };
            offloads.interfaces.push(ObjectInterface {
                name: object.path,
                kind: object.config.kind,
                methods: methods.iter().map(words).collect(),
            });
            offloads.placed.push(Placed { slots, methods });
        }
        offloads
    }

    /// How many words a method takes and answers; `None` if there is no such object or method.
    pub fn method(&self, object: usize, method: usize) -> Option<MethodInterface> {
        self.interfaces.get(object)?.methods.get(method).copied()
    }

    /// The offloads with their state.
    pub fn store(&self) -> &Store {
        &self.store
    }

    /// As [`store`](Self::store), for the control plane to change between packets.
    pub fn store_mut(&mut self) -> &mut Store {
        &mut self.store
    }
}

impl Objects for Offloads {
    fn interfaces(&self) -> &[ObjectInterface] {
        &self.interfaces
    }

    /// # Panics
    /// If there is no such object or method, or there are fewer words than its interface says.
    fn call(&mut self, call: Called<'_>) -> Vec<u32> {
        let placed = &self.placed[call.object];
        let layout = &placed.methods[call.method];
        let arguments = layout.arguments.decode(call.arguments);
        let (sequence, now_ns) = call.packet.map_or((0, 0), |packet| (packet.number, packet.arrival_ns));
        let mut env = Env { packet: None, now_ns, sequence };
        let reply = instance(&mut self.store, &placed.slots).call(call.method, &arguments, &mut env);
        layout.reply.as_ref().map_or_else(Vec::new, |reply_layout| reply_layout.encode(&reply))
    }
}

fn path_of(store: &Store, path: &str) -> Option<Vec<usize>> {
    let mut slots = Vec::new();
    let (mut store, mut rest) = (store, path);
    loop {
        let (name, behind) = rest.split_once('.').map_or((rest, None), |(name, behind)| (name, Some(behind)));
        let index = store.slots.iter().position(|slot| slot.name == name)?;
        slots.push(index);
        match (&store.slots[index].content, behind) {
            (Content::Engine(inner), Some(behind)) => (store, rest) = (inner, behind),
            (Content::Kind { .. }, None) => return Some(slots),
            _ => return None,
        }
    }
}

fn instance<'a>(store: &'a mut Store, slots: &[usize]) -> &'a mut dyn Instance {
    let (first, rest) = slots.split_first().expect("a path has a name");
    match &mut store.slots[*first].content {
        Content::Kind { instance, .. } => instance.as_mut(),
        Content::Engine(inner) => instance(inner, rest),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mpsoc::mpe::{AREA_BYTES, FRONT, place_window, swizzle};

    fn area(packet: &[u8]) -> Vec<u8> {
        let mut area = vec![0xee; AREA_BYTES];
        place_window(&mut area, &packet[..packet.len().min(WINDOW)]);
        area
    }

    fn arrived(length: usize) -> Registers {
        Registers::arrived(length as u32, length.min(WINDOW) as u32)
    }

    #[test]
    fn a_packet_leaves_as_it_came_if_nobody_changes_it() {
        for length in [0, 1, 60, 127, 128, 129, 1500] {
            let packet: Vec<u8> = (0..length).map(|i| i as u8).collect();
            let left = leaving(&area(&packet), &arrived(length), &packet);
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
        let left = leaving(&area, &registers, &packet).expect("it lies in the area");
        assert_eq!((&left[..5], left.len()), (&[9, 8, 7, 6, 0][..], 204));
        registers.length = 140;
        assert_eq!(
            leaving(&area, &registers, &packet).map(|left| left[132..].to_vec()),
            Some(packet[128..136].to_vec())
        );
        registers.length = 100;
        assert_eq!(leaving(&area, &registers, &packet), None, "less than the window");
        registers.length = 300;
        assert_eq!(leaving(&area, &registers, &packet), None, "more than there is");
    }
}
