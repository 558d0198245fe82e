//! Packages that come in several incompatible versions: each is compiled, shipped and watched for weaknesses twice.

use std::collections::BTreeMap;

use semver::Version;

use super::lock::Locked;
use super::rules::Rules;

/// Finds packages with a second incompatible version that nobody argued for, and arguments for none.
pub(crate) fn check(locked: &[Locked], rules: &Rules) -> Vec<String> {
    let mut by_name: BTreeMap<&str, Vec<&Version>> = BTreeMap::new();
    for package in locked.iter().filter(|package| package.is_foreign()) {
        by_name.entry(&package.name).or_default().push(&package.version);
    }
    let mut findings = Vec::new();
    let mut met = Vec::new();
    for (name, versions) in by_name {
        let Some(newest) = versions.iter().max() else { continue };
        for old in versions.iter().filter(|version| line(version) != line(newest)) {
            let exception = rules.duplicates.iter().find(|entry| **entry == format!("{name}@{}", line(old)));
            met.extend(exception);
            if exception.is_none() {
                let cure = "update who asks for the old one, or write down why both are needed";
                findings.push(format!("{name}: {old} beside {newest}; {cure}"));
            }
        }
    }
    let stale = rules.duplicates.iter().filter(|entry| !met.contains(entry));
    findings.extend(stale.map(|entry| format!("{entry}: may come twice and does not; take the exception away")));
    findings
}

/// Versions of one line can take each other's place.
fn line(version: &Version) -> String {
    match (version.major, version.minor) {
        (0, minor) => format!("0.{minor}"),
        (major, _) => major.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::supply::lock::foreign;

    #[test]
    fn a_second_line_of_a_package_needs_a_reason_and_a_reason_needs_a_second_line() {
        let both =
            [foreign("syn", "1.0.9"), foreign("syn", "2.0.1"), foreign("toml", "0.8.1"), foreign("toml", "0.8.2")];
        assert_eq!(check(&both, &Rules::default()).len(), 1, "0.8.1 and 0.8.2 are one line");
        let rules = Rules { duplicates: vec!["syn@1".into()], ..Rules::default() };
        assert!(check(&both, &rules).is_empty());
        assert_eq!(check(&both[1..], &rules).len(), 1, "the exception has outlived its reason");
    }
}
