//! Names that have to fit into a column, and names of procedures that are too long to read.
//!
//! ```text
//!   app::Index<std::string, long>::insert(std::string const&, long)      as it is called
//!   app::Index<…>::insert(…)                                             lists of arguments go first
//!   app::…::insert(…)    …::insert                                       then whole segments; never the method
//! ```
//! Where a name says at its end where the thing is, as in `inflate inflate.c:12`, that part gets up to half of the width. A
//! file without a line, as in `inflate (libz.so.1)` and `entry ledger.py`, stands whole or not at all.

/// Shortens a name to `width` characters.
pub(crate) fn shorten(name: &str, width: usize) -> String {
    if length(name) <= width {
        return name.to_owned();
    }
    if let Some((words, procedure)) = quoted(name)
        && length(words) + 2 < 2 * width / 3
    {
        return format!("{words}`{}`", shorten(procedure, width - length(words) - 2));
    }
    if let Some((place, object)) = for_what(name) {
        let room = width.saturating_sub(2);
        let for_object = length(object).min((room / 2).max(room.saturating_sub(length(place))));
        return format!("{}: {}", shorten(place, room - for_object), shorten(object, for_object));
    }
    if let Some((kind, procedure)) = of_kind(name) {
        return shorten_of_kind(kind, procedure, width);
    }
    if let Some((before, action)) = action(name) {
        // What it does goes before the name's own parts do.
        let room = width.saturating_sub(length(action));
        let before = without_module(before).filter(|_| length(before) > room).unwrap_or(before);
        let shortened = shorten_procedure(before, room);
        let listless = without_lists(before);
        let method = last_segment(listless.strip_suffix("(…)").unwrap_or(&listless));
        let fits = shortened.contains(method) && length(&shortened) <= room;
        return if fits { shortened + action } else { shorten(before, width) };
    }
    if let Some(head) = without_module(name) {
        let with_module = without_lists(head) + &name[head.len()..];
        return if length(&with_module) <= width { with_module } else { shorten(head, width) };
    }
    let Some((head, place)) = parts(name) else { return shorten_procedure(name, width) };
    let room = width.saturating_sub(1);
    let for_place = length(place).min((room / 2).max(room.saturating_sub(length(head))));
    format!("{} {}", shorten_procedure(head, room - for_place), without_middle(place, for_place))
}

/// Shortens a procedure's name to `width` characters: lists of arguments of functions and templates first, then segments
/// from the middle, and only a segment that is too long itself at its own middle.
pub(crate) fn shorten_procedure(name: &str, width: usize) -> String {
    if let Some((before, mark)) = of_instance(name) {
        // What tells instances apart is worth more than whose they are.
        let method = last_segment(&without_lists(before)).trim_end_matches("(…)").chars().count();
        let mark = without_middle(mark, (width / 2).max(width.saturating_sub(method)));
        return shorten_procedure(before, width.saturating_sub(length(&mark))) + &mark;
    }
    let without_lists = without_lists(name);
    let plain = without_lists.strip_suffix("(…)").unwrap_or(&without_lists);
    let fitting = [name, &without_lists].into_iter().find(|name| length(name) <= width);
    fitting
        .map(str::to_owned)
        .or_else(|| without_segments(&without_lists, width))
        .or_else(|| without_segments(plain, width))
        .unwrap_or_else(|| without_middle(last_segment(plain), width))
}

fn length(text: &str) -> usize {
    text.chars().count()
}

/// A name in a few words, at their end: `asleep in `await_item``.
fn quoted(name: &str) -> Option<(&str, &str)> {
    name.strip_suffix('`')?.rsplit_once('`').filter(|(words, _)| words.ends_with(' '))
}

/// Where a wait is, and what for: `Queue::pop queue.cpp:12: condition in Queue::pop`.
fn for_what(name: &str) -> Option<(&str, &str)> {
    name.split_once(": ").filter(|(_, object)| of_kind(object).is_some())
}

/// What kind of thing it is, and the procedure that it is known by: `condition in Queue::pop`.
fn of_kind(name: &str) -> Option<(&str, &str)> {
    let is_kind = |kind: &str| {
        !kind.is_empty() && kind.bytes().all(|byte| byte.is_ascii_lowercase() || b" -".contains(&byte))
    };
    name.split_once(" in ").filter(|(kind, procedure)| is_kind(kind) && !procedure.is_empty())
}

