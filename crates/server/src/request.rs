//! The requests that there are, read from a path and a query.

use longpole_answer::{
    Choice, CurveRequest, DeviceWaits, Question, Seconds, TimeRange, WhatIfQuestion, WindowQuestion,
};
use longpole_metrics::{By, Order, Weight};
use longpole_report::{Fold, Sort, View};

use crate::address::{RequestKey, key_of};
use crate::parameters::Parameters;
use crate::refusal::RequestRefusal;

/// A request, understood.
#[derive(Clone, Debug)]
pub(crate) enum Request {
    /// What was recorded, without any analysis.
    Recording,
    /// What a view says.
    Report(View, Question),
    /// What changed from the recording that this one is compared with.
    Diff,
    /// What would become of the run.
    WhatIf(WhatIfQuestion),
    /// What threads do in each bin of a window.
    Timeline(WindowQuestion),
    /// Who let whom go on.
    Wakes(TimeRange),
    /// What a thread does at a time.
    Moment(u32, Seconds),
    /// A metric over time.
    Curve(CurveRequest),
    /// A source file.
    Source(String),
    /// Every metric that has curves, those from outside and those defined with it.
    Metrics(Vec<String>),
    /// What every word and number means.
    Help,
}

impl Request {
    /// The request of this name, the last part of its path, with the parameters of its query.
    pub(crate) fn parse(name: &str, query: &str) -> Result<Request, RequestRefusal> {
        let mut parameters = Parameters::of(query);
        let request = match name {
            "recording" => Request::Recording,
            "help" => Request::Help,
            "diff" => Request::Diff,
            "metrics" => Request::Metrics(parameters.take_all("define")),
            "report" => report(&mut parameters)?,
            "what-if" => what_if(&mut parameters)?,
            "timeline" => timeline(&mut parameters)?,
            "wakes" => Request::Wakes(stretch(&mut parameters)?),
            "moment" => moment(&mut parameters)?,
            "curve" => curve(&mut parameters)?,
            "source" => Request::Source(parameters.need("file")?),
            _ => return Err(RequestRefusal::missing(format!("answer `{name}`: there is no such request"))),
        };
        parameters.end()?;
        Ok(request)
    }

    /// The request's key.
    pub(crate) fn key(&self) -> RequestKey {
        match self {
            Request::Recording => key_of("recording", &[]),
            Request::Help => key_of("help", &[]),
            Request::Diff => key_of("diff", &[]),
            Request::Metrics(define) => {
                let parameters: Vec<_> = define.iter().map(|define| ("define", define.as_str())).collect();
                key_of("metrics", &parameters)
            }
            Request::Source(file) => key_of("source", &[("file", file)]),
            Request::Timeline(question) => timeline_key(question),
            Request::Wakes(stretch) => {
                let (from, to) = ends(*stretch);
                key_of("wakes", &[("from", &from), ("to", &to)])
            }
            Request::Moment(thread, time) => {
                let (thread, time) = (thread.to_string(), time.value().to_string());
                key_of("moment", &[("thread", &thread), ("time", &time)])
            }
            Request::Curve(course) => curve_key(course),
            Request::Report(view, question) => report_key(*view, question),
            Request::WhatIf(supposition) => {
                let top = number(supposition.top);
                let phase = supposition.phase.as_deref().unwrap_or_default();
                let fold = unless(Fold::default(), supposition.fold);
                let order = unless(Order::default(), supposition.order);
                let mut parameters =
                    vec![("phase", phase), ("fold", fold), ("order", order), ("top", top.as_str())];
                parameters.extend(supposition.changes.iter().map(|change| ("set", change.as_str())));
                key_of("what-if", &parameters)
            }
        }
    }
}

fn report(parameters: &mut Parameters) -> Result<Request, RequestRefusal> {
    let name = parameters.need("view")?;
    let view = name.parse().map_err(longpole_answer::Error::from)?;
    let question = Question {
        phase: parameters.take("phase")?,
        of: parameters.take("of")?,
        by: parameters.choice("by")?.unwrap_or_default(),
        sort: parameters.choice("sort")?.unwrap_or_default(),
        fold: parameters.choice("fold")?,
        weight: parameters.choice("weight")?.unwrap_or(Weight::Cpu),
        io: parameters.choice("io")?.unwrap_or_default(),
        order: parameters.choice("order")?.unwrap_or_default(),
        all: parameters.flag("all")?,
        explain: parameters.number("explain")?,
        top: parameters.number("top")?,
        define: parameters.take_all("define"),
        metrics: parameters.take_all("metric"),
        communication: longpole_answer::CommunicationOptions::default(),
    };
    Ok(Request::Report(view, question))
}

