//! The capture for the first five minutes, programs/captures/first.pcapng.

use std::fs;
use std::process::Command;

use super::root;

#[test]
fn the_first_capture_is_what_its_command_generates() {
    let folder = root().join("programs/captures");
    let page = fs::read_to_string(folder.join("README.md")).expect("its page");
    let command = super::blocks::blocks(&page).remove(0).text.replace("\\\n", " ");
    let made = tempfile::tempdir().expect("a temporary folder");
    let made = made.path().join("first.pcapng");
    let words = command.split_whitespace().skip(1).map(|word| match word {
        "programs/captures/first.pcapng" => made.to_str().expect("a path in UTF-8"),
        word => word,
    });
    let output = Command::new(env!("CARGO_BIN_EXE_wireloom"))
        .args(words)
        .current_dir(root())
        .output()
        .expect("the command starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let is_equal = fs::read(&made).expect("a capture")
        == fs::read(folder.join("first.pcapng")).expect("the capture");
    assert!(is_equal, "{command} generates other bytes");
}
