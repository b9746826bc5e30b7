//! Stateful units with two contexts that use them at once. For every relative delay, each command
//! takes effect exactly once, in some order of both, as in a model without time.

use crate::contexts::{self, Case, Place, Step, hold, step};
use wireloom_isa::microengine::Version::{One, Two};

/// Adds to a word of SRAM between a lock and its release, and returns the old word.
fn locked(address: u32, add: u32, release: &str) -> Step<u32> {
    let text = format!(
        "immed[a, {address}]
         sram[read_lock, $r, a, 0, 1], SWAP
         alu[x, --, B, $r]
         alu[$r, x, +, {add}]
         {release}"
    );
    step(text, move |word: &mut u32| {
        *word += add;
        *word - add
    })
}

const WRITE_UNLOCK: &str = "sram[write_unlock, $r, a, 0, 1], SWAP";
const UNLOCK: &str = "sram[write, $r, a, 0, 1], SWAP\nsram[unlock, --, a, 0], SWAP";
/// A release for whose completion no context waits.
const UNLOCK_UNHEARD: &str = "sram[write, $r, a, 0, 1], SWAP\nsram[unlock, --, a, 0]";

#[test]
fn locks_are_handed_over() {
    for release in [WRITE_UNLOCK, UNLOCK, UNLOCK_UNHEARD] {
        let mut case = Case::new(One, 0);
        case.steps = [1, 10].map(|add| (0..3).map(|_| locked(100, add, release)).collect());
        case.left = |machine| vec![machine.chip.sram.words()[100]];
        case.expected = |word| vec![*word];
        assert!(hold(&case, Place::Engines) > 1);
        assert!(hold(&case, Place::Contexts) > 1);
    }
}

/// The owner releases the lock and ends. Nothing else wakes the unit for the waiting context.
#[test]
fn a_lock_is_handed_over_when_nothing_else_happens() {
    for place in [Place::Engines, Place::Contexts] {
        for delay in 0..40 {
            let machine = contexts::waited(place, delay);
            assert_eq!(machine.chip.sram.words()[100], 1, "{place:?}, {delay}");
        }
    }
}

#[test]
fn locks_are_handed_over_when_all_are_taken() {
    let mut case = Case::new(One, 0);
    case.spec = |spec| spec.sram.locks = 1;
    // Separate words, but one lock for both.
    let own = |address: u32| {
        let text = format!(
            "immed[a, {address}]\nsram[read_lock, $r, a, 0, 1], SWAP\nalu[x, --, B, $r]
             alu[$r, x, +, 1]\n{WRITE_UNLOCK}"
        );
        let place = address as usize % 2;
        step(text, move |words: &mut u32| {
            let shift = 16 * place;
            *words += 1 << shift;
            (*words >> shift & 0xffff) - 1
        })
    };
    case.steps = [200, 201].map(|address| (0..3).map(|_| own(address)).collect());
    case.left = |machine| machine.chip.sram.words()[200..202].to_vec();
    case.expected = |words| vec![*words & 0xffff, *words >> 16];
    for place in [Place::Engines, Place::Contexts] {
        assert_eq!(hold(&case, place), 1);
    }
}

#[test]
fn every_context_gets_a_lock_that_all_want() {
    for contexts in [2, 3, 4] {
        let machine = contexts::counted(6, (1 << contexts) - 1, 50);
        assert_eq!(machine.chip.sram.words()[500], 6 * contexts * 50);
    }
}

/// A command on one word with an operand. It returns the old word.
fn on_word(command: &str, operand: u32, does: fn(u32, u32) -> u32) -> Step<u32> {
    let text = format!(
        "immed[a, ADDRESS(40)]\nimmed[x, {operand}]\nalu[$r, --, B, x]\n{command}, SWAP
         alu[x, --, B, $r]"
    );
    step(text, move |word: &mut u32| std::mem::replace(word, does(*word, operand)))
}

