//! A run of a version of the paper's router, with each packet compared with the golden model.

use std::path::Path;

use wireloom_machine::{Error, Program, Result, Source};
use wireloom_raw::Spec;
use wireloom_raw::board::{Board, Played};
use wireloom_raw::device::LineRate;
use wireloom_raw::dir24::Route;
use wireloom_raw::routers::{Checked, Reference, Setting, Version};

use super::play;

/// A chip, and the program that defines the routers' behaviour.
#[derive(Clone)]
pub struct Rig {
    pub chip: Spec,
    pub meaning: Program,
}

/// The result of a run.
pub struct Ran {
    pub board: Board,
    pub played: Played,
    pub checked: Checked,
}

impl Rig {
    /// Creates the paper's chip.
    ///
    /// # Errors
    /// If programs/raw/ipv4.loom is not below the root.
    pub fn new(root: &Path) -> Result<Self> {
        let meaning = Source::of(root.join("programs/raw/ipv4.loom")).compiled()?;
        Ok(Self { chip: Spec::built_in(), meaning })
    }

    /// Returns the board of a version before its first cycle; `packets` are by input.
    ///
    /// # Errors
    /// If the program or the routes do not fit.
    pub fn board(
        &self,
        version: &Version,
        setting: &Setting,
        packets: &[Vec<Vec<u8>>],
        routes: &[Route],
    ) -> Result<Board> {
        let program =
            version.program_for(setting).map_err(|refused| Error::new(refused.render()))?;
        let board = version.board(setting);
        let mut board =
            Board::new(&self.chip, &program, board, packets.to_vec()).map_err(Error::new)?;
        version.write_routes(&mut board, routes).map_err(Error::new)?;
        Ok(board)
    }

    /// Plays packets, given by input, to their end.
    ///
    /// # Errors
    /// If the router makes no progress, or a packet leaves other than as golden sends it.
    pub fn run(
        &self,
        version: &Version,
        setting: &Setting,
        packets: &[Vec<Vec<u8>>],
        routes: &[Route],
    ) -> Result<Ran> {
        let mut board = self.board(version, setting, packets, routes)?;
        let played = play(&mut board)?;
        let checked =
            Reference::new(&self.meaning, routes)?.check(packets, &setting.ports, &played)?;
        Ok(Ran { board, played, checked })
    }
}

/// Returns the rate of each input line for a total number of packets per second on all ports.
pub fn rate(packets_a_second: f64, bytes: usize, ports: usize) -> LineRate {
    let hertz = super::MHZ as f64 * 1e6;
    super::line(bytes, ports as f64 * hertz / packets_a_second)
}
