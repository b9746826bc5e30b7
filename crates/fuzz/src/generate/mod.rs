//! Random well-typed programs. A program depends only on its seed.
//!
//! Programs always end: each backward jump adds one to a context variable, `spent`, up to a limit,
//! and loops and calls have bounded nesting depth.

mod engine;
mod expr;
mod offload;
mod stmt;

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

use wireloom_offloads::registry;

use crate::tree::{Enum, Function, Program, Struct, Ty};
use offload::Method;

/// Interesting widths: around powers of two and machine words, and widths of common fields.
const WIDTHS: [u32; 27] = [
    1, 2, 3, 4, 5, 7, 8, 8, 9, 12, 13, 16, 16, 16, 20, 24, 31, 32, 32, 33, 48, 63, 64, 65, 80, 127,
    128,
];
/// Widths beyond one or two machine words.
const WIDE: [u32; 5] = [129, 160, 200, 256, 400];

/// The widest number of the language.
const MAX_NUMBER: u32 = 1024;
/// The widest value that an expression builds.
const MAX_EXPR: u32 = 512;

/// The features that programs may use. The default is all of them.
#[derive(Clone, Debug)]
pub struct Uses {
    /// The kinds of offloads.
    pub kinds: Vec<&'static str>,
    /// Whether programs call engines as offloads.
    pub engines: bool,
    /// Whether programs use `emit`.
    pub copies: bool,
    /// Whether programs use what not all machines have: times that end at ticks, ciphers and
    /// streams.
    pub in_software: bool,
}

impl Default for Uses {
    fn default() -> Self {
        let kinds = registry::KINDS.iter().map(|kind| kind.name).collect();
        Self { kinds, engines: true, copies: true, in_software: true }
    }
}

/// Generates a random program that uses only the features in `uses`.
pub fn program(seed: u64, uses: Uses) -> Program {
    let mut generator = Generator {
        rng: ChaCha8Rng::seed_from_u64(seed),
        uses,
        program: Program::default(),
        callees: Vec::new(),
        scope: Scope::default(),
        counter: 0,
        budget: 0,
    };
    generator.build();
    generator.program
}

/// An engine that other engines can call.
#[derive(Clone)]
struct Callee {
    name: String,
    params: Vec<Ty>,
    reply: Ty,
}

/// A variable or view in scope.
#[derive(Clone)]
struct Variable {
    name: String,
    ty: Ty,
    can_assign: bool,
    is_view: bool,
}

/// The names that generated code can use.
#[derive(Clone, Default)]
struct Scope {
    variables: Vec<Variable>,
    functions: Vec<Function>,
    methods: Vec<Method>,
    has_packet: bool,
    /// Jumps to `forward` steps are free. Jumps to `backward` steps cost fuel.
    forward: Vec<String>,
    backward: Vec<String>,
    /// The step that writes the context to the packet.
    dump: Option<String>,
    /// The reply type of a called engine.
    reply: Option<Ty>,
    /// The result type of the function that is generated; the inner `None` means `void`. A function
    /// ends no step.
    function: Option<Option<Ty>>,
    /// Whether the code is inside a `for` loop.
    in_loop: bool,
}

struct Generator {
    rng: ChaCha8Rng,
    uses: Uses,
    program: Program,
    callees: Vec<Callee>,
    scope: Scope,
    /// A counter that makes names unique.
    counter: u32,
    /// The number of effects (calls of offloads and functions, resizes) that the current code may
    /// still have.
    budget: u32,
}

impl Generator {
    fn below(&mut self, n: usize) -> usize {
        self.rng.random_range(0..n)
    }

    fn chance(&mut self, percent: u32) -> bool {
        self.rng.random_range(0..100) < percent
    }

