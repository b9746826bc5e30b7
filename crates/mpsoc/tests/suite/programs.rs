//! The engines of the folder `programs` on both instruction sets: they behave like golden, or are
//! rejected with a message.

use crate::support::{agree, compiled, generated, load_file, programs};
use wireloom_fuzz::input::Input;
use wireloom_ir::Program;
use wireloom_isa::program::Architecture;
use wireloom_machine::Configured;
use wireloom_mpsoc::Spec as MachineSpec;
use wireloom_mpsoc::program::{Elements, PARTS, Partition};
use wireloom_net::Packet;
use wireloom_net::traffic::{AddressSpec, Sizes, Spec};
use wireloom_offloads::Store;
use wireloom_testkit::TestFile;

/// The protocols of the packets, in the syntax of `--mix`.
const ALL: &str = "ipv4=3,ipv6=3,mpls1..4=2";

/// Generated packets, some with a byte changed or truncated. Their addresses are in the prefixes of
/// a table file, if there is one.
fn packets(program: &Program, mix: &str, prefixes: Option<&str>) -> Vec<Packet> {
    let mut packets = Input::random(program, 1).packets;
    let addresses = || AddressSpec { prefixes: prefixes.map(programs), ..AddressSpec::default() };
    let spec = Spec {
        seed: 7,
        destinations: addresses(),
        sources: addresses(),
        count: Some(600),
        mix: Spec::parse_mix(mix).expect("a mix"),
        ports: 4,
        ..Spec::default()
    };
    for (number, mut changed) in generated(&spec).into_iter().enumerate() {
        let length = changed.bytes.len();
        match number % 4 {
            0 => changed.bytes[number * 7 % length] ^= (number / 4) as u8,
            1 => changed.bytes.truncate(number % length),
            _ => {}
        }
        packets.push(changed);
    }
    packets
}

/// Checks an engine as a whole, and with each step once as the start of a second part.
fn check(
    name: &str,
    mix: &str,
    tables: Option<&str>,
    prefixes: Option<&str>,
) -> Result<(), String> {
    let program = compiled(name);
    let packets = packets(&program, mix, prefixes);
    let names: Vec<&String> =
        program.engines[program.main.index()].steps[1..].iter().map(|step| &step.name).collect();
    let cut =
        |names: &[&String]| Partition::at(&program, names).expect("the engine has these steps");
    let partitions = std::iter::once(Partition::whole()).chain(names.chunks(PARTS - 1).map(cut));
    for partition in partitions {
        for machine in [Architecture::Arm, Architecture::Riscv] {
            let load = |store: &mut Store| tables.iter().for_each(|file| load_file(store, file));
            agree(&program, &partition, &Elements::none(), &packets, machine, &load)?;
        }
    }
    Ok(())
}

#[test]
fn the_router_means_what_golden_means() {
    assert_eq!(
        check("router.loom", ALL, Some("tests/router.tables"), Some("tests/router.tables")),
        Ok(())
    );
}

#[test]
fn its_protocols_alone_do() {
    assert_eq!(
        check("ipv4.loom", "ipv4=1", Some("tests/ipv4.tables"), Some("tests/ipv4.tables")),
        Ok(())
    );
    assert_eq!(
        check("ipv6.loom", "ipv6=1", Some("tests/ipv6.tables"), Some("tests/ipv6.tables")),
        Ok(())
    );
    assert_eq!(check("mpls.loom", ALL, Some("tests/mpls.tables"), None), Ok(()));
}

#[test]
fn other_engines_do_too() {
    assert_eq!(check("flowcount.loom", ALL, None, None), Ok(()));
    assert_eq!(
        check("figure2.loom", "ipv4=1", Some("tests/figure2.tables"), Some("tests/figure2.tables")),
        Ok(())
    );
}

#[test]
fn engines_that_work_on_all_of_a_packet_do_too() {
    // Few hosts, so that packets find existing mappings.
    let hosts = Some("../crates/mpsoc/tests/engines/nat_hosts.txt");
    assert_eq!(check("nat.loom", "ipv4=1", Some("tests/nat.tables"), hosts), Ok(()));
    assert_eq!(check("url.loom", ALL, Some("tables/url.tables"), None), Ok(()));
    assert_eq!(check("md4.loom", ALL, None, None), Ok(()));
}

