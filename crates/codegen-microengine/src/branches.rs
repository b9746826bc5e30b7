//! Branches on the result of a comparison just before them.
//!
//! ```text
//! alu[v9, v8, XOR, v10]         alu[--, v8, XOR, v10]
//! alu[--, 0, -, v9]             br=0[l3_1#]
//! alu[v11, 0, +carry, 0]
//! br_bset[v11, 0, l3_1#]
//! ```
//!
//! A comparison puts its result into a register. If only a branch reads the register, the branch
//! uses the condition codes instead.

use std::collections::HashMap;

use super::elide_waits::instruction;

/// Replaces results of comparisons by condition codes where only a branch reads them.
pub fn fused(text: &str) -> String {
    let mut lines: Vec<Option<&str>> = text.lines().map(Some).collect();
    let counts = counts(text);
    let mut made: HashMap<usize, String> = HashMap::new();
    for at in 0..lines.len() {
        let Some(found) = found(&lines, &counts, at) else { continue };
        found.unused.into_iter().for_each(|unused| lines[unused] = None);
        made.extend(found.made);
    }
    let mut out = String::with_capacity(text.len());
    for (at, line) in lines.into_iter().enumerate() {
        if let Some(line) = made.get(&at).map(String::as_str).or(line) {
            out.push_str(line);
            out.push('\n');
        }
    }
    out
}

/// The number of uses of each register in a scope, and the scope of each line.
struct Counts<'a> {
    named: HashMap<(usize, &'a str), usize>,
    scopes: Vec<usize>,
}

impl Counts<'_> {
    /// Returns whether a register is named exactly twice: by its write and by one read.
    fn is_read_once(&self, at: usize, name: &str) -> bool {
        self.named.get(&(self.scopes[at], name)) == Some(&2)
    }
}

fn counts(text: &str) -> Counts<'_> {
    let mut counts = Counts { named: HashMap::new(), scopes: Vec::new() };
    let mut scope = 0;
    for line in text.lines() {
        scope += usize::from(line.trim() == ".begin");
        counts.scopes.push(scope);
        if line.trim_start().starts_with(['.', ';']) {
            continue;
        }
        let words = line.split(|other: char| !other.is_ascii_alphanumeric() && other != '_');
        for word in words.filter(|word| word.starts_with('v')) {
            *counts.named.entry((scope, word)).or_default() += 1;
        }
    }
    counts
}

/// Lines that are replaced, and lines that are removed.
struct Found {
    made: Vec<(usize, String)>,
    unused: Vec<usize>,
}

/// Returns the comparison whose result this line turns into a number, if only a branch after it
/// reads the number.
fn found(lines: &[Option<&str>], counts: &Counts<'_>, at: usize) -> Option<Found> {
    let is_code = |at: &usize| {
        lines[*at].is_some_and(|line| !line.trim().is_empty() && !line.trim().starts_with(';'))
    };
    let alu = |at: usize| match instruction(lines[at]?)? {
        ("alu", operands, "") if operands.len() == 4 => Some(operands),
        _ => None,
    };
    let next = |at: usize| (at + 1..lines.len()).find(is_code);
    let before = |at: usize| (0..at).rev().find(is_code);
    let [mut bit, "0", "+carry", "0"] = alu(at)?[..] else { return None };
    let mut unused = vec![at];
    let mut branch = next(at)?;
    let mut inverts = false;
    if !counts.is_read_once(at, bit) {
        return None;
    }
    if let Some([inverse, from, "XOR", "1"]) = alu(branch).as_deref()
        && *from == bit
        && counts.is_read_once(at, inverse)
    {
        unused.push(branch);
        (bit, inverts) = (inverse, true);
        branch = next(branch)?;
    }
    let (name, [tested, "0", label]) = instruction(lines[branch]?)
        .map(|(name, operands, _)| (name, operands))
        .and_then(|(name, operands)| Some((name, <[&str; 3]>::try_from(operands).ok()?)))?
    else {
        return None;
    };
    if tested != bit || !matches!(name, "br_bset" | "br_bclr") {
        return None;
    }
    let carries = (name == "br_bset") != inverts;
    let compared = before(at)?;
    let ["--", first, operation, second] = alu(compared)?[..] else { return None };
    // Tests whether a difference is 0: `0 - x` carries if x is 0, and `x - 1` carries if it is not.
    let zero = match (first, operation, second) {
        ("0", "-", value) => Some((value, carries)),
        (value, "-", "1") => Some((value, !carries)),
        _ => None,
    };
    let differs = zero.and_then(|(value, is_zero)| {
        let made = before(compared)?;
        let [target, a, "XOR", b] = alu(made)?[..] else { return None };
        (target == value && counts.is_read_once(at, value)).then(|| {
            let how = if is_zero { "br=0" } else { "br!=0" };
            let line = format!("    alu[--, {a}, XOR, {b}]");
            (vec![(made, line), (branch, format!("    {how}[{label}]"))], compared)
        })
    });
    let made = match differs {
        Some((made, compared)) => {
            unused.push(compared);
            made
        }
        None => {
            let how = if carries { "br=cout" } else { "br!=cout" };
            vec![(branch, format!("    {how}[{label}]"))]
        }
    };
    Some(Found { made, unused })
}

