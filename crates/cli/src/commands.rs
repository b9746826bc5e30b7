//! The subcommands, one per file.

mod application;
mod assemble;
mod bench;
mod build;
mod check;
mod completions;
#[cfg(target_os = "linux")]
mod ctl;
mod debug;
mod docs;
mod example;
mod explain;
#[cfg(target_os = "linux")]
pub mod forward;
mod machines;
mod manual;
mod map;
mod monitor;
mod new;
mod rig;
mod run;
mod search;
mod sidl;
mod tables;
mod test;
mod tile;
mod tools;
#[cfg(target_os = "linux")]
mod top;
mod trace;
mod traffic;
mod verify;
mod virtual_routers;
mod watched;

use clap::Subcommand;
use wireloom_console::output;

use crate::failure::Outcome;

/// The groups of subcommands in `--help`.
const GROUPS: [(&str, &[&str]); 7] = [
    ("Write and test a program", &["new", "example", "check", "explain", "test"]),
    ("Run it", &["run", "verify", "trace", "build"]),
    ("Forward live packets (Linux)", &["forward", "ctl", "top"]),
    ("Look into machines", &["machines", "debug", "monitor", "assemble", "np", "raw", "mpsoc"]),
    ("Packets and tables", &["traffic", "tables"]),
    ("Measure", &["bench"]),
    ("This command", &["docs", "tools", "completions", "manual", "help"]),
];

/// Earlier names of subcommands that moved under the name of a kind of machine, with their present
/// names.
const MOVED: [(&str, &str); 7] = [
    ("application", "mpsoc application"),
    ("map", "raw map"),
    ("rig", "np rig"),
    ("search", "np search"),
    ("sidl", "mpsoc sidl"),
    ("tile", "raw tile"),
    ("virtual", "np virtual"),
];

/// Returns the present name of a subcommand that has moved.
pub fn moved(name: &str) -> Option<&'static str> {
    Some(MOVED.iter().find(|(old, _)| *old == name)?.1)
}

/// Returns the template of a command's help, with its subcommands in groups.
pub fn help_template(command: &clap::Command) -> String {
    /// The width of the column of names.
    const NAMES: usize = 13;
    /// The greatest width of a line, as in the rest of the help.
    const WIDEST: usize = 100;
    let mut groups = String::new();
    for (title, names) in GROUPS {
        let entries: Vec<String> = names
            .iter()
            .filter_map(|name| {
                let about = match *name {
                    "help" => "Print this message, or the help of a subcommand".to_owned(),
                    _ => command.find_subcommand(name)?.get_about()?.to_string(),
                };
                Some(format!("  {name:NAMES$}{about}\n"))
            })
            .collect();
        if !entries.is_empty() {
            groups += &format!("{title}:\n{}\n", entries.concat());
        }
    }
    let width = output::width().map_or(WIDEST, |width| WIDEST.min(width.into()));
    let groups = output::wrapped(&groups, width);
    format!(
        "{{about-with-newline}}\n{{usage-heading}} {{usage}}\n\n{groups}Options:\n{{options}}{{after-help}}"
    )
}