    fn pick<'a, T>(&mut self, items: &'a [T]) -> &'a T {
        let index = self.below(items.len());
        &items[index]
    }

    fn fresh(&mut self, prefix: &str) -> String {
        self.counter += 1;
        format!("{prefix}{}", self.counter)
    }

    fn build(&mut self) {
        for _ in 0..self.below(3) {
            self.enumeration();
        }
        for _ in 0..self.below(3) {
            self.structure(false);
        }
        for _ in 0..1 + self.below(3) {
            self.structure(true);
        }
        for _ in 0..self.below(3) {
            self.table();
        }
        for _ in 0..self.below(3) {
            let function = self.function(&self.file_scope(), false);
            self.program.functions.push(function);
        }
        for _ in 0..self.below(3) {
            let reply = self.value_type();
            self.engine(Some(reply));
        }
        self.engine(None);
    }

    /// The names that every function and engine can use: the constant arrays.
    fn file_scope(&self) -> Scope {
        let table = |(name, ty, _): &(String, Ty, Vec<u64>)| Variable {
            name: name.clone(),
            ty: ty.clone(),
            can_assign: false,
            is_view: false,
        };
        Scope { variables: self.program.tables.iter().map(table).collect(), ..Scope::default() }
    }

    /// Generates a constant array. Arrays of eight elements or more become tables.
    fn table(&mut self) {
        let (name, width) = (self.fresh("t"), *self.pick(&[1, 3, 8, 16, 33]));
        let count = 4 + self.below(12) as u32;
        let elements = (0..count).map(|_| self.rng.random_range(0..1u64 << width)).collect();
        let ty = Ty::Array(Box::new(Ty::Bits(width)), count);
        self.program.tables.push((name, ty, elements));
    }

    fn enumeration(&mut self) {
        let name = self.fresh("E");
        let width = *self.pick(&[3, 8, 8, 16]);
        let mut next = 0;
        let members = (0..1 + self.below(4))
            .map(|_| {
                let member = (self.fresh("M"), next);
                next += 1;
                member
            })
            .collect();
        self.program.enums.push(Enum { name, width, members });
    }

    /// Generates a structure, or a header with a whole number of bytes.
    fn structure(&mut self, is_header: bool) {
        let name = self.fresh(if is_header { "H" } else { "S" });
        let mut fields = Vec::new();
        for _ in 0..1 + self.below(4) {
            let ty = self.field_type();
            fields.push((self.fresh("f"), ty));
        }
        if is_header && self.chance(40) {
            fields.push((self.fresh("f"), self.address_type()));
        }
        let width: u32 = fields.iter().map(|(_, ty)| ty.width()).sum();
        if is_header && !width.is_multiple_of(8) {
            fields.push((self.fresh("pad"), Ty::Bits(8 - width % 8)));
        }
        self.program.structs.push(Struct { name, is_header, fields });
    }

    /// Returns a type for a field: mostly a scalar, sometimes an array or a structure.
    fn field_type(&mut self) -> Ty {
        match self.below(10) {
            0 => {
                let count = 2 + self.below(3) as u32;
                Ty::Array(Box::new(Ty::Bits(*self.pick(&[1, 4, 8, 9, 16]))), count)
            }
            1 if !self.program.structs.is_empty() => self.struct_type(),
            2 if !self.program.enums.is_empty() => self.enum_type(),
            3 => Ty::Bool,
            _ => self.bits_type(),
        }
    }

    fn bits_type(&mut self) -> Ty {
        Ty::Bits(if self.chance(6) { *self.pick(&WIDE) } else { *self.pick(&WIDTHS) })
    }

    /// Returns a type for an address: a packet field that calls use as a key.
    fn address_type(&mut self) -> Ty {
        Ty::Bits(*self.pick(&[40, 48, 64, 128]))
    }

    fn struct_type(&mut self) -> Ty {
        let index = self.below(self.program.structs.len());
        let candidate = Ty::Struct(Box::new(self.program.structs[index].clone()));
        if candidate.width() <= MAX_EXPR { candidate } else { self.bits_type() }
    }

    fn enum_type(&mut self) -> Ty {
        let index = self.below(self.program.enums.len());
        let e = &self.program.enums[index];
        Ty::Enum(e.name.clone(), e.width)
    }

    /// Returns a type for a variable, key, value, parameter or reply.
    fn value_type(&mut self) -> Ty {
        match self.below(12) {
            0..=2 if !self.program.structs.is_empty() => self.struct_type(),
            _ => self.field_type(),
        }
    }

    /// Returns a type for a context or local variable. Sometimes it is an array that is long enough
    /// to be kept in memory if it is indexed at run time.
    fn variable_type(&mut self) -> Ty {
        if !self.chance(12) {
            return self.value_type();
        }
        let small = self.program.structs.iter().filter(|s| !s.is_header);
        let small: Vec<Ty> = small.map(|s| Ty::Struct(Box::new(s.clone()))).collect();
        let element = match small.iter().find(|ty| ty.width() <= 16) {
            Some(small) if self.chance(40) => small.clone(),
            _ => Ty::Bits(*self.pick(&[1, 3, 8, 9, 16])),
        };
        let most = MAX_EXPR / element.width();
        let count = 32 + self.below((most.min(80) - 32) as usize + 1) as u32;
        Ty::Array(Box::new(element), count)
    }

    fn header(&mut self) -> Struct {
        let headers: Vec<_> =
            self.program.structs.iter().filter(|s| s.is_header).cloned().collect();
        self.pick(&headers).clone()
    }
}
