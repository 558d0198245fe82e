//! Texts of all kinds before and after an edit: what is outside of it keeps its bytes, and an edit can be taken back.

use serde_json::json;

use super::*;

fn bridge() -> Vec<MemberEdit> {
    vec![
        MemberEdit::set("command", json!("/usr/bin/taskwarden")),
        MemberEdit::set("args", json!(["connect", "a", "--agent", "x"])),
        MemberEdit::remove("env"),
        MemberEdit::remove("url"),
    ]
}

fn parsed(format: Format, text: &str) -> Result<ParsedText, String> {
    ParsedText::of(format, text.to_owned())
}

fn text_of(edited: Result<ParsedText, EditError>) -> Result<String, String> {
    edited.map(|edited| edited.text).map_err(|error| error.to_string())
}

fn apply_to(format: Format, text: &str, edits: &[EntryEdit]) -> Result<String, String> {
    text_of(apply(format, &parsed(format, text)?, edits))
}

fn set_members(format: Format, text: &str, place: &[String], members: &[MemberEdit]) -> Result<String, String> {
    apply_to(format, text, &[EntryEdit { place: place.to_vec(), members: members.to_vec() }])
}

fn taken_back(format: Format, text: &str, edits: &[EntryEdit], before: &str, after: &str) -> Result<String, String> {
    text_of(take_back(format, &parsed(format, text)?, edits, before, after))
}

fn place(keys: &[&str]) -> Vec<String> {
    keys.iter().map(|key| (*key).to_owned()).collect()
}

/// Edits a text, and gives the lines that are only in one of the two.
fn changed(format: Format, text: &str, at: &[&str]) -> (Vec<String>, Vec<String>) {
    let done = set_members(format, text, &place(at), &bridge()).unwrap_or_else(|error| panic!("{error}: {text:?}"));
    let only = |one: &str, other: &str| {
        let other: Vec<&str> = lines(other);
        lines(one).into_iter().filter(|line| !other.contains(line)).map(str::to_owned).collect::<Vec<_>>()
    };
    (only(text, &done), only(&done, text))
}

/// How a file of JSON may be written: its indent, line end, mark and last line.
fn json_texts() -> Vec<(Format, String)> {
    let mut texts = Vec::new();
    for (indent, end) in [("  ", "\n"), ("\t", "\n"), ("    ", "\r\n"), ("\t", "\r\n")] {
        for mark in ["", "\u{feff}"] {
            for last in ["", end] {
                for (format, comment, comma) in [(Format::Json, "", ""), (Format::Jsonc, " // mine", ",")] {
                    let lines = [
                        "{".to_owned(),
                        format!("{indent}\"before\": [1,  2.50, 1e3],{comment}"),
                        format!("{indent}\"mcpServers\": {{"),
                        format!("{indent}{indent}\"a\": {{"),
                        format!("{indent}{indent}{indent}\"type\": \"stdio\","),
                        format!("{indent}{indent}{indent}\"command\": \"npx\",{comment}"),
                        format!("{indent}{indent}{indent}\"args\": [\"-y\", \"x\"],"),
                        format!("{indent}{indent}{indent}\"env\": {{\"KEY\": \"s\"}},"),
                        format!("{indent}{indent}{indent}\"timeout\": 5{comma}"),
                        format!("{indent}{indent}}},"),
                        format!("{indent}{indent}\"b\":   {{ \"command\" : \"y\" }}{comma}"),
                        format!("{indent}}}{comma}"),
                        "}".to_owned(),
                    ];
                    texts.push((format, format!("{mark}{}{last}", lines.join(end))));
                }
            }
        }
    }
    texts
}

#[test]
fn an_edit_of_json_keeps_every_byte_outside_its_lines() {
    let texts = json_texts();
    assert_eq!(texts.len(), 32);
    for (format, text) in texts {
        let (removed, added) = changed(format, &text, &["mcpServers", "a"]);
        assert_eq!((removed.len(), added.len()), (3, 2), "{text:?}: -{removed:?} +{added:?}");
        let is_windows = text.contains("\r\n");
        assert!(added.iter().all(|line| line.ends_with("\r\n") == is_windows), "{added:?}");
        assert!(added[0].contains("\"/usr/bin/taskwarden\""), "{added:?}");
        let behind = removed.iter().filter(|line| line.contains("// mine")).count();
        assert_eq!(added.iter().filter(|line| line.contains("// mine")).count(), behind, "comments stay: {added:?}");
    }
}