/// The subcommands.
#[derive(Subcommand, Debug)]
pub enum Command {
    /// Check a program and print errors and warnings
    #[command(after_help = "\
Examples, in the folder of `wireloom example all`:
  wireloom check programs/router.loom
  wireloom check programs/router.loom --deny-warnings --json diagnostics.json
  wireloom check programs/router.loom --on np-pipeline
  wireloom check --explain E0201

Exit status 1 if the program has errors.")]
    Check(check::Check),
    /// Explain a program: its steps, what was split and why, which state is kept, and the cost
    #[command(after_help = "\
Examples, in the folder of `wireloom example all`:
  wireloom explain programs/router.loom
  wireloom explain programs/router.loom --svg router.svg
  wireloom explain programs/router.loom --ir split | less
  wireloom explain programs/router.loom --ports 2,1      how steps split where a step can read two header words and write one")]
    Explain(explain::Explain),
    /// Run the packets of a capture through a machine
    #[command(after_help = "\
Examples, in the folder of `wireloom example all`:
  wireloom run programs/router.loom --tables programs/tables/small.tables --in programs/captures/first.pcapng --out out.pcapng
  wireloom run programs/router.loom --on golden --tables programs/tables/small.tables --in programs/captures/first.pcapng --drops --out out.pcapng
  wireloom run programs/flowcount.loom --in programs/captures/first.pcapng --dump flows --rows 10 --json -
  wireloom run programs/router.loom --on np-2-2-4 --tables programs/tables/small.tables --in programs/captures/first.pcapng --packets 20000 --rate 90
  wireloom run programs/router.loom --tables programs/tables/small.tables --in programs/captures/first.pcapng --report out.html
  wireloom run programs/raw/null.rasm --on programs/raw/null.toml --in programs/captures/first.pcapng      tiles programmed by hand")]
    Run(run::Run),
    /// Forward live packets between network interfaces, with the kernel's routes (Linux)
    #[cfg(target_os = "linux")]
    #[command(after_help = "\
Examples, in the folder of `wireloom example all`:
  wireloom forward programs/router.loom --port eth1 --port eth2
  wireloom forward programs/router.loom --port eth1 --port eth2 --interval 1 --json counters.json
  wireloom forward programs/router.loom --port eth1 --port eth2 --static --tables programs/tables/small.tables
  wireloom forward programs/router.loom --port eth1 --port eth2 --metrics --control /run/wireloom/control

SIGINT and SIGTERM end it; the interfaces are then as they were. SIGHUP reads program and tables again. How to deploy and observe it: `wireloom docs operate`.")]
    Forward(Box<forward::Forward>),
    /// Ask a running forwarder: counters, reload, stop, captures, traces of live packets, tables (Linux)
    #[cfg(target_os = "linux")]
    #[command(after_help = "\
Examples:
  wireloom ctl status
  wireloom ctl reload
  wireloom ctl capture --at drop,cpu --count 100 --out drops.pcapng
  wireloom ctl trace --filter 'ip.dst == 10.0.0.0/8 && udp'
  wireloom ctl tables list

How to observe a forwarder, and how filters are written: `wireloom docs operate/observe`.")]
    Ctl(ctl::Ctl),
    /// Show the rates of a running forwarder, by port and by reason (Linux)
    #[cfg(target_os = "linux")]
    #[command(after_help = "\
Examples:
  wireloom top
  wireloom top --interval 10 --count 6 > rates.txt")]
    Top(top::Top),
    /// Compare machines with golden, packet by packet
    #[command(after_help = "\
Examples, in the folder of `wireloom example all`:
  wireloom verify programs/router.loom --on native --tables programs/tables/small.tables --in programs/captures/first.pcapng
  wireloom verify programs/router.loom --on native,np-2-2-4 --tables programs/tables/small.tables --in programs/captures/first.pcapng --packets 100

Exit status 1 if a machine differs; the first packet that does is shown field by field.")]
    Verify(verify::Verify),
    /// Run packet tests: packets in a readable notation, and what an engine does with them
    #[command(after_help = "\
Examples, in the folder of `wireloom example all`:
  wireloom test programs/tests/nat.packets
  wireloom test programs/tests/ipv4.packets programs/tests/mpls.packets --on golden,native,np-1-2-4
  wireloom test programs/tests/nat.packets --junit results.xml

How tests are written: `wireloom docs programs/tests`. Exit status 1 if an expectation is not met; each is shown with its line,
field by field.")]
    Test(test::Test),
    /// Begin an engine: a folder with one to change, its tables, its tests and a capture
    #[command(after_help = "\
Examples:
  wireloom new mine
  wireloom new gate --template firewall
  wireloom new spread --template balancer

The README.md of the folder says what to try.")]
    New(new::New),
    /// Write an example: a program of the documentation with its tables, captures and tests
    #[command(after_help = "\
Examples:
  wireloom example
  wireloom example router
  wireloom example nat -o somewhere

The folder is laid out as in the documentation, so commands on programs/... run in it as written.")]
    Example(example::ExampleArgs),
    /// Show what happened to one packet, and why: steps, conditions, calls, edits, verdict
    #[command(after_help = "\
Examples, in the folder of `wireloom example all`:
  wireloom trace programs/router.loom --tables programs/tables/small.tables --in programs/captures/first.pcapng --packet 17
  wireloom trace programs/router.loom --on np-2-2-4 --tables programs/tables/small.tables --in programs/captures/first.pcapng --packet 17
  wireloom trace programs/ipv4.loom --tables programs/tests/ipv4.tables --text '0 eth(dst=02:00:00:00:00:00, src=02:00:00:00:09:09) / ipv4(src=10.1.1.1, dst=10.0.0.1) / udp(dst=53)'

The steps are golden's, in the words of the source. Exit status 1 if the machine did something else with the packet.
How packets are written: `wireloom docs programs/tests`.")]
    Trace(trace::Trace),
    /// Step a simulated machine in the terminal: breakpoints, threads, registers, memories
    #[command(after_help = "\
Examples, in the folder of `wireloom example all`:
  wireloom debug programs/ipv4.loom --tables programs/tests/ipv4.tables --in programs/captures/first.pcapng
  wireloom debug programs/ipv4.loom --on ixp1200 --tables programs/tests/ipv4.tables --in programs/captures/first.pcapng --packets 10

`help` lists the commands. In scripts a wrong command ends the run with exit status 2. A tour: `wireloom docs monitor`.")]
    Debug(debug::Debug),
    /// Show a simulated machine in the browser: threads over time, queues, buses, source, registers
    #[command(after_help = "\
Examples, in the folder of `wireloom example all`:
  wireloom monitor programs/ipv4.loom --on ixp1200 --tables programs/tests/ipv4.tables --in programs/captures/first.pcapng
  wireloom monitor programs/router.loom --tables programs/tables/small.tables --in programs/captures/first.pcapng --port 8080

Prints an address for a browser on this computer; nothing else can reach it. A tour: `wireloom docs monitor`.")]
    Monitor(monitor::Monitor),
    /// Compile a program to source code for a machine
    #[command(after_help = "\
Examples, in the folder of `wireloom example all`:
  wireloom build programs/router.loom --on native -o generated
  wireloom build programs/router.loom --on np-16-6-4 --tables programs/tables/small.tables -o np")]
    Build(build::Build),
    /// Measure speed, time and memory of the software machines, and reproduce the paper's figures
    /// of network processors
    #[command(after_help = "\
Examples:
  wireloom bench list
  wireloom bench native-ipv4 --runs 11
  wireloom bench np-throughput-100g --on np-16-6-4
  wireloom bench all --out out/bench --report out/bench.html
  wireloom bench cheap --write-docs

Exit status 1 if a goal is missed, packets differ or are lost, or one of several cannot be measured; the others are measured all the same.
What cannot be measured because DPDK is not installed is left out.")]
    Bench(bench::Bench),
    /// Generate packets
    #[command(after_help = "\
Examples, in the folder of `wireloom example all`:
  wireloom traffic --packets 1000000 --mix ipv4=6,ipv6=3,mpls1..4=1 --out mixed.pcap
  wireloom traffic --packets 1000 --sizes 64 --seed 7 --prefixes programs/tables/small.tables --out small.pcapng")]
    Traffic(traffic::Traffic),
    /// Load tables and show their contents
    #[command(after_help = "\
Examples, in the folder of `wireloom example all`:
  wireloom tables programs/router.loom --tables programs/tables/small.tables")]
    Tables(tables::Tables),
    /// Assemble a program for the microengines of an IXP1200, IXP2400 or IXP2800, or for the tiles
    /// and switches of a RAW chip
    #[command(after_help = "\
Examples, in the folder of `wireloom example all`:
  wireloom assemble programs/microcode/ipv4.uc -o ipv4.uo
  wireloom assemble ipv4.uo --disassemble
  wireloom assemble programs/raw/null.rasm -o null.robj
  wireloom assemble null.robj --disassemble

The file's suffix says what it is: .uc for microengines, .rasm for tiles and switches.
Exit status 1 if the program has errors. Microengines: `wireloom docs microcode`, `wireloom docs ixp-instructions`; tiles and switches: `wireloom docs machines/raw`, `wireloom docs raw-instructions`.")]
    Assemble(assemble::Assemble),
    /// Network processors: search for one that carries given traffic, run one in its test rig,
    /// choose processors for virtual routers
    #[command(subcommand)]
    Np(Np),
    /// Tiled processors: find the tiles for a program, run C on a tile
    #[command(subcommand)]
    Raw(Raw),
    /// Multiprocessors: run programs of threads and distributed objects, generate their wrappers
    #[command(subcommand)]
    Mpsoc(Mpsoc),
    /// List the machines that programs run on, or explain one
    #[command(after_help = "\
Examples:
  wireloom machines
  wireloom machines np-2-2-4 > mine.toml")]
    Machines(machines::Machines),
    /// Show a page of the documentation, or explain a diagnostic
    #[command(after_help = "\
Examples:
  wireloom docs
  wireloom docs language
  wireloom docs machines/np#offloads
  wireloom docs E0201
  wireloom docs --html wireloom-docs

On a terminal, pages are shown by the program that PAGER names, or by less.")]
    Docs(docs::Docs),
    /// Print completions for a shell
    #[command(
        after_help = "Example:\n  wireloom completions bash > ~/.local/share/bash-completion/completions/wireloom"
    )]
    Completions(completions::Completions),
    /// List the third-party tools that machines need, with versions, or install them
    #[command(after_help = "\
