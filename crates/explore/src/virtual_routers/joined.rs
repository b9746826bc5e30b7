//! The processors of a choice on one chip.

use wireloom_np::area::{Cache, synthesise};
use wireloom_np::processor::chip::{self, Chip, Member, Resident};
use wireloom_np::processor::{Image, Stimulus};

use super::lanes::{Evaluator, Lane, packed};
use super::schedule::Schedule;
use wireloom_console::Working;
use wireloom_machine::{Error, Files, Result, thousands};

/// Packets of the test bench in a built folder.
const BENCH_PACKETS: usize = 500;

/// A chip, its table contents and its routers.
pub struct Joined {
    pub chip: Chip,
    pub images: Vec<Image>,
    /// The processors of the chip with their routers, in the chip's order.
    pub lanes: Vec<Lane>,
}

impl Evaluator<'_> {
    /// Joins processors: each on the first lane of the chip with enough room.
    ///
    /// # Errors
    /// If a program or a table is refused, or something does not fit a machine.
    pub fn joined(&self, processors: &[Lane]) -> Result<Joined> {
        let _working = Working::on("joining processors");
        let rates: Vec<f64> = processors.iter().map(|lane| lane.mpps).collect();
        let mut joined: Vec<Vec<Member>> = Vec::new();
        let mut images = Vec::new();
        let mut lanes = Vec::new();
        for places in packed(&rates, self.lane_mpps(), usize::MAX) {
            let mut members = Vec::new();
            for place in places {
                let lane = &processors[place];
                let (_, loaded) = self.loaded(&lane.routers, &lane.protocols)?;
                let label = format!("p{}_", lanes.len());
                let processor = loaded.labelled_processor(&lane.machine, &label)?;
                let (_, store) = loaded.into_parts();
                images.extend(processor.plan.images(&store).map_err(Error::new)?);
                let resident = |&router: &usize| Resident {
                    number: router as u8,
                    share: self.rate(router) / self.lane_mpps(),
                };
                let routers = lane.routers.iter().map(resident).collect();
                members.push(Member { processor, routers });
                lanes.push(lane.clone());
            }
            joined.push(members);
        }
        let chip = chip::join(joined).map_err(Error::new)?;
        Ok(Joined { chip, images, lanes })
    }

    /// Returns the LUTs of a chip outside its processors: ingress, egress, control.
    ///
    /// # Errors
    /// If Yosys is missing or refuses a unit.
    pub fn shared_luts(&self, joined: &Joined) -> Result<u64> {
        let mut luts = 0;
        for unit in &joined.chip.shared_units {
            let _working = Working::on(format!("synthesis of {unit}"));
            let found = synthesise(&joined.chip.design, unit, self.family(), &Cache::of_user());
            luts += found.map_err(Error::new)?.cost.luts;
        }
        Ok(luts)
    }

    /// Returns the files of a chip with its tables and a test bench: packets of its routers with
    /// their arrival times, and the output of golden machines with one router each. `shared` is the
    /// number of LUTs outside the processors, if known.
    ///
    /// # Errors
    /// If golden refuses a table.
    pub fn files(&self, joined: &Joined, shared: Option<u64>) -> Result<Files> {
        let mut schedule = Schedule::new(self, &joined.lanes, None)?;
        schedule.truncate(BENCH_PACKETS);
        let mut stimulus = Stimulus::default();
        schedule.packets().for_each(|packet| stimulus.arrives(packet.frame()));
        schedule.expected(self)?.iter().for_each(|left| stimulus.leaves(&left.output()));
        let names: Vec<&str> =
            self.description().routers.iter().map(|router| router.name.as_str()).collect();
        let estimate = self.estimate(joined, shared);
        Ok(chip::files(&joined.chip, &names, &joined.images, stimulus, &estimate))
    }

    /// Returns the cost of a chip as Markdown.
    fn estimate(&self, joined: &Joined, shared: Option<u64>) -> String {
        let Some(shared) = shared else { return "Not estimated.".to_owned() };
        let mut text =
            format!("LUTs ({}):\n\n| part | machine | LUTs |\n|---|---|---|\n", self.family());
        let mut total = shared;
        for (number, lane) in joined.lanes.iter().enumerate() {
            let luts = lane.luts.unwrap_or_default();
            total += luts;
            text += &format!(
                "| processor {number} | `{}` | {} |\n",
                lane.machine.name,
                thousands(luts)
            );
        }
        text + &format!(
            "| ingress, egress, control | | {} |\n| **all** | | **{}** |\n",
            thousands(shared),
            thousands(total)
        )
    }
}
