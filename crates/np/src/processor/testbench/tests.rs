//! Tests that the C++ of a built folder compiles without warnings, in each C++ version that
//! compilers and Verilator choose by default.

use std::process::Command;

use super::*;
use crate::simulation::{Geometry, NarrowPorts, Probe, Routers};

/// Returns the shapes of ports that the harness distinguishes, with and without probes.
fn shapes() -> [Geometry; 3] {
    let probe = Probe { name: "input".into(), kind: "busy".into(), bits: 1, most: 1 };
    let wide = Geometry {
        lanes: 1,
        ports: None,
        user_bits: 16,
        arrival: false,
        memory_ratio: 3,
        probes: Vec::new(),
        routers: None,
        clearing: 0,
        longest_pause: 0,
    };
    let ports = Some(NarrowPorts { bytes: 8, numbers: vec![3, 1] });
    let routers = Some(Routers { lanes: vec![0, 0], processors: 1 });
    let narrow = Geometry { ports, memory_ratio: 0, probes: vec![probe], ..wide.clone() };
    [narrow, Geometry { routers, ..wide.clone() }, wide]
}

#[test]
#[ignore = "takes long: make test-all"]
fn the_test_bench_compiles_without_warnings_as_each_version_of_cpp() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text);
    let stubs = ["np_model.h", "verilated.h"].map(|name| (name, "#include \"stub.h\"\n"));
    let own = [("main.cpp", include_str!("main.cpp")), ("stub.h", include_str!("stub.h"))];
    for (name, text) in HARNESS.into_iter().chain(stubs).chain(own) {
        write(name, text).expect("a temporary file");
    }
    let [narrow, routed, wide] = &shapes();
    // A compilation takes a second, so only the smallest shape is compiled as both versions.
    for (geometry, version) in [(narrow, "17"), (routed, "20"), (wide, "17"), (wide, "20")] {
        let mut compiler = Command::new("c++");
        for (name, value) in definitions(geometry) {
            compiler.arg(format!("-D{name}={value}"));
        }
        let compiled = compiler
            .args(["-DWL_PERIOD_PS=10000", "-DWL_WAVES=0", "-Wall", "-Wextra", "-Werror"])
            .args([&format!("-std=c++{version}"), "-fsyntax-only", "main.cpp"])
            .current_dir(&folder)
            .output()
            .expect("a C++ compiler");
        let said = String::from_utf8_lossy(&compiled.stderr);
        assert!(compiled.status.success(), "C++{version}, {geometry:?}:\n{said}");
    }
}
