//! The rows of an instruction table, and their notation.
//!
//! A row has the notation of an instruction (`syntax`) and the layout of its word (`pattern`).
//! Encoder, decoder, disassembler, assembler and documentation all read the rows, so they cannot
//! differ.

use super::{
    AluOperation, BranchClass, Command, Completion, Condition, MultiplyStep, Operation, Order,
    Unit, Version,
};

/// One instruction of a set.
#[derive(Debug)]
pub struct InstructionRow {
    /// The notation of the instruction: `alu[dest, a, op, b]`. A word that is not the name of a
    /// [`Slot`] is literal.
    pub syntax: &'static str,
    /// The word from its top bit. Digits are literal, `name:width` is a [`Field`]. Remaining low
    /// bits are 0.
    pub pattern: &'static str,
    /// The form that the word decodes to.
    pub form: Form,
    /// The parts that public documents state.
    pub known: Known,
    /// The meaning of the instruction, for the documentation.
    pub meaning: &'static str,
}

/// The parts of an instruction that public documents state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Known {
    /// The name and the purpose; the encoding is assumed.
    Name,
    /// The name and the operation code. The layout of the operands is assumed.
    Code,
    /// Nothing: name and encoding are assumed.
    Nothing,
}

/// The instruction that a row decodes to, apart from its operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    Alu,
    AluShift,
    DoubleShift,
    Immediate,
    /// Another way to write `Immediate`, for the assembler only.
    LoadAddress,
    ImmediateByte(u8),
    ImmediateWord(u8),
    LoadField {
        clear: bool,
    },
    FindBitSet {
        clear: bool,
    },
    LoadBitSetResult(u8),
    FindFirstSet,
    PopulationCount,
    ByteAlign {
        little_endian: bool,
    },
    Crc {
        little_endian: bool,
    },
    Multiply(MultiplyStep),
    MultiplyStep,
    Branch(Condition),
    BranchBit(bool),
    BranchByte(bool),
    BranchContext(bool),
    BranchInput,
    BranchSignal(bool),
    Jump,
    Return,
    Arbitrate,
    LocalCsrRead,
    LocalCsrWrite,
    CamLookup,
    CamWrite,
    CamWriteState,
    CamReadTag,
    CamReadState,
    CamClear,
    Nop,
    Command(Unit, Operation),
}

impl Form {
    /// Returns the class, if the instruction is a branch or can give up the engine.
    pub fn class(self) -> Option<BranchClass> {
        match self {
            Self::Branch(Condition::Always)
            | Self::BranchContext(_)
            | Self::BranchInput
            | Self::BranchSignal(_) => Some(BranchClass::One),
            Self::Arbitrate | Self::Command(..) => Some(BranchClass::Swap),
            Self::Branch(_) => Some(BranchClass::Two),
            Self::BranchBit(_) | Self::BranchByte(_) | Self::Jump | Self::Return => {
                Some(BranchClass::Three)
            }
            _ => None,
        }
    }
}

/// An operand between the brackets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Slot {
    /// A word that selects the row.
    Word(&'static str),
    /// `dest`.
    Destination,
    /// `a`.
    A,
    /// `b`.
    B,
    /// `op`: an operation of the ALU.
    Operation,
    /// `shift`: `<<3`, `>>rot8`, `<<indirect`; it may be left out with `shift?`.
    Shift { optional: bool },
    /// `amount`: `>>3` or `>>indirect`.
    Amount,
    /// `value`: a constant.
    Value,
    /// `immediate`: a constant, perhaps followed by a shift of 0, 8 or 16 bits.
    Immediate,
    /// `mask`: four binary digits, for bytes 3 to 0.
    Mask,
    /// `crc`: a polynomial, by name.
    Polynomial,
    /// `bit`, `byte`, `ctx`, `cam_state`, `step`: a small number.
    Number,
    /// `state`: by name.
    State,
    /// `signal`: by name.
    Signal,
    /// `signals`: `voluntary`, `kill`, or names of signals, to the end of the operands.
    Signals,
    /// `csr`: of the engine, by name.
    LocalCsr,
    /// `fbi_csr`: of the FBI or the chip, by name.
    UnitCsr,
    /// `label`.
    Label,
    /// `xfer`: the first transfer register of a command.
    Transfer,
    /// `count`: granules.
    Count,
    /// `list`: the number of a list.
    List,
}

