//! One line of a page: `name{label="value",…} number [time]`.

use std::borrow::Cow;
use std::fmt::Write;
use std::hash::{Hash, Hasher};

use crate::lines::is_name;

/// Bytes of a label that are kept as they are: a series' label has at most 200.
const MOST_LABEL_BYTES: usize = 200;
const KEPT_LABEL_BYTES: usize = 180;
const NO_SAMPLE: &str = "a line that is not `name{labels} value [time]`";

/// A sample, as it is written.
#[derive(Debug, PartialEq)]
pub(super) struct ExpositionSample<'a> {
    pub(super) name: &'a str,
    /// `a="b",c="d"`, without spaces.
    pub(super) label: Cow<'a, str>,
    pub(super) value: f64,
    pub(super) time: Option<f64>,
}

impl<'a> ExpositionSample<'a> {
    pub(super) fn parse(text: &'a str) -> Result<ExpositionSample<'a>, &'static str> {
        let end = text.find([' ', '\t', '{']).ok_or(NO_SAMPLE)?;
        let (name, rest) = text.split_at(end);
        if !is_name(name) {
            return Err("a metric whose name is not made of letters, digits and `_`");
        }
        let rest = rest.trim_start();
        let (label, rest) = match rest.strip_prefix('{') {
            Some(inside) => labels(inside).ok_or("a line with labels that are none")?,
            None => (Cow::Borrowed(""), rest),
        };
        // What stands behind a `#` is an exemplar.
        let mut words = rest.split_ascii_whitespace().take_while(|word| *word != "#");
        let value = words.next().ok_or(NO_SAMPLE)?;
        let value = value.parse().map_err(|_| "a value that is no number")?;
        let time = words.next().map(|word| word.parse::<f64>().ok().filter(|time| time.is_finite()));
        let time = time.map(|time| time.ok_or("a time that is none")).transpose()?;
        if words.next().is_some() {
            return Err(NO_SAMPLE);
        }
        Ok(ExpositionSample { name, label, value, time })
    }
}

/// The labels behind a `{`, and what follows the `}`.
fn labels(inside: &str) -> Option<(Cow<'_, str>, &str)> {
    let (mut rest, mut label) = (inside, String::new());
    loop {
        rest = rest.trim_start();
        if let Some(after) = rest.strip_prefix('}') {
            // Almost always it stands there as it is to be written.
            let written = &inside[..inside.len() - rest.len()];
            let is_same = written == label;
            return Some((if is_same { Cow::Borrowed(written) } else { Cow::Owned(label) }, after));
        }
        let (name, after) = rest.split_once('=')?;
        let after = after.trim_start().strip_prefix('"')?;
        let end = end_of_text(after)?;
        if !is_name(name.trim()) {
            return None;
        }
        if !label.is_empty() {
            label.push(',');
        }
        label.push_str(name.trim());
        label.push_str("=\"");
        label.push_str(&after[..=end]);
        rest = after[end + 1..].trim_start();
        rest = match rest.strip_prefix(',') {
            Some(next) => next,
            None if rest.starts_with('}') => rest,
            None => return None,
        };
    }
}

/// Where the text ends whose begin this is: at the first `"` that has no `\` before it.
fn end_of_text(text: &str) -> Option<usize> {
    let mut is_escaped = false;
    text.bytes().position(|byte| {
        let is_end = byte == b'"' && !is_escaped;
        is_escaped = byte == b'\\' && !is_escaped;
        is_end
    })
}

/// A label that fits; one that is too long is told from others by a number.
pub(super) fn short_label(label: &str) -> Cow<'_, str> {
    if label.len() <= MOST_LABEL_BYTES {
        return Cow::Borrowed(label);
    }
    let mut hasher = rustc_hash::FxHasher::default();
    label.hash(&mut hasher);
    let mut short = label[..label.floor_char_boundary(KEPT_LABEL_BYTES)].to_owned();
    write!(short, "…{:016x}", hasher.finish()).expect("a text can be written to");
    Cow::Owned(short)
}
