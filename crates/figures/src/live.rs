//! Live forwarding between two veth devices against the kernel's own and against an XDP program
//! that uses the kernel's tables, in network namespaces.
//!
//! ```text
//!   generator: a0 ── r1 :router: r2 ── b0 :sink
//! ```
//!
//! An XDP program makes the frames on one core. Everything that the router does, the kernel's part
//! included, runs on another: the receive path of `r1` is a kernel thread there. The sink counts
//! frames and throws them away. bench/live has the programs.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use super::Settings;
use wireloom_console::output;
use wireloom_machine::{Error, Result};

/// How packets are forwarded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// `wireloom forward`, through AF_XDP.
    Ours,
    /// The kernel.
    Kernel,
    /// An XDP program with the kernel's FIB helper.
    Xdp,
}

/// Time that a rate is measured for, after some time to warm up.
const MEASURED: Duration = Duration::from_secs(1);
const WARM: Duration = Duration::from_millis(300);
/// Probes of a measurement of latency.
const PROBES: u32 = 2000;
/// The cores of the generator and of the router.
const CORES: [usize; 2] = [0, 1];

/// The rates of ours and of another way, taken in turns, as multiples of the other's.
///
/// # Errors
/// If the rig cannot be built here.
pub fn rate(settings: &Settings, peer: Way) -> Result<Vec<f64>> {
    let rig = Rig::build(settings)?;
    let (mut ratios, mut ours, mut theirs) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..settings.runs {
        let (one, other) = (rig.rate(Way::Ours)?, rig.rate(peer)?);
        ratios.push(one / other);
        ours.push(one);
        theirs.push(other);
    }
    output::note(format!(
        "ours {:.3} Mpps, {peer:?} {:.3} Mpps (medians of {})",
        median(&mut ours),
        median(&mut theirs),
        settings.runs
    ));
    Ok(ratios)
}

/// The 99th percentile of latency at half of the rate that the slower way reaches, as a multiple of
/// the kernel's.
///
/// # Errors
/// As [`rate`].
pub fn latency(settings: &Settings) -> Result<Vec<f64>> {
    let rig = Rig::build(settings)?;
    let half = rig.rate(Way::Ours)?.min(rig.rate(Way::Kernel)?) / 2.0;
    let (mut ratios, mut ours, mut theirs) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..settings.runs {
        let (one, other) = (rig.latency(Way::Ours, half)?, rig.latency(Way::Kernel, half)?);
        ratios.push(one.1 / other.1);
        ours.push(one);
        theirs.push(other);
    }
    let words = |samples: &mut Vec<(f64, f64)>| {
        let (mut middle, mut tail): (Vec<_>, Vec<_>) = samples.iter().copied().unzip();
        format!("median {:.1} us, 99 % {:.1} us", median(&mut middle), median(&mut tail))
    };
    output::note(format!(
        "at {half:.3} Mpps: ours {}; kernel {}",
        words(&mut ours),
        words(&mut theirs)
    ));
    Ok(ratios)
}

fn median(samples: &mut [f64]) -> f64 {
    samples.sort_by(f64::total_cmp);
    samples[samples.len() / 2]
}

/// The programs and the namespaces. They disappear with it.
struct Rig {
    folder: wireloom_files::TemporaryFolder,
    root: PathBuf,
    /// The prefix of the namespaces' names.
    name: String,
}

impl Rig {
    /// Builds the programs and the network.
    fn build(settings: &Settings) -> Result<Self> {
        let sources = settings.file("bench/live")?;
        let cores = thread::available_parallelism().map_or(1, |cores| cores.get());
        if cores < CORES.len() {
            return Err(Error::missing_tool("live forwarding is measured on two cores or more"));
        }
        let folder = wireloom_files::TemporaryFolder::new()
            .map_err(|error| Error::new(format!("a temporary folder: {error}")))?;
        let help = "'make bench' installs the Debian packages gcc-bpf and libbpf-dev";
        let build = |compiler: &str, source: &str, target: &str, flags: &[&str]| {
            let mut command = Command::new(compiler);
            command.arg("-O2").arg(sources.join(source)).arg("-o").arg(folder.path().join(target));
            run(command.args(flags)).map_err(|error| match () {
                () if which(compiler) && Path::new("/usr/include/bpf/bpf.h").exists() => error,
                () => Error::missing_tool(format!("'{compiler}' or libbpf is missing"))
                    .with_help(help),
            })
        };
        let flags = ["-gbtf", "-mcpu=v3", "-I/usr/include", "-c"];
        let machine = format!("-I/usr/include/{}-linux-gnu", std::env::consts::ARCH);
        let flags = [&flags[..], &[machine.as_str()]].concat();
        build("bpf-gcc", "programs.bpf.c", "programs.o", &flags)?;
        build("cc", "rig.c", "rig", &["-lbpf"])?;
        let name = format!("wireloom-bench-{}", std::process::id());
        let rig = Self { folder, root: settings.root.clone(), name };
        rig.make_network()?;
        Ok(rig)
    }

