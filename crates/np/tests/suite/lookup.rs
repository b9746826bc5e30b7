//! Tests the generated lookup services in Verilator, with models of their memories, against the
//! golden prefix tables.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use wireloom_bits::Bits;
use wireloom_codegen_hardware::pipelined::{Lookup, lookup};
use wireloom_codegen_hardware::tables::{
    IPV4, IPV4_SHARED, IPV6, IPV6_SHARED, Key, Shape, TrieImage, Write,
};
use wireloom_install::tools;
use wireloom_net::tables::{Family, read_prefixes};
use wireloom_offloads::lpm::Table;

/// Returns the checkout that the tests run in.
fn repository() -> PathBuf {
    wireloom_install::checkout().expect("tests run in a checkout")
}

/// Returns the folder of the hand-written templates.
fn hardware() -> PathBuf {
    repository().join("hardware")
}

const VALUE_BITS: u32 = 27;
const VALUES: u32 = 1000;
const CONTROL_BITS: u32 = 288;
/// Core cycles of a read, with the bench's three slots and ten memory cycles.
const READ_LATENCY: u32 = 6;
const POOL: usize = 32;

/// A generator of pseudo-random numbers, which are the same in each run.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, limit: usize) -> usize {
        (self.next() >> 8) as usize % limit
    }

    fn key(&mut self, shape: Shape) -> Key {
        let top = Key::from(self.next()) << 192
            | Key::from(self.next()) << 128
            | Key::from(self.next()) << 64;
        top >> (256 - shape.key_bits)
    }
}

/// A golden table, its hardware image, and the random numbers for the stimulus.
struct Case {
    shape: Shape,
    golden: Table,
    image: TrieImage,
    random: Random,
}

fn value(number: usize) -> Bits {
    Bits::new(VALUE_BITS, number as u128 * 134_217 % (1 << VALUE_BITS))
}

fn mask(shape: Shape, length: u32) -> Key {
    let all = Key::MAX >> (256 - shape.key_bits);
    all & !(all >> length)
}

impl Case {
    fn new(shape: Shape, prefixes: &[(Key, u32)]) -> Self {
        let miss = Bits::ones(VALUE_BITS);
        let mut golden = Table::new(shape.key_bits, &miss).unwrap();
        golden.begin_bulk();
        let routes: Vec<_> = prefixes
            .iter()
            .enumerate()
            .map(|(n, &(key, length))| (key, length, value(n % 900)))
            .collect();
        for (key, length, value) in &routes {
            golden.insert(&shape.golden_key(*key), *length, value).unwrap();
        }
        golden.end_bulk().unwrap();
        let image = TrieImage::build(shape, &miss, VALUES, &routes).unwrap();
        Self { shape, golden, image, random: Random(0x9e37_79b9_7f4a_7c15) }
    }

    fn golden(&self, key: Key) -> u64 {
        self.golden.lookup(&self.shape.golden_key(key)).low_u64()
    }

    /// Returns a key at an end of a prefix, next to the prefix, or inside it.
    fn near(&mut self, (key, length): (Key, u32)) -> Key {
        let all = mask(self.shape, self.shape.key_bits);
        let host = all & !mask(self.shape, length);
        match self.random.below(5) {
            0 => key,
            1 => key | host,
            2 => key.wrapping_sub(Key::ONE) & all,
            3 => (key | host).wrapping_add(Key::ONE) & all,
            _ => key | self.random.key(self.shape) & host,
        }
    }

    fn keys(&mut self, prefixes: &[(Key, u32)], count: usize) -> Vec<Key> {
        let mut keys = Vec::with_capacity(count);
        for _ in 0..count {
            let pick = self.random.below(prefixes.len());
            let random = self.random.key(self.shape);
            keys.push(if pick.is_multiple_of(4) { random } else { self.near(prefixes[pick]) });
        }
        keys
    }

    /// Returns updates that add prefixes of all lengths, change their values, and remove them.
    fn updates(
        &mut self,
        prefixes: &[(Key, u32)],
        count: usize,
    ) -> Vec<((Key, u32), Option<Bits>)> {
        let mut updates: Vec<((Key, u32), Option<Bits>)> = Vec::new();
        let root = self.shape.strides()[0];
        while updates.len() < count {
            let again = updates.len() > 8 && self.random.below(3) == 0;
            let (prefix, is_new) = if again {
                (updates[updates.len() - 1 - self.random.below(8)].0, self.random.below(2) == 0)
            } else {
                let (key, old) = prefixes[self.random.below(prefixes.len())];
                let longer = self.random.below((self.shape.key_bits - old + 1) as usize) as u32;
                // Prefixes that cover a large part of the first level take a long time to write.
                let length = (old + longer).max(root - 4);
                let noise = self.random.key(self.shape) & !mask(self.shape, old);
                (((key | noise) & mask(self.shape, length), length), true)
            };
            let new = is_new.then(|| value(self.random.below(990)));
            updates.push((prefix, new));
        }
        updates
    }

