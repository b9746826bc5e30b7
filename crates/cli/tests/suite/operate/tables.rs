//! `wireloom ctl tables`: entries that are listed, shown, changed and watched while packets flow.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::time::Instant;

use super::*;
use crate::wire::{self, Wire};

impl Operated {
    /// Runs `wireloom ctl tables`, which must succeed, and returns its output.
    fn tables(&self, words: &str) -> String {
        let args: Vec<&str> = ["tables"].into_iter().chain(words.split(' ')).collect();
        let output = self.ctl(&args);
        assert!(output.status.success(), "{words}: {}", text(&output.stderr));
        text(&output.stdout)
    }

    /// Runs `wireloom ctl tables`, which must be refused, and returns its messages.
    fn refused(&self, words: &str) -> String {
        let args: Vec<&str> = ["tables"].into_iter().chain(words.split(' ')).collect();
        let output = self.ctl(&args);
        assert_eq!(output.status.code(), Some(2), "{words}: {}", text(&output.stdout));
        text(&output.stderr)
    }

    /// Returns the description of an offload.
    fn described(&self, path: &str) -> Value {
        let all = self.asked(&["tables", "list"]);
        let found = all.as_array().expect("a list").iter().find(|table| table["table"] == path);
        found.unwrap_or_else(|| panic!("{path}: {all}")).clone()
    }
}

#[test]
fn entries_are_listed_shown_changed_and_watched() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    fs::write(folder.path().join("a.tables"), "table labels\n16 next_hop=1\n").expect("a file");
    let config = format!("{CONFIG}tables = [\"DIR/a.tables\"]\n");
    let Some(operated) = Operated::start_in(folder, &config, &[], &[]) else { return };
    operated.forwards();

    let labels = operated.described("labels");
    // Nobody counts the elements of an array.
    assert_eq!((&labels["writer"], &labels["entries"]), (&"control".into(), &Value::Null));
    let routes = operated.described("destinations4");
    assert_eq!((&routes["kind"], &routes["writer"]), (&"lpm".into(), &"kernel".into()));
    assert_eq!(routes["key"][0]["bits"], 32);
    assert!(routes["entries"].as_u64() > Some(0), "{routes}");
    assert_eq!(operated.described("flows")["changed_by_packets"], true);
    let list = operated.tables("list");
    assert!(list.lines().any(|line| line.contains("labels") && line.contains("control plane")));

    let shown = || operated.tables("show labels");
    let first = shown();
    assert!(first.starts_with("table labels\n16 ") && first.contains("next_hop=1"), "{first}");
    assert!(operated.tables("insert labels 17 next_hop=2").starts_with("1 entry changed; "));
    assert!(
        operated.refused("insert labels 17 next_hop=3").contains("an entry with this key already")
    );
    assert!(operated.tables("show labels 17").contains("next_hop=2"));
    operated.tables("replace labels 17 next_hop=3");
    assert!(operated.tables("show labels 17").contains("next_hop=3"));
    operated.tables("delete labels 17");
    assert!(operated.refused("delete labels 17").contains("no entry with this key"));
    assert!(operated.refused("show labels 17").contains("1 of 1 keys have no entry"));
    assert_eq!(shown(), first);

    // A transaction in which one change is refused changes nothing.
    let file = operated.path("changes.txt").display().to_string();
    let transaction = format!("change --file {file}");
    let lines = "# labels\ninsert labels 20 next_hop=4\nreplace labels 16 next_hop=9\n\n";
    for (wrong, why) in [
        ("delete labels 21", "there is no entry with this key"),
        ("insert labels 20 next_hop=5", "there is an entry with this key already"),
        ("insert lables 22 next_hop=5", "did you mean `labels`?"),
        ("insert labels 22 hop=5", "`labels`: there is no field `hop`"),
        ("insert labels 10.0.0.0/8 next_hop=5", "`labels`: "),
        ("insert destinations4 10.0.0.0/8 next_hop=5", "`destinations4` follows the kernel"),
    ] {
        fs::write(&file, format!("{lines}{wrong}\n")).expect("a file");
        let err = operated.refused(&transaction);
        assert!(err.contains("changes.txt:5: nothing was changed: ") && err.contains(why), "{err}");
        assert_eq!(shown(), first, "{wrong}");
    }
    fs::write(&file, format!("{lines}delete labels 20\n")).expect("a file");
    assert!(operated.tables(&transaction).starts_with("3 entries changed"));
    assert_eq!(shown(), first.replace("next_hop=1", "next_hop=9"));

    // A line that is shown is a line that can be written.
    let line = shown().lines().nth(1).expect("an entry").to_owned();
    operated.tables("delete labels 16");
    let socket = operated.path("control").display().to_string();
    let args = ["ctl", "--control", &socket, "tables", "insert", "labels", &line];
    assert!(wireloom(&args).output().expect("the command").status.success(), "{line}");

    // The kernel's routes are shown while the kernel changes them.
    operated.network.router.ip("route add 198.51.100.0/24 via 10.0.2.2\n");
    until("the route is shown", || {
        operated
            .ctl(&["tables", "show", "destinations4", "198.51.100.0/24"])
            .status
            .success()
            .then_some(())
    });
    let two = operated.asked(&["tables", "show", "destinations4", "--rows", "2"]);
    assert_eq!(two.as_array().map(Vec::len), Some(2), "{two}");

    let args = [
        "ctl",
        "--control",
        &socket,
        "tables",
        "watch",
        "labels",
        "--interval",
        "50ms",
        "--count",
        "4000",
    ];
    let mut watch = wireloom(&args).spawn().expect("the command");
    let mut seen = BufReader::new(watch.stdout.take().expect("a pipe")).lines();
    let is_seen = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for hop in 10.. {
                if is_seen.load(Ordering::Relaxed) {
                    break;
                }
                operated.tables(&format!("replace labels 16 next_hop={hop}"));
            }
        });
        let pair = [0, 1].map(|_| seen.next().expect("a line").expect("text"));
        is_seen.store(true, Ordering::Relaxed);
        assert!(pair[0].contains(" - 16 ") && pair[1].contains(" + 16 "), "{pair:?}");
    });
    watch.kill().expect("a running command");
    watch.wait().expect("an end");
    operated.reaches_the_right();
}

