//! Places the offloads, arrays and context of a program in a tile's memory, and takes the state
//! back from there.

use std::sync::Arc;

use wireloom_bits::Bits;
use wireloom_codegen::refused::Refused;
use wireloom_ir::{Engine, EngineId, EngineKind, OffloadTarget, OpKind, Program, Step};
use wireloom_offloads::{Config, Content, Instance as Offload, Store, registry};

use super::kinds::kind::{Placed, refusal};
use super::kinds::ticks::ChipMemory;
use super::kinds::{find, replaces_packet};
use super::layout::{Instance, Layout, Place};
use super::memory::{LINE, Memories, Memory, stride_of};
use super::{frame, words};

struct Placing<'a, 'b> {
    program: &'a Program,
    layout: Layout<'a>,
    memory: Memory,
    refused: Vec<Refused>,
    path: Vec<&'b str>,
}

/// Places a program with the contents of its tables.
///
/// # Errors
/// The refusals: offloads, arrays and context that do not fit, and kinds that are not supported.
pub fn place<'a>(
    program: &'a Program,
    store: &Store,
    memories: Memories,
) -> Result<Layout<'a>, Vec<Refused>> {
    let mut placing = Placing {
        program,
        layout: Layout {
            end: frame::STATE,
            takes: takes(&program.engines[program.main.index()]),
            has_rest: memories.has_rest,
            ..Layout::default()
        },
        memory: Memory::new(memories),
        refused: Vec::new(),
        path: Vec::new(),
    };
    placing.engine(program.main, store);
    if placing.layout.end > frame::MOST {
        placing.refused.push(Refused {
            offload: None,
            step: None,
            message: format!(
                "the context of engine {} does not fit: it needs {} bytes of a frame of {}",
                program.engines[program.main.index()].name,
                placing.layout.end,
                frame::MOST
            ),
        });
    }
    if !placing.refused.is_empty() {
        return Err(placing.refused);
    }
    Ok(Layout { images: placing.memory.images, ..placing.layout })
}

/// Returns whether an engine replaces packets by other packets.
fn takes(engine: &Engine) -> bool {
    engine.steps.iter().flat_map(Step::ops).any(|op| match op.kind {
        OpKind::Call { offload, method, .. } => match &engine.offloads[offload.index()].target {
            OffloadTarget::Kind(config) => replaces_packet(config, method),
            OffloadTarget::Engine(_) => false,
        },
        _ => false,
    })
}

impl<'a, 'b> Placing<'a, 'b> {
    /// Takes words of the frame.
    fn frame(&mut self, words: usize) -> u32 {
        let first = self.layout.end;
        self.layout.end = first.saturating_add(4 * words as u32);
        first
    }

    fn engine(&mut self, id: EngineId, store: &'b Store) -> usize {
        let engine = &self.program.engines[id.index()];
        let number = self.layout.instances.len();
        let reply_width = match engine.kind {
            EngineKind::Packet => None,
            EngineKind::Call { reply, .. } => Some(reply),
        };
        let [backward, link] = [(); 2].map(|()| self.frame(1));
        let instance = Instance {
            engine,
            label: format!("engine{number}"),
            variables: Vec::new(),
            arrays: Vec::new(),
            apart: Vec::new(),
            offloads: Vec::new(),
            backward,
            link,
            reply: self.frame(reply_width.map_or(0, words::count)),
            reply_width,
        };
        self.layout.instances.push(instance);
        let variables =
            engine.context.iter().map(|variable| self.frame(words::count(variable.width)));
        self.layout.instances[number].variables = variables.collect();
        for array in &engine.arrays {
            let stride = stride_of(words::count(array.width));
            let apart = (u64::from(stride) * u64::from(array.count)).next_multiple_of(LINE.into());
            let base = self.memory.take(apart * u64::from(self.memory.tiles));
            let base = base.unwrap_or_else(|why| {
                let message = format!("array `{}` of the context does not fit: {why}", array.name);
                self.refused.push(Refused { offload: None, step: None, message });
                0
            });
            self.layout.instances[number].arrays.push((base, stride));
            self.layout.instances[number].apart.push(apart as u32);
        }
        for (at, (offload, slot)) in engine.offloads.iter().zip(&store.slots).enumerate() {
            self.path.push(&slot.name);
            let place = match (&offload.target, &slot.content) {
                (OffloadTarget::Engine(id), Content::Engine(inner)) => {
                    Ok(Place::Engine(self.engine(*id, inner)))
                }
                (OffloadTarget::Kind(config), Content::Kind { instance, .. }) => {
                    self.kind(engine, at, config, instance.as_ref()).map(Place::Kind)
                }
                _ => unreachable!("the store suits the program"),
            };
            match place {
                Ok(place) => self.layout.instances[number].offloads.push(place),
                Err(why) => self.refused.push(why),
            }
            self.path.pop();
        }
        for op in engine.steps.iter().flat_map(Step::ops) {
            if let OpKind::Table { elements, .. } = &op.kind {
                self.constant(elements);
            }
        }
        number
    }

