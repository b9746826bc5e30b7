//! The pages of the documentation, and the names by which users select them.

use crate::{files, section};

/// A page of the documentation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Page {
    /// The path from the root of the repository, such as `docs/machines/np.md`.
    pub file: &'static str,
}

/// The reason why no page is found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unknown {
    /// No page has this name.
    Page,
    /// Several pages have this name in different folders.
    Several(Vec<Page>),
}

/// Returns all pages, in the order of their files.
pub fn list() -> impl Iterator<Item = Page> {
    files::names().filter(|name| name.ends_with(".md")).map(|file| Page { file })
}

/// Returns the page that a user names. The words are the page's name, the path of its file with or
/// without extension, or its name without the folder if only one page has that name.
///
/// # Errors
/// If there is no such page, or more than one.
pub fn find(words: &str) -> Result<Page, Unknown> {
    let wanted = words.trim_start_matches("./").trim_end_matches('/').to_lowercase();
    let is_named = |page: &Page| {
        let file = page.file.to_lowercase();
        let path = file.strip_suffix(".md").unwrap_or(&file);
        let below = |path: &str| path.strip_prefix("docs/").map(str::to_owned);
        let name = page.name().to_lowercase();
        [Some(file.clone()), Some(path.to_owned()), below(&file), below(path), Some(name)]
            .contains(&Some(wanted.clone()))
    };
    if let Some(page) = list().find(is_named) {
        return Ok(page);
    }
    let wanted = wanted.strip_suffix(".md").unwrap_or(&wanted);
    let is_last = |page: &Page| page.name().rsplit('/').next().map(str::to_lowercase);
    let found: Vec<Page> = list().filter(|page| is_last(page).as_deref() == Some(wanted)).collect();
    match found[..] {
        [] => Err(Unknown::Page),
        [page] => Ok(page),
        _ => Err(Unknown::Several(found)),
    }
}

impl Page {
    /// Returns the short name, such as `machines/np`. A folder's page has the folder's name:
    /// `operate`.
    pub fn name(self) -> &'static str {
        let path = self.file.strip_suffix(".md").unwrap_or(self.file);
        let path = path.strip_suffix("/README").unwrap_or(path);
        path.strip_prefix("docs/").unwrap_or(path)
    }

    /// Returns the text in Markdown.
    pub fn markdown(self) -> String {
        files::text(self.file).expect("pages are embedded as text")
    }

    /// Returns the subject of the page: its title or, if the title is too short to tell, the first
    /// sentence below it.
    pub fn about(self) -> String {
        /// A title with this number of words tells the subject.
        const TELLING: usize = 3;
        let markdown = self.markdown();
        let title = section::title(&markdown).unwrap_or_default();
        if title.split(' ').count() >= TELLING {
            return title;
        }
        let text = crate::text(&markdown, usize::MAX, false);
        let mut lines = text.lines().skip(2).map(str::trim).filter(|line| !line.is_empty());
        let sentence = lines.next().map(|line| first_sentence(line).to_owned());
        sentence.unwrap_or(title)
    }
}

/// Returns the text up to the first full stop that ends a sentence.
fn first_sentence(text: &str) -> &str {
    let end = text.match_indices(". ").map(|(at, _)| at).find(|at| {
        let rest = text[at + 2..].trim_start();
        rest.starts_with(|c: char| c.is_uppercase() || "`[(".contains(c))
    });
    text[..end.unwrap_or(text.len())].trim_end_matches(['.', ':'])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_are_found_by_name_and_by_path() {
        for words in [
            "machines/np",
            "docs/machines/np.md",
            "machines/NP.md",
            "docs/machines/np",
            "./machines/np",
        ] {
            assert_eq!(find(words), Ok(Page { file: "docs/machines/np.md" }), "{words}");
        }
        assert_eq!(find("operate").map(Page::name), Ok("operate"));
        assert_eq!(find("docs/operate/README.md").map(Page::name), Ok("operate"));
        assert_eq!(find("programs/tests/").map(Page::name), Ok("programs/tests"));
        assert_eq!(find("readme").map(|page| page.file), Ok("README.md"));
        assert_eq!(find("exact").map(Page::name), Ok("offloads/exact"));
        assert_eq!(find("exact.md").map(Page::name), Ok("offloads/exact"));
    }

    #[test]
    fn a_name_of_several_pages_is_refused_with_all_of_them() {
        let Err(Unknown::Several(pages)) = find("np") else { panic!("{:?}", find("np")) };
        let names: Vec<&str> = pages.into_iter().map(Page::name).collect();
        assert_eq!(names, ["hardware/np", "machines/np", "results/np"]);
        assert_eq!(find("no-such-page"), Err(Unknown::Page));
        assert_eq!(find(""), Err(Unknown::Page));
    }

    #[test]
    fn each_page_has_a_name_of_its_own_and_says_what_it_is_about() {
        let mut names = std::collections::BTreeSet::new();
        for page in list() {
            assert!(names.insert(page.name()), "{}", page.name());
            assert_eq!(find(page.name()), Ok(page));
            assert!(page.about().chars().count() > 3, "{}: {}", page.name(), page.about());
        }
        assert!(names.len() > 100, "{names:?}");
    }

    #[test]
    fn a_sentence_ends_before_the_next() {
        assert_eq!(first_sentence("One, e.g. two. Three."), "One, e.g. two");
        assert_eq!(first_sentence("Only one:"), "Only one");
    }
}
