//! The command without its checkout: copied elsewhere, with another home, started in the root
//! folder.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::workplace::{Ran, Workplace, frame, pcap};

/// A copy of the command, an empty home, and files to work on.
struct Elsewhere {
    place: Workplace,
}

impl Elsewhere {
    fn new() -> Self {
        let place = Workplace::new();
        fs::create_dir_all(place.path("home")).expect("a folder");
        fs::create_dir_all(place.path("bin")).expect("a folder");
        // Another process writes the copy. Otherwise a child that another test forks meanwhile
        // would hold the copy open for writing, and it could not be executed.
        let copied =
            Command::new("cp").arg(env!("CARGO_BIN_EXE_wireloom")).arg(place.path("bin")).status();
        assert!(copied.is_ok_and(|status| status.success()), "a copy");
        Self { place }
    }

    fn home(&self) -> PathBuf {
        self.place.path("home")
    }

    /// Prepares the command in the root folder. In `words`, `@` stands for the folder of the files.
    fn command(&self, words: &str) -> Command {
        let folder = self.place.path("").display().to_string();
        let mut command = Command::new(self.place.path("bin/wireloom"));
        command.args(words.split_whitespace().map(|word| word.replace('@', &folder)));
        for (name, _) in std::env::vars_os() {
            let name = name.to_string_lossy().into_owned();
            if ["WIRELOOM_", "XDG_", "CARGO"].iter().any(|prefix| name.starts_with(prefix)) {
                command.env_remove(name);
            }
        }
        command.env("HOME", self.home()).current_dir("/");
        command
    }

    fn run(&self, words: &str) -> Ran {
        Ran::from(self.command(words).output().expect("the command starts"))
    }

    /// Runs a script in its own mount namespace, where the checkout is an empty folder; `$1` is the
    /// command and `$2` the folder of the files. Returns `None`, with a note, if namespaces are not
    /// allowed.
    fn without_checkout(&self, script: &str) -> Option<Ran> {
        const NAMESPACE: [&str; 4] = ["--user", "--map-root-user", "--mount", "sh"];
        let mount = Command::new("unshare")
            .args(NAMESPACE)
            .args(["-c", "mount -t tmpfs none /mnt"])
            .output();
        if !mount.is_ok_and(|output| output.status.success()) {
            eprintln!("=== SKIPPED: no mount namespaces here ===");
            return None;
        }
        let checkout = wireloom_install::checkout().expect("tests run in a checkout");
        let hidden = format!("mount -t tmpfs none '{}' && {script}", checkout.display());
        let command = self.command("");
        let mut outer = Command::new("unshare");
        outer
            .args(NAMESPACE)
            .args(["-c", &hidden, "sh"])
            .arg(command.get_program())
            .arg(self.place.path("."));
        for (name, value) in command.get_envs() {
            match value {
                Some(value) => outer.env(name, value),
                None => outer.env_remove(name),
            };
        }
        Some(Ran::from(outer.current_dir("/").output().expect("unshare starts")))
    }
}

#[test]
fn a_copied_command_works_in_any_folder_for_any_user() {
    let elsewhere = Elsewhere::new();
    elsewhere.run("machines").status(0).says(&["golden", "native", "mpsoc-oc48", "np-200mpps"]);
    elsewhere.run("machines mpsoc-oc48").status(0).says(&["processors = 16"]);
    let tables = "--tables @hub.tables --in @three.pcap";
    elsewhere.run(&format!("run @hub.loom --on golden {tables} --out @golden.pcapng")).status(0);
    elsewhere.run(&format!("verify @hub.loom --on native {tables}")).status(0);
    elsewhere.run(&format!("verify @hub.loom --on mpsoc {tables}")).status(0);
    // A trie from programs/accelerators, with the files that it includes.
    elsewhere.run("build wireloom:programs/ipv6.loom --on np-1-1-2 -o @np").status(0);
    assert!(elsewhere.place.path("np/rtl").is_dir());
    // Headers that come with the command.
    elsewhere.place.write(
        "own.loom",
        b"#include \"programs/include/ethernet.loom\"\nengine own() { Ethernet eth @ 0; step only { finish; } }\n",
    );
    elsewhere.run("check @own.loom").status(0);
    // The cache is private to the user, in the user's home.
    let cache = elsewhere.home().join(".cache/wireloom/mpsoc");
    assert_eq!(fs::metadata(&cache).expect("the cache").permissions().mode() & 0o777, 0o700);
    assert!(!Path::new("/.cache").exists());
}

