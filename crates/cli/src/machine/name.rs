//! Machines as they are named on the command line.

use std::str::FromStr;
use std::sync::Arc;

use wireloom_description::Description;
use wireloom_machines::mpsoc;
use wireloom_rtl::machine::{Machine, MachineError};

/// A machine that programs can be run on or built for.
#[derive(Clone, Debug, PartialEq)]
pub enum MachineName {
    /// The interpreter that defines what programs mean.
    Golden,
    /// C, compiled by the system's compiler and run on one core of this computer.
    Native,
    /// A network processor in SystemVerilog, simulated by Verilator.
    Np(Arc<Machine>),
    /// StepNP: multithreaded processors behind a network on a chip, simulated.
    Mpsoc(Arc<mpsoc::Spec>),
}

/// The machines that need no description: name and what it is.
pub const SOFTWARE: [(&str, &str); 2] = [
    ("golden", "the interpreter that defines what programs mean"),
    ("native", "C, compiled by the system's compiler and run on one core of this computer"),
];

impl FromStr for MachineName {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "golden" => return Ok(Self::Golden),
            "native" => return Ok(Self::Native),
            _ => {}
        }
        match Description::find(text).map_err(|error| error.to_string())? {
            Some((name, description)) => Self::described(&name, description),
            None => match Machine::find(text) {
                Ok(machine) => Ok(Self::Np(Arc::new(machine))),
                Err(MachineError::Unknown(name)) => Err(format!(
                    "no machine is called '{name}': say golden, native, np-C-E-T (clusters, engines, threads), the name of a description \
                     (wireloom machines lists them) or the path of a .toml file"
                )),
                Err(other) => Err(other.to_string()),
            },
        }
    }
}

impl MachineName {
    /// The machine of a description, of whatever kind.
    ///
    /// # Errors
    /// A sentence, if the description is wrong.
    pub fn described(name: &str, description: Description) -> Result<Self, String> {
        match description.kind() {
            Some("mpsoc") => Ok(Self::Mpsoc(Arc::new(mpsoc::Spec::build(name, description)?))),
            _ => match Machine::build(name, description) {
                Ok(machine) => Ok(Self::Np(Arc::new(machine))),
                Err(error) => Err(error.to_string()),
            },
        }
    }

    /// The name, for reports.
    pub fn as_str(&self) -> &str {
        match self {
            Self::Golden => "golden",
            Self::Native => "native",
            Self::Np(description) => &description.name,
            Self::Mpsoc(spec) => &spec.name,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_lead_to_machines() {
        for (name, _) in SOFTWARE {
            assert_eq!(name.parse::<MachineName>().expect("a machine").as_str(), name);
        }
        let MachineName::Np(np) = "np-4-2-8".parse().expect("a machine") else { panic!("not an np") };
        assert_eq!((np.clusters, np.engines, np.threads), (4, 2, 8));
        let MachineName::Mpsoc(mpsoc) = "mpsoc-oc192".parse().expect("a machine") else {
            panic!("not an mpsoc")
        };
        assert_eq!((mpsoc.name.as_str(), mpsoc.processors, mpsoc.threads), ("mpsoc-oc192", 48, 16));
        let refused = "goldne".parse::<MachineName>().expect_err("there is no such machine");
        assert!(refused.contains("golden, native, np-C-E-T"), "{refused}");
    }
}
