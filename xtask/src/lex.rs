//! Rust source, parted into code and comments, line by line: just enough of a lexer that a rule about code
//! does not stumble over a word in a string, and a rule about remarks does not stumble over code.
//!
//! In `code`, the content of string and character literals is dropped and their quotes are
//! kept. Known: nested block comments, raw and byte strings, escapes, lifetimes. Not known:
//! macros; they are code like any other.

/// One line of a file.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(crate) struct Line {
    /// What the compiler sees, without the content of literals.
    pub(crate) code: String,
    /// What it skips, with its slashes.
    pub(crate) comment: String,
}

enum Mode {
    Code,
    LineComment,
    BlockComment { depth: usize },
    Text,
    RawText { hashes: usize },
}

/// Parts `source` into lines of code and comment.
pub(crate) fn lines(source: &str) -> Vec<Line> {
    let characters: Vec<char> = source.chars().collect();
    let mut lexer = Lexer { characters: &characters, at: 0, mode: Mode::Code, lines: vec![Line::default()] };
    while lexer.at < lexer.characters.len() {
        lexer.step();
    }
    lexer.lines
}

struct Lexer<'a> {
    characters: &'a [char],
    at: usize,
    mode: Mode,
    lines: Vec<Line>,
}

impl Lexer<'_> {
    fn peek(&self, ahead: usize) -> char {
        self.characters.get(self.at + ahead).copied().unwrap_or('\0')
    }

    fn line(&mut self) -> &mut Line {
        self.lines.last_mut().expect("there is always a line")
    }

    fn code(&mut self, characters: usize) {
        for _ in 0..characters {
            let character = self.peek(0);
            self.line().code.push(character);
            self.at += 1;
        }
    }

    fn comment(&mut self, characters: usize) {
        for _ in 0..characters {
            let character = self.peek(0);
            self.line().comment.push(character);
            self.at += 1;
        }
    }

    fn step(&mut self) {
        if self.peek(0) == '\n' {
            if matches!(self.mode, Mode::LineComment) {
                self.mode = Mode::Code;
            }
            self.lines.push(Line::default());
            self.at += 1;
            return;
        }
        match self.mode {
            Mode::Code => self.step_code(),
            Mode::LineComment => self.comment(1),
            Mode::BlockComment { depth } => self.step_block_comment(depth),
            Mode::Text => self.step_text(),
            Mode::RawText { hashes } => self.step_raw_text(hashes),
        }
    }

    fn step_code(&mut self) {
        match (self.peek(0), self.peek(1)) {
            ('/', '/') => {
                self.mode = Mode::LineComment;
                self.comment(2);
            }
            ('/', '*') => {
                self.mode = Mode::BlockComment { depth: 1 };
                self.comment(2);
            }
            ('"', _) => {
                self.mode = Mode::Text;
                self.code(1);
            }
            ('r', '"' | '#') if self.starts_raw_text() => {
                let hashes = (1..).take_while(|&ahead| self.peek(ahead) == '#').count();
                self.mode = Mode::RawText { hashes };
                self.code(hashes + 2);
            }
            ('\'', _) => self.step_quote(),
            _ => self.code(1),
        }
    }

    /// `r`, perhaps after `b` or `c`, then hashes, then a quote; not the end of a name, not `r#name`.
    fn starts_raw_text(&self) -> bool {
        let before = |back: usize| self.at.checked_sub(back).map_or(' ', |at| self.characters[at]);
        let prefixed = matches!(before(1), 'b' | 'c') && !is_name(before(2));
        let after_name = is_name(before(1)) && !prefixed;
        let hashes = (1..).take_while(|&ahead| self.peek(ahead) == '#').count();
        !after_name && self.peek(hashes + 1) == '"'
    }

    /// A character literal, whose content is dropped, or a lifetime.
    fn step_quote(&mut self) {
        let end = match (self.peek(1), self.peek(2)) {
            ('\\', _) => (3..12).find(|&ahead| self.peek(ahead) == '\''),
            (_, '\'') => Some(2),
            _ => None,
        };
        self.code(1);
        if let Some(end) = end {
            self.at += end - 1;
            self.code(1);
        }
    }

    fn step_block_comment(&mut self, depth: usize) {
        match (self.peek(0), self.peek(1)) {
            ('*', '/') => {
                self.comment(2);
                self.mode = if depth == 1 { Mode::Code } else { Mode::BlockComment { depth: depth - 1 } };
            }
            ('/', '*') => {
                self.comment(2);
                self.mode = Mode::BlockComment { depth: depth + 1 };
            }
            _ => self.comment(1),
        }
    }

    fn step_text(&mut self) {
        match (self.peek(0), self.peek(1)) {
            ('\\', '\n') => self.at += 1,
            ('\\', _) => self.at += 2,
            ('"', _) => {
                self.mode = Mode::Code;
                self.code(1);
            }
            _ => self.at += 1,
        }
    }

    fn step_raw_text(&mut self, hashes: usize) {
        if self.peek(0) == '"' && (1..=hashes).all(|ahead| self.peek(ahead) == '#') {
            self.mode = Mode::Code;
            self.code(hashes + 1);
        } else {
            self.at += 1;
        }
    }
}

/// Whether `character` can stand inside a name.
pub(crate) fn is_name(character: char) -> bool {
    character.is_alphanumeric() || character == '_'
}

/// Where `word` stands in `text` as a word of its own (byte offsets).
pub(crate) fn words<'a>(text: &'a str, word: &'a str) -> impl Iterator<Item = usize> + 'a {
    text.match_indices(word).map(|(at, _)| at).filter(move |&at| {
        let before = text[..at].chars().next_back();
        let after = text[at + word.len()..].chars().next();
        !before.is_some_and(is_name) && !after.is_some_and(is_name)
    })
}

#[cfg(test)]
mod tests {
    use super::{Line, lines, words};

    fn check(source: &str, expected: &[(&str, &str)]) {
        let expected: Vec<Line> = expected
            .iter()
            .map(|&(code, comment)| Line { code: code.into(), comment: comment.into() })
            .collect();
        assert_eq!(lines(source), expected, "{source}");
    }

    #[test]
    fn comments_are_parted_from_code() {
        check("a // b\nc", &[("a ", "// b"), ("c", "")]);
        check("a /* b /* c\n */ d */ e", &[("a ", "/* b /* c"), (" e", " */ d */")]);
    }

    #[test]
    fn the_content_of_literals_is_dropped() {
        check(r#"f("a // \" b", 'x', '\'', '"') // c"#, &[("f(\"\", '', '', '') ", "// c")]);
        check("r#\"a \" unsafe\"# b", &[("r#\"\"# b", "")]);
        check("br\"a\\\" b", &[("br\"\" b", "")]);
        check("'\\u{1F600}' b", &[("'' b", "")]);
        check("\"a\\\nb\" c", &[("\"", ""), ("\" c", "")]);
    }

    #[test]
    fn lifetimes_and_raw_names_are_code() {
        check("fn f<'a>(r#type: &'a str) {}", &[("fn f<'a>(r#type: &'a str) {}", "")]);
    }

    #[test]
    fn words_are_whole() {
        assert_eq!(words("unsafe_code unsafe(", "unsafe").collect::<Vec<_>>(), [12]);
    }
}
