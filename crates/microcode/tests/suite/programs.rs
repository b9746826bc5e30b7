//! The programs of programs/microcode and of the instructions' tests assemble, and survive
//! disassembly.

use std::fs;
use std::path::{Path, PathBuf};

use wireloom_isa::microengine::table::Form;
use wireloom_isa::microengine::{Image, Unit, Version, decode};
use wireloom_microcode::{Options, assemble, disassemble};

fn assembled(path: &str, text: &str) -> Image {
    assembled_with(path, text, &Options::default())
}

fn assembled_with(path: &str, text: &str, options: &Options) -> Image {
    let mut read = |path: &Path| fs::read_to_string(path).map_err(|error| error.to_string());
    let result = assemble(path, text, options, &mut read);
    result.unwrap_or_else(|refused| panic!("{}", refused.render(false)))
}

fn programs(folder: &str) -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).expect("the repository");
    let files = fs::read_dir(root.join(folder)).expect("the folder");
    let files = files.map(|entry| entry.expect("an entry").path());
    files.filter(|path| path.extension().is_some_and(|end| end == "uc")).collect()
}

#[test]
fn programs_survive_disassembly() {
    let all = [
        programs("programs/microcode"),
        programs("programs/microcode/tests"),
        programs("programs/microcode/tests/version2"),
    ]
    .concat();
    assert!(all.len() > 2, "the programs were found");
    for path in all {
        let text = fs::read_to_string(&path).expect("it can be read");
        let image = assembled(&path.display().to_string(), &text);
        let again = assembled("again.uc", &disassemble(&image));
        assert_eq!(again.words, image.words, "{}", path.display());
        let options = Options { optimise: true, ..Options::default() };
        let optimised = assembled_with(&path.display().to_string(), &text, &options);
        assert_eq!(optimised.words.len(), image.words.len(), "{}", path.display());
    }
}

/// The forms of the instructions in the tests of a version.
fn tested(version: Version, folder: &str) -> Vec<Form> {
    let mut tested: Vec<Form> = Vec::new();
    for path in programs(folder) {
        let text = fs::read_to_string(&path).expect("it can be read");
        let image = assembled(&path.display().to_string(), &text);
        let words = image.words.iter().enumerate();
        let found = words.filter_map(|(at, &word)| decode(version, word, at as u16));
        tested.extend(found.map(|instruction| instruction.form()));
    }
    tested
}

#[test]
fn every_instruction_of_version_1_is_tested() {
    let tested = tested(Version::One, "programs/microcode/tests");
    for row in Version::One.rows() {
        let form = row.row.form;
        // The simulated chip has no PCI unit; `load_addr` is an `immed`.
        let has_test = !matches!(form, Form::Command(Unit::Pci, _) | Form::LoadAddress);
        assert!(!has_test || tested.contains(&form), "{}", row.row.syntax);
    }
}

#[test]
fn every_instruction_that_only_version_2_has_is_tested() {
    let tested = tested(Version::Two, "programs/microcode/tests/version2");
    let in_both = |form| Version::One.rows().iter().any(|row| row.row.form == form);
    for row in Version::Two.rows() {
        let form = row.row.form;
        // The instructions of the MSF need packets.
        let needs_packets = matches!(form, Form::Command(Unit::Msf, _));
        assert!(needs_packets || in_both(form) || tested.contains(&form), "{}", row.row.syntax);
    }
}