Examples:
  wireloom tools
  wireloom tools --fetch hardware

Where tools are looked for: `wireloom docs installing`.")]
    Tools(tools::Tools),
    /// Write manual pages into a folder
    #[command(after_help = "Example:\n  wireloom manual ~/.local/share/man/man1")]
    Manual(manual::Manual),
}

/// Subcommands for network processors.
#[derive(Subcommand, Debug)]
pub enum Np {
    /// Search for the smallest network processor that carries given traffic without loss
    #[command(after_help = "\
Examples, in the folder of `wireloom example all`:
  wireloom np search programs/router.loom --tables programs/tables/small.tables --in programs/captures/first.pcapng --rate 100

Exit status 1 if none does. Units are synthesised and machines simulated as needed: minutes to hours the first time; what was found is
remembered.")]
    Search(search::Search),
    /// Run a network processor in its embedded test rig, which sends packets and checks the output
    #[command(after_help = "\
Examples, in the folder of `wireloom example all`:
  wireloom np rig programs/ipv4.loom --set COUNT_FLOWS=false --set NEXT_HOPS=4096 --tables programs/tables/rig.tables
  wireloom np rig programs/ipv4.loom --set COUNT_FLOWS=false --on np-2-2-4 --tables programs/tables/rig.tables --cycles 5000

Section [rig] of the machine's description says what is sent. Exit status 1 if a packet is missing, late or wrong.")]
    Rig(rig::Rig),
    /// Choose and build processors for virtual routers: isolated, merged, or grouped by common
    /// protocols
    #[command(after_help = "\
Examples, in the folder of `wireloom example all`:
  wireloom np virtual programs/tables/virtual.toml
  wireloom np virtual programs/tables/virtual.toml --method merged --on np-1-2-4 -o merged

The file lists the routers: name, protocols, rate, tables (`wireloom docs virtual`). Units are synthesised and machines simulated as needed:
minutes to hours the first time; what was found is remembered.")]
    Virtual(virtual_routers::Virtual),
}

