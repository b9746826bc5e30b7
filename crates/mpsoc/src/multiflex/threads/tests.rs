use super::Effect::{Answer, Begin, Free};
use super::Request::*;
use super::*;

/// A manager of `count` hardware threads. Threads 1, 2, ... run on the hardware threads of the same
/// numbers; if `rising`, with rising priorities.
fn with_threads(count: u32, rising: bool) -> ThreadManager {
    let mut manager = ThreadManager::new(0..count);
    for thread in 1..count {
        let priority = if rising { thread } else { 0 };
        let effects =
            manager.request(0, Create { entry: 100, argument: thread, priority }).unwrap();
        let begin = Begin { hardware: thread, thread, entry: 100, argument: thread };
        assert_eq!(effects, [begin, Answer { hardware: 0, value: thread }]);
    }
    manager
}

#[track_caller]
fn answers(
    manager: &mut ThreadManager,
    hardware: Hardware,
    request: Request,
    expected: &[(Hardware, u32)],
) {
    let expected: Vec<Effect> =
        expected.iter().map(|&(hardware, value)| Answer { hardware, value }).collect();
    assert_eq!(manager.request(hardware, request), Ok(expected));
}

#[test]
fn a_thread_without_hardware_begins_when_some_is_free_the_most_urgent_first() {
    let mut manager = with_threads(2, false);
    let create = |argument, priority| Create { entry: 8, argument, priority };
    answers(&mut manager, 0, create(5, 1), &[(0, 2)]);
    answers(&mut manager, 0, create(6, 9), &[(0, 3)]);
    assert_eq!(
        manager.waits().collect::<Vec<_>>(),
        [(2, Waiting::Hardware), (3, Waiting::Hardware)]
    );
    let effects = manager.request(1, Exit { value: 7 }).unwrap();
    assert_eq!(
        effects,
        [Free { hardware: 1 }, Begin { hardware: 1, thread: 3, entry: 8, argument: 6 }]
    );
    assert_eq!(manager.thread(1), Some(3));
    answers(&mut manager, 1, Identify, &[(1, 3)]);
}

#[test]
fn joining_waits_for_the_end_and_gets_its_value() {
    let mut manager = with_threads(4, false);
    answers(&mut manager, 0, Join { thread: 2 }, &[]);
    answers(&mut manager, 1, Join { thread: 2 }, &[]);
    let effects = manager.request(2, Exit { value: 42 }).unwrap();
    let answer = |hardware| Answer { hardware, value: 42 };
    assert_eq!(effects, [answer(0), answer(1), Free { hardware: 2 }]);
    answers(&mut manager, 3, Join { thread: 2 }, &[(3, 42)]);
}

#[test]
fn one_at_a_time_is_in_a_monitor_and_the_most_urgent_follows() {
    let mut manager = with_threads(4, true);
    answers(&mut manager, 0, Enter { monitor: 9 }, &[(0, 0)]);
    answers(&mut manager, 0, Enter { monitor: 9 }, &[(0, 0)]);
    for thread in 1..4 {
        answers(&mut manager, thread, Enter { monitor: 9 }, &[]);
    }
    answers(&mut manager, 0, Leave { monitor: 9 }, &[(0, 0)]);
    answers(&mut manager, 0, Leave { monitor: 9 }, &[(3, 0), (0, 0)]);
    assert_eq!(
        manager.waits().collect::<Vec<_>>(),
        [(1, Waiting::Monitor(9, 3)), (2, Waiting::Monitor(9, 3))]
    );
    answers(&mut manager, 0, Enter { monitor: 9 }, &[]);
    answers(&mut manager, 3, Leave { monitor: 9 }, &[(2, 0), (3, 0)]);
    answers(&mut manager, 2, Leave { monitor: 9 }, &[(1, 0), (2, 0)]);
    answers(&mut manager, 1, Leave { monitor: 9 }, &[(0, 0), (1, 0)]);
}

#[test]
fn equals_follow_in_the_order_of_their_coming() {
    let mut manager = with_threads(4, false);
    answers(&mut manager, 0, Enter { monitor: 9 }, &[(0, 0)]);
    for thread in [2, 1, 3] {
        answers(&mut manager, thread, Enter { monitor: 9 }, &[]);
    }
    answers(&mut manager, 0, Leave { monitor: 9 }, &[(2, 0), (0, 0)]);
    answers(&mut manager, 2, Leave { monitor: 9 }, &[(1, 0), (2, 0)]);
}

