//! What the fields of a description mean.

use std::ops::Range;

use longpole_event::SeriesKind;

use super::entry::{DescriptionEntry, Text};
use super::{Description, DescriptionText, MetricClass, StatedUnit, TreeLevel};
use crate::{Aggregation, Formula, TableCalculation, TextError, Unit, nearest};

/// The fields; figure 3 of the paper writes the one for tables with a letter too many.
const FIELDS: [&str; 10] = [
    "class",
    "level",
    "aggregation",
    "tablecalc",
    "title",
    "xlabel",
    "units",
    "tabletitle",
    "formula",
    "samples",
];
const FIGURE_3: &str = "tablettitle";
/// Names are at most so long.
const LONGEST_NAME: usize = 200;

/// Makes a description of an entry, and says in `notes` what it took for something else.
pub fn describe(
    entry: DescriptionEntry,
    source: &DescriptionText,
    notes: &mut Vec<String>,
) -> Result<Description, TextError> {
    let fields = MetricFields::of(&entry, source, notes)?;
    check_name(&entry.name, source)?;
    let formula = fields.formula()?;
    let description = Description {
        class: fields.class(formula.is_some())?,
        level: fields.choice("level", &choices(TreeLevel::ALL.map(|level| (level.name(), level))))?,
        aggregation: fields.choice("aggregation", &choices(Aggregation::ALL.map(|one| (one.name(), one))))?,
        calculation: fields.choice("tablecalc", &calculations())?,
        title: fields.text("title"),
        axis_title: fields.text("xlabel"),
        table_title: fields.text("tabletitle"),
        unit: fields.unit()?,
        samples: fields.choice("samples", &samples())?,
        formula_at: fields.get("formula").map_or(0..0, |text| text.at.clone()),
        formula,
        name_at: entry.name.at.clone(),
        name: entry.name.value.clone(),
        source: source.clone(),
    };
    if let (Some(_), Some(text)) = (&description.formula, fields.get("samples")) {
        let told = "a derived metric has no samples: they say how the numbers of a series are read";
        return Err(source.error(&text.at, told));
    }
    if description.class == MetricClass::External && description.level == Some(TreeLevel::Procedure) {
        notes.push(format!(
            "{} is described for procedures ({}): outside series reach down to threads, a procedure has no value",
            description.name,
            source.place(&description.name_at)
        ));
    }
    Ok(description)
}

fn check_name(name: &Text, source: &DescriptionText) -> Result<(), TextError> {
    let length = name.value.chars().count();
    if (1..=LONGEST_NAME).contains(&length) && !name.value.contains(|c: char| c == '"' || c.is_control()) {
        return Ok(());
    }
    let told = format!("expected a name of 1 to {LONGEST_NAME} characters without quotation marks");
    Err(source.error(&name.at, told))
}

/// The fields of one metric, each known and each once.
struct MetricFields<'entry> {
    name: &'entry Text,
    fields: Vec<(&'static str, &'entry Text)>,
    source: &'entry DescriptionText,
}

impl<'entry> MetricFields<'entry> {
    fn of(
        entry: &'entry DescriptionEntry,
        source: &'entry DescriptionText,
        notes: &mut Vec<String>,
    ) -> Result<MetricFields<'entry>, TextError> {
        let mut fields: Vec<(&'static str, &Text)> = Vec::new();
        for (field, value) in &entry.fields {
            let mut wanted = field.value.as_str();
            if wanted == FIGURE_3 {
                wanted = "tabletitle";
                notes.push(format!("{FIGURE_3} is read as tabletitle ({})", source.place(&field.at)));
            }
            let Some(known) = FIELDS.into_iter().find(|known| *known == wanted) else {
                let hint = nearest::did_you_mean(wanted, FIELDS);
                let told = format!("expected one of {}, found `{wanted}`{hint}", FIELDS.join(", "));
                return Err(source.error(&field.at, told));
            };
            if fields.iter().any(|(other, _)| *other == known) {
                return Err(source.error(&field.at, format!("{known} is said twice of {}", entry.name.value)));
            }
            fields.push((known, value));
        }
        Ok(MetricFields { name: &entry.name, fields, source })
    }

    fn get(&self, wanted: &str) -> Option<&'entry Text> {
        self.fields.iter().find(|(field, _)| *field == wanted).map(|(_, value)| *value)
    }

    fn text(&self, field: &str) -> Option<String> {
        self.get(field).map(|text| text.value.clone())
    }

    /// The choice of a field that has one of some names; the names of the same choice follow each other.
    fn choice<T: Copy>(&self, field: &str, choices: &[(&'static str, T)]) -> Result<Option<T>, TextError> {
        let Some(text) = self.get(field) else { return Ok(None) };
        let found = choices.iter().find(|(name, _)| *name == text.value);
        let told = || {
            let names: Vec<_> = choices.iter().map(|(name, _)| *name).collect();
            let hint = nearest::did_you_mean(&text.value, names.iter().copied());
            format!("expected {}, found `{}`{hint}", names.join(", "), text.value)
        };
        found.map(|(_, choice)| Some(*choice)).ok_or_else(|| self.source.error(&text.at, told()))
    }

    fn class(&self, has_formula: bool) -> Result<MetricClass, TextError> {
        let stated =
            self.choice("class", &[("external", MetricClass::External), ("derived", MetricClass::Derived)])?;
        let class = if has_formula { MetricClass::Derived } else { MetricClass::External };
        if stated.is_none_or(|stated| stated == class) {
            return Ok(class);
        }
        let at = self.get("class").map_or(&self.name.at, |text| &text.at);
        let told = if has_formula {
            "an external metric has no formula"
        } else {
            "a derived metric needs a formula"
        };
        Err(self.source.error(at, told))
    }

    fn unit(&self) -> Result<Option<StatedUnit>, TextError> {
        let Some(text) = self.get("units") else { return Ok(None) };
        let unit = Unit::parse(&text.value).map_err(|bad| self.source.error(&text.at, bad.expectation()))?;
        Ok(Some(StatedUnit { label: text.value.trim().to_owned(), unit, at: text.at.clone() }))
    }

    fn formula(&self) -> Result<Option<Formula>, TextError> {
        let Some(text) = self.get("formula") else { return Ok(None) };
        let is_verbatim = text.at.len() == text.value.len();
        let place = |at: Range<usize>| {
            if is_verbatim { text.at.start + at.start..text.at.start + at.end } else { text.at.clone() }
        };
        Formula::parse(&text.value)
            .map(Some)
            .map_err(|error| self.source.error(&place(error.at), error.message))
    }
}

fn choices<T, const COUNT: usize>(choices: [(&'static str, T); COUNT]) -> Vec<(&'static str, T)> {
    choices.into()
}

/// Table calculations by their names and by IPS-2's.
fn calculations() -> Vec<(&'static str, TableCalculation)> {
    let mut names = choices(TableCalculation::ALL.map(|one| (one.name(), one)));
    names.extend([
        ("sum", TableCalculation::Total),
        ("mean", TableCalculation::Average),
        ("min", TableCalculation::Minimum),
        ("max", TableCalculation::Maximum),
    ]);
    names
}

fn samples() -> Vec<(&'static str, SeriesKind)> {
    choices(
        [SeriesKind::Gauge, SeriesKind::Counter, SeriesKind::Amount].map(|samples| (samples.name(), samples)),
    )
}
