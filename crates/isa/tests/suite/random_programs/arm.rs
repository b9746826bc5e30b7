//! Random instructions of ARMv4.

use rand::Rng;
use rand_chacha::ChaCha8Rng;
use wireloom_isa::{Arm, Flow, InstructionSet, Thread};

use super::{DATA, DATA_BYTES, Random, TEXT, value};

impl Random for Arm {
    const NUMBER: u32 = 1;

    fn begin(random: &mut ChaCha8Rng) -> Self::Thread {
        let mut thread = Self::Thread::new(TEXT);
        for number in 0..15 {
            thread.set_register(number, value(random));
        }
        thread.set_status(random.random());
        thread
    }

    const KINDS: u32 = 24;

    fn draw(random: &mut ChaCha8Rng, kind: u32, thread: &Self::Thread) -> u32 {
        let condition = if random.random_bool(0.4) { random.random_range(0..14) } else { 14 };
        let any: u32 = random.random();
        let body = match kind {
            0..7 => data_processing(random),
            7 => data_processing(random) & !(1 << 20) | 0xf000,
            8 | 9 => any & 0x00ff_ff0f | 0x90,
            10..16 => transfer(random, thread),
            16 => any & 0x03a0_01ec | 0x0410_f000 | base(random, thread) << 16,
            17 | 18 => several(random, thread),
            19 => any & 0x0040_f00f | 0x0100_0090 | base(random, thread) << 16,
            20 => match random.random_range(0..3) {
                0 => any & 0xf000 | 0x010f_0000,
                1 => any & 0xf | 0x0128_f000,
                _ => any & 0xfff | 0x0328_f000,
            },
            21 => any & 0x0100_0007 | 0x0a00_0000,
            // A move of a register, whose shift distance 0 has special meanings; then a new base;
            // then a shift distance.
            22 if random.random_bool(0.5) => any & 0x0010_f06f | 0x01a0_0000,
            22 => any & 0xf000 | DATA >> 16 | 0x03a0_0800,
            _ => any & 0xf03f | 0x03a0_0000,
        };
        condition << 28 | body
    }

    fn observe(thread: &Self::Thread) -> Vec<u32> {
        (0..15).map(|number| thread.register(number)).chain([thread.status()]).collect()
    }

    fn features(word: u32, flow: Flow) -> Vec<String> {
        let name = CONDITIONS[(word >> 28) as usize];
        if flow == Flow::Skipped {
            return vec![format!("not {name}")];
        }
        let text = Arm::disassemble(word | 0xe000_0000, 0);
        let mnemonic = text.split(' ').next().expect("a mnemonic").to_owned();
        let mut features = vec![name.to_owned()];
        // The parts that forms share: the kinds of operands and of indexing.
        features.push(match word >> 25 & 7 {
            0 if word & 0x90 == 0x90 && word & 0x60 != 0 => format!("half {}", word >> 21 & 15),
            0 if word & 0x90 == 0x90 => mnemonic.clone(),
            0 => format!("shift {}{}", word >> 4 & 7, if word & 0xf80 == 0 { " by 0" } else { "" }),
            1 => format!("immediate rotated {}", word & 0xf00 != 0),
            2 => format!("offset {}", word >> 21 & 15),
            3 => format!("register offset {}, shift {}", word >> 23 & 3, word >> 5 & 3),
            4 => format!("several {}", word >> 20 & 31),
            _ => mnemonic.clone(),
        });
        if flow == Flow::Taken {
            features.push(format!("jump {}", if word >> 25 & 7 == 3 { 2 } else { word >> 25 & 7 }));
        }
        features.push(mnemonic);
        features
    }
}

const CONDITIONS: [&str; 15] =
    ["eq", "ne", "cs", "cc", "mi", "pl", "vs", "vc", "hi", "ls", "ge", "lt", "gt", "le", "always"];

