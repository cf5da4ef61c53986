//! The parameters of a request, taken one by one; what nobody took is a mistake that is told.

use std::str::FromStr;

use longpole_answer::Choice;

use crate::refusal::RequestRefusal;

/// Parameters that were not taken yet.
#[derive(Debug)]
pub(crate) struct Parameters(Vec<(String, String)>);

impl Parameters {
    /// Those of a query string. Empty ones count as left out.
    pub(crate) fn of(query: &str) -> Parameters {
        let pairs = form_urlencoded::parse(query.as_bytes()).into_owned();
        Parameters(pairs.filter(|(_, value)| !value.is_empty()).collect())
    }

    /// The one of this name.
    pub(crate) fn take(&mut self, name: &str) -> Result<Option<String>, RequestRefusal> {
        let mut values = self.take_all(name);
        match values.len() {
            0 | 1 => Ok(values.pop()),
            _ => Err(RequestRefusal::wrong(format!(
                "understand the request: `{name}` stands in it more than once"
            ))),
        }
    }

    /// All of this name, in their order.
    pub(crate) fn take_all(&mut self, name: &str) -> Vec<String> {
        let is_it = |(known, _): &mut (String, String)| known == name;
        self.0.extract_if(.., is_it).map(|(_, value)| value).collect()
    }

    /// The one of this name, which has to be there.
    pub(crate) fn need(&mut self, name: &str) -> Result<String, RequestRefusal> {
        self.take(name)?
            .ok_or_else(|| RequestRefusal::wrong(format!("understand the request: it needs `{name}`")))
    }

    /// The one of this name, as a number.
    pub(crate) fn number<N: FromStr>(&mut self, name: &str) -> Result<Option<N>, RequestRefusal> {
        let number = |text: String| {
            let wrong = || RequestRefusal::wrong(format!("understand `{name}`: `{text}` is no such number"));
            text.parse().map_err(|_| wrong())
        };
        self.take(name)?.map(number).transpose()
    }

    /// The one of this name as a choice by its word.
    pub(crate) fn choice<C: Choice>(&mut self, name: &str) -> Result<Option<C>, RequestRefusal> {
        let Some(text) = self.take(name)? else { return Ok(None) };
        C::of_word(&text)
            .map(Some)
            .ok_or_else(|| none_of(name, &text, C::CHOICES.iter().map(|&(_, word, _)| word)))
    }

    /// The one of this name as `0` or `1`.
    pub(crate) fn flag(&mut self, name: &str) -> Result<bool, RequestRefusal> {
        match self.take(name)?.as_deref() {
            None | Some("0") => Ok(false),
            Some("1") => Ok(true),
            Some(text) => Err(none_of(name, text, ["0", "1"].into_iter())),
        }
    }

    /// Nothing is left.
    pub(crate) fn end(self) -> Result<(), RequestRefusal> {
        match self.0.first() {
            None => Ok(()),
            Some((name, _)) => {
                Err(RequestRefusal::wrong(format!("understand the request: it takes no `{name}`")))
            }
        }
    }
}

fn none_of<'a>(name: &str, text: &str, words: impl Iterator<Item = &'a str>) -> RequestRefusal {
    let words: Vec<&str> = words.collect();
    RequestRefusal::wrong(format!("understand `{name}`: `{text}` is none of {}", words.join(", ")))
}
