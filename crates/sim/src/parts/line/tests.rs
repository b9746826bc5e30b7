use super::*;
use crate::stats::Value;
use crate::{Activity, Effort, Kernel, Model, Stop, Unit};

/// A source, and a machine that takes packets at fixed intervals, or none.
struct Receiver<I> {
    source: LineSource<I>,
    takes: Option<Time>,
    taken: Vec<Arrived>,
    lost: Vec<u64>,
}

enum Event {
    Line(LineEvent),
    Take,
}

impl<I: Iterator<Item = Offered>> Model for Receiver<I> {
    type Event = Event;

    fn arrive(&mut self, event: Event, kernel: &mut Kernel<Event>) {
        match event {
            Event::Line(event) => {
                if let Some(Reception::Lost(packet)) =
                    self.source.arrive(event, &mut kernel.wrapped(Event::Line))
                {
                    self.lost.push(packet.number);
                }
            }
            Event::Take => {
                self.taken.extend(self.source.take(kernel.now()));
                if let (Some(gap), false) = (self.takes, self.source.is_exhausted()) {
                    kernel.send(gap, Event::Take);
                }
            }
        }
    }

    fn cycle(&mut self, _: Unit, _: &mut Kernel<Event>) -> Activity {
        Activity::Asleep
    }
}

fn spec(queue_packets: u64) -> LineSpec {
    toml::from_str(&format!("rate_gbps = 10\noverhead_bytes = 24\nqueue_packets = {queue_packets}"))
        .unwrap()
}

fn packets(count: u64) -> impl Iterator<Item = Offered> {
    (0..count).map(|number| Offered { number, bytes: 60, at: Time(number * number * 1000) })
}

/// Begins at time 0. Packets that are not taken meanwhile are taken at the end.
fn run(
    pace: Pace,
    count: u64,
    queue: u64,
    takes: Option<Time>,
) -> (Receiver<impl Iterator<Item = Offered>>, Time) {
    let source = LineSource::new(spec(queue), pace, packets(count), Rng::new(2, "line")).unwrap();
    let mut receiver = Receiver { source, takes, taken: Vec::new(), lost: Vec::new() };
    let mut kernel = Kernel::new(Effort::Active, Time(1000));
    receiver.source.begin(&mut kernel.wrapped(Event::Line));
    if takes.is_some() {
        kernel.send(Time(0), Event::Take);
    }
    assert_eq!(kernel.run(&mut receiver, Time(u64::MAX / 2)), Stop::Silent);
    while let Some(packet) = receiver.source.take(kernel.now()) {
        receiver.taken.push(packet);
    }
    let end = kernel.now();
    (receiver, end)
}

/// The time of 84 bytes at 10 Gb/s.
const SLOT: u64 = 67_200;

#[test]
fn at_line_rate_packets_come_back_to_back() {
    let (receiver, _) = run(Pace::Line, 100, 100, None);
    let times: Vec<u64> = receiver.taken.iter().map(|packet| packet.at.0).collect();
    assert_eq!(times, (1..=100).map(|n| n * SLOT).collect::<Vec<_>>());
    assert!(receiver.source.is_exhausted());
}

#[test]
fn a_load_is_a_share_of_the_line() {
    let (receiver, end) = run(Pace::Load(0.25), 1000, 1000, None);
    assert_eq!(end, Time(999 * 4 * SLOT + SLOT));
    assert_eq!(receiver.taken.len(), 1000);
    let Some(Value::Number(used)) = receiver.source.record(end).value("line.use").cloned() else {
        panic!()
    };
    assert!((used - 0.25).abs() < 0.001, "{used}");
}