    /// Places a constant array.
    fn constant(&mut self, elements: &Arc<[Bits]>) {
        if self.layout.tables.iter().any(|(table, ..)| table == elements) {
            return;
        }
        let stride = stride_of(words::count(elements.first().map_or(1, Bits::width)));
        match self.memory.elements(stride, elements.len(), elements.iter().enumerate()) {
            Ok(base) => self.layout.tables.push((elements.clone(), base, stride)),
            Err(why) => {
                let message = format!("a constant array does not fit: {why}");
                self.refused.push(Refused { offload: None, step: None, message });
            }
        }
    }

    /// Places offload number `at` of an engine.
    fn kind(
        &mut self,
        engine: &Engine,
        at: usize,
        config: &Config,
        instance: &dyn Offload,
    ) -> Result<Arc<dyn Placed>, Refused> {
        let path = self.path.join(".");
        let (step, method) = first_call(engine, at).unzip();
        let refused =
            |message| Refused { offload: Some(path.clone()), step: step.clone(), message };
        let kind = find(config).ok_or_else(|| {
            let registered = registry::kind(&config.kind).zip(method);
            let method = registered.map(|(kind, method)| kind.methods[method].name);
            refused(refusal(&path, method, &config.kind))
        })?;
        if let Some(why) = kind.unsupported(config) {
            return Err(refused(format!("offload `{path}`: {why}")));
        }
        kind.place(config, instance, &mut self.memory).map_err(|why| {
            let step =
                step.as_ref().map_or(String::new(), |step| format!(", which step `{step}` calls,"));
            refused(format!("offload `{path}`{step} does not fit: {why}"))
        })
    }
}

/// Returns the first step that calls an offload, and the method that it calls.
fn first_call(engine: &Engine, offload: usize) -> Option<(String, usize)> {
    engine.steps.iter().find_map(|step| {
        step.ops().find_map(|op| match &op.kind {
            OpKind::Call { offload: called, method, .. }
            | OpKind::Evaluate { offload: called, method, .. } => {
                (called.index() == offload).then(|| (step.name.clone(), *method))
            }
            _ => None,
        })
    })
}

/// Takes the state that packets have changed from memory into the store. `places` are the places of
/// the offloads of each instance of an engine, and `word` reads the word at an address.
pub fn read_back(places: &[Vec<Place>], store: &mut Store, word: &mut dyn FnMut(u32) -> u32) {
    read_instance(places, 0, store, word);
}

