//! The word without which nothing is answered: random, new for each server, part of every path.

use crate::error::{Error, Result};

/// Bytes of randomness.
const LENGTH: usize = 16;

/// A token, as it stands in the path.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Token(String);

impl Token {
    /// A new one from the system's randomness.
    pub(crate) fn random() -> Result<Token> {
        let mut bytes = [0_u8; LENGTH];
        getrandom::fill(&mut bytes).map_err(|error| Error::Random { reason: error.to_string() })?;
        Ok(Token(bytes.iter().map(|byte| format!("{byte:02x}")).collect()))
    }

    pub(crate) fn text(&self) -> &str {
        &self.0
    }

    /// Whether it is this one. The time that takes says nothing of how much of it was right.
    pub(crate) fn is(&self, claimed: &str) -> bool {
        let (token, claimed) = (self.0.as_bytes(), claimed.as_bytes());
        if token.len() != claimed.len() {
            return false;
        }
        let differing = token.iter().zip(claimed).fold(0, |sum, (one, other)| sum | (one ^ other));
        std::hint::black_box(differing) == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_whole_token_is_the_token() {
        let token = Token::random().unwrap();
        let text = token.text().to_owned();
        assert!(token.is(&text));
        assert_eq!(text.len(), 2 * LENGTH);
        assert!(text.chars().all(|c| c.is_ascii_hexdigit()));
        for wrong in ["", &text[1..], &format!("{text}0"), &text.replacen(&text[..1], "x", 1)] {
            assert!(!token.is(wrong), "{wrong}");
        }
    }

    #[test]
    fn every_server_has_its_own() {
        assert!(Token::random().unwrap() != Token::random().unwrap());
    }
}
