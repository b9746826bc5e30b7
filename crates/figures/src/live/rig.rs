//! The rig of live forwarding: three network namespaces, a generator and a sink.
//!
//! ```text
//!   generator: a0 ── r1 :router: r2 ── b0 :sink
//! ```
//!
//! An XDP program makes the frames on one core. Everything that the router does, the kernel's part
//! included, runs on another: the receive path of `r1` is a kernel thread there. The sink counts
//! frames and throws them away. bench/live has the programs.
//!
//! The namespaces have no names and belong to processes that end with their input, as do the
//! generator and the sink, so that nothing is left in the system however this process ends.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use wireloom_machine::{Error, Result};

use super::{Settings, Way};

/// The duration of a rate measurement, and the warm-up before it.
const MEASURED: Duration = Duration::from_secs(1);
const WARM: Duration = Duration::from_millis(300);
/// The duration of a measurement without packets.
const IDLE: Duration = Duration::from_secs(2);
/// The number of probes in a latency measurement.
const PROBES: u32 = 2000;
/// The cores of the generator and of the router.
const CORES: [usize; 2] = [0, 1];
/// The Debian packages that the rig needs.
const HELP: &str = "'make bench' installs the Debian packages gcc-bpf, libbpf-dev and ethtool";

/// The programs and the namespaces, which disappear when it is dropped.
pub struct Rig {
    folder: wireloom_files::TemporaryFolder,
    program: PathBuf,
    generator: Space,
    router: Space,
    sink: Space,
}

impl Rig {
    /// Builds the programs and the network.
    ///
    /// # Errors
    /// If the rig cannot be built here: without root, the compilers or a second core.
    pub fn build(settings: &Settings) -> Result<Self> {
        let sources = settings.file("bench/live")?;
        let cores = thread::available_parallelism().map_or(1, |cores| cores.get());
        if cores < CORES.len() {
            return Err(Error::missing_tool("live forwarding is measured on two cores or more"));
        }
        if !Path::new("/usr/include/bpf/bpf.h").exists() {
            return Err(Error::missing_tool("libbpf is missing").with_help(HELP));
        }
        let folder = wireloom_files::TemporaryFolder::new()
            .map_err(|error| Error::new(format!("a temporary folder: {error}")))?;
        let build = |compiler: &str, source: &str, target: &str, flags: &[&str]| {
            let mut command = Command::new(compiler);
            command.arg("-O2").arg(sources.join(source)).arg("-o").arg(folder.path().join(target));
            run(command.args(flags)).map_err(|error| error.with_help(HELP))
        };
        let machine = format!("-I/usr/include/{}-linux-gnu", std::env::consts::ARCH);
        // The number of a helper must be an operand of its call. The options keep it from being
        // moved to a register before a loop or shared with an equal constant.
        let [loops, constants] = ["-fno-move-loop-invariants", "-fno-cse-follow-jumps"];
        let flags = ["-gbtf", "-mcpu=v3", loops, constants, "-I/usr/include", "-c", &machine];
        build("bpf-gcc", "programs.bpf.c", "programs.o", &flags)?;
        build("cc", "rig.c", "rig", &["-lbpf"])?;
        // A command that enters a mount namespace starts in its root folder.
        let program = fs::canonicalize(settings.file("programs/router.loom")?)
            .map_err(|error| Error::new(format!("programs/router.loom: {error}")))?;
        let [generator, router, sink] = [Space::new()?, Space::new()?, Space::new()?];
        let rig = Self { folder, program, generator, router, sink };
        rig.connect(&rig.generator, "r1", "a0", "02:00:00:00:77", "10.77.1")?;
        rig.connect(&rig.sink, "r2", "b0", "02:00:00:00:78", "10.77.2")?;
        rig.router.shell("echo 1 > /proc/sys/net/ipv4/ip_forward")?;
        // A veth device accepts frames of XDP programs, and polls for them, only if it has a
        // program of its own or, as here, receive offload.
        run(rig.router.enter("ethtool").args(["-K", "r1", "gro", "on"]))
            .map_err(|error| error.with_help(HELP))?;
        // Frames from sockets bypass that polling, and are processed entirely in the sender's
        // context, if the sender's end could also send segments that are not cut yet.
        run(rig.generator.enter("ethtool").args(["-K", "a0", "tso", "off"]))?;
        rig.router.shell("mount -t sysfs none /sys && echo 1 > /sys/class/net/r1/threaded")?;
        Ok(rig)
    }

