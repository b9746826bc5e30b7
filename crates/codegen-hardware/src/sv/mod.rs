//! SystemVerilog as a tree, with a printer.
//!
//! The hardware generators build [`Module`]s and print them with [`Module::print`]; they do not
//! concatenate strings of SystemVerilog. The tree has only the constructs that generated code
//! needs: structures, continuous assignments, registers, `always_comb` with `case`, instances,
//! generate loops and comments. It does not check widths: the generators give every operand the
//! width that the language requires, so that nothing is extended or truncated silently (Verilator's
//! `-Wall`). [`names`] converts names of the source to legal names.
//!
//! ```
//! use wireloom_codegen_hardware::sv::{Expr, Item, Module, Port, Type};
//! let mut module = Module::new("wl_increment", "Adds one.");
//! module.ports.push(Port::input("a_i", Type::bits(8), "The number."));
//! module.ports.push(Port::output("sum_o", Type::bits(8), "The next one."));
//! module.items.push(Item::assign("sum_o", Expr::name("a_i").add(Expr::number(8, 1))));
//! assert!(module.print().contains("  assign sum_o = a_i + 8'd1;"));
//! ```

mod expr;
pub mod names;
mod print;
pub mod short;
#[cfg(test)]
mod tests;

pub use expr::{Binary, Expr, Unary};

/// A module, which has its own file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Module {
    /// The module's name, which is also the name of the file.
    pub name: String,
    /// The lines of the comment above the module.
    pub doc: Vec<String>,
    pub parameters: Vec<Parameter>,
    pub ports: Vec<Port>,
    pub items: Vec<Item>,
}

/// A parameter of a module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parameter {
    pub name: String,
    /// The type, for example `int unsigned`.
    pub ty: Type,
    /// The value if an instance gives none.
    pub default: Expr,
    /// The comment on its line; may be empty.
    pub doc: String,
}

/// The type of a port or net.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Type {
    /// `logic`.
    Bit,
    /// `logic [N-1:0]`, even for one bit. The number of bits is a number or an expression of
    /// parameters.
    Vector(Expr),
    /// A named type: `int unsigned`, `wl_pkg::result_t`.
    Named(String),
    /// `T [N-1:0]`: a packed array of elements of a named type.
    Array(String, Expr),
    /// `logic [N-1:0][W-1:0]`: a packed array of N vectors of W bits.
    Vectors(Expr, Expr),
}

/// A field of a structure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Field {
    pub name: String,
    pub ty: Type,
    /// The comment on its line; may be empty.
    pub doc: String,
}

/// The direction of a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// Into the module.
    Input,
    /// Out of the module.
    Output,
}

/// A port of a module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Port {
    pub direction: Direction,
    pub name: String,
    pub ty: Type,
    /// The comment on its line; may be empty.
    pub doc: String,
}

/// An item of a module or a generate block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Item {
    /// A blank line, which separates the preceding items from the following ones.
    Blank,
    /// Lines of a comment.
    Comment(Vec<String>),
    /// `localparam`.
    LocalParameter { name: String, ty: Type, value: Expr },
    /// `typedef struct packed`.
    Structure {
        /// The name ends in `_t`.
        name: String,
        /// The first field is the most significant one.
        fields: Vec<Field>,
    },
    /// A declaration of a net or variable.
    Net {
        name: String,
        ty: Type,
        /// The expression that drives it. Without one, another item drives it.
        value: Option<Expr>,
        /// The comment at the end of the line.
        comment: Option<String>,
    },
    /// `assign`.
    Assign {
        target: Expr,
        value: Expr,
        /// The comment at the end of the line.
        comment: Option<String>,
    },
    /// `always_ff` at the rising edge of a clock.
    AlwaysFf {
        clock: String,
        /// The reset of its registers, active high. With one, the body is a single `if` over it
        /// that gives every register of the block a constant, and the block prints the macro
        /// `WL_EDGES` of hardware/wl_reset.svh, which makes the reset synchronous or asynchronous.
        reset: Option<String>,
        /// Assignments are non-blocking.
        body: Vec<Statement>,
    },
    /// `always_comb`; assignments are blocking.
    AlwaysComb { body: Vec<Statement> },
    /// An instance of a module.
    Instance(Instance),
    /// `for (genvar I = 0; I < COUNT; I++) begin : LABEL`.
    For {
        /// The block's name.
        label: String,
        variable: String,
        count: Expr,
        items: Vec<Item>,
    },
    /// `if (CONDITION) begin : LABEL` at elaboration.
    If {
        /// The block's name.
        label: String,
        /// A constant expression.
        condition: Expr,
        /// The items present if the condition holds.
        items: Vec<Item>,
    },
    /// Stops elaboration: `if (CONDITION) $fatal(1, MESSAGE)`.
    Refuse {
        /// The block's name.
        label: String,
        /// A constant expression that is true in case of an error.
        condition: Expr,
        /// A sentence that describes the error.
        message: String,
    },
    /// Items that are present only if a macro is defined (`FORMAL`) or, if `defined` is false, only
    /// if it is undefined (`SYNTHESIS`).
    Under { macro_name: String, defined: bool, items: Vec<Item> },
}

/// A statement of an `always` block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Statement {
    Comment(String),
    Assign(Expr, Expr),
    /// `if`; the second list, for `else`, may be empty.
    If(Expr, Vec<Statement>, Vec<Statement>),
    /// `unique case` over labels that exclude each other.
    Case {
        /// The selecting expression.
        subject: Expr,
        /// Labels, a comment that may be empty, and statements.
        arms: Vec<(Vec<Expr>, String, Vec<Statement>)>,
        /// The statements of the default case.
        default: Vec<Statement>,
    },
    /// A named `assert`, as an immediate assertion.
    Assert {
        name: String,
        condition: Expr,
    },
}

