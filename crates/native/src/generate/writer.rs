//! Lines of C.

/// A growing file.
#[derive(Default)]
pub struct Writer {
    text: String,
}

impl Writer {
    /// Adds a line.
    pub fn line(&mut self, line: impl AsRef<str>) {
        self.text.push_str(line.as_ref());
        self.text.push('\n');
    }

    /// Adds an empty line.
    pub fn blank(&mut self) {
        self.line("");
    }

    /// Adds a comment, broken into lines of at most 110 columns.
    pub fn comment(&mut self, text: &str) {
        let text = text.replace("*/", "* /");
        let mut lines = vec![String::from("/*")];
        for word in text.split_whitespace() {
            if lines.last().is_some_and(|line| line.len() + word.len() > 106) {
                lines.push(" *".into());
            }
            let line = lines.last_mut().expect("a comment has a line");
            line.push(' ');
            line.push_str(word);
        }
        lines.last_mut().expect("a comment has a line").push_str(" */");
        lines.iter().for_each(|line| self.line(line));
    }

    /// Adds a comment of one line inside a function.
    pub fn comment_inside(&mut self, text: &str) {
        self.line(format!("    /* {text} */"));
    }

    /// What was written.
    pub fn finish(self) -> String {
        self.text
    }
}

/// Whether an identifier stands in a line of C.
pub fn mentions(line: &str, identifier: &str) -> bool {
    line.match_indices(identifier).any(|(at, _)| {
        let part = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let before = line[..at].chars().next_back();
        let after = line[at + identifier.len()..].chars().next();
        !before.is_some_and(|c| part(c) || c == '.') && !after.is_some_and(part)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identifiers_are_whole_words() {
        assert!(mentions("wl_put(p, 4)", "p"));
        assert!(mentions("p->window", "p"));
        assert!(!mentions("c->p2 = up;", "p"));
        assert!(!mentions("x.p = 1", "p"));
    }

    #[test]
    fn comments_break_between_words_and_cannot_end_early() {
        let mut out = Writer::default();
        out.comment(&"word */ ".repeat(40));
        let text = out.finish();
        assert!(text.lines().all(|line| line.len() <= 112) && text.lines().count() > 2);
        assert_eq!(text.matches("*/").count(), 1);
    }
}
