//! Programs of tiles and switches that are written by hand: a `.rasm` or `.robj` file, on the board
//! of the machine's description.
//!
//! The machine cannot match outgoing packets to incoming ones: a program may change, drop, copy and
//! reorder packets. So outputs are numbered as they leave. A run ends when all packets have been
//! handed to the chip and no more output is expected.

mod program;
mod record;
mod watch;

use std::collections::VecDeque;
use std::time::Duration;

use wireloom_ir::{Output, Verdict};
use wireloom_machine::watch::Watched;
use wireloom_machine::{
    Error, Machine, Options, Profile, Program, Record, Recordings, Result, Settled, Sink, Snapshot,
    Source, UpdateError, Wanted,
};
use wireloom_net::Frame;
use wireloom_net::packet::MAX_LENGTH;
use wireloom_offloads::{Store, Update};
use wireloom_sim::Time;
use wireloom_sim::stats::Series;

use super::lines::{Coming, Lines};
use super::mapping::MachineSpec;
use super::metering::Metering;
use super::watch::{Events, Programs, located};
use crate::Chip;
use crate::board::{BoardSection, BoardSpec, Framing, LinkHeader};
use crate::chip;
use crate::device::{Delivered, InputCard, OutputCard};

pub use program::is_by_hand;

/// Packets that each card holds before the machine begins to simulate.
const AHEAD: usize = 16;
/// Cycles between two looks at the packets that have left.
const STEP: u64 = 64;
/// The run ends after this many cycles without a word into the chip or out of it while packets wait
/// at cards. No program computes longer for a packet.
const PATIENCE: u64 = 1_000_000;
/// Bytes of the header of [`LinkHeader::Ethernet`].
const ETHERNET: usize = 14;

/// A chip whose program is written by hand.
pub struct ByHand {
    spec: MachineSpec,
    section: BoardSection,
    board: BoardSpec,
    chip: Chip,
    store: Store,
    programs: Programs,
    events: Events,
    lines: Lines,
    metering: Metering,
    series: Option<Series>,
    /// The time of arrival of the first packet. The chip's first cycle is at this time.
    begins_ns: u64,
    offered: u64,
    /// The numbers of packets at each card whose first word has not entered the chip.
    waiting: Vec<VecDeque<u64>>,
    /// Packets that have left and have not been passed on.
    leaving: VecDeque<(u16, Delivered)>,
    passed_on: u64,
    /// Packets that have left, their bytes, and the packets by output.
    left: u64,
    bytes: u64,
    left_at: Vec<u64>,
    /// The cycle in which the last packet left.
    last: u64,
    /// Words of the packets that have left, framed as on networks.
    words_left: u64,
    /// The numbers of packets that cards have lost.
    lost: Vec<u64>,
    /// Words that have entered and left; `since` is the last cycle in which this number changed.
    words: u64,
    since: u64,
    /// Whether no more output is expected.
    is_settled: bool,
}

/// Starts a chip with a program that is written by hand. Also returns a description of the program.
///
/// # Errors
/// If the machine has no board, or a file cannot be read, has errors or does not fit the chip.
pub fn start(
    spec: &MachineSpec,
    source: &Source,
    options: &Options,
) -> Result<(Program, Box<dyn Machine>)> {
    let file = &source.file;
    let Some(section) = spec.board.clone() else {
        let message =
            format!("{}: {} does not say where packets come and leave", file.display(), spec.name);
        return Err(Error::new(message).with_help(
            "write a description with `extends = \"raw\"` and a section [board] (`wireloom docs \
             machines/raw`), and name it by --on FILE.toml",
        ));
    };
    if options.warm > 0 {
        return Err(program::without_effect(file, "--warm")
            .with_help("leave it out: when the first packets are done is not known"));
    }
    let (program, sources) = program::read(source)?;
    let described = program::described(file, &section);
    let store =
        wireloom_ir::store(&described.optimised).map_err(|refused| Error::new(refused.0))?;
    let failed = |error: chip::Error| Error::new(format!("{}: {error}", file.display()));
    let board = section.build(&spec.chip, spec.memory.latency_cycles, spec.memory.outstanding);
    let board = board.map_err(Error::new)?;
    let mut chip = Chip::new(&spec.chip, &program.program).map_err(failed)?;
    board.attach(&mut chip).map_err(failed)?;
    // Runs for no cycles, which finds data that no memory holds.
    chip.run(0).map_err(failed)?;
    let size = (spec.chip.columns as u8, spec.chip.rows as u8);
    let interval = options.interval_ns.map(Time::nanoseconds);
    let machine = ByHand {
        spec: spec.clone(),
        programs: Programs::by_hand(&program, sources, size),
        events: Events::default(),
        lines: Lines::new(options, spec.chip.clock_mhz)?,
        metering: Metering::new(&chip, interval).map_err(Error::new)?,
        series: None,
        begins_ns: 0,
        offered: 0,
        waiting: vec![VecDeque::new(); board.inputs.len()],
        leaving: VecDeque::new(),
        passed_on: 0,
        left: 0,
        bytes: 0,
        left_at: vec![0; board.outputs.len()],
        last: 0,
        words_left: 0,
        lost: Vec::new(),
        words: 0,
        since: 0,
        is_settled: true,
        section,
        board,
        chip,
        store,
    };
    Ok((described, Box::new(machine)))
}

