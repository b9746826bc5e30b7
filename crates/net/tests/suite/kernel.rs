//! Tests `import kernel`, in a separate network namespace.
//!
//! The tests need network namespaces: as root, or else in a user namespace. If neither is
//! available, they print a warning and check nothing.

#![cfg(target_os = "linux")]

use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use wireloom_net::tables::{Key, TableFile};

/// An environment variable that is set in the process inside the namespace.
const INSIDE: &str = "WIRELOOM_TEST_IN_NAMESPACE";

const NETWORK: &str = "\
link set lo up
link add v0 type veth peer name w0
link add v1 type veth peer name w1
link set v0 addrgenmode none up
link set v1 addrgenmode none up
link set w0 addrgenmode none up
link set w1 addrgenmode none up
address add 10.0.0.1/24 dev v0
address add 10.1.0.1/24 dev v1
address add 2001:db8::1/64 dev v0 nodad
route add 10.2.0.0/16 via 10.0.0.2
route add 10.2.0.0/16 via 10.1.0.2 metric 50
route add 10.3.0.0/16 nexthop via 10.0.0.2 weight 3 nexthop via 10.1.0.2
route add 10.4.0.0/16 via 10.0.0.2 tos 8
route add blackhole 10.2.1.0/24
route add unreachable 10.2.2.0/24
route add prohibit 10.2.3.0/24
route add throw 10.2.4.0/24
route add 10.5.0.0/16 via 10.1.0.2 table 100
route add 10.6.0.0/16 via 10.1.0.2 table 1000
route add 2001:db8:1::/48 via 2001:db8::2
route add unreachable 2001:db8:2::/48
route add blackhole 2001:db8:3::/48
";

/// Runs commands of `ip`, one per line.
fn ip(commands: &str) {
    let mut ip = Command::new("ip").args(["-batch", "-"]).stdin(Stdio::piped()).spawn();
    let ip = ip.as_mut().expect("ip runs");
    ip.stdin.take().expect("a pipe").write_all(commands.as_bytes()).expect("ip reads");
    assert!(ip.wait().expect("ip ends").success());
}

/// Runs a check in a separate process inside a new namespace with [`NETWORK`].
fn in_namespace(test: &str, check: impl Fn()) {
    if std::env::var_os(INSIDE).is_some() {
        ip(NETWORK);
        return check();
    }
    let unshare = |options: &[&str]| {
        let mut command = Command::new("unshare");
        command.args(options).arg("--net");
        command
    };
    let can = |options: &&&[&str]| {
        let tried = unshare(options).args(["ip", "link", "add", "v0", "type", "veth"]).output();
        tried.is_ok_and(|output| output.status.success())
    };
    let ways: [&[&str]; 2] = [&[], &["--user", "--map-root-user"]];
    let Some(options) = ways.iter().find(can) else {
        eprintln!("warning: there are no network namespaces here; nothing was checked");
        return;
    };
    let mut command = unshare(options);
    command.arg(std::env::current_exe().expect("this program"));
    let output = command
        .args(["--exact", &format!("kernel::{test}")])
        .env(INSIDE, "1")
        .output()
        .expect("unshare runs");
    let text = [output.stdout, output.stderr].concat();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&text));
}

/// Returns the entries of an import line, as `PREFIX VALUE VALUE ...`, or the error.
fn import(line: &str) -> Result<Vec<String>, String> {
    let text = format!("table r\nimport kernel {line}\n");
    let mut file = TableFile::from_text(Path::new("t"), text).map_err(|error| error.to_string())?;
    let mut entries = Vec::new();
    file.drain(&mut |entry| {
        let Key::Prefix { value, length } = entry.key else { return Err("no prefix".into()) };
        let values: Vec<_> = entry.fields.iter().map(|(_, value)| format!(" {value}")).collect();
        entries.push(format!("{value}/{length}{}", values.concat()));
        Ok(())
    })
    .map_err(|error| error.to_string())?;
    Ok(entries)
}

fn lines(entries: &[&str]) -> Result<Vec<String>, String> {
    Ok(entries.iter().map(|entry| (*entry).to_owned()).collect())
}

