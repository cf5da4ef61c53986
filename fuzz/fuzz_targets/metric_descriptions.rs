//! The reader of metric description files, and the formulas in them.
#![no_main]

use libfuzzer_sys::fuzz_target;
use longpole_series::{Catalogue, Descriptions, Formula};

fuzz_target!(|text: &str| {
    if let Ok(described) = Descriptions::parse(text, "f") {
        let _ = Catalogue::new(&[], &[], vec![described], &[text.to_owned()]);
    }
    if let Ok(formula) = Formula::parse(text) {
        assert_eq!(Formula::parse(&formula.to_string()), Ok(formula));
    }
});
