//! The types of a program (BTF, linux/btf.h), as far as the verifier needs them: parameters of its
//! functions, and locks.

use wireloom_codegen_c::bpf::Takes;

/// The encoded types, and the numbers of types that are used again.
pub struct Types {
    pub bytes: Vec<u8>,
    /// The type of each function, in the order of the functions.
    pub functions: Vec<u32>,
    /// The number of the type of indices.
    pub index: u32,
    /// The number of the type of locks.
    pub lock: u32,
}

const INT: u32 = 1;
const POINTER: u32 = 2;
const STRUCT: u32 = 4;
const FUNCTION: u32 = 12;
const PROTOTYPE: u32 = 13;

struct Encoder {
    types: Vec<u32>,
    names: Vec<u8>,
    count: u32,
}

impl Encoder {
    fn name(&mut self, name: &str) -> u32 {
        let at = self.names.len() as u32;
        self.names.extend(name.bytes());
        self.names.push(0);
        at
    }

    /// Adds a type from its name, its kind and number of parts, its size or the type that it refers
    /// to, and its parts. Returns its number.
    fn add(&mut self, name: Option<&str>, kind: u32, parts: u32, size: u32, rest: &[u32]) -> u32 {
        let name = name.map_or(0, |name| self.name(name));
        self.types.extend([name, kind << 24 | parts, size]);
        self.types.extend(rest);
        self.count += 1;
        self.count
    }
}

impl Types {
    /// Encodes the types for these functions. `thread` and `packet` are the sizes of their
    /// parameters.
    pub fn of(functions: &[(&str, Takes)], thread: u32, packet: u32) -> Self {
        let mut encoder = Encoder { types: Vec::new(), names: vec![0], count: 0 };
        let long = encoder.add(Some("uint64_t"), INT, 0, 8, &[64]);
        let index = encoder.add(Some("uint32_t"), INT, 0, 4, &[32]);
        let mut pointer_to = |name: &str, size: u32| {
            let to = encoder.add(Some(name), STRUCT, 0, size, &[]);
            encoder.add(None, POINTER, 0, to, &[])
        };
        let thread = pointer_to("wl_thread", thread);
        let packet = pointer_to("wl_packet", packet);
        let frame = pointer_to("xdp_md", 24);
        let value = encoder.name("val");
        let spin = encoder.add(Some("bpf_spin_lock"), STRUCT, 1, 4, &[value, index, 0]);
        let lock = encoder.name("lock");
        let lock = encoder.add(Some("wl_lock"), STRUCT, 1, 4, &[lock, spin, 0]);
        let functions = functions.iter().map(|(name, takes)| {
            let (first, numbers) = match takes {
                Takes::Frame(numbers) => (frame, *numbers),
                Takes::Packet(numbers) => (packet, *numbers),
                Takes::Thread => (thread, 0),
                // This type is not used: the verifier checks the function where it is called.
                Takes::Body => (index, 1),
            };
            let is_global = *takes != Takes::Body;
            let parameters = std::iter::once(first).chain((0..numbers).map(|_| index));
            let argument = encoder.name("argument");
            let parameters: Vec<u32> =
                parameters.flat_map(|parameter| [argument, parameter]).collect();
            let count = parameters.len() as u32 / 2;
            let prototype = encoder.add(None, PROTOTYPE, count, long, &parameters);
            encoder.add(Some(name), FUNCTION, u32::from(is_global), prototype, &[])
        });
        let functions = functions.collect();
        Self { bytes: encode(&encoder), functions, index, lock }
    }
}

fn encode(encoder: &Encoder) -> Vec<u8> {
    const MAGIC: u16 = 0xeb9f;
    const HEADER: u32 = 24;
    let length = 4 * encoder.types.len() as u32;
    let mut bytes = MAGIC.to_le_bytes().to_vec();
    // Version 1, no flags.
    bytes.extend([1, 0]);
    for word in [HEADER, 0, length, length, encoder.names.len() as u32] {
        bytes.extend(word.to_le_bytes());
    }
    bytes.extend(encoder.types.iter().flat_map(|word| word.to_le_bytes()));
    bytes.extend(&encoder.names);
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_function_has_its_type() {
        let functions = [("f", Takes::Frame(0)), ("g", Takes::Packet(2)), ("h", Takes::Body)];
        let types = Types::of(&functions, 4096, 1024);
        assert_eq!(types.functions.len(), 3);
        let word =
            |at: usize| u32::from_le_bytes(types.bytes[at..at + 4].try_into().expect("four bytes"));
        assert_eq!(word(0), 0x0001_eb9f, "magic number and version");
        let (length, names) = (word(12) as usize, word(20) as usize);
        assert_eq!(types.bytes.len(), 24 + length + names);
        // The last type is the function `h`, which is checked where it is called.
        let last = 24 + length - 12;
        assert_eq!(word(last + 4), FUNCTION << 24);
        assert_eq!(word(last + 8), types.functions[2] - 1);
    }
}