/// Returns all features that random programs can exercise.
pub fn features() -> Vec<String> {
    let mut features: Vec<String> =
        "and eor sub rsb add adc sbc rsc orr mov bic mvn ands eors subs rsbs adds adcs sbcs rscs orrs movs bics mvns tst teq \
         cmp cmn lsl lsr asr ror rrx lsls lsrs asrs rors rrxs mul mla umull umlal smull smlal muls mlas umulls umlals \
         smulls smlals ldr ldrb ldrh ldrsb ldrsh str strb strh ldrt ldrbt strt strbt ldm ldmda ldmdb ldmib stm stmia stmda \
         stmdb stmib swp swpb b bl mrs msr always"
            .split_whitespace()
            .map(str::to_owned)
            .collect();
    for condition in &CONDITIONS[..14] {
        features.extend([condition.to_string(), format!("not {condition}")]);
    }
    for kind in 0..8 {
        features.push(format!("shift {kind}"));
        // Odd kinds shift by a register: the bits are then part of its number, not a distance.
        features.extend((kind % 2 == 0).then(|| format!("shift {kind} by 0")));
    }
    features.extend([false, true].map(|rotated| format!("immediate rotated {rotated}")));
    // Pre- or post-indexed, up or down, words or bytes, with the base changed or not.
    features.extend((0..16).map(|kind| format!("offset {kind}")));
    // Post-indexed forms with bit 21 are not instructions here.
    features.extend((0..16).filter(|kind| kind & 9 != 1).map(|kind| format!("half {kind}")));
    features
        .extend((0..16).map(|kind| format!("register offset {}, shift {}", kind / 4, kind % 4)));
    // Kinds with bit 22 belong to privileged modes.
    features.extend((0..32).filter(|kind| kind & 4 == 0).map(|kind| format!("several {kind}")));
    // Jumps by computation, by loads of one word and of several, and by branches.
    features.extend([0, 2, 4, 5].map(|kind| format!("jump {kind}")));
    features
}

/// Returns any word with the format. In moves and comparisons the fields that must be 0 are 0.
fn data_processing(random: &mut ChaCha8Rng) -> u32 {
    let word = random.random::<u32>() & 0x03ff_ffff;
    let word = match word >> 21 & 15 {
        8..=11 => word & 0xffff_0fff | 1 << 20,
        13 | 15 => word & 0xfff0_ffff,
        _ => word,
    };
    match word & 0x0200_0010 {
        0x10 => word & !0x80,
        // The distance 0 has special meanings.
        0 if random.random_bool(0.25) => word & !0xf80,
        _ => word,
    }
}

/// Returns a register that points into the data, or any register.
fn base(random: &mut ChaCha8Rng, thread: &<Arm as InstructionSet>::Thread) -> u32 {
    let first = random.random_range(0..15usize);
    (0..15)
        .map(|number| (first + number) % 15)
        .find(|register| (DATA..DATA + DATA_BYTES).contains(&thread.register(*register)))
        .unwrap_or(first) as u32
}

fn transfer(random: &mut ChaCha8Rng, thread: &<Arm as InstructionSet>::Thread) -> u32 {
    let any: u32 = random.random();
    let base = base(random, thread) << 16;
    let rd = any & 0xf000;
    let kind = any & 0x01f0_0000;
    // Bits that words can have. The kind of shift is kept, and its distance is even.
    let any = if random.random_bool(0.5) { any & !0x93 } else { any };
    match random.random_range(0..4) {
        0 => 0x0400_0000 | kind | base | rd | any & 0x1ff,
        1 => 0x0600_0000 | kind | base | rd | any & 0xfef,
        // Offsets of eight bits: an immediate in two pieces, or a register.
        _ if kind & 1 << 22 != 0 => kind | base | rd | any & 0xf6f | 0x90,
        _ => kind | base | rd | any & 0x6f | 0x90,
    }
}

fn several(random: &mut ChaCha8Rng, thread: &<Arm as InstructionSet>::Thread) -> u32 {
    let list = match random.random_range(0..3) {
        0 => random.random::<u32>() & random.random::<u32>(),
        1 => random.random::<u32>() & random.random::<u32>() & random.random::<u32>() | 0x8000,
        _ => random.random(),
    };
    0x0800_0000 | random.random::<u32>() & 0x01b0_0000 | base(random, thread) << 16 | list & 0xffff
}
