//! The components that only applications have: services that threads serve, the thread manager, the
//! console, and race detection on shared memory.

use wireloom_sim::{Kernel, SpecError};

use super::super::broker::{Errand, Service};
use super::super::call::{Call, Target};
use super::super::noc_payload::NocPayload;
use super::super::objects::{Element, ObjectInterface, Objects, Words};
use super::super::problem::{Failure, Problem};
use super::super::processor::Outside;
use super::super::spec::Spec;
use super::super::workload::{Start, Workload};
use super::{Event, Platform, context};
use crate::energy::Unit;
use crate::multiflex::races::{Meeting, Watch};
use crate::multiflex::threads::{Effect, Request, Thread, ThreadManager, Waiting};

/// The state that only applications have.
#[derive(Clone)]
pub(super) struct Application {
    manager: ThreadManager,
    /// For each hardware thread: its outstanding call of the thread manager.
    asking: Vec<Option<u32>>,
    /// The timing of the thread manager.
    manager_element: Element,
    /// The timing of the console.
    console_element: Element,
    /// Output that was printed and not yet taken.
    printed: Vec<u8>,
    /// The exit value of the first thread.
    ended: Option<u32>,
}

impl Application {
    pub(super) fn new(spec: &Spec) -> Result<Self, SpecError> {
        let element = |name: &str| {
            let (name, kind) = (name.replace('-', " "), name.to_owned());
            let (is_ordered, methods) = (false, Vec::new());
            let unit = Unit::default();
            Element::new(
                &ObjectInterface { name, kind, is_ordered, methods, times: None, unit },
                &spec.object,
            )
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

    /// The timing of the thread manager and of the console.
    pub(super) fn elements(&self) -> [&Element; 2] {
        [&self.manager_element, &self.console_element]
    }

    /// The exit value of the first thread, if it has ended.
    pub(super) fn ended(&self) -> Option<u32> {
        self.ended
    }

    /// The thread of the program that a hardware thread runs.
    pub(super) fn thread(&self, hardware: u32) -> Option<Thread> {
        self.manager.thread(hardware)
    }

    /// The threads that wait at the thread manager. With each, the thread that it waits for, if
    /// any, and a description of the event.
    pub(super) fn waits(&self) -> impl Iterator<Item = (Thread, Option<Thread>, String)> + '_ {
        self.manager.waits().map(|(thread, waiting)| {
            let (on, what) = match waiting {
                Waiting::Hardware => (None, "a free hardware thread".to_owned()),
                Waiting::End(other) => (Some(other), "its end".to_owned()),
                Waiting::Monitor(monitor, owner) => {
                    (Some(owner), format!("monitor 0x{monitor:08x}"))
                }
                Waiting::Condition(condition) => (None, format!("condition 0x{condition:08x}")),
                Waiting::Semaphore(semaphore) => (None, format!("semaphore 0x{semaphore:08x}")),
            };
            (thread, on, what)
        })
    }
}

/// The thread number for race detection: an application's own thread number, or the number of an
/// engine's hardware thread.
pub(super) fn watched(application: Option<&Application>, hardware: u32) -> Thread {
    application.and_then(|application| application.thread(hardware)).unwrap_or(hardware)
}

impl<W: Workload, O: Objects> Platform<W, O> {
    /// Publishes the past of a thread at a synchronisation point.
    pub(super) fn publish(&mut self, hardware: u32, at: Meeting) {
        if let Some(watch) = &mut self.watch {
            watch.publish(watched(self.application.as_ref(), hardware), at);
        }
    }

    /// Lets a thread learn the past that was published at a synchronisation point.
    pub(super) fn learn(&mut self, hardware: u32, at: Meeting) {
        if let Some(watch) = &mut self.watch {
            watch.learn(watched(self.application.as_ref(), hardware), at);
        }
    }

    /// Like [`learn`](Self::learn), at a synchronisation point that is not used again.
    pub(super) fn learn_once(&mut self, hardware: u32, at: Meeting) {
        self.learn(hardware, at);
        if let Some(watch) = &mut self.watch {
            watch.forget(at);
        }
    }

    /// The exit value of the first thread of an application.
    pub(in super::super) fn ended(&self) -> Option<u32> {
        self.application.as_ref().and_then(Application::ended)
    }

    /// Takes the bytes that an application has printed.
    pub(in super::super) fn take_printed(&mut self) -> Vec<u8> {
        self.application
            .as_mut()
            .map(|application| std::mem::take(&mut application.printed))
            .unwrap_or_default()
    }

    /// The name of a hardware thread in reports. If it runs a thread of an application, the name of
    /// that thread.
    pub(super) fn thread_name(&self, hardware: u32) -> String {
        match self.application.as_ref().and_then(|application| application.thread(hardware)) {
            Some(thread) => format!("thread {thread}"),
            None => {
                format!("processor {} thread {}", hardware / self.threads, hardware % self.threads)
            }
        }
    }

