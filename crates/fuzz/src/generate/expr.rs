//! Expressions of a given type.

use std::net::{Ipv4Addr, Ipv6Addr};

use rand::Rng;

use super::{Generator, MAX_EXPR, MAX_NUMBER, WIDTHS};
use crate::tree::{Expr, ExprKind, Ty};

const ARITHMETIC: [&str; 8] = ["+", "-", "*", "/", "%", "&", "|", "^"];
const COMPARISONS: [&str; 6] = ["==", "!=", "<", "<=", ">", ">="];

impl Generator {
    /// Generates an expression of exactly this type, with at most `depth` levels.
    pub(super) fn expr(&mut self, ty: &Ty, depth: u32) -> Expr {
        if depth == 0 || self.chance(12) {
            return self.leaf(ty);
        }
        match ty {
            Ty::Bits(width) => self.bits(*width, depth - 1),
            Ty::Bool => self.truth(depth - 1),
            Ty::Enum(..) => match self.below(3) {
                0 => self.conditional(ty, depth - 1),
                1 => {
                    let from = self.bits_of_any_width(depth - 1);
                    cast(ty, from)
                }
                _ => self.leaf(ty),
            },
            Ty::Struct(_) | Ty::Array(..) => match self.below(5) {
                0 => self.conditional(ty, depth - 1),
                1 => {
                    let from = self.expr(&Ty::Bits(ty.width().min(MAX_NUMBER)), depth - 1);
                    cast(ty, from)
                }
                2 | 3 => self.aggregate(ty, depth - 1),
                _ => self.leaf(ty),
            },
        }
    }

    fn aggregate(&mut self, ty: &Ty, depth: u32) -> Expr {
        let parts: Vec<Ty> = match ty {
            Ty::Struct(s) => s.fields.iter().map(|(_, ty)| ty.clone()).collect(),
            Ty::Array(element, count) => vec![(**element).clone(); *count as usize],
            _ => unreachable!("only these have parts"),
        };
        let parts = parts.iter().map(|ty| self.expr(ty, depth.min(1))).collect();
        Expr::new(ty.clone(), ExprKind::Aggregate(parts))
    }

    fn conditional(&mut self, ty: &Ty, depth: u32) -> Expr {
        let condition = self.expr(&Ty::Bool, depth);
        let (a, b) = (self.expr(ty, depth), self.expr(ty, depth));
        Expr::new(ty.clone(), ExprKind::Conditional(Box::new(condition), Box::new(a), Box::new(b)))
    }

    /// Generates a literal, or the value of a variable, with a cast if necessary.
    pub(super) fn leaf(&mut self, ty: &Ty) -> Expr {
        if !self.scope.variables.is_empty() && self.chance(75) {
            let place = self.place(1);
            return if place.ty == *ty { place } else { convert(ty, place) };
        }
        self.literal(ty)
    }

    fn literal(&mut self, ty: &Ty) -> Expr {
        match ty {
            Ty::Bits(width) => {
                let most = if *width >= 64 { u64::MAX } else { (1 << width) - 1 };
                let value = match self.below(5) {
                    0 => 0,
                    1 => 1,
                    2 => most,
                    3 => self.rng.random::<u64>() & most,
                    _ => self.rng.random_range(0..17) & most,
                };
                // Half of the numbers of an address width are written as addresses.
                let number = match width {
                    32 if value % 2 == 1 => Ipv4Addr::from_bits(value as u32).to_string(),
                    48 if value % 2 == 1 => mac(value),
                    128 if value % 2 == 1 => Ipv6Addr::from_bits(value.into()).to_string(),
                    _ => format!("{value:#x}"),
                };
                Expr::atom(ty.clone(), format!("(u{width}){number}"))
            }
            Ty::Bool => Expr::atom(Ty::Bool, if self.chance(50) { "true" } else { "false" }),
            Ty::Enum(name, _) => {
                let e =
                    self.program.enums.iter().find(|e| e.name == *name).expect("it was declared");
                let names: Vec<_> = e.members.iter().map(|(n, _)| n.clone()).collect();
                let member = self.pick(&names).clone();
                Expr::atom(ty.clone(), member)
            }
            Ty::Struct(_) | Ty::Array(..) => Expr::zero(ty.clone()),
        }
    }

    /// Generates a variable or a part of one. With `depth` 0, indices are literals.
    pub(super) fn place(&mut self, depth: u32) -> Expr {
        // Prefer recent declarations, so that results are used.
        let count = self.scope.variables.len();
        let first = if self.chance(40) { count.saturating_sub(3) } else { 0 };
        let variable = self.scope.variables[self.rng.random_range(first..count)].clone();
        let place = Expr::atom(variable.ty, variable.name);
        self.part_of(place, depth)
    }

