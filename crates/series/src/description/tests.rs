use super::*;

/// Figure 2 of the paper.
pub const FIGURE_2: &str = r#"metric prod_bus_util {
    class external;
    level machine;
    aggregation sum;
    tablecalc average;
    title "Productive Bus Utilization";
    xlabel "(Prod. Bus Util.)";
    units percent_bus;
    tabletitle "Average Bus Utilization";
}
"#;

/// Figure 3 of the paper, `tablettitle` and all.
pub const FIGURE_3: &str = include_str!("figure-3.metrics");

fn one(text: &str) -> Description {
    let mut read = Descriptions::parse(text, "one.metrics").unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(read.descriptions.len(), 1);
    read.descriptions.remove(0)
}

#[test]
fn figure_2_loads_letter_by_letter() {
    let read = one(FIGURE_2);
    assert_eq!((read.name.as_str(), read.class), ("prod_bus_util", MetricClass::External));
    assert_eq!((read.level, read.aggregation), (Some(TreeLevel::Machine), Some(Aggregation::Sum)));
    assert_eq!(read.calculation, Some(TableCalculation::Average));
    assert_eq!(read.title.as_deref(), Some("Productive Bus Utilization"));
    assert_eq!(read.axis_title.as_deref(), Some("(Prod. Bus Util.)"));
    assert_eq!(read.table_title.as_deref(), Some("Average Bus Utilization"));
    assert_eq!(read.unit.unwrap().label, "percent_bus");
    assert_eq!((read.formula, read.samples), (None, None));
}

#[test]
fn figure_3_loads_with_its_typing_error_and_says_so() {
    let read = Descriptions::parse(FIGURE_3, "share.metrics").unwrap();
    assert_eq!(read.notes, ["tablettitle is read as tabletitle (share.metrics, line 9)"]);
    let share = &read.descriptions[0];
    assert_eq!((share.class, share.table_title.as_deref()), (MetricClass::Derived, Some("Average Share")));
    let formula = share.formula.as_ref().unwrap();
    assert_eq!(formula.operands(), ["cpu_time", "busy_waits", "sys_user_time"]);
    assert_eq!(formula.to_string(), "(cpu_time + busy_waits) / sys_user_time");
}

#[test]
fn both_syntaxes_say_the_same() {
    let toml = r#"
        [metric.share]   # the same as figure 3
        formula = """
            (cpu_time + busy_waits) / sys_user_time"""
        class = "derived"
        level = 'machine'
        aggregation = "sum"
        tablecalc = "average"
        title = "Share of User Time"
        xlabel = "(Share)"
        units = "percent_cpu"
        tabletitle = "Average Share"
    "#;
    let (toml, ips2) = (one(toml), one(FIGURE_3));
    let said = |read: &Description| {
        let unit = read.unit.clone().map(|unit| (unit.label, unit.unit));
        (
            read.name.clone(),
            read.class,
            read.level,
            read.aggregation,
            read.calculation,
            read.title.clone(),
            unit,
        )
    };
    assert_eq!(said(&toml), said(&ips2));
    assert_eq!((toml.table_title, toml.axis_title), (ips2.table_title, ips2.axis_title));
    assert_eq!(toml.formula, ips2.formula);
}

#[test]
fn comments_and_any_number_of_metrics() {
    let text = "# one\n/* two\n metric no { */ metric a{class/**/external;samples amount;}\n\
                metric \"b c\" { title \"a \\\"b\\\" /* # */\"; # three ; }\n formula a /* four; */ / \"x;y\"; };\n";
    let read = Descriptions::parse(text, "f").unwrap();
    let [a, b] = &read.descriptions[..] else { panic!("{read:?}") };
    assert_eq!((a.name.as_str(), a.samples), ("a", Some(SeriesKind::Amount)));
    assert_eq!((b.name.as_str(), b.title.as_deref()), ("b c", Some("a \"b\" /* # */")));
    assert_eq!(b.formula.as_ref().unwrap().operands(), ["a", "x;y"]);
    for empty in ["", "\n# nothing\n", "/* nothing */"] {
        assert_eq!(Descriptions::parse(empty, "f").unwrap().descriptions, [], "{empty:?}");
    }
}

#[test]
fn toml_keeps_the_order_of_the_file() {
    let read = Descriptions::parse("[metric.b]\n[metric.a]\ntitle='x'\n[metric.\"c.d\"]\n", "f").unwrap();
    let names: Vec<_> = read.descriptions.iter().map(|one| one.name.as_str()).collect();
    assert_eq!(names, ["b", "a", "c.d"]);
}

/// Line, column and message of what is wrong.
fn wrong(text: &str) -> (usize, usize, String) {
    let error = Descriptions::parse(text, "f").unwrap_err();
    (error.line, error.column, error.message)
}