fn what_if(parameters: &mut Parameters) -> Result<Request, RequestRefusal> {
    let changes = parameters.take_all("set");
    if changes.is_empty() {
        let example = "as in `set=procedure:NAME=0.5`";
        return Err(RequestRefusal::wrong(format!("understand the request: it needs a change, {example}")));
    }
    let (phase, top) = (parameters.take("phase")?, parameters.number("top")?);
    let fold = parameters.choice("fold")?.unwrap_or_default();
    let order = parameters.choice("order")?.unwrap_or_default();
    Ok(Request::WhatIf(WhatIfQuestion { changes, phase, fold, order, top }))
}

fn timeline(parameters: &mut Parameters) -> Result<Request, RequestRefusal> {
    Ok(Request::Timeline(WindowQuestion {
        stretch: stretch(parameters)?,
        bins: bins(parameters)?,
        first: parameters.number("first")?.unwrap_or(0),
        count: parameters.number("count")?,
        weight: parameters.choice("weight")?.unwrap_or(Weight::Cpu),
        io: parameters.choice("io")?.unwrap_or_default(),
    }))
}

fn moment(parameters: &mut Parameters) -> Result<Request, RequestRefusal> {
    let missing = |name| RequestRefusal::wrong(format!("understand the request: it needs `{name}`"));
    let thread = parameters.number("thread")?.ok_or_else(|| missing("thread"))?;
    let time = time(parameters, "time")?.ok_or_else(|| missing("time"))?;
    Ok(Request::Moment(thread, time))
}

fn curve(parameters: &mut Parameters) -> Result<Request, RequestRefusal> {
    Ok(Request::Curve(CurveRequest {
        metric: parameters.need("metric")?,
        node: parameters.need("node")?,
        stretch: stretch(parameters)?,
        bins: bins(parameters)?,
        io: parameters.choice("io")?.unwrap_or_default(),
        define: parameters.take_all("define"),
    }))
}

fn time(parameters: &mut Parameters, name: &str) -> Result<Option<Seconds>, RequestRefusal> {
    let Some(seconds) = parameters.number(name)? else { return Ok(None) };
    let wrong = || RequestRefusal::wrong(format!("understand `{name}`: {seconds} is no time of the run"));
    Seconds::new(seconds).map(Some).ok_or_else(wrong)
}

fn bins(parameters: &mut Parameters) -> Result<u32, RequestRefusal> {
    let missing = || RequestRefusal::wrong("understand the request: it needs `bins`");
    parameters.number("bins")?.filter(|&bins| bins > 0).ok_or_else(missing)
}

fn stretch(parameters: &mut Parameters) -> Result<TimeRange, RequestRefusal> {
    let stretch = TimeRange { from: time(parameters, "from")?, to: time(parameters, "to")? };
    match (stretch.from, stretch.to) {
        (from, Some(to)) if from.is_some_and(|from| from >= to) || to.value() == 0.0 => {
            Err(RequestRefusal::wrong("understand the request: `from` is not before `to`"))
        }
        _ => Ok(stretch),
    }
}

fn timeline_key(question: &WindowQuestion) -> RequestKey {
    let (from, to) = ends(question.stretch);
    let (bins, first) = (question.bins.to_string(), number(Some(question.first).filter(|&first| first > 0)));
    let count = number(question.count);
    key_of(
        "timeline",
        &[
            ("from", &from),
            ("to", &to),
            ("bins", &bins),
            ("first", &first),
            ("count", &count),
            ("weight", unless(Weight::Cpu, question.weight)),
            ("io", unless(DeviceWaits::default(), question.io)),
        ],
    )
}

fn curve_key(course: &CurveRequest) -> RequestKey {
    let (from, to) = ends(course.stretch);
    let bins = course.bins.to_string();
    let io = unless(DeviceWaits::default(), course.io);
    let (metric, node) = (course.metric.as_str(), course.node.as_str());
    let mut parameters =
        vec![("metric", metric), ("node", node), ("bins", &bins), ("from", &from), ("to", &to), ("io", io)];
    parameters.extend(course.define.iter().map(|define| ("define", define.as_str())));
    key_of("curve", &parameters)
}

/// Begin and end as they stand in keys.
fn ends(stretch: TimeRange) -> (String, String) {
    let text = |end: Option<Seconds>| end.map_or(String::new(), |end| end.value().to_string());
    (text(stretch.from), text(stretch.to))
}

