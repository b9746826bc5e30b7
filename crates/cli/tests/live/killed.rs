//! The command is killed under load: nothing remains, the kernel forwards, and it starts again.

use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::echo::Echo;
use super::network::{Namespace, Network};
use super::patience::PATIENCE;
use super::routes::frame;
use super::wire::{self, Wire};
use super::{Forwarding, REPLY4, address, forwards, until};

/// Frames that are sent at once, and the time between: 50,000 a second.
const BURST: u64 = 50;
const PAUSE: Duration = Duration::from_millis(1);

/// Frames from the left host to the right one, and how many were sent.
#[derive(Default)]
struct Load {
    ends: AtomicBool,
    sent: AtomicU64,
}

impl Load {
    fn run(&self, left: &Namespace) {
        left.run(|| {
            let wire = Wire::open().expect("a packet socket");
            let ha = wire::interface_index("ha").expect("an interface");
            let frame = frame("10.0.2.2", 7);
            while !self.ends.load(Ordering::Relaxed) {
                (0..BURST).for_each(|_| wire.send(ha, &frame).expect("sent"));
                self.sent.fetch_add(BURST, Ordering::Relaxed);
                std::thread::sleep(PAUSE);
            }
        });
    }
}

/// How long a probe may take before the next one is sent.
const PROBE: Duration = Duration::from_millis(10);

/// Ends the load, also when the test fails.
struct Ends<'a>(&'a Load);

impl Drop for Ends<'_> {
    fn drop(&mut self) {
        self.0.ends.store(true, Ordering::Relaxed);
    }
}

/// Waits until the router's ports are as they were.
fn settles_as(network: &Network, before: &str) {
    let deadline = Instant::now() + PATIENCE;
    loop {
        let now = network.router.interfaces();
        if now == before {
            return;
        }
        assert!(Instant::now() < deadline, "the ports are not as they were:\n{before}now:\n{now}");
    }
}

/// Sends echo requests to the host on the right until a reply comes.
fn wait_for_reply(left: &Namespace) {
    left.run(|| {
        let mut echo = Echo::open(address("10.0.2.2"), 64);
        until("an answer", || {
            echo.send();
            echo.receive(PROBE)
        });
    });
}

/// How long there was no answer after a kill.
struct Outage {
    /// How the command had forwarded.
    way: &'static str,
    /// From the signal until the kernel had ended the process, with its sockets and devices.
    ending: Duration,
    /// From the signal to an answer.
    all: Duration,
}

/// Kills the command so often. Returns how long there was no answer, each time; nothing if this
/// computer does not allow it.
fn killed(times: usize) -> Vec<Outage> {
    let network = match Network::new() {
        Ok(network) => network,
        Err(error) => {
            eprintln!("warning: nothing was tested: {error}");
            return Vec::new();
        }
    };
    let mut ways = vec!["xdp", "packet"];
    if Path::new("/usr/sbin/ethtool").exists() {
        ways.push("kernel");
    }
    // The kernel tells late that a link is up, and then adds the link's own address.
    let before = until("the ports are up", || {
        let now = network.router.interfaces();
        let count = |words: &str| now.matches(words).count();
        (count(" state UP ") == 2 && count("inet6 fe80") == 2).then_some(now)
    });
    let mut random = ChaCha8Rng::seed_from_u64(23);
    let load = Load::default();
    let reply = (address("10.0.2.2"), REPLY4, 0);
    let mut outages = Vec::new();
    std::thread::scope(|scope| {
        scope.spawn(|| load.run(&network.left));
        let _ends = Ends(&load);
        for time in 0..times {
            let way = ways[time % ways.len()];
            let started = Forwarding::start(&network, &["--io", way]);
            let Some(mut forwarding) = started else { return };
            // Some are killed before they forward, or soon after.
            if random.random() {
                forwards(&network, "10.0.2.2", reply);
            }
            let sent = || load.sent.load(Ordering::Relaxed);
            let moment = sent() + random.random_range(0..5000);
            until("more frames", || (sent() >= moment).then_some(()));
            forwarding.signal(libc::SIGKILL);
            let begin = Instant::now();
            let (ending, all) = std::thread::scope(|scope| {
                let answered = scope.spawn(|| {
                    wait_for_reply(&network.left);
                    begin.elapsed()
                });
                forwarding.child.wait().expect("an end");
                let ending = begin.elapsed();
                (ending, answered.join().expect("an answer"))
            });
            outages.push(Outage { way, ending, all });
            settles_as(&network, &before);
        }
    });
    outages
}

#[test]
fn killed_under_load_it_leaves_nothing_and_starts_again() {
    killed(6);
}

#[test]
#[ignore = "takes minutes: make test-all"]
fn killed_a_hundred_times_it_leaves_nothing_and_packets_flow_within_a_second() {
    let outages = killed(100);
    for way in ["xdp", "packet", "kernel"] {
        let of = |time: fn(&Outage) -> Duration| {
            let mut times: Vec<Duration> =
                outages.iter().filter(|outage| outage.way == way).map(time).collect();
            times.sort();
            Some((*times.get(times.len() / 2)?, *times.last()?))
        };
        let both = of(|outage| outage.all).zip(of(|outage| outage.ending));
        let Some(((median, longest), (ended, last))) = both else { continue };
        eprintln!(
            "{way}: an answer after a kill: median {median:?}, longest {longest:?}; the process has \
             ended after {ended:?}, at most {last:?}"
        );
    }
    let late = |outage: &Outage| outage.all.saturating_sub(outage.ending);
    let latest = outages.iter().map(late).max().unwrap_or_default();
    assert!(latest < Duration::from_secs(1), "{latest:?} after the end of the process");
}