#[cfg(test)]
mod tests {
    use super::fused;

    fn lines(text: &str) -> Vec<String> {
        fused(text).lines().map(|line| line.trim().to_owned()).collect()
    }

    #[test]
    fn a_branch_takes_the_condition_codes_of_what_only_it_reads() {
        let less =
            "alu[--, v8, -, v9]\nalu[v10, 0, +carry, 0]\n; a comment\nbr_bset[v10, 0, l1#]\n";
        assert_eq!(lines(less), ["alu[--, v8, -, v9]", "; a comment", "br=cout[l1#]"]);
        let inverted = "alu[--, v8, -, v9]\nalu[v10, 0, +carry, 0]\nalu[v11, v10, XOR, 1]\nbr_bset[v11, 0, l1#]\n";
        assert_eq!(lines(inverted), ["alu[--, v8, -, v9]", "br!=cout[l1#]"]);
        let equal = "alu[v9, v8, XOR, 3]\nalu[--, 0, -, v9]\nalu[v10, 0, +carry, 0]\nbr_bclr[v10, 0, l1#]\n";
        assert_eq!(lines(equal), ["alu[--, v8, XOR, 3]", "br!=0[l1#]"]);
        let differs = equal.replace("0, -, v9", "v9, -, 1");
        assert_eq!(lines(&differs), ["alu[--, v8, XOR, 3]", "br=0[l1#]"]);
    }

    #[test]
    fn what_is_read_elsewhere_stays() {
        let less = "alu[--, v8, -, v9]\nalu[v10, 0, +carry, 0]\nbr_bset[v10, 0, l1#]\nalu[$0, --, B, v10]\n";
        assert_eq!(lines(less).len(), 4);
        let equal = "alu[v9, v8, XOR, 3]\nalu[--, 0, -, v9]\nalu[v10, 0, +carry, 0]\nbr_bset[v10, 0, l1#]\nalu[$0, --, B, v9]\n";
        let expected =
            ["alu[v9, v8, XOR, 3]", "alu[--, 0, -, v9]", "br=cout[l1#]", "alu[$0, --, B, v9]"];
        assert_eq!(lines(equal), expected);
        let apart = "alu[--, v8, -, v9]\nalu[v10, 0, +carry, 0]\nalu[v11, v8, +, v9]\nbr_bset[v10, 0, l1#]\n";
        assert_eq!(lines(apart).len(), 4);
        // Registers of different scopes may have the same names.
        let scopes = format!(".begin\n{}.end\n.begin\n{}.end\n", &less[..less.len() - 21], less);
        assert_eq!(lines(&scopes).iter().filter(|line| line.starts_with("br=cout")).count(), 1);
    }
}
