use super::*;
use crate::{Activity, Effort, Unit};

fn waits(list: &[(&str, &str)]) -> WaitGraph {
    let mut waits = WaitGraph::default();
    list.iter().for_each(|(who, on)| waits.add(*who, *on, "a reply"));
    waits
}

fn names(waits: &[Wait]) -> Vec<&str> {
    waits.iter().map(|wait| wait.who.as_str()).collect()
}

#[test]
fn a_circle_is_found_among_those_who_wait_for_it() {
    let report =
        waits(&[("a", "b"), ("x", "a"), ("b", "c"), ("c", "a"), ("c", "d"), ("y", "x")]).report();
    assert_eq!(
        report.cycles.iter().map(|cycle| names(cycle)).collect::<Vec<_>>(),
        [["a", "b", "c"]]
    );
    assert_eq!(report.blockers.len(), 1);
    assert_eq!((report.blockers[0].who.as_str(), report.blockers[0].waiting), ("d", 5));
    assert_eq!(
        report.to_string(),
        "deadlock, a cycle of 3:\n  a waits for b: a reply\n  b waits for c: a reply\n  c waits for a: a reply\n\
         d waits for none and blocks 5, such as\n  y waits for x: a reply\n  x waits for a: a reply\n  \
         a waits for b: a reply\n  b waits for c: a reply\n  c waits for d: a reply"
    );
}

#[test]
fn every_set_of_circles_shows_one() {
    let report =
        waits(&[("a", "a"), ("b", "c"), ("c", "b"), ("d", "b"), ("d", "e"), ("e", "d")]).report();
    let mut cycles: Vec<_> = report.cycles.iter().map(|cycle| names(cycle)).collect();
    cycles.sort();
    assert_eq!(cycles, [vec!["a"], vec!["b", "c"], vec!["d", "e"]]);
    assert!(report.blockers.is_empty());
    assert_eq!(waits(&[]).report().to_string(), "no party reports a wait");
}

#[test]
fn without_a_circle_the_one_is_named_who_keeps_all_waiting() {
    let list: Vec<_> = (0..100).map(|n| (format!("thread {n}"), "engine".to_owned())).collect();
    let mut waits = WaitGraph::default();
    list.iter().for_each(|(who, on)| waits.add(who, on, "a search"));
    waits.add("engine", "memory", "a row");
    let report = waits.report();
    assert!(report.cycles.is_empty());
    assert_eq!((report.blockers[0].who.as_str(), report.blockers[0].waiting), ("memory", 101));
    assert_eq!(names(&report.blockers[0].chain), ["thread 99", "engine"]);
}

/// A machine that completes a work item each nanosecond, until one that never ends. Then it sleeps,
/// or repeats empty steps.
struct Machine {
    done: u64,
    stops_at: u64,
    sleeps: bool,
}

impl Model for Machine {
    type Event = ();

    fn arrive(&mut self, (): (), kernel: &mut Kernel<()>) {
        if self.done < self.stops_at {
            self.done += 1;
        }
        if self.done < self.stops_at || !self.sleeps {
            kernel.send(Time::nanoseconds(1), ());
        }
    }

    fn cycle(&mut self, _: Unit, _: &mut Kernel<()>) -> Activity {
        Activity::Asleep
    }
}

impl Watched for Machine {
    fn outstanding(&self) -> u64 {
        // A machine that stops at item 500 never ends it.
        u64::from(self.done < 500 || self.stops_at == 500)
    }

    fn progress(&self) -> u64 {
        self.done
    }

    fn waits(&self, waits: &mut WaitGraph) {
        waits.add("thread 0", "engine", "a search");
    }
}

fn run(stops_at: u64, sleeps: bool) -> Result<Stop, Box<Stuck>> {
    let mut kernel = Kernel::new(Effort::Active, Time(100));
    kernel.send(Time(0), ());
    let mut machine = Machine { done: 0, stops_at, sleeps };
    run_watched(&mut kernel, &mut machine, Time::nanoseconds(2000), Time::nanoseconds(100))
}

#[test]
fn silence_with_work_left_is_reported() {
    let stuck = run(500, true).unwrap_err();
    assert_eq!((stuck.at, stuck.is_silent, stuck.outstanding), (Time::nanoseconds(499), true, 1));
    assert_eq!(
        stuck.to_string(),
        "stuck at 499.000 ns: 1 begun and not ended, and no event is left\n\
         engine waits for none and blocks 1, such as\n  thread 0 waits for engine: a search"
    );
}

#[test]
fn bustle_that_leads_to_nothing_is_reported() {
    let stuck = run(500, false).unwrap_err();
    assert_eq!(
        (stuck.at, stuck.since, stuck.is_silent),
        (Time::nanoseconds(600), Time::nanoseconds(500), false)
    );
    assert!(
        stuck.to_string().contains("1 begun and not ended, without progress since 500.000 ns"),
        "{stuck}"
    );
}

#[test]
fn a_machine_that_gets_on_or_has_nothing_to_do_is_left_alone() {
    assert_eq!(run(3000, true), Ok(Stop::Reached));
    assert_eq!(run(600, true), Ok(Stop::Silent));
    assert_eq!(run(600, false), Ok(Stop::Reached));
}

#[test]
fn a_machine_that_is_run_in_short_pieces_is_watched_as_in_one_go() {
    let mut kernel = Kernel::new(Effort::Active, Time(100));
    kernel.send(Time(0), ());
    let mut machine = Machine { done: 0, stops_at: 500, sleeps: false };
    let patience = Time::nanoseconds(100);
    let mut watchdog = Watchdog::new(Patience { idle: patience, busy: patience });
    let pieces = (1..).map(|piece| Time::nanoseconds(7 * piece));
    let stuck =
        pieces.map(|until| watchdog.run(&mut kernel, &mut machine, until)).find_map(Result::err);
    let stuck = stuck.expect("it never ends by itself");
    // The last progress was seen at the end of a run.
    let times = (stuck.at, stuck.since, stuck.is_silent);
    assert_eq!(times, (Time::nanoseconds(604), Time::nanoseconds(504), false));
}

/// A machine that makes steps, some of which lead to a result.
struct Loop {
    steps: u64,
    results: u64,
}

impl Model for Loop {
    type Event = ();

    fn arrive(&mut self, (): (), kernel: &mut Kernel<()>) {
        self.steps += 1;
        self.results += u64::from(self.steps <= 300 && self.steps.is_multiple_of(100));
        kernel.send(Time::nanoseconds(1), ());
    }

    fn cycle(&mut self, _: Unit, _: &mut Kernel<()>) -> Activity {
        Activity::Asleep
    }
}

impl Watched for Loop {
    fn outstanding(&self) -> u64 {
        1
    }

    fn progress(&self) -> u64 {
        self.steps
    }

    fn results(&self) -> u64 {
        self.results
    }

    fn waits(&self, _: &mut WaitGraph) {}
}

#[test]
fn steps_are_given_more_time_than_silence_and_not_for_ever() {
    let mut kernel = Kernel::new(Effort::Active, Time(100));
    kernel.send(Time(0), ());
    let patience = Patience { idle: Time::nanoseconds(50), busy: Time::nanoseconds(150) };
    let mut watchdog = Watchdog::new(patience);
    let mut machine = Loop { steps: 0, results: 0 };
    let stuck = watchdog.run(&mut kernel, &mut machine, Time::nanoseconds(2000)).unwrap_err();
    assert!(stuck.at >= Time::nanoseconds(450) && stuck.at <= Time::nanoseconds(600), "{stuck}");
}
