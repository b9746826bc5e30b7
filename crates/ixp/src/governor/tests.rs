use super::*;

fn running(idle: f64, step: usize) -> EngineSeen {
    EngineSeen {
        idle,
        step,
        mode: Mode::Running,
        is_changing: false,
        receives: true,
        can_stop: true,
    }
}

fn seen(engines: Vec<EngineSeen>) -> Seen {
    Seen {
        engines,
        waiting: 0,
        mean_waiting: 0.0,
        threads: 16,
        backlog: 0,
        busiest: 0.5,
        is_urgent: false,
    }
}

#[test]
fn dvs_goes_one_step_by_idle_time_and_stays_within_its_steps() {
    let mut dvs = Dvs::new(DvsSpec { idle_percent: 10 }, 4);
    let engines = vec![
        running(0.2, 0),
        running(0.05, 3),
        running(0.2, 4),
        running(0.0, 0),
        running(0.1, 2),
        EngineSeen { mode: Mode::Changing, ..running(0.9, 1) },
        running(f64::NAN, 1),
    ];
    let actions = dvs.decide(&seen(engines));
    let expected = [Action::Step { engine: 0, step: 1 }, Action::Step { engine: 1, step: 2 }];
    assert_eq!(actions, expected);
}

#[test]
fn gating_stops_an_engine_when_the_counter_exceeds_a_threshold_that_falls_and_rises() {
    let mut gating = Gating::new(GatingSpec { waiting: 4, count: 2 });
    let mut at = |waiting, is_urgent, stopped: &[usize]| {
        let mut seen = seen(vec![running(0.5, 0); 4]);
        (seen.waiting, seen.is_urgent) = (waiting, is_urgent);
        for engine in stopped {
            seen.engines[*engine].mode = Mode::Stopped;
        }
        gating.decide(&seen)
    };
    assert!(at(5, false, &[]).is_empty() && at(4, false, &[]).is_empty());
    assert!(at(5, false, &[]).is_empty());
    // The third time exceeds 2; then two times are enough.
    assert_eq!(at(5, false, &[]), [Action::Stop { engine: 3 }]);
    assert!(at(5, false, &[3]).is_empty());
    assert_eq!(at(5, false, &[3]), [Action::Stop { engine: 2 }]);
    // A full buffer starts one, and two times are needed again.
    assert_eq!(at(0, true, &[2, 3]), [Action::Start { engine: 2 }]);
    assert!(at(9, false, &[3]).is_empty());
    assert_eq!(at(9, false, &[3]), [Action::Stop { engine: 2 }]);
    assert!(at(0, true, &[]).is_empty());
}

/// Plays the chip: applies actions at once.
fn play(demand: &mut Demand, seen: &mut Seen, periods: usize) -> Vec<Action> {
    let mut all = Vec::new();
    for _ in 0..periods {
        for action in demand.decide(seen) {
            match action {
                Action::Step { engine, step } => seen.engines[engine].step = step,
                Action::Stop { engine } => seen.engines[engine].mode = Mode::Stopped,
                Action::Start { engine } => seen.engines[engine].mode = Mode::Running,
            }
            let first = seen.engines[0].mode == Mode::Running;
            for engine in 0..seen.engines.len() {
                seen.engines[engine].can_stop = engine > 0 || !first;
            }
            all.push(action);
        }
    }
    all
}

fn demand() -> Demand {
    let spec = DemandSpec {
        low_percent: 60,
        high_percent: 80,
        urgent_percent: 25,
        patience: 2,
        full_percent: 97,
        changes: 1,
    };
    Demand::new(spec, vec![1.0, 0.8, 0.6], 64)
}

/// Three engines with 4 threads each; the work of `busy` engines at the fastest step, and
/// `threads` threads more that wait for memories.
fn load(seen: &mut Seen, demand: &Demand, busy: f64, threads: f64) {
    let rate = [1.0, 0.8, 0.6][demand.step];
    let off = |engine: &&EngineSeen| engine.mode != Mode::Stopped;
    let on = seen.engines.iter().filter(off).count() as f64;
    let each = (busy / rate / on).min(1.0);
    seen.engines.iter_mut().for_each(|engine| engine.idle = 1.0 - each);
    seen.threads = 4 * on as u32;
    seen.mean_waiting = (f64::from(seen.threads) - each * on - threads).max(0.0);
}

#[test]
fn demand_first_slows_down_all_engines_and_then_stops_some() {
    let (mut demand, mut seen) = (demand(), seen(vec![running(0.5, 0); 3]));
    for _ in 0..100 {
        load(&mut seen, &demand, 0.3, 1.0);
        play(&mut demand, &mut seen, 1);
    }
    // 0.3 / 0.6 is half an engine, with one and a half of its threads in use.
    let stopped = seen.engines.iter().filter(|engine| engine.mode == Mode::Stopped).count();
    assert_eq!(stopped, 2, "one engine is left");
    let steps: Vec<usize> = seen.engines.iter().map(|engine| engine.step).collect();
    assert_eq!(steps, [2, 0, 0], "stopped engines wait at the fastest step");
    // A port fills to the mark, and twice: all run at once, and the slow one becomes faster.
    (seen.is_urgent, seen.backlog) = (true, 32);
    let actions = play(&mut demand, &mut seen, 1);
    assert_eq!(actions.iter().filter(|a| matches!(a, Action::Start { .. })).count(), 2);
    assert_eq!(actions.iter().filter(|a| matches!(a, Action::Step { .. })).count(), 1);
}

#[test]
fn demand_takes_the_slowest_step_that_is_enough() {
    // Of three engines 1.2 to 1.44 at 0.8 are up to 60 %.
    for (busy, threads, step) in [(1.9, 1.0, 0), (1.3, 1.0, 1), (1.0, 1.0, 2), (1.0, 10.4, 0)] {
        let (mut demand, mut seen) = (demand(), seen(vec![running(0.5, 0); 3]));
        for _ in 0..100 {
            load(&mut seen, &demand, busy, threads);
            play(&mut demand, &mut seen, 1);
        }
        let steps: Vec<usize> = seen.engines.iter().map(|engine| engine.step).collect();
        assert_eq!(steps, [step; 3], "{busy} engines at work, {threads} threads");
    }
}

#[test]
fn at_a_full_unit_demand_slows_down_and_tries_less_often_when_that_costs() {
    let (mut demand, mut seen) = (demand(), seen(vec![running(0.0, 0); 2]));
    (seen.mean_waiting, seen.backlog, seen.threads) = (0.0, 60, 8);
    let mut attempts = Vec::new();
    let mut before = 0;
    for period in 0..600 {
        // The unit is full at step 0 only.
        seen.busiest = if seen.engines.iter().all(|engine| engine.step == 0) { 1.0 } else { 0.9 };
        play(&mut demand, &mut seen, 1);
        let now = seen.engines.iter().filter(|engine| engine.step > 0).count();
        if before == 0 && now > 0 {
            attempts.push(period);
        }
        before = now;
    }
    assert!(attempts.len() >= 3, "{attempts:?}");
    let gaps: Vec<i32> = attempts.windows(2).map(|pair| pair[1] - pair[0]).collect();
    assert!(gaps.is_sorted() && gaps.last() > gaps.first(), "{gaps:?}");
    // Where slower engines are enough, they stay slow, and a backlog does not change that.
    seen.busiest = 1.0;
    play(&mut demand, &mut seen, 2000);
    seen.is_urgent = true;
    play(&mut demand, &mut seen, 1);
    assert!(seen.engines.iter().all(|engine| engine.step == 2), "{:?}", seen.engines);
}