#[test]
fn what_clients_send_about_tables_harms_nothing() {
    let Some(operated) = Operated::start(CONFIG, &[]) else { return };
    let ask = |bytes: &[u8]| {
        let mut stream = UnixStream::connect(operated.path("control")).expect("a socket");
        let _ = stream.write_all(bytes);
        let mut line = String::new();
        let _ = BufReader::new(stream).read_line(&mut line);
        line
    };
    let request = |rest: &str| ask(format!("{{\"do\":{rest}}}\n").as_bytes());
    let insert = |table: &str, entry: &str| {
        request(&format!(
            "\"change\",\"changes\":[{{\"do\":\"insert\",\"table\":\"{table}\",\"entry\":\"{entry}\"}}]"
        ))
    };
    for (answer, why) in [
        (request("\"rows\",\"table\":\"nothing\""), "there is no offload `nothing`"),
        (request("\"rows\",\"table\":\"\""), "there is no offload ``"),
        (request("\"rows\",\"table\":\"labels\",\"keys\":[\"x y\"]"), "`labels`: "),
        (
            request("\"rows\",\"table\":\"destinations4\",\"keys\":[\"10.0.0.0/33\"]"),
            "longer than the key",
        ),
        (request("\"rows\",\"table\":\"destinations4\",\"keys\":[\"::/0\"]"), "`destinations4`: "),
        (request("\"rows\",\"table\":\"next_hops\",\"keys\":[\"99999999\"]"), "out of range"),
        (request("\"rows\""), "no request: "),
        (request("\"change\",\"changes\":7"), "no request: "),
        (insert("labels", ""), "`labels`: "),
        (insert("labels", "\\u0000 = \\u0000"), "`labels`: "),
        (insert("labels", &"9".repeat(5000)), "`labels`: "),
        (insert(&"x".repeat(5000), "1 = 1"), "there is no offload"),
        (ask(&vec![b'{'; 2 << 20]), "more than 1048576 bytes"),
    ] {
        assert!(answer.contains(why), "{why}: {answer}");
    }
    let one = "{\"do\":\"delete\",\"table\":\"labels\",\"key\":\"1\"},".repeat(10_001);
    let many = request(&format!("\"change\",\"changes\":[{}]", one.trim_end_matches(',')));
    assert!(many.contains("10000"), "{many}");
    assert!(request("\"rows\",\"table\":\"labels\",\"most\":0").contains("\"end\":\"limit\""));
    operated.reaches_the_right();
    assert!(operated.asked(&["status"])["seconds"].is_number());
}

