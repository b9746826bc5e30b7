//! The targets of loads and stores.

use wireloom_isa::{Access, Bus, Compiled, Fault, Size, Stall};

use super::Code;
use crate::caches::Lookup;
use crate::call::Target;
use crate::context::{Context, SharedAccess, Store, Wait};
use crate::local_memory::{put, region, value};
use crate::mpe;
use crate::multiflex::threads;
use crate::noc_payload::{Request, Which};
use crate::workload::Port;

/// The targets of an instruction's accesses.
pub(super) struct Reach<'a, 'b, S: Compiled> {
    pub(super) code: &'a Code<S>,
    pub(super) port: &'a mut Port<'b>,
    /// The address of the instruction.
    pub(super) pc: u32,
    /// The number of loads of constants, and of loads and stores to neither constants nor the local
    /// store.
    pub(super) constants: u64,
    pub(super) outside: [u64; 2],
}

impl<S: Compiled> Bus for Reach<'_, '_, S> {
    #[inline(always)]
    fn load(&mut self, access: Access) -> Result<u32, Stall> {
        match access.address >> 28 {
            region::LOCAL_STORE => value(
                self.port.context.own.local.as_slice(),
                access.address - mpe::LOCAL_STORE,
                access.size,
            ),
            region::CONSTANTS => {
                self.constants += 1;
                self.constant(access)
            }
            region::REGISTERS => {
                self.outside[0] += 1;
                self.register(access)
            }
            region::SHARED => {
                self.outside[0] += 1;
                self.shared(access, Store::Nothing)
            }
            _ => Err(Stall::Fault(Fault::Nothing)),
        }
    }

    #[inline(always)]
    fn store(&mut self, access: Access, value: u32) -> Result<(), Stall> {
        match access.address >> 28 {
            region::LOCAL_STORE => put(
                &mut self.port.context.own.local,
                access.address - mpe::LOCAL_STORE,
                access.size,
                value,
            ),
            region::CONSTANTS => Err(Stall::Fault(Fault::ReadOnly)),
            region::REGISTERS => {
                self.outside[1] += 1;
                self.set_register(access, value).map_err(Stall::Fault)
            }
            region::SHARED => {
                self.outside[1] += 1;
                self.shared(access, Store::Value(value)).map(|_| ())
            }
            region::CALLS.. => {
                self.outside[1] += 1;
                self.call(access, value)
            }
            _ => Err(Stall::Fault(Fault::Nothing)),
        }
    }

    fn swap(&mut self, access: Access, value: u32) -> Result<u32, Stall> {
        match access.address >> 28 {
            region::LOCAL_STORE => {
                let old = self.load(access)?;
                self.store(access, value)?;
                Ok(old)
            }
            region::SHARED => {
                self.outside.iter_mut().for_each(|accesses| *accesses += 1);
                self.shared(access, Store::Swap(value))
            }
            _ => Err(Stall::Fault(Fault::Unsupported)),
        }
    }

    #[inline(always)]
    fn done(&mut self) {
        self.port.context.replies.clear();
        self.port.context.fill = None;
    }
}

impl<S: Compiled> Reach<'_, '_, S> {
    /// Reads a constant through the data cache.
    fn constant(&mut self, access: Access) -> Result<u32, Stall> {
        let value = self.code.constants.value_at(self.pc, access)?;
        let line = self.code.constants.line(access.address);
        let Port { context, caches, cycle, request, .. } = &mut *self.port;
        let Context { replies, fill, wait, lane, .. } = &mut **context;
        replies.answer(access, || {
            if *fill == Some(line) {
                return Ok(value);
            }
            match caches.read(Which::Data, line, *lane, *cycle) {
                Lookup::Hit => return Ok(value),
                Lookup::Coming => {}
                Lookup::Missing(line) => *request = Some(Request::Line(line)),
            }
            *wait = Wait::Data;
            Err(Stall::Wait)
        })
    }

