//! Turns syntax into interfaces: looks up names and adds up sizes.

use std::collections::HashMap;
use std::ops::Range;

use crate::interfaces::{Field, Interface, Interfaces, Method, Service, Struct, Type};
use crate::report::Fault;
use crate::syntax::{Declared, Item, Method as WrittenMethod, Name};

/// The maximum number of words of a request: sixteen arguments and the word that launches the call.
pub const MAX_REQUEST_WORDS: usize = 17;

/// The maximum number of words of a reply.
pub const MAX_REPLY_WORDS: usize = 32;

/// The maximum number of words of a struct. It exceeds every message, and it bounds the growth of
/// nested structs.
const MAX_STRUCT_WORDS: usize = 4096;

/// The maximum number of methods of an interface.
pub const MAX_METHODS: usize = 16;

/// The maximum number of services of a program: the number that a call can address.
pub const MAX_SERVICES: usize = 112;

/// Names that are reserved in C, Rust or SystemVerilog and therefore cannot name anything in
/// generated code.
const RESERVED: &str = "\
    abstract always and as assert assign async auto await become begin bit bool box break byte case char class const \
    continue crate default do double dyn edge else end enum event extern false final float fn for force function gen goto \
    i16 i32 i64 i8 if impl import initial inline inout input int integer join let local logic long loop macro match mod \
    module move mut new not object or output override package packed parameter priv program property protected pub public \
    reader real ref reg register release repeat reply request restrict result return Self self sequence server service short \
    signed sizeof solve static str string super switch table task this ticket time trait transport true try type typedef u16 \
    u32 u64 u8 union unique unsafe unsigned unsized use var virtual void volatile wait where while wire with words writer \
    yield";

/// Checks the items of a file and returns its interfaces.
pub fn check(source: &str, items: &[Item]) -> Result<Interfaces, Vec<Fault>> {
    let mut check = Check {
        interfaces: Interfaces {
            source: source.to_owned(),
            structs: Vec::new(),
            interfaces: Vec::new(),
            services: Vec::new(),
        },
        names: HashMap::new(),
        faults: Vec::new(),
    };
    for item in items {
        check.item(item);
    }
    if check.faults.is_empty() { Ok(check.interfaces) } else { Err(check.faults) }
}

#[derive(Clone, Copy)]
enum Meaning {
    Struct(usize),
    Interface(usize),
    Service,
}

struct Check {
    interfaces: Interfaces,
    names: HashMap<String, Meaning>,
    faults: Vec<Fault>,
}

impl Check {
    fn item(&mut self, item: &Item) {
        match item {
            Item::Struct { name, fields } => {
                let fields = self.fields(fields);
                if fields.is_empty() {
                    self.fault(
                        &name.place,
                        format!("struct `{}` has no field", name.text),
                        "give it one",
                    );
                }
                let words = fields.iter().map(|field| field.kind.words()).sum::<usize>();
                if words > MAX_STRUCT_WORDS {
                    let message = format!("struct `{}` has {words} words of 32 bits", name.text);
                    self.fault(
                        &name.place,
                        message,
                        format!("a message can have {MAX_REPLY_WORDS}"),
                    );
                    return;
                }
                let index = self.interfaces.structs.len();
                self.interfaces.structs.push(Struct { name: name.text.clone(), fields });
                self.declare(name, Meaning::Struct(index));
            }
            Item::Interface { name, methods } => {
                let methods = self.methods(name, methods);
                let index = self.interfaces.interfaces.len();
                self.interfaces.interfaces.push(Interface { name: name.text.clone(), methods });
                self.declare(name, Meaning::Interface(index));
            }
            Item::Service { name, interface } => {
                match self.names.get(&interface.text) {
                    Some(&Meaning::Interface(index)) => {
                        self.interfaces
                            .services
                            .push(Service { name: name.text.clone(), interface: index });
                    }
                    _ => self.fault(
                        &interface.place,
                        format!("there is no interface `{}`", interface.text),
                        "declare the interface before its services",
                    ),
                }
                if self.interfaces.services.len() > MAX_SERVICES {
                    let message =
                        format!("service `{}` is one more than {MAX_SERVICES}", name.text);
                    self.fault(
                        &name.place,
                        message,
                        "a call can name no more services: remove some",
                    );
                }
                self.declare(name, Meaning::Service);
            }
        }
    }

    fn methods(&mut self, interface: &Name, written: &[WrittenMethod]) -> Vec<Method> {
        if written.is_empty() {
            self.fault(
                &interface.place,
                format!("interface `{}` has no method", interface.text),
                "give it one",
            );
        }
        if written.len() > MAX_METHODS {
            let message = format!("interface `{}` has {} methods", interface.text, written.len());
            self.fault(
                &interface.place,
                message,
                format!("a call names one of {MAX_METHODS} methods: split the interface in two"),
            );
        }
        self.unlike(written.iter().map(|method| &method.name));
        written.iter().map(|method| self.method(method)).collect()
    }

