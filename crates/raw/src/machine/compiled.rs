//! Engines in Loom C on the chip: programs of tiles, schedules of switches, tables in memory.

use std::fmt::Write;

use wireloom_codegen::tile::{self, FRAME_BYTES, Layout, Memories, Needs, Refused};
use wireloom_ir::Program;
use wireloom_offloads::Store;

use super::mapping::MachineSpec;
use crate::Side;
use crate::asm::{self, Program as Image};

/// An engine for a chip.
pub struct Compiled {
    /// The text of all tiles and switches, and what it is assembled to.
    pub text: String,
    pub image: Image,
    /// What packets bring with them.
    pub needs: Needs,
    /// Where the offloads of each instance of an engine are.
    pub places: Vec<Vec<tile::Place>>,
    /// What is in memory at the start.
    pub images: Vec<(u32, Vec<u32>)>,
}

/// Bytes of memory from one tile's frame to the next: they begin in different sets of caches.
const FRAME: u32 = FRAME_BYTES.next_multiple_of(0x1000);

/// Compiles an engine with the contents of its tables.
///
/// # Errors
/// What has no place.
pub fn compile(
    spec: &MachineSpec,
    program: &Program,
    store: &Store,
) -> Result<Compiled, Vec<Refused>> {
    let engine = &program.engines[program.main.index()];
    let whole = |message: String| vec![Refused { offload: None, step: None, message }];
    let (lanes, _) = spec.lanes().map_err(whole)?;
    let frames: u32 = lanes.iter().map(|lane| lane.tiles.len() as u32).sum();
    let memories = Memories { first: frames * FRAME, end: spec.memory.megabytes << 20 };
    let layout: Layout<'_> = tile::layout::place(program, store, memories)?;
    let mut text = String::new();
    let mut needs = Needs::default();
    let room = spec.chip.tile.instruction_words as usize;
    for (number, (lane, place)) in
        lanes.iter().flat_map(|lane| lane.tiles.iter().map(move |place| (lane, place))).enumerate()
    {
        let code = tile::generate(program, &layout, number as u32 * FRAME)?;
        needs = code.needs;
        let (x, y) = *place;
        let words = code.instructions();
        if words > room {
            let largest = code.steps.iter().max_by_key(|(_, words)| *words);
            let step = largest.map(|(name, _)| name.clone());
            let message = format!(
                "engine {} has no place in a tile: its steps need {words} instructions, the \
                 largest of them `{}`, and there is room for {room}",
                engine.name,
                step.as_deref().unwrap_or_default(),
            );
            return Err(vec![Refused { offload: None, step, message }]);
        }
        let (from, to) = (letter(lane.sides[0].0), letter(lane.sides[0].1));
        let _ = write!(text, ".tile {x} {y}\n{}.switch {x} {y}\n", code.text);
        text += &tile::schedule(from, to);
    }
    let image = asm::assemble("engine.rasm", &text).map_err(|refused| {
        whole(format!("engine {} has no place in a tile: {}", engine.name, refused.render()))
    })?;
    Ok(Compiled { text, image, needs, places: layout.places(), images: layout.images })
}

/// A side in the names of switches' ports.
fn letter(side: Side) -> char {
    match side {
        Side::North => 'N',
        Side::East => 'E',
        Side::South => 'S',
        Side::West => 'W',
    }
}