#[test]
fn an_edit_of_toml_keeps_comments_and_other_tables() {
    let tables = "model = \"x\" # mine\n\n[mcp_servers.a] # first\ncommand = \"npx\" # runs\nargs = [\n  \"-y\",\n  \"x\",\n]\ntool_timeout_sec = 5\n\n[mcp_servers.a.env]\nKEY = \"s\"\n\n# the second\n[mcp_servers.b]\nurl = 'http://h'\n";
    let inline = "[mcp_servers]\n# first\na = { command = \"npx\", args = [\"-y\"], env = { KEY = \"s\" } }\nb = { url = 'http://h' }\n";
    let dotted = "mcp_servers.a.command = \"npx\"\nmcp_servers.a.args = []\nmcp_servers.b.url = \"http://h\"\n";
    for text in [tables, inline, dotted] {
        for text in [text.to_owned(), text.replace('\n', "\r\n"), format!("\u{feff}{text}")] {
            let done = set_members(Format::Toml, &text, &place(&["mcp_servers", "a"]), &bridge());
            let done = done.unwrap_or_else(|error| panic!("{error}: {text:?}"));
            let (_, added) = changed(Format::Toml, &text, &["mcp_servers", "a"]);
            assert!(added.len() <= 2, "{added:?}");
            for kept in ["# mine", "# first", "# runs", "# the second", "tool_timeout_sec = 5", "http://h"] {
                assert_eq!(done.contains(kept), text.contains(kept), "`{kept}` of {text:?}: {done:?}");
            }
            assert!(!done.contains("KEY"), "{done:?}");
        }
    }
}

#[test]
fn an_edit_of_yaml_is_proven_or_refused() {
    let members =
        |name: &'static str| vec![MemberEdit::set(name, json!("/usr/bin/taskwarden")), MemberEdit::remove("envs")];
    let block = "# mine\nextensions:\n  a:\n    cmd: npx # runs\n    args:\n      - -y\n    envs:\n      KEY: s\n    timeout: 5\n  b:\n    cmd: y\n";
    for text in [block.to_owned(), block.replace('\n', "\r\n")] {
        match set_members(Format::Yaml, &text, &place(&["extensions", "a"]), &members("cmd")) {
            Ok(done) => {
                for kept in ["# mine", "timeout: 5", "  b:", "cmd: y", "- -y"] {
                    assert!(done.contains(kept), "`{kept}`: {done:?}");
                }
                assert!(!done.contains("KEY") && done.contains("/usr/bin/taskwarden"), "{done:?}");
            }
            Err(error) => assert_eq!(error, EditError::NotProven.to_string(), "{text:?}"),
        }
    }
    let shared = "base: &base\n  cmd: npx\nextensions:\n  a: *base\n";
    let refused = set_members(Format::Yaml, shared, &place(&["extensions", "a"]), &members("cmd"));
    assert!(refused.is_err(), "an alias is another entry's text: {refused:?}");
}

#[test]
fn what_is_not_there_or_not_readable_is_refused() {
    let at = place(&["mcpServers", "a"]);
    for (format, text) in [
        (Format::Json, "{\"mcpServers\": {}}"),
        (Format::Json, "{\"mcpServers\": {\"a\": []}}"),
        (Format::Json, "{\"mcpServers\": {\"a\": {}},}"),
        (Format::Jsonc, "{\"mcpServers\": {\"a\": {}, \"a\": {}}}"),
        (Format::Toml, "mcpServers = 1"),
        (Format::Yaml, ""),
    ] {
        assert!(set_members(format, text, &at, &bridge()).is_err(), "{text}");
    }
    let same = "{\"mcpServers\": {\"a\": {\"command\": \"x\"}}}";
    let edits = [MemberEdit::set("command", json!("x")), MemberEdit::remove("env")];
    assert_eq!(set_members(Format::Json, same, &at, &edits).expect("it reads"), same, "nothing to do changes nothing");
    let minified = "{\"x\":1,\"mcpServers\":{\"a\":{\"url\":\"http://h\"},\"b\":{}}}";
    let done = set_members(Format::Json, minified, &at, &bridge()).expect("one line is a text as well");
    assert!(done.starts_with("{\"x\":1,\"mcpServers\":{\"a\":{") && done.ends_with(",\"b\":{}}}"), "{done}");
}