/// An instance of a module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Instance {
    /// The name of the instantiated module.
    pub module: String,
    pub name: String,
    /// Parameters by name.
    pub parameters: Vec<(String, Expr)>,
    /// Ports by name; `None` leaves an output open.
    pub ports: Vec<(String, Option<Expr>)>,
}

impl Module {
    /// Creates an empty module. `doc` is its comment, one or more lines.
    pub fn new(name: impl Into<String>, doc: &str) -> Self {
        Self {
            name: name.into(),
            doc: doc.lines().map(str::to_owned).collect(),
            parameters: Vec::new(),
            ports: Vec::new(),
            items: Vec::new(),
        }
    }

    /// Returns the name of the file.
    pub fn file(&self) -> String {
        format!("{}.sv", self.name)
    }

    /// Returns the text of the file.
    pub fn print(&self) -> String {
        print::module(self)
    }
}

impl Parameter {
    /// Returns a parameter of type `int unsigned`.
    pub fn number(name: impl Into<String>, default: u64, doc: impl Into<String>) -> Self {
        Self { name: name.into(), ty: Type::number(), default: Expr::int(default), doc: doc.into() }
    }
}

impl Type {
    /// Returns the type of `width` bits, at least one: a single bit is a scalar.
    pub fn bits(width: u32) -> Self {
        if width == 1 { Self::Bit } else { Self::Vector(Expr::int(u64::from(width))) }
    }

    /// Returns a packed array of `count` elements of a named type.
    pub fn array(element: impl Into<String>, count: Expr) -> Self {
        Self::Array(element.into(), count)
    }

    /// Returns a packed array of `count` vectors of `width` bits.
    pub fn vectors(count: Expr, width: Expr) -> Self {
        Self::Vectors(count, width)
    }

    /// Returns a vector type whose width is a constant expression. It is a vector even for one bit.
    pub fn vector(width: Expr) -> Self {
        Self::Vector(width)
    }

    /// `int unsigned`.
    pub fn number() -> Self {
        Self::Named("int unsigned".into())
    }
}

impl Field {
    pub fn new(name: impl Into<String>, ty: Type, doc: impl Into<String>) -> Self {
        Self { name: name.into(), ty, doc: doc.into() }
    }
}

impl Port {
    pub fn input(name: impl Into<String>, ty: Type, doc: impl Into<String>) -> Self {
        Self { direction: Direction::Input, name: name.into(), ty, doc: doc.into() }
    }

    pub fn output(name: impl Into<String>, ty: Type, doc: impl Into<String>) -> Self {
        Self { direction: Direction::Output, name: name.into(), ty, doc: doc.into() }
    }
}

impl Item {
    /// Returns a comment of one or more lines.
    pub fn comment(text: &str) -> Self {
        Self::Comment(text.lines().map(str::to_owned).collect())
    }

    /// Returns a packed structure. The first field is the most significant one.
    pub fn structure(name: impl Into<String>, fields: Vec<Field>) -> Self {
        Self::Structure { name: name.into(), fields }
    }

    /// Declares a net that another item drives.
    pub fn net(name: impl Into<String>, ty: Type) -> Self {
        Self::Net { name: name.into(), ty, value: None, comment: None }
    }

    /// Declares a net together with its value.
    pub fn value(name: impl Into<String>, ty: Type, value: Expr) -> Self {
        Self::Net { name: name.into(), ty, value: Some(value), comment: None }
    }

    /// Assigns to a net or port.
    pub fn assign(name: impl Into<String>, value: Expr) -> Self {
        Self::Assign { target: Expr::name(name), value, comment: None }
    }

    /// Returns registers of `clk_i` without a reset.
    pub fn registers(body: Vec<Statement>) -> Self {
        Self::AlwaysFf { clock: "clk_i".into(), reset: None, body }
    }

    /// Returns registers of `clk_i` that `rst_i` resets. The assignments under reset give each
    /// register a constant.
    pub fn reset_registers(reset: Vec<Statement>, body: Vec<Statement>) -> Self {
        let body = vec![Statement::If("rst_i".into(), reset, body)];
        Self::AlwaysFf { clock: "clk_i".into(), reset: Some("rst_i".into()), body }
    }

    /// Returns a numeric `localparam`.
    pub fn constant(name: impl Into<String>, value: Expr) -> Self {
        Self::LocalParameter { name: name.into(), ty: Type::number(), value }
    }
}

impl Statement {
    /// Returns an assignment to a name.
    pub fn assign(name: impl Into<String>, value: Expr) -> Self {
        Self::Assign(Expr::name(name), value)
    }
}

impl Instance {
    /// Creates an instance without parameters and ports.
    pub fn new(module: impl Into<String>, name: impl Into<String>) -> Self {
        Self { module: module.into(), name: name.into(), parameters: Vec::new(), ports: Vec::new() }
    }

    /// Adds a parameter.
    #[must_use]
    pub fn parameter(mut self, name: impl Into<String>, value: Expr) -> Self {
        self.parameters.push((name.into(), value));
        self
    }

    /// Adds a port.
    #[must_use]
    pub fn port(mut self, name: impl Into<String>, value: Expr) -> Self {
        self.ports.push((name.into(), Some(value)));
        self
    }

    /// Adds an output that is left open.
    #[must_use]
    pub fn open(mut self, name: impl Into<String>) -> Self {
        self.ports.push((name.into(), None));
        self
    }
}
