//! Offloads as generated code accesses them: through shared memory, or by calling the instance.

use std::ffi::c_void;

use wireloom_bits::Bits;
use wireloom_machine::Calls;
use wireloom_net::{Packet, PacketInHand};
use wireloom_offloads::lpm::LpmView;
use wireloom_offloads::{Config, Content, Env, Instance, OffloadKind, RawView, Store, registry};

use crate::abi;

/// The offloads of a store, in the order of the slots that generated code expects.
pub struct Offloads {
    slots: Vec<abi::Slot>,
    /// The hosts, one for each slot. Slots hold their addresses, so `hosts` and `views` never grow.
    hosts: Vec<Host>,
    views: Vec<Option<LpmView>>,
    /// For each slot the calls of each method, and how many of them found something. Slots hold
    /// these addresses too.
    counts: Vec<Box<[u64]>>,
}

/// The state of calls through the host, besides the instance. It is kept so that calls do not
/// allocate.
struct Host {
    instance: *mut dyn Instance,
    kind: &'static OffloadKind,
    config: Config,
    engine: &'static abi::EngineAbi,
    hand: PacketInHand,
    args: Vec<Bits>,
}

impl Offloads {
    /// Collects the offloads of `store`.
    pub fn new(store: &mut Store, engine: &'static abi::EngineAbi) -> Self {
        let mut offloads =
            Self { slots: Vec::new(), hosts: Vec::new(), views: Vec::new(), counts: Vec::new() };
        each(store, &mut |config, instance| {
            let kind = registry::kind(&config.kind).expect("the store was made from the registry");
            let mut counts = vec![0; 2 * kind.methods.len()].into_boxed_slice();
            offloads.hosts.push(Host {
                instance,
                kind,
                config: config.clone(),
                engine,
                hand: PacketInHand::arrive(&Packet::default(), 0),
                args: Vec::new(),
            });
            offloads.views.push(None);
            offloads.slots.push(abi::Slot {
                data: std::ptr::null_mut(),
                elements: 0,
                instance: std::ptr::null_mut(),
                call: host_call,
                counts: counts.as_mut_ptr(),
                spread: std::ptr::null(),
                blocks: std::ptr::null(),
                values: std::ptr::null(),
                direct: std::ptr::null(),
                direct_shift: 0,
            });
            offloads.counts.push(counts);
        });
        assert_eq!(offloads.slots.len(), engine.slots as usize, "the store is another program's");
        offloads
    }

    /// Reads all addresses again, since the control plane may have moved the memory. They are valid
    /// until the next [`release`](Self::release).
    pub fn refresh(&mut self, store: &mut Store) -> *const abi::Slot {
        let Self { slots, hosts, views, counts: _ } = self;
        let mut index = 0;
        each(store, &mut |_, instance| {
            let slot = &mut slots[index];
            match instance.raw() {
                Some(RawView::Array { data, elements } | RawView::Counter { data, elements }) => {
                    slot.data = data.cast();
                    slot.elements = elements;
                }
                Some(RawView::Exact(table)) => slot.data = table,
                Some(RawView::Lpm(view)) => {
                    (slot.spread, slot.blocks, slot.values) =
                        (view.spread, view.blocks, view.values);
                    (slot.direct, slot.direct_shift) = match view.spread.is_null() {
                        true => (view.direct.cast(), 3),
                        false => (view.spread.cast(), 2),
                    };
                    slot.data = std::ptr::from_mut(views[index].insert(view)).cast();
                }
                Some(RawView::Meter { view, elements }) => {
                    slot.data = view.cast_mut();
                    slot.elements = elements;
                }
                Some(RawView::Match(view)) => slot.data = view.cast_mut(),
                None => slot.data = std::ptr::null_mut(),
            }
            let host = &mut hosts[index];
            host.instance = instance;
            slot.instance = std::ptr::from_mut(host).cast();
            index += 1;
        });
        self.slots.as_ptr()
    }

    /// Returns the calls of each method of each offload, from programs that count calls.
    pub fn calls(&self) -> Vec<Vec<Calls>> {
        let hosts = self.hosts.iter().zip(self.counts.iter().map(|counts| &**counts));
        hosts.map(|(host, counts)| Calls::of(host.kind, counts)).collect()
    }

