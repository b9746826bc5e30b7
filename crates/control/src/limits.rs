//! Limits on packets to the kernel, by the names of their reasons.

use std::collections::BTreeMap;
use std::str::FromStr;

use wireloom_ir as ir;
use wireloom_ir::Reason;
use wireloom_lang::suggest::suggest_or_list;
use wireloom_live::Limits;
use wireloom_machine::{Error, Result, reason_name};

/// A limit on packets to the kernel, as `[REASON=]PACKETS`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CpuRate {
    /// The reason. If absent, the limit applies to every reason without its own.
    pub reason: Option<String>,
    /// Packets a second.
    pub packets: u64,
}

impl FromStr for CpuRate {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (reason, packets) = match text.split_once('=') {
            Some((reason, packets)) => (Some(reason.to_owned()), packets),
            None => (None, text),
        };
        let packets = packets.parse().map_err(|_| "write it as PACKETS or REASON=PACKETS")?;
        Ok(Self { reason, packets })
    }
}

/// Returns the limits by the reasons of a program.
///
/// # Errors
/// If it does not have one of the reasons.
pub fn resolve(rates: &[CpuRate], program: &ir::Program) -> Result<Limits> {
    let mut limits = Limits::default();
    let sets = program.reasons.iter().zip(0..).flat_map(|(set, number)| {
        let reason = move |value: u64| Reason::Program(ir::ReasonSetId(number), value as u16);
        set.members.iter().map(move |(value, _)| reason(*value))
    });
    let known: BTreeMap<String, Reason> =
        sets.map(|reason| (reason_name(program, reason), reason)).collect();
    for CpuRate { reason, packets } in rates {
        let Some(name) = reason else {
            limits.rate = *packets;
            continue;
        };
        let Some(&reason) = known.get(name) else {
            let names = known.keys().map(String::as_str);
            let error = Error::new(format!(
                "--cpu-rate {name}={packets}: the program has no reason `{name}`"
            ));
            return Err(match suggest_or_list(name, "its reasons are", names) {
                Some(help) => error.with_help(help),
                None => error,
            });
        };
        limits.exceptions.insert(reason, *packets);
    }
    Ok(limits)
}
