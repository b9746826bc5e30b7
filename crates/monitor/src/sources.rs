//! The texts of a program's sources.

use wireloom_install::embedded;
use wireloom_machine::watch::Listing;

/// Reads the texts of sources that are files, as far as they can be read.
pub fn add(listings: &mut [Listing]) {
    for source in listings.iter_mut().flat_map(|listing| &mut listing.sources) {
        if source.text.is_none() {
            source.text = match embedded::find(&source.name) {
                Some(found) => found.ok(),
                None => std::fs::read_to_string(&source.name).ok(),
            };
        }
    }
}