/// The kind tells such things apart that one procedure uses: it stays whole where anything of the name does.
fn shorten_of_kind(kind: &str, procedure: &str, width: usize) -> String {
    /// Characters of a name that say something, with ` in ` before it and without.
    const LEAST: [usize; 2] = [12, 5];
    let room = width.saturating_sub(length(kind));
    if room >= LEAST[0] + 4 {
        format!("{kind} in {}", shorten(procedure, room - 4))
    } else if room > LEAST[1] {
        let listless = without_lists(procedure);
        format!("{kind} {}", without_middle(last_segment(&listless), room - 1))
    } else {
        without_middle(kind, width)
    }
}

/// What a row's work is, behind its name: `, zeroing pages`.
fn action(name: &str) -> Option<(&str, &str)> {
    let at = name.rfind(", ")?;
    let words = &name[at + 2..];
    let is_words = !words.is_empty()
        && words.chars().all(|c| c.is_ascii_alphabetic() || " ()'".contains(c))
        && (words.contains("ing ") || words.ends_with("ing") || words.starts_with("in "));
    (is_words && depth_is_even(&name[..at])).then(|| name.split_at(at))
}

/// The name without the file that it is from: `inflate` of `inflate (libz.so.1)`.
fn without_module(name: &str) -> Option<&str> {
    parts(name).filter(|(_, place)| place.starts_with('(') || is_of_python(place)).map(|(head, _)| head)
}

fn is_of_python(file: &str) -> bool {
    file.ends_with(".py")
}

fn depth_is_even(text: &str) -> bool {
    text.matches(['(', '<']).count() == text.matches([')', '>']).count()
}

/// What tells an instance from others of its name, behind that: ` [with double,4]`.
fn of_instance(name: &str) -> Option<(&str, &str)> {
    let at = name.rfind(" [with ").filter(|_| name.ends_with(']'))?;
    Some(name.split_at(at))
}

/// What a thing is, and where.
fn parts(name: &str) -> Option<(&str, &str)> {
    if of_instance(name).is_some() {
        return None;
    }
    let (head, place) = match name.rfind(" (") {
        Some(at) if name.ends_with(')') => (&name[..at], &name[at + 1..]),
        _ => name.rsplit_once(' ')?,
    };
    let is_line =
        || place.rsplit_once(':').is_some_and(|(_, line)| line.bytes().all(|digit| digit.is_ascii_digit()));
    (place.ends_with(')') && place.starts_with('(')
        || place.ends_with(']')
        || place.starts_with('#')
        || is_of_python(place)
        || is_line())
    .then_some((head, place))
    .filter(|(head, _)| depth_is_even(&head.replace("->", "")) || !head.contains("::"))
}

/// The name with `<…>` and `(…)` in the place of lists of arguments. What stands in angle brackets at the begin is whose the
/// method is, and stays (`<app::Cache as Drop>::drop`).
pub(crate) fn without_lists(name: &str) -> String {
    let mut short = String::with_capacity(name.len());
    let mut closing: Vec<char> = Vec::new();
    let mut rest = name;
    while let Some(character) = rest.chars().next() {
        if closing.is_empty()
            && let Some(operator) = operator(&short, rest)
        {
            short.push_str(operator);
            rest = &rest[operator.len()..];
            continue;
        }
        rest = &rest[character.len_utf8()..];
        let is_open = closing.is_empty();
        match character {
            '<' if is_open && short.is_empty() => short.push('<'),
            '<' | '(' => {
                let is_list =
                    is_open && !rest.starts_with("anonymous namespace)") && !rest.starts_with(['*', '&']);
                if is_list {
                    short.push(character);
                    short.push_str(if rest.starts_with([')', '>']) { "" } else { "…" });
                }
                if is_list || !is_open {
                    closing.push(if character == '<' { '>' } else { ')' });
                } else {
                    short.push(character);
                }
            }
            _ if closing.last() == Some(&character)
                && !(character == '>' && previous_is_dash(name, rest)) =>
            {
                closing.pop();
                if closing.is_empty() {
                    short.push(character);
                }
            }
            _ if is_open => short.push(character),
            _ => {}
        }
    }
    short
}

/// The text of an operator that the rest begins with, where `operator` stands before it: its brackets are no list.
fn operator<'a>(before: &str, rest: &'a str) -> Option<&'a str> {
    let before = before.strip_suffix("operator")?;
    if before.ends_with(|c: char| c.is_alphanumeric() || c == '_') {
        return None;
    }
    let end = rest.find(|c| !"<>=!+-*/%&|^~,".contains(c)).unwrap_or(rest.len());
    match ["()", "[]"].iter().find(|name| rest.starts_with(**name)) {
        Some(_) => Some(&rest[..2]),
        None => (end > 0).then(|| &rest[..end]),
    }
}