#[test]
fn the_packet_tests_of_these_engines_do_on_both_instruction_sets() {
    for name in ["nat", "url", "md4"] {
        let tests =
            TestFile::read(&programs(&format!("tests/{name}.packets"))).expect("packet tests");
        let packets = tests.packets().cloned();
        let (program, packets) = (compiled(&format!("{name}.loom")), packets.collect::<Vec<_>>());
        assert!(packets.len() > 5, "{name}");
        let tables = tests.tables.as_deref().map(|path| path.to_str().expect("a name in UTF-8"));
        let load = |store: &mut Store| tables.iter().for_each(|file| load_file(store, file));
        for machine in [Architecture::Arm, Architecture::Riscv] {
            assert_eq!(
                agree(&program, &Partition::whole(), &Elements::none(), &packets, machine, &load),
                Ok(()),
                "{name}"
            );
        }
    }
}

#[test]
fn what_is_read_far_behind_a_window_that_was_long_is_zero() {
    let name = "../crates/mpsoc/tests/engines/far.loom";
    assert_eq!(check(name, "ipv4=1", None, None), Ok(()));
    // The engine is cut, and reads on a thread that has received the long window from another one.
    let program = compiled(name);
    let partition = Partition::at(&program, &["cut"]).expect("the engine has that step");
    let mix = Spec::parse_mix("ipv4=1").expect("a mix");
    let packets =
        generated(&Spec { seed: 7, count: Some(100), sizes: Sizes::Imix, mix, ..Spec::default() });
    for machine in [Architecture::Arm, Architecture::Riscv] {
        assert_eq!(
            agree(&program, &partition, &Elements::none(), &packets, machine, &|_| ()),
            Ok(())
        );
    }
}

#[test]
fn a_window_that_is_cut_grows_again_as_far_as_ever() {
    assert_eq!(check("../crates/mpsoc/tests/engines/grown.loom", ALL, None, None), Ok(()));
}

#[test]
fn fields_that_calls_name_by_their_place_are_what_they_were_when_they_were_read() {
    assert_eq!(check("../crates/mpsoc/tests/engines/fields.loom", ALL, None, None), Ok(()));
}

#[test]
fn a_packet_that_is_kept_and_taken_has_its_own_ports_times_and_bytes() {
    let program = "../crates/mpsoc/tests/engines/parking.loom";
    assert_eq!(check(program, ALL, None, None), Ok(()));
}

#[test]
fn a_call_carries_the_widest_value() {
    assert_eq!(check("../crates/mpsoc/tests/engines/chunk.loom", ALL, None, None), Ok(()));
}

/// The stack use of a thread is known only when the program is compiled. The compiler's own message
/// does not reach the user.
#[test]
fn variables_that_exceed_the_stack_of_a_thread_are_refused_in_a_sentence() {
    let variables = |write: fn(usize) -> String| (0..40).map(write).collect::<String>();
    let text = format!(
        "header Start {{ u1024 all; }};\nengine large() {{\n    Start start @ 0;\n{}    step keep {{\n{}        \
         next add;\n    }}\n    step add {{\n{}        finish;\n    }}\n}}\n",
        variables(|number| format!("    u1024 v{number};\n")),
        variables(|number| format!("        v{number} = start.all + {number};\n")),
        variables(|number| format!("        start.all = start.all ^ v{number};\n")),
    );
    let options = wireloom_lang::Options::default();
    let checked = wireloom_lang::check_source("large.loom", &text, &options);
    let program = checked.program.as_ref().expect("it is a program");
    let refusals = MachineSpec::base().refusals(&wireloom_machine::Program::new(program));
    let [refusal] = &refusals[..] else { panic!("{refusals:?}") };
    let (begin, end) = (
        "engine `large` needs ",
        " bytes for its variables at once, and a thread's stack has 2048: ",
    );
    assert!(refusal.message.starts_with(begin) && refusal.message.contains(end), "{refusal:?}");
    assert!(!refusal.message.contains("frame"), "{refusal:?}");
}
