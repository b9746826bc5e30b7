use super::*;

mod breaks;
mod variable_clocks;

/// Units that pass things on. Each works on a thing for some cycles, then sends it to another unit
/// after a delay. The number of the thing determines both.
#[derive(Clone)]
struct Mill {
    units: Vec<Station>,
    /// A log of the time, the unit and the thing of each step.
    log: Vec<(Time, Unit, u32)>,
    /// Things that the first units still have to put in.
    left: u32,
}

#[derive(Clone, Default)]
struct Station {
    waiting: std::collections::VecDeque<u32>,
    cycles_left: u32,
}

#[derive(Clone, Debug)]
struct Thing {
    to: Unit,
    number: u32,
}

fn mix(number: u32) -> u32 {
    number.wrapping_mul(2_654_435_761).rotate_left(13) ^ number
}

impl Model for Mill {
    type Event = Thing;

    fn arrive(&mut self, thing: Thing, kernel: &mut Kernel<Thing>) {
        self.log.push((kernel.now(), thing.to, thing.number));
        self.units[thing.to.0 as usize].waiting.push_back(thing.number);
        kernel.wake(thing.to);
    }

    fn cycle(&mut self, unit: Unit, kernel: &mut Kernel<Thing>) -> Activity {
        let stations = self.units.len() as u32;
        let station = &mut self.units[unit.0 as usize];
        let Some(&number) = station.waiting.front() else { return Activity::Asleep };
        if station.cycles_left == 0 {
            station.cycles_left = 1 + mix(number) % 5;
        }
        station.cycles_left -= 1;
        if station.cycles_left == 0 {
            station.waiting.pop_front();
            if self.left > 0 {
                self.left -= 1;
                let next = mix(number).wrapping_add(self.left);
                let delay = Time([0, 500, 40, 100_000][next as usize % 4]);
                kernel.send(delay, Thing { to: Unit(mix(next) % stations), number: next });
            }
        }
        if station.waiting.is_empty() { Activity::Asleep } else { Activity::Awake }
    }
}

fn mill(effort: Effort) -> (Mill, Kernel<Thing>) {
    let mut kernel = Kernel::new(effort, Time(10));
    let clocks = [Clock::hertz(500_000_000), Clock::hertz(600_000_000), Clock::ratio(7, 3)];
    for clock in clocks {
        kernel.add_clock(clock);
    }
    let units = (0..200).map(|number| kernel.add_unit(number % 3)).collect::<Vec<_>>();
    for number in 0..20 {
        kernel.send(
            Time(number * 700),
            Thing { to: units[number as usize * 7], number: number as u32 },
        );
    }
    let stations = units.iter().map(|_| Station::default()).collect();
    (Mill { units: stations, log: Vec::new(), left: 3000 }, kernel)
}

#[test]
fn whoever_sleeps_costs_nothing_and_changes_nothing() {
    let (mut mill_active, mut active) = mill(Effort::Active);
    assert_eq!(active.run(&mut mill_active, Time(u64::MAX / 2)), Stop::Silent);
    let (mut mill_naive, mut naive) = mill(Effort::Naive);
    assert_eq!(naive.run(&mut mill_naive, Time(u64::MAX / 2)), Stop::Silent);
    assert_eq!(mill_active.log.len(), 3020);
    assert_eq!(mill_active.log, mill_naive.log);
    assert_eq!(active.work().1, naive.work().1);
    assert!(active.work().0 * 100 < naive.work().0, "{:?} {:?}", active.work(), naive.work());
}

#[test]
fn a_run_in_parts_is_like_one_in_one_piece() {
    let (mut whole, mut kernel) = mill(Effort::Active);
    assert_eq!(kernel.run(&mut whole, Time(u64::MAX / 2)), Stop::Silent);
    let (mut parts, mut kernel) = mill(Effort::Active);
    let mut end = Time(0);
    while kernel.run(&mut parts, end) == Stop::Reached {
        assert_eq!(kernel.now(), end);
        end += Time(130);
    }
    assert_eq!(whole.log, parts.log);
    assert!(end > Time(1_000_000), "{end}");
}

/// Units that count their cycles and wake their neighbours.
struct Chain {
    cycles: Vec<(Time, u32)>,
    wakes: Vec<Option<u32>>,
}

impl Model for Chain {
    type Event = u32;