impl ByHand {
    fn input(&self, card: usize) -> Option<&InputCard> {
        let ((tile, side), _) = self.board.inputs[card];
        self.chip.device_at(tile, side)
    }

    fn input_mut(&mut self, card: usize) -> &mut InputCard {
        let ((tile, side), _) = self.board.inputs[card];
        self.chip.device(tile, side).expect("each input of the board has its card")
    }

    fn inputs(&self) -> impl Iterator<Item = &InputCard> {
        (0..self.board.inputs.len()).filter_map(|card| self.input(card))
    }

    fn outputs(&self) -> impl Iterator<Item = &OutputCard> {
        self.board.outputs.iter().filter_map(|((tile, side), _)| self.chip.device_at(*tile, *side))
    }

    /// Takes a packet. Its card gets it at once, or in the cycle of its arrival.
    fn accept(&mut self, frame: &Frame<'_>) -> Result {
        let number = self.offered;
        if number == 0 {
            self.begins_ns = frame.arrival_ns;
        }
        let mut bytes = &frame.bytes[..frame.bytes.len().min(MAX_LENGTH)];
        if self.section.link == LinkHeader::Ethernet {
            bytes = bytes.get(ETHERNET..).filter(|bytes| !bytes.is_empty()).ok_or_else(|| {
                let length = frame.bytes.len();
                let message = format!("packet {number} has {length} bytes: no more than its header");
                Error::new(message).with_help(
                    "line cards take the header of Ethernet off (`board.link`): leave out this packet",
                )
            })?;
        }
        let coming = Coming {
            at: self.lines.at(number, frame),
            number,
            card: usize::from(frame.ingress) % self.board.inputs.len(),
            arrival_ns: frame.arrival_ns,
            ingress: frame.ingress,
            bytes: bytes.to_vec(),
        };
        self.offered += 1;
        self.is_settled = false;
        self.since = self.chip.cycles();
        if self.lines.is_timed() {
            self.lines.coming.push_back(coming);
            self.await_packets(true);
        } else {
            self.enter(coming);
        }
        Ok(())
    }

    /// Tells the cards whether more packets will arrive at given times.
    fn await_packets(&mut self, is_awaiting: bool) {
        (0..self.board.inputs.len())
            .for_each(|card| self.input_mut(card).is_awaiting = is_awaiting);
    }

    fn enter(&mut self, coming: Coming) {
        self.waiting[coming.card].push_back(coming.number);
        self.input_mut(coming.card).offer(coming.bytes);
    }

    /// Hands the packets that have arrived to their cards. A card that is full loses the packet.
    fn arrive(&mut self) {
        let (now, room) = (self.chip.cycles(), self.lines.buffer.unwrap_or(usize::MAX));
        let before = self.lines.coming.len();
        while self.lines.coming.front().is_some_and(|next| next.at <= now)
            && let Some(coming) = self.lines.coming.pop_front()
        {
            if self.input_mut(coming.card).holds() < room {
                self.enter(coming);
            } else {
                self.lines.lost.push(coming.number);
                self.lost.push(coming.number);
                self.lines.lost_in_all += 1;
            }
        }
        if before > 0 && self.lines.coming.is_empty() {
            self.await_packets(false);
        }
    }

