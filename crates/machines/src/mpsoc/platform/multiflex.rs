//! What applications have beside packets: services that threads serve, the thread manager, the console, and who watches shared memory.

use wireloom_sim::{Kernel, SpecError};

use super::super::broker::{Errand, Service};
use super::super::machine::{Failure, Problem};
use super::super::mpe::{Call, Target};
use super::super::objects::{Element, ObjectInterface, Objects, Words};
use super::super::parcel::Parcel;
use super::super::processor::Outside;
use super::super::spec::Spec;
use super::super::workload::{Start, Workload};
use super::{Event, Platform, context};
use crate::multiflex::races::{Meeting, Watch};
use crate::multiflex::threads::{Effect, Request, Thread, ThreadManager, Waiting};

/// What only applications have.
pub(super) struct Application {
    manager: ThreadManager,
    /// For each hardware thread: its call of the thread manager that was not answered.
    asking: Vec<Option<u32>>,
    /// The times of the thread manager.
    manager_element: Element,
    /// The times of what prints.
    console_element: Element,
    /// What was printed, and nobody has taken.
    printed: Vec<u8>,
    /// What the first thread has ended with.
    ended: Option<u32>,
}

impl Application {
    pub(super) fn new(spec: &Spec) -> Result<Self, SpecError> {
        let element = |name: &str| {
            let (name, kind) = (name.replace('-', " "), name.to_owned());
            let (is_ordered, methods) = (false, Vec::new());
            Element::new(&ObjectInterface { name, kind, is_ordered, methods, times: None }, spec)
        };
        Ok(Self {
            manager: ThreadManager::new(0..spec.servers()),
            asking: vec![None; spec.servers() as usize],
            manager_element: element("thread-manager")?,
            console_element: element("console")?,
            printed: Vec::new(),
            ended: None,
        })
    }

    /// The times of its hardware.
    pub(super) fn elements(&self) -> [&Element; 2] {
        [&self.manager_element, &self.console_element]
    }

    /// What the first thread has ended with, if it has.
    pub(super) fn ended(&self) -> Option<u32> {
        self.ended
    }

    /// The thread of the program that a hardware thread runs.
    pub(super) fn thread(&self, hardware: u32) -> Option<Thread> {
        self.manager.thread(hardware)
    }

    /// Threads that wait at the thread manager: for whom, if it is a thread, and for what.
    pub(super) fn waits(&self) -> impl Iterator<Item = (Thread, Option<Thread>, String)> + '_ {
        self.manager.waits().map(|(thread, waiting)| {
            let (on, what) = match waiting {
                Waiting::Hardware => (None, "a free hardware thread".to_owned()),
                Waiting::End(other) => (Some(other), "its end".to_owned()),
                Waiting::Monitor(monitor, owner) => (Some(owner), format!("monitor 0x{monitor:08x}")),
                Waiting::Condition(condition) => (None, format!("condition 0x{condition:08x}")),
                Waiting::Semaphore(semaphore) => (None, format!("semaphore 0x{semaphore:08x}")),
            };
            (thread, on, what)
        })
    }
}

/// How a watch knows the threads of a machine: an application's by their own numbers, an engine's by those of the hardware.
pub(super) fn watched(application: Option<&Application>, hardware: u32) -> Thread {
    application.and_then(|application| application.thread(hardware)).unwrap_or(hardware)
}

impl<W: Workload, O: Objects> Platform<W, O> {
    /// A thread has let others know what it has done.
    pub(super) fn publish(&mut self, hardware: u32, at: Meeting) {
        if let Some(watch) = &mut self.watch {
            watch.publish(watched(self.application.as_ref(), hardware), at);
        }
    }

    /// A thread knows what was let know.
    pub(super) fn learn(&mut self, hardware: u32, at: Meeting) {
        if let Some(watch) = &mut self.watch {
            watch.learn(watched(self.application.as_ref(), hardware), at);
        }
    }

    /// As [`learn`](Self::learn), at a meeting that is over then.
    pub(super) fn learn_once(&mut self, hardware: u32, at: Meeting) {
        self.learn(hardware, at);
        if let Some(watch) = &mut self.watch {
            watch.forget(at);
        }
    }

    /// What the first thread of an application has ended with.
    pub(in super::super) fn ended(&self) -> Option<u32> {
        self.application.as_ref().and_then(Application::ended)
    }

    /// Takes what an application has printed.
    pub(in super::super) fn take_printed(&mut self) -> Vec<u8> {
        self.application
            .as_mut()
            .map(|application| std::mem::take(&mut application.printed))
            .unwrap_or_default()
    }

    /// What a hardware thread is called in reports: if it runs a thread of an application, like that.
    pub(super) fn thread_name(&self, hardware: u32) -> String {
        match self.application.as_ref().and_then(|application| application.thread(hardware)) {
            Some(thread) => format!("thread {thread}"),
            None => format!("processor {} thread {}", hardware / self.threads, hardware % self.threads),
        }
    }

    /// Whether a hardware thread waits at the thread manager.
    pub(super) fn is_managed(&self, hardware: u32) -> bool {
        let asking = self.application.as_ref().map(|application| &application.asking[hardware as usize]);
        asking.is_some_and(Option::is_some)
    }

    /// A call has come to the broker.
    pub(super) fn call_service(&mut self, number: u32, service: Service, kernel: &mut Kernel<Event>) {
        let matched = self.broker.call(kernel.now(), service, Errand::Call(number));
        self.matched(matched, kernel);
    }

