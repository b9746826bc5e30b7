//! Engines in Loom C on the chip: programs of tiles, schedules of switches, tables in memory.

use std::fmt::Write;

use wireloom_codegen::context;
use wireloom_codegen::expand::expanded;
use wireloom_codegen_tile::{
    self as tile, FRAME_BYTES, Latencies, Layout, Link, Memories, Needs, Ports, Queue, Reach,
    Refused, RestWay, STEPS, Stages, StateOwner, Style, Switch, Turn,
};
use wireloom_ir::Program;
use wireloom_offloads::Store;

use super::cards::Branch;
use super::mapping::{Chain, MachineSpec, Outputs, Placement};
use super::place::{Edge, Place};
use super::port::Beside;
use super::proof::prove;
use crate::Side;
use crate::asm::{self, Program as Image};
use crate::cache::LINE_BYTES;
use crate::message::Header;

/// An engine for a chip.
pub struct Compiled {
    /// The source of all tiles and switches; `image` is its assembled form.
    pub text: String,
    pub image: Image,
    /// The words that accompany packets.
    pub needs: Needs,
    /// The places of the offloads of each instance of an engine.
    pub places: Vec<Vec<tile::Place>>,
    /// The contents of memory at the start, by address.
    pub images: Vec<(u32, Vec<u32>)>,
    pub stages: Vec<Stages>,
    /// Limit on the bytes of a packet that go to the tiles. The tail of a longer packet goes around
    /// them. None if tiles take whole packets.
    pub head: Option<u32>,
    /// The address at which the state owner keeps the number of the packet whose turn it is.
    pub turn: Option<u32>,
    /// The layout without the contents of memory. Code depends on nothing else of the tables.
    key: String,
}

impl Compiled {
    fn code(&self) -> Code {
        let Self { text, image, needs, stages, .. } = self;
        Code { text: text.clone(), image: image.clone(), needs: *needs, stages: stages.clone() }
    }

    /// Returns the word that leaves next to the side word.
    pub fn beside(&self) -> Beside {
        match self.needs {
            Needs { rest: true, .. } => Beside::Rest,
            _ => Beside::Nothing,
        }
    }
}

/// Compiles an engine with the contents of its tables.
///
/// # Errors
/// If the engine does not fit: the refusals.
pub fn compile(
    spec: &MachineSpec,
    program: &Program,
    store: &Store,
) -> Result<Compiled, Vec<Refused>> {
    compile_again(spec, program, store, None)
}

