//! Tests of the hand-written templates: lint, test benches, and parameters that are rejected.
//!
//! A test bench is a module `hardware/tests/NAME_tb.sv`. It is built with Verilator below target/
//! and must print `PASS` (docs/hardware/README.md). The assertions of the templates are enabled.
//! `make test-all` also runs each bench in a four-state simulator, and with the asynchronous reset.

mod four_state;
mod streams;
mod style;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use wireloom_install::tools;

/// Returns the checkout that the tests run in.
fn repository() -> PathBuf {
    wireloom_install::checkout().expect("tests run in a checkout")
}

/// Returns the folder of the hand-written templates.
fn hardware() -> PathBuf {
    repository().join("hardware")
}

/// Returns the names of the network processors of machines/.
fn machines() -> Vec<String> {
    let installed = wireloom_description::Description::installed();
    installed.into_iter().filter(|name| name.starts_with("np")).collect()
}

/// The defines that select a reset of the templates (hardware/wl_reset.svh).
type ResetStyle = &'static [&'static str];
const SYNCHRONOUS: ResetStyle = &[];
const ASYNCHRONOUS: ResetStyle = &["-DWL_ASYNCHRONOUS_RESET"];

/// Makes three tests of each bench, one with each reset and one in the other simulator, and a list
/// of all benches. `make test` runs the benches of the templates that tests of whole processors do
/// not cover fully.
macro_rules! benches {
    (each_time: $($own:ident)* ; in_whole_processors: $($whole:ident)*) => {
        mod bench {
            $(#[test] fn $own() { super::run_bench(stringify!($own), super::SYNCHRONOUS); })*
            $(
                #[test]
                #[ignore = "slow: make test-all"]
                fn $whole() { super::run_bench(stringify!($whole), super::SYNCHRONOUS); }
            )*
        }
        benches!(otherwise: $($own)* $($whole)*);
    };
    (otherwise: $($name:ident)*) => {
        const BENCHES: &[&str] = &[$(stringify!($name)),*];
        mod asynchronous {
            $(
                #[test]
                #[ignore = "slow: make test-all"]
                fn $name() { super::run_bench(stringify!($name), super::ASYNCHRONOUS); }
            )*
        }
        mod icarus {
            $(
                #[test]
                #[ignore = "slow: make test-all"]
                fn $name() { super::four_state::run_bench(stringify!($name)); }
            )*
        }
    };
}

benches! {
    each_time:
    wl_aes_tb
    wl_arbiter_fair_tb
    wl_arbiter_fixed_tb
    wl_bloom_tb
    wl_engine_time_tb
    wl_fifo_tb
    wl_hash_cache_tb
    wl_memory_channel_tb
    wl_order_gate_tb
    wl_packet_generator_tb
    wl_park_tb
    wl_payload_tb
    wl_random_tb
    wl_rate_adapter_tb
    wl_rate_limit_tb
    wl_scratchpad_tb
    wl_siphash_tb
    wl_skid_tb
    wl_thread_scheduler_tb
    wl_timed_table_tb
    wl_upsizer_tb
    wl_virtual_egress_tb
    ;
    in_whole_processors:
    wl_arbiter_tree_tb
    wl_axil_control_tb
    wl_axil_split_tb
    wl_balancer_tb
    wl_body_match_tb
    wl_body_sum_tb
    wl_body_turns_tb
    wl_counter_table_tb
    wl_delay_tb
    wl_direct_table_tb
    wl_engine_fsm_tb
    wl_engine_mt_tb
    wl_exact_table_tb
    wl_fifo_block_tb
    wl_flow_counter_tb
    wl_header_serializer_tb
    wl_merge_tb
    wl_merger_tb
    wl_meter_tb
    wl_packet_queue_tb
    wl_pipeline_call_tb
    wl_pipeline_load_tb
    wl_pipeline_read_tb
    wl_pipeline_step_tb
    wl_pipeline_tb
    wl_pipeline_unload_tb
    wl_pipeline_write_tb
    wl_port_gather_tb
    wl_port_spread_tb
    wl_postprocessor_tb
    wl_preprocessor_tb
    wl_qdr_block_tb
    wl_read_table_tb
    wl_reasons_tb
    wl_reorder_tb
    wl_reply_spread_tb
    wl_reply_store_tb
    wl_request_queue_tb
    wl_request_tree_tb
    wl_sequencer_tb
    wl_statistics_tb
    wl_table_tb
    wl_virtual_demux_tb
    wl_virtual_ingress_tb
}

/// Illegal parameters, and the message with which elaboration stops.
const REFUSED: &[(&str, &[&str], &str)] = &[
    ("wl_skid", &["Width=0"], "wl_skid: Width must be 1 or more"),
    ("wl_delay", &["Width=0"], "wl_delay: Width must be 1 or more"),
    ("wl_fifo", &["Depth=0"], "wl_fifo: Depth must be 1 or more"),
    ("wl_fifo", &["Width=0"], "wl_fifo: Width must be 1 or more"),
    ("wl_fifo_block", &["Depth=0"], "wl_fifo_block: Depth must be 1 or more"),
    ("wl_arbiter_fixed", &["Inputs=0"], "wl_arbiter_fixed: Inputs must be 1 or more"),
    ("wl_arbiter_fair", &["Inputs=0"], "wl_arbiter_fair: Inputs must be 1 or more"),
    ("wl_grant_lock", &["Inputs=0"], "wl_grant_lock: Inputs must be 1 or more"),
    ("wl_arbiter_tree", &["Inputs=5"], "the product of Radices must be at least Inputs"),
    ("wl_arbiter_tree", &["Radices=0"], "no radix in Radices may be 0"),
    ("wl_merge", &["Inputs=0"], "wl_merge: Inputs must be 1 or more"),
    ("wl_request_tree", &["Inputs=0"], "Inputs, TagBits and DataBits must be 1 or more"),
    ("wl_reply_spread", &["TagBits=0"], "Outputs, TagBits and DataBits must be 1 or more"),
    (
        "wl_balancer",
        &["Policy=3"],
        "Policy must be 0 (round robin), 1 (least loaded) or 2 (first free)",
    ),
    (
        "wl_read_table",
        &["ReadLatency=0"],
        "wl_read_table: data come at least one cycle after their read",
    ),
    (
        "wl_read_table",
        &["CtlBits=8"],
        "Width, Size and Patience must be at least one, and CtlBits hold a word",
    ),
    ("wl_rate_adapter", &["Slots=0"], "Slots, DownWidth and UpWidth must be 1 or more"),
    ("wl_rate_limit", &["Share=0"], "wl_rate_limit: Share must be 1 to 65536"),
    ("wl_rate_limit", &["Burst=0"], "wl_rate_limit: Width, Burst and MaxBeats must be 1 or more"),
    ("wl_virtual_demux", &["Routers=0"], "wl_virtual_demux: Routers and Width must be 1 or more"),
    ("wl_virtual_demux", &["Beats=8"], "a queue hold the longest packet"),
    ("wl_virtual_ingress", &["Processors=2"], "each router a processor and its own tag"),
    ("wl_virtual_ingress", &["Tags=0"], "each router a processor and its own tag"),
    ("wl_virtual_owner", &["Routers=0"], "Routers must be 1 to 256 and Packets 2 or more"),
    ("wl_virtual_egress", &["Routers=3", "Counts=2"], "each router must have one processor"),
    ("wl_axil_split", &["Slaves=0"], "wl_axil_split: Slaves must be 1 to 256"),
    ("wl_table", &["Size=0"], "wl_table: Width and Size must be 1 or more"),
    ("wl_table", &["MethodCount=7"], "there must be one to six methods"),
    ("wl_thread_scheduler", &["Threads=0"], "wl_thread_scheduler: Threads must be at least one"),
    (
        "wl_thread_scheduler",
        &["Policy=2"],
        "Policy must be 0 (strict round robin) or 1 (ready to execute)",
    ),
    ("wl_scratchpad", &["WritePorts=3"], "wl_scratchpad: WritePorts must be 1 or 2"),
    ("wl_scratchpad", &["HeaderBytes=12"], "wl_scratchpad: HeaderBytes must be 4, 8 or 16"),
    ("wl_scratchpad", &["HeaderBytes=32"], "wl_scratchpad: HeaderBytes must be 4, 8 or 16"),
    (
        "wl_scratchpad",
        &["Storage=2"],
        "wl_scratchpad: Storage must be 0 (LUT RAM) or 1 (block RAM)",
    ),
    (
        "wl_request_queue",
        &["Depth=0"],
        "wl_request_queue: Width, Threads and Depth must be at least one",
    ),
    ("wl_reply_store", &["Threads=0"], "Width and Threads must be at least one, Storage 0 or 1"),
    ("wl_engine_mt", &["StateBits=48"], "StateBits and InfoBits must hold the packet's part"),
    (
        "wl_engine_mt",
        &["HasPacket=0", "StateBits=8", "ReplyBits=9"],
        "the reply must lie in the state",
    ),
    ("wl_engine_mt", &["WindowStorage=2"], "Scheduler, Storage and WindowStorage must be 0 or 1"),
    ("wl_engine_mt", &["HeaderBytes=32"], "wl_engine_mt: HeaderBytes must be 4, 8 or 16"),
    ("wl_engine_fsm", &["HeaderBytes=2"], "wl_engine_fsm: HeaderBytes must be 4, 8 or 16"),
    ("wl_engine_fsm", &["Threads=2"], "wl_engine_fsm: Threads must be 1; wl_engine_mt has more"),
    ("wl_pipeline_load", &["Packets=0"], "wl_pipeline_load: Packets must be at least one"),
    ("wl_pipeline_load", &["Headroom=24"], "Headroom must be a multiple of 16 and at most 128"),
    (
        "wl_pipeline_load",
        &["DataBytes=48"],
        "a header of 128 bytes must be a number of whole beats",
    ),
    ("wl_pipeline_step", &["ReplyBits=0"], "Packets, StepBits and ReplyBits must be at least one"),
    ("wl_pipeline_step", &["StateBits=48"], "StateBits and InfoBits must hold the packet's part"),
    ("wl_pipeline_step", &["Calls=0"], "a step that calls nothing has nothing to wait for"),
    ("wl_pipeline_step", &["HeaderBytes=12"], "wl_pipeline_step: HeaderBytes must be 4, 8 or 16"),
    ("wl_pipeline_read", &["HeaderBytes=32"], "wl_pipeline_read: HeaderBytes must be 4, 8 or 16"),
    ("wl_pipeline_read", &["ReadPorts=0"], "wl_pipeline_read: ReadPorts must be at least one"),
    ("wl_pipeline_write", &["HeaderBytes=32"], "wl_pipeline_write: HeaderBytes must be 4, 8 or 16"),
    ("wl_pipeline_write", &["WritePorts=0"], "wl_pipeline_write: WritePorts must be at least one"),
    ("wl_pipeline_call", &["RequestBits=0"], "Packets and RequestBits must be at least one"),
    (
        "wl_pipeline_unload",
        &["DataBytes=24"],
        "wl_pipeline_unload: DataBytes must be a multiple of 16",
    ),
    ("wl_ram_lut", &["Depth=0"], "wl_ram_lut: Width and Depth must be at least one"),
    ("wl_ram_block", &["Width=0"], "wl_ram_block: Width and Depth must be at least one"),
    (
        "wl_memory_channel",
        &["ReadLatency=3"],
        "ReadLatency is less than the rate adapter and the memory take",
    ),
    ("wl_memory_channel", &["CtlSlot=3"], "there must be a slot, and CtlSlot be one"),
    ("wl_direct_table", &["Size=2097153"], "the elements must fit the memory"),
    ("wl_direct_table", &["Width=72", "Size=1024", "Base=1"], "a multiple of their bursts"),
    ("wl_flow_counter", &["CounterBits=73"], "each of which a burst holds"),
    ("wl_flow_counter", &["Adds=2"], "Adds names an argument that there is not"),
    ("wl_flow_counter", &["Size=1048576"], "the banks must fit the memory"),
    ("wl_counter_table", &["Adds=8"], "Adds names an argument that there is not"),
    ("wl_hash_cache", &["Sets=3"], "Sets a power of two"),
    ("wl_hash_cache", &["HitLatency=3"], "a hit takes at least four cycles"),
    (
        "wl_exact_table",
        &["KeyBits=8", "ValueBits=8", "HasTime=1"],
        "wl_exact_table: CtlBits hold a time, 64 bits",
    ),
    (
        "wl_exact_table",
        &["Size=0"],
        "wl_exact_table: KeyBits, ValueBits and Size must be at least one",
    ),
    ("wl_exact_table", &["MethodCount=10"], "there must be one to nine methods"),
    ("wl_exact_table", &["Chains=12"], "Chains is a power of two, at least 2"),
    ("wl_exact_table", &["Age=5"], "entries age only if requests bring the time (HasTime)"),
    ("wl_timed_table", &["CtlBits=127"], "CtlBits hold an entry, a key that was found, and two"),
    ("wl_timed_table", &["Size=0"], "wl_timed_table: KeyBits, ValueBits and Size must be at least"),
    ("wl_timed_table", &["MethodCount=12"], "there must be one to eleven methods"),
    ("wl_timed_table", &["Chains=12"], "Chains is a power of two, at least 2"),
    ("wl_timed_table", &["Tick=0"], "Tick must be at least one nanosecond"),
    ("wl_engine_time", &["SequenceBits=0"], "SequenceBits must be at least one"),
    ("wl_engine_time", &["Apart=1"], "SequenceBits must be at least one, and 64 if timers are"),
    ("wl_meter", &["CtlBits=200"], "CtlBits hold five rates of 41 bits"),
    ("wl_meter", &["MethodCount=2"], "wl_meter: there are the methods 0, 1 or both, in this order"),
    ("wl_bloom", &["Size=0"], "wl_bloom: Size must be from 1 to 2^28"),
    ("wl_bloom", &["Hashes=17"], "wl_bloom: Hashes must be from 1 to 16"),
    ("wl_bloom", &["MethodCount=3"], "wl_bloom: there are one or two methods"),
    ("wl_bloom", &["KeyBits=0"], "wl_bloom: KeyBits and TagBits must be at least one"),
    ("wl_bloom", &["CtlBits=31"], "wl_bloom: the control bus is narrower than a word"),
    ("wl_random", &["Digit=12"], "wl_random: Digit must be a power of two from 1 to 64"),
    ("wl_random", &["TagBits=0"], "wl_random: TagBits must be at least one"),
    ("wl_order_gate", &["Slots=12"], "wl_order_gate: Slots must be a power of two"),
    ("wl_order_gate", &["TicketBits=4"], "TicketBits must hold a number below Slots"),
    ("wl_park", &["BodyBytes=0"], "wl_park: BodyBytes must be 1 to 65535"),
    ("wl_park", &["DataBytes=48"], "wl_park: DataBytes must be a power of two from 8 to 4096"),
    ("wl_park", &["AddressBits=12"], "a burst must hold a word of 64 bits, and the memory all"),
    ("wl_park", &["CtlBits=222"], "CtlBits hold a packet's slot, key, time and data, and the seed"),
    ("wl_park", &["Buckets=12"], "wl_park: Buckets must be a power of two, at least 2"),
    ("wl_qdr_model", &["Latency=0"], "data come at least one cycle after their command"),
    ("wl_qdr_block", &["Words=3"], "a whole number of bursts"),
    ("wl_sequencer", &["Lanes=9"], "wl_sequencer: Lanes must be 1 to 8"),
    ("wl_preprocessor", &["WindowBytes=100"], "WindowBytes must be a multiple of DataBytes"),
    (
        "wl_preprocessor",
        &["MaxBytes=65536"],
        "MaxBytes must be at least WindowBytes and at most 65535",
    ),
    ("wl_body_buffer", &["Beats=1000"], "wl_body_buffer: Beats must be a power of two from 2 on"),
    ("wl_body_buffer", &["Spare=2048"], "wl_body_buffer: Spare and Ahead must be less than Beats"),
    (
        "wl_body_match",
        &["DataBytes=4"],
        "wl_body_match: DataBytes must be a power of two from 8 on",
    ),
    ("wl_body_match", &["ValueBits=0"], "AddressBits, TagBits and ValueBits must be 1 or more"),
    (
        "wl_body_match",
        &["Classes=12"],
        "wl_body_match: States and Classes must be powers of two from 2 on",
    ),
    ("wl_body_match", &["CtlBits=16"], "wl_body_match: CtlBits must hold an entry"),
    ("wl_body_sum", &["DataBytes=4"], "wl_body_sum: DataBytes must be a power of two from 8 on"),
    ("wl_body_turns", &["Services=0"], "Services, DataBytes and AddressBits must be 1 or more"),
    ("wl_body_turns", &["MostOpen=0"], "wl_body_turns: MostOpen must be 1 or more"),
    ("wl_payload", &["ChunkBytes=0"], "wl_payload: ChunkBytes must be 1 to 512"),
    ("wl_payload", &["HasRead=0"], "wl_payload: there must be reads or writes"),
    (
        "wl_distributor",
        &["Policy=3"],
        "Policy must be 0 (round robin), 1 (least loaded) or 2 (first free)",
    ),
    ("wl_header_serializer", &["RowBytes=48"], "DataBytes and RowBytes must be powers of two"),
    ("wl_header_deserializer", &["RowBytes=48"], "DataBytes must be a multiple of RowBytes"),
    ("wl_reorder", &["Tags=12"], "wl_reorder: Tags must be a power of two"),
    ("wl_gatherer", &["OrderDepth=0"], "Clusters, DataBytes and OrderDepth must be 1 or more"),
    ("wl_postprocessor", &["DataBytes=48"], "DataBytes must be a power of two from RowBytes on"),
    ("wl_postprocessor", &["RowBytes=1"], "wl_postprocessor: RowBytes must be 2, 4, 8 or 16"),
    ("wl_rotate", &["Bytes=6"], "wl_rotate: Bytes must be a power of two from 2 on"),
    ("wl_merger", &["Lanes=0"], "wl_merger: Lanes must be 1 to 8"),
    ("wl_reasons", &["Lanes=9"], "wl_reasons: Lanes must be 1 to 8"),
    ("wl_statistics", &["CtlBits=32"], "wl_statistics: CtlBits must be 64 or more"),
    ("wl_axil_control", &["CtlBits=4096"], "wl_axil_control: CtlBits must be 1 to 2048"),
    ("wl_upsizer", &["InBytes=0"], "wl_upsizer: InBytes and UserBits must be 1 or more"),
    ("wl_upsizer", &["InBytes=7"], "wl_upsizer: OutBytes must be a multiple of InBytes"),
    ("wl_downsizer", &["UserBits=0"], "wl_downsizer: OutBytes and UserBits must be 1 or more"),
    ("wl_downsizer", &["OutBytes=24"], "wl_downsizer: InBytes must be a multiple of OutBytes"),
    ("wl_packet_queue", &["Width=0"], "wl_packet_queue: Width must be 1 or more"),
    ("wl_packet_queue", &["Beats=1"], "wl_packet_queue: Beats must be 2 or more"),
    ("wl_port_gather", &["Ports=9"], "wl_port_gather: Ports must be 1 to 8"),
    ("wl_port_spread", &["Ports=9"], "wl_port_spread: Ports must be 1 to 8"),
    ("wl_packet_generator", &["Labels=5"], "wl_packet_generator: Labels must be 1 to 4"),
];

/// Returns the SystemVerilog files of a folder below hardware/, in the order of their names.
fn sources(folder: &Path) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> = std::fs::read_dir(folder)
        .unwrap_or_else(|error| panic!("{}: {error}", folder.display()))
        .map(|entry| entry.expect("an entry of the folder").path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "sv"))
        .collect();
    found.sort();
    found
}

