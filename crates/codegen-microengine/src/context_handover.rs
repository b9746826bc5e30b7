//! Moves the context in local memory from a part of a chain to the next part: in next-neighbour
//! registers as far as these suffice, then through the frame. Only words that later parts may read
//! are moved.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use super::frame::ARGUMENTS;
use super::local::{CONTEXTS, GROUP};

/// The number of next-neighbour registers of a context, and the number that the registers of the
/// thread take (chain.uc).
const NEIGHBOURS: usize = 16;
const REGISTERS: usize = 8;
/// The most words that a command moves.
const COMMAND: usize = 8;

/// Returns the macros `NAME_near` and `NAME_far` of chain.uc. They move words of local memory to
/// next-neighbour registers and to the frame, or back.
pub fn macros(name: &str, words: &BTreeSet<u32>, gives: bool) -> String {
    let words: Vec<u32> = words.iter().copied().collect();
    let (near, far) = words.split_at(words.len().min(NEIGHBOURS - REGISTERS));
    // Pointer 1 stays where the macro that is executed first leaves it: a part gives the words of
    // the frame first, but takes them last.
    let mut places = Places::default();
    let [near, far] = if gives {
        let far = far_macro(name, far, gives, &mut places);
        [near_macro(name, near, gives, &mut places), far]
    } else {
        let near = near_macro(name, near, gives, &mut places);
        [near, far_macro(name, far, gives, &mut places)]
    };
    near + &far
}

/// Returns the macro for words in next-neighbour registers.
fn near_macro(name: &str, words: &[u32], gives: bool, places: &mut Places) -> String {
    let mut text = format!("#macro {name}_near()\n");
    for (number, word) in words.iter().enumerate() {
        let neighbour = format!("n${}", REGISTERS + number);
        places.moved(&mut text, &neighbour, *word, gives);
    }
    text.push_str("#endm\n\n");
    text
}

/// Returns the macro for words that go through the frame.
fn far_macro(name: &str, words: &[u32], gives: bool, places: &mut Places) -> String {
    let mut text = format!("#macro {name}_far()\n");
    for (part, words) in words.chunks(COMMAND).enumerate() {
        // Between two steps the arguments of routines in the frame are free.
        let first = ARGUMENTS as usize + COMMAND * part;
        let what = if gives { "write" } else { "read" };
        let command = format!(
            "    .begin\n    .reg place\n    immed[place, {first}]\n    sram[{what}, $0, frame, place, {}], \
             ctx_swap\n    .end\n",
            words.len()
        );
        // Pointer 1 belongs to the context, so it stays.
        if !gives {
            text.push_str(&command);
        }
        for (number, word) in words.iter().enumerate() {
            places.moved(&mut text, &format!("${number}"), *word, gives);
        }
        if gives {
            text.push_str(&command);
        }
    }
    text.push_str("#endm\n\n");
    text
}

/// The group of local memory at pointer 1.
#[derive(Debug, Default)]
struct Places {
    group: u32,
}

impl Places {
    /// Moves a word to a register, or from it.
    fn moved(&mut self, text: &mut String, register: &str, word: u32, gives: bool) {
        let (group, offset) = (word / GROUP, word % GROUP);
        if group != 0 && group != self.group {
            self.group = group;
            let _ = write!(
                text,
                "    .begin\n    .reg group\n    alu[group, thread, AND, {}]\n    \
                 alu[group, group, OR, {}]\n    alu_shf[group, --, B, group, <<6]\n    \
                 local_csr_wr[active_lm_addr_1, group]\n    nop\n    nop\n    nop\n    .end\n",
                CONTEXTS - 1,
                CONTEXTS * group
            );
        }
        let place = format!("*l$index{}[{offset}]", u32::from(group != 0));
        let _ = match gives {
            true => writeln!(text, "    alu[{register}, --, B, {place}]"),
            false => writeln!(text, "    alu[{place}, --, B, {register}]"),
        };
    }
}

#[cfg(test)]
mod tests {
    use super::macros;

    #[test]
    fn the_first_macro_of_a_part_sets_the_pointer() {
        // The last words for next-neighbour registers and all others are in the second group.
        let words = (9..20).collect();
        let sets = "local_csr_wr[active_lm_addr_1";
        for (name, gives, first) in [("give", true, "give_far"), ("take", false, "take_near")] {
            let text = macros(name, &words, gives);
            let (_, begin) = text.split_once(&format!("#macro {first}()")).expect("a macro");
            let (own, _) = begin.split_once("#endm").expect("its end");
            assert!(own.contains(sets), "{text}");
            assert_eq!(text.matches(sets).count(), 1, "{text}");
        }
    }

    #[test]
    fn words_beyond_the_next_neighbours_go_through_the_frame() {
        let words = (6..20).collect();
        let text = macros("give", &words, true);
        assert!(text.contains("alu[n$8, --, B, *l$index0[6]]"), "{text}");
        assert!(text.contains("alu[n$15, --, B, *l$index0[13]]"), "{text}");
        assert!(text.contains("alu[$0, --, B, *l$index0[14]]"), "{text}");
        assert!(text.contains("alu[$5, --, B, *l$index1[3]]"), "{text}");
        assert_eq!(text.matches("local_csr_wr").count(), 1, "{text}");
        assert!(text.contains("sram[write, $0, frame, place, 6]"), "{text}");
        let back = macros("take", &words, false);
        assert!(back.contains("alu[*l$index0[6], --, B, n$8]"), "{back}");
        assert!(back.contains("alu[*l$index1[3], --, B, $5]"), "{back}");
        assert!(!macros("give", &[6].into(), true).contains("sram"), "one word has room");
    }
}