#[test]
fn packets_by_chance_are_as_many_as_asked_for_and_never_closer_than_the_line_allows() {
    let (receiver, end) = run(Pace::Poisson(0.5), 20_000, 20_000, None);
    // Four standard errors of the mean gap.
    let load = 20_000.0 * SLOT as f64 / end.0 as f64;
    assert!((load - 0.5).abs() < 0.5 * 4.0 / 20_000f64.sqrt(), "{load}");
    let gaps: Vec<u64> =
        receiver.taken.windows(2).map(|pair| (pair[1].at - pair[0].at).0).collect();
    assert!(gaps.iter().all(|gap| *gap >= SLOT));
    // The share of packets that find the line busy, and so arrive back to back, equals the load.
    let close = gaps.iter().filter(|gap| **gap == SLOT).count() as f64 / gaps.len() as f64;
    assert!((close - 0.5).abs() < 0.03, "{close}");
}

#[test]
fn given_times_hold_where_the_line_is_fast_enough() {
    let (receiver, _) = run(Pace::Given, 100, 100, None);
    let mut free = 0;
    for (number, packet) in receiver.taken.iter().enumerate() {
        free = (number as u64 * number as u64 * 1000).max(free) + SLOT;
        assert_eq!(packet.at.0, free);
    }
}

#[test]
fn what_does_not_fit_into_the_queue_is_lost_from_its_end() {
    // No packet is taken, so the first 7 stay.
    let (receiver, end) = run(Pace::Line, 10, 7, None);
    assert_eq!(
        receiver.taken.iter().map(|packet| packet.number).collect::<Vec<_>>(),
        [0, 1, 2, 3, 4, 5, 6]
    );
    assert_eq!((receiver.lost, receiver.source.lost()), (vec![7, 8, 9], 3));
    assert_eq!(receiver.source.record(end).value("lost"), Some(&Value::Count(3)));
    // Packets are taken at half the rate of arrivals, so half of them are lost.
    let (receiver, _) = run(Pace::Line, 10_000, 8, Some(Time(2 * SLOT)));
    assert!(receiver.lost.len().abs_diff(5000) < 10, "{}", receiver.lost.len());
    assert_eq!(receiver.lost.len() + receiver.taken.len(), 10_000);
}

#[test]
fn packets_leave_one_behind_the_other() {
    let mut sink = LineSink::new(spec(2)).unwrap();
    assert_eq!(sink.send(Time(100), 60), Some(Time(100 + SLOT)));
    assert_eq!(sink.send(Time(200), 60), Some(Time(100 + 2 * SLOT)));
    assert_eq!(sink.send(Time(200), 60), Some(Time(100 + 3 * SLOT)));
    // One packet is on the line, two wait.
    assert!(!sink.can_send(Time(300)));
    assert_eq!(sink.send(Time(300), 60), None);
    assert!(sink.can_send(Time(100 + SLOT)));
    assert_eq!(sink.send(Time(1_000_000), 1476), Some(Time(1_000_000 + 1_200_000)));
    // Packets that have left take no room.
    assert_eq!(sink.leaving.len(), 1);
    assert_eq!(sink.next_departure(Time(1_000_000)), Some(Time(2_200_000)));
    assert_eq!(sink.record(Time(2_200_000)).value("packets"), Some(&Value::Count(4)));
    assert_eq!(sink.record(Time(2_200_000)).value("refused"), Some(&Value::Count(1)));
}

#[test]
fn a_pace_that_no_line_can_have_is_refused() {
    let refused = |pace, queue| {
        let source = LineSource::new(spec(queue), pace, packets(1), Rng::new(2, "line"));
        source.map(|_| ()).unwrap_err().to_string()
    };
    assert_eq!(refused(Pace::Load(1.5), 1), "`pace.load`: is 1.5; it can be more than 0, up to 1");
    assert_eq!(
        refused(Pace::Poisson(1.0), 1),
        "`pace.poisson`: is 1; it can be more than 0, less than 1"
    );
    assert_eq!(refused(Pace::Line, 0), "`queue_packets`: is 0; it can be 1 to 16777216");
    #[derive(Deserialize)]
    struct File {
        pace: Vec<Pace>,
    }
    let file: File =
        toml::from_str("pace = [\"line\", { load = 0.5 }, { poisson = 0.5 }, \"given\"]").unwrap();
    assert_eq!(file.pace, [Pace::Line, Pace::Load(0.5), Pace::Poisson(0.5), Pace::Given]);
}
