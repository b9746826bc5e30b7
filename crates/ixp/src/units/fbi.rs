//! The FIFO and bus interface: receive and transmit FIFOs, and chip registers. On version 2 the
//! FIFOs are RBUF and TBUF; commands reach them through the media switch fabric.

use std::collections::VecDeque;

use wireloom_isa::microengine::{Operation, Signal, Version, csr};

use super::queue::{Class, Queues};
use super::{Refused, Served, Started};
use crate::mpkt::Wanted;
use crate::request::{Pool, Request};
use crate::spec::{FbiSpec, Spec};

/// The most words of an element.
pub const ELEMENT_WORDS: usize = 64;
/// Quad words of all element data. The control words of elements follow from this address.
const DATA_QUADS: usize = 128;
/// From this address, reads return the arrival times of the packets in elements, and writes set
/// their ingress ports.
const ARRIVAL_QUADS: usize = 144;
/// The registers that set up rings.
const RING: u32 = csr::FIRST_RING as u32;
const SRAM_RING: u32 = csr::FIRST_SRAM_RING as u32;
const LAST_RING: u32 = SRAM_RING + super::rings::RINGS as u32;
const REGISTERS: usize = 32;

#[derive(Clone, Copy, Debug)]
pub struct Element {
    /// The bytes; the first byte is in the highest bits.
    pub words: [u32; ELEMENT_WORDS],
    /// The status or control word, and the packet number.
    pub control: [u32; 2],
    /// Receive FIFO only: the packet's arrival time in nanoseconds, low word first.
    pub arrival: [u32; 2],
    /// Transmit FIFO only: whether the element waits for the bus.
    pub valid: bool,
}

impl Default for Element {
    fn default() -> Self {
        Self { words: [0; ELEMENT_WORDS], control: [0; 2], arrival: [0; 2], valid: false }
    }
}

/// The destination in a thread for the status of its next MPKT (version 2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Answer {
    /// The first of four transfer registers, relative to the context.
    pub register: u8,
    pub signal: Signal,
}

/// An effect of a register write on the rest of the chip.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Signals a thread.
    Signal { thread: u32, signal: Signal },
    /// Requests an MPKT.
    Receive(Wanted),
    /// Releases an element of the transmit FIFO to the bus.
    Transmit,
    /// Sets up a ring of the scratchpad.
    Ring { number: u8, value: u32 },
    /// Sets up a ring of SRAM.
    SramRing { number: u8, value: u32 },
    /// Writes a word of a hash multiplier. `which` is 0 for 48 bits, 1 for 64 and 2 for 128; word 0
    /// is the lowest.
    Multiplier { which: u8, word: u8, value: u32 },
}

/// Registers that the line cards set.
#[derive(Clone, Copy, Debug, Default)]
pub struct Lines {
    /// A bit mask of the ports with an MPKT.
    pub receive_ready: u32,
    /// A bit mask of the ports with room for an MPKT.
    pub transmit_ready: u32,
    /// The number that the next packet gets.
    pub receive_sequence: u32,
    /// The number of the first packet that has not left.
    pub transmit_sequence: u32,
    pub ports: u32,
}

/// The FIFO and bus interface.
#[derive(Clone, Debug)]
pub struct Fbi {
    spec: FbiSpec,
    pub receive: Vec<Element>,
    pub transmit: Vec<Element>,
    /// The index of the transmit element that leaves next.
    pub next_out: usize,
    pub element_words: usize,
    /// RBUF elements without an MPKT, in the order of allocation (version 2).
    pub free: VecDeque<u16>,
    /// For each thread, the destinations for the status of its MPKTs (version 2).
    pub answers: Vec<VecDeque<Answer>>,
    /// The number of elements that have left.
    pub sent: u32,
    /// The version of the engines. It decides which registers exist.
    version: Version,
    /// Whether the FIFOs are RBUF and TBUF.
    is_second: bool,
    /// For each thread, the statuses of the MPKTs that have arrived for it.
    pub arrived: Vec<VecDeque<u32>>,
    /// Threads of an engine: the thread number is `share * engine + context`.
    share: usize,
    registers: [u32; REGISTERS],
    /// The registers that the line cards set.
    pub lines: Lines,
    /// Commands waiting for service.
    pub queues: Queues,
    busy_until: u64,
    /// Counts of the unit's work.
    pub served: Served,
    /// Words moved between FIFOs and SDRAM.
    pub direct_words: u64,
}