/// A field of a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Field {
    Destination,
    /// Operand A or B without its bank, which follows from `Swap`.
    A,
    B,
    /// Swaps the banks: operand A is read from bank B, and B from bank A.
    Swap,
    /// Operand A (`sa`) or B (`s`) with its bank.
    BankedA,
    BankedB,
    Operation,
    Shift,
    /// Amount of a double shift; 0: indirect.
    Amount,
    /// The lower bits of the number `imm`.
    Value,
    /// An `immed`: inversion (1 bit), bytes of shift (2), number (16).
    Immediate,
    Number,
    /// Polynomial, bytes and order of bits of a check.
    Check,
    /// The pointer that a lookup sets: a bit if it does, the pointer, the block (2).
    CamPointer,
    Target,
    /// The target as a signed distance from the branch.
    Distance,
    Defer,
    Wait,
    Transfer,
    /// Granules less 1.
    Count,
    List,
    Completion,
    Order,
    Indirect,
}

/// A piece of a word, from its top.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Piece {
    Fixed(u64),
    Field(Field),
}

/// A piece with its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Placed {
    pub piece: Piece,
    pub low: u32,
    pub width: u32,
}

/// A parsed row.
#[derive(Debug)]
pub struct Parsed {
    pub row: &'static InstructionRow,
    version: Version,
    /// The name before the bracket.
    pub mnemonic: &'static str,
    pub slots: Vec<Slot>,
    pub pieces: Vec<Placed>,
    /// The fixed bits, and their values.
    pub mask: u64,
    pub fixed: u64,
}

impl Parsed {
    /// Parses a row of a set.
    pub(super) fn new(version: Version, row: &'static InstructionRow) -> Self {
        let (mnemonic, rest) = row.syntax.split_once('[').unwrap_or((row.syntax, ""));
        let slots = rest.trim_end_matches(']').split(", ").filter(|name| !name.is_empty());
        let slots = slots.map(slot).collect();
        let mut low = version.word_bits();
        let mut pieces = Vec::new();
        let mut place = |piece, width: u32| {
            low = low.checked_sub(width).unwrap_or_else(|| panic!("{} is too wide", row.syntax));
            pieces.push(Placed { piece, low, width });
        };
        for word in row.pattern.split(' ') {
            match word.split_once(':') {
                Some((name, width)) => {
                    let width = width.parse().expect("a width in decimal digits");
                    place(Piece::Field(field(name)), width);
                }
                None => {
                    let bits = u64::from_str_radix(word, 2).expect("binary digits");
                    place(Piece::Fixed(bits), word.len() as u32);
                }
            }
        }
        if low > 0 {
            pieces.push(Placed { piece: Piece::Fixed(0), low: 0, width: low });
        }
        let (mut mask, mut fixed) = (0, 0);
        for placed in &pieces {
            if let Piece::Fixed(bits) = placed.piece {
                mask |= ones(placed.width) << placed.low;
                fixed |= bits << placed.low;
            }
        }
        Self { row, version, mnemonic, slots, pieces, mask, fixed }
    }

    /// Returns the width of a field, 0 if the row does not have it.
    pub fn width(&self, field: Field) -> u32 {
        let is = |placed: &&Placed| placed.piece == Piece::Field(field);
        self.pieces.iter().find(is).map_or(0, |placed| placed.width)
    }

    /// Returns the highest `n` of `defer[n]`.
    pub fn most_deferred(&self) -> u8 {
        let fits = ones(self.width(Field::Defer)) as u8;
        self.row.form.class().map_or(0, |class| fits.min(class.aborts(self.version)))
    }
}

/// Returns a word with this many low bits set.
pub(super) fn ones(width: u32) -> u64 {
    (1 << width) - 1
}

