//! Marking packets by their rate: `meter`.

use wireloom_ir::Value;

use super::super::code::Operand;
use super::super::layout::Place;
use super::super::lower::Lower;
use super::super::routines::Routine;
use super::super::routines::meter::{Meter, SHIFT};
use super::super::words::Words;

/// `color` and `color_aware`. An index out of range is red.
pub fn color(lower: &mut Lower<'_>, place: Place, has_two_rates: bool, args: &[Value]) -> Words {
    let Place::Meters { base, size } = place else { return Words::new() };
    let (index, bytes) = (lower.get(args[0]), lower.get(args[1])[0]);
    let color = args.get(2).map_or(Operand::Number(0), |color| lower.get(*color)[0]);
    let code = &mut *lower.code;
    let Meter { meter, bytes: own_bytes, color: own_color } = Meter::of(code);
    let outside = code.label();
    code.set(own_bytes, bytes);
    let color = code.copy(color);
    code.set(own_color, Operand::Number(2));
    let offset = super::element(code, &index, size, SHIFT, outside);
    code.set(own_color, color.into());
    code.alu(meter, offset.into(), "+", Operand::Number(base));
    code.call(if has_two_rates { &Routine::MeterTwo } else { &Routine::MeterOne });
    code.place(outside);
    vec![code.copy(own_color.into()).into()]
}
