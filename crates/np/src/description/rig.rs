//! The embedded test rig of a machine (the Gorilla paper, section 4.6): its traffic, and the block
//! RAM that replaces the machine's external memories.

use serde::{Deserialize, Serialize};
use wireloom_net::tables::{Family, Prefix};

/// The parameters of the rig around a processor.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Rig {
    pub traffic: Vec<Traffic>,
    /// Number of labels of an MPLS packet.
    pub labels: u32,
    /// Number of random low-order bits of a label.
    pub label_bits: u32,
    /// Number of bits of the random ingress port numbers.
    pub port_bits: u32,
    /// Destination MAC address of the frames: six bytes in hexadecimal, separated by colons.
    pub router_mac: String,
    /// The network of IPv4 source and destination addresses.
    pub network4: String,
    /// The network of IPv6 destination addresses.
    pub network6: String,
    /// Words of block RAM that replace each QDR SRAM part.
    pub memory_words: usize,
}

/// A kind of packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Traffic {
    Ipv4,
    Ipv6,
    /// IPv4 inside MPLS.
    Mpls,
}

impl Rig {
    /// Checks the parameters. The error is a sentence.
    pub(super) fn check(&self) -> Result<(), String> {
        let range = |what: &str, value: u32, least: u32, most: u32| {
            let message = format!("`{what}` is {value}; it can be {least} to {most}");
            if (least..=most).contains(&value) { Ok(()) } else { Err(message) }
        };
        range("labels", self.labels, 1, 4)?;
        range("label_bits", self.label_bits, 0, 20)?;
        range("port_bits", self.port_bits, 0, 16)?;
        if self.traffic.is_empty() {
            return Err("`traffic` must name at least one of ipv4, ipv6 and mpls".to_owned());
        }
        let words = self.memory_words;
        if !words.is_power_of_two() || !(16..=1 << 26).contains(&words) {
            return Err(format!(
                "`memory_words` is {words}; it is a power of two from 16 to {}",
                1 << 26
            ));
        }
        self.mac_checked()?;
        network("network4", &self.network4, Family::V4)?;
        network("network6", &self.network6, Family::V6)?;
        Ok(())
    }

    /// Returns the kinds of packets as the parameter of the generator. Bit 0 is IPv4, bit 1 is IPv6
    /// and bit 2 is MPLS.
    pub fn templates(&self) -> u64 {
        self.traffic.iter().fold(0, |set, kind| set | 1 << *kind as u64)
    }

    /// Returns the destination MAC address of the frames.
    ///
    /// # Panics
    /// If the description has not been checked.
    pub fn mac(&self) -> u64 {
        self.mac_checked().expect("the machine was checked")
    }

    fn mac_checked(&self) -> Result<u64, String> {
        let text = &self.router_mac;
        let refuse = || format!("`router_mac` is \"{text}\"; write it as in 02:00:00:00:00:01");
        let bytes: Vec<&str> = text.split(':').collect();
        if bytes.len() != 6 || bytes.iter().any(|byte| byte.len() != 2) {
            return Err(refuse());
        }
        let join =
            |mac, byte: &&str| Some(mac << 8 | u64::from(u8::from_str_radix(byte, 16).ok()?));
        bytes.iter().try_fold(0, join).ok_or_else(refuse)
    }

    /// Returns the network of IPv4 source and destination addresses.
    ///
    /// # Panics
    /// If the description has not been checked.
    pub fn network4(&self) -> Prefix {
        network("network4", &self.network4, Family::V4).expect("the machine was checked")
    }

    /// Returns the network of IPv6 destination addresses.
    ///
    /// # Panics
    /// If the description has not been checked.
    pub fn network6(&self) -> Prefix {
        network("network6", &self.network6, Family::V6).expect("the machine was checked")
    }
}

fn network(key: &str, text: &str, family: Family) -> Result<Prefix, String> {
    let prefix: Prefix = text.parse().map_err(|why| format!("`{key}`: {why}"))?;
    if prefix.family() != family {
        return Err(format!("`{key}` is {prefix}, which is of the other IP"));
    }
    Ok(prefix)
}
