//! The end of a way: each packet that reaches it gets its thread's place, is changed there, and is
//! sent.

use super::vector::{self, Lane};
use super::writer::{Effect, EffectKind, Writer, slots};
use crate::batch::{field, name, thread};
use crate::ops::{Operand, Place, write_packet};
use crate::tree::{Binary, Declaration, Expr, Stmt, Type};
use crate::types::Model;

/// Lane values stored in memory, from which packets read them one by one.
#[derive(Default)]
struct Stored {
    arrays: Vec<(Expr, Expr)>,
    before: Vec<Stmt>,
}

impl Stored {
    /// Returns the current packet's element of a value of up to 64 bits.
    fn element(&mut self, value: &Expr, is_long: bool) -> Expr {
        if let Some((_, array)) = self.arrays.iter().find(|(own, _)| own == value) {
            return array.clone().index(name("i"));
        }
        let array = format!("each_{}", self.arrays.len() + 1);
        let ty = if is_long { "uint64_t" } else { "uint32_t" };
        self.before.push(Declaration::new(ty, &array).sized([name("WL_LANES")]).into());
        let store = if is_long { "wl_q_store" } else { "wl_v_store" };
        self.before.push(Stmt::call(store, [name(&array), value.clone()]));
        self.arrays.push((value.clone(), name(&array)));
        name(&array).index(name("i"))
    }

    fn value(&mut self, lane: &Lane, width: u32) -> Operand {
        let model = Model::Bits64;
        let c = match lane {
            Lane::Same(bits) => {
                let constant = bits.to_u64();
                return Operand { constant, ..model.operand(model.literal(bits), width) };
            }
            Lane::Mask(c) => of_lane(c),
            Lane::Word(c) => self.element(c, false),
            Lane::Quads(words) => {
                let words: Vec<Expr> = words.iter().map(|word| self.element(word, true)).collect();
                match &words[..] {
                    [low, high] => Expr::call("WL_U128", [high.clone(), low.clone()]),
                    _ => words[0].clone(),
                }
            }
        };
        model.operand(c, width)
    }
}

/// Returns the current packet's bit of a mask.
fn of_lane(mask: &Expr) -> Expr {
    mask.clone().binary(Binary::Shr, name("i")).binary(Binary::And, Expr::number(1))
}

/// Writes the code that ends the packets of all live lanes. It makes the changes of the way without
/// testing again that the packet has room for them. In lanes where room is not certain, the
/// runtime's functions make the changes.
pub fn statements(way: &Writer<'_>) -> Vec<Stmt> {
    let mut stored = Stored::default();
    let mut all = Guarded::default();
    for effect in &way.effects {
        all.add(effect, made(&mut stored, &effect.kind));
    }
    let seat = name("first").binary(Binary::Add, name("i"));
    let packet = || name("packets").index(name("i")).address();
    let hand = thread(seat.clone()).arrow("hand").address();
    let local = |ty: &str, own: &str, value: Expr| -> Stmt {
        Declaration::new(Type::structure(ty).const_pointer(), own).with(value).into()
    };
    let mut each = vec![
        Stmt::If(of_lane(&name("alive")).not(), vec![Stmt::Continue]),
        local("wl_packet", "p", hand),
        local("wl_end", "end", field("machine").member("ends").index(seat).address()),
    ];
    let mut general = vec![
        Stmt::call("wl_arrive", [name("p"), packet()]),
        Stmt::call("wl_end_begin", [name("end")]),
        Declaration::new(Type::structure("wl_window"), "w").with(open()).into(),
    ];
    general.extend(all.statements);
    general.push(name("w").unused());
    general.push(Stmt::call("wl_end_sent", [name("end"), name("p")]));
    let mut statements = Vec::new();
    match InPlace::of(way, &mut stored) {
        None => each.extend(general),
        Some(in_place) => {
            let cut = stored.element(&in_place.cut, false);
            let copy = Expr::call("wl_lanes_copy", [name("p"), packet(), cut.clone()]);
            let to = Type::named("uint8_t").pointer();
            let to = Declaration::new(to, "to").with(copy);
            let [window, length] =
                [&way.window, &way.length].map(|value| stored.element(value, false));
            let sent =
                [name("end"), name("p"), packet(), cut, name("to"), window, length, in_place.port];
            let conditions = in_place.conditions.into_iter();
            let special = conditions.reduce(|all, one| Expr::call("wl_m_or", [all, one]));
            if let Some(special) = special {
                let declared = Type::named("wl_m").constant();
                statements.push(Declaration::new(declared, "special").with(special).into());
                let is_special = Expr::call("WL_UNLIKELY", [of_lane(&name("special"))]);
                general.push(Stmt::Continue);
                each.push(Stmt::If(is_special, general));
            }
            each.push(to.into());
            each.extend(in_place.changes.statements);
            each.push(Stmt::call("wl_lanes_sent", sent));
        }
    }
    let (variable, limit) = ("i".into(), name("WL_LANES"));
    statements.push(Stmt::Count { variable, first: Expr::number(0), limit, body: each });
    stored.before.into_iter().chain(statements).collect()
}