#[test]
fn the_checkout_need_not_exist() {
    let elsewhere = Elsewhere::new();
    let script = "\"$1\" machines && \
        \"$1\" verify $2/hub.loom --on native,mpsoc --tables $2/hub.tables --in $2/three.pcap && \
        \"$1\" build wireloom:programs/virtual.loom --on np-1-1-2 -o $2/np && \
        \"$1\" docs E0201 && \"$1\" docs language && \"$1\" example url -o $2/url && \
        \"$1\" test $2/url/programs/tests/url.packets --on golden";
    if let Some(ran) = elsewhere.without_checkout(script) {
        ran.status(0).says(&["mpsoc-oc48", "E0201 unknown name", "Loom C\n", "passed"]);
        assert!(elsewhere.place.path("np/rtl").is_dir());
    }
}

#[test]
fn a_folder_of_the_user_comes_first() {
    let elsewhere = Elsewhere::new();
    let own = elsewhere.place.path("own/machines");
    fs::create_dir_all(&own).expect("a folder");
    fs::write(own.join("mine.toml"), "extends = \"mpsoc\"\nabout = \"one of mine\"\n")
        .expect("a file");
    let with = |words: &str| {
        let output =
            elsewhere.command(words).env("WIRELOOM_HOME", elsewhere.place.path("own")).output();
        Ran::from(output.expect("the command starts"))
    };
    with("machines").status(0).says(&["mine", "one of mine", "mpsoc-oc48"]);
    elsewhere.run("machines mine").status(2).complains(&["no machine is called 'mine'"]);
}

#[test]
fn a_cache_that_others_can_write_to_is_refused() {
    let elsewhere = Elsewhere::new();
    let verify = "verify @hub.loom --on mpsoc --tables @hub.tables --in @three.pcap";
    let cache = elsewhere.home().join(".cache/wireloom/mpsoc");
    fs::create_dir_all(&cache).expect("a folder");
    fs::set_permissions(&cache, fs::Permissions::from_mode(0o777)).expect("it is ours");
    elsewhere.run(verify).status(2).complains(&["not safe", "WIRELOOM_CACHE"]);
    let named =
        elsewhere.command(verify).env("WIRELOOM_CACHE", elsewhere.place.path("kept")).output();
    Ran::from(named.expect("the command starts")).status(0);
}

#[test]
fn the_c_compiler_may_have_arguments_and_the_temporary_folder_may_forbid_programs() {
    let elsewhere = Elsewhere::new();
    let verify = "verify @hub.loom --on native --tables @hub.tables --in @three.pcap";
    let with = |cc: &str| {
        Ran::from(elsewhere.command(verify).env("CC", cc).output().expect("the command starts"))
    };
    with("env WIRELOOM_UNUSED=1 cc").status(0);
    with(" ").status(0);
    with("no-such-compiler -m64").status(2).complains(&["no-such-compiler", "set CC"]);
    // Code is loaded from the cache if the temporary folder does not permit execution.
    let noexec = "mkdir -p $2/noexec && mount -t tmpfs -o noexec none $2/noexec && \
                  TMPDIR=$2/noexec \"$1\" verify $2/hub.loom --on native --tables $2/hub.tables --in $2/three.pcap";
    if let Some(ran) = elsewhere.without_checkout(noexec) {
        ran.status(0);
    }
}

#[test]
#[ignore = "takes long: make test-all"]
fn a_verilator_in_path_is_not_called() {
    let elsewhere = Elsewhere::new();
    let fake = elsewhere.place.path("fake");
    fs::create_dir(&fake).expect("a folder");
    let script =
        format!("#!/bin/sh\ntouch '{}'\nexit 1\n", elsewhere.place.path("called").display());
    fs::write(fake.join("verilator"), script).expect("a file");
    fs::set_permissions(fake.join("verilator"), fs::Permissions::from_mode(0o755))
        .expect("it is ours");
    let tools = wireloom_install::tools::folder().expect("tools are installed");
    let path = std::env::var("PATH").expect("a path");
    elsewhere.place.write("many.pcap", &pcap(&vec![frame(0x0800); 20]));
    let ran = elsewhere
        .command("verify @hub.loom --on np-1-1-1 --tables @hub.tables --in @many.pcap")
        .env("PATH", format!("{}:{path}", fake.display()))
        .env("WIRELOOM_TOOLS", &tools)
        .env("WIRELOOM_NP_OPTIMISE", "0")
        .output();
    Ran::from(ran.expect("the command starts")).status(0);
    assert!(!elsewhere.place.path("called").exists(), "the verilator of PATH was called");

    // A tool that is too old is refused with both versions in the message, whatever its origin.
    fs::write(fake.join("verilator"), "#!/bin/sh\necho 'Verilator 5.006 2023-01-22'\n")
        .expect("a file");
    let old = elsewhere
        .command("verify @hub.loom --on np-1-1-1 --tables @hub.tables --in @many.pcap")
        .env("WIRELOOM_TOOLS", &fake)
        .output();
    Ran::from(old.expect("the command starts"))
        .status(2)
        .complains(&["Verilator 5.48.0 or newer", "5.006"]);
}