    /// Accesses shared memory and waits for the reply.
    fn shared(&mut self, access: Access, store: Store) -> Result<u32, Stall> {
        // No sum overflows: the region is smaller than the address space.
        let end = access.address - mpe::SHARED + access.size.bytes();
        if end > self.code.shared_bytes {
            return Err(Stall::Fault(Fault::Nothing));
        }
        let instruction = self.pc;
        let Port { context, request, .. } = &mut *self.port;
        let Context { replies, access: under_way, wait, spent, .. } = &mut **context;
        replies.answer(access, || {
            *under_way = Some(SharedAccess { access, store, instruction });
            *wait = Wait::Memory;
            *request = Some(Request::Access);
            spent.accesses += 1;
            Err(Stall::Wait)
        })
    }

    /// Reads a register of the message passing engine.
    fn register(&mut self, access: Access) -> Result<u32, Stall> {
        if access.size != Size::Word || access.count != 1 {
            return Err(Stall::Fault(Fault::Unsupported));
        }
        let tickets = mpe::WAIT..mpe::WAIT + 4 * mpe::TICKETS as u32;
        let answer = match access.address {
            mpe::RECEIVE => self.port.receive(),
            address if tickets.contains(&address) => {
                self.port.wait((address - mpe::WAIT) >> 2).map_err(Stall::Fault)?
            }
            mpe::REQUEST => self.port.request().map_err(Stall::Fault)?,
            mpe::CYCLES => Some(self.port.cycle as u32),
            mpe::EGRESS..mpe::SEND | mpe::EXTENT => {
                return self
                    .port
                    .context
                    .own
                    .registers
                    .at(access.address)
                    .copied()
                    .ok_or(Stall::Fault(Fault::Nothing));
            }
            mpe::SEND | mpe::SERVICE | mpe::ANSWER | mpe::RELEASE => {
                return Err(Stall::Fault(Fault::WriteOnly));
            }
            _ => return Err(Stall::Fault(Fault::Nothing)),
        };
        answer.ok_or(Stall::Wait)
    }

    /// Writes a register of the message passing engine.
    fn set_register(&mut self, access: Access, value: u32) -> Result<(), Fault> {
        if access.size != Size::Word {
            return Err(Fault::Unsupported);
        }
        match access.address {
            mpe::EGRESS..mpe::SEND | mpe::EXTENT => {
                *self.port.context.own.registers.at(access.address).ok_or(Fault::Nothing)? = value;
                Ok(())
            }
            // An instruction sends at most one message.
            mpe::SEND if access.number == 0 && self.leads_somewhere(value) => self.port.send(value),
            mpe::SEND if access.number == 0 => Err(Fault::Refused),
            mpe::SERVICE => self.port.set_service(value),
            mpe::ANSWER if access.number == 0 => self.port.answer(value),
            mpe::RELEASE if access.number == 0 => self.release(value),
            mpe::SEND | mpe::ANSWER | mpe::RELEASE => Err(Fault::Unsupported),
            mpe::RECEIVE | mpe::REQUEST | mpe::CYCLES => Err(Fault::ReadOnly),
            _ => Err(Fault::Nothing),
        }
    }

    /// Whether a word written to [`mpe::SEND`] is valid: a hand-over must name an existing part.
    fn leads_somewhere(&self, word: u32) -> bool {
        word & 0xff != mpe::kind::FORWARD || ((word >> 24) as usize) < self.code.cut.parts.len()
    }

    /// Announces that the packet makes no more calls of an object.
    fn release(&mut self, object: u32) -> Result<(), Fault> {
        if object as usize >= self.code.objects.len() {
            return Err(Fault::Refused);
        }
        if self.code.takes_turns(object) { self.port.release(object) } else { Ok(()) }
    }

    /// Calls an object, a service or the thread manager.
    fn call(&mut self, access: Access, value: u32) -> Result<(), Stall> {
        if access.size != Size::Word || access.count != 1 {
            return Err(Stall::Fault(Fault::Unsupported));
        }
        let launch =
            self.code.launch(access.address - mpe::CALLS).ok_or(Stall::Fault(Fault::Nothing))?;
        if !self.port.call(launch, value).map_err(Stall::Fault)? {
            return Err(Stall::Wait);
        }
        if launch.target == (Target::ThreadManager { method: threads::EXIT }) {
            // The exiting thread executes nothing more.
            self.port.context.wait = Wait::Begin;
            return Err(Stall::Wait);
        }
        Ok(())
    }
}