/// Statements of effects. Adjacent statements with the same guard share a test.
#[derive(Default)]
struct Guarded {
    statements: Vec<Stmt>,
    last: Option<Expr>,
}

impl Guarded {
    fn always(&mut self, made: Stmt) {
        self.statements.push(made);
        self.last = None;
    }

    fn add(&mut self, effect: &Effect, made: Vec<Stmt>) {
        match (&effect.guard, self.statements.last_mut()) {
            (Some(_), Some(Stmt::If(_, body))) if self.last == effect.guard => body.extend(made),
            (Some(guard), _) => self.statements.push(Stmt::If(of_lane(guard), made)),
            (None, _) => self.statements.extend(made),
        }
        self.last.clone_from(&effect.guard);
    }
}

/// Changes that are made in the packet's place, without moving its bytes.
struct InPlace {
    changes: Guarded,
    /// Conditions for lanes in which the changes cannot be made this way.
    conditions: Vec<Expr>,
    /// The number of bytes that are copied.
    cut: Expr,
    port: Expr,
}

impl InPlace {
    /// Returns the changes. Returns `None` if bytes move inside packets.
    fn of(way: &Writer<'_>, stored: &mut Stored) -> Option<Self> {
        let mut place = Self {
            changes: Guarded::default(),
            conditions: Vec::new(),
            cut: way.limit.clone(),
            port: Expr::number(0),
        };
        let merged = merged(&way.effects);
        let mut is_changed = false;
        for (index, effect) in merged.iter().enumerate() {
            let made = match &effect.kind {
                EffectKind::Count { .. } => made(stored, &effect.kind),
                EffectKind::Egress { port } if effect.guard.is_none() => {
                    place.port = stored.value(port, 16).c.cast("uint16_t");
                    continue;
                }
                EffectKind::Egress { .. } => return None,
                EffectKind::Write { base, bit, value: _, width, window } => {
                    is_changed = true;
                    let bytes = (bit % 8 + width).div_ceil(8);
                    let end = Expr::call("wl_v_set", [Expr::number(bit / 8 + bytes)]);
                    let end = base.word().binary(Binary::Add, end);
                    let misses = Expr::call("wl_v_less", [window.clone(), end]);
                    place.require(misses, effect.guard.as_ref());
                    let [Stmt::Expr(Expr::Call(function, mut arguments))] =
                        <[Stmt; 1]>::try_from(made(stored, &effect.kind)).ok()?
                    else {
                        return None;
                    };
                    arguments[0] = name("to");
                    let Expr::Name(function) = *function else { return None };
                    if bytes > 16 || !function.starts_with("wl_put") {
                        return None;
                    }
                    vec![Stmt::call(function.replace("wl_put", "wl_lanes_put"), arguments)]
                }
                // A truncation must be known before the packet is copied.
                EffectKind::Truncate { .. } if is_changed => return None,
                EffectKind::Truncate { .. } => continue,
                EffectKind::Insert { offset, .. } | EffectKind::Remove { offset, .. }
                    if !is_front(offset) =>
                {
                    return None;
                }
                EffectKind::Insert { count, moved, window, .. } => {
                    is_changed = true;
                    let covered = covered(&merged[index + 1..]);
                    let may_fit = match count {
                        Lane::Same(count) => count.low_u64() <= covered.into(),
                        _ => covered > 0,
                    };
                    let most = if may_fit { Expr::number(covered) } else { place.room(window) };
                    let most = Expr::call("wl_v_set", [most]);
                    let is_long = Expr::call("wl_v_less", [most, count.word()]);
                    place.require(is_long, effect.guard.as_ref());
                    place.advance(Binary::Sub, stored.element(moved, false));
                    continue;
                }
                EffectKind::Remove { moved, .. } => {
                    is_changed = true;
                    place.advance(Binary::Add, stored.element(moved, false));
                    continue;
                }
            };
            place.changes.add(effect, made);
        }
        Some(place)
    }

    /// Clears bytes before the window, and returns their number. Lanes whose window is too long for
    /// that cannot be changed in place, whether or not they insert bytes there.
    fn room(&mut self, window: &Expr) -> Expr {
        let most = Expr::call("wl_v_set", [name("WL_LANES_LARGEST")]);
        self.require(Expr::call("wl_v_less", [most, window.clone()]), None);
        self.changes.always(Stmt::call("wl_lanes_room", [name("to")]));
        name("WL_LANES_MOVE")
    }

