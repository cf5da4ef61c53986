//! Units as names of metrics end in them.

/// The ends of names, and the units as they are written everywhere else.
const UNITS: [(&str, &str); 12] = [
    ("seconds", "s"),
    ("milliseconds", "ms"),
    ("bytes", "B"),
    ("bits", "bits"),
    ("celsius", "celsius"),
    ("meters", "m"),
    ("ratio", ""),
    ("percent", "%"),
    ("volts", "V"),
    ("amperes", "A"),
    ("joules", "J"),
    ("watts", "W"),
];

/// The unit of this word.
pub(super) fn short(word: &str) -> Option<&'static str> {
    UNITS.iter().find(|(long, _)| *long == word).map(|&(_, short)| short)
}

/// The unit that a name ends in.
pub(super) fn of_name(name: &str) -> Option<&'static str> {
    name.rsplit_once('_').and_then(|(_, word)| short(word))
}