impl Np {
    fn run(self) -> Outcome {
        match self {
            Self::Search(command) => command.run(),
            Self::Rig(command) => command.run(),
            Self::Virtual(command) => command.run(),
        }
    }
}

/// Subcommands for tiled processors.
#[derive(Subcommand, Debug)]
pub enum Raw {
    /// Find the tiles of a tiled processor that execute a program fastest, by measuring mappings
    #[command(after_help = "\
Examples, in the folder of `wireloom example all`:
  wireloom traffic --packets 400 --ports 4 --prefixes programs/tables/rig.tables --source-prefixes programs/tables/rig.tables --out four.pcapng
  wireloom raw map programs/ipv4.loom --on raw --tables programs/tables/rig.tables --in four.pcapng -o raw-ipv4.toml
  wireloom raw map programs/ipv4.loom --tables programs/tables/rig.tables --in four.pcapng --rate 5

Exit status 1 if no mapping carries the rate.")]
    Map(map::Map),
    /// Run a program in C on a tile of a simulated RAW chip
    #[command(after_help = "\
Examples, in the folder of `wireloom example all`:
  wireloom raw tile programs/raw/c/checksums.c --words 0x10000:8
  wireloom raw tile programs/raw/c/checksums.c --on raw --json -

Exit status 1 if main returns anything but 0 or is still running at the limit, or if the compiler refuses the program. What a tile has: `wireloom docs machines/raw`.")]
    Tile(tile::Tile),
}

