//! Metric descriptions and formulas on damaged input.

use std::time::Duration;

use longpole_series::{Catalogue, Descriptions, Formula, Unit};
use longpole_testkit::Mutations;

const IPS2: &str = "metric share { /* of \"user\" time */\n    class derived; level machine; aggregation sum;\n    \
    tablettitle \"Average \\\"Share\\\"\"; units percent_cpu;\n    formula (cpu_time + busy_waits)\n / sys_user_time;\n}\n\
    metric b { formula share * 100% # half\n - min(c, 2[bytes/s], \"a b\"); }\n";
const TOML: &str = "[metric.share]\nclass = \"derived\"\nformula = \"\"\"\n(a + b) / mean(c)\"\"\"\n\
    [metric.\"a b\"]\nunits = 'bytes/s^2'\nsamples = \"counter\"\n[metric.c]\nformula = \"share < -1e3\"\n";

/// Reads a file and puts a catalogue together of what is in it; whatever is told can be shown.
fn read(text: &str) {
    let described = match Descriptions::parse(text, "f") {
        Ok(described) => described,
        Err(error) => {
            assert!(error.line >= 1 && error.column >= 1 && !error.message.is_empty());
            let line = text.split('\n').nth(error.line - 1).map(|line| line.trim_end_matches('\r'));
            assert_eq!(line, Some(error.excerpt.as_str()));
            assert!(error.to_string().lines().count() >= 2);
            return;
        }
    };
    for formula in described.descriptions.iter().filter_map(|one| one.formula.as_ref()) {
        assert_eq!(Formula::parse(&formula.to_string()).as_ref(), Ok(formula));
    }
    let count = described.descriptions.len();
    let (catalogue, notes) = Catalogue::new(&[], &[], vec![described], &[text.to_owned()]);
    assert!(catalogue.metrics().len() <= count + 1);
    assert!(notes.iter().all(|note| !note.to_string().is_empty()));
}

#[test]
fn damaged_descriptions_are_read_or_refused() {
    let inputs = vec![IPS2.as_bytes().to_vec(), TOML.as_bytes().to_vec()];
    let runs = Mutations::new(inputs, 6).run_for(Duration::from_secs(2), |bytes| {
        read(&String::from_utf8_lossy(bytes));
    });
    assert!(runs > 500, "{runs} inputs");
}

#[test]
fn damaged_formulas_and_units_are_read_or_refused() {
    let inputs =
        vec![b"-(cpu + 1e3[bytes/s]) >= max(\"a b\", c.d, 50%) / rate(x)".to_vec(), b"a^2*b/c".to_vec()];
    let runs = Mutations::new(inputs, 7).run_for(Duration::from_secs(1), |bytes| {
        let text = String::from_utf8_lossy(bytes);
        match Formula::parse(&text) {
            Ok(formula) => {
                assert_eq!(Formula::parse(&formula.to_string()).as_ref(), Ok(&formula));
                let _ = formula.unit(&mut |name| Unit::parse(name).ok());
            }
            Err(error) => assert!(text.get(error.at).is_some()),
        }
        if let Ok(unit) = Unit::parse(&text) {
            assert_eq!(Unit::parse(&unit.to_string()), Ok(unit));
        }
    });
    assert!(runs > 500, "{runs} inputs");
}
