//! Names in sentences as things that can be looked up: what stands between backquotes, with its cells.
//!
//! In: rows with sentences. Out: the same rows with the column `mentions`, which a page makes links of. A name that
//! several things have is mentioned without cells, as nobody can tell which of them is meant.

use std::collections::BTreeMap;

use longpole_event::ThreadId;
use longpole_metrics::Node;
use longpole_trace::{ObjectId, ProcedureId};

use crate::column::column;
use crate::input::Source;
use crate::name;
use crate::report::{Cell, Report, Row};
use crate::views::identity;

/// Columns that hold sentences.
const SENTENCES: [&str; 2] = ["text", "about"];
const MENTIONS: &str = "mentions";
/// What a row says of a procedure.
const PROCEDURE: [&str; 3] = ["procedure", "module", "file"];

/// What a name stands for: one thing, or several.
type Known = BTreeMap<String, Option<Node>>;

/// Adds to each row the things that its sentences name. A row about nothing else is about the one procedure that it names.
pub(crate) fn add_mentions(report: &mut Report, input: &Source<'_>) {
    let mut known: Known = BTreeMap::new();
    for row in &report.rows {
        known.extend(quoted(row).map(|name| (name.to_owned(), None)));
    }
    if known.is_empty() {
        return;
    }
    look_up(&mut known, input);
    let mut is_any = false;
    for row in &mut report.rows {
        let things = of_row(row, &known, input);
        if things.is_empty() {
            continue;
        }
        is_any = true;
        let about = about(row, &things).cloned();
        let mut told = std::mem::take(row);
        for column in about.iter().flat_map(|_| PROCEDURE) {
            told = told.text(column, about.as_ref().map_or("", |thing| thing.words(column)));
        }
        *row = told.list(MENTIONS, things);
    }
    if is_any {
        report.columns.push(column(MENTIONS));
    }
}

/// Names between backquotes in the row's sentences.
fn quoted(row: &Row) -> impl Iterator<Item = &str> {
    SENTENCES.into_iter().flat_map(|column| row.words(column).split('`').skip(1).step_by(2))
}

/// Finds the things that have the names.
fn look_up(known: &mut Known, input: &Source<'_>) {
    let mut several: Vec<String> = Vec::new();
    let mut found = |name: String, node: Node| match known.get_mut(&name) {
        Some(Some(_)) => several.push(name),
        Some(thing) => *thing = Some(node),
        None => {}
    };
    for index in 0..input.paths.procedures().len() {
        let id = ProcedureId(u32::try_from(index).expect("fewer than 2^32 procedures"));
        found(name::procedure(input.paths, input.program, id), Node::Procedure(id));
    }
    for index in 0..input.program.threads.len() {
        let id = ThreadId::from_index(index);
        found(name::thread(input.program, id), Node::Thread(id));
    }
    let mut objects: BTreeMap<&str, ObjectId> = BTreeMap::new();
    for (index, object) in input.input().objects.all().iter().enumerate() {
        let id = ObjectId(u32::try_from(index).expect("fewer than 2^32 objects"));
        // Objects of one name are shown as one.
        objects.entry(&object.name).or_insert(id);
    }
    objects.into_iter().for_each(|(name, id)| found(name.to_owned(), Node::Object(id)));
    for name in several {
        known.insert(name, None);
    }
}

fn of_row(row: &Row, known: &Known, input: &Source<'_>) -> Vec<Row> {
    let mut names: Vec<&str> = quoted(row).collect();
    let mut seen: Vec<&str> = Vec::new();
    names.retain(|name| {
        let is_new = !seen.contains(name);
        seen.push(name);
        is_new
    });
    let thing = |name: &str| {
        let node = (*known.get(name)?)?;
        Some(identity(input, node).0.text("text", name))
    };
    names.into_iter().filter_map(thing).collect()
}

/// The procedure that the row is about, where it does not say so itself.
fn about<'a>(row: &Row, things: &'a [Row]) -> Option<&'a Row> {
    let is_about_something = ["procedure", "object", "thread"].iter().any(|column| row.get(column).is_some());
    let mut procedures = things.iter().filter(|thing| matches!(thing.get("procedure"), Some(Cell::Text(_))));
    match (procedures.next(), procedures.next()) {
        (Some(one), None) if !is_about_something && row.words("section") == "change" => Some(one),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use crate::fixture::{LOCK_HOG, Scene, WAITING};
    use crate::input::Options;
    use crate::report::{Cell, Row};
    use crate::view::View;

    fn mentions(row: &Row) -> &[Row] {
        match row.get("mentions") {
            Some(Cell::List(rows)) => rows,
            _ => &[],
        }
    }

    #[test]
    fn a_sentence_comes_with_the_things_that_it_names() {
        let report = Scene::of(LOCK_HOG).report(View::Summary, &Options::default());
        let headline = &report.rows[0];
        assert!(headline.words("text").contains("`update`"), "{headline:?}");
        let named: Vec<&str> = mentions(headline).iter().map(|row| row.words("procedure")).collect();
        assert!(named.contains(&"update"), "{headline:?}");
        assert!(report.columns.iter().any(|column| column.name == "mentions"));
    }

    #[test]
    fn a_change_of_a_wait_is_about_the_procedure_that_waits() {
        let report = Scene::of(WAITING).report(View::Summary, &Options::default());
        let changes: Vec<&Row> = report.rows.iter().filter(|row| row.words("section") == "change").collect();
        let io = changes.iter().find(|row| row.words("text").contains("io in `write_journal`"));
        assert_eq!(io.map(|row| row.words("procedure")), Some("write_journal"), "{changes:?}");
    }

    #[test]
    fn a_name_of_two_things_is_not_resolved() {
        let drawing = "cpus 2\nA = main > busy\nB = other > busy\nmain AAAAAAAA";
        let scene = Scene::of(drawing);
        let one = scene.report(View::Summary, &Options::default());
        assert!(one.rows.iter().any(|row| !mentions(row).is_empty()));
        let mut scene = Scene::of(&format!("{drawing}\n1 = mutex busy\nlate B1111111"));
        scene.evidence.samples = 4000;
        let two = scene.report(View::Summary, &Options::default());
        let of_busy = |row: &Row| mentions(row).iter().any(|thing| thing.words("text") == "busy");
        assert!(!two.rows.iter().any(of_busy), "{:?}", two.rows[0]);
    }
}