/// Returns the folders of templates: all folders below hardware/ except for tests and proofs.
fn template_folders() -> Vec<PathBuf> {
    let mut folders: Vec<PathBuf> = std::fs::read_dir(hardware())
        .expect("hardware/ can be read")
        .map(|entry| entry.expect("an entry of hardware/").path())
        .filter(|path| path.is_dir() && !path.ends_with("tests") && !path.ends_with("formal"))
        .collect();
    folders.sort();
    folders
}

fn templates() -> Vec<PathBuf> {
    template_folders().iter().flat_map(|folder| sources(folder)).collect()
}

fn package() -> PathBuf {
    hardware().join("wl_pkg.sv")
}

fn module(path: &Path) -> &str {
    path.file_stem().and_then(|stem| stem.to_str()).expect("a name in UTF-8")
}

/// Returns Verilator with the folders of the templates.
fn verilator() -> Command {
    let mut command = tools::verilator().unwrap_or_else(|message| panic!("{message}"));
    for folder in template_folders() {
        command.arg("-y").arg(folder);
    }
    command
        .arg(format!("-I{}", hardware().display()))
        .arg("--assert")
        .arg("-DFORMAL")
        .arg(package());
    command
}

/// Runs a command. Returns whether it succeeded, and its output.
fn outcome(command: &mut Command) -> (bool, String) {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let said = format!(
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    (output.status.success(), said)
}

/// Returns a new folder below target/.
fn folder_of(kind: &str, name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(kind).join(name);
    std::fs::create_dir_all(&folder)
        .unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    folder
}

/// Returns a header that includes Verilator's headers, with its precompiled form next to it: most
/// benches are small, and the compiler spends half its time on these headers.
fn headers() -> &'static Path {
    static HEADERS: OnceLock<PathBuf> = OnceLock::new();
    HEADERS.get_or_init(|| {
        let folder = folder_of("hardware", "headers");
        let header = folder.join("headers.h");
        let write = |path: &Path, text: &str| {
            std::fs::write(path, text).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
        };
        write(&header, "#include \"verilated.h\"\n#include \"verilated_timing.h\"\n");
        // A makefile of Verilator's holds the options for compiling benches.
        let clock = folder.join("clock.sv");
        write(&clock, "module clock;\n  initial #1 $finish;\nendmodule\n");
        let (made, said) = outcome(
            verilator()
                .args(["--cc", "--exe", "--main"])
                .args(HOW_BENCHES_COMPILE)
                .args(["-CFLAGS", "-O0"])
                .arg(&clock)
                .args(["--top-module", "clock", "-Mdir"])
                .arg(&folder),
        );
        assert!(made, "{said}");
        let rule = "headers.h.gch: headers.h\n\t$(CXX) $(OPT_FAST) $(CXXFLAGS) $(CPPFLAGS) \
                    -x c++-header headers.h -o $@";
        let mut make = Command::new("make");
        make.envs(verilator().get_envs().filter_map(|(name, value)| Some((name, value?))));
        make.args(["-f", "Vclock.mk", "--eval", rule, "headers.h.gch"]).current_dir(&folder);
        let (compiled, said) = outcome(&mut make);
        assert!(compiled, "{said}");
        header
    })
}

