//! Mappings: which tiles execute which steps, and which mappings are refused.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use wireloom_description::Description;
use wireloom_machine::{Configured, Contender, Options, Program, Refusal, Source};
use wireloom_net::{Frame, Packet};

const CHIP: &str = "extends = \"raw\"\nabout = \"a test\"\n";

/// Returns the machine of a description.
pub fn machine(text: &str) -> Result<Arc<dyn Configured>, String> {
    let text = format!("{CHIP}{text}");
    let description = Description::parse("test.toml", &text).expect("it is TOML");
    wireloom_raw::KIND.configure("test", description).map_err(|error| error.message)
}

pub fn three(steps: &str) -> Arc<dyn Configured> {
    let text = format!("[mapping]\nchains = [[[0, 0], [1, 0], [2, 0]]]\n{steps}");
    machine(&text).unwrap_or_else(|error| panic!("{error}"))
}

/// Returns a program of four steps in a row. An array counts in the first step, and the third step
/// sends twice.
fn program() -> Program {
    compiled("stages.loom")
}

pub fn compiled(file: &str) -> Program {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/engines").join(file);
    Source::of(file).compiled().unwrap_or_else(|error| panic!("{}", error.message))
}

fn refusals(steps: &str, program: &Program) -> Vec<Refusal> {
    three(steps).refusals(program)
}

/// Returns 200 packets of many lengths.
pub fn packets() -> Vec<Packet> {
    let packet = |number: u32| {
        let length = [0, 3, 14, 19, 60, 64, 127, 128, 129, 300, 1500][number as usize % 11];
        let byte = |at: usize| (number as usize * 7 + at * 13) as u8;
        let bytes = (0..length).map(byte).collect();
        Packet { ingress: number as u16 % 5, arrival_ns: u64::from(number) * 100, bytes }
    };
    (0..200).map(packet).collect()
}

/// Runs packets, and compares the output and the state with golden.
pub fn agrees(machine: &Arc<dyn Configured>, program: &Program) {
    agree(machine, program, &packets());
}

/// Runs these packets, and compares the output and the state with golden.
pub fn agree(machine: &Arc<dyn Configured>, program: &Program, packets: &[Packet]) {
    let frames: Vec<Frame<'_>> = packets.iter().map(Packet::frame).collect();
    let store = wireloom_ir::store(&program.optimised).expect("a store");
    let options = Options::default();
    let contender = Contender::new(Arc::clone(machine), program, &store, &options, &|_| ());
    let mut contender = contender.unwrap_or_else(|error| panic!("{}", error.message));
    let worked = contender
        .offer(&program.optimised, &frames, &mut |_| ())
        .and_then(|()| contender.finish(&program.optimised, &mut |_| ()))
        .and_then(|()| contender.compare_state(&|_| ()));
    worked.unwrap_or_else(|error| panic!("{}", error.message));
    assert!(contender.difference.is_none(), "{:?}", contender.difference);
    assert_eq!(contender.compared, packets.len() as u64);
}

#[test]
fn stages_that_are_named_and_stages_that_are_cut_agree_with_golden() {
    let program = program();
    for steps in [
        "",
        "steps = [[\"classify\"], [\"grow\", \"copy\"], [\"rest\"]]",
        // Packets pass through the second tile.
        "steps = [[\"classify\", \"grow\"], [], [\"copy\", \"rest\"]]",
        // The last tile has no step: verdicts pass through it.
        "steps = [[\"classify\"], [\"grow\", \"copy\", \"rest\"], []]",
    ] {
        agrees(&three(steps), &program);
    }
}

#[test]
fn arrays_of_every_stage_begin_with_zeros() {
    let program = compiled("arrays.loom");
    for steps in [
        "steps = [[\"classify\"], [\"middle\"], [\"end\"]]",
        "steps = [[\"classify\"], [\"middle\", \"end\"], []]",
        "steps = [[\"classify\", \"middle\", \"end\"], [], []]",
    ] {
        agrees(&three(steps), &program);
    }
}

#[test]
fn tiles_that_take_packets_in_turn_agree_with_golden() {
    for replicas in [
        "replicas = [1, 2]\nsteps = [[\"classify\"], [\"grow\", \"copy\", \"rest\"]]",
        "replicas = [1, 2]",
    ] {
        agrees(&three(replicas), &program());
    }
    for replicas in ["replicas = [3]", "replicas = [2, 1]"] {
        agrees(&three(replicas), &compiled("counted.loom"));
    }
    let text = "[mapping]\nchains = [[[0, 0], [1, 0], [2, 0], [3, 0]], [[3, 1], [2, 1], [1, 1], [0, 1]]]\n\
                replicas = [4]\n";
    let rows = machine(text).unwrap_or_else(|error| panic!("{error}"));
    agrees(&rows, &compiled("counted.loom"));
    let refused = three("replicas = [3]").refusals(&program());
    assert_eq!(refused[0].offload.as_deref(), Some("seen"), "{refused:?}");
    assert!(refused[0].message.contains("calls it on 3 tiles in turn"), "{refused:?}");
}