/// An entry of one more shape, edited and taken back by its reverse.
#[test]
fn the_reverse_of_an_edit_gives_the_same_values_again() {
    let texts = json_texts().into_iter().map(|(format, text)| (format, text, vec!["mcpServers", "a"]));
    let toml = "[mcp_servers.a]\ncommand = \"npx\"\nargs = [\"-y\"]\n\n[mcp_servers.a.env]\nKEY = \"s\"\n";
    let texts = texts.chain([(Format::Toml, toml.to_owned(), vec!["mcp_servers", "a"])]);
    for (format, text, at) in texts {
        let before = document::parse(format, &text).expect("it reads");
        let entry = at.iter().try_fold(&before, |value, key| value.get(key)).expect("the entry");
        let before_of = |name: &str| entry.get(name).cloned();
        let reverse: Vec<MemberEdit> = bridge()
            .into_iter()
            .map(|member| MemberEdit { value: before_of(&member.name), name: member.name })
            .collect();
        let routed = set_members(format, &text, &place(&at), &bridge()).expect("it can be edited");
        let undone = set_members(format, &routed, &place(&at), &reverse).expect("it can be taken back");
        assert_eq!(document::parse(format, &undone), Ok(before), "{undone:?}");
    }
}

#[test]
fn an_entry_that_nobody_touched_gets_its_own_bytes_back_whatever_changed_around_it() {
    let texts = json_texts().into_iter().map(|(format, text)| (format, text, vec!["mcpServers", "a"], "2.50"));
    let toml = "x = 2.50\n\n[mcp_servers.a] # mine\ncommand = \"npx\" # runs\nargs = [\n  \"-y\", # yes\n]\n\n[mcp_servers.a.env]\nKEY   = \"s\"\n\n[mcp_servers.b]\ncommand = \"y\"\n";
    let yaml = "x: 2.50\nmcpServers:\n  a:\n    command:   npx\n    args:\n      - -y\n    env:\n      KEY: s\n  b:\n    command: y\n";
    let others = [
        (Format::Toml, toml.to_owned(), vec!["mcp_servers", "a"], "2.50"),
        (Format::Yaml, yaml.to_owned(), vec!["mcpServers", "a"], "2.50"),
    ];
    for (format, text, at, elsewhere) in texts.chain(others) {
        let values = document::parse(format, &text).expect("it reads");
        let entry = at.iter().try_fold(&values, |value, key| value.get(key)).expect("the entry");
        let old = |member: MemberEdit| MemberEdit { value: entry.get(&member.name).cloned(), name: member.name };
        let reverse = EntryEdit { place: place(&at), members: bridge().into_iter().map(old).collect() };
        let Ok(routed) = set_members(format, &text, &place(&at), &bridge()) else {
            assert_eq!(format, Format::Yaml, "only YAML may be refused");
            continue;
        };
        let saved = routed.replace(elsewhere, "3.75");
        assert_ne!(saved, routed);
        let undone = taken_back(format, &saved, std::slice::from_ref(&reverse), &text, &routed);
        assert_eq!(undone.as_deref(), Ok(text.replace(elsewhere, "3.75").as_str()), "{format:?}");
        // What somebody wrote into the entry stays, so its bytes are not those of before.
        let touched = saved.replace("\"connect\"", "\"connect\", \"more\"");
        if touched != saved {
            let undone = taken_back(format, &touched, &[reverse], &text, &routed).expect("its members are set");
            let read = document::parse(format, &undone).expect("it reads");
            assert_eq!(at.iter().try_fold(&read, |value, key| value.get(key)), Some(entry), "{undone}");
        }
    }
}

#[test]
fn several_entries_change_at_once_and_everything_between_them_keeps_its_bytes() {
    let text = "{\n  \"mcpServers\": {\n    \"a\": {\"url\": \"http://h\"},\r\n    \"kept\" : { \"x\":1 },\n    \"b\": {\"url\": \"http://h\"}\n  }\n}";
    let edits = ["a", "b"].map(|name| EntryEdit { place: place(&["mcpServers", name]), members: bridge() });
    let done = apply_to(Format::Json, text, &edits).expect("one odd line end is no obstacle");
    assert!(done.contains("},\r\n    \"kept\" : { \"x\":1 },\n    \"b\": {"), "{done:?}");
    assert_eq!(done.matches("/usr/bin/taskwarden").count(), 2, "{done:?}");
}

