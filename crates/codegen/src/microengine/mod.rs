//! What microengines of an IXP execute and read: so far the images of tables that programs in
//! microcode walk through (programs/microcode/ipv4.uc).

pub mod trie;