    /// Whether all packets have been handed to the chip.
    fn is_handed_over(&self) -> bool {
        self.lines.coming.is_empty() && self.inputs().all(InputCard::is_done)
    }

    /// Whether an output holds an incomplete packet.
    fn is_within_packet(&self) -> bool {
        self.outputs().any(OutputCard::is_within_packet)
    }

    /// Simulates at most `cycles` cycles. Stops earlier once no more output is expected.
    fn run(&mut self, cycles: u64) -> Result {
        let mut left = cycles;
        while left > 0 && !self.is_settled {
            self.arrive();
            let before = self.chip.cycles();
            let next = self.lines.coming.front().map_or(u64::MAX, |next| next.at - before);
            let step = self.metering.cycles(&self.chip, left).min(next);
            let ran = self.chip.run(step);
            self.metering.ran(&self.chip);
            let is_at_rest = match ran {
                Ok(()) => self.chip.stands_still(),
                Err(chip::Error::Stuck { ref report, .. }) if report.cycles.is_empty() => true,
                Err(error) => return Err(self.failure(error)),
            };
            if is_at_rest {
                if !self.is_handed_over() || self.is_within_packet() {
                    return Err(self.failure(self.chip.standstill()));
                }
                self.is_settled = true;
            }
            left -= step;
        }
        Ok(())
    }

    /// Returns an error of the chip, with the packets that have left so far.
    fn failure(&self, error: chip::Error) -> Error {
        let Error { message, .. } = located(&self.chip, &self.programs, error);
        let waiting: usize = self.waiting.iter().map(VecDeque::len).sum();
        let waiting = waiting + self.lines.coming.len();
        Error::new(format!(
            "{message}\n{} of {} packets have left, {waiting} wait at line cards",
            self.left, self.offered
        ))
    }

    /// Takes the packets that have left the chip. Returns the packets that began to enter.
    fn collect_left(&mut self) -> Result<Vec<u64>> {
        let (mut entered, mut words) = (Vec::new(), 0);
        for card in 0..self.board.inputs.len() {
            let input = self.input_mut(card);
            words += input.words;
            let count = std::mem::take(&mut input.entered).len();
            entered.extend(self.waiting[card].drain(..count));
        }
        let mut new = Vec::new();
        for (port, ((tile, side), _)) in self.board.outputs.iter().enumerate() {
            if let Some(card) = self.chip.device::<OutputCard>(*tile, *side) {
                words += card.words;
                self.left_at[port] += card.delivered.len() as u64;
                new.extend(card.delivered.drain(..).map(|packet| (port as u16, packet)));
            }
        }
        new.sort_by_key(|(_, packet)| packet.ended);
        for (_, packet) in &mut new {
            self.left += 1;
            self.bytes += packet.bytes.len() as u64;
            self.last = packet.ended;
            let before = 1 + u64::from(self.section.framing == Framing::Counted);
            self.words_left += before + packet.bytes.len().div_ceil(4) as u64;
            if self.section.link == LinkHeader::Ethernet {
                packet.bytes = with_header(&packet.bytes);
            }
        }
        self.leaving.extend(new);
        if words != self.words {
            (self.words, self.since) = (words, self.chip.cycles());
        }
        self.look_at_quiet()?;
        Ok(entered)
    }

    /// Stops waiting for output, or ends the run, after many cycles without a word in or out.
    fn look_at_quiet(&mut self) -> Result {
        let quiet = self.chip.cycles() - self.since;
        let is_over = self.is_handed_over() && !self.is_within_packet();
        if is_over && quiet > u64::from(self.section.settle_cycles) {
            self.is_settled = true;
        } else if !is_over && quiet > PATIENCE && self.lines.coming.is_empty() {
            return Err(self.failure(self.chip.standstill()));
        }
        Ok(())
    }

    /// Passes on the packets that have left.
    fn pass_on(&mut self, sink: Sink<'_>) {
        let mhz = u64::from(self.spec.chip.clock_mhz);
        for (port, packet) in self.leaving.drain(..) {
            sink(Output {
                sequence: self.passed_on,
                // The matching incoming packet is unknown, so this is the time of departure.
                arrival_ns: self.begins_ns.saturating_add(packet.ended * 1000 / mhz),
                ingress: port,
                verdict: Verdict::Sent { port },
                bytes: &packet.bytes,
            });
            self.passed_on += 1;
        }
    }