#[test]
fn an_entry_is_put_into_a_file_that_lost_it() {
    let entry = json!({"command": "npx", "args": ["-y"]});
    for (format, text, at, value) in [
        (Format::Json, "", vec![], json!({"a": entry})),
        (Format::Json, "{}", vec![], json!({"a": entry})),
        (Format::Jsonc, "{\n  // mine\n  \"mcpServers\": {}\n}\n", vec!["mcpServers"], entry.clone()),
        (Format::Toml, "model = \"x\"\n", vec![], json!({"a": entry})),
    ] {
        let name = if at.is_empty() { "mcpServers" } else { "a" };
        let done = set_members(format, text, &place(&at), &[MemberEdit::set(name, value)]);
        let done = done.unwrap_or_else(|error| panic!("{error}: {text:?}"));
        let read = document::parse(format, &done).expect("it reads");
        assert_eq!(read["mcpServers"]["a"], entry, "{done:?}");
        assert!(!text.contains("mine") || done.contains("// mine"), "{done:?}");
    }
}

/// Takes an entry out of a text by hand, and puts it back.
fn removed_and_put_back(format: Format, before: &str, lines: &str, keys: &[&str]) -> String {
    assert_eq!(before.matches(lines).count(), 1, "{before}");
    let now = parsed(format, &before.replace(lines, "")).expect("it is readable");
    let mut entry = parsed(format, before).expect("it is readable").values;
    let place = place(keys);
    for key in &place {
        entry = entry[key.as_str()].take();
    }
    let (name, section) = place.split_last().expect("a place");
    let is_there = section.iter().try_fold(&now.values, |value, key| value.get(key)).is_some_and(Value::is_object);
    let member = MemberEdit { name: name.clone(), value: Some(entry.clone()) };
    let values = if is_there {
        EntryEdit { place: section.to_vec(), members: vec![member] }
    } else {
        EntryEdit { place: Vec::new(), members: vec![MemberEdit::set(&section[0], json!({name.as_str(): entry}))] }
    };
    text_of(put_back(format, &now, &place, &values, before)).unwrap_or_else(|error| panic!("{error}: {before:?}"))
}

#[test]
fn an_entry_of_lines_that_was_removed_gets_its_lines_back_behind_the_others() {
    let (a, b) = ("  a:\n    cmd: x # runs\n    args: [ \"-u\" ]\n", "  b:\n    cmd: y\n");
    let yaml = format!("# mine\nextensions:\n{a}{b}\n# the model\nmodel: z\n");
    assert_eq!(removed_and_put_back(Format::Yaml, &yaml, b, &["extensions", "b"]), yaml);
    let moved = format!("# mine\nextensions:\n{b}{a}\n# the model\nmodel: z\n");
    assert_eq!(removed_and_put_back(Format::Yaml, &yaml, a, &["extensions", "a"]), moved);
    let only = format!("model: z\nextensions:\n{a}");
    let section = format!("extensions:\n{a}");
    assert_eq!(removed_and_put_back(Format::Yaml, &only, &section, &["extensions", "a"]), only, "with its section");

    let table = "\n[mcp_servers.b]\nurl = 'http://h' # mine\n";
    let toml = format!("model = \"x\"\n\n[mcp_servers.a]\ncommand = \"npx\"\n{table}");
    assert_eq!(removed_and_put_back(Format::Toml, &toml, table, &["mcp_servers", "b"]), toml);
}

#[test]
fn an_entry_whose_lines_do_not_fit_any_more_is_put_back_with_its_values_or_refused() {
    let a = "  a:\n    cmd: x\n";
    let before = format!("extensions:\n{a}  b:\n    cmd: y\n");
    let edit = EntryEdit { place: place(&["extensions"]), members: vec![MemberEdit::set("a", json!({"cmd": "x"}))] };
    for now in ["extensions: {}\n", "extensions:\n      b:\n        cmd: y\n"] {
        let now = parsed(Format::Yaml, now).expect("it is readable");
        let done = put_back(Format::Yaml, &now, &place(&["extensions", "a"]), &edit, &before);
        // For YAML a refusal is a normal outcome; what is written has the values that it should have.
        if let Ok(done) = done {
            assert_eq!(done.values["extensions"]["a"], json!({"cmd": "x"}), "{}", done.text);
            assert_eq!(document::parse(Format::Yaml, &done.text), Ok(done.values), "{}", done.text);
        }
    }
}