    /// The broker gives a call to a server.
    pub(super) fn serve(&mut self, number: u32, thread: u32, kernel: &mut Kernel<Event>) {
        if let Some(object) = self.hardware_server(thread).and_then(|server| self.method_of(server, number)) {
            return self.serve_in_hardware(number, (thread, object), kernel);
        }
        let call = &self.calls[number as usize];
        context(&mut self.processors, self.threads, thread).serve(number, call);
        if call.reply_words == 0 {
            self.calls.remove(number as usize);
        }
        self.learn_once(thread, Meeting::Call(u64::from(number)));
        self.resume(thread, kernel.now(), kernel);
    }

    /// A call has come to the thread manager.
    pub(super) fn manage(&mut self, number: u32, kernel: &mut Kernel<Event>) {
        let Some(application) = &mut self.application else { return };
        let now = kernel.now();
        let done = application.manager_element.call(now, now);
        let Call { target: Target::ThreadManager { method }, ref words, thread: hardware, .. } =
            self.calls[number as usize]
        else {
            return;
        };
        let request = Request::decode(method, words).expect("the call was launched with its words");
        let asking = &mut application.asking[hardware as usize];
        let thread = application.manager.thread(hardware);
        let result = match asking {
            Some(_) => Err(Problem::Asks),
            None => {
                *asking = Some(number);
                application.manager.request(hardware, request).map_err(Problem::Misuse)
            }
        };
        let effects = match result {
            Ok(effects) => effects,
            Err(problem) => return self.fail(hardware, problem, kernel),
        };
        if let Some(watch) = &mut self.watch {
            order(watch, &application.manager, thread.unwrap_or(0), request, &effects);
        }
        if let Request::Exit { value } = request {
            application.asking[hardware as usize] = None;
            self.calls.remove(number as usize);
            if thread == Some(0) {
                application.ended = Some(value);
                return kernel.stop();
            }
        }
        let from = self.manager_node();
        for effect in effects {
            let message = match effect {
                Effect::Answer { hardware, value } => {
                    let asking = self.application.as_mut().map(|own| &mut own.asking[hardware as usize]);
                    let Some(call) = asking.and_then(Option::take) else { continue };
                    self.calls[call as usize].words = Words::from_elem(value, 1);
                    self.message(from, self.thread_node(hardware), 4, Parcel::Reply { call })
                }
                Effect::Begin { hardware, entry, argument, .. } => {
                    let start = Start { function: entry, argument };
                    self.message(from, self.thread_node(hardware), 8, Parcel::Begin { hardware, start })
                }
                Effect::Free { .. } => continue,
            };
            self.send_at(done, message, kernel);
        }
    }

    /// A hardware thread begins a thread of the program.
    pub(super) fn begin(&mut self, hardware: u32, start: Start, kernel: &mut Kernel<Event>) {
        let number = hardware / self.threads;
        let Self { workload, processors, sent, timeline, labels, .. } = self;
        let mut outside = Outside { now: kernel.now(), sent, timeline, labels };
        processors[number as usize].begin(hardware % self.threads, start, workload, &mut outside);
        self.behind(number, true, kernel);
    }

    /// A call has come to what prints.
    pub(super) fn print(&mut self, number: u32, kernel: &mut Kernel<Event>) {
        let call = self.calls.remove(number as usize);
        let Some(application) = &mut self.application else { return };
        application.console_element.call(kernel.now(), kernel.now());
        if let Target::Console { bytes } = call.target {
            let words = call.words.iter().flat_map(|word| word.to_le_bytes());
            application.printed.extend(words.take(bytes as usize));
        }
    }

    /// Ends the run: a thread has asked for what it may not.
    pub(super) fn fail(&mut self, hardware: u32, problem: Problem, kernel: &mut Kernel<Event>) {
        self.failure = Some(Box::new(Failure {
            processor: hardware / self.threads,
            thread: hardware % self.threads,
            at: kernel.now(),
            problem,
        }));
        kernel.stop();
    }
}

/// What a request and its effects say about who knows of whom.
fn order(watch: &mut Watch, manager: &ThreadManager, asker: Thread, request: Request, effects: &[Effect]) {
    let (at, lets_know) = match request {
        Request::Create { .. } | Request::SetPriority { .. } | Request::Identify => (None, false),
        Request::Exit { .. } => (Some(Meeting::Thread(asker)), true),
        Request::Join { thread } => (Some(Meeting::Thread(thread)), false),
        Request::Enter { monitor } => (Some(Meeting::Monitor(monitor)), false),
        Request::Leave { monitor } | Request::Wait { monitor, .. } => (Some(Meeting::Monitor(monitor)), true),
        // Who is woken has the monitor only when this thread leaves it.
        Request::Notify { .. } | Request::NotifyAll { .. } => (None, false),
        Request::Acquire { semaphore } => (Some(Meeting::Semaphore(semaphore)), false),
        Request::Release { semaphore, .. } => (Some(Meeting::Semaphore(semaphore)), true),
    };
    if let Some(at) = at.filter(|_| lets_know) {
        watch.publish(asker, at);
    }
    for effect in effects {
        match *effect {
            Effect::Answer { value: created, .. } if matches!(request, Request::Create { .. }) => {
                watch.publish(asker, Meeting::Thread(created));
            }
            // Who is answered has what the request was about; who only lets know learns nothing.
            Effect::Answer { hardware, .. } => {
                let answered = manager.thread(hardware).filter(|thread| *thread != asker || !lets_know);
                if let (Some(at), Some(answered)) = (at, answered) {
                    watch.learn(answered, at);
                }
            }
            Effect::Begin { .. } | Effect::Free { .. } => {}
        }
    }
    for effect in effects {
        if let Effect::Begin { thread, .. } = *effect {
            watch.learn(thread, Meeting::Thread(thread));
        }
    }
}