    fn make_network(&self) -> Result {
        let [generator, router, sink] = ["generator", "router", "sink"].map(|end| self.space(end));
        for space in [&generator, &router, &sink] {
            run(Command::new("ip").args(["netns", "add", space])).map_err(|error| {
                Error::missing_tool(format!("network namespaces: {error}"))
                    .with_help("run it as root")
            })?;
        }
        let ip = |space: &str, words: &str| {
            run(Command::new("ip").args(["-n", space]).args(words.split(' ')))
        };
        let veth = |ours: &str, mac: &str, theirs: &str, other: &str, space: &str| {
            let words = format!(
                "link add {ours} address {mac}:01 type veth peer name {theirs} address {mac}:02 netns {space}"
            );
            ip(&router, &words)?;
            ip(&router, &format!("link set {ours} up"))?;
            ip(&router, &format!("address add {other}.1/24 dev {ours}"))?;
            ip(space, &format!("link set {theirs} up"))?;
            ip(space, &format!("address add {other}.2/24 dev {theirs}"))?;
            ip(
                &router,
                &format!("neighbour add {other}.2 lladdr {mac}:02 dev {ours} nud permanent"),
            )
        };
        veth("r1", "02:00:00:00:77", "a0", "10.77.1", &generator)?;
        veth("r2", "02:00:00:00:78", "b0", "10.77.2", &sink)?;
        let settings =
            "echo 1 > /proc/sys/net/ipv4/ip_forward; echo 1 > /sys/class/net/r1/threaded";
        run(self.inside("router").args(["sh", "-c", settings]))
    }

    fn space(&self, end: &str) -> String {
        format!("{}-{end}", self.name)
    }

    /// A command in a namespace.
    fn inside(&self, end: &str) -> Command {
        let mut command = Command::new("ip");
        command.args(["netns", "exec", &self.space(end)]);
        command
    }

    fn rig(&self, end: &str, words: &[&str]) -> Result<Tool> {
        let mut command = self.inside(end);
        command.arg(self.folder.path().join("rig")).arg(self.folder.path().join("programs.o"));
        Tool::start(command.args(words), "ready")
    }

    /// Forwards in this way until the result is dropped: the forwarder and the sink.
    fn forward(&self, way: Way) -> Result<(Vec<Tool>, Tool)> {
        let forwarders = match way {
            Way::Kernel => {
                // The program hands every frame to the kernel: without one, veth delivers frames of
                // XDP programs only with receive offload.
                self.offload_receiving()?;
                Vec::new()
            }
            Way::Xdp => vec![
                self.rig("router", &["forward", "r1"])?,
                // The other end of a redirect needs one too.
                self.rig("router", &["forward", "r2"])?,
            ],
            Way::Ours => {
                let mut command = self.inside("router");
                command.args(["taskset", "-c", &CORES[1].to_string()]);
                let own = std::env::current_exe()
                    .map_err(|error| Error::new(format!("the command itself: {error}")))?;
                command.arg(own).arg("forward").arg(self.root.join("programs/router.loom"));
                command.args(["--port", "r1", "--port", "r2", "--io", "xdp"]);
                vec![Tool::start(&mut command, "forwarding")?]
            }
        };
        let sink = match way {
            Way::Xdp => "sink-frames",
            Way::Kernel | Way::Ours => "sink-packets",
        };
        self.pin_receiving()?;
        Ok((forwarders, self.rig("sink", &[sink, "b0"])?))
    }

    fn offload_receiving(&self) -> Result {
        run(self.inside("router").args(["ethtool", "-K", "r1", "gro", "on"])).map_err(|_| {
            Error::missing_tool("'ethtool' is missing").with_help("'make bench' installs it")
        })
    }

    /// Puts the kernel threads that receive on `r1` onto the router's core. They appear with the
    /// first program or offload.
    fn pin_receiving(&self) -> Result {
        let processes =
            fs::read_dir("/proc").map_err(|error| Error::new(format!("/proc: {error}")))?;
        for process in processes.flatten() {
            let name = fs::read_to_string(process.path().join("comm")).unwrap_or_default();
            if name.starts_with("napi/r1-") {
                let number = process.file_name();
                let core = CORES[1].to_string();
                run(Command::new("taskset").args(["-p", "-c", &core]).arg(number))?;
            }
        }
        Ok(())
    }

