//! The media switch fabric of version 2: the path of commands to RBUF, TBUF and their registers.
//!
//! | byte | what is there (assumed) |
//! |---|---|
//! | from 0 | registers, 4 bytes each |
//! | from 0x1000 | written: control word and packet number of element n; the latter sends it |
//! | from 0x1800 | written, 4 bytes each: the ingress port of element n, if not the packet's own |
//! | from 0x2000 | read: RBUF; written: TBUF |

use wireloom_isa::microengine::{Operation, Signal};

use super::fbi::{Answer, Effect, Fbi};
use super::queue::{Class, Queues};
use super::{Refused, Served, Started};
use crate::mpkt::Wanted;
use crate::request::{Pool, Request};
use crate::spec::MsfSpec;

/// Byte addresses: the control words of TBUF, and RBUF or TBUF.
const CONTROLS: u32 = 0x1000;
const BUFFERS: u32 = 0x2000;
/// Register numbers.
const LISTS: u32 = 3;
const ELEMENT_DONE: u32 = 3;
const TX_SEQUENCE: u32 = 4;
const SIZE: u32 = 5;
const RECEIVE_COUNT: u32 = 6;
const TRANSMIT_COUNT: u32 = 7;

/// The media switch fabric.
#[derive(Clone, Debug)]
pub struct Msf {
    spec: MsfSpec,
    /// Threads of an engine: the thread number is `share * engine + context`.
    share: u32,
    /// Commands waiting for service.
    pub queues: Queues,
    free: u64,
    /// Counts of the unit's work.
    pub served: Served,
}

impl Msf {
    /// Creates an idle media switch fabric for engines of `share` threads.
    pub fn new(spec: MsfSpec, share: u32) -> Self {
        let queues = Queues::new(spec.queue, Class::Ordered);
        Self { spec, share, queues, free: 0, served: Served::default() }
    }

    /// Returns the counts of the unit at a cycle.
    pub fn served_at(&self, now: u64) -> Served {
        self.served.at(now, self.free)
    }

    /// Starts the command that can begin in this cycle.
    ///
    /// # Errors
    /// If a command accesses something that does not exist.
    pub fn cycle(
        &mut self,
        now: u64,
        pool: &mut Pool,
        fbi: &mut Fbi,
        effects: &mut Vec<Effect>,
    ) -> Result<Option<Started>, Refused> {
        if now < self.free {
            return Ok(None);
        }
        let Some(handle) = self.queues.take(pool, |_| Some(0)) else { return Ok(None) };
        let request = &mut pool[handle];
        let words = u64::from(request.words_in.max(request.words_out).max(1));
        let interval = u64::from(self.spec.word_cycles);
        self.free = now + words * interval;
        self.served.commands += 1;
        self.served.words += words;
        self.served.busy += words * interval;
        match request.operation {
            Operation::Read => {
                let words = usize::from(request.words_in);
                read(fbi, request.address, &mut request.data[..words])?;
            }
            Operation::Write => self.write(request, fbi, effects)?,
            Operation::FastWrite => {
                let (number, value) = (request.address, request.value);
                self.write_register(number, value, fbi, effects)?;
            }
            operation => return Err(Refused(format!("the MSF does not know {operation:?}"))),
        }
        let first = if request.is_write() {
            now + (words - 1) * interval + u64::from(self.spec.write_cycles)
        } else {
            now + u64::from(self.spec.access_cycles)
        };
        Ok(Some(Started { handle, first, interval, granule: 1 }))
    }

    fn write(
        &self,
        request: &Request,
        fbi: &mut Fbi,
        effects: &mut Vec<Effect>,
    ) -> Result<(), Refused> {
        let words = &request.data[..usize::from(request.words_out)];
        match request.address {
            BUFFERS.. => fbi.write_buffer((request.address - BUFFERS) as usize / 4, words),
            CONTROLS.. => {
                for (word, value) in ((request.address - CONTROLS) / 4..).zip(words) {
                    let element = fbi.transmit.get_mut(word as usize / 2);
                    let element = element.ok_or_else(|| no_element(word / 2))?;
                    if element.valid {
                        return Err(Refused(format!(
                            "the control of element {} of TBUF is written before it has left: wait \
                             for tx_sequence",
                            word / 2
                        )));
                    }
                    element.control[word as usize % 2] = *value;
                    if word % 2 == 1 {
                        element.valid = true;
                        effects.push(Effect::Transmit);
                    }
                }
                Ok(())
            }
            address => {
                for (number, value) in (address / 4..).zip(words) {
                    self.write_register(number, *value, fbi, effects)?;
                }
                Ok(())
            }
        }
    }

    fn write_register(
        &self,
        number: u32,
        value: u32,
        fbi: &mut Fbi,
        effects: &mut Vec<Effect>,
    ) -> Result<(), Refused> {
        match number {
            ..LISTS => {
                if number >= self.spec.freelists {
                    return Err(Refused(format!(
                        "rx_thread_freelist_{number}: `msf.freelists` is {}",
                        self.spec.freelists
                    )));
                }
                let thread = (value >> 11 & 31) * self.share + (value >> 8 & 7);
                let answers = fbi.answers.get_mut(thread as usize);
                let answers = answers.ok_or_else(|| {
                    Refused(format!("rx_thread_freelist: there is no engine {}", value >> 11 & 31))
                })?;
                let (register, signal) = ((value >> 4 & 15) as u8, Signal((value & 15) as u8));
                if register > 12 {
                    return Err(Refused(format!(
                        "rx_thread_freelist: a status takes four registers, and {register} is not \
                         the first of four"
                    )));
                }
                answers.push_back(Answer { register, signal });
                let (port, thread) = (number as u8, thread as u8);
                effects.push(Effect::Receive(Wanted { port, element: 0, thread }));
            }
            ELEMENT_DONE => {
                let element = value as u16;
                let is_there = (value as usize) < fbi.receive.len();
                if !is_there || fbi.free.contains(&element) {
                    return Err(Refused(format!(
                        "rbuf_element_done: element {value} of RBUF has no MPKT"
                    )));
                }
                fbi.free.push_back(element);
                effects.push(Effect::Transmit);
            }
            _ => return Err(unknown(number, "written")),
        }
        Ok(())
    }
}

fn read(fbi: &Fbi, address: u32, words: &mut [u32]) -> Result<(), Refused> {
    if address >= BUFFERS {
        return fbi.read_buffer((address - BUFFERS) as usize / 4, words);
    }
    for (number, word) in (address / 4..).zip(words) {
        *word = match number {
            TX_SEQUENCE => fbi.sent,
            SIZE => 4 * fbi.element_words as u32,
            RECEIVE_COUNT => fbi.receive.len() as u32,
            TRANSMIT_COUNT => fbi.transmit.len() as u32,
            _ => return Err(unknown(number, "read")),
        };
    }
    Ok(())
}

fn no_element(number: u32) -> Refused {
    Refused(format!("there is no element {number} of TBUF"))
}

fn unknown(number: u32, what: &str) -> Refused {
    Refused(format!("register {number} of the MSF cannot be {what}"))
}
