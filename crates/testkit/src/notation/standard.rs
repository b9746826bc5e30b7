//! Headers of common protocols. Omitted fields are computed from the layers after the header.

use std::net::{Ipv4Addr, Ipv6Addr};

use super::Layer;
use super::values::{Fields, hex, mac};

/// The names of the layers. A program's header with one of these names cannot be used.
pub(super) const NAMES: [&str; 9] =
    ["eth", "vlan", "mpls", "ipv4", "ipv6", "tcp", "udp", "icmp", "icmpv6"];

/// Returns the bytes of one header. `next` is the name of the next layer and `body` the bytes of
/// all layers after it. `around` is the layer before it, whose addresses a transport checksum
/// covers.
pub(super) fn header(
    name: &str,
    fields: &mut Fields,
    next: &str,
    body: &[u8],
    around: Option<&Layer>,
) -> Result<Vec<u8>, String> {
    let mut out = Vec::new();
    match name {
        "eth" => {
            out.extend(mac(&fields.take("dst").ok_or("`dst` is missing")?)?);
            out.extend(mac(&fields.take("src").ok_or("`src` is missing")?)?);
            out.extend(fields.number("type", 16, ethertype(next))?.to_be_bytes()[6..].iter());
        }
        "vlan" => {
            let tci = fields.number("pcp", 3, 0)? << 13
                | fields.number("dei", 1, 0)? << 12
                | fields.number("vid", 12, 0)?;
            out.extend((tci as u16).to_be_bytes());
            out.extend((fields.number("type", 16, ethertype(next))? as u16).to_be_bytes());
        }
        "mpls" => {
            let bottom = fields.number("bottom", 1, u64::from(next != "mpls"))?;
            let entry = fields.number("label", 20, 0)? << 12
                | fields.number("tc", 3, 0)? << 9
                | bottom << 8
                | fields.number("ttl", 8, 64)?;
            out.extend((entry as u32).to_be_bytes());
        }
        "ipv4" => return ipv4(fields, next, body),
        "ipv6" => {
            let first = fields.number("version", 4, 6)? << 28
                | fields.number("class", 8, 0)? << 20
                | fields.number("flow", 20, 0)?;
            out.extend((first as u32).to_be_bytes());
            out.extend((fields.number("length", 16, body.len() as u64)? as u16).to_be_bytes());
            out.push(fields.number("next", 8, protocol(next))? as u8);
            out.push(fields.number("hop", 8, 64)? as u8);
            for end in ["src", "dst"] {
                let address = fields.take(end).ok_or(format!("`{end}` is missing"))?;
                out.extend(address.parse::<Ipv6Addr>().map_err(|e| e.to_string())?.octets());
            }
        }
        "udp" => {
            out.extend((fields.number("src", 16, 0)? as u16).to_be_bytes());
            out.extend((fields.number("dst", 16, 0)? as u16).to_be_bytes());
            out.extend((fields.number("length", 16, 8 + body.len() as u64)? as u16).to_be_bytes());
            out.extend([0, 0]);
            let sum = match checksum(&pseudo_header(around, 17, 8 + body.len())?, &[&out, body]) {
                0 => 0xffff,
                sum => sum,
            };
            put_checksum(&mut out, 6, fields, sum)?;
        }
        "tcp" => {
            let options = fields.take("options").map_or(Ok(Vec::new()), |h| hex(&h))?;
            out.extend((fields.number("src", 16, 0)? as u16).to_be_bytes());
            out.extend((fields.number("dst", 16, 0)? as u16).to_be_bytes());
            out.extend((fields.number("seq", 32, 0)? as u32).to_be_bytes());
            out.extend((fields.number("ack", 32, 0)? as u32).to_be_bytes());
            out.push((fields.number("data_offset", 4, 5 + options.len() as u64 / 4)? << 4) as u8);
            out.push(flags(&fields.take("flags").unwrap_or_default())?);
            out.extend((fields.number("window", 16, 0xffff)? as u16).to_be_bytes());
            out.extend([0, 0, 0, 0]);
            out.extend(&options);
            let sum = checksum(&pseudo_header(around, 6, out.len() + body.len())?, &[&out, body]);
            put_checksum(&mut out, 16, fields, sum)?;
        }
        "icmp" => {
            out.extend([
                fields.number("type", 8, 0)? as u8,
                fields.number("code", 8, 0)? as u8,
                0,
                0,
            ]);
            out.extend((fields.number("id", 16, 0)? as u16).to_be_bytes());
            out.extend((fields.number("seq", 16, 0)? as u16).to_be_bytes());
            let sum = checksum(&[], &[&out, body]);
            put_checksum(&mut out, 2, fields, sum)?;
        }
        "icmpv6" => {
            out.extend([
                fields.number("type", 8, 0)? as u8,
                fields.number("code", 8, 0)? as u8,
                0,
                0,
            ]);
            let sum = checksum(&pseudo_header(around, 58, 4 + body.len())?, &[&out, body]);
            put_checksum(&mut out, 2, fields, sum)?;
        }
        _ => unreachable!("`NAMES` lists the layers"),
    }
    Ok(out)
}