/// Whether the character before the last one that was read is that of an arrow.
fn previous_is_dash(name: &str, rest: &str) -> bool {
    name[..name.len() - rest.len() - 1].ends_with('-')
}

/// Positions at which the segments of a name begin: behind `::`, and behind `/` and the first `.` of Go's names.
fn segments(name: &str) -> Vec<usize> {
    let mut begins = vec![0];
    let mut depth = 0_i32;
    for (at, character) in name.char_indices() {
        match character {
            '<' | '(' | '{' | '[' => depth += 1,
            '>' | ')' | '}' | ']' => depth -= 1,
            ':' if depth == 0 && name[..=at].ends_with("::") => begins.push(at + 1),
            '/' if depth == 0 => begins.push(at + 1),
            _ => {}
        }
    }
    begins
}

fn last_segment(name: &str) -> &str {
    let is_closure = |segment: &str| segment.starts_with('{');
    let begins = segments(name);
    // A closure is part of the procedure that it stands in.
    let named = begins.iter().rev().find(|&&at| !is_closure(&name[at..]));
    &name[named.copied().unwrap_or(0)..]
}

/// The first segments and the last one, as many as fit, or else the last ones; `None` where not even the last one fits.
fn without_segments(name: &str, width: usize) -> Option<String> {
    let begins = segments(name);
    let last = name.len() - last_segment(name).len();
    let (of_last, link) = (&name[last..], separator(name));
    let within = |from: usize, to: usize| begins.iter().copied().filter(move |&at| at > from && at < to);
    let with_head = within(0, last).map(|at| format!("{}…{link}{of_last}", &name[..at]));
    let fits = |short: &String| length(short) <= width;
    with_head.filter(fits).max_by_key(|short| length(short)).or_else(|| {
        let tails = within(0, last + 1).map(|at| format!("…{link}{}", &name[at..]));
        tails.chain([of_last.to_owned()]).filter(fits).max_by_key(|short| length(short))
    })
}

fn separator(name: &str) -> &'static str {
    if name.contains("::") { "::" } else { "/" }
}

