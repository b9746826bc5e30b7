//! A model loaded into this process through the C interface of `harness.cpp`.

use std::ffi::{CStr, CString, c_char, c_int};
use std::path::Path;
use std::sync::Arc;

use super::error::{BuildError, Fault};
use super::follow::RawEvent;
use super::settings::Settings;
use super::source::Geometry;

/// `struct wl_options`.
#[repr(C)]
struct RawOptions {
    arguments: *const *const c_char,
    argument_count: u32,
    buffer: u32,
    idle_percent: u32,
    stall_percent: u32,
    seed: u64,
    patience: u64,
    period_ps: u64,
    waves: *const c_char,
}

/// `struct wl_left`.
#[repr(C)]
#[derive(Clone, Copy)]
pub(super) struct RawLeft {
    pub number: u64,
    pub arrived: u64,
    pub entered: u64,
    pub left: u64,
    pub bytes: *const u8,
    pub length: u32,
    pub kind: u32,
    pub reason: u32,
    pub egress: u32,
}

/// `struct wl_state`: the state of a simulation.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct State {
    /// Number of simulated cycles.
    pub cycles: u64,
    /// Number of cycles, including those skipped because the machine was empty.
    pub now: u64,
    /// Packets that were offered and have not started to enter the machine.
    pub waiting: u64,
    pub inside: u64,
    /// Packets that were lost at the input.
    pub lost: u64,
    /// Number of simulated cycles before the first packet came in and since the last one left.
    pub outside: u64,
}

/// `Simulation` of the harness.
#[repr(C)]
struct RawSimulation {
    _private: [u8; 0],
}

/// The functions of a model's library.
#[derive(Clone, Copy)]
struct Functions {
    open: unsafe extern "C" fn(*const RawOptions, *mut c_char, u32) -> *mut RawSimulation,
    close: unsafe extern "C" fn(*mut RawSimulation),
    error: unsafe extern "C" fn(*const RawSimulation) -> *const c_char,
    offer: unsafe extern "C" fn(*mut RawSimulation, *const u8, u32, u16, u64, u64, c_int),
    run: unsafe extern "C" fn(*mut RawSimulation, u64, c_int) -> c_int,
    take: unsafe extern "C" fn(*mut RawSimulation, *mut RawLeft) -> c_int,
    take_lost: unsafe extern "C" fn(*mut RawSimulation, *mut u64) -> c_int,
    control: unsafe extern "C" fn(*mut RawSimulation, c_int, u32, u32),
    take_answer: unsafe extern "C" fn(*mut RawSimulation, *mut u64) -> c_int,
    follow: unsafe extern "C" fn(*mut RawSimulation, u64),
    take_event: unsafe extern "C" fn(*mut RawSimulation, *mut RawEvent) -> c_int,
    state_of: unsafe extern "C" fn(*const RawSimulation, *mut State),
    probes: unsafe extern "C" fn(*const RawSimulation) -> *const u64,
    probes_outside: unsafe extern "C" fn(*mut RawSimulation) -> *const u64,
}

/// A translated and loaded machine. It can start any number of simulations, and is cheap to clone.
#[derive(Clone)]
pub struct Model {
    /// Keeps the code of `functions` in memory.
    _library: Arc<libloading::Library>,
    functions: Functions,
    geometry: Arc<Geometry>,
}

impl Model {
    pub(super) fn load(object: &Path, geometry: Geometry) -> Result<Self, BuildError> {
        let refused = |error: libloading::Error| BuildError::Load {
            path: object.to_owned(),
            message: error.to_string(),
        };
        // SAFETY: the object was built from our harness and Verilator's code, whose initialisers
        // only initialise their own data.
        let library = unsafe { libloading::Library::new(object) }.map_err(refused)?;
        macro_rules! function {
            ($name:literal) => {
                // SAFETY: the harness defines the function with this type, and `Model` keeps the
                // library loaded.
                unsafe { *library.get($name).map_err(refused)? }
            };
        }
        let functions = Functions {
            open: function!(b"wl_open"),
            close: function!(b"wl_close"),
            error: function!(b"wl_error"),
            offer: function!(b"wl_offer"),
            run: function!(b"wl_run"),
            take: function!(b"wl_take"),
            take_lost: function!(b"wl_take_lost"),
            control: function!(b"wl_control"),
            take_answer: function!(b"wl_take_answer"),
            follow: function!(b"wl_follow"),
            take_event: function!(b"wl_take_event"),
            state_of: function!(b"wl_state_of"),
            probes: function!(b"wl_probes"),
            probes_outside: function!(b"wl_probes_outside"),
        };
        Ok(Self { _library: Arc::new(library), functions, geometry: Arc::new(geometry) })
    }

