//! The grammar of formulas. Parsers put the steps of what they read into the input's state; only tokens are ever tried and
//! given back, so what is put stays.

use std::ops::Range;

use rustc_hash::FxHashMap;
use winnow::combinator::{alt, opt, preceded};
use winnow::stream::Location;
use winnow::token::{literal, one_of, take_till, take_while};
use winnow::{LocatingSlice, Parser, Stateful};

use super::function::FormulaFunction;
use super::step::{Binding, FormulaStep, Operator, PlacedStep};
use super::{Formula, FormulaError};
use crate::Unit;
use crate::expected::Expected;

/// Parentheses within parentheses at most.
const DEEPEST: usize = 60;

/// What is being read, and what was read.
type FormulaInput<'text> = Stateful<LocatingSlice<&'text str>, ParsedFormula>;

/// What was read so far.
#[derive(Debug, Default)]
struct ParsedFormula {
    steps: Vec<PlacedStep>,
    operands: Vec<String>,
    /// Places in `operands` by name.
    places: FxHashMap<String, usize>,
    depth: usize,
}

/// The bytes of an expression whose steps were put.
type StepRange = Result<Range<usize>, Expected>;

pub(super) fn read(text: &str) -> Result<Formula, FormulaError> {
    let mut input = FormulaInput { input: LocatingSlice::new(text), state: ParsedFormula::default() };
    let whole = comparison(&mut input).and_then(|_| end(&mut input));
    whole.map_err(|expected| FormulaError { at: expected.place(text), message: expected.told(text) })?;
    Ok(Formula { text: text.to_owned(), steps: input.state.steps, operands: input.state.operands })
}

/// Whether the name needs no quotation marks in a formula.
pub(crate) fn is_bare_name(text: &str) -> bool {
    let mut characters = text.chars();
    characters.next().is_some_and(begins_name) && characters.all(continues_name)
}

fn begins_name(character: char) -> bool {
    character.is_alphabetic() || character == '_'
}

fn continues_name(character: char) -> bool {
    character.is_alphanumeric() || matches!(character, '_' | '.' | ':')
}

fn end(input: &mut FormulaInput<'_>) -> Result<(), Expected> {
    blanks(input)?;
    if input.is_empty() { Ok(()) } else { Err(expected(input, "an operator or the formula's end")) }
}

fn comparison(input: &mut FormulaInput<'_>) -> StepRange {
    let mut at = chain(input, Binding::Sum)?;
    if let Some(operator) = operator(input, Binding::Comparison)? {
        at.end = chain(input, Binding::Sum)?.end;
        put(input, FormulaStep::Binary(operator), &at);
        blanks(input)?;
        let from = input.current_token_start();
        if self::operator(input, Binding::Comparison)?.is_some() {
            return Err(Expected::wrong(
                from,
                "comparisons do not follow each other: put one in parentheses",
            ));
        }
    }
    Ok(at)
}

/// Operands with operators of one binding between them, taken from the left.
fn chain(input: &mut FormulaInput<'_>, binding: Binding) -> StepRange {
    let next = |input: &mut FormulaInput<'_>| match binding {
        Binding::Sum => chain(input, Binding::Product),
        _ => factor(input),
    };
    let mut at = next(input)?;
    while let Some(operator) = operator(input, binding)? {
        at.end = next(input)?.end;
        put(input, FormulaStep::Binary(operator), &at);
    }
    Ok(at)
}

/// Signs and what they stand before.
fn factor(input: &mut FormulaInput<'_>) -> StepRange {
    let mut signs = Vec::new();
    blanks(input)?;
    while let Some(at) = opt(literal::<_, _, Expected>("-").span()).parse_next(input)? {
        signs.push(at.start);
        blanks(input)?;
    }
    let mut at = operand(input)?;
    for start in signs.into_iter().rev() {
        at.start = start;
        put(input, FormulaStep::Negate, &at);
    }
    Ok(at)
}

fn operand(input: &mut FormulaInput<'_>) -> StepRange {
    if let Some(at) = opt(literal::<_, _, Expected>("(").span()).parse_next(input)? {
        let (_, end) = nested(input, at.start, 1)?;
        return Ok(at.start..end);
    }
    if let Some((value, at)) = opt(number.with_span()).parse_next(input)? {
        return number_with_unit(input, value, at);
    }
    if let Some((name, at)) = opt(quoted.with_span()).parse_next(input)? {
        return Ok(metric(input, name, at));
    }
    let bare = (one_of::<_, _, Expected>(begins_name), take_while(0.., continues_name)).take().with_span();
    match opt(bare).parse_next(input)? {
        Some((name, at)) => named(input, name, at),
        None => Err(expected(input, "a number, a metric, a function or (")),
    }
}

