//! Values of fields.

use super::MAX_BYTES;

/// Parses a number, in decimal or in hexadecimal after `0x`.
///
/// # Errors
/// If the text is no number.
pub fn number(text: &str) -> Result<u64, String> {
    let parsed = match text.strip_prefix("0x") {
        Some(hex) => u64::from_str_radix(hex, 16),
        None => text.parse(),
    };
    parsed.map_err(|_| format!("`{text}` is no number"))
}

/// Parses a number of bytes.
pub(super) fn length(text: &str) -> Result<usize, String> {
    let count = number(text)?;
    let count = usize::try_from(count).ok().filter(|count| *count <= MAX_BYTES);
    count.ok_or_else(|| format!("{text}: a packet has at most {MAX_BYTES} bytes"))
}

/// Parses a time, such as `10s`, `1.5s` or `250ms` (also `us` and `ns`), as nanoseconds.
///
/// # Errors
/// If the text is no time, is finer than a nanosecond, or exceeds 64 bits of nanoseconds.
pub fn time(text: &str) -> Result<u64, String> {
    const UNITS: [(&str, u32); 4] = [("ns", 0), ("us", 3), ("ms", 6), ("s", 9)];
    let wrong = || format!("`{text}` is no time; write it as 10s, 1.5s, 250ms, 3us or 7ns");
    let unit = UNITS.iter().find_map(|(unit, digits)| Some((text.strip_suffix(unit)?, *digits)));
    let (number, digits) = unit.ok_or_else(wrong)?;
    let (whole, fraction) = number.split_once('.').unwrap_or((number, "0"));
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    if !is_number(whole) || !is_number(fraction) {
        return Err(wrong());
    }
    let fraction = fraction.trim_end_matches('0');
    let places = fraction.len() as u32;
    if places > digits {
        return Err(format!("`{text}` is finer than a nanosecond"));
    }
    let beyond = || format!("{text} is beyond the clock's range");
    let digits = format!("{whole}{fraction}")
        .parse::<u64>()
        .map_err(|_| beyond())?
        .checked_mul(10u64.pow(digits - places));
    digits.ok_or_else(beyond)
}

pub(super) fn mac(text: &str) -> Result<[u8; 6], String> {
    let bytes: Vec<u8> = text
        .split(':')
        .map(|b| if b.len() == 2 { u8::from_str_radix(b, 16).ok() } else { None })
        .collect::<Option<_>>()
        .unwrap_or_default();
    bytes.try_into().map_err(|_| format!("`{text}` is no MAC address"))
}

pub(super) fn hex(text: &str) -> Result<Vec<u8>, String> {
    let digits: Vec<char> = text.chars().filter(|c| !c.is_whitespace()).collect();
    if !digits.len().is_multiple_of(2) {
        return Err(format!("`{text}` has half a byte"));
    }
    digits
        .chunks(2)
        .map(|pair| u8::from_str_radix(&pair.iter().collect::<String>(), 16))
        .collect::<Result<_, _>>()
        .map_err(|_| format!("`{text}` is not hexadecimal"))
}

/// Returns a string literal's bytes: `\r`, `\n`, `\"`, `\\` as in C.
pub(super) fn string(text: &str) -> Result<Vec<u8>, String> {
    let inner = text
        .strip_prefix('"')
        .and_then(|t| t.strip_suffix('"'))
        .ok_or(format!("`{text}` is no string"))?;
    let mut out = Vec::new();
    let mut rest = inner.bytes();
    while let Some(byte) = rest.next() {
        out.push(match byte {
            b'\\' => match rest.next() {
                Some(b'r') => b'\r',
                Some(b'n') => b'\n',
                Some(c @ (b'"' | b'\\')) => c,
                _ => return Err(format!("{text}: an escape that is not known")),
            },
            _ => byte,
        });
    }
    Ok(out)
}

/// The fields between the parentheses of a layer, as text.
#[derive(Clone)]
pub(super) struct Fields(pub(super) Vec<(String, String)>);

impl Fields {
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let pairs = text.split(',').map(str::trim).filter(|f| !f.is_empty());
        let mut fields = Self(Vec::new());
        for pair in pairs {
            let (name, value) =
                pair.split_once('=').ok_or(format!("`{pair}` is not `field=value`"))?;
            let name = name.trim();
            if fields.peek(name).is_some() {
                return Err(format!("`{name}` is given twice"));
            }
            fields.0.push((name.to_owned(), value.trim().to_owned()));
        }
        Ok(fields)
    }

    pub(super) fn peek(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(n, _)| n == name).map(|(_, v)| v.as_str())
    }

    pub(super) fn take(&mut self, name: &str) -> Option<String> {
        let at = self.0.iter().position(|(n, _)| n == name)?;
        Some(self.0.remove(at).1)
    }

    /// Takes a field of this many bits. Returns `default` if the field is omitted.
    pub(super) fn number(&mut self, name: &str, bits: u32, default: u64) -> Result<u64, String> {
        let value = self.take(name).map_or(Ok(default), |text| number(&text))?;
        if value >> bits != 0 {
            return Err(format!("`{name}`: {value} does not fit into {bits} bits"));
        }
        Ok(value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_units() {
        for (text, ns) in [
            ("10s", 10_000_000_000),
            ("1.5s", 1_500_000_000),
            ("0.000000001s", 1),
            ("250ms", 250_000_000),
            ("1.50us", 1500),
            ("7ns", 7),
            ("18446744073.709551615s", u64::MAX),
        ] {
            assert_eq!(time(text), Ok(ns), "{text}");
        }
        for wrong in
            ["", "s", "5", "1.s", ".5s", "-1s", "1.5ns", "1.2.3s", "18446744073.709551616s"]
        {
            assert!(time(wrong).is_err(), "{wrong}");
        }
    }
}