/// A command on one word that returns nothing.
fn unanswered(command: &str, operand: u32, does: fn(u32, u32) -> u32) -> Step<u32> {
    let text = format!(
        "immed[a, ADDRESS(40)]\nimmed[x, {operand}]\nalu[$r, --, B, x]\n{command}, SWAP\nimmed[x, 0]"
    );
    step(text, move |word: &mut u32| {
        *word = does(*word, operand);
        0
    })
}

fn read(memory: &str) -> Step<u32> {
    let text =
        format!("immed[a, ADDRESS(40)]\n{memory}[read, $r, a, 0, 1], SWAP\nalu[x, --, B, $r]");
    step(text, |word: &mut u32| *word)
}

#[test]
fn operations_on_a_word_are_atomic() {
    let set: fn(u32, u32) -> u32 = |word, mask| word | mask;
    let clear: fn(u32, u32) -> u32 = |word, mask| word & !mask;
    let add: fn(u32, u32) -> u32 = u32::wrapping_add;
    for memory in ["sram", "scratch"] {
        let one = |what: &str| format!("{memory}[bit_wr, $r, a, 0, {what}]");
        let two = |what: &str| format!("{memory}[{what}, $r, a, 0]");
        let increment = format!("{memory}[incr, --, a, 0]");
        let steps_1 = [
            vec![
                on_word(&one("test_and_set_bits"), 0x11, set),
                on_word(&one("test_and_clear_bits"), 0x21, clear),
                unanswered(&one("set_bits"), 0x100, set),
            ],
            vec![
                on_word(&one("test_and_set_bits"), 0x22, set),
                unanswered(&one("clear_bits"), 0x10, clear),
                on_word(&one("test_and_set_bits"), 0x44, set),
            ],
        ];
        let steps_2 = [
            vec![
                on_word(&two("test_and_add"), 7, add),
                on_word(&two("test_and_set"), 0x1000, set),
                unanswered(&increment, 1, add),
            ],
            vec![
                on_word(&two("swap"), 500, |_, operand| operand),
                unanswered(&two("add"), 90, add),
                on_word(&two("test_and_clr"), 3, clear),
            ],
        ];
        for (version, steps) in [(One, steps_1), (Two, steps_2)] {
            let mut case = Case::new(version, 0);
            case.steps = steps;
            case.left = match memory {
                "sram" => |machine| vec![machine.chip.sram.words()[40]],
                _ => |machine| vec![machine.chip.scratch.words()[40]],
            };
            case.expected = |word| vec![*word];
            assert!(hold(&case, Place::Engines) > 1, "{memory} {version:?}");
            assert!(hold(&case, Place::Contexts) > 1, "{memory} {version:?}");
        }
    }
}

#[test]
fn the_scratchpad_of_version_1_counts_every_increment() {
    let increment =
        || unanswered("scratch[incr, --, a, 0]", 1, |word, operand| word.wrapping_add(operand));
    let mut case = Case::new(One, 0);
    case.steps = [0, 1].map(|_| vec![increment(), read("scratch"), increment()]);
    case.left = |machine| vec![machine.chip.scratch.words()[40]];
    case.expected = |word| vec![*word];
    assert!(hold(&case, Place::Engines) > 1);
    assert!(hold(&case, Place::Contexts) > 1);
}

#[test]
fn lists_give_each_address_once() {
    let push = |address: u32| {
        let text = format!("immed[a, {address}]\nsram[push, --, a, 0, 5], SWAP\nimmed[x, 0]");
        step(text, move |list: &mut Vec<u32>| {
            list.push(address);
            0
        })
    };
    let pop = || {
        let text = "sram[pop, $r, 5], SWAP\nalu[x, --, B, $r]".to_owned();
        step(text, |list: &mut Vec<u32>| list.pop().unwrap_or(0))
    };
    let mut case = Case::new(One, vec![70]);
    case.begin = |machine| machine.chip.sram.list_mut(5).expect("the list").push(70);
    case.steps = [vec![push(80), pop(), push(81)], vec![pop(), push(90), pop()]];
    case.left = |machine| machine.chip.sram.list(5).expect("the list").to_vec();
    case.expected = Vec::clone;
    assert!(hold(&case, Place::Engines) > 1);
    assert!(hold(&case, Place::Contexts) > 1);
}

