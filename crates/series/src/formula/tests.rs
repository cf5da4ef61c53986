use std::collections::BTreeMap;
use std::convert::Infallible;

use longpole_event::Time;
use proptest::prelude::*;

use super::*;
use crate::{Unit, Window};

const WIDTH: f64 = 0.5;

fn window(bins: usize) -> Window {
    let end = Time::from_nanoseconds((bins as f64 * WIDTH * 1e9) as u64);
    Window { from: Time::from_nanoseconds(0), to: end, bins }
}

fn parse(text: &str) -> Formula {
    Formula::parse(text).unwrap_or_else(|error| panic!("{text}: {error:?}"))
}

/// The formula over metrics `x` and `y`.
fn computed(text: &str, x: &[f64], y: &[f64]) -> Evaluated {
    let mut operand = |name: &str| Ok::<_, Infallible>(if name == "x" { x.to_vec() } else { y.to_vec() });
    parse(text).evaluate(&window(x.len()), &mut operand).unwrap()
}

fn values(text: &str, x: &[f64]) -> Vec<f64> {
    computed(text, x, &[]).values
}

/// Equal, where no value is equal to no value, and to within what rounding in another order makes.
fn same(left: &[f64], right: &[f64]) -> bool {
    let equal = |one: f64, other: f64| {
        one.is_nan() && other.is_nan() || (one - other).abs() <= 1e-9 * one.abs().max(other.abs()).max(1e-300)
    };
    left.len() == right.len() && left.iter().zip(right).all(|(&one, &other)| equal(one, other))
}

const NONE: f64 = f64::NAN;

#[test]
fn operators_bind_as_in_arithmetic() {
    assert_eq!(values("1 + 2 * 3 - 4 / 2", &[0.0]), [5.0]);
    assert_eq!(values("8 - 2 - 3", &[0.0]), [3.0]);
    assert_eq!(values("8 / 2 / 2", &[0.0]), [2.0]);
    assert_eq!(values("-(1 + 2) * --3", &[0.0]), [-9.0]);
    assert_eq!(values("2 - -3", &[0.0]), [5.0]);
    assert_eq!(values("1 + 1 < 3", &[0.0]), [1.0]);
    assert_eq!(values("(x >= 2) * x + (x != 2) * .5e1", &[1.0, 2.0, 3.0]), [5.0, 2.0, 8.0]);
}

#[test]
fn functions_of_time_go_over_the_bins_that_have_a_value() {
    let x = [2.0, 4.0, NONE, 1.0];
    assert!(same(&values("sum(x)", &x), &[3.5; 4]));
    assert!(same(&values("mean(x)", &x), &[7.0 / 3.0; 4]));
    assert!(same(&values("min(x)", &x), &[1.0; 4]));
    assert!(same(&values("max(x)", &x), &[4.0; 4]));
    assert!(same(&values("delta(x)", &x), &[NONE, 2.0, NONE, NONE]));
    assert!(same(&values("rate(x)", &x), &[NONE, 4.0, NONE, NONE]));
    assert!(same(&values("max(x, 3)", &x), &[3.0, 4.0, NONE, 3.0]));
    assert!(same(&values("min(x, 3, 1.5)", &x), &[1.5, 1.5, NONE, 1.0]));
    assert!(same(&values("mean(x)", &[NONE, NONE]), &[NONE, NONE]));
}

#[test]
fn what_is_divided_by_zero_has_no_value_and_is_counted() {
    let evaluated = computed("x / y + x / (y - 1)", &[1.0, 1.0, 1.0, NONE], &[0.0, 1.0, 2.0, 0.0]);
    assert!(same(&evaluated.values, &[NONE, NONE, 1.5, NONE]));
    assert_eq!(evaluated.divided_by_zero, 2);
    assert_eq!(computed("mean(x / y)", &[1.0, 1.0], &[0.0, 2.0]).divided_by_zero, 0);
    assert_eq!(computed("0 / 0", &[0.0], &[]).divided_by_zero, 1);
}

#[test]
fn what_is_missing_or_too_large_has_no_value() {
    assert!(same(&values("x * 1e300", &[1.0, 1e300]), &[1e300, NONE]));
    assert!(same(&values("x < 1", &[NONE, 0.0]), &[NONE, 1.0]));
    assert!(same(&computed("x + y", &[1.0, 2.0], &[1.0]).values, &[2.0, NONE]));
}

#[test]
fn an_operand_is_asked_for_once_and_its_failure_is_handed_on() {
    let mut asked = Vec::new();
    let mut operand = |name: &str| {
        asked.push(name.to_owned());
        if name == "z" { Err("gone") } else { Ok(vec![1.0]) }
    };
    let formula = parse("x + y.y * x - z");
    assert_eq!(formula.operands(), ["x", "y.y", "z"]);
    assert_eq!(formula.evaluate(&window(1), &mut operand), Err("gone"));
    assert_eq!(asked, ["x", "y.y", "z"]);
}

