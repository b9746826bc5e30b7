//! The command is killed under load and started again: it leaves nothing behind, and hosts hardly
//! notice.
//!
//! The test measures the view of a host: the longest time without a reply, from the kill until the
//! command forwards again. In that time the kernel forwards, as soon as it has the ports back.

use std::path::Path;
use std::process::{Child, Command};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::routes::frame;
use super::{Forwarding, REPLY4, address, forwards, until};
use crate::echo::Echo;
use crate::network::{Namespace, Network};
use crate::patience::patience;
use crate::wire::{self, Wire};

/// The time from one burst of frames to the next.
const PAUSE: Duration = Duration::from_millis(1);
/// Frames per burst for a rate of 50,000 per second.
const MANY: u64 = 50;
/// Frames per burst for a rate of 5,000 per second, which a forwarder handles with a small share of
/// a processor.
const SOME: u64 = 5;

/// Frames from the left host to the right one, with a count of sent frames.
struct Load {
    burst: u64,
    ends: AtomicBool,
    sent: AtomicU64,
}

impl Load {
    fn new(burst: u64) -> Self {
        Self { burst, ends: AtomicBool::new(false), sent: AtomicU64::new(0) }
    }

    fn run(&self, left: &Namespace) {
        left.run(|| {
            let wire = Wire::open().expect("a packet socket");
            let ha = wire::interface_index("ha").expect("an interface");
            let frame = frame("10.0.2.2", 7);
            while !self.ends.load(Ordering::Relaxed) {
                (0..self.burst).for_each(|_| wire.send(ha, &frame).expect("sent"));
                self.sent.fetch_add(self.burst, Ordering::Relaxed);
                std::thread::sleep(PAUSE);
            }
        });
    }
}

/// The time from one echo request to the next.
const PROBE: Duration = Duration::from_millis(5);

/// Continuous echo requests from the left host to the right one.
#[derive(Default)]
struct Probe {
    ends: AtomicBool,
    /// The arrival times of replies.
    replies: Mutex<Vec<Instant>>,
}

impl Probe {
    fn run(&self, left: &Namespace) {
        left.run(|| {
            // Raise the priority where that is permitted, so that the test does not measure how
            // long this thread waits for a processor.
            // SAFETY: a plain system call, on this thread.
            unsafe { libc::setpriority(libc::PRIO_PROCESS, 0, -20) };
            let mut echo = Echo::open(address("10.0.2.2"), 64);
            while !self.ends.load(Ordering::Relaxed) {
                let next = Instant::now() + PROBE;
                echo.send();
                while let Some((_, kind, _)) =
                    echo.receive(next.saturating_duration_since(Instant::now()))
                {
                    let now = Instant::now();
                    if kind == REPLY4 {
                        self.replies().push(now);
                    }
                }
            }
        });
    }

    fn replies(&self) -> std::sync::MutexGuard<'_, Vec<Instant>> {
        self.replies.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the longest time without a reply from `begin` until the first one after `end`, and
    /// when it began.
    fn longest_silence(&self, begin: Instant, end: Instant) -> (Duration, Instant) {
        let last = until("a reply", || {
            // Without the sleep this thread would hold the lock all the time.
            std::thread::sleep(PROBE);
            self.replies().iter().find(|at| **at > end).copied()
        });
        let replies = self.replies();
        let within = replies.iter().filter(|at| (begin..=last).contains(at));
        let times: Vec<Instant> = std::iter::once(begin).chain(within.copied()).collect();
        let silences = times.windows(2).map(|pair| (pair[1] - pair[0], pair[0]));
        silences.max().unwrap_or((Duration::ZERO, begin))
    }
}

/// Ends the threads of the test, even if it fails.
struct Ends<'a>(&'a Load, &'a Probe);

impl Drop for Ends<'_> {
    fn drop(&mut self) {
        self.0.ends.store(true, Ordering::Relaxed);
        self.1.ends.store(true, Ordering::Relaxed);
    }
}

/// Processes that each keep a processor busy.
struct Spinning(Vec<Child>);

impl Spinning {
    fn start(count: usize) -> Self {
        let spin = || Command::new("sh").args(["-c", "while :; do :; done"]).spawn().expect("sh");
        Self((0..count).map(|_| spin()).collect())
    }
}

