//! Objects for tests.

use wireloom_mpsoc::energy::Unit;
use wireloom_mpsoc::{Called, MethodInterface, ObjectInterface, Objects, PacketUse, Words};

/// Object 0, `sums`: method 0 returns the sum of three words and the packet's number; method 1 has
/// no reply and keeps its word. Object 1, `wide`: method 0 returns twelve consecutive numbers that
/// begin with its argument.
pub struct Sums {
    interfaces: Vec<ObjectInterface>,
    pub kept: Vec<u32>,
}

impl Sums {
    pub fn new() -> Self {
        let method = |argument_words, reply_words| MethodInterface {
            argument_words,
            reply_words,
            packet: PacketUse::Nothing,
        };
        let object = |name: &str, methods| ObjectInterface {
            name: name.to_owned(),
            kind: "sums".to_owned(),
            is_ordered: false,
            methods,
            times: None,
            unit: Unit::default(),
        };
        let interfaces = vec![
            object("sums", vec![method(3, 2), method(1, 0)]),
            object("wide", vec![method(1, 12)]),
        ];
        Self { interfaces, kept: Vec::new() }
    }
}

impl Objects for Sums {
    fn interfaces(&self) -> &[ObjectInterface] {
        &self.interfaces
    }

    fn call(&mut self, call: Called<'_>) -> Words {
        let number = call.packet.expect("calls are made with a packet").number as u32;
        match (call.object, call.method, call.arguments) {
            (0, 0, [a, b, c]) => Words::from_slice(&[a.wrapping_add(*b).wrapping_add(*c), number]),
            (0, 1, [word]) => {
                self.kept.push(*word);
                Words::new()
            }
            (1, 0, [first]) => (*first..first + 12).collect(),
            other => panic!("{other:?}"),
        }
    }
}