    /// Connects the router's interface `ours` with the interface `theirs` of another namespace.
    fn connect(&self, to: &Space, ours: &str, theirs: &str, mac: &str, net: &str) -> Result {
        let ip = |space: &Space, words: String| run(space.enter("ip").args(words.split(' ')));
        let namespace = to.holder.child.id();
        ip(
            &self.router,
            format!(
                "link add {ours} address {mac}:01 type veth peer name {theirs} address {mac}:02 \
                 netns {namespace}"
            ),
        )?;
        for (space, interface, host) in [(&self.router, ours, 1), (to, theirs, 2)] {
            ip(space, format!("link set {interface} up"))?;
            ip(space, format!("address add {net}.{host}/24 dev {interface}"))?;
        }
        ip(&self.router, format!("neighbour add {net}.2 lladdr {mac}:02 dev {ours} nud permanent"))
    }

    /// Starts a program of bench/live in a namespace.
    fn start(&self, space: &Space, words: &[&str]) -> Result<Tool> {
        let mut command = space.enter(self.folder.path().join("rig"));
        Tool::start(command.arg(self.folder.path().join("programs.o")).args(words), "ready")
    }

    /// Starts the forwarder and the sink of a measurement. Forwarding ends when the result is
    /// dropped.
    fn forward(&self, way: Way) -> Result<(Vec<Tool>, Tool)> {
        let forwarders = match way {
            Way::Kernel => Vec::new(),
            Way::Xdp => vec![
                self.start(&self.router, &["forward", "r1"])?,
                // The other end of a redirect needs a program too.
                self.start(&self.router, &["forward", "r2"])?,
            ],
            Way::Engine => vec![self.wireloom("kernel")?],
            Way::Ours => vec![self.wireloom("xdp")?],
            Way::Packet => vec![self.wireloom("packet")?],
        };
        let sink = match way {
            Way::Engine | Way::Xdp => "sink-frames",
            Way::Kernel | Way::Ours | Way::Packet => "sink-packets",
        };
        pin_receiving()?;
        Ok((forwarders, self.start(&self.sink, &[sink, "b0"])?))
    }

    /// Starts `wireloom forward` on the router's core. The command ends with this process.
    fn wireloom(&self, io: &str) -> Result<Tool> {
        let own = std::env::current_exe()
            .map_err(|error| Error::new(format!("the command itself: {error}")))?;
        let mut command = self.router.enter("setpriv");
        command.args(["--pdeathsig", "TERM", "taskset", "-c", &CORES[1].to_string()]);
        command.arg(own).arg("forward").arg(&self.program);
        command.args(["--port", "r1", "--port", "r2", "--io", io]);
        Tool::start(&mut command, "forwarding")
    }

    /// Returns the rate of frames that arrive at the sink, in millions per second.
    ///
    /// # Errors
    /// If a program fails, or no frame arrives.
    pub fn rate(&self, way: Way) -> Result<f64> {
        let (_forwarders, mut sink) = self.forward(way)?;
        let core = CORES[0].to_string();
        let _generator = self.start(&self.generator, &["generate", "a0", &core, "0"])?;
        thread::sleep(WARM);
        let (before, begin) = (sink.arrived()?.frames, Instant::now());
        thread::sleep(MEASURED);
        let arrived = sink.arrived()?.frames - before;
        let rate = arrived as f64 / begin.elapsed().as_secs_f64() / 1e6;
        match arrived {
            0 => Err(Error::new(format!("{way:?}: no frame arrived at the sink"))),
            _ => Ok(rate),
        }
    }