/// Returns a TCP segment of a client to the service of the balancer, from this port.
fn request(source_port: u16) -> Vec<u8> {
    let mut frame = vec![2, 0, 0, 0, 1, 1, 2, 0, 0, 0, 1, 2, 8, 0];
    let mut ip = vec![0x45, 0, 0, 40, 0, 0, 0, 0, 64, 6, 0, 0, 10, 0, 1, 2, 203, 0, 113, 80];
    let sum = wireloom_net::wire::checksum::checksum(&ip);
    ip[10..12].copy_from_slice(&sum.to_be_bytes());
    frame.extend(ip);
    frame.extend(source_port.to_be_bytes());
    frame.extend([0, 80, 0, 0, 0, 1, 0, 0, 0, 0, 0x50, 2, 16, 0, 0, 0, 0, 0]);
    frame
}

/// Opens a flow from each of these ports. Returns the last bytes of their servers' addresses.
fn servers(network: &Network, ports: std::ops::Range<u16>) -> BTreeSet<u8> {
    network.right.run(|| {
        let at_right = Wire::open().expect("a packet socket");
        network.left.run(|| {
            let wire = Wire::open().expect("a packet socket");
            let ha = wire::interface_index("ha").expect("an interface");
            ports.clone().for_each(|port| wire.send(ha, &request(port)).expect("sent"));
        });
        let deadline = Instant::now() + patience();
        let mut left: BTreeSet<u16> = ports.collect();
        let mut found = BTreeSet::new();
        while !left.is_empty() {
            let bytes =
                at_right.receive(deadline).expect("frames").expect("a frame for each flow").bytes;
            if bytes.len() >= 54 && bytes[12..14] == [8, 0] && bytes[23] == 6 {
                assert_eq!(bytes[5], bytes[33], "the addresses of one server");
                found.insert(bytes[33]);
                left.remove(&u16::from_be_bytes([bytes[34], bytes[35]]));
            }
        }
        found
    })
}

