//! Properties of pages: they are well-formed and self-contained, and text stays text.

use super::*;

const HOSTILE: &str = "</title><script>alert('x')</script>\"&<img src=//evil.example/x>";

/// Parses a page as XML, which is stricter than HTML.
fn parsed(page: &str) -> roxmltree::Document<'_> {
    let options = roxmltree::ParsingOptions { allow_dtd: true, ..Default::default() };
    roxmltree::Document::parse_with_options(page, options).expect("a well-formed page")
}

fn page(text: &str) -> String {
    let mut table = Table::new([text, text], &[1]);
    table.row([text, text]);
    table.marked_row([text, text]);
    let mut page = Page::new(text);
    page.state(false, text);
    page.add(
        Section::new(text)
            .paragraph(text)
            .facts([(text, text)])
            .table(table)
            .preformatted(text)
            .picture(r#"<svg xmlns="http://www.w3.org/2000/svg"><title>t</title></svg>"#, text)
            .bytes(Some(text.as_bytes().to_vec()), None),
    );
    page.html()
}

#[test]
fn hostile_text_is_text_everywhere() {
    let page = page(HOSTILE);
    assert!(!page.contains("<script") && !page.contains("<img"), "{page}");
    let document = parsed(&page);
    let mut count = 0;
    for node in document.descendants() {
        count += usize::from(node.is_text() && node.text() == Some(HOSTILE));
        count += node.attributes().filter(|attribute| attribute.value() == HOSTILE).count();
    }
    // The title, its heading, the result, the section's heading, the paragraph, two facts, six
    // cells, the preformatted text and the picture's description.
    assert_eq!(count, 4 + 1 + 2 + 6 + 1 + 1, "{page}");
}

#[test]
fn a_page_needs_no_network() {
    let page = page("text");
    for word in ["http:", "https:", "src=", "href=", "url(", "@import", "<script", "<link"] {
        assert!(!page.contains(word), "{word} in {page}");
    }
    assert!(page.contains("default-src 'none'"), "{page}");
}

/// Returns the lines of the byte table: offset, golden's bytes and the machine's, with marked bytes
/// in brackets.
fn lines(expected: Option<&[u8]>, got: Option<&[u8]>) -> Vec<String> {
    let owned = |bytes: Option<&[u8]>| bytes.map(<[u8]>::to_vec);
    let mut page = Page::new("t");
    page.add(Section::new("s").bytes(owned(expected), owned(got)));
    let page = page.html();
    let document = parsed(&page);
    let text = |cell: roxmltree::Node<'_, '_>| -> String {
        let parts = cell.children().map(|part| match part.is_element() {
            true => format!("[{}]", part.text().unwrap_or_default()),
            false => part.text().unwrap_or_default().to_owned(),
        });
        parts.collect()
    };
    let rows = document.descendants().filter(|node| node.has_tag_name("tr")).skip(1);
    let row =
        |row: roxmltree::Node<'_, '_>| row.children().map(text).collect::<Vec<_>>().join(" | ");
    rows.map(row).collect()
}

#[test]
fn changed_and_missing_bytes_are_marked() {
    assert_eq!(lines(Some(&[0x45, 1, 2]), Some(&[0x45, 9])), ["0000 | 45 [01] [02] | 45 [09]"]);
    assert_eq!(lines(None, Some(&[1])), ["0000 |  | [01]"]);
    assert_eq!(lines(Some(&[1]), Some(&[1])), [""; 0], "nothing differs");
}

#[test]
fn only_lines_near_a_difference_are_shown() {
    let (expected, mut got) = ([7u8; 9000], [7u8; 9000]);
    got[1600] = 8;
    let shown = lines(Some(&expected), Some(&got));
    let offsets: Vec<&str> = shown.iter().map(|line| &line[..4]).collect();
    assert_eq!(offsets, ["0620", "0630", "0640", "0650", "0660"]);
    assert_eq!(lines(Some(&[0; 9000]), Some(&[1; 9000])).len(), 256);
}
