//! Services of an application that hardware elements serve. Each method is a called engine with its
//! own pipeline (the paper, section 4.1: the caller of an object does not know whether that is
//! software or hardware).
//!
//! A parameter of a method is a parameter of its engine. The engine's reply is the result with the
//! values of the `out` parameters. The numbers of a value are consecutive, the first one most
//! significant, as Loom C packs its structures and arrays.

use wireloom_bits::Bits;
use wireloom_codegen_c::thread::Elements;
use wireloom_codegen_hardware::pipelined::caller;
use wireloom_ir::{EngineId, EngineKind, OffloadTarget, Program};
use wireloom_offloads::Store;
use wireloom_sidl::Interfaces;
use wireloom_sidl::interfaces::{Field, Method, Place, Service, Type};

use super::element::ElementSpec;
use super::energy::Unit;
use super::objects::{Called, MethodInterface, ObjectInterface, Objects, PacketUse, Server, Words};
use super::program::marshal::Offloads;
use super::spec::Spec;

/// The default number of calls that a hardware element can hold.
const PLACES: u32 = 16;

/// The services of an application that a machine has in hardware, from `[element.SERVICE]` of its
/// description.
pub struct InHardware<'a> {
    interfaces: &'a Interfaces,
    /// The number of each service, with its element.
    services: Vec<(usize, ElementSpec)>,
}

impl<'a> InHardware<'a> {
    /// The services of an application that a machine has in hardware.
    ///
    /// # Errors
    /// A sentence, if the application has no such service, or a method cannot be pipelined.
    pub fn of(spec: &Spec, interfaces: &'a Interfaces) -> Result<Self, String> {
        let find = |(name, element): (&String, &ElementSpec)| {
            let number = interfaces.services.iter().position(|service| service.name == *name);
            let number = number.ok_or_else(|| no_service(name, interfaces))?;
            Ok((number, *element))
        };
        let mut services = spec.element.iter().map(find).collect::<Result<Vec<_>, String>>()?;
        services.sort_by_key(|(number, _)| *number);
        let hardware = Self { interfaces, services };
        let silent = hardware.methods().find(|(_, method)| method.reply_words() == 0);
        match silent {
            None => Ok(hardware),
            Some((service, method)) => Err(format!(
                "`element.{}`: method `{}` answers nothing: a pipeline keeps nothing that it could change",
                service.name, method.name
            )),
        }
    }

    /// Whether the machine has no service in hardware.
    pub fn is_empty(&self) -> bool {
        self.services.is_empty()
    }

    /// Each method, with its service.
    fn methods(&self) -> impl Iterator<Item = (&'a Service, &'a Method)> {
        let Interfaces { interfaces, services, .. } = self.interfaces;
        self.services.iter().flat_map(move |(number, _)| {
            let service = &services[*number];
            interfaces[service.interface].methods.iter().map(move |method| (service, method))
        })
    }

    /// Checks that a program with engines of these names has all engines.
    ///
    /// # Errors
    /// A sentence that names the missing engine.
    pub fn check_names(&self, engines: &[&str]) -> Result<(), String> {
        let Some((service, method)) =
            self.methods().find(|(_, method)| !engines.contains(&method.name.as_str()))
        else {
            return Ok(());
        };
        let has = if engines.is_empty() { "none".to_owned() } else { engines.join(", ") };
        Err(format!(
            "service `{}` is in hardware, and there is no engine `{}` for its method of that name; engines that are called: {has}",
            service.name, method.name
        ))
    }

    /// The text to append to the source of the engines. Each method is an offload of a [`caller`],
    /// with the name SERVICE_METHOD.
    pub fn caller(&self) -> String {
        let offload = |(service, method): (&Service, &'a Method)| {
            (format!("{}_{}", service.name, method.name), method.name.as_str())
        };
        let offloads: Vec<(String, &str)> = self.methods().map(offload).collect();
        let offloads: Vec<(&str, &str)> =
            offloads.iter().map(|(name, engine)| (name.as_str(), *engine)).collect();
        caller(&offloads)
    }
}

