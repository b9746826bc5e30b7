//! Requests of threads for MPKTs: the waiting requests, their ports, and the threads that hold
//! packets.

use std::collections::VecDeque;

use wireloom_sim::Time;

use crate::mpkt::Wanted;

/// The number of threads that a request can name.
const THREADS: usize = 128;

/// The waiting requests in order, and the state of each thread.
#[derive(Clone, Debug)]
pub struct Requests {
    waiting: VecDeque<Wanted>,
    threads: Vec<Thread>,
    /// Threads of an engine: the thread number is `share * engine + context`.
    share: usize,
    /// A bit mask of the engines that get no new packets.
    withheld: u32,
    /// The integral of [`waiting`](Self::waiting) over time, and the time of its last update.
    integral: (u128, Time),
}

#[derive(Clone, Copy, Debug, Default)]
struct Thread {
    /// The port of the thread's last request.
    port: Option<u8>,
    /// Packets that the thread took and that have not left.
    open: u32,
    /// Whether the thread still gets the rest of a packet.
    is_bound: bool,
}

impl Requests {
    /// Creates an empty list for engines of `share` threads.
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

    /// The first request for `port`, or for any port if it is `None`, whose thread may begin a
    /// packet.
    pub(super) fn first(&self, port: Option<u8>) -> Option<Wanted> {
        self.waiting.iter().copied().find(|wanted| {
            port.is_none_or(|port| wanted.port == port) && self.may_begin(wanted.thread)
        })
    }

    /// The first request of a thread for `port`, or for any port if it is `None`.
    pub(super) fn of_thread(&self, thread: u8, port: Option<u8>) -> Option<Wanted> {
        self.waiting
            .iter()
            .copied()
            .find(|wanted| wanted.thread == thread && port.is_none_or(|port| wanted.port == port))
    }

    /// Removes a request that an MPKT has answered. The flags say whether it was the first and the
    /// last MPKT of its packet.
    pub(super) fn take(&mut self, wanted: Wanted, is_first: bool, is_last: bool, now: Time) {
        self.integrate(now);
        if let Some(place) = self.waiting.iter().position(|other| *other == wanted) {
            self.waiting.remove(place);
        }
        let thread = &mut self.threads[usize::from(wanted.thread)];
        thread.open += u32::from(is_first);
        thread.is_bound = !is_last;
    }

    /// Notes that a packet of a thread has left.
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

    /// Whether a thread holds no packet and has a request waiting.
    pub fn is_parked(&self, thread: u8) -> bool {
        let Thread { open, is_bound, .. } = self.threads[usize::from(thread)];
        open == 0 && !is_bound && self.of_thread(thread, None).is_some()
    }

    /// The port of a thread's last request.
    pub fn last_port(&self, thread: u8) -> Option<u8> {
        self.threads[usize::from(thread)].port
    }

    /// The threads that have ever asked for packets, each with the port of its last request.
    pub fn threads(&self) -> impl Iterator<Item = (u8, u8)> {
        let threads = self.threads.iter().enumerate();
        threads.filter_map(|(thread, known)| Some((thread as u8, known.port?)))
    }

    /// The count of an engine's threads that have ever asked for packets.
    pub fn receivers(&self, engine: usize) -> u32 {
        let threads = self.threads.iter().skip(self.share * engine).take(self.share);
        threads.filter(|thread| thread.port.is_some()).count() as u32
    }

    /// The count of threads that wait for a packet, without those of withheld engines.
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

    /// Whether a thread may take the first MPKT of a packet.
    fn may_begin(&self, thread: u8) -> bool {
        !self.is_withheld(self.engine(thread)) && !self.threads[usize::from(thread)].is_bound
    }
}
