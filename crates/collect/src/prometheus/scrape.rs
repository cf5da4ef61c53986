//! One scrape: the page is asked for, and read as it comes.

use std::io::Read;
use std::time::Duration;

use longpole_event::{SeriesKind, Time};
use ureq::Agent;
use ureq::http::StatusCode;

use crate::clock;
use crate::exposition::{Exposition, Faults};
use crate::lines::ParsedItem;

/// Bytes of a page.
const MOST_BYTES: u64 = 64 << 20;
/// What is asked for: the plain format first.
const ACCEPT: &str = "text/plain;version=0.0.4, application/openmetrics-text;version=1.0.0;q=0.5, */*;q=0.1";

/// What a scrape gave.
#[derive(Debug, Default)]
pub(super) struct ScrapedPage {
    pub(super) values: Vec<ScrapedValue>,
    pub(super) troubles: Vec<String>,
    /// It is the one at the end.
    pub(super) is_last: bool,
}

/// A value, on its way to the collection's thread.
#[derive(Debug)]
pub(super) struct ScrapedValue {
    pub(super) metric: String,
    pub(super) unit: String,
    pub(super) samples: SeriesKind,
    pub(super) label: String,
    pub(super) time: Time,
    pub(super) value: f64,
}

/// Asks one target.
#[derive(Debug)]
pub(super) struct Scraper {
    agent: Agent,
    url: String,
    faults: Faults,
}

impl Scraper {
    /// Of the target at this address; the error is what is wrong with it.
    pub(super) fn new(url: &str) -> Result<Scraper, String> {
        let url = address(url)?;
        let config = Agent::config_builder()
            .http_status_as_error(false)
            .max_redirects(3)
            // An exporter is near; a proxy is meant for the world outside.
            .proxy(None)
            .user_agent("longpole");
        Ok(Scraper { agent: config.build().new_agent(), url, faults: Faults::default() })
    }

    /// The page as it is now.
    pub(super) fn scrape(&mut self, timeout: Duration) -> ScrapedPage {
        let mut page = ScrapedPage::default();
        if let Err(what) = self.read(timeout, &mut page) {
            page.troubles.push(what);
        }
        page
    }

    fn read(&mut self, timeout: Duration, page: &mut ScrapedPage) -> Result<(), String> {
        let request = self.agent.get(&self.url).header("Accept", ACCEPT);
        let answer = request.config().timeout_global(Some(timeout)).build().call();
        let mut answer = answer.map_err(describe)?;
        let moment = clock::moment();
        if answer.status() != StatusCode::OK {
            return Err(format!("the target answered with status {}", answer.status()));
        }
        let kind = answer.body().mime_type().unwrap_or("text/plain").to_owned();
        let is_openmetrics = kind == "application/openmetrics-text";
        if kind != "text/plain" && !is_openmetrics {
            return Err(format!("the target's page is {kind}, not the text exposition format"));
        }
        let mut exposition = Exposition::new(is_openmetrics, &mut self.faults);
        let mut body = answer.body_mut().with_config().limit(MOST_BYTES).reader();
        let mut buffer = vec![0; 65_536];
        loop {
            let count = body.read(&mut buffer).map_err(|error| describe(error.into()))?;
            if count == 0 {
                exposition.end(moment, &mut |taken| page.take(taken));
                return Ok(());
            }
            if !exposition.take(&buffer[..count], moment, &mut |taken| page.take(taken)) {
                return Ok(());
            }
        }
    }
}

impl ScrapedPage {
    fn take(&mut self, taken: ParsedItem<'_>) {
        match taken {
            ParsedItem::Value { key, time, value } => self.values.push(ScrapedValue {
                metric: key.metric.to_owned(),
                unit: key.unit.to_owned(),
                samples: key.samples,
                label: key.label.to_owned(),
                time,
                value,
            }),
            ParsedItem::Trouble(what) => self.troubles.push(what.to_owned()),
        }
    }
}

/// The whole address: `http://` and `/metrics` may be left out.
fn address(url: &str) -> Result<String, String> {
    let rest = match url.split_once("://") {
        Some(("http", rest)) => rest,
        None => url,
        Some((scheme, _)) => {
            return Err(format!("it cannot be scraped by {scheme}: only plain http is spoken"));
        }
    };
    let path = if rest.contains('/') { "" } else { "/metrics" };
    Ok(format!("http://{rest}{path}"))
}

fn describe(error: ureq::Error) -> String {
    match error {
        ureq::Error::Timeout(_) => "the target did not answer in time".to_owned(),
        ureq::Error::Io(error) => format!("the target could not be read: {error}"),
        ureq::Error::BodyExceedsLimit(_) => "a page of more than 64 MiB: the rest was left out".to_owned(),
        error => format!("the target could not be read: {error}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_completed() {
        let of = |text: &str| address(text).unwrap();
        assert_eq!(of("localhost:9100"), "http://localhost:9100/metrics");
        assert_eq!(of("http://[::1]:9100"), "http://[::1]:9100/metrics");
        assert_eq!(of("http://a/"), "http://a/");
        assert_eq!(of("http://a/federate?x=y"), "http://a/federate?x=y");
        assert!(address("https://a/").unwrap_err().contains("only plain http"));
    }
}
