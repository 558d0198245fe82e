//! A bill of materials in `CycloneDX` 1.6: every package of others that is linked into a program, and those of its page.
//!
//! Crates are those of `Cargo.lock` with the features that the workspace builds them with; macros run while something
//! else is compiled and are not linked. Libraries of the system are named by the packages that need them.
//! <https://cyclonedx.org/docs/1.6/json/>

use serde_json::{Value, json};

use super::lock::{self, Locked};
use super::metadata::{self, Package};
use super::page_packages::{self, PagePackage};
use crate::failure::Failure;
use crate::workspace::Workspace;

/// What the bill is of.
#[derive(Debug, Clone, Copy)]
pub(crate) struct BillHead<'a> {
    pub(crate) name: &'a str,
    pub(crate) version: &'a str,
    /// When it was made, in ISO 8601.
    pub(crate) moment: &'a str,
}

/// The bill of the programs that are these packages of the workspace.
pub(crate) fn write(workspace: &Workspace, roots: &[&str], head: &BillHead<'_>) -> Result<String, Failure> {
    let packages = metadata::read(workspace)?;
    let locked = lock::read(&workspace.read("Cargo.lock")?)?;
    let bill = laid_out(&metadata::linked(&packages, roots), &locked, &page_packages::read(workspace)?, head);
    Ok(format!("{bill:#}\n"))
}

fn laid_out(crates: &[&Package], locked: &[Locked], page: &[PagePackage], head: &BillHead<'_>) -> Value {
    let foreign: Vec<&&Package> = crates.iter().filter(|package| package.is_foreign).collect();
    let mut components: Vec<Value> = foreign.iter().map(|package| of_crate(package, locked)).collect();
    components.extend(page.iter().map(of_page));
    let reference = |package: &Package| crate_reference(&package.name, &package.version);
    let needs = |package: &Package| -> Vec<String> {
        let known = foreign.iter().filter(|other| package.dependencies.contains(&other.id));
        known.map(|other| reference(other)).collect()
    };
    let subject = format!("pkg:generic/{}@{}", head.name, head.version);
    let mut of_subject: Vec<String> =
        crates.iter().filter(|package| !package.is_foreign).flat_map(|package| needs(package)).collect();
    of_subject.extend(page.iter().map(page_reference));
    of_subject.sort();
    of_subject.dedup();
    let mut dependencies = vec![json!({ "ref": subject, "dependsOn": of_subject })];
    dependencies
        .extend(foreign.iter().map(|package| json!({ "ref": reference(package), "dependsOn": needs(package) })));
    json!({
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {
            "timestamp": head.moment,
            "component": {
                "type": "application",
                "bom-ref": subject,
                "name": head.name,
                "version": head.version,
                "licenses": [{ "license": { "id": "Apache-2.0" } }],
            },
        },
        "components": components,
        "dependencies": dependencies,
    })
}

fn of_crate(package: &Package, locked: &[Locked]) -> Value {
    let reference = crate_reference(&package.name, &package.version);
    let mut component = json!({
        "type": "library",
        "bom-ref": reference,
        "name": package.name,
        "version": package.version,
        "purl": reference,
    });
    let Some(members) = component.as_object_mut() else { return component };
    if let Some(licence) = &package.licence {
        // Older manifests part choices by a slash, which is no SPDX.
        members.insert("licenses".into(), json!([{ "expression": licence.replace('/', " OR ") }]));
    }
    let lock = locked.iter().find(|lock| lock.name == package.name && lock.version.to_string() == package.version);
    if let Some(digest) = lock.and_then(|lock| lock.checksum.as_deref()) {
        members.insert("hashes".into(), json!([{ "alg": "SHA-256", "content": digest }]));
    }
    if let Some(place) = &package.repository {
        members.insert("externalReferences".into(), json!([{ "type": "vcs", "url": place }]));
    }
    component
}

fn of_page(package: &PagePackage) -> Value {
    let reference = page_reference(package);
    json!({
        "type": "library",
        "bom-ref": reference,
        "name": package.name,
        "version": package.version,
        "licenses": [{ "expression": package.licence }],
        "purl": reference,
    })
}

fn crate_reference(name: &str, version: &str) -> String {
    // A plus would be a space where it is not written in its escaped form.
    format!("pkg:cargo/{name}@{}", version.replace('+', "%2B"))
}

fn page_reference(package: &PagePackage) -> String {
    format!("pkg:npm/{}@{}", package.name.replace('@', "%40"), package.version)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn package(name: &str, dependencies: &[&str], is_foreign: bool) -> Package {
        Package {
            id: name.into(),
            name: name.into(),
            version: "1.0.0+c".into(),
            licence: Some("MIT/Apache-2.0".into()),
            repository: None,
            folder: "/x".into(),
            dependencies: dependencies.iter().map(|id| (*id).to_owned()).collect(),
            is_foreign,
            is_macro: false,
            is_shipped: true,
        }
    }

    #[test]
    fn what_others_wrote_is_named_with_its_licence_its_digest_and_who_needs_it() {
        let (ours, a, b) = (package("ours", &["a"], false), package("a", &["b"], true), package("b", &[], true));
        let page =
            PagePackage { name: "@x/y".into(), version: "2.0.0".into(), licence: "ISC".into(), path: "p".into() };
        let head = BillHead { name: "taskwarden", version: "0.1.0", moment: "2026-11-28T00:00:00Z" };
        let bill = laid_out(&[&ours, &a, &b], &[lock::foreign("a", "1.0.0+c")], &[page], &head);
        let purls: Vec<&str> =
            bill["components"].as_array().unwrap().iter().map(|one| one["purl"].as_str().unwrap()).collect();
        assert_eq!(purls, ["pkg:cargo/a@1.0.0%2Bc", "pkg:cargo/b@1.0.0%2Bc", "pkg:npm/%40x/y@2.0.0"]);
        assert_eq!(bill["components"][0]["licenses"][0]["expression"], "MIT OR Apache-2.0");
        assert_eq!(bill["components"][0]["hashes"][0]["content"], "ab");
        assert_eq!(bill["components"][1].get("hashes"), None, "it is not in the lock file");
        assert_eq!(bill["dependencies"][0]["dependsOn"], json!(["pkg:cargo/a@1.0.0%2Bc", "pkg:npm/%40x/y@2.0.0"]));
        assert_eq!(bill["dependencies"][1]["dependsOn"], json!(["pkg:cargo/b@1.0.0%2Bc"]));
    }
}
