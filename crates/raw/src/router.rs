//! Routers of the dynamic networks: wormhole, columns first, round robin among inputs.

use wireloom_machine::counted;

use crate::layout::{ENDS, Layout, PROCESSOR};
use crate::message::Header;
use crate::queue::Queue;
use crate::switch::Block;

/// The sides by their numbers.
const SIDES: [&str; 4] = ["north", "east", "south", "west"];

/// A message at an input.
#[derive(Clone, Copy, Debug)]
struct Message {
    output: usize,
    /// The first cycle in which its header can move.
    ready_at: u64,
    /// The number of words after the next one to move.
    after: u8,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Router {
    tile: usize,
    network: usize,
    messages: [Option<Message>; ENDS],
    /// The input that holds each output until its message has passed.
    holders: [Option<usize>; ENDS],
    /// The input with priority for each output.
    first: [usize; ENDS],
    pub moved: u64,
    /// The number of messages that got an output.
    pub granted: u64,
}

impl Router {
    pub fn new(tile: usize, network: usize) -> Self {
        Self { tile, network, ..Self::default() }
    }

    /// Acts for a cycle. Returns whether a word moved. `attached` has the ports with devices.
    ///
    /// # Errors
    /// If the destination of a message does not exist: its words would stay in a queue without a
    /// reader.
    pub fn cycle(
        &mut self,
        layout: &Layout,
        attached: &[bool],
        queues: &mut [Queue],
        now: u64,
        turn: u64,
    ) -> Result<bool, String> {
        let base = layout.input(self.tile, self.network, 0);
        if queues[base..base + ENDS].iter().all(Queue::is_empty) {
            return Ok(false);
        }
        for input in 0..ENDS {
            if self.messages[input].is_none()
                && let Some(word) = queues[base + input].front(now)
            {
                let header = Header::of(word);
                let output = self.output(layout, header);
                self.check(layout, attached, header, output)?;
                let is_turn = input < 4 && output < 4 && (input ^ output) & 1 == 1;
                let ready_at = now + if is_turn { turn } else { 0 };
                self.messages[input] = Some(Message { output, ready_at, after: header.length });
            }
        }
        let mut moves = false;
        for output in 0..ENDS {
            let Some(input) = self.holders[output].or_else(|| self.grant(output, now)) else {
                continue;
            };
            let queue = layout.output(self.tile, self.network, output);
            let Some(word) = queues[base + input].front(now) else { continue };
            if !queues[queue].has_room(now) {
                continue;
            }
            queues[base + input].pop(now);
            queues[queue].push(word, now);
            self.moved += 1;
            moves = true;
            let Some(message) = &mut self.messages[input] else { continue };
            self.granted += u64::from(self.holders[output].is_none());
            if message.after == 0 {
                (self.messages[input], self.holders[output]) = (None, None);
                self.first[output] = (input + 1) % ENDS;
            } else {
                message.after -= 1;
                self.holders[output] = Some(input);
            }
        }
        Ok(moves)
    }

    /// Checks that a message goes to a tile of the chip, and to a device if it leaves there. The
    /// first router of a message, at its sender, detects a wrong tile.
    fn check(
        &self,
        layout: &Layout,
        attached: &[bool],
        header: Header,
        output: usize,
    ) -> Result<(), String> {
        let Layout { columns, rows, .. } = *layout;
        let Header { origin, destination: (x, y), length, .. } = header;
        let words = counted(length.into(), "word");
        let message = format_args!("the message from ({},{}) with {words}", origin.0, origin.1);
        if usize::from(x) >= columns || usize::from(y) >= rows {
            return Err(format!(
                "{message} goes to tile ({x},{y}), which a chip of {columns} x {rows} does not have"
            ));
        }
        let is_there = usize::from(y) * columns + usize::from(x) == self.tile;
        let Some(side) = SIDES.get(output).filter(|_| is_there) else { return Ok(()) };
        match layout.port(self.tile, output) {
            Some(port) if attached[port] => Ok(()),
            _ => Err(format!("{message} leaves the chip on the {side} side, where no device is")),
        }
    }

    /// Whether all messages at inputs wait only for queues: no header is still turning.
    pub fn waits_for_queues(&self, now: u64) -> bool {
        self.messages.iter().flatten().all(|message| message.ready_at <= now)
    }

    /// Returns the input whose message gets a free output.
    fn grant(&self, output: usize, now: u64) -> Option<usize> {
        let wants = |input: &usize| {
            self.messages[*input]
                .is_some_and(|message| message.output == output && message.ready_at <= now)
        };
        (0..ENDS).map(|number| (self.first[output] + number) % ENDS).find(wants)
    }

    /// Returns the end to which a message goes: along its row to its column, then along the column
    /// to its tile, then to the final side if it is at the edge of the chip, else to the processor.
    pub fn output(&self, layout: &Layout, header: Header) -> usize {
        let (x, y) = (self.tile % layout.columns, self.tile / layout.columns);
        let (to_x, to_y) = header.destination;
        match (usize::from(to_x).cmp(&x), usize::from(to_y).cmp(&y)) {
            (std::cmp::Ordering::Greater, _) => 1,
            (std::cmp::Ordering::Less, _) => 3,
            (_, std::cmp::Ordering::Greater) => 2,
            (_, std::cmp::Ordering::Less) => 0,
            _ => match usize::from(header.last) {
                last @ 1..=4 if layout.neighbour(self.tile, last - 1).is_none() => last - 1,
                _ => PROCESSOR,
            },
        }
    }

    /// Returns each waiting message as its input, and the queue or input that blocks it. An input
    /// blocks it by holding its output.
    pub fn blocks(
        &self,
        layout: &Layout,
        queues: &[Queue],
        now: u64,
    ) -> Vec<(usize, Result<Block, usize>)> {
        let base = layout.input(self.tile, self.network, 0);
        let mut blocks = Vec::new();
        for (input, message) in self.messages.iter().enumerate() {
            let Some(message) = message else { continue };
            let queue = layout.output(self.tile, self.network, message.output);
            match self.holders[message.output] {
                Some(holder) if holder != input => blocks.push((input, Err(holder))),
                _ if queues[base + input].front(now).is_none() => {
                    blocks.push((input, Ok(Block::Empty(base + input))));
                }
                _ if !queues[queue].has_room(now) => blocks.push((input, Ok(Block::Full(queue)))),
                _ => {}
            }
        }
        blocks
    }
}