    /// Frames that arrive at the sink, millions a second.
    fn rate(&self, way: Way) -> Result<f64> {
        let (_forwarders, mut sink) = self.forward(way)?;
        let core = CORES[0].to_string();
        let _generator = self.rig("generator", &["generate", "a0", &core, "0"])?;
        thread::sleep(WARM);
        let (before, begin) = (sink.count()?, Instant::now());
        thread::sleep(MEASURED);
        let arrived = sink.count()? - before;
        let rate = arrived as f64 / begin.elapsed().as_secs_f64() / 1e6;
        match arrived {
            0 => Err(Error::new(format!("{way:?}: no frame arrived at the sink"))),
            _ => Ok(rate),
        }
    }

    /// Median and 99th percentile, in microseconds, of the time that probes take among other
    /// frames, millions a second.
    fn latency(&self, way: Way, mpps: f64) -> Result<(f64, f64)> {
        let (_forwarders, _sink) = self.forward(way)?;
        let (core, rate) = (CORES[0].to_string(), format!("{:.0}", mpps * 1e6));
        let _generator = self.rig("generator", &["generate", "a0", &core, &rate])?;
        thread::sleep(WARM);
        let mut command = self.inside("generator");
        command.arg(self.folder.path().join("rig")).args(["probe", "a0"]);
        command.arg(format!("/run/netns/{}", self.space("sink")));
        let output = command.args(["b0", &PROBES.to_string()]).output();
        let output = output.map_err(|error| Error::new(format!("the probe: {error}")))?;
        let text = String::from_utf8_lossy(&output.stdout);
        let numbers: Vec<f64> =
            text.split_whitespace().filter_map(|number| number.parse().ok()).collect();
        match numbers[..] {
            [arrived, middle, tail] if arrived >= f64::from(PROBES) / 2.0 => {
                Ok((middle / 1e3, tail / 1e3))
            }
            _ => Err(Error::new(format!("{way:?}: of {PROBES} probes arrived: {text}"))),
        }
    }
}

impl Drop for Rig {
    fn drop(&mut self) {
        for end in ["generator", "router", "sink"] {
            // What was not made cannot be removed.
            let _ = run(Command::new("ip").args(["netns", "delete", &self.space(end)]));
        }
    }
}

/// A program that works until it is dropped.
struct Tool {
    child: Child,
    out: BufReader<ChildStdout>,
}

impl Tool {
    /// Starts it and waits for a line that begins like this.
    fn start(command: &mut Command, ready: &str) -> Result<Self> {
        let child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
        let mut child = child.map_err(|error| Error::new(format!("{command:?}: {error}")))?;
        let out = BufReader::new(child.stdout.take().expect("its output is a pipe"));
        let mut tool = Self { child, out };
        match tool.line()? {
            line if line.starts_with(ready) => Ok(tool),
            line => Err(Error::new(format!("{command:?}: instead of `{ready}`: {line}"))),
        }
    }

    fn line(&mut self) -> Result<String> {
        let mut line = String::new();
        self.out.read_line(&mut line).map_err(|error| Error::new(format!("the rig: {error}")))?;
        Ok(line)
    }

    /// The number of frames that have arrived.
    fn count(&mut self) -> Result<u64> {
        let ask = self.child.stdin.as_mut().expect("open until it is dropped");
        ask.write_all(b"\n").map_err(|error| Error::new(format!("the sink: {error}")))?;
        let line = self.line()?;
        line.trim().parse().map_err(|_| Error::new(format!("the sink answers {line}")))
    }
}

impl Drop for Tool {
    fn drop(&mut self) {
        // The rig's programs end with their input, the command on the signal.
        drop(self.child.stdin.take());
        // `ip netns exec` becomes the program, so that the number is its own.
        let _ = run(Command::new("kill").args(["-INT", &self.child.id().to_string()]));
        let _ = self.child.wait();
    }
}

fn which(command: &str) -> bool {
    Command::new(command)
        .arg("--version")
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok()
}

/// Runs a command to its end.
fn run(command: &mut Command) -> Result {
    let output =
        command.output().map_err(|error| Error::missing_tool(format!("{command:?}: {error}")))?;
    match output.status.success() {
        true => Ok(()),
        false => {
            let said = String::from_utf8_lossy(&output.stderr);
            Err(Error::new(format!("{command:?}: {}", said.trim())))
        }
    }
}