    /// Returns the shape of the machine's ports.
    pub fn geometry(&self) -> &Geometry {
        &self.geometry
    }
}

/// A running model. Its methods call the harness directly.
pub(super) struct Instance {
    model: Model,
    raw: *mut RawSimulation,
}

// SAFETY: all data of the harness is reachable from the address, and no two calls run at the same
// time. Each call sets Verilator's thread-local data anew.
unsafe impl Send for Instance {}

impl Instance {
    pub fn open(model: &Model, settings: &Settings) -> Result<Self, Fault> {
        let c_string = |text: &str| {
            CString::new(text).map_err(|_| Fault(format!("'{text}' has a zero byte in it")))
        };
        let arguments: Result<Vec<CString>, Fault> =
            settings.arguments.iter().map(|argument| c_string(argument)).collect();
        let arguments = arguments?;
        let pointers: Vec<*const c_char> =
            arguments.iter().map(|argument| argument.as_ptr()).collect();
        let waves =
            settings.waves.as_ref().map(|path| c_string(&path.to_string_lossy())).transpose()?;
        let options = RawOptions {
            arguments: pointers.as_ptr(),
            argument_count: pointers.len() as u32,
            buffer: settings.buffer.max(1),
            idle_percent: settings.idle_percent.min(99),
            stall_percent: settings.stall_percent.min(99),
            seed: settings.seed,
            patience: settings.patience,
            period_ps: 1_000_000 / u64::from(settings.clock_mhz.max(1)),
            waves: waves.as_ref().map_or(std::ptr::null(), |path| path.as_ptr()),
        };
        let mut error = vec![0u8; 4096];
        // SAFETY: the options and everything that they point to outlive the call, which keeps none
        // of it.
        let raw = unsafe {
            (model.functions.open)(
                &raw const options,
                error.as_mut_ptr().cast(),
                error.len() as u32,
            )
        };
        if raw.is_null() {
            let text = CStr::from_bytes_until_nul(&error).unwrap_or_default();
            return Err(Fault(text.to_string_lossy().into_owned()));
        }
        Ok(Self { model: model.clone(), raw })
    }

    pub fn offer(
        &mut self,
        bytes: &[u8],
        ingress: u16,
        arrival_ns: u64,
        arrived: u64,
        waits: bool,
    ) {
        // SAFETY: the harness copies the bytes.
        unsafe {
            let (start, length) = (bytes.as_ptr(), bytes.len() as u32);
            (self.model.functions.offer)(
                self.raw,
                start,
                length,
                ingress,
                arrival_ns,
                arrived,
                c_int::from(waits),
            );
        }
    }

    /// Runs the machine. With `whatever` it runs even while it is idle.
    pub fn run(&mut self, cycles: u64, whatever: bool) -> Result<(), Fault> {
        // SAFETY: the simulation is open, and its error text is valid until the next call.
        unsafe {
            if (self.model.functions.run)(self.raw, cycles, c_int::from(whatever)) == 0 {
                return Ok(());
            }
            let text = CStr::from_ptr((self.model.functions.error)(self.raw));
            Err(Fault(text.to_string_lossy().into_owned()))
        }
    }

    /// Passes the next output to `with`, with its bytes.
    pub fn take<T>(&mut self, with: impl FnOnce(&RawLeft, &[u8]) -> T) -> Option<T> {
        let mut left = std::mem::MaybeUninit::uninit();
        // SAFETY: the harness fills the structure if it returns 1; its bytes are valid until the
        // next call.
        unsafe {
            if (self.model.functions.take)(self.raw, left.as_mut_ptr()) == 0 {
                return None;
            }
            let left: &RawLeft = left.assume_init_ref();
            let bytes = match left.length {
                0 => &[][..],
                length => std::slice::from_raw_parts(left.bytes, length as usize),
            };
            Some(with(left, bytes))
        }
    }

    pub fn take_lost(&mut self) -> Option<u64> {
        let mut number = 0;
        // SAFETY: the simulation is open.
        (unsafe { (self.model.functions.take_lost)(self.raw, &raw mut number) } != 0)
            .then_some(number)
    }

    pub fn control(&mut self, write: bool, address: u32, data: u32) {
        // SAFETY: the simulation is open.
        unsafe { (self.model.functions.control)(self.raw, c_int::from(write), address, data) };
    }