fn no_service(name: &str, interfaces: &Interfaces) -> String {
    let all: Vec<&str> = interfaces.services.iter().map(|service| &*service.name).collect();
    let has = if all.is_empty() { "none".to_owned() } else { all.join(", ") };
    format!("`element.{name}`: the application has no service of that name; it has {has}")
}

/// Services that hardware serves, with the engines that implement their methods.
#[derive(Clone, Default)]
pub struct Services {
    offloads: Option<Offloads>,
    interfaces: Vec<ObjectInterface>,
    /// The messages of each object.
    messages: Vec<Messages>,
    servers: Vec<Server>,
}

/// The messages of a method, and the parameters of its engine.
#[derive(Clone, Debug)]
struct Messages {
    request: Vec<Place>,
    /// The widths of the engine's parameters; a structure or an array has one for each of its
    /// numbers.
    parameters: Vec<u32>,
    reply: Vec<Place>,
    reply_words: usize,
}

impl Services {
    /// The hardware services of a machine. The program comes from a source with
    /// [`InHardware::caller`] appended, the store from `wireloom_ir::store`.
    ///
    /// # Errors
    /// A sentence, if the signature of an engine differs from that of its method, or an engine
    /// cannot be pipelined.
    ///
    /// # Panics
    /// The program or the store belongs to other services.
    pub fn new(
        spec: &Spec,
        hardware: &InHardware<'_>,
        program: &Program,
        store: Store,
    ) -> Result<Self, String> {
        let all = hardware.interfaces;
        let mut services = Self::default();
        let mut engines = program.engines[program.main.index()].offloads.iter();
        for (number, element) in &hardware.services {
            let first = services.messages.len();
            for method in &all.interfaces[all.services[*number].interface].methods {
                let offload = engines.next().expect("an offload for each method");
                let OffloadTarget::Engine(engine) = offload.target else { panic!("an engine") };
                let messages = Messages::new(all, method, program, engine).map_err(|why| {
                    format!(
                        "method `{}` of service `{}`: {why}",
                        method.name, all.services[*number].name
                    )
                })?;
                let times = element.times(&spec.object, program, engine)?;
                services.interfaces.push(ObjectInterface {
                    name: offload.name.clone(),
                    kind: program.engines[engine.index()].name.clone(),
                    is_ordered: false,
                    methods: vec![MethodInterface {
                        argument_words: method.request_words() as u32,
                        reply_words: method.reply_words() as u32,
                        packet: PacketUse::Nothing,
                    }],
                    times: Some(times),
                    unit: Unit::pipeline(&times, element.clock),
                });
                services.messages.push(messages);
            }
            services.servers.push(Server {
                service: *number as u32,
                objects: first..services.messages.len(),
                places: element.places.unwrap_or(PLACES),
            });
        }
        let names = services.interfaces.iter().map(|interface| interface.name.as_str());
        let elements = Elements::named(program, names).map_err(|refused| refused.to_string())?;
        services.offloads = Some(Offloads::new(program, &elements, store));
        Ok(services)
    }
}