#[test]
fn registers_of_the_fbi_are_read_and_cleared_at_once() {
    let set = |bit: u32| {
        let text = format!("fast_wr[{bit}, self_destruct]\nimmed[x, 0]");
        step(text, move |bits: &mut u32| {
            *bits |= 1 << bit;
            0
        })
    };
    let take = || {
        let text = "csr[read, $r, self_destruct], SWAP\nalu[x, --, B, $r]".to_owned();
        step(text, std::mem::take::<u32>)
    };
    let mut case = Case::new(One, 0);
    case.steps = [vec![set(3), take(), set(4)], vec![set(9), take(), take()]];
    case.expected = |_| Vec::new();
    assert!(hold(&case, Place::Engines) > 1);
    assert!(hold(&case, Place::Contexts) > 1);
}

#[test]
fn the_hash_unit_answers_who_has_asked() {
    let hash = |key: u32| {
        let text = format!(
            "immed[x, {key}]\nalu[$r, --, B, x]\nimmed[x, 0]\nalu[$s, --, B, x]
             hash1_48[$r], SWAP\nalu[x, --, B, $r]"
        );
        let multiplier = 0x0000_9e37_79b9_7f4a;
        let hash = wireloom_ixp::units::hash::product(u128::from(key), multiplier, 48) as u32;
        step(text, move |(): &mut ()| hash)
    };
    for version in [One, Two] {
        let mut case = Case::new(version, ());
        case.steps = [vec![hash(1), hash(77), hash(3)], vec![hash(500), hash(2), hash(9)]];
        case.expected = |()| Vec::new();
        for place in [Place::Engines, Place::Contexts] {
            assert_eq!(hold(&case, place), 1);
        }
    }
}

type Ring = std::collections::VecDeque<u32>;

#[test]
fn rings_move_all_words_of_a_command_at_once() {
    for memory in ["sram", "scratch"] {
        let put = |first: u32, words: u32| {
            let text = format!(
                "immed[x, {first}]\nalu[$r, --, B, x]\nalu[$s, x, +, 1]
                 {memory}[put, $r, 2, 0, {words}], SWAP\nimmed[x, 0]"
            );
            step(text, move |ring: &mut Ring| {
                ring.extend(first..first + words);
                0
            })
        };
        // Gets two words, or none if there are fewer.
        let get = || {
            let text = format!(
                "{memory}[get, $r, 2, 0, 2], SWAP
                 alu_shf[x, --, B, $s, <<16]\nalu[x, x, OR, $r]"
            );
            step(text, |ring: &mut Ring| match ring.len() {
                0 | 1 => 0,
                _ => ring.drain(..2).rev().fold(0, |words, word| words << 16 | word),
            })
        };
        let mut case = Case::new(Two, Ring::new());
        case.begin = |machine| {
            machine.chip.sram.set_ring(2, 0).expect("a ring");
            machine.chip.scratch.set_ring(2, 0).expect("a ring");
        };
        case.steps =
            [vec![put(100, 2), get(), put(200, 1)], vec![put(300, 1), get(), put(310, 2), get()]];
        case.expected = |_| Vec::new();
        assert!(hold(&case, Place::Engines) > 1, "{memory}");
        assert!(hold(&case, Place::Contexts) > 1, "{memory}");
    }
}