#[test]
fn what_parked_packets_bring_with_them_goes_through_the_stages() {
    let program = compiled("keyed.loom");
    for steps in [
        "steps = [[\"classify\"], [\"count\", \"remember\", \"hold\"], [\"show\"]]",
        "steps = [[\"classify\", \"count\", \"remember\"], [\"hold\"], [\"show\"]]",
        // Verdicts pass through the last tile.
        "steps = [[\"classify\", \"count\", \"remember\", \"hold\"], [\"show\"], []]",
        "replicas = [1, 2]\n\
         steps = [[\"classify\", \"count\", \"remember\", \"hold\"], [\"show\"]]",
    ] {
        agrees(&three(steps), &program);
    }
    let apart = "steps = [[\"classify\", \"count\"], [\"remember\", \"hold\", \"show\"], []]";
    agrees(&three(apart), &program);
    let turns = three("replicas = [3]").refusals(&program);
    let offloads: BTreeSet<_> = turns.iter().filter_map(|one| one.offload.as_deref()).collect();
    assert_eq!(offloads, BTreeSet::from(["few", "pairs", "rates", "waiting"]), "{turns:?}");
    assert_eq!(turns[0].step.as_deref(), Some("count"));
}

#[test]
fn chains_share_what_packets_do_not_change() {
    let chains = "[mapping]\nchains = [[[0, 0], [1, 0]], [[0, 2], [0, 3]], [[3, 2]]]\n";
    let chains = machine(chains).unwrap_or_else(|error| panic!("{error}"));
    agrees(&chains, &compiled("counted.loom"));
    let refused = chains.refusals(&program());
    assert_eq!(refused[0].offload.as_deref(), Some("seen"), "{refused:?}");
    assert_eq!(refused[0].step.as_deref(), Some("classify"), "{refused:?}");
    assert!(refused[0].message.contains("not supported on 3 chains"), "{refused:?}");
}

#[test]
fn state_with_an_owner_changes_as_on_golden_whatever_tiles_ask_for_it() {
    let rows = "[[[0, 0], [1, 0], [2, 0], [3, 0]], [[0, 1], [1, 1], [2, 1], [3, 1]], \
                [[0, 2], [1, 2], [2, 2], [3, 2]], [[0, 3], [1, 3], [2, 3], [3, 3]]]";
    for (mapping, name) in [
        // Tiles in turn, one of which is the state owner, and one tile that sends to ports.
        (format!("chains = {rows}\nreplicas = [4]\nstate_owner = [0, 3]"), "turns"),
        (
            format!(
                "chains = {rows}\nreplicas = [3, 1]\noutputs = \"egress\"\nstate_owner = [0, 3]"
            ),
            "egress",
        ),
        // The compiler cuts stages for chains of different lengths.
        (format!("chains = {rows}\nstate_owner = [3, 3]"), "stages"),
        ("chains = [[[0, 0]], [[3, 0]], [[0, 3]]]\nstate_owner = [2, 2]".to_owned(), "corners"),
        (
            "chains = [[[0, 0], [1, 0], [2, 0]]]\nreplicas = [3]\nstate_owner = [1, 1]".to_owned(),
            "one",
        ),
    ] {
        let machine = machine(&format!("[mapping]\n{mapping}\n"));
        let machine = machine.unwrap_or_else(|error| panic!("{name}: {error}"));
        for program in ["owned.loom", "stages.loom", "nested.loom"] {
            agrees(&machine, &compiled(program));
        }
        // Without such state the state owner is a tile of its chain.
        agrees(&machine, &compiled("counted.loom"));
    }
}

#[test]
fn state_owners_that_cannot_be_are_refused() {
    let chains = "[mapping]\nchains = [[[0, 0], [1, 0], [2, 0]], [[0, 3], [1, 3], [2, 3]]]\n";
    for (owner, why) in [
        (
            "state_owner = [4, 0]",
            "`mapping.state_owner`: there is no tile (4,0) on a chip of 4 x 4",
        ),
        ("state_owner = [1, 0]", "tile (1,0) cannot leave its chain, whose ends alone can"),
        ("state_owner = [0, 0]\nreplicas = [1, 1, 1]", "whose stages have one tile each"),
    ] {
        let error = machine(&format!("{chains}{owner}\n")).unwrap_err();
        assert!(error.contains(why), "{error}");
    }
    // Parked packets stay on a tile.
    let owned = machine(&format!("{chains}state_owner = [3, 3]\n")).expect("a machine");
    let refused = owned.refusals(&compiled("keyed.loom"));
    assert_eq!(refused[0].offload.as_deref(), Some("waiting"), "{refused:?}");
    assert!(refused[0].message.contains("a state owner does not support them"), "{refused:?}");
}

