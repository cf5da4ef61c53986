//! Bars of block characters, in eighths of a character.

/// A bar to the right, as long as the share (in percent) of `width` characters.
pub(crate) fn bar(percent: f64, width: usize) -> String {
    let eighths = (percent / 100.0 * (width * 8) as f64).round() as usize;
    let rest = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"][eighths % 8];
    format!("{}{rest}", "█".repeat(eighths / 8))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_are_drawn_to_an_eighth_of_a_character() {
        assert_eq!([0.0, 50.0, 53.2, 100.0].map(|percent| bar(percent, 4)), ["", "██", "██▏", "████"]);
    }
}
