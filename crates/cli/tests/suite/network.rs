//! A router with a host on each of its two ports, each in its own network namespace.
//!
//! ```text
//! left: ha 10.0.1.2 ── r1 10.0.1.1 :router: 10.0.2.1 r2 ── hb 10.0.2.2 :right
//!          2001:db8:1::2  2001:db8:1::1        2001:db8:2::1  2001:db8:2::2
//! ```

use std::fs::{self, File};
use std::io::{self, Write};
use std::os::fd::AsRawFd;
use std::process::{Command, Stdio};
use std::thread;

/// A network namespace, which disappears with this value and the processes in it.
pub struct Namespace(File);

pub struct Network {
    pub left: Namespace,
    pub router: Namespace,
    pub right: Namespace,
}

impl Namespace {
    fn new() -> io::Result<Self> {
        let made = thread::spawn(|| {
            // SAFETY: changes the namespace of this thread only.
            if unsafe { libc::unshare(libc::CLONE_NEWNET) } < 0 {
                return Err(io::Error::last_os_error());
            }
            File::open("/proc/thread-self/ns/net").map(Self)
        });
        made.join().expect("a thread that does not panic")
    }

    /// Runs a function in a thread inside the namespace.
    pub fn run<T: Send>(&self, work: impl FnOnce() -> T + Send) -> T {
        let inside = || {
            // SAFETY: the descriptor is open; changes the namespace of this thread only.
            let entered = unsafe { libc::setns(self.0.as_raw_fd(), libc::CLONE_NEWNET) };
            assert_eq!(entered, 0, "{}", io::Error::last_os_error());
            work()
        };
        thread::scope(|scope| match scope.spawn(inside).join() {
            Ok(result) => result,
            Err(panic) => std::panic::resume_unwind(panic),
        })
    }

    /// Runs commands of `ip` inside, one per line.
    pub fn ip(&self, commands: &str) {
        let output = self.run(|| {
            let mut child = Command::new("ip")
                .args(["-batch", "-"])
                .stdin(Stdio::piped())
                .stderr(Stdio::piped())
                .spawn()
                .expect("ip");
            child.stdin.take().expect("a pipe").write_all(commands.as_bytes()).expect("a pipe");
            child.wait_with_output().expect("ip")
        });
        assert!(output.status.success(), "{commands}{}", String::from_utf8_lossy(&output.stderr));
    }

    /// Makes a virtual Ethernet device poll for received frames, as drivers of cards do.
    pub fn poll(&self, interface: &str) {
        let set = || Command::new("ethtool").args(["-K", interface, "gro", "on"]).status();
        let set = self.run(set).expect("ethtool, which `make test` installs");
        assert!(set.success(), "ethtool -K {interface} gro on");
    }

    /// Runs commands of `ip` inside, one per line. Commands that the kernel refuses are skipped.
    pub fn ip_force(&self, commands: &str) {
        self.run(|| {
            let mut child = Command::new("ip")
                .args(["-force", "-batch", "-"])
                .stdin(Stdio::piped())
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .spawn()
                .expect("ip");
            child.stdin.take().expect("a pipe").write_all(commands.as_bytes()).expect("a pipe");
            child.wait().expect("ip");
        });
    }

    /// Returns the route of an address in the kernel's table; empty if there is none.
    pub fn ip_route_get(&self, address: &str) -> String {
        self.ip_show(&["route", "get", address])
    }

    /// Returns the output of a command of `ip` inside.
    pub fn ip_show(&self, words: &[&str]) -> String {
        let output = self.run(|| Command::new("ip").args(words).output());
        String::from_utf8(output.expect("ip").stdout).expect("text")
    }

    /// Lists the interfaces inside, with flags, MTUs and addresses.
    pub fn interfaces(&self) -> String {
        let list = |what| {
            let output = Command::new("ip").args(["-d", "-o", what]).output().expect("ip");
            String::from_utf8(output.stdout).expect("text")
        };
        self.run(|| list("link") + &list("address"))
    }