    /// Ends the use of the addresses that were taken before.
    pub fn release(&mut self, store: &mut Store) {
        each(store, &mut |_, instance| instance.raw_done());
    }
}

/// Visits the instances of a store. The instances of a called engine come at the place of that
/// engine.
fn each(store: &mut Store, visit: &mut dyn FnMut(&Config, &mut (dyn Instance + 'static))) {
    for slot in &mut store.slots {
        match &mut slot.content {
            Content::Kind { config, instance } => visit(config, &mut **instance),
            Content::Engine(inner) => each(inner, visit),
        }
    }
}

/// Executes an offload call that generated code leaves to the instance.
///
/// # Safety
/// Only generated code may call it, with the slot's own instance and arguments of the widths that
/// the method states.
unsafe extern "C" fn host_call(
    instance: *mut c_void,
    method: u32,
    args: *const u64,
    reply: *mut u64,
    packet: *mut c_void,
    arena: *mut c_void,
    env: *const abi::Env,
) {
    // SAFETY: `refresh` set the slot's instance to a `Host` that outlives the batch, one call runs
    // at a time, and the environment is that of the thread that calls.
    let (host, env) = unsafe { (&mut *instance.cast::<Host>(), &*env) };
    let method_index = method as usize;
    let method = &host.kind.methods[method_index];
    let words = |width: u32| width.div_ceil(64) as usize;
    host.args.clear();
    let mut at = 0;
    for (_, ty) in method.args {
        let width = ty.width(&host.config);
        // SAFETY: generated code passes each argument in whole words, one after the other.
        let value = unsafe { std::slice::from_raw_parts(args.add(at), words(width)) };
        host.args.push(Bits::from_words(width, value));
        at += words(width);
    }
    let sees_packet = !packet.is_null() && (method.reads_packet || method.writes_packet);
    if sees_packet {
        // SAFETY: the packet is a `struct wl_packet` of the batch; `show` fills the view, whose
        // addresses are valid until the packet changes.
        unsafe {
            let mut view = std::mem::zeroed::<abi::View>();
            (host.engine.show)(packet, &mut view);
            host.hand.assign(
                bytes(view.window, view.window_length),
                bytes(view.payload, view.payload_length),
            );
            host.hand.ingress = view.ingress;
            host.hand.egress = view.egress;
            host.hand.arrival_ns = view.arrival_ns;
            host.hand.sequence = env.sequence;
        }
    }
    let mut golden_env = Env {
        packet: sees_packet.then_some(&mut host.hand),
        now_ns: env.now_ns,
        sequence: env.sequence,
    };
    // SAFETY: `refresh` took the address from the store, which nothing else touches while a batch
    // is executed.
    let answer = unsafe { (*host.instance).call(method_index, &host.args, &mut golden_env) };
    let room = words(method.reply.width(&host.config));
    for (index, word) in answer.words().take(room).enumerate() {
        // SAFETY: generated code has room for the words of the method's reply, and no more are
        // written.
        unsafe { *reply.add(index) = word };
    }
    if sees_packet && method.writes_packet {
        let (window, payload) = host.hand.bytes().split_at(host.hand.window_len());
        let view = abi::View {
            window: window.as_ptr(),
            payload: payload.as_ptr(),
            arrival_ns: host.hand.arrival_ns,
            window_length: window.len() as u32,
            payload_length: payload.len() as u32,
            ingress: host.hand.ingress,
            egress: host.hand.egress,
        };
        // SAFETY: packet and arena are the thread's; the view's addresses are valid during the
        // call.
        unsafe { (host.engine.replace)(packet, arena, &view) };
    }
}

/// # Safety
/// `start` begins `length` valid bytes, if `length` is not zero.
unsafe fn bytes<'a>(start: *const u8, length: u32) -> &'a [u8] {
    if length == 0 {
        return &[];
    }
    // SAFETY: as the caller promises.
    unsafe { std::slice::from_raw_parts(start, length as usize) }
}
