//! What was wrong with text that came from outside: said by kind, each with the first example.

use rustc_hash::FxHashMap;

/// Characters of an example that are shown.
const SHOWN: usize = 60;

/// The first example of each kind of fault, so that all faults of a kind are counted under the same words.
#[derive(Debug, Default)]
pub(crate) struct Examples {
    said: FxHashMap<&'static str, String>,
}

impl Examples {
    /// What to say of a fault of this kind: the kind, and its first example.
    pub(crate) fn say(&mut self, kind: &'static str, example: &[u8]) -> &str {
        self.said.entry(kind).or_insert_with(|| format!("{kind}, first `{}`", shown(example)))
    }
}

/// The begin of a text, as it can be shown on a line.
pub(crate) fn shown(text: &[u8]) -> String {
    let begin = &text[..text.len().min(4 * SHOWN)];
    let text = String::from_utf8_lossy(begin);
    let mut shown: String = text.trim().chars().take(SHOWN).flat_map(char::escape_debug).collect();
    if text.trim().chars().nth(SHOWN).is_some() {
        shown.push('…');
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kind_is_said_with_its_first_example() {
        let mut examples = Examples::default();
        let first = examples.say("a line without a value", b"commits program").to_owned();
        assert_eq!(first, "a line without a value, first `commits program`");
        assert_eq!(examples.say("a line without a value", b"aborts program"), first);
    }

    #[test]
    fn what_cannot_be_shown_is_escaped_and_what_is_long_is_cut() {
        assert_eq!(shown(b"a\x1b[2J\xff"), "a\\u{1b}[2J\u{fffd}");
        assert_eq!(shown(&[b'x'; 1000]).chars().count(), SHOWN + 1);
    }
}
