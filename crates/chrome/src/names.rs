//! Names, each held once.

use rustc_hash::FxHashMap;

/// Longest name that is kept, bytes.
const LONGEST: usize = 512;
/// Names that are kept; what has a further one is called [`FURTHER`].
const MOST: usize = 1 << 20;
const FURTHER: &str = "a further name";

#[derive(Clone, Debug, Default)]
pub(crate) struct Names {
    texts: Vec<String>,
    known: FxHashMap<String, u32>,
}

impl Names {
    /// The number of a name, cut where it is very long.
    pub(crate) fn number(&mut self, name: &str) -> u32 {
        let name = &name[..name.floor_char_boundary(LONGEST)];
        if let Some(&known) = self.known.get(name) {
            return known;
        }
        if self.texts.len() >= MOST && name != FURTHER {
            return self.number(FURTHER);
        }
        let number = self.texts.len() as u32;
        self.texts.push(name.to_owned());
        self.known.insert(name.to_owned(), number);
        number
    }

    pub(crate) fn text(&self, number: u32) -> &str {
        self.texts.get(number as usize).map_or("", String::as_str)
    }
}
