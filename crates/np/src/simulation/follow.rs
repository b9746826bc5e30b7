//! The path of one packet through a processor: the signals that show it, and the events that
//! `follow.h` derives from them.

use std::fmt::Write;

use wireloom_codegen_hardware::core::assemble::exit_code;

/// Signals of a pipe's module.
const PIPE: [&str; 3] = ["cluster_valid", "cluster_ready", "cluster_first"];
/// Signals of a cluster's module.
const CLUSTER: [&str; 13] = [
    "offered",
    "taken",
    "row_first",
    "tag",
    "finish_valid",
    "finish_ready",
    "finish_last",
    "finish_tag",
    "out_valid",
    "out_ready",
    "out_first",
    "out_last",
    "out_result",
];
/// Signals of an engine's module.
const ENGINE: [&str; 8] = [
    "load_valid_i",
    "load_ready_o",
    "load_first_i",
    "load_tag_i",
    "unload_valid_o",
    "unload_ready_i",
    "unload_last_o",
    "unload_tag_o",
];
/// Signals of the shells of engines.
const SHELL: [&str; 10] = [
    "load_thread",
    "loaded",
    "slot_valid_o",
    "address_step_o",
    "end_slot",
    "end_thread",
    "commit",
    "core_step_i",
    "core_exit_i",
    "request_valid_o",
];

/// `struct wl_event`: an event of the packet that is followed.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct RawEvent {
    pub cycle: u64,
    pub number: u64,
    pub kind: u32,
    pub pipe: u32,
    pub cluster: u32,
}

/// The parts of a processor whose signals show the path of a packet.
#[derive(Clone, Debug)]
pub struct Followed {
    /// The scope of `np_top` in the simulation.
    pub top: String,
    /// The modules of a pipe, a cluster and an engine.
    pub modules: [String; 3],
    /// Number of clusters of a pipe, and of engines of a cluster.
    pub counts: [usize; 2],
    /// The shell of the engines, as a module name; for pipelined engines the template of a step.
    pub shell: &'static str,
    /// The engine's ports: the name, the offload in the source, and whether it replies.
    pub offloads: Vec<(String, String, bool)>,
    /// The names of the engine's steps.
    pub steps: Vec<String>,
    /// The steps of a pipelined engine, in order; empty for others.
    pub pipeline: Vec<PipelinedStep>,
}

/// A step of a pipelined engine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PipelinedStep {
    /// The prefix of the step's nets.
    pub prefix: String,
    pub step: usize,
    /// Cycles from its window to its requests.
    pub request_stages: u32,
    /// The offload ports that the step calls.
    pub calls: Vec<usize>,
}

/// An event of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    pub cycle: u64,
    pub what: Happened,
    pub pipe: u32,
    pub cluster: u32,
}

/// The kind of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Happened {
    /// The packet's header goes to a cluster.
    ToCluster,
    /// The packet gets its place in the order of its cluster.
    Place,
    /// The packet is loaded into an engine, for this thread.
    Load {
        /// The number of the engine in the cluster.
        engine: u32,
        /// The number of the thread in the engine.
        thread: u32,
    },
    /// The load of the packet has ended.
    Loaded,
    /// The packet's thread begins a slot of this step.
    Slot(usize),
    /// The slot ends.
    SlotEnds {
        /// The exit code of `wl_pkg`.
        exit: u64,
        /// The step of the thread's next slot.
        next: usize,
    },
    /// The slot ended without effect and is repeated.
    SlotAgain,
    /// The packet's thread calls an offload.
    Call(usize),
    /// The request leaves the engine.
    CallTaken(usize),
    /// The reply has arrived.
    Reply(usize),
    /// An output has left the engine.
    Unloaded,
    /// An output is in the reorder queue.
    Stored,
    /// An output leaves the reorder queue.
    InOrder,
    /// The packet enters a step of a pipelined engine.
    StepBegins(usize),
    /// The packet leaves a step of a pipelined engine.
    StepEnds(usize),
    /// The packet's window leaves a pipelined engine.
    Window,
}

impl Event {
    pub(super) fn new(raw: &RawEvent) -> Option<Self> {
        let number = raw.number as usize;
        let low = raw.number as u32;
        let what = match raw.kind {
            0 => Happened::ToCluster,
            1 => Happened::Place,
            2 => Happened::Load { engine: low >> 16, thread: low & 0xffff },
            3 => Happened::Loaded,
            4 => Happened::Slot(number),
            5 => Happened::SlotEnds { exit: raw.number >> 32, next: low as usize },
            6 => Happened::SlotAgain,
            7 => Happened::Call(number),
            8 => Happened::CallTaken(number),
            9 => Happened::Reply(number),
            10 => Happened::Unloaded,
            11 => Happened::Stored,
            12 => Happened::InOrder,
            13 => Happened::StepBegins(number),
            14 => Happened::StepEnds(number),
            15 => Happened::Window,
            _ => return None,
        };
        Some(Self { cycle: raw.cycle, what, pipe: raw.pipe, cluster: raw.cluster })
    }
}

