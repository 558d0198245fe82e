//! Versions of packages with a known fault: a newer one may be taken, these may not.

use semver::VersionReq;

use super::lock::Locked;
use super::rules::Rules;

/// Finds packages in a version that the rules deny, and rules that name no version.
pub(crate) fn check(locked: &[Locked], rules: &Rules) -> Vec<String> {
    let mut findings = Vec::new();
    for entry in &rules.denied {
        let parts = entry.split_once('@').and_then(|(name, versions)| Some((name, VersionReq::parse(versions).ok()?)));
        let Some((name, versions)) = parts else {
            findings.push(format!("{entry}: denies no version; write it as `name@=1.2.3`"));
            continue;
        };
        let found = locked.iter().filter(|package| package.name == name && versions.matches(&package.version));
        let cure = format!("take another with `cargo update -p {name} --precise`");
        findings.extend(found.map(|package| format!("{name} {}: has a known fault; {cure}", package.version)));
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::supply::lock::foreign;

    #[test]
    fn a_version_with_a_fault_is_named_and_its_neighbours_are_not() {
        let rules = Rules { denied: vec!["blocking@=1.7.0".into()], ..Rules::default() };
        assert_eq!(check(&[foreign("blocking", "1.7.0")], &rules).len(), 1);
        assert!(check(&[foreign("blocking", "1.6.2"), foreign("blocking", "1.7.1")], &rules).is_empty());
        let unclear = Rules { denied: vec!["blocking".into()], ..Rules::default() };
        assert_eq!(check(&[], &unclear).len(), 1, "a rule that can match nothing");
    }
}
