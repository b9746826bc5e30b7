use wireloom_isa::raw::tile::Op;

use super::super::allocate;
use super::super::code::{ARGUMENTS, Code, FRAME, FRONT, NOTHING, Register, ZERO};
use super::super::testing::{RESTART, RandomCode, SPILLS, parsed};
use super::{LIMITS, Latencies, all_runs, cost, schedule};

const LATENCIES: Latencies = Latencies { load: 3, multiply: 2, divide: 42 };

/// Returns the lines of a step after ordering.
fn text(code: &mut Code, restart: &str) -> Vec<String> {
    schedule(code, restart, &LATENCIES);
    let (text, _) = allocate::write(code, 0);
    text.lines().map(|line| line.trim().to_owned()).collect()
}

#[test]
fn the_fast_way_is_left_while_words_of_memory_are_under_way() {
    let mut code = Code::new("l");
    let first = code.load(FRAME, 600);
    code.branch(Op::Beq, first, ZERO, "all");
    let second = code.load(FRONT, 8);
    let sum = code.register();
    code.immediate(Op::Addiu, sum, second, 1);
    code.memory(Op::Sw, sum, FRONT, 8);
    code.jump("pass");
    let wanted = [
        "lw $v0, 8($gp)",
        "lw $v1, 600($sp)",
        "addiu $v0, $v0, 1",
        "beq $v1, $zero, all",
        "sw $v0, 8($gp)",
        "j pass",
    ];
    assert_eq!(text(&mut code, "all"), wanted);
}

#[test]
fn no_effect_comes_before_the_fast_way_can_be_left_no_more() {
    for effect in [
        (|code: &mut Code| code.memory(Op::Sw, ZERO, FRONT, 0)) as fn(&mut Code),
        |code| code.set(ARGUMENTS[0], 1),
        |code| code.copy(FRONT, FRAME),
    ] {
        let mut code = Code::new("l");
        let first = code.load(FRAME, 600);
        code.branch(Op::Beq, first, ZERO, "all");
        effect(&mut code);
        code.jump("pass");
        let lines = text(&mut code, "all");
        assert!(lines[1].starts_with("beq"), "{lines:?}");
    }
}

#[test]
fn other_branches_and_labels_stay_where_they_are() {
    let mut code = Code::new("l");
    let first = code.load(FRAME, 600);
    code.branch(Op::Beq, first, ZERO, "skip");
    let second = code.load(FRAME, 604);
    code.memory(Op::Sw, second, FRONT, 8);
    code.place("skip");
    let third = code.load(FRAME, 608);
    code.memory(Op::Sw, third, FRONT, 4);
    let (before, _) = allocate::write(&code, 0);
    assert_eq!(text(&mut code, "all").join("\n"), before.replace("        ", "").trim());
}

#[test]
fn an_argument_that_is_given_early_is_in_no_register_of_a_value() {
    let mut code = Code::new("l");
    let mut words = vec![code.load(FRAME, 600)];
    for at in 0..3 {
        words.push(code.load(words[at], 0));
    }
    for (word, at) in words.iter().zip(0..) {
        code.memory(Op::Sw, *word, FRONT, 4 * at);
    }
    code.set(ARGUMENTS[0], 7);
    code.jump("pass");
    let lines = text(&mut code, "all");
    let given = lines.iter().position(|line| line == "addiu $a0, $zero, 7");
    let given = given.unwrap_or_else(|| panic!("{lines:?}"));
    assert_eq!(given, 1, "{lines:?}");
    assert!(lines[given + 1..].iter().all(|line| !line.contains("$a0")), "{lines:?}");
}

#[test]
fn no_more_words_are_under_way_than_registers_hold() {
    let mut code = Code::new("l");
    let mut sum = code.fresh(NOTHING);
    for word in 0..60 {
        let own = code.load(FRONT, 4 * word);
        let next = code.register();
        code.three(Op::Addu, next, sum, own);
        sum = next;
    }
    code.memory(Op::Sw, sum, FRAME, 600);
    let (before, _) = cost(&code, &LATENCIES);
    schedule(&mut code, "", &LATENCIES);
    assert_eq!((before, cost(&code, &LATENCIES)), (120, (0, 0)));
}

#[test]
fn ordered_code_leaves_the_same_memory_and_waits_no_longer() {
    let mut faster = 0;
    for seed in 0..300 {
        let mut random = RandomCode::new(seed, 1 + seed as usize % 60, seed % 2 == 0);
        random.code.clean();
        let (before, _) = cost(&random.code, &LATENCIES);
        schedule(&mut random.code, RESTART, &LATENCIES);
        random.check(&random.code.lines);
        let (text, _) = allocate::write(&random.code, SPILLS);
        random.check(&parsed(&text));
        let (after, _) = cost(&random.code, &LATENCIES);
        assert!(after <= before, "{seed}: {after} cycles instead of {before}");
        faster += u32::from(after < before);
    }
    assert!(faster > 100, "{faster}");
}

#[test]
fn each_limit_of_values_at_a_time_leaves_the_same_memory() {
    for seed in 0..200 {
        let mut random = RandomCode::new(seed, 1 + seed as usize % 60, seed % 2 == 0);
        random.code.clean();
        for limit in LIMITS {
            let mut code = random.code.clone();
            all_runs(&mut code, RESTART, &LATENCIES, limit);
            random.check(&code.lines);
            let (text, _) = allocate::write(&code, SPILLS);
            random.check(&parsed(&text));
        }
    }
}

#[test]
fn words_of_networks_keep_their_order_and_that_of_memory() {
    let network = Register::Machine(25);
    let mut code = Code::new("l");
    let first = code.load(FRONT, 0);
    code.three(Op::Addu, network, first, ZERO);
    code.three(Op::Addu, network, FRAME, ZERO);
    let last = code.load(FRONT, 4);
    code.memory(Op::Sw, last, FRAME, 600);
    let wanted = [
        "lw $v0, 0($gp)",
        "addu $cgno, $v0, $zero",
        "addu $cgno, $sp, $zero",
        "lw $v0, 4($gp)",
        "sw $v0, 600($sp)",
    ];
    assert_eq!(text(&mut code, "all"), wanted);
}