    /// Moves the start of the window.
    fn advance(&mut self, operator: Binary, by: Expr) {
        self.changes.always(Stmt::Assign(name("to"), name("to").binary(operator, by)));
    }

    /// Records the lanes in which a change cannot be made, if its guard holds.
    fn require(&mut self, fails: Expr, guard: Option<&Expr>) {
        let condition = match guard {
            Some(guard) => Expr::call("wl_m_and", [guard.clone(), fails]),
            None => fails,
        };
        if !self.conditions.contains(&condition) {
            self.conditions.push(condition);
        }
    }
}

fn is_front(offset: &Lane) -> bool {
    matches!(offset, Lane::Same(offset) if offset.is_zero())
}

/// Returns the number of bytes at the beginning of each packet that these effects certainly
/// overwrite: inserted bytes there need no clearing. A removal restarts the count, since it moves
/// the origin of later writes. Either the writes before it or the writes after it must cover the
/// inserted bytes alone. Writes after an insertion do not count.
fn covered(effects: &[Effect]) -> u32 {
    let (mut most, mut covered) = (0, 0);
    for effect in effects {
        match &effect.kind {
            EffectKind::Insert { .. } => break,
            EffectKind::Remove { .. } => covered = 0,
            EffectKind::Write { base: Lane::Same(base), bit, width, .. }
                if effect.guard.is_none() =>
            {
                let first = 8 * base.low_u64() as u32 + bit;
                if first <= 8 * covered {
                    covered = covered.max((first + width) / 8);
                }
            }
            _ => {}
        }
        most = most.max(covered);
    }
    most
}

/// Merges writes to adjacent bits into one effect.
fn merged(effects: &[Effect]) -> Vec<Effect> {
    let mut merged: Vec<Effect> = Vec::new();
    for effect in effects {
        let before = merged.last().filter(|before| before.guard == effect.guard);
        if let Some(EffectKind::Write { base, bit, value, width, window }) =
            before.map(|before| &before.kind)
            && let EffectKind::Write {
                base: next_base,
                bit: next_bit,
                value: next_value,
                width: next_width,
                ..
            } = &effect.kind
            && base == next_base
            && bit + width == *next_bit
            && width + next_width <= 128
            && let Some(value) =
                vector::concat(&[(value.clone(), *width), (next_value.clone(), *next_width)])
        {
            let width = width + next_width;
            let (base, window) = (base.clone(), window.clone());
            let kind = EffectKind::Write { base, bit: *bit, value, width, window };
            let guard = effect.guard.clone();
            merged.pop();
            merged.push(Effect { guard, kind });
        } else {
            merged.push(effect.clone());
        }
    }
    merged
}

fn open() -> Expr {
    Expr::call("wl_open", [name("p")])
}

/// Writes one effect for the current packet.
fn made(stored: &mut Stored, effect: &EffectKind) -> Vec<Stmt> {
    let p = || name("p");
    let again = || Stmt::Assign(name("w"), open());
    match effect {
        EffectKind::Count { slot, index, bytes } => {
            let (index, bytes) = (stored.value(index, 32).c, stored.value(bytes, 32).c);
            vec![Stmt::call("wl_count", [slots().at(*slot).address(), index, bytes])]
        }
        EffectKind::Truncate { length } => {
            let length = stored.value(length, 32).c;
            vec![Expr::call("wl_payload_truncate", [p(), length]).unused(), again()]
        }
        EffectKind::Write { base, bit, value, width, .. } => {
            let value = stored.value(value, *width);
            let at = match base {
                Lane::Same(base) => Expr::number(base.low_u64() + u64::from(bit / 8)),
                _ => {
                    let base = stored.value(base, 16).c;
                    base.binary(Binary::Add, Expr::number(format!("{}u", bit / 8)))
                }
            };
            let place = Place { arguments: vec![name("w"), at], is_near: true, bit: bit % 8 };
            vec![write_packet(&place, &value)]
        }
        EffectKind::Egress { port } => {
            let port = stored.value(port, 16).c.cast("uint16_t");
            vec![Stmt::Assign(p().arrow("egress"), port)]
        }
        EffectKind::Insert { offset, count, .. } | EffectKind::Remove { offset, count, .. } => {
            let inserts = matches!(effect, EffectKind::Insert { .. });
            let function = if inserts { "wl_insert" } else { "wl_remove" };
            let (offset, count) = (stored.value(offset, 16).c, stored.value(count, 16).c);
            vec![Expr::call(function, [p(), offset, count]).unused(), again()]
        }
    }
}
