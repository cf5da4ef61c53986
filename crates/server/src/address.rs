//! Keys of requests: the same question always has the same one, here, in the page and in an exported file.

/// A request's key: its path with its parameters, sorted by name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct RequestKey(String);

impl RequestKey {
    /// The key as text, as in `report?by=line&view=npt`.
    pub(crate) fn text(&self) -> &str {
        &self.0
    }
}

/// The key of a request with these parameters; empty ones are left out, several of one name keep their order.
pub(crate) fn key_of(path: &str, parameters: &[(&str, &str)]) -> RequestKey {
    let mut pairs: Vec<_> = parameters.iter().filter(|(_, value)| !value.is_empty()).collect();
    pairs.sort_by_key(|(name, _)| *name);
    let pairs: Vec<String> = pairs
        .iter()
        .map(|(name, value)| format!("{}={}", encoded(name.as_bytes()), encoded(value.as_bytes())))
        .collect();
    RequestKey(if pairs.is_empty() { path.to_owned() } else { format!("{path}?{}", pairs.join("&")) })
}

/// As `encodeURIComponent` does it.
pub(crate) fn encoded(text: &[u8]) -> String {
    let mut encoded = String::with_capacity(text.len());
    for &byte in text {
        if byte.is_ascii_alphanumeric() || b"-_.!~*'()".contains(&byte) {
            encoded.push(char::from(byte));
        } else {
            encoded.push_str(&format!("%{byte:02X}"));
        }
    }
    encoded
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_sorted_and_empty_ones_left_out() {
        let key = key_of("report", &[("view", "npt"), ("by", "line"), ("of", "")]);
        assert_eq!(key.text(), "report?by=line&view=npt");
        assert_eq!(key_of("recording", &[]).text(), "recording");
    }

    #[test]
    fn changes_keep_their_order() {
        let key = key_of("what-if", &[("set", "b=0"), ("phase", "1..2"), ("set", "a=0")]);
        assert_eq!(key.text(), "what-if?phase=1..2&set=b%3D0&set=a%3D0");
    }

    #[test]
    fn names_are_encoded_as_in_the_browser() {
        let key = key_of("report", &[("of", "push(int, char*)::ä&b+c/~'!")]);
        assert_eq!(key.text(), "report?of=push(int%2C%20char*)%3A%3A%C3%A4%26b%2Bc%2F~'!");
    }
}