    /// Generates the target of an assignment, if there is one.
    pub(super) fn target(&mut self) -> Option<Expr> {
        let targets: Vec<_> =
            self.scope.variables.iter().filter(|v| v.can_assign).cloned().collect();
        if targets.is_empty() {
            return None;
        }
        let variable = self.pick(&targets).clone();
        Some(self.part_of(Expr::atom(variable.ty, variable.name), 1))
    }

    fn part_of(&mut self, mut place: Expr, depth: u32) -> Expr {
        loop {
            let (ty, kind) = match place.ty.clone() {
                Ty::Struct(s) if self.chance(75) => {
                    let (name, ty) = self.pick(&s.fields).clone();
                    (ty, ExprKind::Field(Box::new(place), name))
                }
                Ty::Array(element, count) if self.chance(75) => {
                    // The index is sometimes out of range.
                    let index = self.index(count + 1, depth);
                    (*element, ExprKind::Index(Box::new(place), Box::new(index)))
                }
                Ty::Bits(width) if width > 1 && self.chance(12) => {
                    return self.bits_of(place, width, depth);
                }
                _ => return place,
            };
            place = Expr::new(ty, kind);
        }
    }

    /// Generates a slice of a `uN` variable, a single bit, or a run of bits from an index.
    fn bits_of(&mut self, place: Expr, width: u32, depth: u32) -> Expr {
        if self.chance(40) {
            let index = self.index(width + 2, depth);
            return Expr::new(Ty::Bits(1), ExprKind::Index(Box::new(place), Box::new(index)));
        }
        if self.chance(30) {
            let count = 1 + self.below(width as usize) as u32;
            let index = self.index(width + 2, depth);
            let run = ExprKind::Run(Box::new(place), Box::new(index), count);
            return Expr::new(Ty::Bits(count), run);
        }
        let lo = self.below(width as usize) as u32;
        let hi = self.rng.random_range(lo..width);
        Expr::new(Ty::Bits(hi - lo + 1), ExprKind::Slice(Box::new(place), hi, lo))
    }

    /// Generates an index, usually below `limit`. A constant index is always in range.
    fn index(&mut self, limit: u32, depth: u32) -> Expr {
        if depth == 0 || self.chance(50) {
            let value = if limit > 2 { self.below(limit as usize - 2) } else { 0 };
            return Expr::atom(Ty::Bits(16), format!("{value}"));
        }
        let width = u32::BITS - limit.leading_zeros();
        self.expr(&Ty::Bits(width.max(2)), depth - 1)
    }

    fn bits_of_any_width(&mut self, depth: u32) -> Expr {
        let ty = self.bits_type();
        self.expr(&ty, depth)
    }

    fn bits(&mut self, width: u32, depth: u32) -> Expr {
        let ty = Ty::Bits(width);
        let kind = match self.below(23) {
            0 => ExprKind::Unary("~", Box::new(self.expr(&ty, depth))),
            1 => ExprKind::Unary("-", Box::new(self.expr(&ty, depth))),
            2..=6 => {
                let op = *self.pick(&ARITHMETIC);
                // The narrower operand is extended to the width of the wider one.
                let narrower =
                    if self.chance(30) { 1 + self.below(width as usize) as u32 } else { width };
                let (a, b) = (self.expr(&ty, depth), self.expr(&Ty::Bits(narrower), depth));
                let (a, b) = if self.chance(50) { (a, b) } else { (b, a) };
                ExprKind::Binary(op, Box::new(a), Box::new(b))
            }
            7 | 8 => {
                let op = *self.pick(&["<<", ">>"]);
                let a = self.expr(&ty, depth);
                let count = self.shift_count(width, depth);
                ExprKind::Binary(op, Box::new(a), Box::new(count))
            }
            9 => return self.conditional(&ty, depth),
            10 | 11 if width > 1 => {
                let cut = 1 + self.below(width as usize - 1) as u32;
                let parts = vec![
                    self.expr(&Ty::Bits(width - cut), depth),
                    self.expr(&Ty::Bits(cut), depth),
                ];
                ExprKind::Concat(parts)
            }
            12 => {
                let wider = (width + self.below(40) as u32).min(MAX_EXPR.max(width));
                let lo = self.rng.random_range(0..=wider - width);
                let whole = self.expr(&Ty::Bits(wider), depth);
                // A slice is taken of a name or of an expression in parentheses.
                ExprKind::Slice(Box::new(cast(&Ty::Bits(wider), whole)), lo + width - 1, lo)
            }
            13 => {
                let from = self.bits_of_any_width(depth);
                ExprKind::Cast(Box::new(from))
            }
            14 if width == 1 => ExprKind::Cast(Box::new(self.expr(&Ty::Bool, depth))),
            15 if self.scope.has_packet => {
                let (name, own) = *self.pick(&[
                    ("packet.ingress", 16),
                    ("packet.egress", 16),
                    ("packet.length", 16),
                    ("packet.window", 16),
                    ("packet.arrival", 64),
                ]);
                return convert(&ty, Expr::atom(Ty::Bits(own), name));
            }
            16..=18 => return self.effect_or(&ty, depth),
            19 => {
                let name = *self.pick(&["popcount", "clz"]);
                ExprKind::Call(name.to_owned(), vec![self.expr(&ty, depth)])
            }
            20 => {
                let name = *self.pick(&["min", "max"]);
                let narrower = Ty::Bits(1 + self.below(width as usize) as u32);
                let args = vec![self.expr(&ty, depth), self.expr(&narrower, depth)];
                ExprKind::Call(name.to_owned(), args)
            }
            21 => {
                let wider = (width + self.below(40) as u32).min(MAX_EXPR.max(width));
                let whole = self.expr(&Ty::Bits(wider), depth);
                let index = self.index(wider + 2, depth);
                let whole = Box::new(cast(&Ty::Bits(wider), whole));
                ExprKind::Run(whole, Box::new(index), width)
            }
            _ => return self.leaf(&ty),
        };
        Expr::new(ty, kind)
    }