/// Compiles an engine that may have code already, for the same machine with other contents of its
/// tables. If no table moves, that code is kept, with its proof.
///
/// # Errors
/// If the engine does not fit: the refusals.
pub fn compile_again(
    spec: &MachineSpec,
    program: &Program,
    store: &Store,
    before: Option<&Compiled>,
) -> Result<Compiled, Vec<Refused>> {
    let program = &*expanded(program);
    let spec = &spec.suited(program);
    let placement = spec.placement().map_err(whole)?;
    let chains = &placement.chains;
    let owner = spec.mapping.state_owner;
    if chains.len() > 1
        && owner.is_none()
        && let Some((offload, step)) = Stages::changes(program)
    {
        let message = format!(
            "offload `{offload}` changes in step `{step}`, and caches of tiles are not coherent: \
             an engine with it is not supported on {} chains: use one chain, or a tile that owns \
             such state (`mapping.state_owner`)",
            chains.len()
        );
        return Err(vec![Refused { offload: Some(offload), step: Some(step), message }]);
    }
    let main = &program.engines[program.main.index()];
    if owner.is_some() && context::has_timers(main) && Needs::of(program, main).sequence {
        let message = "`random` with steps that run for keys is not supported with a tile that owns \
                       state (`mapping.state_owner`): use one chain";
        return Err(vec![Refused { offload: None, step: None, message: message.to_owned() }]);
    }
    if spec.mapping.has_shared_cards()
        && let Some(step) = tile::head::sends_twice(program)
    {
        let message = format!(
            "step `{step}` sends a packet and goes on (`emit`), but chains that share a line card must \
             send one message each in turn: name all chains in `mapping.cards`, or leave it out"
        );
        return Err(vec![Refused { offload: None, step: Some(step.to_owned()), message }]);
    }
    let head = head(spec, program)?;
    let tiles = frames(spec, chains);
    let end = spec.memory.megabytes << 20;
    let headers = headers(spec, &placement);
    let table = tiles * FRAME_BYTES;
    let kept_from = (table + 4 * headers.len() as u32).next_multiple_of(LINE_BYTES);
    let waiting =
        kept_from + owner.map_or(0, |_| tile::room(spec.chip.rows).next_multiple_of(LINE_BYTES));
    let all_queues = spec
        .mapping
        .queues
        .as_ref()
        .map_or(0, |queues| queues.tiles.len() as u64 * u64::from(queues.memory(&spec.chip)));
    let first = u32::try_from(u64::from(waiting) + all_queues).ok().filter(|first| *first < end);
    let first = first.ok_or_else(|| {
        whole(format!(
            "the queues do not fit the memory of {} MB: make `mapping.queues.bytes` smaller",
            spec.memory.megabytes
        ))
    })?;
    let memories = Memories { first, end, tiles, has_rest: head.is_some() };
    let mut layout: Layout<'_> = tile::place(program, store, memories)?;
    // Memory contents are not part of the code.
    let images = std::mem::take(&mut layout.images);
    let key = format!("{layout:?}");
    layout.images = images;
    let kept = before.filter(|before| before.key == key).map(Compiled::code);
    let code = match kept {
        Some(code) => code,
        None => new_code(spec, program, &layout, &placement, [tiles, kept_from, waiting])?,
    };
    let (places, mut images) = (layout.places(), layout.images);
    images.push((table, headers));
    let Code { text, image, needs, stages } = code;
    let turn = owner.map(|_| (tiles - 1) * FRAME_BYTES + tile::TURN);
    Ok(Compiled { text, image, needs, places, images, stages, head, turn, key })
}

/// Generates, assembles and proves the code of all tiles and switches. The array has the number of
/// tiles with a frame, and the addresses of the state owner's state and of the queues' memory.
fn new_code(
    spec: &MachineSpec,
    program: &Program,
    layout: &Layout<'_>,
    placement: &Placement,
    [tiles, kept, waiting]: [u32; 3],
) -> Result<Code, Vec<Refused>> {
    let of_state_owner = spec
        .mapping
        .state_owner
        .map(|_| tile::generate_state_owner(program, layout, tiles - 1, kept, latencies(spec)));
    let of_state_owner = of_state_owner.transpose()?;
    let rest = Rest { of_state_owner, of_queues: queues(spec, layout, placement, waiting) };
    let code = |has_fast_ways| {
        let style = Style { has_fast_ways, latencies: latencies(spec) };
        code(spec, program, layout, placement, &rest, style)
    };
    // Code without fast ways has fewer instructions.
    code(true).or_else(|_| code(false))
}

/// Returns the limit on the bytes of a packet that go to the tiles, if the tails of longer packets
/// go around them. Steps can touch only these bytes.
fn head(spec: &MachineSpec, program: &Program) -> Result<Option<u32>, Vec<Refused>> {
    let Some(rest) = &spec.mapping.rest else { return Ok(None) };
    let twice = tile::head::sends_twice(program);
    if rest.is_switched()
        && let Some(step) = twice
    {
        let message = format!(
            "step `{step}` sends a packet and goes on (`emit`), and switches let one rest pass before each message \
             of a stage: say `network = \"memory\"` in `mapping.rest`"
        );
        return Err(vec![Refused { offload: None, step: Some(step.to_owned()), message }]);
    }
    if spec.mapping.outputs == Outputs::Egress
        && let Some(step) = twice
    {
        let message = format!(
            "step `{step}` sends a packet and goes on (`emit`), and what leaves next may be at another port \
             before it, where the card would give up the rest (`mapping.rest`): say `outputs = \"chain\"` or \
             leave out one of them"
        );
        return Err(vec![Refused { offload: None, step: Some(step.to_owned()), message }]);
    }
    let words = rest.words.max(tile::head::words(program)?);
    Ok(Some(tile::head::bytes(words)))
}

