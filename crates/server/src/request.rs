//! The requests that there are, read from a path and a query.

use longpole_answer::{CurveRequest, Question, Seconds, TimeRange, WhatIfQuestion, WindowQuestion};
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

/// What a row is, by its word; the first is the default.
pub(crate) const BY: [(&str, By); 6] = [
    ("procedure", By::Procedure),
    ("line", By::Line),
    ("thread", By::Thread),
    ("process", By::Process),
    ("machine", By::Machine),
    ("object", By::Object),
];
const SORT: [(&str, Sort); 2] = [("self", Sort::Own), ("inclusive", Sort::Inclusive)];
/// What is folded; the first is the view's own way.
const FOLD: [(&str, Option<Fold>); 4] = [
    ("default", None),
    ("none", Some(Fold::None)),
    ("kernel", Some(Fold::Kernel)),
    ("libraries", Some(Fold::Libraries)),
];
const WEIGHTS: [(&str, Weight); 2] = [("cpu", Weight::Cpu), ("elapsed", Weight::Elapsed)];
const IO: [(&str, bool); 2] = [("busy", false), ("idle", true)];
const ORDERS: [(&str, Order); 2] = [("busy", Order::Busy), ("recorded", Order::Recorded)];
const FLAG: [(&str, bool); 2] = [("0", false), ("1", true)];

impl Request {
    /// The request of this name, the last part of its path, with the parameters of its query.
    pub(crate) fn parse(name: &str, query: &str) -> Result<Request, RequestRefusal> {
        let mut parameters = Parameters::of(query);
        let request = match name {
            "recording" => Request::Recording,
            "help" => Request::Help,
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
                let fold =
                    unless_first(&FOLD, Some(supposition.fold).filter(|&fold| fold != Fold::default()));
                let order = unless_first(&ORDERS, supposition.order);
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
        by: parameters.choice("by", &BY)?,
        sort: parameters.choice("sort", &SORT)?,
        fold: parameters.choice("fold", &FOLD)?,
        weight: parameters.choice("weight", &WEIGHTS)?,
        io_idle: parameters.choice("io", &IO)?,
        order: parameters.choice("order", &ORDERS)?,
        all: parameters.choice("all", &FLAG)?,
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
    let fold = parameters.choice("fold", &FOLD)?.unwrap_or_default();
    let order = parameters.choice("order", &ORDERS)?;
    Ok(Request::WhatIf(WhatIfQuestion { changes, phase, fold, order, top }))
}

fn timeline(parameters: &mut Parameters) -> Result<Request, RequestRefusal> {
    Ok(Request::Timeline(WindowQuestion {
        stretch: stretch(parameters)?,
        bins: bins(parameters)?,
        first: parameters.number("first")?.unwrap_or(0),
        count: parameters.number("count")?,
        weight: parameters.choice("weight", &WEIGHTS)?,
        io_idle: parameters.choice("io", &IO)?,
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
        io_idle: parameters.choice("io", &IO)?,
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
            ("weight", unless_first(&WEIGHTS, question.weight)),
            ("io", if question.io_idle { "idle" } else { "" }),
        ],
    )
}

fn curve_key(course: &CurveRequest) -> RequestKey {
    let (from, to) = ends(course.stretch);
    let bins = course.bins.to_string();
    let io = if course.io_idle { "idle" } else { "" };
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
    let flag = |is_set: bool, word| if is_set { word } else { "" };
    let mut parameters = vec![
        ("view", view.name()),
        ("phase", question.phase.as_deref().unwrap_or_default()),
        ("of", question.of.as_deref().unwrap_or_default()),
        ("by", unless_first(&BY, question.by)),
        ("sort", unless_first(&SORT, question.sort)),
        ("fold", unless_first(&FOLD, question.fold)),
        ("weight", unless_first(&WEIGHTS, question.weight)),
        ("io", flag(question.io_idle, "idle")),
        ("order", unless_first(&ORDERS, question.order)),
        ("all", flag(question.all, "1")),
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

/// The choice's word; empty for the default.
fn unless_first<V: Copy + PartialEq>(choices: &[(&'static str, V)], choice: V) -> &'static str {
    let place = choices.iter().position(|&(_, value)| value == choice).filter(|&place| place > 0);
    place.map_or("", |place| choices[place].0)
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
