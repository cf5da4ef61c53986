//! `objects`: what threads waited for (metrics.md §3).

use std::collections::BTreeMap;

use longpole_metrics::Contended;
use longpole_trace::ObjectKind;

use super::ROWS_OF_TEXT;
use crate::input::{Options, Source};
use crate::quantity::{percent, time_text};
use crate::report::{Report, Row};
use crate::share::places;
use crate::table::{Show, Table, shown};
use crate::text::Section;
use crate::view::View;

const COLUMNS: [&str; 6] = ["rank", "seconds", "percent", "blocks", "object", "kind"];

/// Objects of one name.
#[derive(Default)]
struct Named {
    contended: Contended,
}

pub(super) fn build(input: &Source<'_>, options: &Options) -> Report {
    let mut report = Report::new(View::Objects, input, options, &COLUMNS);
    let Some(contention) = &input.details.contention else { return report };
    let mut named: BTreeMap<(ObjectKind, &str), Named> = BTreeMap::new();
    for (object, contended) in input.objects.all().iter().zip(&contention.objects) {
        let sum = &mut named.entry((object.kind, &object.name)).or_default().contended;
        sum.waits += contended.waits;
        sum.waited += contended.waited;
    }
    let mut named: Vec<_> = named.into_iter().filter(|(_, named)| named.contended.waits > 0).collect();
    named.sort_by_key(|(key, named)| (std::cmp::Reverse(named.contended.waited), *key));
    let whole: u64 = named.iter().map(|(_, named)| named.contended.waited).sum();
    let shares: Vec<f64> =
        named.iter().map(|(_, named)| percent(named.contended.waited as f64, whole as f64)).collect();
    let rows = named.iter().zip(&shares).zip(places(&shares, None));
    let rows = rows.map(|((((kind, name), named), &share), place)| {
        Row::default()
            .count("rank", place)
            .time("seconds", named.contended.waited)
            .percent("percent", share)
            .count("blocks", named.contended.waits)
            .text("object", *name)
            .text("kind", kind.name())
    });
    let rows: Vec<Row> = rows.collect();
    report.rows = rows.iter().take(options.top.unwrap_or(usize::MAX)).cloned().collect();
    if rows.is_empty() {
        let none = "No thread waited for a lock or another object that the recording names.";
        report.sections.push(Section::Paragraph(none.to_owned()));
        return report;
    }
    report.sections.push(Section::Headline(format!("Objects: threads waited {} for them", time_text(whole))));
    report.sections.push(Section::Blank);
    let columns = vec![
        shown("#", Show::Rank),
        shown("% of waiting", Show::Percent("percent")),
        shown("waited", Show::Time("seconds")),
        shown("waits", Show::Count("blocks")),
    ];
    let shown_rows = rows.into_iter().take(options.top.unwrap_or(ROWS_OF_TEXT));
    let rows = shown_rows.map(|row| (row.clone(), row.words("object").to_owned())).collect();
    report.sections.push(Section::Table(Table { columns, name_title: "object".to_owned(), rows }));
    report
}
