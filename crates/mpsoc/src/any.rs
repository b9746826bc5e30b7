//! A machine that executes a compiled program, of either instruction set.

use wireloom_isa::{Arm, Riscv};
use wireloom_net::Packet;
use wireloom_power::Account;
use wireloom_sim::Timeline;
use wireloom_sim::stats::{Record, Series};

use super::code::Code;
use super::machine::Multiprocessor;
use super::objects::Objects;
use super::totals::Totals;

/// A machine of either instruction set.
#[derive(Clone)]
pub(super) enum AnyMachine<O: Objects> {
    Arm(Box<Multiprocessor<Code<Arm>, O>>),
    Riscv(Box<Multiprocessor<Code<Riscv>, O>>),
}

/// Dispatches an expression over the instruction set.
macro_rules! each {
    ($machine:expr, $name:ident => $answer:expr) => {
        match $machine {
            $crate::any::AnyMachine::Arm($name) => $answer,
            $crate::any::AnyMachine::Riscv($name) => $answer,
        }
    };
}
pub(super) use each;

/// Each method forwards to the method of the same name of [`Multiprocessor`].
impl<O: Objects> AnyMachine<O> {
    pub(super) fn offer(&mut self, packets: Vec<Packet>) {
        each!(self, machine => machine.offer(packets));
    }

    pub(super) fn totals(&self) -> Totals {
        each!(self, machine => machine.totals())
    }

    pub(super) fn usage(&self, from: &Totals, to: &Totals) -> f64 {
        each!(self, machine => machine.usage(from, to))
    }

    pub(super) fn series(&self) -> Option<&Series> {
        each!(self, machine => machine.series())
    }

    pub(super) fn energy(&self) -> Account {
        each!(self, machine => machine.energy())
    }

    pub(super) fn record(&self) -> Record {
        each!(self, machine => machine.record())
    }

    pub(super) fn timeline(&self) -> &Timeline {
        each!(self, machine => machine.timeline())
    }
}
