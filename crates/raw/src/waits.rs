//! The wait graph of a chip.

use wireloom_sim::wait_graph::WaitGraph;

use crate::chip::Chip;
use crate::switch::Block;

/// Returns the waits of all units.
pub(crate) fn of(chip: &Chip, now: u64) -> WaitGraph {
    let mut waits = WaitGraph::default();
    let (layout, queues) = (&chip.layout, &chip.queues);
    let mut found: Vec<(String, Block)> = Vec::new();
    let mut add = |who, block| found.push((who, block));
    for (tile, processor) in chip.tiles.iter().enumerate() {
        if let Some(block) = processor.block(layout, queues, now) {
            add(layout.processor(tile), block);
        }
    }
    for (tile, switch) in chip.switches.iter().enumerate() {
        if let Some(block) = switch.block(queues, now) {
            add(layout.mover(tile, 0), block);
        }
    }
    for (port, device) in chip.devices.iter().enumerate() {
        let Some((network, is_read)) = device.as_ref().and_then(|device| device.waits_for()) else {
            continue;
        };
        let (tile, side) = layout.ports[port];
        let block = if is_read {
            Block::Empty(layout.to_device(port, network as usize))
        } else {
            Block::Full(layout.input(tile, network as usize, side))
        };
        add(layout.device_end(port, network as usize), block);
    }
    for (tile, routers) in chip.routers.iter().enumerate() {
        for (network, router) in (2..).zip(routers) {
            for (input, block) in router.blocks(layout, queues, now) {
                let who = layout.mover_from(tile, network, input);
                match block {
                    Ok(block) => add(who, block),
                    Err(holder) => {
                        let holder = layout.mover_from(tile, network, holder);
                        waits.add(who, holder, "its output");
                    }
                }
            }
        }
    }
    for (who, block) in found {
        let ((from, to), queue_is_empty) = match block {
            Block::Empty(queue) => (layout.parties(queue), true),
            Block::Full(queue) => (layout.parties(queue), false),
        };
        match queue_is_empty {
            true => waits.add(who, from, "a word"),
            false => waits.add(who, to, "room"),
        }
    }
    waits
}