fn error(text: &str) -> (Range<usize>, String) {
    let error = Formula::parse(text).unwrap_err();
    (error.at, error.message)
}

#[test]
fn errors_say_where_and_what_was_expected() {
    let operand = "expected a number, a metric, a function or (";
    assert_eq!(error("x + "), (4..4, format!("{operand}, found the end")));
    assert_eq!(error("x + * y"), (4..5, format!("{operand}, found `*`")));
    assert_eq!(error("(x + y"), (6..6, "expected an operator or ), found the end".into()));
    assert_eq!(error("x yy z"), (2..4, "expected an operator or the formula's end, found `yy`".into()));
    assert_eq!(error("min(x; y)"), (5..6, "expected an operator, a comma or ), found `;`".into()));
    assert_eq!(error("mean(x, y)"), (6..7, "expected an operator or ), found `,`".into()));
    assert_eq!(error("1 + sqrt(x)").0, 4..8);
    assert_eq!(
        error("x < y < 1"),
        (6..7, "comparisons do not follow each other: put one in parentheses".into())
    );
    assert_eq!(error("1e999").0, 0..5);
    assert_eq!(error("5[a b]").0, 1..6);
    assert_eq!(error("5 % x").0, 2..3);
    assert_eq!(error("").0, 0..0);
    assert_eq!(error("x = 1").0, 2..3);
    assert_eq!(error("\"x + 1").0, 0..1);
}

#[test]
fn depth_is_limited_and_length_is_not() {
    let deep = format!("{}x{}", "(".repeat(100_000), ")".repeat(100_000));
    assert_eq!(error(&deep), (60..61, "more than 60 parentheses within each other".into()));
    assert_eq!(error(&"max(".repeat(100_000)).0.start, 4 * 60);
    assert_eq!(values(&format!("{}x{}", "(".repeat(60), ")".repeat(60)), &[7.0]), [7.0]);
    assert_eq!(values(&format!("{}x", "-".repeat(100_001)), &[7.0]), [-7.0]);
    let long = format!("x{}", "+x".repeat(100_000));
    assert_eq!(values(&long, &[1.0]), [100_001.0]);
    assert_eq!(parse(&parse(&long).to_string()), parse(&long));
}

#[test]
fn names_that_are_no_words_stand_in_quotation_marks() {
    let formula = parse("\"db-commits (all)\" / node_cpu:rate.5m");
    assert_eq!(formula.operands(), ["db-commits (all)", "node_cpu:rate.5m"]);
    assert_eq!(formula.to_string(), "\"db-commits (all)\" / node_cpu:rate.5m");
    assert_eq!(formula.place_of("node_cpu:rate.5m"), Some(21..37));
    assert_eq!(parse("sum + 1").operands(), ["sum"]);
}

/// The unit of a formula over metrics whose units are given.
fn unit(text: &str, units: &[(&str, &str)]) -> Result<Option<String>, String> {
    let units: BTreeMap<_, _> =
        units.iter().map(|&(name, unit)| (name, Unit::parse(unit).unwrap())).collect();
    let unit = parse(text).unit(&mut |name| units.get(name).cloned());
    unit.map(|unit| unit.map(|unit| unit.to_string())).map_err(|error| error.message)
}

#[test]
fn units_are_carried() {
    let units =
        [("cpu", "threads"), ("faults", "faults/s"), ("user", "s/s"), ("memory", "bytes"), ("idle", "%")];
    let of = |text| unit(text, &units).unwrap();
    assert_eq!(of("cpu / user").as_deref(), Some(""));
    assert_eq!(of("faults / cpu").as_deref(), Some("faults/s"));
    assert_eq!(of("sum(faults)").as_deref(), Some("faults"));
    assert_eq!(of("rate(memory)").as_deref(), Some("B/s"));
    assert_eq!(of("delta(memory)").as_deref(), Some("B"));
    assert_eq!(of("max(memory, 4096[bytes]) * 2").as_deref(), Some("B"));
    assert_eq!(of("1 / faults").as_deref(), Some("s/faults"));
    assert_eq!(of("(faults > 1000) * cpu").as_deref(), Some(""));
    assert_eq!(of("100% - idle").as_deref(), Some("%"));
    assert_eq!(of("1 - idle / 100%").as_deref(), Some(""));
    assert_eq!(of("faults + unknown").as_deref(), Some("faults/s"));
    assert_eq!(of("unknown * 2"), None);
    assert_eq!(of("1 + 2"), None);
}