impl Raw {
    fn run(self) -> Outcome {
        match self {
            Self::Map(command) => command.run(),
            Self::Tile(command) => command.run(),
        }
    }
}

/// Subcommands for multiprocessors.
#[derive(Subcommand, Debug)]
pub enum Mpsoc {
    /// Run a program of threads and distributed objects, in C, on a simulated multiprocessor
    #[command(after_help = "\
Examples, in the folder of `wireloom example all`:
  wireloom mpsoc application programs/mpsoc/philosophers.c --on mpsoc-oc48
  wireloom mpsoc application programs/mpsoc/race.c --races
  wireloom mpsoc application programs/mpsoc/forward.c programs/mpsoc/forward.sidl --in programs/captures/first.pcapng --out out.pcapng --timeline threads.json
  wireloom mpsoc application programs/mpsoc/forward.{c,sidl,loom} -D ROUTES_IN_HARDWARE --on programs/mpsoc/forward.toml --in programs/captures/first.pcapng

Exit status 1 if main returns anything but 0 or is still running at the limit, or if there are data races. How programs are written: `wireloom docs machines/mpsoc-applications`.")]
    Application(Box<application::Application>),
    /// Generate wrappers for the interfaces of distributed objects: C for simulated processors,
    /// Rust for the host, SystemVerilog for hardware
    #[command(after_help = "\
Examples, in the folder of `wireloom example all`:
  wireloom mpsoc sidl programs/mpsoc/forward.sidl -o wrappers

The language, and the files that the command writes: `wireloom docs sidl`.")]
    Sidl(sidl::Sidl),
}

impl Mpsoc {
    fn run(self) -> Outcome {
        match self {
            Self::Application(command) => command.run(),
            Self::Sidl(command) => command.run(),
        }
    }
}

impl Command {
    /// Whether the subcommand itself handles the signals that ask the process to end.
    pub fn handles_signals(&self) -> bool {
        match self {
            #[cfg(target_os = "linux")]
            Self::Forward(_) => true,
            #[cfg(target_os = "linux")]
            Self::Ctl(ctl) => ctl.handles_signals(),
            Self::Debug(_) | Self::Monitor(_) => true,
            _ => false,
        }
    }

    /// Runs the subcommand.
    ///
    /// # Errors
    /// See [`crate::failure::Failure`].
    pub fn run(self) -> Outcome {
        match self {
            Self::Check(command) => command.run(),
            Self::Explain(command) => command.run(),
            Self::Run(command) => command.run(),
            #[cfg(target_os = "linux")]
            Self::Forward(command) => command.run(),
            #[cfg(target_os = "linux")]
            Self::Ctl(command) => command.run(),
            #[cfg(target_os = "linux")]
            Self::Top(command) => command.run(),
            Self::Verify(command) => command.run(),
            Self::Test(command) => command.run(),
            Self::New(command) => command.run(),
            Self::Example(command) => command.run(),
            Self::Trace(command) => command.run(),
            Self::Debug(command) => command.run(),
            Self::Monitor(command) => command.run(),
            Self::Build(command) => command.run(),
            Self::Bench(command) => command.run(),
            Self::Traffic(command) => command.run(),
            Self::Tables(command) => command.run(),
            Self::Assemble(command) => command.run(),
            Self::Np(command) => command.run(),
            Self::Raw(command) => command.run(),
            Self::Mpsoc(command) => command.run(),
            Self::Machines(command) => command.run(),
            Self::Docs(command) => command.run(),
            Self::Completions(command) => command.run(),
            Self::Tools(command) => command.run(),
            Self::Manual(command) => command.run(),
        }
    }
}
