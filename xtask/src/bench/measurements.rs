//! Figures of several rounds, and the page they end up on.

use std::fmt::Write;

use serde_json::{Value, json};

/// What was measured in every round.
#[derive(Clone, Default)]
pub struct Measurements(Vec<f64>);

impl Measurements {
    /// What was measured once.
    pub fn of(value: f64) -> Measurements {
        Measurements(vec![value])
    }

    /// Adds a round's figure.
    pub fn push(&mut self, value: f64) {
        self.0.push(value);
    }

    /// The same in another unit.
    pub fn scaled(&self, factor: f64) -> Measurements {
        Measurements(self.0.iter().map(|value| value * factor).collect())
    }

    /// The median; NaN without rounds.
    pub fn median(&self) -> f64 {
        let mut values = self.0.clone();
        values.sort_by(f64::total_cmp);
        match values.len() {
            0 => f64::NAN,
            count if count % 2 == 1 => values[count / 2],
            count => f64::midpoint(values[count / 2 - 1], values[count / 2]),
        }
    }

    fn least(&self) -> f64 {
        self.0.iter().copied().fold(f64::INFINITY, f64::min)
    }

    fn most(&self) -> f64 {
        self.0.iter().copied().fold(f64::NEG_INFINITY, f64::max)
    }
}

/// One line of the table.
struct ResultLine {
    what: String,
    unit: &'static str,
    figures: Measurements,
    goal: Option<f64>,
}

/// The table of all results.
#[derive(Default)]
pub struct ResultPage {
    lines: Vec<ResultLine>,
}

impl ResultPage {
    /// Adds a line and prints it; `goal` is the most it should be.
    pub fn add(&mut self, what: &str, unit: &'static str, figures: Measurements, goal: Option<f64>) {
        let line = ResultLine { what: what.to_owned(), unit, figures, goal };
        println!("{}", line.text());
        self.lines.push(line);
    }

    /// Whether there is no line.
    pub fn is_empty(&self) -> bool {
        self.lines.is_empty()
    }

    /// The page as Markdown, under a heading.
    pub fn markdown(&self, heading: &str) -> String {
        let mut page = format!("# {heading}\n\n| what | median | least | most | unit | goal | |\n");
        page.push_str("|---|---:|---:|---:|---|---:|---|\n");
        for line in &self.lines {
            let ResultLine { what, unit, figures, goal } = line;
            let (median, least, most) =
                (number(figures.median()), number(figures.least()), number(figures.most()));
            let limit = goal.map_or(String::new(), |goal| format!("≤ {}", number(goal)));
            let verdict = line.verdict();
            writeln!(page, "| {what} | {median} | {least} | {most} | {unit} | {limit} | {verdict} |")
                .expect("a string takes all that is written");
        }
        page
    }

    /// The page as JSON, every round's figure included.
    pub fn json(&self, heading: &str) -> Value {
        let line = |line: &ResultLine| {
            json!({"what": line.what, "unit": line.unit, "median": line.figures.median(),
                   "rounds": line.figures.0, "goal": line.goal})
        };
        json!({"heading": heading, "results": self.lines.iter().map(line).collect::<Vec<_>>()})
    }
}

impl ResultLine {
    fn verdict(&self) -> &'static str {
        match self.goal {
            Some(goal) if self.figures.median() <= goal => "met",
            Some(_) => "MISSED",
            None => "",
        }
    }

    fn text(&self) -> String {
        let ResultLine { what, unit, figures, goal } = self;
        let (median, least, most) =
            (number(figures.median()), number(figures.least()), number(figures.most()));
        let limit =
            goal.map_or(String::new(), |goal| format!("  goal ≤ {}: {}", number(goal), self.verdict()));
        format!("{what:<58} {median:>9} {unit:<9} ({least} .. {most}){limit}")
    }
}

/// Four digits that count.
fn number(value: f64) -> String {
    match value.abs() {
        large if large >= 1000.0 => format!("{value:.0}"),
        middle if middle >= 10.0 => format!("{value:.1}"),
        _ => format!("{value:.3}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_of_an_even_number_of_rounds_lies_between_the_middle_two() {
        assert_eq!(Measurements(vec![9.0, 1.0, 2.0, 4.0]).median(), 3.0);
        assert_eq!(Measurements(vec![9.0, 1.0, 2.0]).median(), 2.0);
    }

    #[test]
    fn a_goal_is_missed_by_what_is_larger() {
        let mut page = ResultPage::default();
        page.add("one", "s", Measurements(vec![2.0]), Some(1.0));
        page.add("two", "s", Measurements(vec![2.0]), Some(2.0));
        let page = page.markdown("heading");
        assert!(page.contains("| one | 2.000 | 2.000 | 2.000 | s | ≤ 1.000 | MISSED |"), "{page}");
        assert!(page.contains("| ≤ 2.000 | met |"), "{page}");
    }
}