    fn method(&mut self, written: &WrittenMethod) -> Method {
        let result = if written.result.text == "void" { None } else { self.kind(&written.result) };
        let fields = self.fields(&written.parameters);
        let mut method = Method {
            name: written.name.text.clone(),
            is_oneway: written.is_oneway,
            result,
            inputs: Vec::new(),
            outputs: Vec::new(),
        };
        for (field, declared) in fields.into_iter().zip(&written.parameters) {
            if declared.is_out {
                method.outputs.push(field);
            } else {
                method.inputs.push(field);
            }
        }
        let name = &written.name;
        self.reserved(name);
        if method.is_oneway && (written.result.text != "void" || !method.outputs.is_empty()) {
            let message =
                format!("`{}` is one-way, so it has no reply that could return a value", name.text);
            self.fault(
                &name.place,
                message,
                "declare it `oneway void` without `out`, or remove `oneway`",
            );
        }
        for (what, words, most) in [
            ("request", method.request_words(), MAX_REQUEST_WORDS),
            ("reply", method.reply_words(), MAX_REPLY_WORDS),
        ] {
            if words > most {
                let message = format!(
                    "the {what} of `{}` has {words} words of 32 bits; it can have {most}",
                    name.text
                );
                self.fault(
                    &name.place,
                    message,
                    "pass large data through shared memory, and its address in the message",
                );
            }
        }
        method
    }

    /// Resolves the types of fields. An unknown type is a fault, and counts as one word.
    fn fields(&mut self, declared: &[Declared]) -> Vec<Field> {
        self.unlike(declared.iter().map(|field| &field.name));
        declared
            .iter()
            .map(|field| {
                self.reserved(&field.name);
                let kind = self.kind(&field.kind).unwrap_or(Type::Unsigned(32));
                let kind = match &field.count {
                    None => kind,
                    // A type larger than any message is reported where a message uses it.
                    Some((count @ 1..=1024, _)) => Type::Array(Box::new(kind), *count as usize),
                    Some((count, place)) => {
                        self.fault(
                            place,
                            format!("an array cannot have {count} elements"),
                            "it can have 1 to 1024",
                        );
                        kind
                    }
                };
                Field { name: field.name.text.clone(), kind }
            })
            .collect()
    }

    fn kind(&mut self, name: &Name) -> Option<Type> {
        let bits = |text: &str| match text {
            "8" => Some(8),
            "16" => Some(16),
            "32" => Some(32),
            "64" => Some(64),
            _ => None,
        };
        let text = name.text.as_str();
        if text == "bool" {
            return Some(Type::Bool);
        }
        if let Some(bits) = text.strip_prefix('u').and_then(bits) {
            return Some(Type::Unsigned(bits));
        }
        if let Some(bits) = text.strip_prefix('s').and_then(bits) {
            return Some(Type::Signed(bits));
        }
        if let Some(&Meaning::Struct(index)) = self.names.get(text) {
            let fields = &self.interfaces.structs[index].fields;
            return Some(Type::Struct {
                index,
                words: fields.iter().map(|field| field.kind.words()).sum(),
            });
        }
        let help = "types are bool, u8, u16, u32, u64, s8, s16, s32, s64, and structs that are declared earlier";
        self.fault(&name.place, format!("there is no type `{text}`"), help);
        None
    }

    fn declare(&mut self, name: &Name, meaning: Meaning) {
        // Generated code names a service with the prefix `SERVICE_`.
        if !matches!(meaning, Meaning::Service) {
            self.reserved(name);
        }
        if self.names.insert(name.text.clone(), meaning).is_some() {
            self.fault(
                &name.place,
                format!("`{}` is declared twice", name.text),
                "rename one of them",
            );
        }
    }

    fn unlike<'a>(&mut self, names: impl Iterator<Item = &'a Name>) {
        let mut seen = Vec::new();
        for name in names {
            if seen.contains(&&name.text) {
                self.fault(
                    &name.place,
                    format!("`{}` is declared twice", name.text),
                    "rename one of them",
                );
            }
            seen.push(&name.text);
        }
    }

    fn reserved(&mut self, name: &Name) {
        let text = name.text.as_str();
        if RESERVED.split(' ').any(|word| word == text)
            || text.starts_with("wl_")
            || text.starts_with('_')
        {
            let message = format!("`{text}` is reserved in the generated code");
            self.fault(&name.place, message, "choose another name");
        }
    }

    fn fault(&mut self, place: &Range<usize>, message: String, help: impl Into<String>) {
        self.faults.push(Fault::new(place.clone(), message).help(help));
    }
}