/// A metric, or a function where a parenthesis follows.
fn named(input: &mut FormulaInput<'_>, name: &str, at: Range<usize>) -> StepRange {
    if opt(preceded(blanks, literal::<_, _, Expected>("("))).parse_next(input)?.is_none() {
        return Ok(metric(input, name, at));
    }
    let Some(function) = FormulaFunction::named(name) else {
        let all = FormulaFunction::ALL.map(FormulaFunction::name).join(", ");
        return Err(Expected::wrong_in(at, format!("no function has this name: there are {all}")));
    };
    let most = if function.takes_several() { usize::MAX } else { 1 };
    let (count, end) = nested(input, at.start, most)?;
    let at = at.start..end;
    put(input, FormulaStep::Call(function, count), &at);
    Ok(at)
}

/// What stands behind an opening parenthesis, up to the closing one: how many expressions, and where it ends.
fn nested(input: &mut FormulaInput<'_>, from: usize, most: usize) -> Result<(usize, usize), Expected> {
    input.state.depth += 1;
    if input.state.depth > DEEPEST {
        return Err(Expected::wrong(from, format!("more than {DEEPEST} parentheses within each other")));
    }
    let mut count = 0;
    loop {
        comparison(input)?;
        count += 1;
        blanks(input)?;
        if count < most && opt(literal::<_, _, Expected>(",")).parse_next(input)?.is_some() {
            continue;
        }
        let Some(close) = opt(literal::<_, _, Expected>(")").span()).parse_next(input)? else {
            return Err(expected(
                input,
                if most > 1 { "an operator, a comma or )" } else { "an operator or )" },
            ));
        };
        input.state.depth -= 1;
        return Ok((count, close.end));
    }
}

fn metric(input: &mut FormulaInput<'_>, name: &str, at: Range<usize>) -> Range<usize> {
    let ParsedFormula { operands, places, .. } = &mut input.state;
    let index = *places.entry(name.to_owned()).or_insert_with(|| {
        operands.push(name.to_owned());
        operands.len() - 1
    });
    put(input, FormulaStep::Metric(index), &at);
    at
}

fn quoted<'text>(input: &mut FormulaInput<'text>) -> Result<&'text str, Expected> {
    literal("\"").parse_next(input)?;
    let name = take_till(1.., ['"', '\n']).parse_next(input)?;
    literal("\"").parse_next(input)?;
    Ok(name)
}

/// Digits, a fraction, an exponent.
fn number<'text>(input: &mut FormulaInput<'text>) -> Result<&'text str, Expected> {
    let digits = || take_while(1.., |character: char| character.is_ascii_digit());
    let fraction = || (literal("."), digits());
    let exponent = (one_of(['e', 'E']), opt(one_of(['+', '-'])), digits());
    let mantissa = alt(((digits(), opt(fraction())).void(), fraction().void()));
    (mantissa, opt(exponent)).take().parse_next(input)
}

fn number_with_unit(input: &mut FormulaInput<'_>, text: &str, at: Range<usize>) -> StepRange {
    let value: f64 = text.parse().ok().filter(|value: &f64| value.is_finite()).ok_or_else(|| {
        Expected::wrong_in(at.clone(), "this number is too large: expected one below 1.8e308".to_owned())
    })?;
    let brackets = (literal("["), take_till(0.., [']', '\n']), literal("]"));
    let unit = alt((literal::<_, _, Expected>("%"), brackets.map(|(_, unit, _)| unit)));
    let Some((unit, unit_at)) = opt(unit.with_span()).parse_next(input)? else {
        put(input, FormulaStep::Number(value, None), &at);
        return Ok(at);
    };
    let read =
        Unit::parse(unit).map_err(|bad| Expected::wrong_in(unit_at.clone(), bad.expectation().to_owned()))?;
    let at = at.start..unit_at.end;
    put(input, FormulaStep::Number(value, Some(read)), &at);
    Ok(at)
}

/// The operator that comes next, if it is of this binding.
fn operator(input: &mut FormulaInput<'_>, binding: Binding) -> Result<Option<Operator>, Expected> {
    blanks(input)?;
    let found = Operator::ALL.into_iter().find(|operator| input.input.starts_with(operator.sign()));
    let found = found.filter(|operator| operator.binding() == binding);
    if let Some(operator) = found {
        literal(operator.sign()).void().parse_next(input)?;
    }
    Ok(found)
}

fn blanks(input: &mut FormulaInput<'_>) -> Result<(), Expected> {
    take_while(0.., char::is_whitespace).void().parse_next(input)
}

fn put(input: &mut FormulaInput<'_>, step: FormulaStep, at: &Range<usize>) {
    input.state.steps.push(PlacedStep { step, at: at.clone() });
}

fn expected(input: &FormulaInput<'_>, what: &'static str) -> Expected {
    Expected::here(input.current_token_start(), what)
}
