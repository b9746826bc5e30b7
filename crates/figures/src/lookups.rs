//! Lookups alone: the lookup functions that generated engines call, in a loop over destinations.

use std::process::Command;
use std::time::Instant;

use wireloom_codegen_c::RUNTIME;
use wireloom_machine::{Error, Result};
use wireloom_net::Packet;
use wireloom_offloads::lpm::LpmView;
use wireloom_offloads::{Content, RawView, Store};

use super::Settings;

/// The type of `look_up` in bench/native/lookups.c.
type LookUp = unsafe extern "C" fn(table: *const LpmView, keys: *const u32, count: usize) -> u64;

/// The router's table of IPv4 destinations, and the destinations to look up.
pub struct Lookups {
    store: Store,
    keys: Vec<u32>,
    look_up: LookUp,
    // Keeps the code of `look_up` in memory.
    _object: libloading::Library,
}

impl Lookups {
    /// Builds the loop from its source.
    ///
    /// # Errors
    /// If a file is missing, or the compiler fails.
    pub fn new(settings: &Settings, packets: &[Packet]) -> Result<Self> {
        let source = settings.file("bench/native/lookups.c")?;
        let folder = wireloom_install::code_folder("native").map_err(Error::new)?;
        for (name, text) in RUNTIME {
            std::fs::write(folder.path().join(name), text)
                .map_err(|error| Error::new(format!("{name}: {error}")))?;
        }
        let object = folder.path().join("lookups.so");
        let compiled = Command::new("cc")
            .args(["-std=gnu11", "-O3", "-march=native", "-fPIC", "-shared", "-I"])
            .arg(folder.path())
            .arg("-o")
            .args([&object, &source])
            .output()
            .map_err(|error| Error::new(format!("cc: {error}")))?;
        if !compiled.status.success() {
            let why = String::from_utf8_lossy(&compiled.stderr).into_owned();
            return Err(Error::new(format!("{}: {why}", source.display())));
        }
        // SAFETY: the object was just built from our own code, which has no initialisers.
        let shared = unsafe { libloading::Library::new(&object) };
        let shared = shared.map_err(|error| Error::new(format!("{error}")))?;
        // SAFETY: the source defines the function with this type.
        let look_up = unsafe { shared.get::<LookUp>(b"look_up") }
            .map(|symbol| *symbol)
            .map_err(|error| Error::new(format!("{error}")))?;
        let keys = packets.iter().map(|packet| {
            let octets = packet.bytes[30..34].try_into().expect("four bytes");
            u32::from_be_bytes(octets)
        });
        Ok(Self { store: settings.store()?, keys: keys.collect(), look_up, _object: shared })
    }

    /// Looks up all destinations once. Returns the rate in million lookups per second.
    pub fn mpps(&mut self) -> f64 {
        let (look_up, count) = (self.look_up, self.keys.len());
        let keys = self.keys.as_ptr();
        self.with_view(|view| {
            let begin = Instant::now();
            // SAFETY: the view is valid until it is given back, and the keys are `count`.
            let sum = unsafe { look_up(view, keys, count) };
            let seconds = begin.elapsed().as_secs_f64();
            std::hint::black_box(sum);
            count as f64 / seconds / 1e6
        })
    }

    /// The bytes of direct entries, blocks and values together.
    pub fn bytes(&mut self) -> usize {
        self.with_view(|view| view.bytes)
    }

    fn with_view<T>(&mut self, work: impl FnOnce(&LpmView) -> T) -> T {
        let slot = self.store.find_mut("destinations4").map(|slot| &mut slot.content);
        let Some(Content::Kind { instance, .. }) = slot else {
            unreachable!("the router has a table of destinations")
        };
        let Some(RawView::Lpm(view)) = instance.raw() else {
            unreachable!("a prefix table has a view")
        };
        let result = work(&view);
        instance.raw_done();
        result
    }
}