#[test]
fn a_dead_server_leaves_the_load_balancer_of_the_page() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let place = folder.path().join("lb").display().to_string();
    let made = wireloom(&["new", &place, "--template", "balancer"]).output().expect("the command");
    assert!(made.status.success(), "{}", text(&made.stderr));
    let config = CONFIG.replace("programs/router.loom", "DIR/lb/lb.loom");
    let config = format!("{config}tables = [\"DIR/lb/lb.tables\"]\n");
    let Some(operated) = Operated::start_in(folder, &config, &[], &[]) else { return };
    assert_eq!(servers(&operated.network, 1000..1064), BTreeSet::from([1, 2, 3]));

    // A full table refuses a whole transaction.
    let mut inserts = String::new();
    for number in 0..64 {
        writeln!(inserts, "insert services address=203.0.113.81 protocol=6 port={number} -> = 1")
            .expect("text");
    }
    fs::write(operated.path("many.txt"), inserts).expect("a file");
    let many = format!("change --file {}", operated.path("many.txt").display());
    let err = operated.refused(&many);
    assert!(err.contains("many.txt:64:") && err.contains("`services`: the table is full"), "{err}");
    assert_eq!(operated.described("services")["entries"], 1);

    // The page shows the servers as the command does.
    let blocks_of = |words| blocks("tables.md", words);
    assert_eq!(operated.tables("show servers"), blocks_of("text")[0]);
    fs::write(operated.path("moved.txt"), &blocks_of("text")[1]).expect("a file");
    let mut tried = 0;
    let mut from = 2000;
    for line in blocks_of("sh setup").concat().lines() {
        let script =
            line.replacen("wireloom", env!("CARGO_BIN_EXE_wireloom"), 1) + " --control control";
        let output = Command::new("sh")
            .args(["-c", &script])
            .current_dir(operated.folder.path())
            .output()
            .expect("sh");
        assert!(output.status.success(), "{script}: {}", text(&output.stderr));
        tried += 1;
        if line.contains("replace servers 3") || line.contains("moved.txt") {
            assert_eq!(
                servers(&operated.network, from..from + 64),
                BTreeSet::from([1, 2]),
                "{line}"
            );
            from += 64;
        }
    }
    assert_eq!((tried, from), (6, 2128));
    let flows = operated.tables("show flows --rows 1");
    assert!(
        flows.contains(" -> ") && flows.contains("# age ") && flows.contains("ends in "),
        "{flows}"
    );
    let counted = operated.tables("show started");
    assert!(counted.contains("packets="), "{counted}");
}

/// Remembers senders, and passes packets on to the port that a table has for theirs.
const PAIRS: &str = "\
#include \"programs/include/ethernet.loom\"

enum Reason : u8 { TOO_SHORT, NO_WAY };
struct Seen { u32 packets; };

engine pairs() {
    offload ways : exact<u16, u16, size = 4>;
    offload seen : exact<u48, Seen, size = 64, age = 60000000000>;

    Ethernet eth @ 0;

    step pass {
        if (packet.length < sizeof(Ethernet)) drop(TOO_SHORT);
        seen.accumulate(eth.src, { 1 });
        auto way = ways.lookup(packet.ingress);
        if (!way.found) drop(NO_WAY);
        packet.egress = way.value;
        finish;
    }
}
";

#[test]
fn entries_change_and_have_ages_in_software_and_in_the_kernel() {
    let mut ios = vec![&[][..]];
    if Path::new("/usr/sbin/ethtool").exists() {
        ios.push(&["--io", "kernel"]);
    } else {
        eprintln!("warning: nothing was tested with --io kernel: ethtool is missing");
    }
    for io in ios {
        let folder = tempfile::tempdir().expect("a temporary folder");
        fs::write(folder.path().join("pairs.loom"), PAIRS).expect("a file");
        fs::write(folder.path().join("pairs.tables"), "table ways\n0 = 1\n1 = 0\n")
            .expect("a file");
        let config = CONFIG.replace("programs/router.loom", "DIR/pairs.loom");
        let config = format!("{config}tables = [\"DIR/pairs.tables\"]\n");
        let Some(operated) = Operated::start_after(folder, &config, io, &[], one_network) else {
            return;
        };
        let reply = (address("10.9.0.9"), REPLY4, 0);
        operated.reaches("10.9.0.9", 64, reply);
        assert_eq!(operated.tables("show ways"), "table ways\n0 = 1\n1 = 0\n");
        let seen = operated.asked(&["tables", "show", "seen"]);
        let seen = seen.as_array().expect("rows");
        assert!(seen.len() >= 2, "{seen:?}");
        for row in seen {
            // The senders were first seen in this test.
            let times = ["age_ns", "left_ns"].map(|name| row[name].as_u64().expect("a time"));
            assert!(times[0] < 60_000_000_000 && times[1] > 0, "{io:?}: {row}");
            assert_eq!(times[0] + times[1], 60_000_000_000, "{row}");
        }
        // One change of the transaction is refused: packets go on as before.
        let file = operated.path("changes.txt").display().to_string();
        fs::write(&file, "delete ways 0\ninsert ways 1 = 0\n").expect("a file");
        assert!(operated.refused(&format!("change --file {file}")).contains("changes.txt:2: "));
        operated.reaches("10.9.0.9", 64, reply);
        operated.tables("delete ways 0");
        let is_reached = || {
            operated.network.left.run(|| {
                let mut echo = Echo::open(address("10.9.0.9"), 64);
                echo.send();
                echo.receive(TRY).is_some()
            })
        };
        assert!(!is_reached(), "{io:?}");
        operated.tables("insert ways 0 = 1");
        operated.reaches("10.9.0.9", 64, reply);
        assert_eq!(operated.described("ways")["entries"], 2);
    }
}

