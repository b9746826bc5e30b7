//! Runs an engine in Verilator. The offloads of the golden model reply to it.

use std::fmt::Write as _;
use std::io::{BufRead, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use wireloom_bits::Bits;
use wireloom_codegen_hardware::core::{Options, RUNAWAY};
use wireloom_codegen_hardware::engine::{EngineModule, Shell, build};
use wireloom_install::tools;
use wireloom_ir::{self as ir, Execute, Golden, Program, Reason, ReasonSetId, Verdict};
use wireloom_net::Packet;
use wireloom_net::packet::WINDOW;
use wireloom_offloads::{Content, Env, Store};

/// An output of the engine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Departure {
    pub verdict: Verdict,
    /// The bytes of the packet; empty if it was dropped.
    pub bytes: Vec<u8>,
}

/// The configuration of an engine for a run.
#[derive(Clone, Copy, Debug)]
pub struct Setting {
    pub threads: u32,
    /// Number of the scheduler in the templates.
    pub scheduler: u32,
    /// Number of the storage in the templates, also for windows.
    pub storage: u32,
    /// LUT levels in a stage.
    pub levels: u32,
    pub shell: Shell,
    /// Bytes in a header word.
    pub header_bytes: u32,
}

impl Default for Setting {
    fn default() -> Self {
        Self {
            threads: 4,
            scheduler: 1,
            storage: 0,
            levels: 11,
            shell: Shell::Multithreaded,
            header_bytes: 16,
        }
    }
}

/// An engine that has been built.
pub struct Bench {
    program: Program,
    engine: EngineModule,
    binary: PathBuf,
}