fn ipv4(fields: &mut Fields, next: &str, body: &[u8]) -> Result<Vec<u8>, String> {
    let options = fields.take("options").map_or(Ok(Vec::new()), |h| hex(&h))?;
    let length = 20 + options.len();
    let ihl = fields.number("ihl", 4, length as u64 / 4)?;
    let fragment = fields.number("df", 1, 0)? << 14
        | fields.number("mf", 1, 0)? << 13
        | fields.number("offset", 13, 0)?;
    let mut out =
        vec![(fields.number("version", 4, 4)? << 4 | ihl) as u8, fields.number("tos", 8, 0)? as u8];
    out.extend((fields.number("length", 16, (length + body.len()) as u64)? as u16).to_be_bytes());
    out.extend((fields.number("id", 16, 0)? as u16).to_be_bytes());
    out.extend((fragment as u16).to_be_bytes());
    out.push(fields.number("ttl", 8, 64)? as u8);
    out.push(fields.number("proto", 8, protocol(next))? as u8);
    out.extend([0, 0]);
    for end in ["src", "dst"] {
        let address = fields.take(end).ok_or(format!("`{end}` is missing"))?;
        out.extend(address.parse::<Ipv4Addr>().map_err(|e| e.to_string())?.octets());
    }
    out.extend(&options);
    let sum = checksum(&[], &[&out]);
    put_checksum(&mut out, 10, fields, sum)?;
    Ok(out)
}

fn put_checksum(
    out: &mut [u8],
    at: usize,
    fields: &mut Fields,
    computed: u16,
) -> Result<(), String> {
    let sum = fields.number("checksum", 16, computed.into())? as u16;
    out[at..at + 2].copy_from_slice(&sum.to_be_bytes());
    Ok(())
}

/// Returns the EtherType of a layer; 0 if it has none, so that the test must give it.
pub(super) fn ethertype(next: &str) -> u64 {
    match next {
        "ipv4" => 0x0800,
        "ipv6" => 0x86dd,
        "vlan" => 0x8100,
        "mpls" => 0x8847,
        _ => 0,
    }
}

/// Returns the IP protocol number of a layer; 255 (reserved) if it has none.
fn protocol(next: &str) -> u64 {
    match next {
        "icmp" => 1,
        "tcp" => 6,
        "udp" => 17,
        "icmpv6" => 58,
        _ => 255,
    }
}

/// Returns the pseudo-header of RFC 9293 section 3.1 and RFC 8200 section 8.1.
fn pseudo_header(around: Option<&Layer>, protocol: u8, length: usize) -> Result<Vec<u8>, String> {
    let mut out = Vec::new();
    if let Some(Layer::Header(name, fields)) = around {
        for end in ["src", "dst"] {
            let address = fields.peek(end).unwrap_or_default();
            match name.as_str() {
                "ipv4" => {
                    out.extend(address.parse::<Ipv4Addr>().map_err(|e| e.to_string())?.octets())
                }
                "ipv6" => {
                    out.extend(address.parse::<Ipv6Addr>().map_err(|e| e.to_string())?.octets())
                }
                _ => {}
            }
        }
    }
    out.extend((length as u32).to_be_bytes());
    out.extend([0, 0, 0, protocol]);
    Ok(out)
}

/// Computes the checksum of RFC 1071 in the plain way.
pub(super) fn checksum(pseudo_header: &[u8], parts: &[&[u8]]) -> u16 {
    let bytes: Vec<u8> =
        pseudo_header.iter().chain(parts.iter().copied().flatten()).copied().collect();
    let words =
        bytes.chunks(2).map(|w| u64::from(w[0]) << 8 | w.get(1).copied().map_or(0, u64::from));
    let sum: u64 = words.sum();
    // Modulo 0xffff; a nonzero sum gives 0xffff and not 0.
    let folded = if sum == 0 { 0 } else { (sum - 1) % 0xffff + 1 };
    !(folded as u16)
}

fn flags(text: &str) -> Result<u8, String> {
    text.chars().try_fold(0, |sum, c| {
        "FSRPAU"
            .find(c)
            .map(|bit| sum | 1 << bit)
            .ok_or(format!("`{c}` is none of the flags FSRPAU"))
    })
}