const HOW_BENCHES_COMPILE: [&str; 2] = ["--timing", "--quiet"];

fn run_bench(name: &str, reset: ResetStyle) {
    let tests = hardware().join("tests");
    let folder =
        folder_of(if reset == SYNCHRONOUS { "hardware" } else { "hardware-asynchronous" }, name);
    // Some benches have enough cases to compile for minutes; `make test-all` runs all cases.
    let few = (reset == SYNCHRONOUS).then_some("-DWL_FEW_CASES");
    let (built, said) = outcome(
        verilator()
            .args(["--binary", "-j", "1", "--x-initial", "unique"])
            .args(few)
            .args(HOW_BENCHES_COMPILE)
            .arg("-CFLAGS")
            .arg(format!("-O0 -include {}", headers().display()))
            // With this setting ccache also caches compilations that use precompiled headers.
            .env("CCACHE_SLOPPINESS", "pch_defines,time_macros")
            // One C++ file per bench, because several files would read the same headers again.
            .args(["--output-split", "0"])
            .args(reset)
            // The templates are linted separately below, and a bench is not a design.
            .args(["-Wno-lint", "-Wno-style"])
            .arg("-y")
            .arg(&tests)
            .arg(tests.join("tb_pkg.sv"))
            .arg(tests.join(format!("{name}.sv")))
            .args(["--top-module", name, "-Mdir"])
            .arg(&folder),
    );
    assert!(built, "{name} does not build:\n{said}");

    // Registers start with random values, which are the same in each run.
    let (passed, said) = outcome(
        Command::new(folder.join(format!("V{name}")))
            .args(["+verilator+seed+1", "+verilator+rand+reset+2"])
            .current_dir(&folder),
    );
    assert!(passed && said.lines().any(|line| line == "PASS"), "{name} failed:\n{said}");
}

