//! Totals of events in tiles, switches, networks and memories.

use wireloom_isa::raw::switch::Control;
use wireloom_isa::raw::tile::{Instruction, Op};
use wireloom_isa::raw::{Network, Register};
use wireloom_power::{Account, ByClass};

use super::parts::{ChipPart, QUEUES, REGISTER_PORTS, STATIC, TilePart};
use crate::Chip;
use crate::cache::LINE_WORDS;
use crate::layout::{ENDS, PROCESSOR};
use crate::switch::Switch;
use crate::tile::Tile;

/// The datapath that an instruction uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Datapath {
    Add,
    Logic,
    Shift,
    Multiply,
    Divide,
    /// No datapath: jumps and control instructions.
    None,
}

fn datapath(op: Op) -> Datapath {
    match op {
        Op::Addu | Op::Subu | Op::Addiu | Op::Slt | Op::Sltu | Op::Slti | Op::Sltiu => {
            Datapath::Add
        }
        // Branches compare, memory accesses add up their address.
        Op::Beq | Op::Bne | Op::Bltz | Op::Bgez | Op::Blez | Op::Bgtz => Datapath::Add,
        Op::Lb | Op::Lh | Op::Lw | Op::Lbu | Op::Lhu | Op::Sb | Op::Sh | Op::Sw | Op::Wbinv => {
            Datapath::Add
        }
        Op::And | Op::Or | Op::Xor | Op::Nor | Op::Andi | Op::Ori | Op::Xori | Op::Lui => {
            Datapath::Logic
        }
        Op::Movz | Op::Movn | Op::Clz | Op::Mfhi | Op::Mflo | Op::Mthi | Op::Mtlo => {
            Datapath::Logic
        }
        Op::Mfsr | Op::Mtsr => Datapath::Logic,
        Op::Sll | Op::Srl | Op::Sra | Op::Sllv | Op::Srlv | Op::Srav => Datapath::Shift,
        Op::Mult | Op::Multu | Op::Mul => Datapath::Multiply,
        Op::Div | Op::Divu => Datapath::Divide,
        Op::J | Op::Jal | Op::Jr | Op::Jalr | Op::Eret => Datapath::None,
        Op::Halt | Op::Inton | Op::Intoff => Datapath::None,
    }
}

/// Totals of events of a tile processor.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Done {
    /// Instructions by the number of their datapath.
    datapaths: [u64; 6],
    /// Reads of registers; `writes` are writes of registers.
    reads: u64,
    writes: u64,
    /// Loads from the cache; `stores` are stores to it.
    loads: u64,
    stores: u64,
}

impl Done {
    fn add(&mut self, instruction: &Instruction, times: u64) {
        let is_file = |register: &Register| register.network().is_none();
        self.datapaths[datapath(instruction.op) as usize] += times;
        self.reads +=
            times * instruction.read().iter().flatten().filter(|r| is_file(r)).count() as u64;
        let written = instruction.written().filter(|r| is_file(r) && r.0 != 0);
        self.writes += times * u64::from(written.is_some());
        match instruction.op {
            Op::Lb | Op::Lh | Op::Lw | Op::Lbu | Op::Lhu | Op::Wbinv => self.loads += times,
            Op::Sb | Op::Sh | Op::Sw => self.stores += times,
            _ => {}
        }
    }

    fn of(tile: &Tile) -> Self {
        let mut done = Self::default();
        for (instruction, times) in tile.program.iter().zip(&tile.times) {
            done.add(instruction, *times);
        }
        done
    }
}

/// Returns the registers of a switch that were read and written, and the counts that were added to.
fn control(switch: &Switch) -> [u64; 3] {
    let mut totals = [0; 3];
    for (operation, times) in switch.operations() {
        let did = match operation {
            Control::Nop | Control::Halt | Control::Jump => [0, 0, 0],
            Control::Move => [1, 1, 0],
            Control::Set | Control::Receive => [0, 1, 0],
            Control::JumpRegister | Control::Bnez | Control::Beqz => [1, 0, 0],
            Control::Bnezd => [1, 1, 1],
        };
        totals.iter_mut().zip(did).for_each(|(total, did)| *total += times * did);
    }
    totals
}

/// Returns the words that were written into the queues of a tile and network, the words taken from
/// them, and the words that came from neighbours.
fn words(chip: &Chip, tile: usize, network: Network) -> [u64; 3] {
    let first = chip.layout.input(tile, network as usize, 0);
    let queues = &chip.queues[first..=first + ENDS];
    let from_neighbours = queues[..PROCESSOR].iter().enumerate();
    let from_neighbours =
        from_neighbours.filter(|(side, _)| chip.layout.neighbour(tile, *side).is_some());
    [
        queues.iter().map(|queue| queue.written()).sum(),
        queues.iter().map(|queue| queue.passed).sum(),
        from_neighbours.map(|(_, queue)| queue.written()).sum(),
    ]
}