/// Puts both hosts into one network, between which the kernel does not forward.
fn one_network(network: &Network) {
    for name in ["ipv4/ip_forward", "ipv6/conf/all/forwarding"] {
        network.router.set(name, "0");
    }
    network.left.ip("address add 10.9.0.5/24 dev ha\n");
    network.right.ip("address add 10.9.0.9/24 dev hb\n");
}

/// Passes all packets on to the other port, and looks up each in a large table.
const WIDE: &str = "\
#include \"programs/include/ethernet.loom\"
#include \"programs/include/ipv4.loom\"

enum Reason : u8 { TOO_SHORT, REFUSED };

engine wide() {
    offload routes : lpm<u32, u16>;

    Ipv4 ip @ sizeof(Ethernet);

    step pass {
        if (packet.length < sizeof(Ethernet) + sizeof(Ipv4)) drop(TOO_SHORT);
        if (routes.search(ip.dst) == 65535) drop(REFUSED);
        packet.egress = packet.ingress == 0 ? (u16)1 : (u16)0;
        finish;
    }
}
";

/// The number of IPv4 prefixes of the Internet in 2015.
const ROUTES: u32 = 606_138;

#[test]
fn a_large_table_is_shown_while_packets_flow_and_none_is_lost() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    fs::write(folder.path().join("wide.loom"), WIDE).expect("a file");
    let mut tables = String::from("table routes\n");
    for number in 0..ROUTES {
        let address = std::net::Ipv4Addr::from_bits((1 << 24) + number * 256);
        writeln!(tables, "{address}/24 = {}", number % 60_000).expect("text");
    }
    fs::write(folder.path().join("wide.tables"), tables).expect("a file");
    let config = CONFIG.replace("programs/router.loom", "DIR/wide.loom");
    let config = format!("{config}tables = [\"DIR/wide.tables\"]\n");
    let Some(operated) = Operated::start_after(folder, &config, &[], &[], one_network) else {
        return;
    };
    operated.reaches("10.9.0.9", 64, (address("10.9.0.9"), REPLY4, 0));

    let is_over = AtomicBool::new(false);
    let (shown, sent) = std::thread::scope(|scope| {
        let sending = scope.spawn(|| operated.answered("10.9.0.9", &is_over));
        // Routes change meanwhile: 200.0.0.0/24 is none of the others.
        let changing = scope.spawn(|| {
            let mut changes = 0;
            while !is_over.load(Ordering::Relaxed) {
                operated.tables("insert routes 200.0.0.0/24 = 7");
                operated.tables("delete routes 200.0.0.0/24");
                changes += 1;
            }
            changes
        });
        let shown = operated.tables("show routes --all");
        is_over.store(true, Ordering::Relaxed);
        assert!(changing.join().expect("changes") > 0);
        (shown, sending.join().expect("no packet is lost"))
    });
    assert!(sent > 10, "{sent}");
    let lines: Vec<&str> = shown.lines().skip(1).filter(|line| !line.starts_with("200.")).collect();
    assert_eq!(lines.len(), ROUTES as usize);
    assert_eq!(lines.iter().collect::<BTreeSet<_>>().len(), ROUTES as usize);
    let status = operated.asked(&["status"]);
    assert_eq!(status["ports"][0]["lost_at_input"], 0, "{status}");
}