impl Drop for Spinning {
    fn drop(&mut self) {
        for child in &mut self.0 {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// Waits until the router's ports have their earlier state.
fn settles_as(network: &Network, before: &str) {
    let deadline = Instant::now() + patience();
    loop {
        let now = network.router.interfaces();
        if now == before {
            return;
        }
        assert!(Instant::now() < deadline, "the ports are not as they were:\n{before}now:\n{now}");
    }
}

/// The longest permitted time without a reply.
const MOST_SILENCE: Duration = Duration::from_secs(1);

/// The effect of a kill.
struct Outage {
    /// The longest time without a reply, from the signal until the command forwarded again.
    silence: Duration,
    /// The time from the signal until the kernel had ended the process, with its sockets and
    /// devices.
    ending: Duration,
    /// The time from the start of the next process until it reported that it forwards.
    starting: Duration,
}

/// The ways of exchanging frames that can be tested here.
fn ways() -> Vec<&'static str> {
    let mut ways = vec!["xdp", "packet"];
    if Path::new("/usr/sbin/ethtool").exists() {
        ways.push("kernel");
    }
    ways
}

/// Kills the command `times` times under this load. Returns the outages; none if this computer does
/// not permit the test.
fn killed(way: &str, times: usize, burst: u64) -> Vec<Outage> {
    let network = match Network::new() {
        Ok(network) => network,
        Err(error) => {
            eprintln!("warning: nothing was tested: {error}");
            return Vec::new();
        }
    };
    // The kernel reports late that a link is up, and then adds the link's own address.
    let before = until("the ports are up", || {
        let now = network.router.interfaces();
        let count = |words: &str| now.matches(words).count();
        (count(" state UP ") == 2 && count("inet6 fe80") == 2).then_some(now)
    });
    let mut random = ChaCha8Rng::seed_from_u64(23);
    let (load, probe) = (Load::new(burst), Probe::default());
    let reply = (address("10.0.2.2"), REPLY4, 0);
    let mut outages = Vec::new();
    std::thread::scope(|scope| {
        scope.spawn(|| load.run(&network.left));
        scope.spawn(|| probe.run(&network.left));
        let _ends = Ends(&load, &probe);
        let options = ["--io", way];
        let Some(mut forwarding) = Forwarding::start(&network, &options) else { return };
        for _ in 0..times {
            // Some processes are killed before they forward, or soon after.
            if random.random() {
                forwards(&network, "10.0.2.2", reply);
            }
            let sent = || load.sent.load(Ordering::Relaxed);
            let moment = sent() + random.random_range(0..100 * burst);
            until("more frames", || (sent() >= moment).then_some(()));
            let begin = Instant::now();
            forwarding.signal(libc::SIGKILL);
            forwarding.child.wait().expect("an end");
            let ending = begin.elapsed();
            settles_as(&network, &before);
            let start = Instant::now();
            forwarding = Forwarding::start(&network, &options).expect("as before");
            let starting = start.elapsed();
            let end = Instant::now();
            let (silence, since) = probe.longest_silence(begin, end);
            if silence >= MOST_SILENCE {
                eprintln!(
                    "{way}: no reply for {silence:.3?}, from {:.3?} after the kill; the next process \
                     forwarded {:.3?} after it",
                    since - begin,
                    end - begin
                );
            }
            outages.push(Outage { silence, ending, starting });
        }
    });
    outages
}

#[test]
fn killed_under_load_it_leaves_nothing_and_starts_again() {
    ways().into_iter().for_each(|way| _ = killed(way, 1, MANY));
}

/// Formats the median and the greatest of some times.
fn summary(outages: &[Outage], time: fn(&Outage) -> Duration) -> String {
    let mut times: Vec<Duration> = outages.iter().map(time).collect();
    times.sort();
    format!("{:.3?} (at most {:.3?})", times[times.len() / 2], times[times.len() - 1])
}

/// Kills the command `times` times in each way under this load.
///
/// # Panics
/// If hosts had no reply for a second.
fn hosts_hardly_notice(times: usize, burst: u64) {
    for way in ways() {
        let outages = killed(way, times, burst);
        let Some(longest) = outages.iter().map(|outage| outage.silence).max() else { return };
        eprintln!(
            "{way}: after a kill no reply for {}; the process has ended after {}; the next one says \
             that it forwards {} after its start",
            summary(&outages, |outage| outage.silence),
            summary(&outages, |outage| outage.ending),
            summary(&outages, |outage| outage.starting),
        );
        assert!(longest < MOST_SILENCE, "{way}: no reply for {longest:?}");
    }
}

#[test]
#[ignore = "takes minutes: make test-all"]
fn killed_a_hundred_times_it_leaves_nothing_and_packets_flow_within_a_second() {
    hosts_hardly_notice(34, MANY);
}

#[test]
#[ignore = "takes minutes: make test-all"]
fn killed_beside_much_other_work_packets_flow_within_a_second() {
    let processors = std::thread::available_parallelism().expect("a number").get();
    let _spinning = Spinning::start(6 * processors);
    hosts_hardly_notice(34, SOME);
}