    fn change(&mut self, (key, length): (Key, u32), new: Option<&Bits>) -> Vec<Write> {
        let bits = self.shape.golden_key(key);
        match new {
            Some(new) => {
                self.golden.insert(&bits, length, new).unwrap();
                self.image.insert(key, length, new).unwrap()
            }
            None => {
                self.golden.remove(&bits, length).unwrap();
                self.image.remove(key, length).unwrap()
            }
        }
    }
}

/// Appends the lines of `writes.hex`.
fn write_lines(lookup: &Lookup, writes: &[Write], text: &mut String) {
    let channels = lookup.channels().count();
    let mut line = |kind: u8, target: usize, address: u32, data: &Bits| {
        let data = data.resize(CONTROL_BITS);
        let digits = CONTROL_BITS as usize / 4;
        writeln!(text, "{kind:02x}{target:02x}{address:08x}{data:0digits$x}").unwrap();
    };
    for write in writes {
        match write {
            // The targets of the channels come first, followed by the value table and then by the
            // other tables on the chip.
            Write::Burst { memory, address, data } if *memory < channels => {
                line(0, *memory, *address, data)
            }
            Write::Burst { memory, address, data } => line(0, memory + 1, *address, data),
            Write::Value { number, value } => line(0, channels, *number, value),
            Write::Barrier => line(1, 0, 0, &Bits::zero(1)),
        }
    }
    line(2, 0, 0, &Bits::zero(1));
}

fn run(shape: Shape, prefixes: &[(Key, u32)], keys: usize, updates: usize) {
    let lookup = lookup(&shape, "").unwrap();
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("lookup").join(shape.engine);
    std::fs::create_dir_all(&folder).unwrap();
    let file = |name: &str, text: &str| std::fs::write(folder.join(name), text).unwrap();

    let mut case = Case::new(shape, prefixes);
    let digits = shape.key_bits as usize / 4;
    let mut text = String::new();
    for key in case.keys(prefixes, keys) {
        writeln!(text, "{key:0digits$x}{:08x}", case.golden(key)).unwrap();
    }
    file("keys.hex", &text);
    let mut plusargs = vec![format!("+folder={}", folder.display())];
    for (memory, name) in case
        .image
        .memories()
        .iter()
        .zip(["near", "far"].into_iter().chain(shape.memories.iter().skip(2).map(|m| m.name)))
    {
        let path = folder.join(format!("{name}.hex"));
        memory
            .write_hex(&mut std::io::BufWriter::new(std::fs::File::create(&path).unwrap()))
            .unwrap();
        let image = if memory.shape().burst > 1 { name.to_owned() } else { format!("trie_{name}") };
        plusargs.push(format!("+wl_image_{image}={}", path.display()));
    }
    let values = case.image.values().iter().map(|value| format!("{value:x}\n")).collect::<String>();
    file("values.hex", &values);
    plusargs.push(format!("+wl_image_trie_values={}", folder.join("values.hex").display()));

    // Each key of an update comes with its expected replies before the update, after it, and after
    // the next update.
    let changes = case.updates(prefixes, updates);
    let mut pools: Vec<Vec<(Key, Vec<u64>)>> = Vec::new();
    let mut writes = String::new();
    for (prefix, new) in &changes {
        let keys: Vec<Key> = (0..POOL).map(|_| case.near(*prefix)).collect();
        pools.push(keys.into_iter().map(|key| (key, vec![case.golden(key)])).collect());
        write_lines(&lookup, &case.change(*prefix, new.as_ref()), &mut writes);
        for pool in pools.iter_mut().rev().take(2) {
            pool.iter_mut().for_each(|(key, answers)| answers.push(case.golden(*key)));
        }
    }
    let mut text = String::new();
    for (key, answers) in pools.iter().flatten() {
        let last = answers.last().unwrap();
        writeln!(
            text,
            "{key:0digits$x}{:08x}{:08x}{:08x}",
            answers[0],
            answers[1],
            answers.get(2).unwrap_or(last)
        )
        .unwrap();
    }
    file("pool.hex", &text);
    file("writes.hex", &writes);

    let modules = [&lookup.pipeline.module, &lookup.module];
    let sources: Vec<PathBuf> = modules.iter().map(|module| folder.join(module.file())).collect();
    modules.iter().for_each(|module| file(&module.file(), &module.print()));
    for (source, module) in sources.iter().zip(modules) {
        let mut lint = verilator();
        lint.args(["--lint-only", "-Wall", "--quiet", "--top-module", &module.name])
            .arg("-y")
            .arg(&folder)
            .arg(source);
        succeed(&mut lint);
    }
    let parameters = [
        ("Keys", keys),
        ("Updates", updates),
        ("Pool", POOL),
        ("Writes", writes.lines().count()),
        ("Latency", lookup.latency(READ_LATENCY) as usize),
        ("KeyBits", shape.key_bits as usize),
        ("ValueBits", VALUE_BITS as usize),
    ];
    let mut build = verilator();
    build
        .args([
            "--binary", "--timing", "-j", "1", "-CFLAGS", "-O1", "--quiet", "--assert", "-DFORMAL",
        ])
        .args([
            "-Wno-lint",
            "-Wno-style",
            "--x-initial",
            "unique",
            "--top-module",
            "lookup_tb",
            "-Mdir",
        ])
        .arg(folder.join("build"))
        .args(parameters.iter().map(|(name, value)| format!("-G{name}={value}")))
        .arg(format!("-DLOOKUP={}", lookup.module.name))
        .arg("-y")
        .arg(hardware().join("tests"));
    if lookup.channels().count() > 1 {
        build.arg("-DTWO_CHANNELS");
    }
    build.args(&sources).arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/lookup_tb.sv"));
    succeed(&mut build);
    let mut bench = Command::new(folder.join("build/Vlookup_tb"));
    bench.args(["+verilator+seed+1", "+verilator+rand+reset+2"]).args(plusargs);
    let said = succeed(&mut bench);
    assert!(said.lines().any(|line| line == "PASS"), "{said}");
}

