//! Finds a mapping, that is which tiles execute which steps of an engine, by measuring with
//! packets.
//!
//! [`candidates`] lists mappings of a chip: chains in one row, in several rows, or along the edge,
//! with stages that one tile executes and stages that several tiles execute in turn. [`measure`]
//! runs packets on one of them. [`search`] measures all, and takes the mapping with the fewest
//! tiles that reaches a rate, or the fastest. So no rate is estimated. A mapping that the compiler
//! refuses is listed with the reason.

mod candidates;
mod measure;

use wireloom_ir::Program;
use wireloom_machine::{Error, Result};
use wireloom_net::Packet;
use wireloom_offloads::Store;

pub use crate::machine::{
    Carrier, Duplex, Keep, MachineSpec, Mapping, Outputs, Protocol, QueueMemory, Queues, RestSpec,
};
pub use candidates::candidates;
pub use measure::{Rates, measure, play, rates};

/// A mapping of a chip, with a readable name.
#[derive(Clone, Debug, PartialEq)]
pub struct Candidate {
    /// The chains, such as "4 chains of 4 tiles".
    pub name: String,
    pub mapping: Mapping,
}

impl Candidate {
    /// Returns the number of tiles that execute the engine.
    pub fn tiles(&self) -> usize {
        self.mapping.chains.iter().map(Vec::len).sum()
    }

    /// Returns the text of a machine description that extends another one.
    pub fn description(&self, extends: &str, about: &str) -> String {
        let Mapping { chains, replicas, outputs, rest, .. } = &self.mapping;
        let rest = rest.as_ref().map(RestSpec::section).unwrap_or_default();
        let outputs = if *outputs == Outputs::Egress { "outputs = \"egress\"\n" } else { "" };
        let chain = |chain: &Vec<(u8, u8)>| {
            let tiles: Vec<String> = chain.iter().map(|(x, y)| format!("[{x}, {y}]")).collect();
            format!("[{}]", tiles.join(", "))
        };
        let chains: Vec<String> = chains.iter().map(chain).collect();
        format!(
            "extends = {extends:?}\nabout = {about:?}\n\n[mapping]\nchains = [\n    {},\n]\n\
             replicas = {replicas:?}\n{outputs}{rest}",
            chains.join(",\n    ")
        )
    }
}

/// A mapping that was measured or refused.
#[derive(Clone, Debug)]
pub struct Tried {
    pub candidate: Candidate,
    /// The measured rates, or the reason for a refusal.
    pub rates: std::result::Result<Rates, String>,
}

impl Tried {
    /// Returns million packets a second; 0 if the mapping is refused.
    pub fn mpps(&self) -> f64 {
        self.rates.as_ref().map_or(0.0, |rates| rates.mpps)
    }
}

/// The result of a search.
#[derive(Clone, Debug)]
pub struct Found {
    /// All mappings that were tried.
    pub tried: Vec<Tried>,
    /// The index of the chosen mapping, if there is one.
    pub best: Option<usize>,
}

/// Measures mappings of a machine's chip with packets. Chooses the mapping with the fewest tiles
/// that forwards `wanted` million packets a second, and the fastest of these. Without `wanted` it
/// chooses the fastest of all.
///
/// # Errors
/// If the machine has queues, or the chip stops at a fault. A refused mapping is not an error.
pub fn search(
    spec: &MachineSpec,
    program: &Program,
    store: &Store,
    packets: &[Packet],
    wanted: Option<f64>,
    progress: &dyn Fn(&str),
) -> Result<Found> {
    if spec.mapping.queues.is_some() {
        let message = format!("{} has queues, which no mapping that is tried has", spec.name);
        return Err(Error::new(message).with_help("name a machine without `mapping.queues`"));
    }
    let mut tried = Vec::new();
    for candidate in candidates(spec) {
        progress(&candidate.name);
        let machine = MachineSpec { mapping: candidate.mapping.clone(), ..spec.clone() };
        let rates = match machine.refusal(program, store) {
            Some(why) => Err(why),
            None => Ok(measure(&machine, program, store, packets)?),
        };
        tried.push(Tried { candidate, rates });
    }
    let best = choose(&tried, wanted);
    Ok(Found { tried, best })
}

fn choose(tried: &[Tried], wanted: Option<f64>) -> Option<usize> {
    let carries = |tried: &&(usize, &Tried)| {
        tried.1.rates.is_ok() && wanted.is_none_or(|wanted| tried.1.mpps() >= wanted)
    };
    let all: Vec<(usize, &Tried)> = tried.iter().enumerate().collect();
    let tiles = |tried: &Tried| if wanted.is_some() { tried.candidate.tiles() } else { 0 };
    let better = |a: &&(usize, &Tried), b: &&(usize, &Tried)| {
        tiles(a.1).cmp(&tiles(b.1)).then(b.1.mpps().total_cmp(&a.1.mpps()))
    };
    all.iter().filter(carries).min_by(better).map(|(at, _)| *at)
}

#[cfg(test)]
mod tests {
    use super::*;
    use wireloom_description::Description;

    fn tried(tiles: u8, mpps: Option<f64>) -> Tried {
        let chains = vec![(0..tiles).map(|x| (x, 0)).collect()];
        let (steps, replicas) = (Vec::new(), Vec::new());
        let mapping = Mapping { chains, steps, replicas, ..Mapping::default() };
        let rates = mpps.map(|mpps| Rates { mpps, ..Rates::default() });
        let candidate = Candidate { name: String::new(), mapping };
        Tried { candidate, rates: rates.ok_or_else(|| "it is refused".to_owned()) }
    }

    #[test]
    fn what_is_tried_keeps_rests_as_the_machine_does_and_so_does_its_description() {
        let built = |text: &str| {
            let description = Description::parse("test.toml", text).expect("it is TOML");
            MachineSpec::build("test", &description).unwrap_or_else(|error| panic!("{error}"))
        };
        let spec = built(
            "extends = \"raw\"\nabout = \"a test\"\n[mapping]\nchains = [[[0, 0]]]\n[mapping.rest]\n\
             keep = \"card\"\nwords = 20\npackets = 5\n",
        );
        let all = candidates(&spec);
        assert!(all.len() > 10);
        for candidate in all {
            let again = built(&candidate.description("raw", "a test"));
            assert_eq!(again.mapping.rest, spec.mapping.rest, "{}", candidate.name);
            assert_eq!(again.mapping, candidate.mapping);
        }
    }

    #[test]
    fn the_fewest_tiles_that_carry_a_rate_are_chosen_and_else_the_fastest() {
        let all =
            [tried(1, Some(1.0)), tried(4, Some(5.0)), tried(4, Some(6.0)), tried(8, Some(9.0))];
        assert_eq!(choose(&all, None), Some(3));
        assert_eq!(choose(&all, Some(4.0)), Some(2));
        assert_eq!(choose(&all, Some(0.5)), Some(0));
        assert_eq!(choose(&all, Some(20.0)), None);
        assert_eq!(choose(&[tried(1, None)], None), None);
    }
}
