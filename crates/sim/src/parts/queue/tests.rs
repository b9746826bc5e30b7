use super::*;
use crate::stats::Value;
use crate::{Activity, Kernel, Model, Rng, Stop, Unit};

/// A queue with one server. Customers arrive at random and are served one after the other; a
/// customer stays in the queue until its service ends.
struct Station {
    queue: Queue<u64>,
    arrivals: Rng,
    services: Option<Rng>,
    /// The mean time between arrivals, and the mean service time, in picoseconds.
    gap: f64,
    service: f64,
    left: u64,
    begun: Vec<Time>,
    /// The time that each entry stayed.
    stays: Vec<f64>,
}

enum Event {
    Comes,
    Served,
}

impl Station {
    fn run(load: f64, exponential: bool, entries: u64, customers: u64) -> (Self, Time) {
        let service = 1000.0;
        let mut station = Self {
            queue: Queue::new(QueueSpec { entries }).unwrap(),
            arrivals: Rng::new(1, "arrivals"),
            services: exponential.then(|| Rng::new(1, "services")),
            gap: service / load,
            service,
            left: customers,
            begun: Vec::new(),
            stays: Vec::new(),
        };
        let mut kernel = Kernel::new(crate::Effort::Active, Time(100));
        kernel.send(Time(0), Event::Comes);
        assert_eq!(kernel.run(&mut station, Time(u64::MAX / 2)), Stop::Silent);
        let end = kernel.now();
        (station, end)
    }

    fn serve(&mut self, kernel: &mut Kernel<Event>) {
        let draw = self.services.as_mut().map_or(1.0, Rng::exponential);
        kernel.send(Time((self.service * draw).round() as u64), Event::Served);
    }

    /// Returns the mean stay and the half width of its 99 % confidence interval, from 20 batches.
    fn stay(&self) -> (f64, f64) {
        const T_19: f64 = 2.861;
        let means: Vec<f64> = self
            .stays
            .chunks_exact(self.stays.len() / 20)
            .take(20)
            .map(|batch| batch.iter().sum::<f64>() / batch.len() as f64)
            .collect();
        let mean = means.iter().sum::<f64>() / 20.0;
        let variance = means.iter().map(|batch| (batch - mean).powi(2)).sum::<f64>() / 19.0;
        (mean, T_19 * (variance / 20.0).sqrt())
    }
}

impl Model for Station {
    type Event = Event;

    fn arrive(&mut self, event: Event, kernel: &mut Kernel<Event>) {
        let now = kernel.now();
        match event {
            Event::Comes => {
                self.left -= 1;
                if self.left > 0 {
                    let gap = self.gap * self.arrivals.exponential();
                    kernel.send(Time(gap.round() as u64), Event::Comes);
                }
                if self.queue.push(now, self.left).is_ok() {
                    self.begun.push(now);
                    if self.queue.len() == 1 {
                        self.serve(kernel);
                    }
                }
            }
            Event::Served => {
                self.queue.pop(now).unwrap();
                self.stays.push((now - self.begun[self.stays.len()]).0 as f64);
                if !self.queue.is_empty() {
                    self.serve(kernel);
                }
            }
        }
    }

    fn cycle(&mut self, _: Unit, _: &mut Kernel<Event>) -> Activity {
        Activity::Asleep
    }
}

/// The sum of wait and service as a multiple of the mean service, by the Pollaczek-Khinchine
/// formula.
fn expected_stay(load: f64, exponential: bool) -> f64 {
    let squared_variation = if exponential { 1.0 } else { 0.0 };
    1.0 + load * (1.0 + squared_variation) / (2.0 * (1.0 - load))
}

#[test]
fn stays_at_one_server_are_those_of_queueing_theory() {
    for (load, exponential) in [(0.3, false), (0.7, false), (0.9, false), (0.3, true), (0.7, true)]
    {
        let (station, _) = Station::run(load, exponential, 1 << 20, 200_000);
        let (mean, half_width) = station.stay();
        let expected = expected_stay(load, exponential) * station.service;
        assert!(half_width < expected * 0.1, "load {load}: {mean} within {half_width}");
        assert!(
            (mean - expected).abs() < half_width,
            "load {load}: {mean} within {half_width}, not {expected}"
        );
        assert_eq!(station.queue.refused(), 0);
    }
}

#[test]
fn a_bounded_queue_refuses_as_often_as_erlang_says() {
    // M/M/1/K: a share of (1 - r) r^K / (1 - r^(K + 1)) of the arriving customers finds the queue
    // full.
    for (load, bound) in [(0.8, 3u64), (1.5, 6)] {
        let (station, _) = Station::run(load, true, bound, 200_000);
        let (refused, come) = (station.queue.refused() as f64, 200_000.0);
        let power = f64::powi(load, bound as i32);
        let expected = (1.0 - load) * power / (1.0 - power * load);
        // Refusals cluster, so the bound is twice four binomial standard errors.
        let bound = 8.0 * (expected * (1.0 - expected) / come).sqrt();
        assert!((refused / come - expected).abs() < bound, "{} for {expected}", refused / come);
    }
}

#[test]
fn entries_are_as_many_as_come_in_a_stay() {
    let (station, end) = Station::run(1.2, true, 10, 20_000);
    let queue = &station.queue;
    // Little's law holds exactly if the queue is empty at the start and at the end.
    let little = queue.wait().mean() * queue.wait().count() as f64 / end.0 as f64;
    assert!((queue.occupancy().mean(end) - little).abs() < 1e-9);
    assert_eq!(queue.occupancy().most(), 10);
    assert_eq!(queue.wait().count() + queue.refused(), 20_000);
    assert_eq!(queue.record(end).value("refused"), Some(&Value::Count(queue.refused())));
}

#[test]
fn the_first_in_is_the_first_out_and_a_full_queue_gives_the_entry_back() {
    let mut queue = Queue::new(QueueSpec { entries: 2 }).unwrap();
    assert_eq!(
        [queue.push(Time(0), 'a'), queue.push(Time(1), 'b'), queue.push(Time(2), 'c')],
        [Ok(()), Ok(()), Err('c')]
    );
    assert_eq!((queue.is_full(), queue.front()), (true, Some(&'a')));
    assert_eq!(
        [queue.pop(Time(5)), queue.pop(Time(9)), queue.pop(Time(9))],
        [Some('a'), Some('b'), None]
    );
    assert_eq!((queue.wait().mean(), queue.refused()), (6.5, 1));
}

#[test]
fn a_queue_of_no_entries_is_refused() {
    let spec: QueueSpec = toml::from_str("entries = 0").unwrap();
    let error = Queue::<()>::new(spec).unwrap_err();
    assert_eq!(error.to_string(), "`entries`: is 0; it can be 1 to 16777216");
}