    pub fn take_answer(&mut self) -> Option<u64> {
        let mut answer = 0;
        // SAFETY: the simulation is open.
        (unsafe { (self.model.functions.take_answer)(self.raw, &raw mut answer) } != 0)
            .then_some(answer)
    }

    pub fn follow(&mut self, number: u64) {
        // SAFETY: the simulation is open.
        unsafe { (self.model.functions.follow)(self.raw, number) };
    }

    pub fn take_event(&mut self) -> Option<RawEvent> {
        let mut event = std::mem::MaybeUninit::uninit();
        // SAFETY: the harness fills the structure if it returns 1.
        unsafe {
            ((self.model.functions.take_event)(self.raw, event.as_mut_ptr()) != 0)
                .then(|| event.assume_init())
        }
    }

    pub fn state(&self) -> State {
        let mut state = State::default();
        // SAFETY: the simulation is open.
        unsafe { (self.model.functions.state_of)(self.raw, &raw mut state) };
        state
    }

    /// Returns, for each probe bit, the number of cycles in which it was set.
    pub fn probes(&self) -> &[u64] {
        // SAFETY: the simulation is open, and `self` stays borrowed.
        unsafe { self.counts((self.model.functions.probes)(self.raw)) }
    }

    /// Returns, for each probe bit, the number of cycles of [`State::outside`] in which it was set.
    pub fn probes_outside(&self) -> &[u64] {
        // SAFETY: the simulation is open; the harness changes only what it returns, which stays the
        // same until it runs again, and `self` stays borrowed.
        unsafe { self.counts((self.model.functions.probes_outside)(self.raw)) }
    }

    /// # Safety
    /// `counts` must come from the harness and cover all probe bits.
    unsafe fn counts(&self, counts: *const u64) -> &[u64] {
        match self.model.geometry.probe_bits() {
            0 => &[],
            // SAFETY: the harness has a count for each bit of the geometry.
            bits => unsafe { std::slice::from_raw_parts(counts, bits) },
        }
    }

    pub fn geometry(&self) -> &Geometry {
        &self.model.geometry
    }
}

impl Drop for Instance {
    fn drop(&mut self) {
        // SAFETY: the simulation is open, and no other code holds it.
        unsafe { (self.model.functions.close)(self.raw) };
    }
}

#[cfg(test)]
mod tests {
    use std::mem::{offset_of, size_of};

    use super::*;

    /// Returns the names and offsets of the fields of a harness structure, and its size, as a
    /// compiler for a 64-bit machine lays them out.
    fn layout(structure: &str) -> (Vec<(String, usize)>, usize) {
        let source = include_str!("harness.cpp");
        let (_, text) =
            source.split_once(&format!("struct {structure} {{\n")).expect("a structure");
        let (text, _) = text.split_once("\n};").expect("its end");
        let code: String = text.lines().map(|line| line.split("//").next().unwrap_or("")).collect();
        let (mut fields, mut end) = (Vec::new(), 0usize);
        for declaration in code.split(';').map(str::trim).filter(|text| !text.is_empty()) {
            let (size, names) = match declaration.rsplit_once('*') {
                Some((_, name)) => (size_of::<*const u8>(), name),
                None => match declaration.split_once(' ').expect("a type and names") {
                    ("uint64_t", names) => (8, names),
                    ("uint32_t", names) => (4, names),
                    (other, _) => panic!("{other} is not a type of the interface"),
                },
            };
            for name in names.split(',') {
                let at = end.next_multiple_of(size);
                fields.push((name.trim().to_owned(), at));
                end = at + size;
            }
        }
        (fields, end.next_multiple_of(8))
    }

    macro_rules! assert_layout {
        ($structure:literal, $of:ty, $($field:ident)*) => {
            let fields = vec![$((stringify!($field).to_owned(), offset_of!($of, $field))),*];
            assert_eq!(layout($structure), (fields, size_of::<$of>()), $structure);
        };
    }

    #[test]
    fn structures_have_the_same_layout_in_the_harness() {
        assert_layout!("wl_options", RawOptions, arguments argument_count buffer idle_percent
            stall_percent seed patience period_ps waves);
        assert_layout!("wl_left", RawLeft, number arrived entered left bytes length kind reason
            egress);
        assert_layout!("wl_event", RawEvent, cycle number kind pipe cluster);
        assert_layout!("wl_state", State, cycles now waiting inside lost outside);
    }
}