/// Returns the latencies of the processors.
fn latencies(spec: &MachineSpec) -> Latencies {
    let tile = &spec.chip.tile;
    Latencies { load: tile.load_cycles, multiply: tile.multiply_cycles, divide: tile.divide_cycles }
}

/// Returns the number of tiles that have a frame. The state owner has the last frame.
fn frames(spec: &MachineSpec, chains: &[Chain]) -> u32 {
    let tiles: usize = chains.iter().map(|chain| chain.tiles.len()).sum();
    (tiles + usize::from(spec.mapping.state_owner.is_some())) as u32
}

/// Programs of tiles that execute no steps.
struct Rest {
    /// The program of the state owner.
    of_state_owner: Option<String>,
    /// The programs of queues, with their switches.
    of_queues: String,
}

struct Code {
    text: String,
    image: Image,
    needs: Needs,
    stages: Vec<Stages>,
}

fn code(
    spec: &MachineSpec,
    program: &Program,
    layout: &Layout<'_>,
    placement: &Placement,
    rest: &Rest,
    style: Style,
) -> Result<Code, Vec<Refused>> {
    let chains = &placement.chains;
    let room = spec.chip.tile.instruction_words as usize;
    let engine = &program.engines[program.main.index()];
    let (mut text, mut needs, mut all) = (String::new(), Needs::default(), Vec::new());
    let mut tile = 0;
    for (number, chain) in chains.iter().enumerate() {
        let ports = ports(spec, placement, number);
        let stages = stages_of(spec, program, layout, chain.tiles.len())?;
        for ((place, (from, to)), (stage, turn)) in
            chain.tiles.iter().zip(&chain.sides).zip(turns(&stages))
        {
            let reach = Reach {
                ports,
                state_owner: state_owner(spec, *place),
                hop: hop(spec, chain, *place),
            };
            let code = tile::generate(program, layout, tile, &stages, stage, style, reach)?;
            tile += 1;
            needs = code.needs;
            let (x, y) = place;
            let _ = write!(text, ".tile {x} {y}\n{}", code.text);
            if spec.mapping.links == Link::General {
                continue;
            }
            let _ = writeln!(text, ".switch {x} {y}");
            let turns = |is_at: bool, side: fn(&Branch) -> Side| -> Vec<Turn> {
                let turn = |one: &Branch| Turn { side: letter(side(one)), messages: one.messages };
                chain.branches.iter().filter(|_| is_at).map(turn).collect()
            };
            let (from, to) = (letter(*from), letter(*to));
            let sends = ports.is_none() || stage + 1 < stages.count;
            let switch = Switch {
                from,
                to: sends.then_some(to),
                own: turn,
                tiles: stages.tiles[stage],
                is_first: stage == 0,
                rest: rest_way(placement, number, *place),
                handed_on: &turns(stage == 0, |branch| branch.first),
                taken_in: &turns(stage + 1 == stages.count, |branch| branch.last),
            };
            text += &switch.schedule();
        }
        all.push(stages);
    }
    for (way, chain) in placement.ways.iter().zip(chains) {
        for ((x, y), from, to) in way.iter().filter(|(tile, ..)| !chain.tiles.contains(tile)) {
            let schedule = tile::hand_on(letter(*from), letter(*to));
            let _ = write!(text, ".switch {x} {y}\n# Rests on their way to a memory.\n{schedule}");
        }
    }
    if let (Some((x, y)), Some(of_state_owner)) = (spec.mapping.state_owner, &rest.of_state_owner) {
        let _ = write!(text, ".tile {x} {y}\n{of_state_owner}");
    }
    text += &rest.of_queues;
    let image = asm::assemble("engine.rasm", &text).map_err(|refused| {
        whole(format!("engine {} does not fit a tile: {}", engine.name, refused.render()))
    })?;
    prove(&spec.chip, &image, placement, &spec.mapping)
        .map_err(|why| whole(format!("the schedules of switches are wrong: {why}")))?;
    if let Some(place) = spec.mapping.state_owner {
        let words = image.of(place).0.len();
        if words > room {
            return Err(whole(format!(
                "the calls of state do not fit tile {place:?}, the state owner: they need {words} \
                 instructions, and there is room for {room}"
            )));
        }
    }
    for place in spec.mapping.queues.iter().flat_map(|queues| &queues.tiles) {
        let words = image.of(*place).0.len();
        if words > room {
            return Err(whole(format!(
                "a queue does not fit tile {place:?}: it needs {words} instructions, and there is \
                 room for {room}"
            )));
        }
    }
    for (chain, stages) in chains.iter().zip(&all) {
        for (place, (stage, _)) in chain.tiles.iter().zip(turns(stages)) {
            let words = image.of(*place).0.len();
            if words > room {
                let steps = engine.steps.iter().zip(&stages.of);
                let first = steps.filter(|(_, of)| **of == stage).map(|(step, _)| step).next();
                let step = first.map(|step| step.name.clone());
                let message = format!(
                    "the steps from `{}` on do not fit tile {place:?}: they need {words} \
                     instructions, and there is room for {room}; put them on more tiles",
                    step.as_deref().unwrap_or_default()
                );
                return Err(vec![Refused { offload: None, step, message }]);
            }
        }
    }
    Ok(Code { text, image, needs, stages: all })
}

