//! Links a program: an entry, the functions that it reaches, and the descriptors of the maps to
//! which it refers.

use std::collections::HashMap;
use std::os::fd::{AsRawFd, OwnedFd};

use crate::kernel::Instruction;
use crate::object::{Object, Reference};

/// A program that can be loaded.
#[derive(Debug)]
pub struct Linked {
    pub instructions: Vec<Instruction>,
    /// The first instruction and the name of each function.
    pub functions: Vec<(u32, String)>,
}

/// Meanings of the source register (linux/bpf.h).
const MAP: u8 = 1;
const CONSTANTS: u8 = 2;
const CALL_FUNCTION: u8 = 1;
const ADDRESS_OF_FUNCTION: u8 = 4;
/// A call (linux/bpf_common.h).
const CALL: u8 = 0x85;

/// Links the program of an entry.
///
/// # Errors
/// If a function, a map or a constant is missing.
pub fn link(
    object: &Object,
    entry: &str,
    maps: &HashMap<&str, &OwnedFd>,
    constants: &OwnedFd,
) -> Result<Linked, String> {
    let mut names = vec![entry.to_owned()];
    let mut starts = HashMap::new();
    let mut instructions = Vec::new();
    let mut functions = Vec::new();
    let mut at = 0;
    while let Some(name) = names.get(at).cloned() {
        let missing = || format!("`{name}` is missing");
        let function = object.functions.get(&name).ok_or_else(missing)?;
        for (_, reference) in &function.references {
            if let Reference::Function(other) = reference
                && !names.contains(other)
            {
                names.push(other.clone());
            }
        }
        starts.insert(name.clone(), instructions.len());
        functions.push((instructions.len() as u32, name));
        instructions.extend(&function.instructions);
        at += 1;
    }
    for name in &names {
        let start = starts[name];
        for (number, reference) in &object.functions[name].references {
            let at = start + number;
            let own: &mut Instruction = &mut instructions[at];
            let meaning = match reference {
                Reference::Function(to) => {
                    own.value = starts[to] as i32 - at as i32 - 1;
                    if own.code == CALL { CALL_FUNCTION } else { ADDRESS_OF_FUNCTION }
                }
                Reference::Map(map) => {
                    let map = maps.get(map.as_str()).ok_or_else(|| format!("no map `{map}`"))?;
                    own.value = map.as_raw_fd();
                    MAP
                }
                Reference::Constant(place) => {
                    own.value = constants.as_raw_fd();
                    instructions[at + 1].value = *place as i32;
                    CONSTANTS
                }
            };
            let own = &mut instructions[at];
            own.registers = own.registers & 15 | meaning << 4;
        }
    }
    Ok(Linked { instructions, functions })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::object::Function;

    #[test]
    fn calls_go_to_where_functions_are_put() {
        let call = Instruction { code: CALL, ..Instruction::default() };
        let exit = Instruction { code: 0x95, ..Instruction::default() };
        let function = |to: &[&str]| Function {
            instructions: to.iter().map(|_| call).chain([exit]).collect(),
            references: to
                .iter()
                .enumerate()
                .map(|(at, to)| (at, Reference::Function((*to).to_owned())))
                .collect(),
        };
        let mut object = Object::default();
        let all = [("a", &["b", "c"][..]), ("b", &["c"]), ("c", &[]), ("other", &["a"])];
        for (name, to) in all {
            object.functions.insert(name.to_owned(), function(to));
        }
        let none = OwnedFd::from(std::fs::File::open("/dev/null").expect("a file"));
        let linked = link(&object, "a", &HashMap::new(), &none).expect("nothing is missing");
        let starts: Vec<_> = linked.functions.iter().map(|(at, name)| (*at, &name[..])).collect();
        assert_eq!(starts, [(0, "a"), (3, "b"), (5, "c")]);
        let to: Vec<i32> = [0, 1, 3].iter().map(|at| linked.instructions[*at].value).collect();
        assert_eq!(to, [2, 3, 1], "from the instruction after the call");
        assert!(linked.instructions[0].registers == CALL_FUNCTION << 4);
        object.functions.remove("c");
        assert!(link(&object, "a", &HashMap::new(), &none).is_err());
    }
}