impl Fbi {
    /// Creates empty FIFOs for engines of `share` threads.
    pub fn new(chip: &Spec, engines: usize, share: usize) -> Self {
        let spec = chip.fbi;
        let [receive, transmit] = chip.elements();
        Self {
            spec,
            receive: vec![Element::default(); receive as usize],
            transmit: vec![Element::default(); transmit as usize],
            next_out: 0,
            element_words: chip.mpkt_bytes() as usize / 4,
            free: (0..receive as u16).collect(),
            answers: vec![VecDeque::new(); engines * share],
            sent: 0,
            version: chip.engine.version,
            is_second: chip.has_msf(),
            arrived: vec![VecDeque::new(); engines * share],
            share,
            registers: [0; REGISTERS],
            lines: Lines::default(),
            queues: Queues::new(spec.queue, Class::Ordered),
            busy_until: 0,
            served: Served::default(),
            direct_words: 0,
        }
    }

    /// The words for the host: `mailbox` and `mailbox_1` to `mailbox_3`.
    pub fn mailbox(&self) -> [u32; 4] {
        [11, 21, 22, 23].map(|number| self.registers[number])
    }

    /// Whether every element of the transmit FIFO waits for the bus.
    pub fn is_full(&self) -> bool {
        self.transmit.iter().all(|element| element.valid)
    }

    /// Returns the counts of the unit at a cycle.
    pub fn served_at(&self, now: u64) -> Served {
        self.served.at(now, self.busy_until)
    }

    /// Starts the commands that can begin in this cycle.
    ///
    /// # Errors
    /// If a command asks for an element or a register that does not exist.
    pub fn cycle(
        &mut self,
        now: u64,
        pool: &mut Pool,
        effects: &mut Vec<Effect>,
    ) -> Result<Option<Started>, Refused> {
        if now < self.busy_until {
            return Ok(None);
        }
        let Some(handle) = self.queues.take(pool, |_| Some(0)) else { return Ok(None) };
        let request = &mut pool[handle];
        let words = u64::from(request.words_in.max(request.words_out).max(1));
        let interval = u64::from(self.spec.word_cycles);
        self.busy_until = now + words * interval;
        self.served.commands += 1;
        self.served.words += words;
        self.served.busy += words * interval;
        self.serve(request, now, effects)?;
        let first = if request.is_write() {
            now + (words - 1) * interval + u64::from(self.spec.write_cycles)
        } else {
            now + u64::from(self.spec.access_cycles)
        };
        Ok(Some(Started { handle, first, interval, granule: 1 }))
    }

    fn serve(
        &mut self,
        request: &mut Request,
        now: u64,
        effects: &mut Vec<Effect>,
    ) -> Result<(), Refused> {
        match request.operation {
            Operation::ReceiveFifoRead => {
                let words = usize::from(request.words_in);
                self.read_receive_at(request.address as usize, &mut request.data[..words])
            }
            Operation::TransmitFifoWrite => {
                let words = usize::from(request.words_out);
                self.write_transmit_at(request.address as usize, &request.data[..words])
            }
            Operation::CsrRead => {
                let thread =
                    usize::from(request.engine) * self.share + usize::from(request.context);
                request.data[0] = self.read_register(request.address, thread, now)?;
                Ok(())
            }
            Operation::CsrWrite => self.write_register(request.address, request.data[0], effects),
            Operation::FastWrite => self.write_register(request.address, request.value, effects),
            operation => Err(Refused(format!("the FBI does not know {operation:?}"))),
        }
    }

    /// Reads an element of the receive FIFO, for SDRAM.
    ///
    /// # Errors
    /// If the element does not exist.
    pub fn read_receive(&mut self, address: u16, words: &mut [u32]) -> Result<(), Refused> {
        self.direct_words += words.len() as u64;
        match self.is_second {
            true => self.read_buffer(2 * usize::from(address), words),
            false => self.read_receive_at(usize::from(address), words),
        }
    }

    /// Writes an element of the transmit FIFO from SDRAM.
    ///
    /// # Errors
    /// If the element does not exist.
    pub fn write_transmit(&mut self, address: u16, words: &[u32]) -> Result<(), Refused> {
        self.direct_words += words.len() as u64;
        match self.is_second {
            true => self.write_buffer(2 * usize::from(address), words),
            false => self.write_transmit_at(usize::from(address), words),
        }
    }

    /// Reads words of RBUF, starting at a word index.
    ///
    /// # Errors
    /// If the words are not all in one element.
    pub fn read_buffer(&self, word: usize, words: &mut [u32]) -> Result<(), Refused> {
        let (element, first) = (word / self.element_words, word % self.element_words);
        let found = self.receive.get(element).map(|found| &found.words[..self.element_words]);
        let source = found.and_then(|found| found.get(first..first + words.len()));
        words.copy_from_slice(source.ok_or_else(|| outside_buffer("RBUF", word, words.len()))?);
        Ok(())
    }

    /// Writes words of TBUF, starting at a word index.
    ///
    /// # Errors
    /// If the words are not all in one element.
    pub fn write_buffer(&mut self, word: usize, words: &[u32]) -> Result<(), Refused> {
        let (element, first) = (word / self.element_words, word % self.element_words);
        let most = self.element_words;
        let found = self.transmit.get_mut(element).map(|found| &mut found.words[..most]);
        let target = found.and_then(|found| found.get_mut(first..first + words.len()));
        target.ok_or_else(|| outside_buffer("TBUF", word, words.len()))?.copy_from_slice(words);
        Ok(())
    }