    fn shift_count(&mut self, width: u32, depth: u32) -> Expr {
        let count = *self.pick(&WIDTHS[..12]);
        if self.chance(50) {
            let below = self.below(width as usize);
            return Expr::atom(Ty::Bits(10), format!("(u10){below}"));
        }
        self.expr(&Ty::Bits(count), depth)
    }

    /// Generates a call that is cast to the type, or a leaf if no call is possible.
    fn effect_or(&mut self, ty: &Ty, depth: u32) -> Expr {
        match self.effect(depth) {
            Some(reply) => convert(ty, reply),
            None => self.leaf(ty),
        }
    }

    fn truth(&mut self, depth: u32) -> Expr {
        let kind = match self.below(12) {
            0..=3 => {
                let op = *self.pick(&COMPARISONS);
                let (a, b) = (self.bits_type(), self.bits_type());
                let b = if self.chance(60) { a.clone() } else { b };
                let (a, b) = (self.expr(&a, depth), self.expr(&b, depth));
                ExprKind::Binary(op, Box::new(a), Box::new(b))
            }
            4 => {
                let op = *self.pick(&COMPARISONS[..2]);
                let ty = self.value_type();
                let (a, b) = (self.expr(&ty, depth), self.expr(&ty, depth));
                ExprKind::Binary(op, Box::new(a), Box::new(b))
            }
            5 | 6 => {
                let op = *self.pick(&["&&", "||"]);
                let (a, b) = (self.expr(&Ty::Bool, depth), self.expr(&Ty::Bool, depth));
                ExprKind::Binary(op, Box::new(a), Box::new(b))
            }
            7 => ExprKind::Unary("!", Box::new(self.expr(&Ty::Bool, depth))),
            8 => ExprKind::Cast(Box::new(self.bits_of_any_width(depth))),
            9 if self.scope.has_packet && self.budget > 0 => {
                self.budget -= 1;
                return self.resize();
            }
            10 => return self.effect_or(&Ty::Bool, depth),
            _ => return self.leaf(&Ty::Bool),
        };
        Expr::new(Ty::Bool, kind)
    }

    /// Generates an offset or a length in the packet, mostly less than `most`.
    pub(super) fn extent(&mut self, most: u16) -> Expr {
        if self.chance(15) {
            // Without the cast, arithmetic that may wrap would be refused in a length.
            return cast(&Ty::Bits(16), self.expr(&Ty::Bits(16), 1));
        }
        let value = self.rng.random_range(0..most);
        Expr::atom(Ty::Bits(16), format!("{value}"))
    }

    /// Generates `packet.push(n)` or a similar operation, with arguments mostly in range.
    pub(super) fn resize(&mut self) -> Expr {
        let (name, args) = match self.below(9) {
            0 | 1 => ("packet.push", vec![self.extent(40)]),
            2 | 3 => ("packet.pop", vec![self.extent(30)]),
            4 | 5 => ("packet.insert", vec![self.extent(60), self.extent(40)]),
            6 | 7 => ("packet.remove", vec![self.extent(60), self.extent(30)]),
            _ => ("packet.reset", vec![self.extent(280)]),
        };
        Expr::new(Ty::Bool, ExprKind::Call(name.to_owned(), args))
    }
}

/// Reinterprets the bits of a value as another type.
pub(super) fn cast(ty: &Ty, from: Expr) -> Expr {
    Expr::new(ty.clone(), ExprKind::Cast(Box::new(from)))
}

/// Casts like [`cast`], unless the value already has the type.
pub(super) fn convert(ty: &Ty, from: Expr) -> Expr {
    if from.ty == *ty { from } else { cast(ty, from) }
}

/// Formats the low 48 bits of a number as a MAC address.
fn mac(value: u64) -> String {
    let bytes = value.to_be_bytes();
    let groups: Vec<String> = bytes[2..].iter().map(|byte| format!("{byte:02x}")).collect();
    groups.join(":")
}
