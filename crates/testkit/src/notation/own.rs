//! Headers that a program declares.

use wireloom_bits::Bits;
use wireloom_net::tables::Literal;
use wireloom_offloads::Layout;
use wireloom_offloads::populate::{field_value, suggest};

use super::values::Fields;

/// Returns the bytes of a header. Omitted fields are zero.
pub(super) fn header(layout: &Layout, fields: &mut Fields) -> Result<Vec<u8>, String> {
    let mut packed = Bits::zero(layout.width());
    let mut low = layout.width();
    for (name, width) in &layout.fields {
        low -= width;
        let Some(text) = fields.take(name) else { continue };
        let literal = text.parse().unwrap_or(Literal::Name(text));
        let value = field_value(layout.enums.get(name), *width, &literal);
        packed = packed.with_slice(low, &value.map_err(|what| format!("`{name}`: {what}"))?);
    }
    match fields.0.first() {
        Some((unknown, _)) => {
            let names = layout.fields.iter().map(|(name, _)| name.as_str());
            Err(format!("there is no field `{unknown}`{}", suggest(unknown, names)))
        }
        None => Ok(packed.to_bytes()),
    }
}
