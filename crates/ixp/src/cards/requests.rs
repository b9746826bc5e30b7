//! Requests of threads for MPKTs: who waits, for which port, and who has packets.

use std::collections::VecDeque;

use wireloom_sim::Time;

use crate::mpkt::Wanted;

/// Threads that a request can name.
const THREADS: usize = 128;

/// The requests that wait, in their order, and what is known of each thread.
#[derive(Clone, Debug)]
pub struct Requests {
    waiting: VecDeque<Wanted>,
    threads: Vec<Thread>,
    /// Threads of an engine, by which threads are numbered.
    share: usize,
    /// Engines that get no new packets, a bit each.
    withheld: u32,
    /// The integral of [`waiting`](Self::waiting) over time, and up to when.
    integral: (u128, Time),
}

#[derive(Clone, Copy, Debug, Default)]
struct Thread {
    /// The port of its last request.
    port: Option<u8>,
    /// Packets that it took and that have not left.
    open: u32,
    /// Whether the rest of a packet comes to it.
    is_bound: bool,
}

impl Requests {
    /// Creates a list without requests, for engines of so many threads.
    pub(super) fn new(share: usize) -> Self {
        Self {
            share,
            waiting: VecDeque::new(),
            threads: vec![Thread::default(); THREADS],
            withheld: 0,
            integral: (0, Time::ZERO),
        }
    }

    /// Adds a request.
    pub(super) fn add(&mut self, wanted: Wanted, now: Time) {
        self.integrate(now);
        self.waiting.push_back(wanted);
        self.threads[usize::from(wanted.thread)].port = Some(wanted.port);
    }

    /// The first request that a packet may answer, of a port or of any.
    pub(super) fn first(&self, port: Option<u8>) -> Option<Wanted> {
        self.waiting.iter().copied().find(|wanted| {
            port.is_none_or(|port| wanted.port == port) && self.may_begin(wanted.thread)
        })
    }

    /// The first request of a thread, for a port or for any.
    pub(super) fn of_thread(&self, thread: u8, port: Option<u8>) -> Option<Wanted> {
        self.waiting
            .iter()
            .copied()
            .find(|wanted| wanted.thread == thread && port.is_none_or(|port| wanted.port == port))
    }

    /// A request was answered, by the first or a later MPKT of a packet, which may be its last.
    pub(super) fn take(&mut self, wanted: Wanted, is_first: bool, is_last: bool, now: Time) {
        self.integrate(now);
        if let Some(place) = self.waiting.iter().position(|other| *other == wanted) {
            self.waiting.remove(place);
        }
        let thread = &mut self.threads[usize::from(wanted.thread)];
        thread.open += u32::from(is_first);
        thread.is_bound = !is_last;
    }

    /// A packet that a thread took has left.
    pub(super) fn done(&mut self, thread: u8) {
        let open = &mut self.threads[usize::from(thread)].open;
        *open = open.saturating_sub(1);
    }

    pub(super) fn withhold(&mut self, engine: usize, is_withheld: bool, now: Time) {
        self.integrate(now);
        self.withheld &= !(1 << engine);
        self.withheld |= u32::from(is_withheld) << engine;
    }

    /// The engine of a thread.
    pub fn engine(&self, thread: u8) -> usize {
        usize::from(thread) / self.share
    }

    /// Whether an engine gets no new packets.
    pub fn is_withheld(&self, engine: usize) -> bool {
        self.withheld >> engine & 1 != 0
    }

    /// Whether a thread has no packet and has asked for one.
    pub fn is_parked(&self, thread: u8) -> bool {
        let Thread { open, is_bound, .. } = self.threads[usize::from(thread)];
        open == 0 && !is_bound && self.of_thread(thread, None).is_some()
    }

    /// The port of a thread's last request.
    pub fn last_port(&self, thread: u8) -> Option<u8> {
        self.threads[usize::from(thread)].port
    }

    /// The threads that have asked for packets, with the port of their last request.
    pub fn threads(&self) -> impl Iterator<Item = (u8, u8)> {
        let threads = self.threads.iter().enumerate();
        threads.filter_map(|(thread, known)| Some((thread as u8, known.port?)))
    }

    /// Threads of an engine that have asked for packets.
    pub fn receivers(&self, engine: usize) -> u32 {
        let threads = self.threads.iter().skip(self.share * engine).take(self.share);
        threads.filter(|thread| thread.port.is_some()).count() as u32
    }

    /// Threads that wait for a packet, of engines that get packets.
    pub fn waiting(&self) -> u32 {
        self.waiting.iter().filter(|wanted| self.may_begin(wanted.thread)).count() as u32
    }

    /// The integral of [`waiting`](Self::waiting) over time, in threads times picoseconds.
    pub fn waited(&self, now: Time) -> u128 {
        let (sum, since) = self.integral;
        sum + u128::from(self.waiting()) * u128::from(now.since(since).0)
    }

    fn integrate(&mut self, now: Time) {
        self.integral = (self.waited(now), now);
    }

    /// Whether a thread may get the beginning of a packet.
    fn may_begin(&self, thread: u8) -> bool {
        !self.is_withheld(self.engine(thread)) && !self.threads[usize::from(thread)].is_bound
    }
}