impl Messages {
    /// The messages of a method that an engine implements.
    ///
    /// # Errors
    /// A sentence, if the signature of the engine differs from that of the method.
    fn new(
        all: &Interfaces,
        method: &Method,
        program: &Program,
        engine: EngineId,
    ) -> Result<Self, String> {
        let engine = &program.engines[engine.index()];
        let EngineKind::Call { params, reply: reply_width } = &engine.kind else {
            return Err(format!("engine `{}` takes packets, and is not called", engine.name));
        };
        let (inputs, outputs) = (kinds(&method.inputs), kinds(&method.outputs));
        let parameters: Vec<u32> =
            params.iter().map(|param| engine.context[param.index()].width).collect();
        let wanted: Vec<u32> = inputs.clone().map(|kind| bits(&all.places(kind, 0))).collect();
        if !is_divided(&wanted, &parameters) {
            return Err(format!(
                "it takes {}, structures and arrays packed, and engine `{}` {}",
                list(&wanted),
                engine.name,
                list(&parameters)
            ));
        }
        let reply = all.places_of_all(method.result.iter().chain(outputs), 0);
        if bits(&reply) != *reply_width {
            return Err(format!(
                "it answers u{}, packed, and engine `{}` u{reply_width}",
                bits(&reply),
                engine.name
            ));
        }
        Ok(Self {
            request: all.places_of_all(inputs, 0),
            parameters,
            reply,
            reply_words: method.reply_words(),
        })
    }
}

fn kinds(fields: &[Field]) -> impl Iterator<Item = &Type> + Clone {
    fields.iter().map(|field| &field.kind)
}

fn bits(places: &[Place]) -> u32 {
    places.iter().map(|place| place.bits).sum()
}

fn list(widths: &[u32]) -> String {
    match widths {
        [] => "nothing".to_owned(),
        _ => widths.iter().map(|width| format!("u{width}")).collect::<Vec<_>>().join(", "),
    }
}

/// Whether each width is the sum of consecutive parts, and all parts are used in order.
fn is_divided(widths: &[u32], parts: &[u32]) -> bool {
    let ends = |widths: &[u32]| -> Vec<u32> {
        widths
            .iter()
            .scan(0, |end, width| {
                *end += width;
                Some(*end)
            })
            .collect()
    };
    let (wanted, given) = (ends(widths), ends(parts));
    wanted.last() == given.last() && wanted.iter().all(|end| given.contains(end))
}

impl Objects for Services {
    fn interfaces(&self) -> &[ObjectInterface] {
        &self.interfaces
    }

    fn servers(&self) -> &[Server] {
        &self.servers
    }

    /// # Panics
    /// There is no such object, or there are fewer words than its interface states.
    fn call(&mut self, call: Called<'_>) -> Words {
        let Messages { request, parameters, reply, reply_words } = &self.messages[call.object];
        let offloads = self.offloads.as_mut().expect("there are objects");
        let values = split(pack(request, call.arguments).as_ref(), parameters);
        unpack(reply, &offloads.answer(call.object, 0, &values, call.packet, None), *reply_words)
    }
}

/// Packs the numbers of a message, the first most significant; `None` if the message has none.
fn pack(places: &[Place], words: &[u32]) -> Option<Bits> {
    let number = |place: &Place| {
        let low = u128::from(words[place.word] >> place.shift);
        let high = if place.bits > 32 { u128::from(words[place.word + 1]) << 32 } else { 0 };
        Bits::new(place.bits, high | low)
    };
    places.iter().map(number).reduce(|high, low| high.concat(&low))
}

/// Splits a value into numbers of these widths, the first most significant.
fn split(packed: Option<&Bits>, widths: &[u32]) -> Vec<Bits> {
    let Some(packed) = packed else { return Vec::new() };
    let mut end = packed.width();
    let mut next = |width: &u32| {
        end -= width;
        packed.slice(end, *width)
    };
    widths.iter().map(&mut next).collect()
}

/// Creates a message of `words` words from a value that packs its numbers.
fn unpack(places: &[Place], value: &Bits, words: usize) -> Words {
    let mut message = Words::from_elem(0, words);
    let mut end = value.width();
    for place in places {
        end -= place.bits;
        let number = value.extract(end, place.bits);
        message[place.word] |= (number as u32) << place.shift;
        if place.bits > 32 {
            message[place.word + 1] = (number >> 32) as u32;
        }
    }
    message
}

#[cfg(test)]
mod tests {
    use wireloom_sim::Clock;

    use super::*;