impl Bench {
    /// Builds the main engine of a program in regions, in a folder with this name.
    pub fn new(name: &str, program: &Program, setting: Setting) -> Self {
        let options = Options { levels: setting.levels, header_bytes: setting.header_bytes };
        let engine = build(program, program.main, &options, setting.shell)
            .unwrap_or_else(|refusal| panic!("{refusal}"));
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("engine").join(name);
        std::fs::create_dir_all(&folder).expect("a folder below target/");
        let mut files = Vec::new();
        for (file, text) in engine.files() {
            let path = folder.join(file);
            std::fs::write(&path, text).expect("a file below target/");
            files.push(path);
        }
        std::fs::write(folder.join("ports.h"), ports(&engine)).expect("a file below target/");
        let bench = super::repository().join("crates/np/tests/engine/bench.cpp");
        let mut verilator = tools::verilator().unwrap_or_else(|message| panic!("{message}"));
        for templates in ["engine", "flow", "memory"] {
            verilator.arg("-y").arg(super::hardware().join(templates));
        }
        let output = verilator
            .args([
                "--cc", "--exe", "--build", "-Wall", "--assert", "-DFORMAL", "-j", "1", "--prefix",
                "Vbench",
            ])
            .args(["--x-initial", "unique", "-O3", "-CFLAGS", "-O1", "--top-module", &engine.name])
            .arg("-CFLAGS")
            .arg(format!("-I{}", folder.display()))
            .arg(format!("-GThreads={}", setting.threads))
            .arg("-GTagBits=20")
            .arg(format!("-GScheduler={}", setting.scheduler))
            .arg(format!("-GStorage={}", setting.storage))
            .arg(format!("-GWindowStorage={}", setting.storage))
            .arg("-Mdir")
            .arg(folder.join("build"))
            .arg(format!("-I{}", super::hardware().display()))
            .arg(super::hardware().join("wl_pkg.sv"))
            .args(&files)
            .arg(bench)
            .output()
            .expect("Verilator runs");
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success() && !said.contains("%Warning"), "{said}");
        Self { program: program.clone(), engine, binary: folder.join("build/Vbench") }
    }

    /// Returns the number of register stages in the core.
    pub fn stages(&self) -> u32 {
        self.engine.core.core_stages
    }

    /// Runs packets. Returns the outputs of each packet, in the order in which it sent them. If
    /// `slow` is set, the bench stalls its interfaces and delays replies at random.
    pub fn run(
        &self,
        packets: &[Packet],
        store: &mut Store,
        seed: u64,
        slow: bool,
    ) -> Vec<Vec<Departure>> {
        let mut child = Command::new(&self.binary)
            .arg(seed.to_string())
            .arg(if slow { "slow" } else { "fast" })
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the bench runs");
        let mut to = child.stdin.take().expect("a pipe");
        let mut from = BufReader::new(child.stdout.take().expect("a pipe"));
        let mut text = String::new();
        for (sequence, packet) in packets.iter().enumerate() {
            let window = &packet.bytes[..packet.bytes.len().min(WINDOW)];
            let _ = write!(
                text,
                "P {} {} ",
                hex(&self.info(packet, sequence as u64).to_bytes()),
                window.len()
            );
            let _ = writeln!(text, "{}", hex(window));
        }
        to.write_all(text.as_bytes())
            .and_then(|()| to.write_all(b"G\n"))
            .and_then(|()| to.flush())
            .expect("a pipe");
        let mut left = vec![Vec::new(); packets.len()];
        let mut line = String::new();
        loop {
            line.clear();
            from.read_line(&mut line).expect("a pipe");
            let words: Vec<&str> = line.split_whitespace().collect();
            match words[..] {
                ["R", port, _thread, data] => {
                    let reply = self.serve(port.parse().expect("a port"), data, store);
                    if let Some(reply) = reply {
                        writeln!(to, "A {}", hex(&reply.to_bytes()))
                            .and_then(|()| to.flush())
                            .expect("a pipe");
                    }
                }
                ["U", tag, result, rows] => {
                    let tag: usize = tag.parse().expect("a tag");
                    left[tag].extend(outcome(&packets[tag], result, rows));
                }
                ["D", ..] => break,
                _ => panic!("the bench says {line:?}"),
            }
        }
        assert!(child.wait().expect("the bench ends").success());
        left
    }

    fn info(&self, packet: &Packet, sequence: u64) -> Bits {
        let mut info = Bits::new(32, u128::from(packet.ingress) << 16 | packet.bytes.len() as u128);
        if self.engine.core.layout.arrival.is_some() {
            info = Bits::new(64, u128::from(packet.arrival_ns)).concat(&info);
        }
        if self.engine.core.layout.sequence_bits > 0 {
            info = Bits::new(self.engine.core.layout.sequence_bits, u128::from(sequence))
                .concat(&info);
        }
        info
    }

    /// Returns the reply of an offload.
    fn serve(&self, port: usize, data: &str, store: &mut Store) -> Option<Bits> {
        let port = &self.engine.core.ports[port];
        let mut rest = bits(data).resize(port.request_bits.max(1));
        let mut take = |width: u32| {
            let low = rest.slice(0, width);
            rest = rest.lshr(width);
            low.low_u64()
        };
        let sequence = if port.sequence { take(64) } else { 0 };
        let now_ns = if port.arrival { take(64) } else { 0 };
        let number = if port.methods.len() > 1 {
            rest.slice(port.argument_bits, port.method_bits()).low_u64() as usize
        } else {
            0
        };
        let method = &port.methods[number];
        let mut top: u32 = method.arguments.iter().sum();
        let arguments: Vec<Bits> = method
            .arguments
            .iter()
            .map(|width| {
                top -= width;
                rest.slice(top, *width)
            })
            .collect();
        let Content::Kind { instance, .. } = &mut store.slots[port.offload.index()].content else {
            panic!("the bench has no called engines")
        };
        let reply =
            instance.call(method.method, &arguments, &mut Env { packet: None, now_ns, sequence });
        (port.reply_bits > 0).then(|| {
            if method.reply > 0 {
                reply.resize(port.reply_bits)
            } else {
                Bits::zero(port.reply_bits)
            }
        })
    }

    /// Compares the engine with the golden model of its program: the outputs of each packet, and
    /// the final state of the offloads. Returns the outputs.
    pub fn compare(
        &self,
        packets: &[Packet],
        tables: impl Fn(&Program) -> Store,
        seed: u64,
        slow: bool,
    ) -> Vec<Vec<Departure>> {
        let mut golden = Golden::new(self.program.clone(), tables(&self.program));
        let mut expected = vec![Vec::new(); packets.len()];
        golden.execute(packets, &mut |output| {
            let bytes = match output.verdict {
                Verdict::Dropped(_) => Vec::new(),
                _ => output.bytes.to_vec(),
            };
            expected[output.sequence as usize].push(Departure { verdict: output.verdict, bytes });
        });
        let mut store = tables(&self.program);
        let left = self.run(packets, &mut store, seed, slow);
        for (index, (left, expected)) in left.iter().zip(&expected).enumerate() {
            assert_eq!(
                left,
                expected,
                "packet {index} on port {} (left: the engine, right: golden): {}",
                packets[index].ingress,
                hex(&packets[index].bytes)
            );
        }
        for (slot, golden) in store.slots.iter().zip(&golden.store().slots) {
            if let (Content::Kind { instance, .. }, Content::Kind { instance: golden, .. }) =
                (&slot.content, &golden.content)
            {
                assert_eq!(instance.rows(), golden.rows(), "offload {}", slot.name);
            }
        }
        left
    }
}

