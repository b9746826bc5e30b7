//! Results of a run of a program written by hand.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::Serialize;
use wireloom_machine::{Line, Part, Record, thousands};
use wireloom_sim::stats;

use super::ByHand;
use crate::device::Memory;
use crate::energy;
use crate::machine::report::Tile;

/// The summary of a run. Rates cover the cycles until the last packet left. All other values cover
/// the whole run.
#[derive(Debug, Serialize)]
struct Values {
    time_us: f64,
    cycles: u64,
    /// The cycle in which the last packet left.
    last_left: u64,
    /// Packets that arrived; `sent` counts packets that left by a port.
    packets: u64,
    sent: u64,
    /// Packets that were lost because a buffer was full.
    lost: u64,
    /// Packets that left by each port.
    sent_by_port: Vec<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    line_cycles_stood: Option<u64>,
    mpps: f64,
    gbps: f64,
    tile_cycles_a_second: f64,
    /// The mean power, and the total energy divided by the number of packets that left.
    watts: f64,
    nanojoules_a_packet: f64,
    tiles: BTreeMap<String, Tile>,
    power: stats::Record,
}

/// Returns the record of a run so far.
pub fn of(machine: &ByHand, work: Duration) -> Record {
    let (chip, spec) = (&machine.chip, &machine.spec.chip);
    let cycles = chip.cycles();
    let seconds = cycles as f64 / (f64::from(spec.clock_mhz) * 1e6);
    let busy = machine.last as f64 / (f64::from(spec.clock_mhz) * 1e6);
    let rate = |count: f64| if busy > 0.0 { count / busy } else { 0.0 };
    let each = |total: f64, count: u64| if count == 0 { 0.0 } else { total / count as f64 };
    let account = machine.metering.account(chip);
    let mut tiles = BTreeMap::new();
    for place in (0..spec.rows as u8).flat_map(|y| (0..spec.columns as u8).map(move |x| (x, y))) {
        if machine.programs.has_processor(place, spec.columns as usize) {
            let mut tile = Tile::default();
            tile.add(chip, place);
            tiles.insert(place, tile);
        }
    }
    let parts = tiles.iter().map(|((x, y), tile)| Part {
        kind: format!("tile ({x},{y})"),
        share: each(tile.executed() as f64, cycles),
    });
    let stood: Vec<u64> = machine.inputs().map(|card| card.counts().stalled).collect();
    let is_timed = machine.lines.is_timed();
    let values = Values {
        time_us: seconds * 1e6,
        cycles,
        last_left: machine.last,
        packets: machine.offered,
        sent: machine.left,
        lost: machine.lines.lost_in_all,
        sent_by_port: machine.left_at.clone(),
        line_cycles_stood: is_timed.then(|| stood.iter().sum()),
        mpps: rate(machine.left as f64) / 1e6,
        gbps: rate(8.0 * machine.bytes as f64) / 1e9,
        tile_cycles_a_second: f64::from(spec.columns * spec.rows) * cycles as f64
            / work.as_secs_f64().max(1e-9),
        watts: account.total().mean_watts(account.time()),
        nanojoules_a_packet: each(account.total().as_joules() * 1e9, machine.left),
        tiles: tiles.iter().map(|((x, y), tile)| (format!("{x},{y}"), *tile)).collect(),
        power: account.record(),
    };
    let by_port = machine.left_at.iter().enumerate();
    let by_port: Vec<String> = by_port.map(|(port, count)| format!("{port}: {count}")).collect();
    let mut lines = vec![
        Line::new(
            "cycles",
            format!("{}; the last packet left in {}", thousands(cycles), thousands(machine.last)),
        ),
        Line::new(
            "packets",
            format!("{} came, {} left", thousands(machine.offered), thousands(machine.left)),
        ),
        Line::new("packets out of each port", by_port.join(", ")),
        Line::new(
            "rate",
            format!(
                "{:.3} Mpps, {:.2} Gb/s of packets out; {:.2} words a cycle",
                values.mpps,
                values.gbps,
                each(machine.words_left as f64, machine.last)
            ),
        ),
        Line::new(
            "power",
            account.line(values.watts, values.nanojoules_a_packet, energy::groups(&account)),
        ),
    ];
    let memories = machine.board.memories.iter();
    let memories = memories.filter_map(|((tile, side), _)| chip.device_at::<Memory>(*tile, *side));
    let refused: u64 = memories.map(|memory| memory.refused).sum();
    if refused > 0 {
        let text =
            format!("{}: unknown, too short, or for no address of theirs", thousands(refused));
        lines.push(Line::new("messages that memories dropped", text));
    }
    if is_timed {
        let lost = thousands(machine.lines.lost_in_all);
        lines.push(match machine.lines.buffer {
            Some(room) => Line::new(
                "line cards",
                format!("{lost} packets lost in front of a full buffer; one holds {room}"),
            ),
            None => {
                let each: Vec<String> = stood.into_iter().map(thousands).collect();
                let each = each.join(", ");
                Line::new("line cards", format!("each line stood still for {each} cycles"))
            }
        });
    }
    Record { lines, bars: Vec::new(), parts: parts.collect(), values: Box::new(values) }
}