    fn read_receive_at(&self, address: usize, words: &mut [u32]) -> Result<(), Refused> {
        let of = |first: usize| self.receive.get(address - first);
        let source = match address {
            ARRIVAL_QUADS.. => of(ARRIVAL_QUADS).and_then(|it| it.arrival.get(..words.len())),
            DATA_QUADS.. => of(DATA_QUADS).and_then(|it| it.control.get(..words.len())),
            _ => self.receive.get(address / 8).and_then(|found| {
                let first = address % 8 * 2;
                found.words.get(first..first + words.len())
            }),
        };
        words.copy_from_slice(source.ok_or_else(|| outside("receive", address, words.len()))?);
        Ok(())
    }

    fn write_transmit_at(&mut self, address: usize, words: &[u32]) -> Result<(), Refused> {
        let is_outside = || outside("transmit", address, words.len());
        let element = match address {
            ARRIVAL_QUADS.. => return Err(is_outside()),
            DATA_QUADS.. => address - DATA_QUADS,
            _ => address / 8,
        };
        let found = self.transmit.get_mut(element).ok_or_else(is_outside)?;
        let first = if address < DATA_QUADS { address % 8 * 2 } else { 0 };
        let target = match address {
            DATA_QUADS.. => found.control.get_mut(..words.len()),
            _ => found.words.get_mut(first..first + words.len()),
        };
        target.ok_or_else(is_outside)?.copy_from_slice(words);
        Ok(())
    }

    fn read_register(&mut self, number: u32, thread: usize, now: u64) -> Result<u32, Refused> {
        Ok(match number {
            0 => self.lines.receive_ready,
            1 | 5 => 0,
            3 => self.arrived.get_mut(thread).and_then(VecDeque::pop_front).unwrap_or(0),
            4 => self.lines.transmit_ready,
            6 => self.valid_elements(),
            7 => self.next_out as u32,
            10 => std::mem::take(&mut self.registers[10]),
            20 => now as u32,
            24 => self.lines.ports,
            25 => self.lines.receive_sequence,
            26 => self.lines.transmit_sequence,
            16..=19 if self.version == Version::Two => self.registers[number as usize],
            9 | 11..=15 | 21..=23 => self.registers[number as usize],
            _ => return Err(unknown(number, "read")),
        })
    }

    fn write_register(
        &mut self,
        number: u32,
        value: u32,
        effects: &mut Vec<Effect>,
    ) -> Result<(), Refused> {
        match number {
            2 => effects.push(Effect::Receive(Wanted::from_word(value))),
            6 => {
                let element = self.transmit.get_mut(value as usize);
                let element = element.ok_or_else(|| {
                    Refused(format!("xmit_validate: there is no element {value}"))
                })?;
                element.valid = true;
                effects.push(Effect::Transmit);
            }
            8 => effects.push(Effect::Signal { thread: value, signal: Signal::INTER_THREAD }),
            9 => self.registers[9] |= value,
            10 => self.registers[10] |= 1 << (value & 31),
            12..=15 => {
                self.registers[number as usize] = value;
                let (which, word) = ((number as u8 - 12) / 2, number as u8 % 2);
                effects.push(Effect::Multiplier { which, word, value });
            }
            16..=19 if self.version == Version::Two => {
                self.registers[number as usize] = value;
                effects.push(Effect::Multiplier { which: 2, word: number as u8 - 16, value });
            }
            11 | 21..=23 => self.registers[number as usize] = value,
            SRAM_RING..LAST_RING => {
                effects.push(Effect::SramRing { number: (number - SRAM_RING) as u8, value });
            }
            RING..SRAM_RING => effects.push(Effect::Ring { number: (number - RING) as u8, value }),
            _ => return Err(unknown(number, "written")),
        }
        Ok(())
    }

    /// A bit mask of the transmit elements that wait for the bus.
    fn valid_elements(&self) -> u32 {
        let bits = self.transmit.iter().enumerate();
        bits.map(|(element, one)| u32::from(one.valid) << element).sum()
    }
}

fn outside_buffer(buffer: &str, word: usize, words: usize) -> Refused {
    Refused(format!("{words} words from byte {} of {buffer} on: not in one element", 4 * word))
}

fn outside(fifo: &str, address: usize, words: usize) -> Refused {
    Refused(format!(
        "{words} words from quad word {address} of the {fifo} FIFO on: not in one element"
    ))
}

fn unknown(number: u32, what: &str) -> Refused {
    let name = u8::try_from(number).ok().and_then(|number| csr::name(csr::FBI, number));
    Refused(format!(
        "register {} of the FBI cannot be {what}",
        name.map_or_else(|| number.to_string(), ToOwned::to_owned)
    ))
}
