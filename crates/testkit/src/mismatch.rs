//! Differences between a machine's output and a test's expectation.

use std::fmt;

use wireloom_bits::Bits;
use wireloom_ir::{Output, Verdict};
use wireloom_machine::{Compared, value_text};
use wireloom_net::dissect;
use wireloom_offloads::Layout;

use crate::notation::{Part, Written};

/// A difference: a sentence, fields, or both.
#[derive(Clone, Debug)]
pub struct Mismatch {
    /// The subject of the fields, or the difference as a sentence. Empty if the fields are enough.
    pub what: String,
    /// The expected and actual fields, including equal ones.
    pub fields: Vec<Compared>,
}

impl From<String> for Mismatch {
    fn from(what: String) -> Self {
        Self { what, fields: Vec::new() }
    }
}

/// Formats the sentence, and a line for each field that differs.
impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let fields = self.fields.iter().filter(|field| !field.same());
        let lines = fields.map(|Compared { field, expected, got }| {
            format!("{field}: expected {expected}, got {got}")
        });
        let what = (!self.what.is_empty()).then(|| self.what.clone());
        f.write_str(&what.into_iter().chain(lines).collect::<Vec<_>>().join("\n"))
    }
}

/// Compares an expected packet with an output field by field.
pub fn packet_fields(expected: &Written, got: &Output<'_>) -> Vec<Compared> {
    let Verdict::Sent { .. } = got.verdict else { return Vec::new() };
    let (wanted, got) = (&expected.bytes, got.bytes);
    let mut fields = vec![Compared {
        field: "length".to_owned(),
        expected: wanted.len().to_string(),
        got: got.len().to_string(),
    }];
    let ends = expected.parts.iter().skip(1).map(|part| part.offset).chain([usize::MAX]);
    for (part, end) in expected.parts.iter().zip(ends) {
        let [wanted, got] = [wanted, got].map(|bytes| {
            let end = end.min(bytes.len());
            &bytes[part.offset.min(end)..end]
        });
        match &part.layout {
            Some(layout) => {
                fields.extend(own_fields(&own_name(expected, part), layout, wanted, got))
            }
            None => fields.extend(dissected(part, wanted, got)),
        }
    }
    fields
}

/// Returns the name of a header that the program declares. From the second header of a name on it
/// has a number.
fn own_name(packet: &Written, part: &Part) -> String {
    let before = packet.parts.iter().take_while(|other| other.offset < part.offset);
    match before.filter(|other| other.name == part.name).count() {
        0 => part.name.clone(),
        number => format!("{}[{number}]", part.name),
    }
}

/// Compares the fields of a header that the program declares.
fn own_fields(name: &str, layout: &Layout, wanted: &[u8], got: &[u8]) -> Vec<Compared> {
    let width = layout.width();
    let value = |bytes: &[u8], field: &str, low: u32, field_width: u32| {
        let header = bytes.get(..width as usize / 8);
        header.map_or("-".to_owned(), |header| {
            shown(layout, field, &Bits::from_bytes(header).slice(low, field_width))
        })
    };
    let mut low = width;
    let fields = layout.fields.iter().map(|(field, field_width)| {
        low -= field_width;
        Compared {
            field: format!("{name}.{field}"),
            expected: value(wanted, field, low, *field_width),
            got: value(got, field, low, *field_width),
        }
    });
    fields.collect()
}

fn shown(layout: &Layout, field: &str, value: &Bits) -> String {
    match value.width() {
        48 => value.to_bytes().iter().map(|b| format!("{b:02x}")).collect::<Vec<_>>().join(":"),
        128 => std::net::Ipv6Addr::from(value.to_u128().unwrap_or_default()).to_string(),
        _ => value_text(layout, field, value),
    }
}

/// Compares the fields of standard layers, which may follow a header that the program declares.
fn dissected(part: &Part, wanted: &[u8], got: &[u8]) -> Vec<Compared> {
    if part.offset == 0 {
        return dissect::compare(wanted, got).into_iter().map(Compared::from).collect();
    }
    // Dissection begins with Ethernet, whose type selects the next layer; 0 stands for bytes.
    let ethertype = match part.name.as_str() {
        "vlan" => 0x8100u16,
        "mpls" => 0x8847,
        "ipv4" => 0x0800,
        "ipv6" => 0x86dd,
        _ => 0,
    };
    let framed = |bytes: &[u8]| [&[0; 12], &ethertype.to_be_bytes()[..], bytes].concat();
    let compared = dissect::compare(&framed(wanted), &framed(got)).into_iter();
    compared.filter(|field| !field.name.starts_with("ethernet.")).map(Compared::from).collect()
}