#[test]
fn who_waits_for_a_condition_leaves_the_monitor_and_enters_it_again_as_often() {
    let mut manager = with_threads(3, false);
    let (condition, monitor) = (5, 9);
    for _ in 0..2 {
        answers(&mut manager, 1, Enter { monitor }, &[(1, 0)]);
    }
    answers(&mut manager, 1, Wait { condition, monitor }, &[]);
    answers(&mut manager, 2, Enter { monitor }, &[(2, 0)]);
    answers(&mut manager, 2, Notify { condition, monitor }, &[(2, 1)]);
    answers(&mut manager, 2, Notify { condition, monitor }, &[(2, 0)]);
    assert_eq!(manager.waits().collect::<Vec<_>>(), [(1, Waiting::Monitor(9, 2))]);
    answers(&mut manager, 2, Leave { monitor }, &[(1, 0), (2, 0)]);
    for _ in 0..2 {
        answers(&mut manager, 1, Leave { monitor }, &[(1, 0)]);
    }
    assert_eq!(
        manager.request(1, Leave { monitor }),
        Err(Misuse::NotInside { thread: 1, monitor })
    );
}

#[test]
fn all_can_be_notified() {
    let mut manager = with_threads(4, true);
    let (condition, monitor) = (5, 9);
    for thread in 1..4 {
        answers(&mut manager, thread, Enter { monitor }, &[(thread, 0)]);
        answers(&mut manager, thread, Wait { condition, monitor }, &[]);
    }
    answers(&mut manager, 0, Enter { monitor }, &[(0, 0)]);
    answers(&mut manager, 0, NotifyAll { condition, monitor }, &[(0, 3)]);
    answers(&mut manager, 0, Leave { monitor }, &[(3, 0), (0, 0)]);
}

#[test]
fn semaphores_hand_units_to_those_that_wait_first() {
    let mut manager = with_threads(3, true);
    answers(&mut manager, 1, Acquire { semaphore: 4 }, &[]);
    answers(&mut manager, 2, Acquire { semaphore: 4 }, &[]);
    answers(&mut manager, 0, Release { semaphore: 4, count: 3 }, &[(2, 0), (1, 0), (0, 0)]);
    answers(&mut manager, 1, Acquire { semaphore: 4 }, &[(1, 0)]);
    answers(&mut manager, 1, Acquire { semaphore: 4 }, &[]);
}

#[test]
fn priorities_change() {
    let mut manager = with_threads(3, true);
    answers(&mut manager, 1, SetPriority { priority: 8 }, &[(1, 1)]);
    answers(&mut manager, 2, Acquire { semaphore: 4 }, &[]);
    answers(&mut manager, 1, Acquire { semaphore: 4 }, &[]);
    answers(&mut manager, 0, Release { semaphore: 4, count: 1 }, &[(1, 0), (0, 0)]);
}

#[test]
fn what_no_thread_may_ask_for_changes_nothing() {
    let mut manager = with_threads(2, false);
    answers(&mut manager, 1, Enter { monitor: 9 }, &[(1, 0)]);
    answers(&mut manager, 1, Release { semaphore: 4, count: u32::MAX }, &[(1, 0)]);
    let not_inside = Misuse::NotInside { thread: 0, monitor: 9 };
    for (hardware, request, misuse) in [
        (5, Identify, Misuse::NoThread(5)),
        (0, Join { thread: 7 }, Misuse::Unknown(7)),
        (0, Join { thread: 0 }, Misuse::OwnEnd(0)),
        (0, Leave { monitor: 9 }, not_inside),
        (0, Wait { condition: 1, monitor: 9 }, not_inside),
        (0, Notify { condition: 1, monitor: 9 }, not_inside),
        (1, Exit { value: 0 }, Misuse::EndsInside { thread: 1, monitor: 9 }),
        (0, Release { semaphore: 4, count: 1 }, Misuse::Overflow(4)),
    ] {
        assert_eq!(manager.request(hardware, request), Err(misuse));
    }
    assert_eq!(manager.waits().count(), 0);
    answers(&mut manager, 1, Leave { monitor: 9 }, &[(1, 0)]);
}