/// Returns the offloads of a program in their initial state.
pub fn empty(program: &Program) -> Store {
    ir::store(program).unwrap_or_else(|refused| panic!("{}", refused.0))
}

/// Returns the output in the shell's result and rows, or `None` if the thread ended without
/// sending.
fn outcome(packet: &Packet, result: &str, rows: &str) -> Option<Departure> {
    let result = bits(result);
    let field = |low, width| result.slice(low, width).low_u64();
    let (length, window) = (field(1, 16) as usize, field(17, 9) as usize);
    let (start, port, reason, kind) =
        (field(26, 4) as usize, field(30, 16), field(46, 24), field(70, 3));
    let reason = if reason == u64::from(RUNAWAY) {
        Reason::Runaway
    } else {
        Reason::Program(ReasonSetId((reason >> 16) as u32), reason as u16)
    };
    let verdict = match kind {
        1 | 2 => Verdict::Sent { port: port as u16 },
        3 => return Some(Departure { verdict: Verdict::Dropped(reason), bytes: Vec::new() }),
        4 | 7 => Verdict::ToCpu(reason),
        5 => return None,
        other => panic!("exit {other}"),
    };
    let rows = unhex(rows);
    // Byte i of the window is byte (start + i) mod 16 of row i / 16.
    let mut bytes: Vec<u8> = (0..window).map(|i| rows[i - i % 16 + (start + i) % 16]).collect();
    let body = &packet.bytes[packet.bytes.len().min(WINDOW)..];
    bytes.extend_from_slice(&body[..length - window]);
    Some(Departure { verdict, bytes })
}

/// Returns the description of the ports for the bench.
fn ports(engine: &EngineModule) -> String {
    let mut text = format!("#define PORTS {}\n", engine.core.ports.len().max(1));
    let list = |replying: bool| -> String {
        let ports =
            engine.core.ports.iter().enumerate().filter(|(_, p)| !replying || p.reply_bits > 0);
        ports.map(|(index, port)| format!(" X({index}, {})", port.name)).collect()
    };
    let replies: Vec<String> =
        engine.core.ports.iter().map(|p| (p.reply_bits > 0).to_string()).collect();
    let _ = writeln!(text, "#define EACH_PORT(X){}", list(false));
    let _ = writeln!(text, "#define EACH_REPLY(X){}", list(true));
    let _ = writeln!(
        text,
        "static const bool REPLIES[] = {{{}}};",
        if replies.is_empty() { "false".into() } else { replies.join(", ") }
    );
    text.push_str("#define SET_ARGUMENTS(a) (void)a\n#define REPLY_OR(data) data\n");
    // A runaway thread takes 65,536 steps of a few cycles each.
    text.push_str("#define LIMIT 1500000\n");
    text
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

fn unhex(text: &str) -> Vec<u8> {
    (0..text.len() / 2)
        .map(|i| u8::from_str_radix(&text[2 * i..2 * i + 2], 16).expect("hexadecimal digits"))
        .collect()
}

/// Converts whole bytes of hexadecimal digits to a number.
fn bits(text: &str) -> Bits {
    Bits::from_bytes(&unhex(text))
}