/// Returns the side to which the switch of a chain's tile sends packet tails, if tails pass it.
fn rest_way(placement: &Placement, chain: usize, tile: Place) -> Option<RestWay> {
    let way = placement.ways.get(chain)?;
    let at = way.iter().position(|(own, ..)| *own == tile)?;
    let next = way.get(at + 1).map(|(next, ..)| next);
    let is_counted = next.is_some_and(|next| placement.chains[chain].tiles.contains(next));
    Some(RestWay { to: letter(way[at].2), is_counted })
}

/// Returns the header of messages from a tile to the device at a port.
fn to_device(origin: Place, (destination, side): Edge) -> u32 {
    Header { last: 1 + side as u8, origin, destination, ..Header::default() }.word()
}

/// Returns the headers of messages from the last tile of each chain to each port, or to the queue
/// at that port.
fn headers(spec: &MachineSpec, placement: &Placement) -> Vec<u32> {
    if spec.mapping.outputs == Outputs::Chain {
        return Vec::new();
    }
    let all = |from: &Chain| {
        let origin = from.last();
        let header = move |port: &Edge| match spec.mapping.queues {
            None => to_device(origin, *port),
            Some(_) => Header { origin, destination: port.0, ..Header::default() }.word(),
        };
        placement.ports.iter().map(header)
    };
    placement.chains.iter().flat_map(all).collect()
}

/// Returns the header of messages to the next tile of a chain, if they go over the general network.
/// The last tile sends none.
fn hop(spec: &MachineSpec, chain: &Chain, origin: Place) -> Option<u32> {
    let next = chain.tiles.iter().skip_while(|tile| **tile != origin).nth(1);
    let destination = *next.unwrap_or(&origin);
    let header = Header { origin, destination, ..Header::default() };
    (spec.mapping.links == Link::General).then(|| header.word())
}

/// Returns the state owner as a tile addresses it.
fn state_owner(spec: &MachineSpec, origin: Place) -> Option<StateOwner> {
    let header = |destination| Header { origin, destination, ..Header::default() }.word();
    spec.mapping.state_owner.map(|owner| StateOwner { header: header(owner) })
}

/// Returns the programs of queues, whose memory begins at an address.
fn queues(spec: &MachineSpec, layout: &Layout<'_>, placement: &Placement, first: u32) -> String {
    let Some(queues) = &spec.mapping.queues else { return String::new() };
    let mut text = String::new();
    for (number, (place, side)) in (0..).zip(&placement.ports) {
        let queue = Queue {
            base: first + number * queues.memory(&spec.chip),
            rows: spec.chip.rows,
            bytes: queues.bytes,
            port: to_device(*place, (*place, *side)),
            has_beside: layout.has_rest,
            ready: queues.ready,
            network: queues.network,
        };
        let (x, y) = place;
        let program = queue.program();
        let _ = write!(
            text,
            ".tile {x} {y}\n# The queue of port {number}, written by Wireloom.\n{program}"
        );
        if let Some(schedule) = Queue::schedule(letter(*side), queues.ready, queues.network) {
            let _ = write!(text, ".switch {x} {y}\n{schedule}");
        }
    }
    text
}

