//! Widths of text, line breaks that fit a width, and short numbers.

/// Returns the width of a text in pixels at a size, in DejaVu Sans, the widest common font. Bold
/// type is a tenth wider.
pub fn width(text: &str, size: f64) -> i32 {
    let em = |letter: char| match letter {
        'i' | 'j' | 'l' | 'I' | '.' | ',' | ':' | ';' | '\'' | '|' | '!' | ' ' => 0.36,
        'f' | 't' | 'r' | '(' | ')' | '[' | ']' | '/' | '-' => 0.45,
        'm' | 'w' | 'M' | 'W' | '@' | '%' | '\u{2026}' => 1.03,
        'A'..='Z' | '+' | '<' | '>' | '=' | '#' | '&' | '~' => 0.84,
        ' '..='~' => 0.66,
        // Letters of other alphabets are rarely wider than high.
        _ => 1.1,
    };
    (text.chars().map(em).sum::<f64>() * size).ceil() as i32
}

/// Cuts a text into lines of at most this width: at spaces, or within a word that is wider than a
/// line. A text that needs more than `most` lines ends with an ellipsis.
pub fn wrap(text: &str, size: f64, room: i32, most: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    let mut line = String::new();
    for word in text.split_whitespace() {
        let longer = if line.is_empty() { word.to_owned() } else { format!("{line} {word}") };
        if width(&longer, size) <= room {
            line = longer;
            continue;
        }
        if !line.is_empty() {
            lines.push(std::mem::take(&mut line));
        }
        for letter in word.chars() {
            line.push(letter);
            if line.chars().count() > 1 && width(&line, size) > room {
                line.pop();
                lines.push(std::mem::replace(&mut line, letter.to_string()));
            }
        }
    }
    if !line.is_empty() {
        lines.push(line);
    }
    if lines.len() > most {
        lines.truncate(most);
        if let Some(last) = lines.last_mut() {
            while !last.is_empty() && width(&format!("{last}\u{2026}"), size) > room {
                last.pop();
            }
            last.push('\u{2026}');
        }
    }
    lines
}

/// Formats a number with three significant digits, and thousands set apart.
pub fn number(value: f64) -> String {
    if value == 0.0 {
        return "0".to_owned();
    }
    if !value.is_finite() {
        return format!("{value}");
    }
    let places = (2 - value.abs().log10().floor() as i32).clamp(0, 12);
    let text = grouped(value, places as usize);
    match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text,
    }
}

/// Formats a number with these decimal places, and thousands set apart.
pub fn grouped(value: f64, places: usize) -> String {
    let text = format!("{:.places$}", value.abs());
    let (whole, rest) = text.split_once('.').map_or((text.as_str(), None), |(a, b)| (a, Some(b)));
    let mut out = String::new();
    if value < 0.0 && text.contains(|digit| ('1'..='9').contains(&digit)) {
        out.push('-');
    }
    for (index, digit) in whole.chars().enumerate() {
        if index > 0 && (whole.len() - index).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    if let Some(rest) = rest {
        out.push('.');
        out.push_str(rest);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_three_digits_and_thousands_set_apart() {
        for (value, text) in [
            (0.0, "0"),
            (-0.0, "0"),
            (12.345, "12.3"),
            (0.012345, "0.0123"),
            (606_138.4, "606,138"),
            (-1234.5, "-1,234"),
            (2.0, "2"),
            (0.999_9, "1"),
        ] {
            assert_eq!(number(value), text);
        }
    }

    #[test]
    fn text_is_cut_at_spaces_and_long_words_anywhere() {
        let room = width("one two", 12.0);
        assert_eq!(wrap("one two three", 12.0, room, 9), ["one two", "three"]);
        let lines = wrap(&"x".repeat(100), 12.0, 80, 99);
        assert_eq!(lines.concat(), "x".repeat(100));
        assert!(lines.len() > 1 && lines.iter().all(|line| width(line, 12.0) <= 80));
        let cut = wrap(&"word ".repeat(50), 12.0, 80, 2);
        assert!(cut.len() == 2 && cut[1].ends_with('\u{2026}') && width(&cut[1], 12.0) <= 80);
        assert_eq!(wrap("", 12.0, 80, 2), [""; 0]);
    }
}
