//! Fenced blocks of Markdown, with the words of their info strings:
//!
//! | fence | meaning |
//! |---|---|
//! | `sh` | commands; run in order, in one folder for the whole page |
//! | `sh hardware` | `sh`, slow or with hardware tools: `make test-all`; first pages: `make test` |
//! | `sh fails` | the same, with an exit status other than 0 |
//! | `sh setup` | commands that install something: never run |
//! | `text output` | the output of the commands before it |
//! | `c NAME`, `text NAME`, ... | the contents of a file that later commands use |
//! | `c` | Loom C that compiles, if need be with declarations around it |
//! | `c fragment` | anything else in the notation of C |

/// A fenced block.
pub struct Block {
    /// The line of the opening fence, from 1.
    pub line: usize,
    /// The words of the info string; the first is the language.
    pub words: Vec<String>,
    /// The lines between the fences.
    pub text: String,
}

impl Block {
    /// Whether the block is in this language.
    pub fn is(&self, language: &str) -> bool {
        self.words.first().is_some_and(|word| word == language)
    }

    /// Whether this word follows the language.
    pub fn says(&self, word: &str) -> bool {
        self.words.iter().skip(1).any(|other| other == word)
    }

    /// The file whose contents the block shows.
    pub fn file(&self) -> Option<&str> {
        self.words.iter().skip(1).map(String::as_str).find(|word| word.contains('.'))
    }
}

/// Returns the fenced blocks of a page.
pub fn blocks(page: &str) -> Vec<Block> {
    let mut found = Vec::new();
    let mut open: Option<Block> = None;
    for (number, line) in page.lines().enumerate() {
        match (line.strip_prefix("```"), open.take()) {
            (Some(_), Some(block)) => found.push(block),
            (Some(info), None) => {
                let words = info.split_whitespace().map(str::to_owned).collect();
                open = Some(Block { line: number + 1, words, text: String::new() });
            }
            (None, Some(mut block)) => {
                block.text.push_str(line);
                block.text.push('\n');
                open = Some(block);
            }
            (None, None) => {}
        }
    }
    assert!(open.is_none(), "a fence is open at the end of the page");
    found
}

#[test]
fn blocks_have_their_words_and_lines() {
    let found = blocks("a\n```sh hardware\nx\ny\n```\n\n```text in.tables\n```\n");
    assert_eq!(found.len(), 2);
    assert_eq!((found[0].line, found[0].text.as_str()), (2, "x\ny\n"));
    assert!(found[0].is("sh") && found[0].says("hardware") && !found[0].says("sh"));
    assert_eq!((found[1].line, found[1].file()), (7, Some("in.tables")));
}