fn slot(name: &'static str) -> Slot {
    match name {
        "dest" => Slot::Destination,
        "a" | "entry" => Slot::A,
        "b" | "source" | "register" => Slot::B,
        "op" => Slot::Operation,
        "shift" => Slot::Shift { optional: false },
        "shift?" => Slot::Shift { optional: true },
        "amount" => Slot::Amount,
        "value" => Slot::Value,
        "immediate" => Slot::Immediate,
        "mask" => Slot::Mask,
        "crc" => Slot::Polynomial,
        "bit" | "byte" | "ctx" | "cam_state" | "step" => Slot::Number,
        "state" => Slot::State,
        "signal" => Slot::Signal,
        "signals" => Slot::Signals,
        "csr" => Slot::LocalCsr,
        "unit_csr" => Slot::UnitCsr,
        "label" => Slot::Label,
        "xfer" => Slot::Transfer,
        "count" => Slot::Count,
        "list" => Slot::List,
        word => Slot::Word(word),
    }
}

fn field(name: &str) -> Field {
    match name {
        "dest" => Field::Destination,
        "a" => Field::A,
        "b" => Field::B,
        "swap" => Field::Swap,
        "sa" => Field::BankedA,
        "s" => Field::BankedB,
        "op" => Field::Operation,
        "shift" => Field::Shift,
        "amount" => Field::Amount,
        "imm" => Field::Value,
        "immed" => Field::Immediate,
        "n" => Field::Number,
        "check" => Field::Check,
        "pointer" => Field::CamPointer,
        "target" => Field::Target,
        "dist" => Field::Distance,
        "defer" => Field::Defer,
        "wait" => Field::Wait,
        "xfer" => Field::Transfer,
        "count" => Field::Count,
        "list" => Field::List,
        "sig" => Field::Completion,
        "order" => Field::Order,
        "ind" => Field::Indirect,
        _ => panic!("no field is called {name}"),
    }
}

/// The name of an ALU operation, the operation, its codes in `alu` of versions 1 and 2, and its
/// code in `alu_shf`.
pub type OperationRow = (&'static str, AluOperation, [Option<u8>; 2], Option<u8>);

/// The operations of the ALU. The codes in `alu` are public except for `+8` and `B-A`.
pub const OPERATIONS: [OperationRow; 14] = [
    ("B", AluOperation::B, [Some(0x0), Some(0x00)], Some(0)),
    ("~B", AluOperation::NotB, [Some(0x1), Some(0x04)], Some(1)),
    ("+", AluOperation::Add, [Some(0x2), Some(0x01)], None),
    ("+16", AluOperation::Add16, [Some(0x3), Some(0x05)], None),
    ("+8", AluOperation::Add8, [None, Some(0x09)], None),
    ("+carry", AluOperation::AddCarry, [Some(0x4), Some(0x11)], None),
    ("-", AluOperation::Subtract, [Some(0x5), Some(0x15)], None),
    ("-carry", AluOperation::SubtractCarry, [Some(0x6), Some(0x0d)], None),
    ("B-A", AluOperation::ReverseSubtract, [Some(0x7), Some(0x16)], None),
    ("AND", AluOperation::And, [Some(0x8), Some(0x08)], Some(2)),
    ("~AND", AluOperation::NotAnd, [Some(0x9), Some(0x0c)], Some(3)),
    ("AND~", AluOperation::AndNot, [Some(0xa), Some(0x10)], Some(4)),
    ("OR", AluOperation::Or, [Some(0xb), Some(0x14)], Some(5)),
    ("XOR", AluOperation::Xor, [Some(0xc), Some(0x18)], Some(6)),
];

impl AluOperation {
    /// Returns the name in the source.
    pub fn name(self) -> &'static str {
        let row = OPERATIONS.iter().find(|row| row.1 == self);
        row.map_or("", |row| row.0)
    }

    /// Returns the operation with a name, in any case.
    pub fn of_name(name: &str) -> Option<Self> {
        OPERATIONS.iter().find(|row| row.0.eq_ignore_ascii_case(name)).map(|row| row.1)
    }

    /// Whether operand A is ignored.
    pub fn is_unary(self) -> bool {
        matches!(self, Self::B | Self::NotB)
    }
}

/// The tokens of the orders.
pub const ORDERS: [(&str, Order); 3] =
    [("optimize_mem", Order::Optimize), ("ordered", Order::Ordered), ("priority", Order::Priority)];

impl Command {
    /// Returns a command without tokens.
    pub fn new(unit: Unit, operation: Operation) -> Self {
        Self {
            unit,
            operation,
            transfer: None,
            a: super::Source::None,
            b: super::Source::None,
            count: 0,
            indirect: false,
            order: Order::Default,
            completion: Completion::None,
            defer: 0,
        }
    }
}