/// A file as Claude Code writes it, with a history of four megabytes.
fn large(servers: usize) -> (String, Vec<EntryEdit>) {
    let history: Vec<String> = (0..40_000).map(|n| format!("line {n} of a long history {}", "x".repeat(80))).collect();
    let entry = json!({"command": "npx", "args": ["-y", "server"], "env": {"KEY": "s"}});
    let entries: Map<String, Value> = (0..servers).map(|n| (format!("s{n}"), entry.clone())).collect();
    let value = json!({
        "numStartups": 7,
        "projects": {"/srv/one": {"history": history, "mcpServers": {"near": entry}}},
        "mcpServers": entries,
    });
    let text = serde_json::to_string_pretty(&value).expect("JSON");
    assert!(text.len() > 4_000_000, "as large as the design says: {}", text.len());
    let places = (0..servers).map(|n| place(&["mcpServers", &format!("s{n}")]));
    let places = places.chain([place(&["projects", "/srv/one", "mcpServers", "near"])]);
    (text, places.map(|place| EntryEdit { place, members: bridge() }).collect())
}

#[test]
fn a_file_of_four_megabytes_is_edited_in_time() {
    let (text, edits) = large(5);
    let before = parsed(Format::Json, &text).expect("it reads");
    let begun = std::time::Instant::now();
    let done = apply(Format::Json, &before, &edits).expect("it can be edited").text;
    let took = begun.elapsed();
    println!("an edit of {} bytes took {took:?}", text.len());
    // A debug build on a busy machine; with a syntax tree of the whole text it is more than a minute.
    assert!(took < std::time::Duration::from_secs(10), "{took:?}");
    let (old, new) = (lines(&text), lines(&done));
    let (head, tail) = common_lines(&old, &new);
    assert!(head > 2 && tail > 2, "{head} and {tail} lines are kept");
    assert_eq!(done.matches("/usr/bin/taskwarden").count(), 6);
}

#[test]
fn an_edit_parses_its_result_once_and_nothing_else_however_many_entries_it_has() {
    let (text, edits) = large(5);
    let before = parsed(Format::Json, &text).expect("it reads");
    let parsed_before = document::PARSED.get();
    apply(Format::Json, &before, &edits).expect("it can be edited");
    assert_eq!(document::PARSED.get() - parsed_before, 1, "only the proof parses");
}

#[test]
fn an_edit_in_the_outline_gives_the_bytes_of_an_edit_in_the_whole_text() {
    let long = "x".repeat(200);
    for (format, text) in json_texts() {
        let text = text.replace("1e3]", &format!("1e3, \"{long}\"]"));
        let plain = split_mark(&text).1;
        let edits = ["a", "b"].map(|name| EntryEdit { place: place(&["mcpServers", name]), members: bridge() });
        let in_outline = edit_in_outline(format, plain, &edits);
        match format {
            Format::Json => assert_eq!(in_outline, edit_all(format, plain, &edits), "{plain:?}"),
            Format::Jsonc | Format::Toml | Format::Yaml => {
                assert_eq!(in_outline, None, "comments need the whole text: {plain:?}");
            }
        }
    }
}

#[test]
fn an_edit_outside_of_its_entry_would_be_noticed() {
    let text = "a = 1 # one\n\n[mcp_servers.a]\ncommand = \"x\"\n";
    let at = place(&["mcp_servers", "a"]);
    let of = |text: &str| outside::of_entries(Format::Toml, text, &[&at]).expect("it is there");
    assert_eq!(of(text), of(&text.replace("\"x\"", "\"y\"")));
    assert_ne!(of(text), of(&text.replace("# one", "# two")), "a comment has no value, and is seen all the same");
    let json = "{ \"x\" : 1, \"a\": {\"b\": 2} }";
    let at = place(&["a"]);
    let of = |text: &str| outside::of_entries(Format::Json, text, &[&at]).expect("it is there");
    assert_eq!(of(json), of(&json.replace('2', "3")));
    assert_ne!(of(json), of(&json.replace("\"x\" :", "\"x\":")), "a blank is a byte as well");
    let yaml = "# one\nx:\n  a:\n    cmd: y\n  b:\n    cmd: z\n";
    let at = place(&["x", "a"]);
    let of = |text: &str| outside::of_entries(Format::Yaml, text, &[&at]).expect("it is there");
    assert_eq!(of(yaml), of(&yaml.replace("cmd: y", "cmd: yy")));
    assert_ne!(of(yaml), of(&yaml.replace("cmd: z", "cmd: zz")));
}
