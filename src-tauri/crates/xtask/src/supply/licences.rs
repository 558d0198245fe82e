//! Licences of packages as SPDX expressions: at least one way through each must be allowed.

use super::metadata::Package;
use super::rules::Rules;

/// Finds packages without a licence that is allowed.
pub(crate) fn check(packages: &[Package], rules: &Rules) -> Vec<String> {
    let mut findings = Vec::new();
    for package in packages.iter().filter(|package| package.is_foreign) {
        let is_allowed = package.licence.as_deref().is_some_and(|licence| allows(licence, &rules.licences));
        if !is_allowed {
            let licence = package.licence.as_deref().unwrap_or("no licence in its manifest");
            let cure = "do without it, or allow it after reading it";
            findings.push(format!("{} {}: {licence}; {cure}", package.name, package.version));
        }
    }
    findings
}

/// Whether one choice of an expression needs allowed licences only. Older manifests separate choices by a slash.
fn allows(expression: &str, allowed: &[String]) -> bool {
    let spaced = expression.replace('/', " OR ").replace('(', " ( ").replace(')', " ) ");
    let words: Vec<&str> = spaced.split_whitespace().collect();
    let mut rest = words.as_slice();
    let is_allowed = either(&mut rest, allowed);
    // What is left over was not understood.
    rest.is_empty() && is_allowed == Some(true)
}

fn either(rest: &mut &[&str], allowed: &[String]) -> Option<bool> {
    let mut one = both(rest, allowed)?;
    while take(rest, "OR") {
        one |= both(rest, allowed)?;
    }
    Some(one)
}

fn both(rest: &mut &[&str], allowed: &[String]) -> Option<bool> {
    let mut all = single(rest, allowed)?;
    while take(rest, "AND") {
        all &= single(rest, allowed)?;
    }
    Some(all)
}

fn single(rest: &mut &[&str], allowed: &[String]) -> Option<bool> {
    if take(rest, "(") {
        let inner = either(rest, allowed)?;
        return take(rest, ")").then_some(inner);
    }
    let (name, more) = rest.split_first()?;
    *rest = more;
    let mut whole = (*name).to_owned();
    if take(rest, "WITH") {
        let (exception, more) = rest.split_first()?;
        *rest = more;
        whole = format!("{name} WITH {exception}");
    }
    Some(allowed.contains(&whole))
}

fn take(rest: &mut &[&str], word: &str) -> bool {
    match rest.split_first() {
        Some((first, more)) if *first == word => {
            *rest = more;
            true
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_allowed_way_through_an_expression_is_enough_and_half_of_one_is_not() {
        let allowed: Vec<String> =
            ["MIT", "Apache-2.0", "Unicode-3.0", "Apache-2.0 WITH LLVM-exception"].map(str::to_owned).into();
        for (expression, is_allowed) in [
            ("MIT", true),
            ("GPL-3.0-only", false),
            ("GPL-3.0-only OR MIT", true),
            ("MIT AND GPL-3.0-only", false),
            ("MIT/Apache-2.0", true),
            ("(MIT OR GPL-3.0-only) AND Unicode-3.0", true),
            ("(MIT OR Apache-2.0) AND GPL-3.0-only", false),
            ("Apache-2.0 WITH LLVM-exception OR GPL-2.0-only", true),
            ("MIT WITH Unknown-exception", false),
            ("MIT OR", false),
            ("(MIT", false),
            ("", false),
        ] {
            assert_eq!(allows(expression, &allowed), is_allowed, "`{expression}`");
        }
    }
}
