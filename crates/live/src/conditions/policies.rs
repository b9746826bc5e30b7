//! IPsec policies (linux/xfrm.h).

use std::io;

use wireloom_net::netlink::attributes;

use super::Place;
use super::request::{Ask, ask};

/// `NETLINK_XFRM`.
const PROTOCOL: isize = 6;
/// `XFRM_MSG_GETPOLICY` and `XFRM_MSG_GETDEFAULT`.
const GET_POLICY: u16 = 0x15;
const GET_DEFAULT: u16 = 0x28;
/// Lengths of `struct xfrm_userpolicy_id` and `struct xfrm_userpolicy_info`.
const REQUEST: usize = 64;
const HEADER: usize = 168;
/// Offsets of direction and action in `struct xfrm_userpolicy_info`.
const DIRECTION: usize = 160;
const ACTION: usize = 161;
/// `XFRM_POLICY_OUT`, `XFRM_POLICY_FWD`.
const DIRECTIONS: [u8; 2] = [1, 2];
const BLOCK: u8 = 1;
/// `XFRMA_TMPL`.
const TEMPLATE: u16 = 5;

/// Counts the policies that discard or protect forwarded packets.
pub fn find(_: &Place) -> io::Result<Option<String>> {
    let mut count = 0;
    for message in ask(PROTOCOL, Ask::All, GET_POLICY, &[0; REQUEST])? {
        count += u32::from(decides(&message)?);
    }
    if count > 0 {
        let policies = if count == 1 { "policy" } else { "policies" };
        return Ok(Some(format!("{count} {policies} of IPsec")));
    }
    // Kernels before Linux 5.16 have no default policies.
    let defaults = ask(PROTOCOL, Ask::One, GET_DEFAULT, &[0; 4]).unwrap_or_default();
    let blocks = defaults.first().is_some_and(|defaults| blocks_by_default(defaults));
    Ok(blocks.then(|| "IPsec blocks what has no policy".to_owned()))
}

/// Returns whether a policy applies to forwarded packets and blocks or transforms them.
fn decides(payload: &[u8]) -> io::Result<bool> {
    let malformed = || io::Error::other("a policy of IPsec that cannot be read");
    let (header, list) = payload.split_at_checked(HEADER).ok_or_else(malformed)?;
    let has_template = attributes(list)?.iter().any(|(kind, _)| *kind == TEMPLATE);
    Ok(DIRECTIONS.contains(&header[DIRECTION]) && (header[ACTION] == BLOCK || has_template))
}

/// Returns whether `struct xfrm_userpolicy_default` (in, fwd, out) blocks forwarded packets.
fn blocks_by_default(payload: &[u8]) -> bool {
    payload.get(1..3).is_some_and(|defaults| defaults.contains(&BLOCK))
}

#[cfg(test)]
mod tests {
    use super::super::request::tests::attribute;
    use super::*;

    #[test]
    fn policies_that_let_packets_pass_do_not_count() {
        let policy = |direction: u8, action: u8, list: &[u8]| {
            let mut bytes = vec![0; HEADER];
            (bytes[DIRECTION], bytes[ACTION]) = (direction, action);
            [&bytes, list].concat()
        };
        let template = attribute(TEMPLATE, &[0; 64]);
        for (direction, action, list, expected) in [
            (2, BLOCK, &[][..], true),
            (1, 0, &template, true),
            (2, 0, &[], false),
            (0, BLOCK, &[], false),
            (3, 0, &template, false),
        ] {
            let decides = decides(&policy(direction, action, list)).expect("a policy");
            assert_eq!(decides, expected, "{direction} {action}");
        }
        assert!(decides(&[0; HEADER - 1]).is_err());
        assert!(decides(&policy(2, 0, &template[..9])).is_err());
        assert!(blocks_by_default(&[2, 1, 2]) && !blocks_by_default(&[1, 2, 2]));
        assert!(!blocks_by_default(&[]));
    }
}