    fn arrive(&mut self, unit: u32, kernel: &mut Kernel<u32>) {
        kernel.wake(Unit(unit));
    }

    fn cycle(&mut self, unit: Unit, kernel: &mut Kernel<u32>) -> Activity {
        self.cycles.push((kernel.now(), unit.0));
        if let Some(other) = self.wakes[unit.0 as usize].take() {
            kernel.wake(Unit(other));
        }
        Activity::Asleep
    }
}

#[test]
fn who_is_woken_behind_ones_turn_waits_for_the_next_edge() {
    let mut kernel = Kernel::new(Effort::Active, Time(100));
    let (slow, fast) =
        (kernel.add_clock(Clock::ratio(300, 1)), kernel.add_clock(Clock::ratio(100, 1)));
    for clock in [slow, fast, fast, fast] {
        kernel.add_unit(clock);
    }
    // Unit 2 wakes 3, which comes after it; 3 wakes 1, whose turn has passed; 1 wakes 0, on a clock
    // whose turn has passed.
    let mut chain = Chain { cycles: Vec::new(), wakes: vec![None, Some(0), Some(3), Some(1)] };
    kernel.send(Time(450), 2);
    assert_eq!(kernel.run(&mut chain, Time(10_000)), Stop::Silent);
    assert_eq!(chain.cycles, [(Time(500), 2), (Time(500), 3), (Time(600), 1), (Time(900), 0)]);
}

/// A unit that counts down from an event's number and knows in advance when it is done. Another
/// unit has a cycle of its own in between.
struct Timer {
    /// The edge at which the countdown is done.
    done: Option<u64>,
    edge: u64,
    log: Vec<(Time, &'static str)>,
}

impl Model for Timer {
    type Event = u64;

    fn arrive(&mut self, cycles: u64, kernel: &mut Kernel<u64>) {
        self.done = Some(kernel.clock(Unit(0)).edge_from(kernel.now()) + cycles);
        self.log.push((kernel.now(), "set"));
        kernel.wake(Unit(0));
    }