#[test]
fn values_live_on_across_engines_that_call_engines() {
    let one = machine("").unwrap_or_else(|error| panic!("{error}"));
    agrees(&one, &compiled("nested.loom"));
}

#[test]
fn packets_leave_at_the_port_of_their_egress() {
    let rows = "chains = [[[0, 0], [1, 0], [2, 0], [3, 0]], [[0, 1], [1, 1], [2, 1], [3, 1]], \
                [[0, 2], [1, 2], [2, 2], [3, 2]], [[0, 3], [1, 3], [2, 3], [3, 3]]]\n";
    let row = "chains = [[[0, 0], [1, 0], [2, 0], [3, 0]]]\n";
    for (chains, program) in [
        // Tiles in turn, and one tile that sends.
        (format!("{rows}replicas = [3, 1]"), "counted.loom"),
        // The last tile has steps too.
        (
            format!("{rows}replicas = [2, 1, 1]\nsteps = [[\"count\"], [\"grow\"], [\"send\"]]"),
            "spread.loom",
        ),
        // The number of ports is not a power of two, and each tile executes all steps.
        ("chains = [[[0, 0]], [[3, 0]], [[0, 3]]]".to_owned(), "spread.loom"),
        ("chains = [[[0, 0]], [[3, 0]], [[0, 3]]]".to_owned(), "hot.loom"),
        (format!("{rows}replicas = [3, 1]"), "hot.loom"),
        (format!("{row}replicas = [1, 1, 1, 1]"), "stages.loom"),
        (format!("{row}replicas = [1, 1, 1, 1]"), "keyed.loom"),
    ] {
        let text = format!("[mapping]\n{chains}\noutputs = \"egress\"\n");
        let machine = machine(&text).unwrap_or_else(|error| panic!("{error}"));
        agrees(&machine, &compiled(program));
    }
}

#[test]
fn what_cannot_be_spread_is_refused_with_its_step() {
    let program = program();
    let back = "steps = [[\"classify\", \"copy\", \"rest\"], [\"grow\"], []]";
    let refused = refusals(back, &program);
    assert_eq!(refused[0].step.as_deref(), Some("grow"));
    let why = "step `grow` of stage 1 goes back to step `copy` of stage 0";
    assert!(refused[0].message.contains(why), "{refused:?}");
    let missing = refusals("steps = [[\"classify\"], [\"grow\"], [\"rest\"]]", &program);
    assert!(missing[0].message.contains("step `copy` is not mapped to a tile"), "{missing:?}");
    let shared = refusals("steps = [[\"first\"], [\"second\"], []]", &compiled("shared.loom"));
    assert_eq!(shared[0].offload.as_deref(), Some("seen"), "{shared:?}");
    assert!(shared[0].message.contains("steps `first` and `second` call it on two tiles"));
}

#[test]
fn steps_that_do_not_fit_into_a_tile_are_refused() {
    let text = "[tile]\ninstruction_words = 150\n";
    let small = machine(text).unwrap_or_else(|error| panic!("{error}"));
    let refused = small.refusals(&program());
    assert_eq!(refused[0].step.as_deref(), Some("classify"));
    let why = "there is room for 150; put them on more tiles";
    assert!(refused[0].message.contains(why), "{refused:?}");
}

#[test]
fn wrong_mappings_are_refused_by_key() {
    for (text, why) in [
        ("[mapping]\nchains = []\n", "`mapping.chains`: there must be one at least"),
        ("[mapping]\nchains = [[[4, 0]]]\n", "there is no tile (4,0) on a chip of 4 x 4"),
        ("[mapping]\nchains = [[[0, 0]], [[0, 0]]]\n", "tile (0,0) is named twice"),
        ("[mapping]\nchains = [[[0, 0], [2, 0]]]\n", "are no neighbours"),
        ("[mapping]\nchains = [[[1, 1]]]\n", "tile (1,1) has no free port of the chip"),
        ("[mapping]\nchains = [[]]\n", "a chain has no tile"),
        ("[mapping]\nsteps = [[], []]\n", "`mapping.steps` is for 2 tiles, and a chain has 1"),
        ("[mapping]\nreplicas = [2]\n", "`mapping.replicas` is for 2 tiles, and a chain has 1"),
        ("[mapping]\nreplicas = [1, 0]\n", "`mapping.replicas` has a 0"),
        ("[mapping]\nrows = 1\n", "unknown field `rows`"),
        (
            "[mapping]\nchains = [[[0, 0], [1, 0]]]\nreplicas = [2]\noutputs = \"egress\"\n",
            "so the last stage needs one tile",
        ),
        ("[memory]\nmegabytes = 0\n", "`memory.megabytes` is 0; it can be 1 to 1024"),
    ] {
        let error = machine(text).expect_err("it is wrong");
        assert!(error.contains(why), "{error}");
    }
}
