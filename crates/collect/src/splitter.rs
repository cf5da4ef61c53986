//! Bytes that come in pieces, cut into lines of a bounded length.

/// Cuts bytes into lines.
#[derive(Debug)]
pub(crate) struct Splitter {
    most: usize,
    /// The begin of a line whose end has not come yet.
    partial: Vec<u8>,
    /// The line is too long already: the rest of it is passed over.
    passing: bool,
}

/// What was cut off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SplitLine<'a> {
    /// A whole line, without its end.
    Line(&'a [u8]),
    /// The begin of a line that is too long.
    TooLong(&'a [u8]),
}

impl Splitter {
    /// Cuts lines of at most so many bytes.
    pub(crate) fn new(most: usize) -> Splitter {
        Splitter { most, partial: Vec::new(), passing: false }
    }

    /// Takes the bytes that came.
    pub(crate) fn take(&mut self, bytes: &[u8], each: &mut dyn FnMut(SplitLine<'_>)) {
        let mut rest = bytes;
        while let Some(end) = rest.iter().position(|&byte| byte == b'\n') {
            let line = &rest[..end];
            rest = &rest[end + 1..];
            if self.passing {
                self.passing = false;
            } else if !self.partial.is_empty() {
                self.keep(line, each);
                self.passing = false;
                self.end(each);
            } else if line.len() > self.most {
                each(SplitLine::TooLong(line));
            } else {
                each(SplitLine::Line(line));
            }
        }
        self.keep(rest, each);
    }

    /// Nothing more comes: a last line without an end of line is one.
    pub(crate) fn end(&mut self, each: &mut dyn FnMut(SplitLine<'_>)) {
        if !self.partial.is_empty() {
            each(SplitLine::Line(&self.partial));
            self.partial.clear();
        }
    }

    /// Keeps a part of a line until its end comes.
    fn keep(&mut self, part: &[u8], each: &mut dyn FnMut(SplitLine<'_>)) {
        if self.passing {
            return;
        }
        self.partial.extend_from_slice(&part[..part.len().min(self.most + 1)]);
        if self.partial.len() > self.most {
            each(SplitLine::TooLong(&self.partial));
            self.partial.clear();
            self.passing = true;
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn cut(pieces: &[&[u8]], most: usize) -> Vec<Option<Vec<u8>>> {
        let mut splitter = Splitter::new(most);
        let mut found = Vec::new();
        let mut each = |cut: SplitLine<'_>| match cut {
            SplitLine::Line(line) => found.push(Some(line.to_vec())),
            SplitLine::TooLong(_) => found.push(None),
        };
        pieces.iter().for_each(|piece| splitter.take(piece, &mut each));
        splitter.end(&mut each);
        found
    }

    proptest! {
        #[test]
        fn any_pieces_give_the_lines_of_the_whole(text in "[a\n]{0,60}", size in 1_usize..9, most in 1_usize..6) {
            let pieces: Vec<&[u8]> = text.as_bytes().chunks(size).collect();
            let mut expected: Vec<_> = text.split('\n').collect();
            // Nothing stands after the last end of line.
            if expected.last() == Some(&"") {
                expected.pop();
            }
            let expected: Vec<_> = expected
                .iter()
                .map(|line| (line.len() <= most).then(|| line.as_bytes().to_vec()))
                .collect();
            prop_assert_eq!(cut(&pieces, most), expected);
        }

        #[test]
        fn no_more_than_a_line_is_kept(pieces in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..300), 0..20)) {
            let mut splitter = Splitter::new(50);
            for piece in &pieces {
                splitter.take(piece, &mut |_| ());
                prop_assert!(splitter.partial.len() <= 50);
            }
        }
    }
}