#[test]
fn every_bench_is_listed() {
    let there: Vec<PathBuf> = sources(&hardware().join("tests"));
    let there: Vec<&str> =
        there.iter().map(|path| module(path)).filter(|name| name.ends_with("_tb")).collect();
    let mut listed = BENCHES.to_vec();
    listed.sort_unstable();
    assert_eq!(there, listed, "list the benches of hardware/tests in `benches!`");
}

#[test]
fn verilator_has_nothing_to_say_of_a_template() {
    lint(SYNCHRONOUS);
}

#[test]
#[ignore = "reads each template once more: make test-all"]
fn verilator_has_nothing_to_say_of_a_template_with_an_asynchronous_reset() {
    lint(ASYNCHRONOUS);
}

fn lint(reset: ResetStyle) {
    let mut complaints = String::new();
    // Assertions sample the reset at the clock edge. They are no part of the design.
    let without_assertions = if reset == SYNCHRONOUS { None } else { Some("-UFORMAL") };
    for path in templates() {
        let (fine, said) = outcome(
            verilator()
                .args(["--lint-only", "-Wall", "--quiet", "--top-module", module(&path)])
                .args(reset)
                .args(without_assertions)
                .arg(&path),
        );
        if !fine {
            complaints += &said;
        }
    }
    assert!(complaints.is_empty(), "{complaints}");
}

