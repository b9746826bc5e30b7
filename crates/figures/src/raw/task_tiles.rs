//! The tasks of Table 2 in compiled code: an engine with the tasks as steps, each on its own tile.
//! A tile receives a packet, executes its step, and sends the packet on.

use std::collections::VecDeque;
use std::path::Path;

use serde::Serialize;
use wireloom_ir::{Execute, Golden, Output, Verdict};
use wireloom_isa::raw::tile::{self, Instruction};
use wireloom_machine::{Error, Machine, Options, Program, Result, Source};
use wireloom_net::Frame;
use wireloom_raw::asm::{Labels, assemble_with_labels};
use wireloom_raw::dir24::Route;
use wireloom_raw::mapper::{MachineSpec, Mapping};
use wireloom_raw::routers::store;
use wireloom_raw::{Chip, Raw, TileCycles, Work};

use super::cycles::Cycles;
use super::tiled;

/// The tiles with their steps. The first is next to the memory, as in the paper's routers.
const TILES: [((u8, u8), &[&str]); 4] = [
    ((3, 3), &["lookup"]),
    ((2, 3), &["check", "options"]),
    ((1, 3), &["rewrite"]),
    ((0, 3), &["send"]),
];
/// Packets of a tile before the counted ones: the cache has this number of lines.
const BEFORE: usize = 1100;
/// The number of counted packets.
const COUNTED: usize = 200;
/// Packets that the chip has at a time: enough that one waits at its port.
const INSIDE: usize = 16;

/// The cycles of a tile per packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Task {
    /// Receiving the packet into the tile's memory.
    pub comes: Cycles,
    /// Executing the step.
    pub step: Cycles,
    /// Sending the packet.
    pub leaves: Cycles,
}

/// A part of a tile's program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    Comes,
    Step,
    Leaves,
}

impl Task {
    fn part(&mut self, part: Part) -> &mut Cycles {
        match part {
            Part::Comes => &mut self.comes,
            Part::Step => &mut self.step,
            Part::Leaves => &mut self.leaves,
        }
    }

    /// The sum of all parts.
    pub fn all(&self) -> Cycles {
        self.comes + self.step + self.leaves
    }
}

/// The program of a tile: its instructions, each with its part.
struct Code {
    instructions: Vec<(Instruction, Part)>,
    begin: u32,
}

impl Code {
    fn new(words: &[u32], labels: &Labels, place: (u8, u8)) -> Result<Self> {
        let address = |name: &str| labels.get(&(place, name.to_owned())).copied();
        let known = |name: &str| {
            address(name).ok_or_else(|| Error::new(format!("tile {place:?} has no label {name}")))
        };
        let begin = known("begin")?;
        // The parts of a program are consecutive: rows that send, code that receives, code that
        // sends, the row that receives, and steps.
        let (leaves, comes) = (known("finish")?, known("take_row")?);
        let steps = labels
            .iter()
            .filter(|((of, name), _)| *of == place && name.starts_with("engine0_step"));
        let steps = steps.map(|(_, at)| *at).min().unwrap_or(u32::MAX);
        let part = |at: u32| match at {
            _ if at >= steps => Part::Step,
            _ if at >= comes || (begin..leaves).contains(&at) => Part::Comes,
            _ => Part::Leaves,
        };
        let instructions = (0..).step_by(4).zip(words).map(|(at, word)| {
            let decoded = tile::decode(*word).map_err(|error| Error::new(error.to_string()))?;
            Ok((decoded, part(at)))
        });
        Ok(Self { instructions: instructions.collect::<Result<_>>()?, begin })
    }
}

/// A tile under observation.
struct Watch {
    place: (u8, u8),
    code: Code,
    /// The current address, and the account so far.
    at: u32,
    spent: TileCycles,
    packets: usize,
    task: Task,
}

impl Watch {
    fn is_done(&self) -> bool {
        self.packets > BEFORE + COUNTED
    }