/// Returns the offloads of the engine that takes packets that are of kinds, and of the engines that
/// it calls, with their declarations.
fn placed<'a>(
    places: &'a [Vec<Place>],
    number: usize,
    store: &'a Store,
) -> Vec<(&'a dyn Placed, &'a Config)> {
    let slots = places[number].iter().zip(&store.slots);
    let all = slots.flat_map(|(place, slot)| match (place, &slot.content) {
        (Place::Engine(called), Content::Engine(inner)) => self::placed(places, *called, inner),
        (Place::Kind(placed), Content::Kind { config, .. }) => vec![(placed.as_ref(), config)],
        _ => unreachable!("the store suits the program"),
    });
    all.collect()
}

/// Advances the offloads whose times end at ticks to engine time. No packet is in the chip.
pub fn pass_tick(places: &[Vec<Place>], store: &Store, now_ns: u64, memory: &mut dyn ChipMemory) {
    placed(places, 0, store).iter().for_each(|(placed, _)| placed.pass_tick(now_ns, memory));
}

/// Returns when the next time ends for which a step runs, in nanoseconds. `word` reads the word at
/// an address.
pub fn next_due(
    places: &[Vec<Place>],
    store: &Store,
    word: &mut dyn FnMut(u32) -> u32,
) -> Option<u64> {
    let all = placed(places, 0, store).into_iter();
    all.filter_map(|(placed, config)| placed.next_due(config, word)).min()
}

fn read_instance(
    places: &[Vec<Place>],
    number: usize,
    store: &mut Store,
    word: &mut dyn FnMut(u32) -> u32,
) {
    for (place, slot) in places[number].iter().zip(&mut store.slots) {
        match (place, &mut slot.content) {
            (Place::Engine(called), Content::Engine(inner)) => {
                read_instance(places, *called, inner, word);
            }
            (Place::Kind(placed), Content::Kind { config, instance }) => {
                placed.read_back(config, instance.as_mut(), word);
            }
            _ => unreachable!("the store suits the program"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MEMORIES: Memories =
        Memories { first: 0x4_0000, end: 0x80_0000, tiles: 1, has_rest: false };

    fn program(key: u32) -> Program {
        let text = format!(
            "loom_ir 1

engine search {{
  offload routes : lpm key u{key} value u8 {{ miss = 8'0x0 }}
  step look {{
    %0:u{key} = const 0
    %1:u8 = call routes.search(%0)
    finish
  }}
}}

main search
"
        );
        wireloom_ir::parse(&text).unwrap_or_else(|why| panic!("{why}"))
    }

    #[track_caller]
    fn is_refused(program: &Program, store: &Store, memories: Memories, message: &str) {
        let refused = place(program, store, memories).expect_err("it is refused");
        let (offload, step) = (Some("routes".to_owned()), Some("look".to_owned()));
        assert_eq!(refused, [Refused { offload, step, message: message.to_owned() }]);
    }

    #[test]
    fn offloads_that_do_not_fit_are_refused_with_their_step() {
        let program = program(32);
        let store = wireloom_ir::store(&program).expect("a store");
        let memories = Memories { end: MEMORIES.first, ..MEMORIES };
        let message = "offload `routes`, which step `look` calls, does not fit: 4 bytes are more \
                       than the 0 of memory that are left";
        is_refused(&program, &store, memories, message);
        assert!(place(&program, &store, MEMORIES).is_ok());
    }

    #[test]
    fn kinds_and_keys_that_tiles_do_not_support_are_refused() {
        let wide = program(160);
        let mut store = wireloom_ir::store(&wide).expect("a store");
        let message = "offload `routes`: keys of 160 bits are not supported on raw yet, only keys of up to 128";
        is_refused(&wide, &store, MEMORIES, message);
        let mut other = wide.clone();
        let OffloadTarget::Kind(config) = &mut other.engines[0].offloads[0].target else {
            panic!("the offload is of a kind")
        };
        config.kind = "cam".to_owned();
        let Content::Kind { config, .. } = &mut store.slots[0].content else {
            panic!("the offload is of a kind")
        };
        config.kind = "cam".to_owned();
        is_refused(&other, &store, MEMORIES, "`routes` (kind `cam`) is not supported on raw yet");
    }
}