    /// Returns the median and the 99th percentile, in microseconds, of the time from the generator
    /// to the sink at `mpps` million frames per second. Returns `None` if fewer than half of the
    /// frames arrive: while the host of a virtual machine takes the router's core, the interface in
    /// front of it fills.
    ///
    /// # Errors
    /// If a program fails.
    pub fn latency(&self, way: Way, mpps: f64) -> Result<Option<(f64, f64)>> {
        let (_forwarders, mut sink) = self.forward(way)?;
        let (core, rate) = (CORES[0].to_string(), format!("{:.0}", mpps * 1e6));
        let _generator = self.start(&self.generator, &["generate", "a0", &core, &rate])?;
        thread::sleep(WARM);
        let (before, begin) = (sink.arrived()?.frames, Instant::now());
        thread::sleep(MEASURED);
        let arrived = sink.arrived()?;
        let offered = mpps * 1e6 * begin.elapsed().as_secs_f64();
        let is_known = (arrived.frames - before) as f64 >= offered / 2.0;
        Ok(arrived.latency.filter(|_| is_known))
    }

    /// Returns the share of a core, in percent, that the forwarder takes without packets; and then
    /// the median and the 99th percentile, in microseconds, of the latency of lone probes that are
    /// half a millisecond apart.
    ///
    /// # Errors
    /// If a program fails.
    pub fn idle(&self, way: Way) -> Result<Option<(f64, f64, f64)>> {
        let (forwarders, _sink) = self.forward(way)?;
        thread::sleep(WARM);
        let (before, begin) = (processor_time(&forwarders)?, Instant::now());
        thread::sleep(IDLE);
        let used = processor_time(&forwarders)? - before;
        let percent = 100.0 * used / begin.elapsed().as_secs_f64();
        Ok(self.probe(way)?.map(|(middle, tail)| (percent, middle, tail)))
    }

    /// Returns the median and the 99th percentile of the latency of probes; `None` if too few
    /// arrive.
    fn probe(&self, way: Way) -> Result<Option<(f64, f64)>> {
        let mut command = self.generator.enter(self.folder.path().join("rig"));
        command.args(["probe", "a0", &self.sink.file(), "b0", &PROBES.to_string()]);
        let output = command.output().map_err(|error| failed(&command, &error))?;
        let text = String::from_utf8_lossy(&output.stdout);
        let numbers: Vec<f64> =
            text.split_whitespace().filter_map(|number| number.parse().ok()).collect();
        match numbers[..] {
            [arrived, middle, tail] => {
                let is_known = arrived >= f64::from(PROBES) / 2.0;
                Ok(is_known.then_some((middle / 1e3, tail / 1e3)))
            }
            _ => Err(Error::new(format!(
                "{way:?}: no latencies: {text}{}",
                String::from_utf8_lossy(&output.stderr)
            ))),
        }
    }
}

/// Returns the processor time of programs until now, in seconds.
fn processor_time(tools: &[Tool]) -> Result<f64> {
    /// Clock ticks per second, equal on every Linux computer.
    const TICKS: f64 = 100.0;
    let mut ticks = 0.0;
    for tool in tools {
        let path = format!("/proc/{}/stat", tool.child.id());
        let failed = |why: &dyn std::fmt::Display| Error::new(format!("{path}: {why}"));
        let stat = fs::read_to_string(&path).map_err(|error| failed(&error))?;
        // The name, in parentheses, is the second field; user and system time are fields 14 and 15.
        let fields = stat.rsplit(')').next().unwrap_or_default().split_whitespace();
        for field in fields.skip(11).take(2) {
            ticks += field.parse::<f64>().map_err(|error| failed(&error))?;
        }
    }
    Ok(ticks / TICKS)
}

