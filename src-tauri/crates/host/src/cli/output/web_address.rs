//! How a web address is shown to a person: its host apart from the rest, and the address never cut (protocol.md §6.2).
//!
//! Opens nothing. A host in punycode is shown together with what it reads as, because look-alike letters are the usual
//! trick.

use url::Url;

use super::sentences::shell_word;

/// The host of a URL, with what its punycode reads as.
pub(crate) fn readable_host(url: &Url) -> Option<String> {
    let host = url.host_str()?;
    let port = url.port().map(|port| format!(":{port}")).unwrap_or_default();
    if !host.split('.').any(|label| label.starts_with("xn--")) {
        return Some(format!("{host}{port}"));
    }
    let (shown, _) = idna::domain_to_unicode(host);
    Some(format!(
        "{host}{port} (reads as `{}`; letters of other scripts can look alike)",
        domain::policy::plain_text(&shown, 253)
    ))
}

/// The page that a question names.
pub(crate) fn page(url: &str) -> String {
    let Ok(parsed) = Url::parse(url) else { return format!("  page  {}", shell_word(url)) };
    let host = readable_host(&parsed).map(|host| format!("  host  {host}\n")).unwrap_or_default();
    format!("{host}  page  {}", shell_word(parsed.as_str()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_shown_whole_and_on_its_own_line() {
        let long = format!("https://example.org/{}#end", "a".repeat(2_000));
        let shown = page(&long);
        assert!(shown.contains(&long), "whatever its length: {shown}");
        assert!(shown.contains("host  example.org"), "the host stands apart: {shown}");
        let sly = page("https://example.org@\nevil.example/\u{202e}");
        assert!(sly.contains("host  evil.example") && sly.lines().count() == 2, "nothing adds a line: {sly}");
    }

    #[test]
    fn a_host_in_punycode_is_shown_as_it_is_and_as_it_reads() {
        let url = Url::parse("https://xn--pple-43d.com/x").expect("a url");
        let shown = readable_host(&url).expect("a host");
        assert!(shown.starts_with("xn--pple-43d.com") && shown.contains("reads as"), "{shown}");
        let plain = Url::parse("http://127.0.0.1:8080/").expect("a url");
        assert_eq!(readable_host(&plain).as_deref(), Some("127.0.0.1:8080"));
    }
}
