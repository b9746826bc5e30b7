//! Takes the state that packets have changed from memory into the store.

use wireloom_offloads::{Content, Store};

use super::Place;

/// Takes the state that packets have changed from memory into the store. `places` are the places of
/// the offloads of each instance of an engine, and `word` reads the word at an address.
pub fn read_back(places: &[Vec<Place>], store: &mut Store, word: &mut dyn FnMut(u32) -> u32) {
    read_instance(places, 0, store, word);
}

fn read_instance(
    places: &[Vec<Place>],
    number: usize,
    store: &mut Store,
    word: &mut dyn FnMut(u32) -> u32,
) {
    for (place, slot) in places[number].iter().zip(&mut store.slots) {
        match (place, &mut slot.content) {
            (Place::Engine(called), Content::Engine(inner)) => {
                read_instance(places, *called, inner, word);
            }
            (Place::Kind(placed), Content::Kind { config, instance }) => {
                placed.read_back(config, instance.as_mut(), word);
            }
            _ => unreachable!("the store suits the program"),
        }
    }
}