/// Returns the words that crossed all pins.
fn pins(chip: &Chip) -> u64 {
    let layout = &chip.layout;
    let ends = layout.ports.iter().enumerate().flat_map(|(port, (tile, side))| {
        (0..Network::ALL.len()).flat_map(move |network| {
            [layout.input(*tile, network, *side), layout.to_device(port, network)]
        })
    });
    ends.map(|queue| chip.queues[queue].written()).sum()
}

/// Charges the account with a chip's events of `cycles` cycles since reset. The account keeps track
/// of what was charged before.
pub fn charge(account: &mut Account, chip: &Chip, cycles: u64) {
    for (number, (tile, switch)) in chip.tiles.iter().zip(&chip.switches).enumerate() {
        let done = Done::of(tile);
        let [add, logic, shift, multiply, divide, _] = done.datapaths;
        let left = |ports: u64, used: u64| (ports * cycles).saturating_sub(used);
        let mut part =
            |part: TilePart, totals: ByClass<'_, u64>| account.charge_unit(number, part, totals);
        let idle = left(1, add + logic);
        part(TilePart::Alu, &[("add", add), ("logic", logic), ("idle", idle)]);
        part(TilePart::Shifter, &[("shift", shift), ("idle", left(1, shift))]);
        let idle = left(1, multiply + divide);
        part(TilePart::Multiplier, &[("multiply", multiply), ("divide", divide), ("idle", idle)]);
        let Done { reads, writes, loads, stores, .. } = done;
        let idle = left(REGISTER_PORTS, reads + writes);
        part(TilePart::Registers, &[("read", reads), ("write", writes), ("idle", idle)]);
        // Instructions after a mispredicted branch are fetched and dropped.
        let fetched = tile.cycles.executed + tile.cycles.branches;
        part(TilePart::InstructionMemory, &[("fetch", fetched), ("idle", left(1, fetched))]);
        // An access that misses looks the line up twice.
        let (_, misses) = tile.cache_counts();
        let (reads, lines) = (loads + misses, misses + tile.written_back);
        let line_words = lines * LINE_WORDS as u64;
        let idle = left(1, reads + stores + line_words);
        part(
            TilePart::DataCache,
            &[("read", reads), ("write", stores), ("line_word", line_words), ("idle", idle)],
        );
        let fetched = switch.cycles.executed + switch.cycles.branches;
        part(TilePart::SwitchMemory, &[("fetch", fetched), ("idle", left(1, fetched))]);
        let [read, written, added] = control(switch);
        let idle = left(2, read + written);
        part(
            TilePart::SwitchControl,
            &[("read", read), ("write", written), ("add", added), ("idle", idle)],
        );
        let both = [Network::Static1, Network::Static2].map(|network| words(chip, number, network));
        let [into, out, hops] = [0, 1, 2].map(|place| both[0][place] + both[1][place]);
        let idle = left(2 * QUEUES * STATIC, into + out);
        part(
            TilePart::StaticNetworks,
            &[
                ("write", into),
                ("read", out),
                ("route", switch.moved),
                ("hop", hops),
                ("idle", idle),
            ],
        );
        let dynamic = [
            (TilePart::GeneralNetwork, Network::General),
            (TilePart::MemoryNetwork, Network::Memory),
        ];
        for ((key, network), router) in dynamic.into_iter().zip(&chip.routers[number]) {
            let [into, out, hops] = words(chip, number, network);
            let idle = left(2 * QUEUES, into + out);
            part(
                key,
                &[
                    ("write", into),
                    ("read", out),
                    ("route", router.moved),
                    ("hop", hops),
                    ("grant", router.granted),
                    ("idle", idle),
                ],
            );
        }
    }
    account.charge_part(ChipPart::Pins, &[("word", pins(chip))]);
    let (mut rows, mut words, mut memories) = (0, 0, 0);
    for accesses in chip.accesses() {
        rows += accesses.rows;
        words += accesses.words;
        memories += 1;
    }
    let spec = chip.spec();
    let nanoseconds = super::clock(spec).edge(cycles).0 / 1000;
    let refreshes = memories * (nanoseconds / u64::from(spec.power.dram_refresh_ns));
    account.charge_part(
        ChipPart::Dram,
        &[("activate", rows), ("word", words), ("refresh", refreshes)],
    );
}