impl Followed {
    /// Returns the configuration of Verilator that makes the signals readable. The design and its
    /// timing stay the same.
    pub(super) fn configuration(&self) -> String {
        let mut text = "`verilator_config\n".to_owned();
        let mut add = |module: &str, signal: &str| {
            writeln!(text, "public_flat_rd -module \"{module}\" -var \"{signal}\"")
                .expect("a string takes everything");
        };
        let [pipe, cluster, engine] = &self.modules;
        PIPE.iter().for_each(|signal| add(pipe, signal));
        if self.pipeline.is_empty() {
            CLUSTER.iter().for_each(|signal| add(cluster, signal));
            ENGINE.iter().for_each(|signal| add(engine, signal));
            SHELL.iter().for_each(|signal| add(self.shell, signal));
            if !self.has_one_thread() {
                add(self.shell, "a_thread");
            }
            for (port, _, replies) in &self.offloads {
                let requests = ["request_valid_o", "request_ready_i", "request_thread_o"];
                let answers = ["reply_valid_i", "reply_thread_i"].into_iter().filter(|_| *replies);
                requests
                    .into_iter()
                    .chain(answers)
                    .for_each(|s| add(engine, &format!("{port}_{s}")));
            }
            return text;
        }
        add(self.shell, "r_valid");
        for signal in ["beat_valid_o", "beat_ready_i", "beat_last_o"] {
            add(engine, signal);
        }
        (0..=self.pipeline.len()).for_each(|place| add(engine, &format!("valid_{place}")));
        for step in &self.pipeline {
            for net in ["issue_valid", "reply_take"] {
                add(engine, &format!("{}_{net}", step.prefix));
            }
        }
        text
    }

    fn has_one_thread(&self) -> bool {
        self.shell == "wl_engine_fsm"
    }

    /// Returns the parameters of `follow.h`: names and values of C++ preprocessor macros.
    pub(super) fn definitions(&self) -> Vec<(&'static str, String)> {
        let [clusters, engines] = self.counts;
        let flag = |holds: bool| u8::from(holds).to_string();
        let quoted = |text: &str| format!("\"{text}\"");
        let offloads: Vec<String> = self.offloads.iter().map(|(port, ..)| quoted(port)).collect();
        let replies: String =
            self.offloads.iter().map(|(.., replies)| format!("{replies}, ")).collect();
        let step = |step: &PipelinedStep| {
            let calls: Vec<String> = step.calls.iter().map(usize::to_string).collect();
            format!("{{\"{}\", {}, {{{}}}}}", step.prefix, step.request_stages, calls.join(", "))
        };
        let steps: Vec<String> = self.pipeline.iter().map(step).collect();
        vec![
            ("WL_FOLLOW_TOP", quoted(&self.top)),
            ("WL_CLUSTERS", clusters.to_string()),
            ("WL_ENGINES", engines.to_string()),
            ("WL_ONE_THREAD", flag(self.has_one_thread())),
            ("WL_PIPELINED", flag(!self.pipeline.is_empty())),
            ("WL_OFFLOADS", offloads.join(", ")),
            ("WL_REPLIES", replies),
            ("WL_STEPS", steps.join(", ")),
        ]
    }

    /// Describes an event in words. Returns the place and the event. `thread` holds the place of
    /// the packet's thread; the event that chooses the thread sets it.
    pub fn words(&self, event: &Event, thread: &mut Option<String>) -> (String, String) {
        let cluster = format!("pipe{}.cluster{}", event.pipe, event.cluster);
        if let Happened::Load { engine, thread: number } = event.what {
            *thread = Some(format!("{cluster}.engine{engine}.thread{number}"));
        }
        let what = match event.what {
            Happened::ToCluster => "header goes to the cluster".to_owned(),
            Happened::Place => "takes its place in the order".to_owned(),
            Happened::Load { .. } => "first row loaded for a free thread".to_owned(),
            Happened::Loaded => "loaded".to_owned(),
            Happened::Slot(step) => format!("slot of step {} begins", self.step(step)),
            Happened::SlotEnds { exit, next } => self.end(exit, next),
            Happened::SlotAgain => "slot had no effect: it is repeated".to_owned(),
            Happened::Call(offload) => format!("calls {}", self.offload(offload)),
            Happened::CallTaken(offload) => {
                format!("request to {} leaves the engine", self.offload(offload))
            }
            Happened::Reply(offload) => format!("{} replies", self.offload(offload)),
            Happened::Unloaded => "has left the engine".to_owned(),
            Happened::Stored => "in the reorder queue".to_owned(),
            Happened::InOrder => "its turn: leaves the reorder queue".to_owned(),
            Happened::StepBegins(place) => format!("enters step {}", self.pipelined(place)),
            Happened::StepEnds(place) => format!("leaves step {}", self.pipelined(place)),
            Happened::Window => "window has left the pipeline".to_owned(),
        };
        let of_cluster = matches!(
            event.what,
            Happened::ToCluster | Happened::Place | Happened::Stored | Happened::InOrder
        );
        let place = if of_cluster { None } else { thread.clone() };
        (place.unwrap_or(cluster), what)
    }

    fn end(&self, exit: u64, next: usize) -> String {
        match exit {
            exit_code::FINISH => "slot ends: finish".to_owned(),
            exit_code::EMIT => format!("slot ends: emit, then step {}", self.step(next)),
            exit_code::COPY_TO_CPU => {
                format!("slot ends: a copy to the cpu, then step {}", self.step(next))
            }
            exit_code::DROP => "slot ends: drop".to_owned(),
            exit_code::TO_CPU => "slot ends: to the cpu".to_owned(),
            exit_code::DONE => "slot ends: done".to_owned(),
            _ => format!("slot ends: next step {}", self.step(next)),
        }
    }

    fn step(&self, number: usize) -> &str {
        self.steps.get(number).map_or("?", String::as_str)
    }

    fn pipelined(&self, place: usize) -> &str {
        self.pipeline.get(place).map_or("?", |step| self.step(step.step))
    }

    fn offload(&self, number: usize) -> &str {
        self.offloads.get(number).map_or("?", |(_, offload, _)| offload)
    }
}
