//! Mixes of real captures whose packets have the mean length of the paper's trace.
//!
//! The paper's trace is not available. No capture of the cache, and no part of one, has its mean of
//! about 128 bytes: `real.pcap` has 60, and its 4,000 consecutive packets with the highest mean
//! have 63. So packets of `real.pcap` and of a capture with longer packets take turns, in the
//! smallest numbers that give the mean: once with packets up to 576 bytes, once with some of 1,470.

use wireloom_machine::{Error, Result};
use wireloom_net::Packet;
use wireloom_net::capture::Reader;

use super::PORTS;
use crate::Settings;

/// The folder of the captures.
const FOLDER: &str = ".cache/data/pathspider/usr/lib/python3/dist-packages/pathspider/tests/data";
/// The capture of real traffic.
pub const REAL: &str = "real.pcap";
/// The bytes of an Ethernet header without tags.
const LINK: usize = 14;

/// A mix: captures, each with the number of its packets per turn.
pub struct Mix {
    pub name: &'static str,
    turns: [(&'static str, usize); 2],
}

/// The mixes, whose IPv4 packets have 128 bytes on average.
pub const MIXES: [Mix; 2] = [
    Mix { name: "real-ecn", turns: [(REAL, 4), ("tcp_ecn.pcap", 3)] },
    Mix { name: "real-http", turns: [(REAL, 13), ("tcp_http.pcap", 2)] },
];

/// Returns the first packets of a capture.
///
/// # Errors
/// If it cannot be read.
pub fn first(settings: &Settings, name: &str, count: usize) -> Result<Vec<Vec<u8>>> {
    let path = settings.file(&format!("{FOLDER}/{name}"))?;
    let reader = Reader::open(&path).map_err(Error::new)?;
    let bytes = |packet: std::result::Result<Packet, _>| packet.map(|packet| packet.bytes);
    reader.take(count).map(bytes).collect::<std::result::Result<_, _>>().map_err(Error::new)
}

/// Returns the IPv4 packet in an Ethernet frame without tags.
pub fn ipv4(frame: &[u8]) -> Option<&[u8]> {
    (frame.get(12..LINK)? == [8, 0]).then(|| &frame[LINK..])
}

impl Mix {
    pub fn named(name: &str) -> Option<&'static Self> {
        MIXES.iter().find(|mix| mix.name == name)
    }

    /// Returns `count` IPv4 packets per input. A capture restarts at its end.
    ///
    /// # Errors
    /// If a capture cannot be read, or has no IPv4 packets.
    pub fn packets(&self, settings: &Settings, count: usize) -> Result<Vec<Vec<Vec<u8>>>> {
        let all = self.turns.map(|(name, _)| -> Result<Vec<Vec<u8>>> {
            let frames = first(settings, name, usize::MAX)?;
            let packets: Vec<_> = frames.iter().filter_map(|frame| ipv4(frame)).collect();
            match packets.is_empty() {
                true => Err(Error::new(format!("{name} has no IPv4 packets"))),
                false => Ok(packets.into_iter().map(<[u8]>::to_vec).collect()),
            }
        });
        let [one, other] = all;
        let all = [one?, other?];
        let mut streams = all.each_ref().map(|packets| packets.iter().cycle());
        let mut inputs = vec![Vec::new(); PORTS];
        let turn = self.turns.iter().enumerate().flat_map(|(of, (_, count))| vec![of; *count]);
        for (number, of) in
            turn.collect::<Vec<_>>().into_iter().cycle().take(PORTS * count).enumerate()
        {
            inputs[number % PORTS].extend(streams[of].next().cloned());
        }
        Ok(inputs)
    }
}
