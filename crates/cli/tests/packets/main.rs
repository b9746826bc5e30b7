//! The packet tests of the programs, `programs/tests/*.packets`: each file on golden, before and after optimisation, and on
//! native; some also on a network processor.

mod file;
mod machine;
mod notation;

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;

use file::{ActionKind, TestFile};
use machine::Machine;
use wireloom_net::capture::{Destination, Writer};

/// Each file is a test, so that they run side by side and fail by name.
macro_rules! files {
    ($($name:ident)*) => {
        $(#[test] fn $name() { run(stringify!($name)); })*

        #[test]
        fn every_file_is_run() {
            let mut there: Vec<String> = std::fs::read_dir(directory())
                .expect("programs/tests")
                .filter_map(|entry| {
                    let name = entry.expect("an entry of programs/tests").file_name();
                    Some(name.to_str()?.strip_suffix(".packets")?.to_owned())
                })
                .collect();
            there.sort();
            assert_eq!(there, [$(stringify!($name)),*]);
        }
    };
}

files! { figure2 flowcount ipv4 ipv6 md4 mpls nat nat_full nat_pool router unchecked_source url }

/// The packets of a file, all of them at once, on a simulated network processor: what golden does with them, which is what
/// the file wants.
fn on_a_network_processor(name: &str) {
    let path = directory().join(format!("{name}.packets"));
    let tests = TestFile::read(&path).unwrap_or_else(|problem| panic!("{problem}"));
    let folder = tempfile::tempdir().expect("a temporary folder");
    let capture = folder.path().join("packets.pcapng");
    let mut writer = Writer::create(&capture).expect("a capture");
    for action in &tests.actions {
        if let ActionKind::Send(packet, _) = &action.kind {
            let port = Destination::Port(packet.ingress);
            writer.write(port, packet.arrival_ns, &packet.bytes).expect("a packet");
        }
    }
    writer.finish().expect("a capture");
    let mut command = Command::new(env!("CARGO_BIN_EXE_wireloom"));
    // A model of few packets is built longer than it runs.
    command.env("WIRELOOM_NP_OPTIMISE", "0");
    command.arg("verify").arg(&tests.program).args(["--on", "np-1-2-2", "--in"]).arg(&capture);
    command.args(tests.tables.iter().flat_map(|path| [OsStr::new("--tables"), path.as_os_str()]));
    let output = command.output().expect("the command starts");
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{said}{}", String::from_utf8_lossy(&output.stderr));
    assert!(said.contains("no difference"), "{said}");
}

#[test]
fn router_on_a_network_processor() {
    on_a_network_processor("router");
}

#[test]
fn md4_on_a_network_processor() {
    on_a_network_processor("md4");
}

#[test]
fn nat_on_a_network_processor() {
    on_a_network_processor("nat");
}

fn directory() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../programs/tests")
}

/// The router of some protocols does what the engine of these does.
#[test]
fn virtual_routers_do_what_the_engines_of_their_protocols_do() {
    let all = ["ROUTE_IPV4", "ROUTE_IPV6", "ROUTE_MPLS"];
    for (name, routed) in
        [("router", &all[..]), ("ipv4", &all[..1]), ("ipv6", &all[1..2]), ("mpls", &all[2..])]
    {
        let mut tests = read(name);
        tests.program = directory().join("../virtual.loom");
        tests.sets.extend(all.map(|constant| (constant.to_owned(), routed.contains(&constant).to_string())));
        check(name, &tests);
    }
}

fn run(name: &str) {
    check(name, &read(name));
}

fn read(name: &str) -> TestFile {
    TestFile::read(&directory().join(format!("{name}.packets"))).unwrap_or_else(|problem| panic!("{problem}"))
}

fn check(name: &str, tests: &TestFile) {
    let mut failures = Vec::new();
    for mut machine in Machine::all(tests) {
        for action in &tests.actions {
            if let Err(difference) = machine.act(&action.kind) {
                let (line, test, on) = (action.line, &action.test, machine.name);
                failures.push(format!("{name}.packets:{line}: {test}: on {on}:\n{difference}"));
            }
        }
    }
    assert!(failures.is_empty(), "{} failures\n\n{}", failures.len(), failures.join("\n\n"));
}