    fn cycle(&mut self, unit: Unit, kernel: &mut Kernel<u64>) -> Activity {
        self.edge = kernel.clock(unit).edge_from(kernel.now());
        assert!(kernel.now() <= kernel.until());
        match self.done {
            Some(done) if done > self.edge => Activity::After(done - self.edge),
            Some(_) => {
                self.done = None;
                self.log.push((kernel.now(), "done"));
                Activity::Asleep
            }
            None => Activity::Asleep,
        }
    }
}

#[test]
fn who_knows_ahead_when_it_has_something_to_do_has_few_cycles_and_can_be_woken_before() {
    let run = |effort| {
        let mut kernel = Kernel::new(effort, Time(100));
        let clock = kernel.add_clock(Clock::ratio(100, 1));
        kernel.add_unit(clock);
        let mut timer = Timer { done: None, edge: 0, log: Vec::new() };
        // The third event comes during the countdown of the second, and its countdown ends first.
        for (time, cycles) in [(50, 60), (10_000, 1000), (10_070, 30), (20_000, 0)] {
            kernel.send(Time(time), cycles);
        }
        assert_eq!(kernel.run(&mut timer, Time(1_000_000)), Stop::Silent);
        (timer.log, kernel.work())
    };
    let (log, (cycles, _)) = run(Effort::Active);
    let done: Vec<u64> =
        log.iter().filter(|(_, what)| *what == "done").map(|(time, _)| time.0).collect();
    assert_eq!(done, [6_100, 13_100, 20_000]);
    assert!(cycles < 10, "{cycles}");
    let (naive_log, (naive_cycles, _)) = run(Effort::Naive);
    assert_eq!((naive_log, naive_cycles), (log, 201));
}

#[test]
fn a_model_can_stop_a_run() {
    struct Stopping;
    impl Model for Stopping {
        type Event = ();
        fn arrive(&mut self, (): (), kernel: &mut Kernel<()>) {
            kernel.stop();
        }
        fn cycle(&mut self, _: Unit, _: &mut Kernel<()>) -> Activity {
            Activity::Asleep
        }
    }
    let mut kernel = Kernel::new(Effort::Active, Time(1));
    kernel.send(Time(30), ());
    kernel.send(Time(40), ());
    assert_eq!(kernel.run(&mut Stopping, Time(100)), Stop::Stopped);
    assert_eq!((kernel.now(), kernel.work()), (Time(30), (0, 1)));
    assert_eq!(kernel.run(&mut Stopping, Time(35)), Stop::Reached);
    assert_eq!(kernel.run(&mut Stopping, Time(100)), Stop::Stopped);
    assert_eq!(kernel.run(&mut Stopping, Time(100)), Stop::Silent);
}

/// Four units send events at the same edges, which arrive at the same times. Some units send at the
/// edge, others send all events before the first edge.
#[test]
fn what_is_sent_ahead_of_time_arrives_in_the_order_in_which_it_would_if_it_were_not() {
    const EDGES: u64 = 6;
    const PERIOD: u64 = 1000;
    struct Senders {
        ahead: u32,
        arrived: Vec<(Time, u32, u64)>,
    }
    impl Model for Senders {
        type Event = (u32, u64);
        fn arrive(&mut self, (unit, edge): (u32, u64), kernel: &mut Kernel<(u32, u64)>) {
            self.arrived.push((kernel.now(), unit, edge));
        }
        fn cycle(&mut self, unit: Unit, kernel: &mut Kernel<(u32, u64)>) -> Activity {
            let now = kernel.now().0 / PERIOD;
            let is_ahead = self.ahead >> unit.0 & 1 != 0;
            for edge in if is_ahead { now..EDGES } else { now..now + 1 } {
                // Events of different edges meet too.
                let delay = Time(5 * PERIOD - edge / 2 * 2 * PERIOD);
                kernel.send_from(Time(edge * PERIOD), delay, (unit.0, edge));
            }
            if is_ahead || now + 1 == EDGES { Activity::Asleep } else { Activity::Awake }
        }
    }
    let run = |effort, ahead| {
        let mut kernel = Kernel::new(effort, Time(64));
        let clock = kernel.add_clock(Clock::ratio(PERIOD, 1));
        let mut senders = Senders { ahead, arrived: Vec::new() };
        for _ in 0..4 {
            let unit = kernel.add_unit(clock);
            kernel.wake(unit);
        }
        assert_eq!(kernel.run(&mut senders, Time(PERIOD * 20)), Stop::Silent);
        senders.arrived
    };
    let wanted = run(Effort::Active, 0);
    assert!(
        wanted.is_sorted_by_key(|(time, unit, edge)| (*time, *edge, *unit)) && wanted.len() == 24
    );
    for ahead in 0..16 {
        assert_eq!(run(Effort::Active, ahead), wanted, "{ahead:04b}");
    }
}

#[test]
fn a_unit_that_is_woken_by_a_time_has_a_cycle_at_its_edge() {
    #[derive(Default)]
    struct Woken(Vec<(u32, Time)>);
    impl Model for Woken {
        type Event = (Unit, Time);
        fn arrive(&mut self, (unit, time): (Unit, Time), kernel: &mut Kernel<(Unit, Time)>) {
            kernel.wake_by(unit, time);
        }
        fn cycle(&mut self, unit: Unit, kernel: &mut Kernel<(Unit, Time)>) -> Activity {
            self.0.push((unit.0, kernel.now()));
            if kernel.now() == Time(500) {
                kernel.wake_by(Unit(1), Time(501));
            }
            Activity::Asleep
        }
    }
    let mut kernel = Kernel::new(Effort::Active, Time(10));
    let clock = kernel.add_clock(Clock::ratio(100, 1));
    let units = [(); 3].map(|()| kernel.add_unit(clock));
    kernel.send(Time(210), (units[0], Time(500)));
    // The first request counts; a later one changes nothing.
    kernel.send(Time(220), (units[2], Time(790)));
    kernel.send(Time(230), (units[2], Time(601)));
    kernel.send(Time(240), (units[2], Time(900)));
    let mut woken = Woken::default();
    assert_eq!(kernel.run(&mut woken, Time(5000)), Stop::Silent);
    assert_eq!(woken.0, [(0, Time(500)), (1, Time(600)), (2, Time(700))]);
    // A request beyond the look-ahead is served sooner.
    kernel.send(Time(0), (units[0], Time(100_000)));
    assert_eq!(kernel.run(&mut woken, Time(200_000)), Stop::Silent);
    let (unit, time) = woken.0[3];
    assert!(unit == 0 && time > Time(5000) && time < Time(100_000), "{time}");
}