#[test]
fn errors_of_ips2_syntax_say_where_and_what() {
    let told = |line, column, message: &str| (line, column, message.to_owned());
    assert_eq!(wrong("metrik a {"), told(1, 1, "expected metric NAME {, found `metrik`"));
    assert_eq!(wrong("metric {"), told(1, 8, "expected the metric's name, found `{`"));
    assert_eq!(wrong("metric a\n  level x;"), told(2, 3, "expected {, found `level`"));
    assert_eq!(wrong("metric a {\n level machine\n units s;}"), told(3, 2, "expected ;, found `units`"));
    assert_eq!(wrong("metric a {\n level machine;"), told(2, 16, "expected a field or }, found the end"));
    assert_eq!(
        wrong("metric a { title \"x;\n}"),
        told(1, 18, "this text does not end: expected \" before the line's end")
    );
    assert_eq!(wrong("metric a { } /* x"), told(1, 14, "this comment does not end: expected */"));
    assert_eq!(
        wrong("metric a { formula b + /* c */ ; }"),
        told(1, 23, "expected a number, a metric, a function or (, found the end")
    );
    assert_eq!(wrong("metric a {\n formula /* c */ (b\n  + ;\n}").0, 3);
    assert_eq!(wrong("metric a { formula b }"), told(1, 22, "expected ;, found `}`"));
    assert_eq!(wrong("metric a { level ; }"), told(1, 18, "expected the field's value, found `;`"));
}

#[test]
fn errors_of_toml_say_where_and_what() {
    assert_eq!(
        wrong("[metric.a]\nlevel = \"mashine\"").2,
        "expected program, machine, process, thread, procedure, found `mashine`; did you mean machine?"
    );
    assert_eq!(wrong("[metric.a]\nlevel = \"mashine\"").1, 10);
    assert_eq!(
        wrong("[metrics.a]\n"),
        (1, 2, "expected a table [metric.NAME]; did you mean metric?".to_owned())
    );
    assert_eq!(wrong("metric = 1"), (1, 1, "expected a table [metric.NAME]".to_owned()));
    assert_eq!(wrong("[metric.a]\ntitle = 5"), (2, 9, "expected a text in quotation marks".to_owned()));
    assert_eq!((wrong("[metric.a]\ntitle = \"x").0, wrong("[metric.a]\n[metric.a]\n").0), (2, 2));
    assert_eq!(wrong("[metric.a.b]\ntitle = 'x'").1, 11);
    let (line, column, message) = wrong("[metric.a]\nformula = \"b + (c\"");
    assert_eq!((line, column, message.as_str()), (2, 18, "expected an operator or ), found the end"));
    // With an escape in it the place within is not known: all of it is meant.
    assert_eq!(wrong("[metric.a]\nformula = \"\\u0062 + (c\"").1, 11);
}

#[test]
fn fields_that_contradict_or_that_nobody_knows_are_refused() {
    assert_eq!(
        wrong("metric a {\n unit s; }"),
        (
            2,
            2,
            "expected one of class, level, aggregation, tablecalc, title, xlabel, units, tabletitle, formula, samples, \
             found `unit`; did you mean units?"
                .to_owned()
        )
    );
    assert_eq!(wrong("metric a { level machine; level process; }").2, "level is said twice of a");
    assert_eq!(wrong("metric a { class external; formula b; }").2, "an external metric has no formula");
    assert_eq!(wrong("metric a { class derived; }"), (1, 18, "a derived metric needs a formula".to_owned()));
    assert_eq!(wrong("metric a { formula b; samples gauge; }").1, 31);
    assert_eq!(
        wrong("metric a { units a*; }").2,
        "expected a unit: names joined by * and /, such as bytes/s or s^2"
    );
    assert_eq!(
        wrong("metric a { class internal; }").2,
        "expected external, derived, found `internal`; did you mean external?"
    );
    assert_eq!(wrong("metric \"\" { }").1, 9);
}

#[test]
fn definitions_are_names_and_formulas() {
    let read = Description::define(" busy=cpu_time + spin_time ", "--define").unwrap();
    assert_eq!((read.name.as_str(), read.class), ("busy", MetricClass::Derived));
    assert_eq!(read.formula.unwrap().to_string(), "cpu_time + spin_time");
    assert_eq!(Description::define("\"a b\" = 1 == 1", "--define").unwrap().name, "a b");
    let wrong = |text| Description::define(text, "--define").unwrap_err();
    assert_eq!(
        wrong("x = y +").to_string(),
        "understand --define, line 1, column 8: expected a number, a metric, a function or (, found the end\n    x = y +\n           ^"
    );
    assert_eq!((wrong("x").column, wrong("= 1").column, wrong("a b = 1").column), (2, 1, 1));
    assert_eq!((wrong("").column, wrong("x = ").column, wrong("\" = 1").column), (1, 5, 1));
}