/// Leaves the middle of a text out: the begin says whose it is, the end what it is.
pub(crate) fn without_middle(text: &str, width: usize) -> String {
    let length = length(text);
    if length <= width {
        return text.to_owned();
    }
    if width <= 1 {
        return "…".chars().take(width).collect();
    }
    // The end of a procedure's name tells more than its begin (`std::vec::Vec<…>::push`).
    let begin = (width - 1) / 3;
    let end = width - 1 - begin;
    text.chars().take(begin).chain(['…']).chain(text.chars().skip(length - end)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const INSERT: &str =
        "app::Index<std::__cxx11::basic_string<char>, long>::insert(std::string const&, long)";

    #[test]
    fn lists_of_arguments_go_before_the_method_does() {
        assert_eq!(shorten(INSERT, 30), "app::Index<…>::insert(…)");
        assert_eq!(shorten(INSERT, 20), "app::…::insert(…)");
        assert_eq!(shorten(INSERT, 14), "…::insert(…)");
        assert_eq!(shorten(INSERT, 12), "…::insert(…)");
        assert_eq!(shorten(INSERT, 10), "insert(…)");
        assert_eq!(shorten(INSERT, 6), "insert");
        assert_eq!(shorten("std::map<int, char>::insert", 16), "std::…::insert");
        for width in 6..100 {
            let short = shorten(INSERT, width);
            assert!(short.contains("insert") && length(&short) <= width, "{width}: {short}");
        }
    }

    #[test]
    fn the_kind_of_a_thing_is_the_last_that_goes() {
        let condition = "condition in Bounded<int>::pop(int&)";
        assert_eq!(shorten(condition, 34), "condition in Bounded<…>::pop(…)");
        assert_eq!(shorten(condition, 26), "condition in …::pop(…)");
        assert_eq!(shorten(condition, 18), "condition pop(…)");
        assert_eq!(shorten("mutex in Bounded<int>::pop(int&)", 18), "mutex pop(…)");
        assert_eq!(shorten(condition, 9), "condition");
        let wait = "Bounded<int>::pop(int&) bq.cpp:12: condition in Bounded<int>::pop(int&)";
        assert_eq!(shorten(wait, 40), "…::pop(…) bq.cpp:12: condition pop(…)");
        for width in 9..80 {
            let short = shorten(wait, width);
            assert!(length(&short) <= width && short.contains(':'), "{width}: {short}");
        }
        assert_eq!(shorten("asleep in `await_the_next_item`", 26), "asleep in `awai…next_item`");
    }

    #[test]
    fn operators_are_no_lists() {
        for (name, short) in [
            ("Stream::operator<<(std::ostream&, int)", "Stream::operator<<(…)"),
            ("Less<int>::operator()(int, int) const", "Less<…>::operator()(…) const"),
            ("Pointer<T>::operator->() const", "Pointer<…>::operator->() const"),
            ("(anonymous namespace)::Parser::next(char const*)", "(anonymous namespace)::Parser::next(…)"),
        ] {
            assert_eq!(without_lists(name), short);
        }
    }

    #[test]
    fn names_of_rust_and_go_are_cut_between_segments() {
        let closure = "app::server::Connection<T>::serve::{closure}";
        assert_eq!(shorten(closure, 40), "app::server::…::serve::{closure}");
        assert_eq!(shorten(closure, 30), "app::…::serve::{closure}");
        assert_eq!(shorten("<app::cache::Table as core::ops::Drop>::drop", 20), "…::drop");
        assert_eq!(shorten("github.com/user/project/codec.(*Writer).Flush", 24), "…/codec.(*Writer).Flush");
    }

    #[test]
    fn what_a_name_does_stays_where_there_is_room() {
        let name = format!("{INSERT}, allocating memory");
        assert_eq!(shorten(&name, 44), "app::Index<…>::insert(…), allocating memory");
        assert_eq!(shorten(&name, 24), "app::Index<…>::insert(…)");
        assert_eq!(shorten("encode_frame, zeroing pages", 27), "encode_frame, zeroing pages");
        assert_eq!(shorten("encode_frame, zeroing pages", 20), "encode_frame");
    }

    #[test]
    fn what_tells_instances_apart_stays() {
        let name = format!("{INSERT} [with basic_string]");
        assert_eq!(shorten(&name, 60), "app::Index<…>::insert(…) [with basic_string]");
        assert_eq!(shorten(&name, 32), "…::insert(…) [with basic_string]");
        assert_eq!(shorten(&name, 24), "insert [wit…asic_string]");
        let of_library = format!("{name} (libx.so)");
        assert_eq!(shorten(&of_library, 60), "app::Index<…>::insert(…) [with basic_string] (libx.so)");
        assert_eq!(shorten(&of_library, 50), "app::Index<…>::insert(…) [with basic_string]");
    }

    #[test]
    fn words_around_a_name_are_not_cut() {
        let name = "polling sleeps in `wait_for_item(int)`";
        assert_eq!(shorten(name, 38), name);
        assert_eq!(shorten(name, 36), "polling sleeps in `wait_for_item(…)`");
        assert_eq!(shorten(name, 34), "polling sleeps in `wait_for_item`");
    }

    #[test]
    fn long_names_lose_their_middle() {
        assert_eq!(shorten("abcdefghij", 10), "abcdefghij");
        assert_eq!(shorten("abcdefghij", 7), "ab…ghij");
        assert_eq!(shorten("naïve::größe", 5), "größe");
        assert_eq!(shorten("abc", 1), "…");
        assert_eq!(shorten("abc", 0), "");
    }

    #[test]
    fn the_place_of_a_thing_gets_its_part_of_a_short_name() {
        assert_eq!(shorten("_dl_lookup_symbol_x (ld-linux-x86-64.so.2)", 28), "_dl_lookup_symbol_x");
        let in_python = "do_call_core (libpython3.11.so.1.0), in the Python interpreter";
        assert_eq!(shorten(in_python, 40), "do_call_core, in the Python interpreter");
        assert_eq!(shorten("a_rather_long_procedure main.c:18", 22), "a_r…rocedure main.c:18");
        assert_eq!(shorten("semaphore in entry python_digests.py", 30), "semaphore in entry");
        assert_eq!(
            shorten("Ledger.enter ledger.py, in an extension module", 36),
            "Ledger.enter, in an extension module"
        );
        for width in 0..40 {
            assert!(length(&shorten("a_rather_long_procedure (module.so)", width)) <= width.max(1));
        }
    }
}