    /// The number of packets that the kernel has forwarded inside, IPv4 and IPv6 together.
    pub fn forwarded(&self) -> u64 {
        let number = |file: &str, name: &str| {
            let text = fs::read_to_string(format!("/proc/thread-self/net/{file}")).expect(file);
            let rows: Vec<Vec<&str>> =
                text.lines().map(|line| line.split_whitespace().collect()).collect();
            // snmp6 has a name and a number per row, snmp a row of names above a row of numbers.
            let by_row = rows.iter().find(|row| row[0] == name).map(|row| row[1]);
            let by_column = || {
                let at = rows[0].iter().position(|head| *head == name)?;
                Some(rows[1][at])
            };
            let number = by_row.or_else(by_column).expect(name);
            number.parse::<u64>().expect("a number")
        };
        self.run(|| number("snmp", "ForwDatagrams") + number("snmp6", "Ip6OutForwDatagrams"))
    }

    /// Sets a value below `/proc/sys/net` inside.
    pub fn set(&self, name: &str, value: &str) {
        self.run(|| fs::write(format!("/proc/sys/net/{name}"), value).expect(name));
    }

    fn path(&self) -> String {
        format!("/proc/{}/fd/{}", std::process::id(), self.0.as_raw_fd())
    }
}

impl Network {
    /// Adds a second path from the router to the right host.
    ///
    /// ```text
    /// router: 10.0.3.1 r3 ── hc 10.0.3.2 :right
    /// ```
    pub fn add_third(&self) {
        self.router.ip(&format!(
            "link add r3 address 02:00:00:00:03:01 type veth peer name hc address 02:00:00:00:03:02 netns {}\n\
             link set r3 up\n\
             address add 10.0.3.1/24 dev r3\n",
            self.right.path()
        ));
        self.right.ip("link set hc up\n\
             address add 10.0.3.2/24 dev hc\n\
             route add default via 10.0.3.1 metric 100\n");
        // Replies take the path that is up.
        self.right.set("ipv4/conf/all/ignore_routes_with_linkdown", "1");
        self.right.set("ipv4/conf/hb/ignore_routes_with_linkdown", "1");
    }

    /// Builds the network.
    ///
    /// # Errors
    /// Without the privilege to create namespaces.
    pub fn new() -> io::Result<Self> {
        let network =
            Self { left: Namespace::new()?, router: Namespace::new()?, right: Namespace::new()? };
        let (left, router, right) = (&network.left, &network.router, &network.right);
        for (name, value) in [
            ("ipv4/ip_forward", "1"),
            ("ipv6/conf/all/forwarding", "1"),
            ("ipv4/icmp_ratelimit", "0"),
            ("ipv6/icmp/ratelimit", "0"),
        ] {
            router.set(name, value);
        }
        for namespace in [left, router, right] {
            namespace.set("ipv6/conf/default/accept_dad", "0");
        }
        router.ip(&format!(
            "link set lo up\n\
             link add r1 address 02:00:00:00:01:01 type veth peer name ha address 02:00:00:00:01:02 netns {}\n\
             link add r2 address 02:00:00:00:02:01 type veth peer name hb address 02:00:00:00:02:02 netns {}\n\
             link set r1 up\n\
             link set r2 up\n\
             address add 10.0.1.1/24 dev r1\n\
             address add 10.0.2.1/24 dev r2\n\
             address add 2001:db8:1::1/64 dev r1 nodad\n\
             address add 2001:db8:2::1/64 dev r2 nodad\n",
            left.path(),
            right.path()
        ));
        for (host, device, net) in [(left, "ha", 1), (right, "hb", 2)] {
            host.ip(&format!(
                "link set lo up\n\
                 link set {device} up\n\
                 address add 10.0.{net}.2/24 dev {device}\n\
                 address add 2001:db8:{net}::2/64 dev {device} nodad\n\
                 route add default via 10.0.{net}.1\n\
                 route add default via 2001:db8:{net}::1\n"
            ));
        }
        Ok(network)
    }
}
