//! Hostile or unlucky names and contents.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::os::unix::ffi::OsStrExt;
use std::process::{Command, Stdio};

use crate::workplace::{Ran, Workplace};

/// A name in which every character is special in some language.
const NAME: &[u8] = b"a\nb\"c\\d $(touch PWNED) `touch PWNED` 'q;#%<title><script>&.loom";

fn run(place: &Workplace, words: &[&OsStr]) -> Ran {
    let mut command = Command::new(env!("CARGO_BIN_EXE_wireloom"));
    command.args(words).current_dir(place.path("."));
    command.output().expect("the command starts").into()
}

#[test]
fn names_of_files_are_nothing_but_names_in_what_is_written() {
    let place = Workplace::new();
    let folder = place.path("x*");
    fs::create_dir(&folder).expect("a folder");
    let name = OsStr::from_bytes(NAME);
    fs::write(place.path(".").join(name), crate::workplace::HUB).expect("a program");
    fs::write(folder.join("int evil;.loom"), crate::workplace::HUB).expect("a program");
    let words = |words: &str, file: &OsStr| {
        let words =
            words.split(' ').map(|word| if word == "FILE" { file } else { OsStr::new(word) });
        run(&place, &words.collect::<Vec<_>>())
    };
    words("run FILE --on golden --in three.pcap --report r.html --json j.json", name).status(0);
    let page = String::from_utf8(place.read("r.html")).expect("text");
    assert!(page.contains("&lt;script&gt;") && !page.contains("<script>"), "escaped");
    serde_json::from_slice::<serde_json::Value>(&place.read("j.json")).expect("JSON");
    words("explain FILE --svg s.svg", name).status(0);
    for (machine, file) in [("native", "c/hub.c"), ("np-1-1-1", "v/rtl/hub_core.sv")] {
        let out = file.split('/').next().expect("a folder");
        for source in [name, OsStr::new("x*/int evil;.loom")] {
            words(&format!("build FILE --on {machine} -o {out}"), source).status(0);
            let text = String::from_utf8(place.read(file)).expect("text");
            let comments: Vec<&str> = text
                .lines()
                .filter(|line| line.contains("PWNED") || line.contains("evil"))
                .collect();
            assert!(!comments.is_empty());
            for line in comments {
                // The name is inside a comment, and does not end it.
                let (_, comment) =
                    line.split_once("//").or_else(|| line.split_once("/*")).expect(line);
                let end = comment.trim_end().strip_suffix("*/").unwrap_or(comment);
                assert!(machine != "native" || !end.contains("*/"), "{line}");
            }
        }
    }
    assert!(!place.files().contains(&"PWNED".to_owned()));
}

#[test]
fn help_and_version_that_cannot_be_written_end_with_status_2() {
    for option in ["--help", "--version", "help"] {
        let full = File::options().write(true).open("/dev/full").expect("it is there");
        let mut command = Command::new(env!("CARGO_BIN_EXE_wireloom"));
        let ran = command.arg(option).stdout(full).stderr(Stdio::piped());
        let ran: Ran =
            ran.spawn().and_then(|child| child.wait_with_output()).expect("it runs").into();
        ran.status(2).complains(&["standard output: cannot be written"]);
    }
}

#[test]
fn a_program_of_one_long_line_has_short_messages() {
    let place = Workplace::new();
    let text = format!("engine e() {{ step s {{ {} finish; }} }}", "x = 1; ".repeat(20_000));
    place.write("long.loom", text.as_bytes());
    let ran = place.wireloom("check long.loom");
    ran.status(1).complains(&["error[E", "long.loom:1:", "in a line of"]);
    assert!(ran.err.len() < 100_000, "{} bytes", ran.err.len());
}

#[test]
fn a_table_with_a_million_errors_has_one_message() {
    let place = Workplace::new();
    place.write("bad.tables", format!("table ports\n{}", "x = = y\n".repeat(300_000)).as_bytes());
    let ran = place.wireloom("tables hub.loom --tables bad.tables");
    ran.status(2).complains(&["bad.tables:2"]);
    assert!(ran.err.len() < 1000, "{} bytes", ran.err.len());
}

#[test]
fn a_capture_cut_at_any_byte_is_used_or_refused() {
    let place = Workplace::new();
    let whole = place.read("three.pcap");
    for length in (0..whole.len()).step_by(3) {
        place.write("cut.pcap", &whole[..length]);
        let ran = place.wireloom("run hub.loom --on golden --in cut.pcap");
        assert!(matches!(ran.status, 0 | 2), "{length}: {}\n{}", ran.status, ran.err);
        let says =
            ["byte", "empty", "warning", "cut.pcap"].iter().any(|word| ran.err.contains(word));
        assert!(ran.status == 0 || says, "{length}: {}", ran.err);
    }
}

#[test]
fn manual_pages_are_whole_and_name_what_is_wrong() {
    let place = Workplace::new();
    place.wireloom("manual man").status(0);
    assert!(place.read("man/wireloom-trace.1").starts_with(b".ie"));
    fs::create_dir(place.path("man/wireloom-run.1.d")).expect("a folder");
    place.write("file", b"");
    place.wireloom("manual file").status(2).complains(&["file"]);
    fs::remove_file(place.path("man/wireloom-run.1")).expect("it was there");
    fs::create_dir(place.path("man/wireloom-run.1")).expect("a folder");
    place.wireloom("manual man").status(2).complains(&["man/wireloom-run.1"]);
}

#[test]
fn messages_bring_no_control_characters_to_the_terminal() {
    let place = Workplace::new();
    let ran = run(&place, &["run", "hub.loom", "--in", "\u{1b}]0;evil\u{7}.pcap"].map(OsStr::new));
    ran.status(2).complains(&["\\u{1b}]0;evil\\u{7}.pcap"]);
    assert!(!ran.err.contains('\u{1b}'));
}

#[test]
fn sources_bring_no_commands_to_the_terminal() {
    let place = Workplace::new();
    let evil = "\u{1b}]0;title\u{7}\u{9b}2J\u{202e}\0\rhidden";
    place.write("evil.loom", format!("engine e() {{ step s {{ x = 1; /*{evil}*/ }} }}").as_bytes());
    place.write("evil.uc", format!("alu[a {evil}]\n").as_bytes());
    place.write("evil.rasm", format!(".tile 0 0\nadd {evil}\n").as_bytes());
    place.write("evil.sidl", format!("interface {evil}").as_bytes());
    place.write("evil.packets", format!("program {evil}.loom\n").as_bytes());
    place.write("evil.tables", format!("table {evil}\n").as_bytes());
    for words in [
        "check evil.loom",
        "assemble evil.uc -o evil.uo",
        "assemble evil.rasm -o evil.robj",
        "mpsoc sidl evil.sidl -o out",
        "test evil.packets",
        "tables hub.loom --tables evil.tables",
    ] {
        let ran = place.wireloom(words);
        let is_command = |c: char| c.is_control() && !matches!(c, '\n' | '\t');
        assert!(ran.err.contains("error"), "{words}: {}", ran.err);
        assert!(!ran.err.contains(is_command), "{words}: {:?}", ran.err);
    }
}
