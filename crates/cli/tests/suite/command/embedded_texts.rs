//! The embedded texts of an installed command: documentation, diagnostics and examples.

use std::process::Command;

use crate::workplace::{Ran, Workplace};

#[test]
fn pages_of_the_documentation_are_text() {
    let place = Workplace::new();
    let list = place.wireloom("docs");
    list.status(0).says(&["\nlanguage ", "\nmachines/np ", "\noperate ", "\nprograms/tests "]);
    assert!(!list.out.contains('\u{1b}'), "{}", list.out);
    for name in ["machines/np", "docs/machines/np.md"] {
        place.wireloom(&format!("docs {name}")).status(0).says(&["The np machine: ", "\n═══"]);
    }
    let section = place.wireloom("docs packets#tables");
    section.status(0).says(&["Tables are text", "import pyasn"]);
    assert!(!section.out.contains("Captures\n"), "{}", section.out);
}

#[test]
fn pages_that_are_not_there_are_refused_with_close_names() {
    let place = Workplace::new();
    let refused = |words: &str, said: &[&str]| {
        let ran = place.wireloom(&format!("docs {words}"));
        ran.status(2).complains(said);
        assert_eq!(ran.out, "", "{words}");
    };
    refused("np", &["3 pages", "hardware/np, machines/np, results/np"]);
    refused("langage", &["'langage'", "did you mean `language`?"]);
    refused("trouble", &["`operate/troubleshoot`"]);
    refused("xyzzy", &["`wireloom docs` lists the pages"]);
    refused("machines/np#x", &["no section 'x'", "offloads"]);
    refused("E9999", &["no diagnostic has the code 'E9999'"]);
    refused("language --html x", &["cannot be used with"]);
}

#[test]
fn the_documentation_is_written_as_html() {
    let place = Workplace::new();
    place.wireloom("docs --html pages").status(0).says(&["pages/index.html"]);
    let index = String::from_utf8(place.read("pages/index.html")).expect("text");
    assert!(index.contains("<a href=\"docs/tutorial.html\">tutorial</a>"), "{index}");
    assert!(index.contains("src=\"docs/images/overview.svg\""), "{index}");
    assert!(place.path("pages/docs/images/overview.svg").exists());
    // The folder belongs to the command: writing it again replaces its files, but not other files.
    place.wireloom("docs --html pages").status(0);
    place.write("mine", b"mine");
    place.wireloom("docs --html mine").status(2).complains(&["is not a folder"]);
    assert_eq!(place.read("mine"), b"mine");
}

#[test]
fn diagnostics_are_explained() {
    let place = Workplace::new();
    place.write("wrong.loom", b"engine e() { step s { packet.egress = prot; finish; } }\n");
    let line = "for more about it, run `wireloom docs E0201`";
    place.wireloom("check wrong.loom").status(1).complains(&["E0201", line]);
    place.wireloom("explain wrong.loom").status(1).complains(&[line]);
    // Nothing is suggested if the reader is a program.
    let json = place.wireloom("check wrong.loom --json -");
    json.status(1).json();
    assert!(!json.out.contains("for more") && !json.err.contains("for more"), "{}", json.err);
    let page = place.wireloom("docs E0201");
    page.status(0).says(&["E0201 unknown name", "Correct the spelling"]);
    assert_eq!(place.wireloom("check --explain e0201").status(0).out, page.out);
    place.wireloom("check --explain nothing").status(2).complains(&["no diagnostic", "'nothing'"]);
    place.wireloom("check --explain E0201 wrong.loom").status(2).complains(&["--explain"]);
    place.wireloom("check").status(2).complains(&["<FILE>"]);

    place.write("wrong.uc", b"immed[x, 0]\n");
    let line = "run `wireloom docs U0203`";
    place.wireloom("assemble wrong.uc -o wrong.uo").status(1).complains(&["U0203", line]);
    place.wireloom("docs U0203").status(0).says(&["U0203 unknown register"]);
}

#[test]
fn a_pager_shows_pages_on_a_terminal() {
    let place = Workplace::new();
    let script = format!("'{}' docs glossary", env!("CARGO_BIN_EXE_wireloom"));
    let shown = |pager: &str| {
        // `script` runs the command on a terminal.
        let mut command = Command::new("script");
        command.args(["--quiet", "--return", "--command", &script, "/dev/null"]);
        command.env("PAGER", pager).env("TERM", "xterm").current_dir(place.path(""));
        command.env_remove("NO_COLOR");
        command.output().ok().map(Ran::from)
    };
    let Some(ran) = shown("sed 's/^/paged: /'") else {
        eprintln!("=== SKIPPED: no `script` here ===");
        return;
    };
    ran.status(0).says(&["paged: \u{1b}[1mGlossary\u{1b}[0m"]);
    // The exit status is the pager's.
    shown("exit 3").expect("it is there").status(3);
}

#[test]
fn examples_run_anywhere() {
    let place = Workplace::new();
    let list = place.wireloom("example").status(0).out.clone();
    let names = list.lines().skip(2).filter_map(|line| line.split_whitespace().next());
    let names: Vec<&str> = names.collect();
    assert!(names.len() > 10 && names.contains(&"router"), "{list}");
    for name in names {
        let written = place.wireloom(&format!("example {name} -o here/{name}"));
        written.status(0).says(&[&format!("  cd here/{name}\n  wireloom ")]);
        let command = written.out.lines().nth(2).expect("a command").trim();
        // Other tests compile the engines. Golden suffices to show that the files are complete.
        let is_test = command.starts_with("wireloom test ");
        let output = Command::new(env!("CARGO_BIN_EXE_wireloom"))
            .args(command.split(' ').skip(1))
            .args(if is_test { &["--on", "golden"][..] } else { &[] })
            .current_dir(place.path(&format!("here/{name}")))
            .output();
        Ran::from(output.expect("the command starts")).status(0);
    }
    place.wireloom("example").status(0);
    place.wireloom("example rooter").status(2).complains(&["'rooter'", "`router`"]);
    place.wireloom("example -o x").status(2).complains(&["<NAME>"]);
    assert!(!place.path("rooter").exists());
    place.write("here/own", b"");
    place.wireloom("example nat -o here/own").status(2).complains(&["is not a folder"]);
}

#[test]
fn tables_in_the_help_are_those_of_their_programs() {
    let place = Workplace::new();
    place.wireloom("example all -o all").status(0);
    let mut loaded = std::collections::BTreeSet::new();
    for command in super::screens::subcommands(&place) {
        let help = place.wireloom(&format!("{command} --help"));
        for example in help.out.lines().filter(|line| line.starts_with("  wireloom ")) {
            let words: Vec<&str> = example.split_whitespace().collect();
            let after = |option: &'static str| {
                words.windows(2).filter(move |pair| pair[0] == option).map(|pair| pair[1])
            };
            let program = words.iter().find(|word| word.ends_with(".loom") && !word.contains('{'));
            let (Some(program), Some(tables)) = (program, after("--tables").next()) else {
                continue;
            };
            let sets: String = after("--set").map(|set| format!(" --set {set}")).collect();
            loaded.insert(format!("tables all/{program} --tables all/{tables}{sets}"));
        }
    }
    assert!(loaded.len() >= 3, "{loaded:?}");
    for words in loaded {
        place.wireloom(&words).status(0);
    }
}