    /// Observes the tile after a cycle.
    fn look(&mut self, chip: &Chip) {
        let (from, before) = (self.at, self.spent);
        (self.at, self.spent) = (chip.program_counter(self.place), chip.spent(self.place).0);
        if (BEFORE + 1..=BEFORE + COUNTED).contains(&self.packets)
            && let Some((instruction, part)) = self.code.instructions.get((from / 4) as usize)
        {
            let mut work = Work::default();
            work.add(instruction, self.spent.executed - before.executed);
            let cycles = Cycles::new(&work, &self.spent) - Cycles::new(&Work::default(), &before);
            *self.task.part(*part) += cycles;
        }
        self.packets += usize::from(self.at == self.code.begin && from != self.code.begin);
    }
}

/// The engine of programs/raw/ipv4-tasks.loom, and the machine with a tile for each step.
pub struct Tiles {
    program: Program,
    spec: MachineSpec,
}

impl Tiles {
    /// Compiles the engine.
    ///
    /// # Errors
    /// If programs/raw/ipv4-tasks.loom is not below the root.
    pub fn new(root: &Path) -> Result<Self> {
        let program = Source::of(root.join("programs/raw/ipv4-tasks.loom")).compiled()?;
        let spec = tiled("raw")?;
        let mapping = Mapping {
            chains: vec![TILES.map(|(place, _)| place).to_vec()],
            steps: TILES
                .map(|(_, steps)| steps.iter().map(|step| (*step).to_owned()).collect())
                .to_vec(),
            ..Mapping::default()
        };
        Ok(Self { program, spec: MachineSpec { mapping, ..spec } })
    }

    /// Returns each tile's mean cycles per packet under full load. The packets are played
    /// repeatedly, and each is compared with golden.
    ///
    /// # Errors
    /// If the engine does not fit, or a packet leaves other than as golden sends it.
    pub fn measure(&self, packets: &[Vec<u8>], routes: &[Route]) -> Result<[Task; 4]> {
        let store = store(&self.program, routes)?;
        let optimised = &self.program.optimised;
        let mut machine = Raw::start(&self.spec, optimised, store.clone(), &Options::default())?;
        let (image, labels) = assemble_with_labels("engine.rasm", machine.source())
            .map_err(|refused| Error::new(refused.render()))?;
        let watch = |(place, _)| {
            let code = Code::new(image.of(place).0, &labels, place)?;
            let (at, spent, packets, task) = (0, TileCycles::default(), 0, Task::default());
            Ok(Watch { place, code, at, spent, packets, task })
        };
        let mut watches = TILES.map(watch).into_iter().collect::<Result<Vec<_>>>()?;
        let mut golden = Golden::new(optimised.clone(), store);
        let mut wanted: VecDeque<(Verdict, Vec<u8>)> = VecDeque::new();
        let mut wrong = None;
        let mut all = packets.iter().cycle();
        let mut inside = 0;
        while watches.iter().any(|watch| !watch.is_done()) {
            let mut check = |output: Output<'_>| {
                let left = (output.verdict, output.bytes.to_vec());
                if wanted.pop_front().as_ref() != Some(&left) {
                    wrong.get_or_insert(output.sequence);
                }
            };
            inside -= machine.advance(1, &mut check)?.taken.len();
            watches.iter_mut().for_each(|watch| watch.look(machine.chip()));
            while inside < INSIDE {
                let bytes = all.next().ok_or_else(|| Error::new("there are no packets"))?;
                let frames = [Frame { bytes, ingress: 0, arrival_ns: 0 }];
                golden.offer(&frames, &mut |output| {
                    wanted.push_back((output.verdict, output.bytes.to_vec()));
                });
                machine.offer(&frames, &mut |_| ())?;
                inside += 1;
            }
            if let Some(number) = wrong {
                let message = format!("packet {number} leaves the tiles otherwise than golden");
                return Err(Error::new(message));
            }
        }
        let mut tasks = watches.into_iter().map(|watch| {
            let Task { comes, step, leaves } = watch.task;
            let [comes, step, leaves] = [comes, step, leaves].map(|sum| sum.per(COUNTED as u64));
            Task { comes, step, leaves }
        });
        Ok(std::array::from_fn(|_| tasks.next().unwrap_or_default()))
    }
}