/// Pins the kernel threads that receive on `r1` to the router's core. The threads appear with the
/// first program or offload.
fn pin_receiving() -> Result {
    let processes = fs::read_dir("/proc").map_err(|error| Error::new(format!("/proc: {error}")))?;
    for process in processes.flatten() {
        let name = fs::read_to_string(process.path().join("comm")).unwrap_or_default();
        if name.starts_with("napi/r1-") {
            let core = CORES[1].to_string();
            run(Command::new("taskset").args(["-p", "-c", &core]).arg(process.file_name()))?;
        }
    }
    Ok(())
}

/// A network namespace, with a mount namespace for its /sys.
struct Space {
    holder: Tool,
}

impl Space {
    fn new() -> Result<Self> {
        let mut command = Command::new("unshare");
        command.args(["--net", "--mount", "sh", "-c", "echo ready; exec cat"]);
        let holder = Tool::start(&mut command, "ready").map_err(|error| {
            Error::missing_tool(format!("a network namespace: {error}")).with_help("run it as root")
        })?;
        Ok(Self { holder })
    }

    /// The file that represents the namespace.
    fn file(&self) -> String {
        format!("/proc/{}/ns/net", self.holder.child.id())
    }

    /// Prepares a command that runs inside the namespace.
    fn enter(&self, command: impl AsRef<std::ffi::OsStr>) -> Command {
        let mut inside = Command::new("nsenter");
        inside.args(["--net", "--mount", "--target", &self.holder.child.id().to_string()]);
        inside.arg("--").arg(command);
        inside
    }

    fn shell(&self, line: &str) -> Result {
        run(self.enter("sh").args(["-c", line]))
    }
}

/// The counts of a sink: all frames so far, and the median and 99th percentile, in microseconds, of
/// the latencies of frames that have arrived since the last query.
struct Arrived {
    frames: u64,
    latency: Option<(f64, f64)>,
}

/// A program that runs until this is dropped.
struct Tool {
    child: Child,
    out: BufReader<ChildStdout>,
}

impl Tool {
    /// Starts the program and waits for a line that begins with `ready`.
    fn start(command: &mut Command, ready: &str) -> Result<Self> {
        let child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
        let mut child = child.map_err(|error| failed(command, &error))?;
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

    /// Asks a sink for its counts.
    fn arrived(&mut self) -> Result<Arrived> {
        let ask = self.child.stdin.as_mut().expect("open until it is dropped");
        ask.write_all(b"\n").map_err(|error| Error::new(format!("the sink: {error}")))?;
        let line = self.line()?;
        let numbers: Vec<u64> =
            line.split_whitespace().filter_map(|number| number.parse().ok()).collect();
        match numbers[..] {
            [frames, 0] => Ok(Arrived { frames, latency: None }),
            [frames, _, middle, tail] => {
                Ok(Arrived { frames, latency: Some((middle as f64 / 1e3, tail as f64 / 1e3)) })
            }
            _ => Err(Error::new(format!("the sink: {line}"))),
        }
    }
}

impl Drop for Tool {
    fn drop(&mut self) {
        // The programs of bench/live and the namespaces end when their input closes, the command on
        // the signal. `nsenter` executes the program in its own process, so the process number is
        // the program's.
        drop(self.child.stdin.take());
        let _ = run(Command::new("kill").args(["-INT", &self.child.id().to_string()]));
        let _ = self.child.wait();
    }
}

fn failed(command: &Command, error: &std::io::Error) -> Error {
    Error::missing_tool(format!("'{}': {error}", command.get_program().to_string_lossy()))
}

/// Runs a command to its end.
fn run(command: &mut Command) -> Result {
    let output = command.output().map_err(|error| failed(command, &error))?;
    match output.status.success() {
        true => Ok(()),
        false => {
            let said = String::from_utf8_lossy(&output.stderr);
            Err(Error::new(format!("{command:?}: {}", said.trim())))
        }
    }
}