    /// Whether a hardware thread waits at the thread manager.
    pub(super) fn is_managed(&self, hardware: u32) -> bool {
        let asking =
            self.application.as_ref().map(|application| &application.asking[hardware as usize]);
        asking.is_some_and(Option::is_some)
    }

    /// Handles a call that has arrived at the broker.
    pub(super) fn call_service(
        &mut self,
        number: u32,
        service: Service,
        kernel: &mut Kernel<Event>,
    ) {
        let matched = self.broker.call(kernel.now(), service, Errand::Call(number));
        self.matched(matched, kernel);
    }

    /// Gives a call to a server.
    pub(super) fn serve(&mut self, number: u32, thread: u32, kernel: &mut Kernel<Event>) {
        if let Some(object) =
            self.hardware_server(thread).and_then(|server| self.method_of(server, number))
        {
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

    /// Handles a call that has arrived at the thread manager.
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
                    let asking =
                        self.application.as_mut().map(|own| &mut own.asking[hardware as usize]);
                    let Some(call) = asking.and_then(Option::take) else { continue };
                    self.calls[call as usize].words = Words::from_elem(value, 1);
                    self.message(from, self.thread_node(hardware), 4, NocPayload::Reply { call })
                }
                Effect::Begin { hardware, entry, argument, .. } => {
                    let start = Start { function: entry, argument };
                    self.message(
                        from,
                        self.thread_node(hardware),
                        8,
                        NocPayload::Begin { hardware, start },
                    )
                }
                Effect::Free { .. } => continue,
            };
            self.send_at(done, message, kernel);
        }
    }

    /// Begins a thread of the program on a hardware thread.
    pub(super) fn begin(&mut self, hardware: u32, start: Start, kernel: &mut Kernel<Event>) {
        let number = hardware / self.threads;
        let Self { workload, processors, sent, timeline, labels, .. } = self;
        let mut outside = Outside { now: kernel.now(), sent, timeline, labels };
        processors[number as usize].begin(hardware % self.threads, start, workload, &mut outside);
        self.behind(number, true, kernel);
    }

    /// Handles a call that has arrived at the console.
    pub(super) fn print(&mut self, number: u32, kernel: &mut Kernel<Event>) {
        let call = self.calls.remove(number as usize);
        let Some(application) = &mut self.application else { return };
        let done = application.console_element.call(kernel.now(), kernel.now());
        let begun = application.console_element.begun(done);
        if let Target::Console { bytes } = call.target {
            let words = call.words.iter().flat_map(|word| word.to_le_bytes());
            application.printed.extend(words.take(bytes as usize));
        }
        self.acknowledge(&call, self.console_node(), begun, kernel);
    }

    /// Ends the run because of an invalid request of a thread.
    pub(super) fn fail(&mut self, hardware: u32, problem: Problem, kernel: &mut Kernel<Event>) {
        let thread = &self.processors[(hardware / self.threads) as usize];
        let registers = thread
            .threads()
            .nth((hardware % self.threads) as usize)
            .map(|(_, registers)| registers);
        let place = registers.map(|registers| self.workload.place(registers)).unwrap_or_default();
        self.fail_at(place, hardware, problem, kernel);
    }

    /// Like [`fail`](Self::fail), at a place of the thread's program.
    pub(super) fn fail_at(
        &mut self,
        place: String,
        hardware: u32,
        problem: Problem,
        kernel: &mut Kernel<Event>,
    ) {
        self.failure = Some(Box::new(Failure {
            processor: hardware / self.threads,
            thread: hardware % self.threads,
            at: kernel.now(),
            place,
            problem,
        }));
        kernel.stop();
    }
}

/// Updates the happens-before order for a request and its effects.
fn order(
    watch: &mut Watch,
    manager: &ThreadManager,
    asker: Thread,
    request: Request,
    effects: &[Effect],
) {
    let (at, lets_know) = match request {
        Request::Create { .. } | Request::SetPriority { .. } | Request::Identify => (None, false),
        Request::Exit { .. } => (Some(Meeting::Thread(asker)), true),
        Request::Join { thread } => (Some(Meeting::Thread(thread)), false),
        Request::Enter { monitor } => (Some(Meeting::Monitor(monitor)), false),
        Request::Leave { monitor } | Request::Wait { monitor, .. } => {
            (Some(Meeting::Monitor(monitor)), true)
        }
        // The woken thread has the monitor only after this thread leaves it.
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
            // The thread that gets the reply learns the past of the object of the request. A thread
            // that only publishes learns nothing.
            Effect::Answer { hardware, .. } => {
                let answered =
                    manager.thread(hardware).filter(|thread| *thread != asker || !lets_know);
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
