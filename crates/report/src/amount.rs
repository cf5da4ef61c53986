//! Amounts of any unit, as people read them.

use crate::quantity::{Scale, grouped};

const BINARY: [&str; 6] = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];

/// An amount with its unit: `5,600 faults/s`, `1.25 GiB`, `41.0 ms`, `0.832`.
pub fn amount_text(value: f64, unit: &str) -> String {
    let (base, rest) = unit.split_at(unit.find(['/', '·']).unwrap_or(unit.len()));
    match base {
        "s" if rest.is_empty() => {
            let scale = Scale::of(value.abs());
            format!("{} {}", digits(value * scale.factor), scale.unit)
        }
        "bytes" | "B" => {
            let at = BINARY.iter().enumerate().rposition(|(at, _)| value.abs() >= 1024_f64.powi(at as i32));
            let at = at.unwrap_or(0);
            format!("{} {}{rest}", digits(value / 1024_f64.powi(at as i32)), BINARY[at])
        }
        "" => format!("{}{rest}", digits(value)),
        "1" => format!("{}{rest}", digits(value)),
        _ => format!("{} {unit}", digits(value)),
    }
}

/// Three digits that tell, or all before the point, in groups.
fn digits(value: f64) -> String {
    let size = value.abs();
    let sign = if value < 0.0 { "-" } else { "" };
    match size {
        0.0 => "0".to_owned(),
        size if !(1e-4..1e15).contains(&size) => format!("{value:.2e}"),
        size if size >= 999.5 => format!("{sign}{}", grouped(size.round() as u64)),
        size if size.fract() == 0.0 => format!("{sign}{size}"),
        size => {
            // The digits before the point, or less than none: the zeros behind it.
            let before = size.log10().floor() as i32 + 1;
            let places = (3 - before).clamp(0, 6) as usize;
            format!("{value:.places$}")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_have_three_digits_and_their_unit() {
        let texts = [
            (5600.4, "faults/s", "5,600 faults/s"),
            (1_342_177_280.0, "bytes", "1.25 GiB"),
            (2048.0, "bytes/s", "2 KiB/s"),
            (181_136_628.0, "B", "173 MiB"),
            (0.041, "s", "41 ms"),
            (0.832_19, "", "0.832"),
            (12.0, "1/s", "12/s"),
            (0.012_345, "", "0.0123"),
            (-1234.5, "", "-1,235"),
            (999.7, "", "1,000"),
            (0.0, "bytes", "0 B"),
            (3e-7, "x", "3.00e-7 x"),
        ];
        for (value, unit, text) in texts {
            assert_eq!(amount_text(value, unit), text);
        }
    }
}
