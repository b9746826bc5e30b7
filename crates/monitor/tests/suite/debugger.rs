//! Debugger sessions: commands and their answers.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::support::{metered_session, session, session_of};
use wireloom_machine::watch::{Goal, MeasureKind, PartKind};
use wireloom_monitor::{Answer, Debugger};

/// Executes commands and returns the text that a script would show.
fn ran(packets: usize, commands: &str) -> String {
    let mut debugger = Debugger::new(session(packets, &Arc::new(AtomicBool::new(false))));
    let mut out = debugger.greeting();
    for line in commands.lines().map(str::trim).filter(|line| !line.is_empty()) {
        out += &format!("> {line}\n");
        match debugger.execute(line) {
            Ok(Answer::Text(text)) => out += &text,
            Ok(Answer::Quit) => break,
            Err(error) => {
                out += &format!("error: {}\n", error.message);
                if let Some(help) = error.help {
                    out += &format!("help: {help}\n");
                }
            }
        }
    }
    out
}

#[test]
fn a_session_steps_and_breaks() {
    insta::assert_snapshot!(ran(
        6,
        "threads
         where
         list 0 8
         step 3
         break packet 2
         continue
         break signal start_receive thread 0.3
         continue
         breakpoints
         delete 2
         next 2
         packets
         delete
         continue
         packets
         quit
         step"
    ));
}

#[test]
fn wrong_commands_are_told() {
    insta::assert_snapshot!(ran(
        1,
        "frobnicate
         thread 7.7
         thread 1.0
         break 3
         break receive thread 1.0
         break receive
         thread 0.0
         break nowhere
         break 5000
         break forward.uc:1
         break other.uc:3
         break 3 in other.uc
         break write dram 0
         break read sram 0x9000000
         break write sram 8-4
         break signal bell
         delete 4
         regs z9
         mem scratch 0x400 2
         step many"
    ));
}

#[test]
fn events_are_shown_while_a_run_is_traced() {
    let out = ran(2, "trace on\ncycle 60\ntrace off\ncycle 60");
    let (traced, quiet) = out.split_once("trace off").expect("both");
    assert!(traced.contains("issue #0"), "{out}");
    assert!(!quiet.contains('#'), "{out}");
    let cycles: Vec<u64> = traced
        .lines()
        .filter(|line| line.contains('#'))
        .filter_map(|line| line.split_whitespace().next()?.parse().ok())
        .collect();
    assert!(cycles.is_sorted() && cycles.iter().all(|cycle| *cycle <= 60), "{cycles:?}");
}

#[test]
fn stepping_changes_nothing_of_a_run() {
    let whole = ran(40, "continue\npackets");
    let mut debugger = Debugger::new(session(40, &Arc::new(AtomicBool::new(false))));
    let commands = ["stepany 7", "cycle 3", "step 2", "next", "cycle 501", "stepany 90"];
    for command in commands.iter().cycle().take(24) {
        debugger.execute(command).unwrap_or_else(|error| panic!("{command}: {error}"));
    }
    let mut rest = String::new();
    for command in ["continue", "packets"] {
        if let Ok(Answer::Text(text)) = debugger.execute(command) {
            rest += &format!("> {command}\n{text}");
        }
    }
    assert!(whole.ends_with(&rest), "{whole}\n{rest}");
}

const WRITES: &str = "\
.version 1
.reg x $w0
immed[x, 7]
alu[$w0, --, B, x]
immed[x, 16]
scratch[write, $w0, x, 0, 1], ctx_swap
scratch[read, $w0, x, 0, 1], ctx_swap
ctx_arb[kill]
";

#[test]
fn a_memory_breakpoint_finds_reads_and_writes() {
    let interrupt = Arc::new(AtomicBool::new(false));
    let breaks = |what: &str| {
        let session = session_of("writes.uc", WRITES.to_owned(), 0, &interrupt);
        let mut debugger = Debugger::new(session);
        let mut answers = Vec::new();
        for command in [what, "continue", "mem scratch 0x10 1", "continue", "continue"] {
            match debugger.execute(command) {
                Ok(Answer::Text(text)) => answers.push(text),
                other => panic!("{command}: {other:?}"),
            }
        }
        (answers.iter().filter(|text| text.contains(": breakpoint 1, ")).count(), answers)
    };
    // Four contexts run the program.
    let (count, answers) = breaks("break write scratch 0x10");
    assert_eq!((count, answers[2].as_str()), (3, "0x000010 00000007\n"), "{answers:?}");
    assert_eq!(breaks("break access scratch 0x8-0x20").0, 3);
    assert_eq!(breaks("break read scratch 0x11").0, 0);
    assert_eq!(breaks("break access sram 0x10").0, 0);
}

#[test]
fn power_is_told_by_part_and_adds_up() {
    let mut debugger = Debugger::new(metered_session(6, &Arc::new(AtomicBool::new(false))));
    let mut said = |line| match debugger.execute(line) {
        Ok(Answer::Text(text)) => text,
        other => panic!("{line}: {other:?}"),
    };
    said("continue");
    let text = said("power");
    let watts = |name: &str| -> f64 {
        let line = text.lines().find(|line| line.starts_with(name)).expect(name);
        line.split_whitespace().rev().nth(1).expect("a number").parse().expect("a number")
    };
    let all = watts("ixp1200");
    let groups = ["engines and regulators", "rest of the chip", "memory chips"].map(watts);
    assert!((groups.iter().sum::<f64>() - all).abs() < 0.01, "{text}");
    let engines: f64 = (0..6).map(|number| watts(&format!("engine {number}"))).sum();
    assert!((engines - groups[0]).abs() < 0.01, "no voltage changes: {text}");
    assert!(watts("engine 0") > watts("engine 1"), "only the first one runs: {text}");
    assert_eq!(ran(1, "power").lines().last(), Some("this machine tells no energy"));
}

#[test]
fn an_interrupt_ends_a_run() {
    let interrupt = Arc::new(AtomicBool::new(true));
    let mut debugger = Debugger::new(session(1000, &interrupt));
    let answer = debugger.execute("continue").expect("it runs");
    assert_eq!(answer, Answer::Text("cycle 0: interrupted\n".to_owned()));
    interrupt.store(false, Ordering::Relaxed);
    let answer = debugger.execute("next").expect("it runs");
    assert!(matches!(answer, Answer::Text(text) if !text.contains("interrupted")));
}

#[test]
fn the_states_of_threads_and_engines_add_up_to_the_cycles() {
    let mut session = session(20, &Arc::new(AtomicBool::new(false)));
    for cycles in [1, 63, 1000, 12_345] {
        session.run(Some(Goal::Cycles(cycles)), u64::MAX).expect("it runs");
        let cycle = session.cycle();
        assert_eq!(session.now().len(), session.measures.len());
        let sum = |part: usize| -> u64 {
            let values = session.measures.iter().zip(session.now());
            let states = values
                .filter(|(measure, _)| measure.part == part && measure.kind == MeasureKind::State);
            states.map(|(_, value)| value).sum()
        };
        // Engine 0 and its contexts; the other engines have no program.
        let engine = session.parts.iter().position(|part| part.kind == PartKind::Engine);
        let engine = engine.expect("an engine");
        let contexts = session.parts.iter().enumerate();
        let contexts = contexts.filter(|(_, part)| part.within == Some(engine));
        let contexts: Vec<usize> = contexts.map(|(number, _)| number).collect();
        assert_eq!(contexts.len(), 4);
        for part in [engine].into_iter().chain(contexts) {
            assert!(cycle.abs_diff(sum(part)) <= 1, "{part}: {} of {cycle}", sum(part));
        }
    }
}