#[test]
fn routes_that_refuse_are_what_they_are() {
    in_namespace("routes_that_refuse_are_what_they_are", || {
        let kind = "kind=(type == blackhole ? 6 : type == throw ? 0 : type == unicast ? 1 : 5)";
        let devices = r#"devices="v0 v1""#;
        assert_eq!(
            import(&format!("{devices} {kind} port=(port) metric=(metric)")),
            lines(&[
                "10.0.0.0/24 1 0 0",
                "10.1.0.0/24 1 1 0",
                "10.2.0.0/16 1 0 0",
                "10.2.1.0/24 6 0 0",
                "10.2.2.0/24 5 0 0",
                "10.2.3.0/24 5 0 0",
                "10.2.4.0/24 0 0 0",
                "10.3.0.0/16 1 0 0",
                "2001:db8::/64 1 0 256",
                "2001:db8:1::/48 1 0 1024",
                "2001:db8:2::/48 5 0 1024",
                "2001:db8:3::/48 6 0 1024",
            ])
        );
        // An import that ignores the type would forward packets that the kernel refuses.
        let error = import("port=(port)").expect_err("a black hole");
        assert!(error.contains("the route `blackhole 10.2.1.0/24` does not forward"), "{error}");
        assert!(error.contains("(imported at t:2)"), "{error}");
        let unicast = import("family=6 types=unicast port=(port)");
        assert_eq!(unicast, lines(&["2001:db8::/64 0", "2001:db8:1::/48 0"]));
        let types = import(r#"types="prohibit throw" type=(type)"#);
        assert_eq!(types, lines(&["10.2.3.0/24 8", "10.2.4.0/24 9"]));
    });
}

#[test]
fn routes_with_several_next_hops_give_the_one_that_is_asked_for() {
    in_namespace("routes_with_several_next_hops_give_the_one_that_is_asked_for", || {
        let several = |options: &str| {
            let options = format!("family=4 types=unicast {options} port=(port) gateway=(gateway)");
            let entries = import(&format!("{options} paths=(paths)")).expect("routes");
            entries.into_iter().find(|entry| entry.starts_with("10.3.0.0/16 "))
        };
        let [first, second] = [0x0a00_0002, 0x0a01_0002];
        let expected = |port, gateway, paths| Some(format!("10.3.0.0/16 {port} {gateway} {paths}"));
        assert_eq!(several(r#"devices="v0 v1""#), expected(0, first, 2));
        assert_eq!(several(r#"devices="v0 v1" path=1"#), expected(1, second, 2));
        assert_eq!(several(r#"devices="v0 v1" path=2"#), expected(0, first, 2));
        assert_eq!(several("devices=v1"), expected(0, second, 1));
        assert_eq!(several("devices=lo"), None);
    });
}

#[test]
fn next_hop_objects_are_followed_whatever_the_kernel_says_of_them() {
    const OBJECTS: &str = "\
nexthop add id 1 via 10.0.0.2 dev v0
nexthop add id 2 via 10.1.0.2 dev v1
nexthop add id 3 group 1/2
nexthop add id 4 blackhole
nexthop add id 5 via 2001:db8::2 dev v0
route add 10.7.0.0/16 nhid 2 table 7
route add 10.8.0.0/16 nhid 3 table 7
route add 10.9.0.0/16 nhid 4 table 7
route add 2001:db8:7::/48 nhid 5 table 7
";
    in_namespace("next_hop_objects_are_followed_whatever_the_kernel_says_of_them", || {
        ip(OBJECTS);
        for mode in ["1", "0"] {
            let file = "/proc/sys/net/ipv4/nexthop_compat_mode";
            std::fs::write(file, mode).expect("a setting");
            let [first, second] = [0x0a00_0002, 0x0a01_0002];
            let fields =
                r#"devices="v0 v1" type=(type) port=(port) gateway=(gateway) paths=(paths)"#;
            assert_eq!(
                import(&format!("family=4 table=7 {fields}")),
                lines(&[
                    &format!("10.7.0.0/16 1 1 {second} 1"),
                    &format!("10.8.0.0/16 1 0 {first} 2"),
                    "10.9.0.0/16 6 0 0 0",
                ]),
                "mode {mode}"
            );
            let six = import("family=6 table=7 devices=v0 port=(port) paths=(paths)");
            assert_eq!(six, lines(&["2001:db8:7::/48 0 1"]), "mode {mode}");
        }
    });
}

#[test]
fn every_table_can_be_read() {
    in_namespace("every_table_can_be_read", || {
        assert_eq!(import("table=100 = 1"), lines(&["10.5.0.0/16 1"]));
        assert_eq!(import("table=1000 = 1"), lines(&["10.6.0.0/16 1"]));
        assert_eq!(import("table=default = 1"), lines(&[]));
        let local =
            r#"family=4 table=local devices=v0 own=(type == local) last=(type == broadcast)"#;
        assert_eq!(import(local), lines(&["10.0.0.1/32 1 0", "10.0.0.255/32 0 1"]));
        let error = import("table=lokal = 1").expect_err("no table");
        assert!(error.contains("`lokal` is no table; write `main`, `local`"), "{error}");
    });
}
