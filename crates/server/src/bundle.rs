//! The page as one file: styles and modules written into it, and answers beside them.
//!
//! A module cannot be asked for from a file, so each becomes an entry of an import map, under a name of its own that the
//! others import it by:
//!
//! ```text
//!   views/tree.js:  import { table } from '../widgets/table.js'   →   import { table } from 'page/widgets/table.js'
//!   import map:     "page/widgets/table.js": "data:text/javascript;base64,…"
//! ```
//! The policy lets run only what carries the file's own mark; what is written into the answers is never read as a
//! document, for it is compressed.

use std::fmt::Write;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use crate::assets::{asset, names};
use crate::error::{Error, Result};
use crate::token::Token;

/// What stands before a module's name.
const PAGE: &str = "page/";

/// The page with these answers, compressed by gzip.
pub(crate) fn bundled(answers: &[u8]) -> Result<String> {
    let mark = Token::random()?;
    let mark = mark.text();
    let index = text_of("index.html").ok_or(Error::Page { what: "index.html" })?;
    let page = with_styles(&index, mark)?;
    let policy = format!(
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; script-src 'nonce-{mark}'; \
         style-src 'nonce-{mark}'; img-src data:; font-src data:; base-uri 'none'; form-action 'none'\">"
    );
    let start = format!(
        "<script type=\"importmap\" nonce=\"{mark}\">{}</script>\n  \
         <script type=\"module\" nonce=\"{mark}\">import '{PAGE}main.js';</script>",
        import_map()
    );
    let block = format!(
        "<script type=\"application/octet-stream\" id=\"answers\">{}</script>\n</body>",
        STANDARD.encode(answers)
    );
    let page = replaced(&page, "<meta charset=\"utf-8\">", &format!("<meta charset=\"utf-8\">\n  {policy}"))?;
    let page = replaced(&page, "<script type=\"module\" src=\"main.js\"></script>", &start)?;
    replaced(&page, "</body>", &block)
}

/// The text with one part of it, which has to be there, replaced.
fn replaced(text: &str, part: &'static str, by: &str) -> Result<String> {
    let (before, after) = text.split_once(part).ok_or(Error::Page { what: part })?;
    Ok([before, by, after].concat())
}

/// Style sheets become part of the page, in their order.
fn with_styles(index: &str, mark: &str) -> Result<String> {
    let mut page = String::new();
    for line in index.lines() {
        match line.trim().strip_prefix("<link rel=\"stylesheet\" href=\"") {
            Some(rest) => {
                let name = rest.trim_end_matches("\">");
                let style = style(name).ok_or(Error::Page { what: "a style sheet" })?;
                let _ = writeln!(page, "  <style nonce=\"{mark}\">\n{style}</style>");
            }
            None => {
                let _ = writeln!(page, "{line}");
            }
        }
    }
    Ok(page)
}

/// A style sheet with those that it imports in their places.
fn style(name: &str) -> Option<String> {
    let mut whole = String::new();
    for line in text_of(name)?.lines() {
        match line.strip_prefix("@import url(\"").and_then(|rest| rest.strip_suffix("\");")) {
            Some(imported) => whole.push_str(&style(&resolved(name, imported)?)?),
            None => {
                let _ = writeln!(whole, "{line}");
            }
        }
    }
    (!whole.contains("</style")).then_some(whole)
}

/// The import map of all modules.
fn import_map() -> String {
    let modules = names().filter(|name| name.ends_with(".js")).filter_map(|name| {
        let module = with_names(&name, &text_of(&name)?);
        let address = format!("data:text/javascript;charset=utf-8;base64,{}", STANDARD.encode(module));
        Some((format!("{PAGE}{name}"), serde_json::Value::from(address)))
    });
    serde_json::json!({ "imports": modules.collect::<serde_json::Map<_, _>>() }).to_string()
}

/// A module that imports the others by their names.
fn with_names(module: &str, text: &str) -> String {
    let mut whole = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((begin, quote)) = next_import(rest) {
        let (before, after) = rest.split_at(begin);
        whole.push_str(before);
        let end = after.find(quote).unwrap_or(after.len());
        let (imported, after) = after.split_at(end);
        match resolved(module, imported).filter(|name| asset(name).is_some()) {
            Some(name) => whole.extend([PAGE, name.as_str()]),
            None => whole.push_str(imported),
        }
        rest = after;
    }
    whole + rest
}

/// Where the next imported name begins, and the quote that ends it.
fn next_import(text: &str) -> Option<(usize, char)> {
    let begins = ["from '.", "from \".", "import '.", "import \".", "import('.", "import(\"."];
    let found = begins.iter().filter_map(|begin| Some((text.find(begin)? + begin.len() - 1, begin)));
    let (place, begin) = found.min_by_key(|&(place, _)| place)?;
    Some((place, if begin.contains('"') { '"' } else { '\'' }))
}

/// The name of the file that `relative` means in `base`.
fn resolved(base: &str, relative: &str) -> Option<String> {
    let mut parts: Vec<&str> = base.split('/').collect();
    parts.pop();
    for part in relative.split('/') {
        match part {
            "." | "" => {}
            ".." => _ = parts.pop()?,
            part => parts.push(part),
        }
    }
    Some(parts.join("/"))
}

fn text_of(name: &str) -> Option<String> {
    String::from_utf8(asset(name)?.bytes.into_owned()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn imports_are_named() {
        let text = "import { ask } from '../api.js';\nimport './main.js'; import x from \"../nowhere.js\";\n\
            /** @type {import('../main.js').View} */ const a = 'from here.';";
        assert_eq!(
            with_names("views/tree.js", text),
            "import { ask } from 'page/api.js';\nimport './main.js'; import x from \"../nowhere.js\";\n\
            /** @type {import('page/main.js').View} */ const a = 'from here.';"
        );
    }

    #[test]
    fn every_module_of_the_page_finds_those_that_it_imports() {
        for name in names().filter(|name| name.ends_with(".js")) {
            let module = with_names(&name, &text_of(&name).unwrap());
            let left = module.lines().find(|line| {
                let is_import =
                    line.starts_with("import ") || line.starts_with("export ") || line.starts_with("} from");
                is_import && (line.contains("from '.") || line.contains("from \"."))
            });
            assert_eq!(left, None, "{name}");
        }
    }

    #[test]
    fn the_file_needs_nothing_beside_itself() {
        let page = bundled(b"answers").unwrap();
        for beside in ["src=\"", "href=\"style", "@import", "url(\"", "http://", "https://"] {
            let found = page.find(beside);
            assert_eq!(found.map(|place| &page[place..(place + 60).min(page.len())]), None);
        }
        let block = format!(
            "<script type=\"application/octet-stream\" id=\"answers\">{}</script>",
            STANDARD.encode("answers")
        );
        assert_eq!(page.matches(&block).count(), 1);
        assert_eq!(page.matches("<style nonce=").count(), page.matches("</style>").count());
    }

    #[test]
    fn names_are_resolved_from_the_file_they_stand_in() {
        assert_eq!(resolved("views/path/controls.js", "../../model/a.js").as_deref(), Some("model/a.js"));
        assert_eq!(resolved("main.js", "./api.js").as_deref(), Some("api.js"));
        assert_eq!(resolved("main.js", "../api.js"), None);
    }
}