/// Returns the ports at which the packets of a chain leave, if they do not leave at the chain's own
/// port.
fn ports(spec: &MachineSpec, placement: &Placement, number: usize) -> Option<Ports> {
    let card = placement.card_of(number);
    // Packets of the other chains of a card leave from the last tile of the first chain.
    if spec.mapping.outputs == Outputs::Chain || placement.cards[card].chains[0] != number {
        return None;
    }
    let tiles = frames(spec, &placement.chains);
    let count = placement.ports.len() as u32;
    Some(Ports {
        count,
        table: tiles * FRAME_BYTES + 4 * number as u32 * count,
        own: to_device(placement.chains[number].last(), placement.ports[placement.own(card)]),
    })
}

/// Returns the stage of each tile of a chain, and the tile's index within the stage.
pub fn turns(stages: &Stages) -> impl Iterator<Item = (usize, usize)> + '_ {
    let of = |(stage, tiles): (usize, &usize)| (0..*tiles).map(move |turn| (stage, turn));
    stages.tiles.iter().enumerate().flat_map(of)
}

fn whole(message: String) -> Vec<Refused> {
    vec![Refused { offload: None, step: None, message }]
}

/// Returns the stages of a chain of tiles: from the description, or from the best cut of the steps.
fn stages_of(
    spec: &MachineSpec,
    program: &Program,
    layout: &Layout<'_>,
    tiles: usize,
) -> Result<Stages, Vec<Refused>> {
    let engine = &program.engines[program.main.index()];
    let (one, has_state_owner) = (Stages::one(engine), spec.mapping.state_owner.is_some());
    let tiles = spec.mapping.stages(tiles);
    if tiles.len() > 1 && engine.steps.len() > STEPS {
        let steps = engine.steps.len();
        return Err(whole(format!(
            "{steps} steps are not supported on several tiles: the limit is {STEPS}"
        )));
    }
    let given = &spec.mapping.steps;
    if given.is_empty() {
        // The last tile is busy enough if it sends packets to all ports.
        let sends = spec.mapping.outputs == Outputs::Egress && tiles.len() > 1;
        let working = &tiles[..tiles.len() - usize::from(sends)];
        let stages = if let [_] = working {
            one
        } else {
            let style = Style { has_fast_ways: true, latencies: latencies(spec) };
            let code = tile::generate(program, layout, 0, &one, 0, style, Reach::default())?;
            let sizes: Vec<usize> = code.steps.iter().map(|(_, size)| *size).collect();
            Stages::cut(program, &sizes, working, has_state_owner)
        };
        // Tiles without steps pass packets on.
        let stages = Stages { of: stages.of, count: tiles.len(), tiles };
        stages.check(program, has_state_owner)?;
        return Ok(stages);
    }
    let mut of = Vec::new();
    for step in &engine.steps {
        // The parts of a step that was split stay with it.
        let name = step.name.split('.').next().unwrap_or_default();
        let names = |steps: &Vec<String>| steps.iter().any(|own| *own == step.name || own == name);
        let stage = given.iter().position(names).ok_or_else(|| {
            vec![Refused {
                offload: None,
                step: Some(step.name.clone()),
                message: format!(
                    "step `{}` is not mapped to a tile: `mapping.steps` of {} does not name it",
                    step.name, spec.name
                ),
            }]
        })?;
        of.push(stage);
    }
    if of.first().is_some_and(|stage| *stage != 0) {
        let name = &engine.steps[0].name;
        return Err(whole(format!("step `{name}` begins, so it must be on the first tile")));
    }
    let stages = Stages { of, count: tiles.len(), tiles };
    stages.check(program, has_state_owner)?;
    Ok(stages)
}

/// Returns the letter of a side in the names of switch ports.
fn letter(side: Side) -> char {
    match side {
        Side::North => 'N',
        Side::East => 'E',
        Side::South => 'S',
        Side::West => 'W',
    }
}
