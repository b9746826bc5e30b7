use std::sync::Barrier;

use wireloom_lang::check_source;

use super::*;

/// Runs the program of a port on two processors, which meet each of 4,000 verdicts at the same
/// time.
#[test]
fn two_processors_that_meet_a_verdict_first_count_it_both() {
    const VERDICTS: u16 = 4000;
    let text = "enum Why : u16 { NONE };
                header Asked { u16 why; };
                engine asks() { Asked asked @ 0; step s { to_cpu((Why)asked.why); } }";
    let checked = check_source("asks.loom", text, &Default::default());
    let program = Program::new(checked.program.as_ref().expect("a program"));
    let store = wireloom_ir::store(&program.optimised).expect("a store");
    let ports = [Interface { name: "lo".into(), index: 1 }];
    let kernel = match Live::new(&program, store, &ports, &Limits::default(), &|_| ()) {
        Ok((_, kernel)) => kernel,
        Err(error) if error.needs_tool => {
            eprintln!("warning: not tested: {}", error.message);
            return;
        }
        Err(error) => panic!("{}", error.message),
    };
    let barrier = Barrier::new(2);
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                let (mut frame, mut output) = ([0; 60], [0; 256]);
                for why in 0..VERDICTS {
                    frame[..2].copy_from_slice(&why.to_be_bytes());
                    barrier.wait();
                    kernel::trial(&kernel.programs[0], &frame, &mut output).expect("a trial");
                }
            });
        }
    });
    let verdicts = kernel.verdicts().expect("counts");
    assert_eq!(verdicts.len(), usize::from(VERDICTS));
    for (verdict, count) in verdicts {
        assert_eq!(count, (2, 120), "{verdict:?}");
    }
}