    #[test]
    fn values_of_messages_come_out_as_they_went_in() {
        let text = "
            struct Mac { u8 octet[6]; };
            struct Route { u64 number; bool ok; Mac mac; s16 pair[3]; };
            interface I { Route search(Route of, u8 more, out bool any); };
            service s : I;";
        let interfaces = wireloom_sidl::read("values.sidl", text).expect("it is right");
        let method = &interfaces.interfaces[0].methods[0];
        let words = [0x89ab_cdef, 0x0123_4567, 1, 0x4433_2211, 0x6655, 0x2222_1111, 0x3333];
        let request = interfaces.places_of_all(kinds(&method.inputs), 0);
        let packed = pack(&request, &[&words[..], &[0xff77]].concat()).expect("there are some");
        let whole = split(Some(&packed), &[64 + 1 + 48 + 48, 8]);
        let route = &whole[0];
        assert_eq!(route.slice(97, 64).low_u64(), 0x0123_4567_89ab_cdef);
        assert_eq!(route.slice(48, 48).low_u64(), 0x1122_3344_5566);
        assert_eq!(route.slice(0, 48).low_u64(), 0x1111_2222_3333);
        assert_eq!(whole[1], Bits::new(8, 0x77), "bits above a value do not count");
        let parts = split(Some(&packed), &[64, 1, 48, 16, 16, 16, 8]);
        assert_eq!((parts[1].low_u64(), parts[4].low_u64(), parts[6].low_u64()), (1, 0x2222, 0x77));
        let reply = interfaces.places_of_all(method.result.iter().chain(kinds(&method.outputs)), 0);
        let message = unpack(&reply, &route.concat(&Bits::bool(true)), method.reply_words());
        assert_eq!(message[..], [&words[..], &[1]].concat());
        assert_eq!(split(pack(&[], &[]).as_ref(), &[]), []);
    }

    #[test]
    fn parameters_may_be_packed_or_in_parts() {
        for (parts, fits) in [
            (&[8, 97][..], true),
            (&[8, 64, 33], true),
            (&[105], false),
            (&[8, 96], false),
            (&[4, 4, 97], true),
            (&[], false),
        ] {
            assert_eq!(is_divided(&[8, 97], parts), fits, "{parts:?}");
        }
        assert!(is_divided(&[], &[]) && !is_divided(&[], &[1]));
    }

    #[test]
    fn the_description_of_a_machine_says_what_is_in_hardware() {
        let read = |text: &str| wireloom_sidl::read("some.sidl", text).expect("it is right");
        let spec = |elements: &[&str]| {
            let mut spec = Spec::base();
            let element =
                ElementSpec { clock: Clock::hertz(500_000_000), interval: None, places: None };
            spec.element = elements.iter().map(|name| ((*name).to_owned(), element)).collect();
            spec
        };
        let interfaces = read(
            "interface A { u8 get(u8 x); }; interface B { u8 get(u8 x); oneway void put(u8 x); }; service a : A; service b : B; service c : A;",
        );
        let hardware = |elements: &[&str]| InHardware::of(&spec(elements), &interfaces);
        assert!(hardware(&[]).expect("nothing").is_empty());
        let both = hardware(&["c", "a"]).expect("it can be");
        assert!(
            both.caller()
                .contains("    offload a_get : engine get;\n    offload c_get : engine get;\n")
        );
        assert!(both.check_names(&["get"]).is_ok());
        let refusals = [
            both.check_names(&["set", "step"]).err(),
            hardware(&["b"]).err(),
            hardware(&["d"]).err(),
        ]
        .map(|why| why.expect("it is refused"));
        assert_eq!(
            refusals,
            [
                "service `a` is in hardware, and there is no engine `get` for its method of that name; engines that are called: set, step",
                "`element.b`: method `put` answers nothing: a pipeline keeps nothing that it could change",
                "`element.d`: the application has no service of that name; it has a, b, c",
            ]
        );
    }
}