fn verilator() -> Command {
    let mut command = tools::verilator().unwrap_or_else(|message| panic!("{message}"));
    for folder in ["flow", "memory"] {
        command.arg("-y").arg(hardware().join(folder));
    }
    command.arg(format!("-I{}", hardware().display())).arg(hardware().join("wl_pkg.sv"));
    command
}

fn succeed(command: &mut Command) -> String {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let said = format!(
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    assert!(output.status.success(), "{command:?}:\n{said}");
    said
}

/// Returns every `step`-th prefix of the routing table of 2015, if it has been fetched (`make
/// data`).
fn real(family: Family, step: usize) -> Option<Vec<(Key, u32)>> {
    let folder = ".cache/data/pyasn/usr/lib/python3/dist-packages/data";
    let path = repository().join(folder).join("ipasn6_20151101.dat.gz");
    if !path.exists() {
        eprintln!("{} is missing: run `make data`", path.display());
        return None;
    }
    let prefixes = read_prefixes(&path).unwrap();
    let family = prefixes.iter().filter(|prefix| prefix.family() == family);
    Some(family.step_by(step).map(|prefix| (prefix.bits().into(), prefix.length())).collect())
}

/// Returns nested prefixes of all lengths.
fn made(shape: Shape) -> Vec<(Key, u32)> {
    let mut random = Random(42);
    let lengths = [0, 1, 8, 16, 20, 21, 24, 25, 28, 32, 33, 48, 49, 64, 65, 96, 120, 127, 128];
    let mut prefixes: Vec<(Key, u32)> = Vec::new();
    while prefixes.len() < 400 {
        let length = lengths[random.below(lengths.len())].min(shape.key_bits);
        let inside = if prefixes.is_empty() {
            (Key::ZERO, 0)
        } else {
            prefixes[random.below(prefixes.len())]
        };
        let key = (inside.0 | random.key(shape) & !mask(shape, inside.1)) & mask(shape, length);
        if !prefixes.contains(&(key, length)) {
            prefixes.push((key, length));
        }
    }
    prefixes
}

#[test]
#[ignore = "takes long: make test-all"]
fn ipv4_lookups_answer_as_golden_does_while_the_table_changes() {
    run(IPV4, &real(Family::V4, 40).unwrap_or_else(|| made(IPV4)), 100_000, 150);
}

#[test]
#[ignore = "builds a model: make test-all"]
fn ipv4_lookups_of_routers_that_share_a_memory_answer_as_golden_does_while_the_table_changes() {
    run(IPV4_SHARED, &made(IPV4_SHARED), 20_000, 60);
}

#[test]
#[ignore = "takes long: make test-all"]
fn ipv6_lookups_answer_as_golden_does_while_the_table_changes() {
    let mut prefixes = real(Family::V6, 8).unwrap_or_default();
    prefixes.extend(made(IPV6));
    prefixes.sort_unstable();
    prefixes.dedup();
    run(IPV6, &prefixes, 100_000, 150);
}

#[test]
#[ignore = "builds a model: make test-all"]
fn ipv6_lookups_of_routers_that_share_memories_answer_as_golden_does_while_the_table_changes() {
    run(IPV6_SHARED, &made(IPV6_SHARED), 20_000, 60);
}
