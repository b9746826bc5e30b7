//! Tags of Ethernet switches between the switch and its processor ("distributed switch
//! architecture" in Linux).

use super::{TooShort, VLAN};

/// Length of a tag in bytes.
pub(super) const TAG_LENGTH: usize = 4;
/// Length in bytes of the EtherType and the two reserved bytes before a tag of Marvell's second
/// kind.
pub(super) const TYPE_LENGTH: usize = 4;
/// Offset of a tag: after the two addresses.
const AT: usize = 12;

/// Removes a Broadcom tag.
pub(super) fn without_broadcom_tag(bytes: &mut Vec<u8>) -> Result<(), TooShort> {
    if bytes.len() < AT + TAG_LENGTH {
        return Err(TooShort);
    }
    bytes.drain(AT..AT + TAG_LENGTH);
    Ok(())
}

/// Removes a Marvell tag and the `before` bytes before it. If the frame entered the switch with a
/// VLAN tag, the Marvell tag has replaced that tag: the VLAN tag is restored (Linux,
/// net/dsa/tag_dsa.c).
pub(super) fn without_marvell_tag(bytes: &mut Vec<u8>, before: usize) -> Result<(), TooShort> {
    let at = AT + before;
    let Some(&[flags, source, priority, vlan]) = bytes.get(at..at + TAG_LENGTH) else {
        return Err(TooShort);
    };
    let has_vlan_tag = flags & 0x20 != 0;
    if has_vlan_tag {
        // The two tags have the drop-eligible indicator at different positions.
        let indicator = (source & 1) << 4;
        let [high, low] = VLAN.to_be_bytes();
        let tag = [high, low, priority & !0x10 | indicator, vlan];
        bytes.splice(AT..at + TAG_LENGTH, tag);
    } else {
        bytes.drain(AT..at + TAG_LENGTH);
    }
    Ok(())
}