#[test]
fn unlike_units_are_named_with_their_operands() {
    let units = [("cpu", "threads"), ("faults", "faults/s"), ("memory", "bytes"), ("idle", "%")];
    let of = |text| unit(text, &units).unwrap_err();
    assert_eq!(
        of("2 * faults + memory"),
        "+ needs one unit, but `2 * faults` is in faults/s and `memory` is in B"
    );
    assert_eq!(
        of("min(1, cpu, memory)"),
        "min needs one unit, but `cpu` is a plain number and `memory` is in B"
    );
    assert_eq!(
        of("cpu < idle"),
        "< needs one unit, but `cpu` is a plain number and `idle` is in %; idle / 100% is a plain number"
    );
    let error = parse("cpu * (1 + (faults - memory))").unit(&mut |name| {
        units.iter().find(|(known, _)| *known == name).map(|(_, unit)| Unit::parse(unit).unwrap())
    });
    assert_eq!(error.unwrap_err().at, 12..27);
}

/// A formula as a tree: what the steps are compared with.
#[derive(Clone, Debug)]
enum Tree {
    Number(f64),
    Metric(usize),
    Negate(Box<Tree>),
    Two(&'static str, Box<Tree>, Box<Tree>),
    Over(&'static str, Box<Tree>),
}

const METRICS: [&str; 3] = ["a", "b_2", "not a word"];

impl Tree {
    /// With parentheses around everything.
    fn text(&self) -> String {
        match self {
            Tree::Number(value) => format!("{value}"),
            Tree::Metric(2) => "\"not a word\"".to_owned(),
            Tree::Metric(index) => METRICS[*index].to_owned(),
            Tree::Negate(inner) => format!("(-{})", inner.text()),
            Tree::Two(function @ ("min" | "max"), left, right) => {
                format!("{function}({} ,{})", left.text(), right.text())
            }
            Tree::Two(operator, left, right) => format!("({}{operator}{})", left.text(), right.text()),
            Tree::Over(function, inner) => format!("{function} ({})", inner.text()),
        }
    }

    /// The value in one bin, looked up bin by bin and computed anew wherever it is needed.
    fn value(&self, bin: usize, metrics: &[Vec<f64>]) -> f64 {
        let made = match self {
            Tree::Number(value) => *value,
            Tree::Metric(index) => metrics[*index][bin],
            Tree::Negate(inner) => -inner.value(bin, metrics),
            Tree::Two(operator, left, right) => {
                let (left, right) = (left.value(bin, metrics), right.value(bin, metrics));
                if left.is_nan() || right.is_nan() { NONE } else { two(operator, left, right) }
            }
            Tree::Over(function, inner) => inner.over(function, bin, metrics),
        };
        if made.is_finite() { made } else { NONE }
    }

    fn over(&self, function: &str, bin: usize, metrics: &[Vec<f64>]) -> f64 {
        if function == "rate" || function == "delta" {
            let width = if function == "rate" { WIDTH } else { 1.0 };
            return match bin {
                0 => NONE,
                _ => (self.value(bin, metrics) - self.value(bin - 1, metrics)) / width,
            };
        }
        let mut there: Vec<f64> = (0..metrics[0].len()).map(|bin| self.value(bin, metrics)).collect();
        there.retain(|value| !value.is_nan());
        there.sort_by(f64::total_cmp);
        let (Some(first), Some(last)) = (there.first(), there.last()) else { return NONE };
        match function {
            "min" => *first,
            "max" => *last,
            "mean" => there.iter().sum::<f64>() / there.len() as f64,
            _ => there.iter().map(|value| value * WIDTH).sum(),
        }
    }
}

fn two(operator: &str, left: f64, right: f64) -> f64 {
    let one = |holds| if holds { 1.0 } else { 0.0 };
    match operator {
        "+" => left + right,
        "-" => left - right,
        "*" => left * right,
        "/" if right == 0.0 => NONE,
        "/" => left / right,
        "<" => one(left < right),
        "<=" => one(left <= right),
        ">" => one(left > right),
        ">=" => one(left >= right),
        "==" => one(left == right),
        "!=" => one(left != right),
        "min" => {
            if left < right {
                left
            } else {
                right
            }
        }
        _ => {
            if left > right {
                left
            } else {
                right
            }
        }
    }
}

/// Small whole numbers and halves, which sums in any order give exactly; some bins without a value.
fn random_value() -> impl Strategy<Value = f64> {
    prop_oneof![1 => Just(NONE), 6 => (-8_i32..9).prop_map(|half| f64::from(half) / 2.0)]
}

fn random_tree() -> impl Strategy<Value = Tree> {
    let leaf = prop_oneof![
        (0_u32..20).prop_map(|half| Tree::Number(f64::from(half) / 2.0)),
        (0..METRICS.len()).prop_map(Tree::Metric)
    ];
    let operators = ["+", "-", "*", "/", "<", "<=", ">", ">=", "==", "!=", "min", "max"];
    let functions = ["sum", "mean", "min", "max", "rate", "delta"];
    leaf.prop_recursive(5, 40, 2, move |inner| {
        prop_oneof![
            1 => inner.clone().prop_map(|tree| Tree::Negate(Box::new(tree))),
            6 => (proptest::sample::select(operators.to_vec()), inner.clone(), inner.clone())
                .prop_map(|(operator, left, right)| Tree::Two(operator, Box::new(left), Box::new(right))),
            1 => (proptest::sample::select(functions.to_vec()), inner)
                .prop_map(|(function, tree)| Tree::Over(function, Box::new(tree))),
        ]
    })
}

/// Comparisons of numbers that rounding moved apart differ between the two, so trees whose steps are inexact are compared
/// by what does not jump.
fn jumps(tree: &Tree) -> bool {
    match tree {
        Tree::Number(_) | Tree::Metric(_) => false,
        Tree::Negate(inner) | Tree::Over(_, inner) => jumps(inner),
        Tree::Two(operator, left, right) => {
            let is_exact = |tree: &Tree| !has_rounding(tree);
            let compares = operator.contains(['<', '>', '=']) || *operator == "/";
            compares && !(is_exact(left) && is_exact(right)) || jumps(left) || jumps(right)
        }
    }
}

fn has_rounding(tree: &Tree) -> bool {
    match tree {
        Tree::Number(_) | Tree::Metric(_) => false,
        Tree::Negate(inner) => has_rounding(inner),
        Tree::Over(function, inner) => *function == "mean" || has_rounding(inner),
        Tree::Two(operator, left, right) => *operator == "/" || has_rounding(left) || has_rounding(right),
    }
}

/// Equal to within what sums in another order make of values that nearly cancel.
fn nearly(left: &[f64], right: &[f64]) -> bool {
    let equal = |one: f64, other: f64| {
        one.is_nan() && other.is_nan() || (one - other).abs() <= 1e-6 * one.abs().max(other.abs()).max(1.0)
    };
    left.len() == right.len() && left.iter().zip(right).all(|(&one, &other)| equal(one, other))
}

proptest! {
    #[test]
    fn steps_compute_what_the_tree_says(
        tree in random_tree(),
        metrics in (1_usize..7).prop_flat_map(|bins| {
            proptest::collection::vec(proptest::collection::vec(random_value(), bins), METRICS.len())
        }),
    ) {
        prop_assume!(!jumps(&tree));
        let bins = metrics[0].len();
        let mut operand = |name: &str| {
            let index = METRICS.iter().position(|metric| *metric == name).unwrap();
            Ok::<_, Infallible>(metrics[index].clone())
        };
        let evaluated = parse(&tree.text()).evaluate(&window(bins), &mut operand).unwrap();
        let wanted: Vec<_> = (0..bins).map(|bin| tree.value(bin, &metrics)).collect();
        prop_assert!(nearly(&evaluated.values, &wanted), "{}: {:?} {:?}", tree.text(), evaluated, wanted);
    }

    #[test]
    fn what_is_printed_reads_as_itself(tree in random_tree()) {
        let formula = parse(&tree.text());
        let printed = formula.to_string();
        prop_assert_eq!(parse(&printed), formula);
        let parentheses = |text: &str| text.matches('(').count();
        prop_assert!(parentheses(&printed) <= parentheses(&tree.text()));
    }

    #[test]
    fn numbers_fold(one in 0_u32..50, other in 0_u32..50, x in random_value()) {
        let equal = |left: String, right: String| same(&values(&left, &[x, 1.0]), &values(&right, &[x, 1.0]));
        let laws = [
            (format!("x + {one} + {other}"), format!("x + {}", one + other)),
            (format!("({one} + {other}) * x"), format!("{one} * x + {other} * x")),
            (format!("x * {one} * 0"), "x - x".to_owned()),
            (format!("mean(x) * {one}"), format!("mean(x * {one})")),
            (format!("max(x, {one}, {other})"), format!("max(x, {})", one.max(other))),
            (format!("-(x - {one})"), format!("{one} - x")),
        ];
        for (left, right) in laws {
            prop_assert!(equal(left.clone(), right.clone()), "{} and {}", left, right);
        }
    }

    #[test]
    fn no_text_makes_the_parser_panic(text in "[-a-z0-9 ()+*/<>=!.,%\\[\\]\"_öe]{0,40}") {
        if let Err(error) = Formula::parse(&text) {
            prop_assert!(error.at.start <= error.at.end && error.at.end <= text.len());
            prop_assert!(text.is_char_boundary(error.at.start) && !error.message.is_empty());
        }
    }
}