#[test]
fn yosys_has_nothing_to_say_of_the_templates() {
    // Yosys can read files below its working directory, but not files in every other folder.
    let relative = |path: &Path| {
        let path = path.strip_prefix(repository()).expect("templates lie in the repository");
        path.to_str().expect("a path in UTF-8").to_string()
    };
    let files: Vec<String> = templates().iter().map(|path| relative(path)).collect();
    for defines in ["-D SYNTHESIS", "-D FORMAL", "-D SYNTHESIS -D WL_ASYNCHRONOUS_RESET"] {
        // All flip-flops must be of the kinds that parts have: with either reset, or none. A
        // register that an asynchronous reset leaves out would load its own value, and a register
        // that is reset to no constant would load its input.
        let script = format!(
            "read_slang --threads 1 -I hardware {defines} {} {}\n\
             opt_expr\nopt_dff\n\
             select -assert-none t:$aldff t:$aldffe t:$dffsr t:$dffsre t:$dlatch t:$adlatch",
            relative(&package()),
            files.join(" ")
        );
        let mut yosys = tools::yosys().unwrap_or_else(|message| panic!("{message}"));
        let (fine, said) = outcome(yosys.current_dir(repository()).args(["-Q", "-p", &script]));
        assert!(fine && !said.contains("warning:") && !said.contains("Warning:"), "{said}");
    }
}

#[test]
#[ignore = "takes long: make test-all"]
fn senseless_parameters_stop_elaboration_with_a_sentence() {
    for (name, parameters, sentence) in REFUSED {
        let path = templates()
            .into_iter()
            .find(|path| module(path) == *name)
            .unwrap_or_else(|| panic!("there is no template {name}"));
        let (fine, said) = outcome(
            verilator()
                .args(["--lint-only", "--quiet", "--top-module", name])
                .args(parameters.iter().map(|parameter| format!("-G{parameter}")))
                .arg(path),
        );
        assert!(!fine && said.contains(sentence), "{name} with {parameters:?} said:\n{said}");
    }
}