    /// Simulates while output is expected and `goes_on` holds, for at most `cycles` cycles.
    fn work(
        &mut self,
        goes_on: impl Fn(&Self) -> bool,
        cycles: u64,
        sink: Sink<'_>,
    ) -> Result<Settled> {
        let mut left = cycles;
        while left > 0 && !self.is_settled && goes_on(self) {
            let step = left.min(STEP);
            self.run(step)?;
            left -= step;
            self.collect_left()?;
            self.pass_on(sink);
        }
        let mut settled = Settled::default();
        self.lines.lost.drain(..).for_each(|number| settled.lost.push(number));
        Ok(settled)
    }

    /// Writes the store's routes into the tables in memory.
    fn write_tables(&mut self) -> Result {
        let routes = program::routes(&self.store)?;
        for base in self.section.tables.clone() {
            let holds = |(_, memory): &&(_, crate::device::MemorySpec)| {
                base.wrapping_sub(memory.base) < memory.bytes
            };
            let ((tile, side), _) =
                self.board.memories.iter().find(holds).expect("the board has checked its tables");
            if let Some(memory) = self.chip.device(*tile, *side) {
                crate::dir24::write(memory, base, &routes).map_err(Error::new)?;
            }
        }
        Ok(())
    }
}

/// Returns a packet with an Ethernet header: addresses of zeros, and the type by the packet's first
/// four bits.
fn with_header(packet: &[u8]) -> Vec<u8> {
    let kind: [u8; 2] = match packet.first().map(|first| first >> 4) {
        Some(6) => [0x86, 0xdd],
        _ => [0x08, 0x00],
    };
    [&[0; ETHERNET - 2][..], &kind, packet].concat()
}

impl Machine for ByHand {
    fn offer(&mut self, frames: &[Frame<'_>], sink: Sink<'_>) -> Result<Settled> {
        frames.iter().try_for_each(|frame| self.accept(frame))?;
        let last = self.lines.last;
        if self.lines.is_timed() {
            return self.work(|machine| machine.chip.cycles() < last, u64::MAX, sink);
        }
        let has_many = |machine: &Self| machine.inputs().any(|card| card.holds() > AHEAD);
        self.work(has_many, u64::MAX, sink)
    }

    fn advance(&mut self, cycles: u64, sink: Sink<'_>) -> Result<Settled> {
        self.work(|_| true, cycles, sink)
    }

    fn finish(&mut self, sink: Sink<'_>) -> Result<Settled> {
        let mut settled = self.work(|_| true, u64::MAX, sink)?;
        self.series = self.metering.over_time(&self.chip);
        let is_taken = |number: &u64| self.lost.binary_search(number).is_err();
        let taken = (0..self.offered).filter(is_taken);
        settled.taken = taken.collect();
        Ok(settled)
    }

    fn recordings(&self) -> Recordings<'_> {
        Recordings { series: self.series.as_ref(), ..Recordings::default() }
    }

    fn update(&mut self, update: &Update, _: Sink<'_>) -> Result<Settled, UpdateError> {
        Err(UpdateError::Refused(format!(
            "`{}`: programs written by hand have their tables from before the first packet",
            update.offload
        )))
    }

    fn store(&self) -> &Store {
        &self.store
    }

    fn restore(&mut self, snapshot: &Snapshot) -> Result {
        snapshot.restore(&mut self.store)?;
        self.write_tables()
    }

    fn read_back(&mut self, _: Wanted<'_>, _: &dyn Fn(&str)) -> Result<Vec<String>> {
        Ok(Vec::new())
    }

    fn has_port(&self, number: u16) -> bool {
        usize::from(number) < self.board.outputs.len()
    }

    fn watch(&mut self) -> Option<&mut dyn Watched> {
        Some(self)
    }

    fn profile(&self) -> Option<Profile> {
        Some(self.programs.profile(&self.chip, false))
    }

    fn record(&self, work: Duration) -> Option<Record> {
        Some(record::of(self, work))
    }
}
