//! The running kernel's routing table, from `/proc/net/route` and `/proc/net/ipv6_route`: the main
//! table of this process's network namespace. Of several routes to one prefix the one with the
//! lowest metric is used, and of several next hops the first. Local, multicast and unreachable
//! routes are omitted.

use std::collections::HashMap;
use std::fs;
use std::io;
use std::ops::ControlFlow;
use std::path::Path;

use super::error::{Position, TableError};
use super::import::{Route, Visit};
use super::prefix::{Family, Prefix};

const ROUTE: &str = "/proc/net/route";
const ROUTE6: &str = "/proc/net/ipv6_route";

// Flags of linux/route.h and linux/ipv6_route.h.
const RTF_UP: u32 = 0x1;
const RTF_REJECT: u32 = 0x200;
const RTF_CACHE: u32 = 0x0100_0000;
const RTF_LOCAL: u32 = 0x8000_0000;

/// Streams the kernel's routes: IPv4 first, ordered by prefix.
pub(super) fn read(visit: &mut Visit<'_>) -> Result<(), TableError> {
    for (path, parse) in [(ROUTE, parse_v4 as fn(&str) -> _), (ROUTE6, parse_v6)] {
        let path = Path::new(path);
        let text = match fs::read_to_string(path) {
            Ok(text) => text,
            // A kernel without IPv6 has no such file.
            Err(e) if e.kind() == io::ErrorKind::NotFound && path == Path::new(ROUTE6) => continue,
            Err(e) => return Err(TableError::io(path, Position::Whole, &e)),
        };
        for (line, mut route) in best_routes(path, &text, parse)? {
            let index = fs::read_to_string(format!("/sys/class/net/{}/ifindex", route.device));
            route.device_index = index.ok().and_then(|i| i.trim().parse().ok()).unwrap_or(0);
            let at = Position::Line(line);
            if visit(at, &route).map_err(|what| TableError::new(path, at, what))?
                == ControlFlow::Break(())
            {
                return Ok(());
            }
        }
    }
    Ok(())
}

/// The selected routes of a file with their lines, ordered by prefix.
fn best_routes(
    path: &Path,
    text: &str,
    parse: fn(&str) -> Option<Option<Route>>,
) -> Result<Vec<(u64, Route)>, TableError> {
    let mut best: HashMap<Prefix, (u64, Route)> = HashMap::new();
    for (line, number) in text.lines().zip(1..) {
        if line.starts_with("Iface") {
            continue;
        }
        let parsed = parse(line).ok_or_else(|| {
            TableError::new(
                path,
                Position::Line(number),
                "the kernel's route does not have the expected form",
            )
        })?;
        let Some(route) = parsed else { continue };
        let prefix = route.prefix.expect("a parsed route has a prefix");
        match best.get(&prefix) {
            Some((_, known)) if known.metric <= route.metric => {}
            _ => {
                best.insert(prefix, (number, route));
            }
        }
    }
    let mut routes: Vec<_> = best.into_values().collect();
    routes.sort_by_key(|(_, route)| route.prefix);
    Ok(routes)
}

/// Parses a line of `/proc/net/route`. `None` means malformed; `Some(None)` means that the route is
/// omitted.
fn parse_v4(line: &str) -> Option<Option<Route>> {
    let fields: Vec<&str> = line.split_ascii_whitespace().collect();
    let hex = |i: usize| fields.get(i).and_then(|f| u32::from_str_radix(f, 16).ok());
    // Addresses are words in network order, printed as the machine's own numbers.
    let address = |i: usize| hex(i).map(u32::to_be);
    let (destination, gateway, flags, mask) = (address(1)?, address(2)?, hex(3)?, address(7)?);
    let metric = fields.get(6)?.parse().ok()?;
    if flags & RTF_UP == 0 || flags & RTF_REJECT != 0 {
        return Some(None);
    }
    Some(Some(Route {
        prefix: Prefix::new(Family::V4, u128::from(destination), mask.leading_ones()),
        device: fields[0].to_owned(),
        gateway: u128::from(gateway),
        metric,
        ..Route::default()
    }))
}

/// Parses a line of `/proc/net/ipv6_route`, with results as for IPv4.
fn parse_v6(line: &str) -> Option<Option<Route>> {
    let fields: Vec<&str> = line.split_ascii_whitespace().collect();
    let address = |i: usize| fields.get(i).and_then(|f| u128::from_str_radix(f, 16).ok());
    let hex = |i: usize| fields.get(i).and_then(|f| u32::from_str_radix(f, 16).ok());
    let (destination, length, gateway) = (address(0)?, hex(1)?, address(4)?);
    let (metric, flags, device) = (hex(5)?, hex(8)?, *fields.get(9)?);
    let multicast = destination >> 120 == 0xff;
    if flags & RTF_UP == 0 || flags & (RTF_REJECT | RTF_CACHE | RTF_LOCAL) != 0 || multicast {
        return Some(None);
    }
    let prefix = Prefix::new(Family::V6, destination, length)?;
    Some(Some(Route {
        prefix: Some(prefix),
        device: device.to_owned(),
        gateway,
        metric,
        ..Route::default()
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    const V4: &str = "\
Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT
eth0\t00000000\t010200C0\t0003\t0\t0\t100\t00000000\t0\t0\t0
eth1\t00000000\t010200C0\t0003\t0\t0\t50\t00000000\t0\t0\t0
eth0\t000200C0\t00000000\t0001\t0\t0\t0\t00FFFFFF\t0\t0\t0
*\t0000000A\t00000000\t0201\t0\t0\t0\t000000FF\t0\t0\t0
";

    #[test]
    #[cfg(target_endian = "little")]
    fn ipv4_routes_are_read() {
        let routes = best_routes(Path::new("route"), V4, parse_v4).expect("well-formed");
        let seen: Vec<_> = routes
            .iter()
            .map(|(line, r)| (*line, r.prefix.map(|p| p.to_string()), r.device.as_str(), r.gateway))
            .collect();
        assert_eq!(
            seen,
            [
                (3, Some("0.0.0.0/0".to_owned()), "eth1", 0xc000_0201),
                (4, Some("192.0.2.0/24".to_owned()), "eth0", 0)
            ]
        );
    }

    #[test]
    fn ipv6_routes_are_read() {
        let zero = "0".repeat(32);
        let text = format!(
            "20010db8{0} 20 {zero} 00 {zero} 00000100 00000001 00000000 00000001     eth0\n\
             {zero} 00 {zero} 00 fe80{1}01 00000400 00000002 00000000 00000003     eth0\n\
             {1}000001 80 {zero} 00 {zero} 00000000 00000002 00000000 80200001       lo\n\
             ff00{0}0000 08 {zero} 00 {zero} 00000100 00000002 00000000 00000001     eth0\n",
            "0".repeat(24),
            "0".repeat(26),
        );
        let routes = best_routes(Path::new("route6"), &text, parse_v6).expect("well-formed");
        let seen: Vec<_> =
            routes.iter().map(|(_, r)| (r.prefix.map(|p| p.to_string()), r.gateway)).collect();
        assert_eq!(
            seen,
            [(Some("::/0".to_owned()), 0xfe80 << 112 | 1), (Some("2001:db8::/32".to_owned()), 0)]
        );
    }

    #[test]
    fn a_line_of_another_form_is_an_error_with_its_number() {
        let error = best_routes(Path::new("route"), "eth0 00", parse_v4).expect_err("too short");
        assert_eq!(error.line, Some(1));
    }
}