#[test]
fn queues_of_buffers_give_each_buffer_once() {
    let enqueue = |buffer: u32| {
        let text = format!("immed[a, {buffer}]\nsram[enqueue, --, a, 0], SWAP\nimmed[x, 0]");
        step(text, move |queue: &mut Ring| {
            queue.push_back(buffer);
            0
        })
    };
    let dequeue = || {
        let text = "sram[dequeue, $r, 0, 0], SWAP\nalu[x, --, B, $r]".to_owned();
        step(text, |queue: &mut Ring| queue.pop_front().unwrap_or(0))
    };
    let mut case = Case::new(Two, Ring::new());
    case.steps = [
        vec![enqueue(600), dequeue(), enqueue(610), dequeue()],
        vec![dequeue(), enqueue(700), enqueue(710), dequeue()],
    ];
    case.expected = |_| Vec::new();
    for place in [Place::Engines, Place::Contexts] {
        assert!(hold(&case, place) > 1, "{place:?}");
    }
}

/// Tags and states, least recently used entry first.
type Cam = Vec<(u32, u32, u32)>;

#[test]
fn contexts_share_the_cam_of_their_engine() {
    // Looks a key up. If it is missing, writes it to the least recently used entry.
    let look_up = |key: u32, state: u32| {
        let text = format!(
            "immed[a, {key}]\ncam_lookup[x, a]\nbr_bset[x, 7, found#]
             alu_shf[b, --, B, x, >>3]\ncam_write[b, a, {state}]\nfound#:\nctx_arb[voluntary]\nnop"
        );
        step(text, move |cam: &mut Cam| {
            let found = cam.iter().position(|(_, tag, _)| *tag == key);
            let (entry, tag, known) = cam.remove(found.unwrap_or(0));
            cam.push(if found.is_some() { (entry, tag, known) } else { (entry, key, state) });
            entry << 3 | if found.is_some() { 1 << 7 | known << 8 } else { 0 }
        })
    };
    let mut case = Case::new(Two, (0..16).map(|entry| (entry, 0, 0)).collect());
    case.steps = [
        vec![look_up(5, 1), look_up(6, 2), look_up(7, 3), look_up(5, 4)],
        vec![look_up(6, 5), look_up(5, 6), look_up(7, 7), look_up(6, 8)],
    ];
    case.expected = |_| Vec::new();
    assert!(hold(&case, Place::Contexts) > 1);
}

#[test]
fn signals_between_threads_are_neither_lost_nor_doubled() {
    // Each context adds to a word when it has the turn, and passes the turn on.
    let turn = |version, other: u32, has_turn: bool| {
        let wait = match (has_turn, version) {
            (true, _) => "",
            (false, One) => "ctx_arb[inter_thread]",
            (false, Two) => "ctx_arb[turn]",
        };
        let give = match version {
            One => format!("fast_wr[{other}, inter_thd_sig]"),
            Two => format!("local_csr_wr[same_me_signal, ((&turn << 3) | {other})]"),
        };
        let text = format!(
            "{wait}\nimmed[a, ADDRESS(40)]\nscratch[read, $r, a, 0, 1], SWAP\nalu[x, --, B, $r]
             alu[$r, x, +, 1]\nscratch[write, $r, a, 0, 1], SWAP\n{give}"
        );
        step(text, |word: &mut u32| {
            *word += 1;
            *word - 1
        })
    };
    for (version, places) in
        [(One, &[Place::Engines, Place::Contexts][..]), (Two, &[Place::Contexts][..])]
    {
        for &place in places {
            let other = if place == Place::Engines { 5 } else { 1 };
            let mut case = Case::new(version, 0);
            case.in_turn = true;
            case.steps = [
                (0..4).map(|round| turn(version, other, round == 0)).collect(),
                (0..4).map(|_| turn(version, 0, false)).collect(),
            ];
            case.left = |machine| vec![machine.chip.scratch.words()[40]];
            case.expected = |word| vec![*word];
            assert_eq!(hold(&case, place), 1, "{version:?}");
        }
    }
}