fn report_key(view: View, question: &Question) -> RequestKey {
    let (explain, top) = (number(question.explain), number(question.top));
    let mut parameters = vec![
        ("view", view.name()),
        ("phase", question.phase.as_deref().unwrap_or_default()),
        ("of", question.of.as_deref().unwrap_or_default()),
        ("by", unless(By::default(), question.by)),
        ("sort", unless(Sort::default(), question.sort)),
        ("fold", question.fold.map_or("", Choice::word)),
        ("weight", unless(Weight::Cpu, question.weight)),
        ("io", unless(DeviceWaits::default(), question.io)),
        ("order", unless(Order::default(), question.order)),
        ("all", if question.all { "1" } else { "" }),
        ("explain", &explain),
        ("top", &top),
    ];
    parameters.extend(question.define.iter().map(|define| ("define", define.as_str())));
    parameters.extend(question.metrics.iter().map(|metric| ("metric", metric.as_str())));
    key_of("report", &parameters)
}

fn number(number: Option<usize>) -> String {
    number.map_or(String::new(), |number| number.to_string())
}

/// The choice's word; empty for the usual one.
fn unless<C: Choice>(usual: C, choice: C) -> &'static str {
    if choice == usual { "" } else { choice.word() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(name: &str, query: &str) -> String {
        Request::parse(name, query).unwrap().key().text().to_owned()
    }

    fn refused(name: &str, query: &str) -> String {
        Request::parse(name, query).unwrap_err().what
    }

    #[test]
    fn equal_questions_have_equal_keys() {
        assert_eq!(key("report", "view=npt"), "report?view=npt");
        let long = "weight=cpu&io=busy&all=0&by=procedure&of=&phase=&view=npt";
        assert_eq!(key("report", long), "report?view=npt");
        let all = "view=waits&by=line&phase=1s..2s&weight=elapsed&io=idle&all=1&explain=3&top=5&of=a+b";
        let sorted =
            "report?all=1&by=line&explain=3&io=idle&of=a%20b&phase=1s..2s&top=5&view=waits&weight=elapsed";
        assert_eq!(key("report", all), sorted);
        assert_eq!(key("what-if", "set=a%3D0&set=b%3D0.5"), "what-if?set=a%3D0&set=b%3D0.5");
        assert_eq!(key("source", "file=%2Fa%2Fb.c"), "source?file=%2Fa%2Fb.c");
    }

    #[test]
    fn windows_have_keys_too() {
        assert_eq!(key("timeline", "bins=100&first=0"), "timeline?bins=100");
        let all = "to=2.50&from=0.125&bins=100&first=64&count=64&weight=elapsed&io=idle";
        assert_eq!(
            key("timeline", all),
            "timeline?bins=100&count=64&first=64&from=0.125&io=idle&to=2.5&weight=elapsed"
        );
        assert_eq!(key("wakes", "from=1&to=2"), "wakes?from=1&to=2");
        assert_eq!(key("moment", "time=1.50&thread=3"), "moment?thread=3&time=1.5");
        assert_eq!(
            key("curve", "node=program&metric=cpu_seconds&bins=9"),
            "curve?bins=9&metric=cpu_seconds&node=program"
        );
    }

    #[test]
    fn a_key_asks_the_same_question_again() {
        for query in
            ["all=1&by=thread&view=waits&phase=load%20%C3%A4..", "view=objects&of=object%3Aa%26b%3Dc%25"]
        {
            let once = key("report", query);
            assert_eq!(key("report", once.split_once('?').unwrap().1), once);
        }
    }

    #[test]
    fn what_makes_no_sense_is_told() {
        assert!(refused("report", "").contains("needs `view`"));
        assert!(refused("report", "view=nptt").contains("`nptt`"));
        assert!(refused("report", "view=npt&by=lock").contains("none of procedure, line"));
        assert!(refused("report", "view=npt&explain=x").contains("`x`"));
        assert!(refused("report", "view=npt&view=waits").contains("more than once"));
        assert!(refused("report", "view=npt&sort=x").contains("none of self, inclusive"));
        assert!(refused("report", "view=npt&nonsense=x").contains("no `nonsense`"));
        assert!(refused("what-if", "").contains("needs a change"));
        assert!(refused("timeline", "").contains("needs `bins`"));
        assert!(refused("timeline", "bins=0").contains("needs `bins`"));
        assert!(refused("timeline", "bins=-1").contains("`-1`"));
        for times in ["from=-1", "from=NaN", "to=inf", "from=2&to=2", "from=3&to=2", "to=0"] {
            assert!(refused("wakes", times).contains("understand"), "{times}");
        }
        assert!(refused("moment", "time=1").contains("needs `thread`"));
        assert!(refused("moment", "thread=1&time=x").contains("`x`"));
        assert!(refused("curve", "node=program&bins=1").contains("needs `metric`"));
        assert!(refused("nothing", "").contains("`nothing`"));
        assert!(refused("recording", "x=1").contains("no `x`"));
    }
}
