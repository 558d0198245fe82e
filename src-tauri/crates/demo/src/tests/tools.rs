//! What the tools do on disk, against the programs that everybody trusts.

use std::path::Path;
use std::process::Command;

use serde_json::{Map, Value, json};

use super::peer::{Peer, declaring, quick, text};

/// The tool's result for a client without tasks.
async fn run(tool: &str, arguments: Value) -> Value {
    let mut peer = Peer::start(quick());
    peer.result("tools/call", declaring(json!({"name": tool, "arguments": arguments}), json!({}))).await
}

/// The result of tidying `folder` with this answer.
async fn tidy(folder: &Path, answer: Value) -> Value {
    let mut peer = Peer::start(quick());
    let forms = json!({"elicitation": {}});
    let mut call = json!({"name": "tidy_downloads", "arguments": {"folder": folder}});
    let asked = peer.result("tools/call", declaring(call.clone(), forms.clone())).await;
    assert_eq!(asked["resultType"], "input_required", "it asks first: {asked}");
    call["requestState"] = asked["requestState"].clone();
    call["inputResponses"] = json!({"question-1": answer});
    peer.result("tools/call", declaring(call, forms)).await
}

fn shell(folder: &Path, script: &str) -> String {
    let done = Command::new("/bin/sh").args(["-c", script]).current_dir(folder).env("LC_ALL", "C").output();
    String::from_utf8(done.expect("a shell").stdout).expect("text")
}

fn tree() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    let at = |name: &str| folder.path().join(name);
    std::fs::create_dir_all(at("b/deep/er")).expect("folders");
    std::fs::create_dir_all(at("empty")).expect("folders");
    std::fs::write(at("a.txt"), "one two\nthree\t four\u{b}five").expect("a file");
    std::fs::write(at("b/deep/er/c.rs"), "fn main() {}\n").expect("a file");
    std::fs::write(at("b/with space.txt"), vec![b'x'; 700_000]).expect("a file");
    std::fs::write(at("b-c"), "").expect("a file");
    std::fs::write(at("back\\slash.txt"), "odd").expect("a file");
    std::fs::write(at("line\nbreak.txt"), "odder").expect("a file");
    std::fs::write(at("umlaut-ä.md"), "grüße an alle").expect("a file");
    std::fs::write(at("noise.bin"), [0_u8, 1, 2, 255, 10, 32, 7]).expect("a file");
    #[cfg(unix)]
    std::os::unix::fs::symlink("/etc", at("link")).expect("a link");
    folder
}

#[tokio::test]
async fn hash_tree_prints_what_find_and_sha256sum_print() {
    let folder = tree();
    let truth = shell(folder.path(), "find . -type f -print0 | sort -z | xargs -0 sha256sum");
    assert_eq!(truth.lines().count(), 8, "the tree is what the test says: {truth}");
    let result = run("hash_tree", json!({"path": folder.path()})).await;
    let told = text(&result);
    let (lines, summary) = told.trim_end().rsplit_once('\n').expect("lines and a summary");
    assert_eq!(format!("{lines}\n"), truth, "line by line");
    let digest = shell(folder.path(), "find . -type f -print0 | sort -z | xargs -0 sha256sum | sha256sum");
    let digest = digest.split(' ').next().expect("a digest");
    assert_eq!(summary, format!("8 files, digest of the list {digest}"));
    assert_eq!(result["structuredContent"]["digest"], digest);
    assert_eq!(data_lines(&result).join("\n") + "\n", truth, "programs that show only the data show the same");
}

/// The lines of `hash_tree` in its structured content.
fn data_lines(result: &Value) -> Vec<&str> {
    let lines = result["structuredContent"]["lines"].as_array().expect("lines");
    lines.iter().map(|line| line.as_str().expect("text")).collect()
}

#[tokio::test]
async fn lines_that_find_no_room_are_counted_and_stay_in_the_digest() {
    let folder = tree();
    let whole = run("hash_tree", json!({"path": folder.path()})).await;
    let mut policy = quick();
    policy.serving.result_cap_bytes = 500;
    let mut peer = Peer::start(policy);
    let call = declaring(json!({"name": "hash_tree", "arguments": {"path": folder.path()}}), json!({}));
    let cut = peer.result("tools/call", call).await;
    assert_eq!(cut["structuredContent"]["digest"], whole["structuredContent"]["digest"]);
    let left_out = cut["structuredContent"]["linesLeftOut"].as_u64().expect("a count");
    assert!(left_out > 0, "{cut}");
    let lines = text(&cut).lines().filter(|line| line.contains("  ./")).count() as u64;
    assert_eq!(lines + left_out, 8, "none is lost silently: {cut}");
    assert_eq!(data_lines(&cut).len() as u64, lines, "text and data leave out the same: {cut}");
}

#[tokio::test]
async fn index_folder_counts_what_find_and_wc_count() {
    let folder = tree();
    let count = |script: &str| shell(folder.path(), script).trim().parse::<u64>().expect("a number");
    let result = run("index_folder", json!({"path": folder.path()})).await;
    let data = &result["structuredContent"];
    assert_eq!(data["files"], count("find . -type f -printf x | wc -c"), "{data}");
    assert_eq!(data["bytes"], count("find . -type f -exec cat {} + | wc -c"));
    assert_eq!(data["folders"], count("find . -mindepth 1 -type d | wc -l"));
    let words = shell(folder.path(), "cat a.txt | wc -w; cat b/deep/er/c.rs | wc -w; cat 'b/with space.txt' | wc -w");
    let words: u64 = words.lines().map(|line| line.trim().parse::<u64>().expect("a number")).sum();
    // `wc` in the C locale has its own idea of ä and ü; odd.txt has one word, odder one, the greeting three.
    assert_eq!(data["words"], words + 1 + 1 + 3, "words are counted in text only: {data}");
    let ranked = data["byExtension"].as_array().expect("rows");
    assert_eq!(ranked[0]["extension"], "txt", "the largest first");
    assert_eq!(ranked[0]["files"], 4);
}

#[tokio::test]
async fn index_folder_says_the_same_as_text_and_as_data() {
    let folder = tempfile::tempdir().expect("a folder");
    for number in 0..103 {
        std::fs::write(folder.path().join(format!("file.e{number:03}")), "one two".repeat(number + 1)).expect("a file");
    }
    let result = run("index_folder", json!({"path": folder.path()})).await;
    let (told, data) = (text(&result).replace(',', ""), &result["structuredContent"]);
    let number = |value: &Value| value.as_u64().expect("a number");
    let says = |what: &str, count: &Value| {
        let (files, bytes, words) = (number(&count["files"]), number(&count["bytes"]), number(&count["words"]));
        let line = format!("{what}: {files} files {bytes} bytes {words} words\n");
        assert!(told.contains(&line), "`{line}` stands in: {told}");
    };
    for row in data["byExtension"].as_array().expect("rows") {
        says(row["extension"].as_str().expect("text"), row);
    }
    says("other extensions", &data["otherExtensions"]);
    let rows = data["byExtension"].as_array().expect("rows").iter();
    let sum: u64 = rows.chain([&data["otherExtensions"]]).map(|row| number(&row["bytes"])).sum();
    assert_eq!(sum, number(&data["bytes"]), "nothing is left out: {data}");
}

#[tokio::test]
async fn index_folder_names_no_folders_where_there_are_none() {
    let folder = tempfile::tempdir().expect("a folder");
    let first = async || {
        let result = run("index_folder", json!({"path": folder.path()})).await;
        text(&result).lines().next().expect("a line").split_once("`: ").expect("a path").1.to_owned()
    };
    assert_eq!(first().await, "no file was read.");
    std::fs::write(folder.path().join("a.txt"), "one two").expect("a file");
    assert_eq!(first().await, "1 file, 7 bytes, 2 words in text files.");
    std::fs::create_dir(folder.path().join("b")).expect("a folder");
    assert_eq!(first().await, "1 file in 1 folder, 7 bytes, 2 words in text files.");
}

#[tokio::test]
async fn a_path_that_is_no_folder_is_named() {
    let folder = tree();
    for tool in ["hash_tree", "index_folder", "huge_report"] {
        let result = run(tool, json!({"path": folder.path().join("a.txt")})).await;
        assert_eq!(result["isError"], true);
        assert!(text(&result).ends_with("a.txt` is not a folder."), "{result}");
    }
}

#[tokio::test]
async fn a_huge_report_is_as_large_as_asked_for() {
    let folder = tree();
    for tokens in [100_u64, 50_000] {
        let result = run("huge_report", json!({"tokens": tokens, "path": folder.path()})).await;
        let length = text(&result).len() as u64;
        assert!((tokens * 3..tokens * 3 + 4_000).contains(&length), "{tokens} tokens in {length} bytes");
    }
    let result = run("huge_report", json!({"tokens": 2_000, "path": folder.path()})).await;
    assert!(text(&result).contains("b/with space.txt: 700,000 bytes, last changed 2"), "facts first: {result}");
}

fn yes(more: Value) -> Value {
    let mut content = json!({"go": true, "dry_run": false});
    let members: &Map<String, Value> = more.as_object().expect("members");
    content.as_object_mut().expect("an object").extend(members.clone());
    json!({"action": "accept", "content": content})
}

/// Everything below a folder, with what it holds.
fn snapshot(folder: &Path) -> String {
    shell(folder, "find . -mindepth 1 | sort; find . -type f -print0 | sort -z | xargs -0 sha256sum")
}

#[tokio::test]
async fn tidying_touches_nothing_without_a_clear_yes() {
    for answer in [
        json!({"action": "decline"}),
        json!({"action": "cancel"}),
        json!({"action": "accept"}),
        json!({"action": "accept", "content": {"go": false, "dry_run": false}}),
        json!({"action": "accept", "content": {"go": true, "dry_run": true}}),
        json!({"action": "accept", "content": {"go": "true", "dry_run": false}}),
        json!({"action": "accept", "content": {"go": true}}),
        yes(json!({"kinds": ["../escape"]})),
        yes(json!({"kinds": "Images"})),
        yes(json!({"clash": "overwrite"})),
        yes(json!({"at_most": 0})),
        yes(json!({"before": "yesterday"})),
        yes(json!({"min_kib": -1})),
    ] {
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::write(folder.path().join("photo.jpg"), "x").expect("a file");
        let before = snapshot(folder.path());
        let result = tidy(folder.path(), answer.clone()).await;
        assert_eq!(snapshot(folder.path()), before, "{answer}: {result}");
        assert!(text(&result).to_lowercase().contains("nothing was touched"), "{answer} is told truly: {result}");
    }
}

#[tokio::test]
async fn tidying_moves_by_kind_and_leaves_the_rest() {
    let folder = tempfile::tempdir().expect("a folder");
    for (name, bytes) in [
        ("photo.JPG", 10),
        ("big.png", 5_000),
        ("paper.pdf", 10),
        ("song.mp3", 10),
        ("notes", 10),
        (".hidden.jpg", 10),
        ("strange.xyz", 10),
    ] {
        std::fs::write(folder.path().join(name), vec![b'x'; bytes]).expect("a file");
    }
    std::fs::create_dir(folder.path().join("folder.zip")).expect("a folder with an odd name");
    let result = tidy(folder.path(), yes(json!({"kinds": ["Images", "Audio"], "note": "spring \u{1b}clean"}))).await;
    let after = shell(folder.path(), "find . -type f | sort");
    let golden =
        "./.hidden.jpg\n./Audio/song.mp3\n./Images/big.png\n./Images/photo.JPG\n./notes\n./paper.pdf\n./strange.xyz\n";
    assert_eq!(after, golden, "{result}");
    assert!(text(&result).contains("Note: spring clean\n"), "the note comes back, harmless: {result}");
}

#[tokio::test]
async fn tidying_obeys_the_fields_of_the_form() {
    for (fields, moved) in [
        (json!({"at_most": 1}), "./Images/a.png\n"),
        (json!({"at_most": 2.0}), "./Images/a.png\n./Images/b.png\n"),
        (json!({"min_kib": 4.5}), "./Images/c.png\n"),
        (json!({"before": "1999-12-31"}), ""),
        (json!({"before": "2999-12-31"}), "./Images/a.png\n./Images/b.png\n./Images/c.png\n"),
    ] {
        let folder = tempfile::tempdir().expect("a folder");
        for (name, bytes) in [("a.png", 10), ("b.png", 10), ("c.png", 5_000)] {
            std::fs::write(folder.path().join(name), vec![b'x'; bytes]).expect("a file");
        }
        let result = tidy(folder.path(), yes(fields.clone())).await;
        assert_eq!(shell(folder.path(), "find ./Images -type f 2>/dev/null | sort"), moved, "{fields}: {result}");
    }
}

#[tokio::test]
async fn tidying_never_overwrites() {
    for (clash, left, numbered) in [("skip", true, false), ("number", false, true)] {
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::create_dir(folder.path().join("Images")).expect("a folder");
        std::fs::write(folder.path().join("Images/photo.jpg"), "older").expect("a file");
        std::fs::write(folder.path().join("photo.jpg"), "newer").expect("a file");
        let result = tidy(folder.path(), yes(json!({"clash": clash}))).await;
        let older = std::fs::read_to_string(folder.path().join("Images/photo.jpg")).expect("it is there");
        assert_eq!(older, "older", "{clash}: {result}");
        assert_eq!(folder.path().join("photo.jpg").exists(), left, "{clash}: {result}");
        assert_eq!(folder.path().join("Images/photo (1).jpg").exists(), numbered, "{clash}: {result}");
    }
}

#[cfg(unix)]
#[tokio::test]
async fn tidying_never_leaves_the_folder_and_follows_no_link() {
    let outside = tempfile::tempdir().expect("a folder");
    std::fs::write(outside.path().join("treasure.jpg"), "x").expect("a file");
    let folder = tempfile::tempdir().expect("a folder");
    std::os::unix::fs::symlink(outside.path(), folder.path().join("Images")).expect("a trap");
    std::os::unix::fs::symlink(outside.path().join("treasure.jpg"), folder.path().join("link.jpg")).expect("a trap");
    std::fs::write(folder.path().join("photo.jpg"), "x").expect("a file");
    std::fs::write(folder.path().join("song.mp3"), "x").expect("a file");
    let before = snapshot(outside.path());
    let result = tidy(folder.path(), yes(json!({}))).await;
    assert_eq!(snapshot(outside.path()), before, "nothing went out or in: {result}");
    assert!(folder.path().join("photo.jpg").exists(), "its sub-folder is a link, so it stays: {result}");
    assert!(folder.path().join("link.jpg").is_symlink(), "links stay: {result}");
    assert!(folder.path().join("Audio/song.mp3").exists(), "the rest goes on: {result}");
}

#[tokio::test]
async fn without_a_folder_a_sample_is_made_and_asked_about() {
    let mut peer = Peer::start(quick());
    let call = declaring(json!({"name": "tidy_downloads", "arguments": {}}), json!({"elicitation": {}}));
    let asked = peer.result("tools/call", call).await;
    let message = asked["inputRequests"]["question-1"]["params"]["message"].as_str().unwrap_or_default();
    let folder = message.split('`').nth(1).map(Path::new).unwrap_or_else(|| panic!("the folder is named: {asked}"));
    assert!(folder.starts_with(std::env::temp_dir()), "it lies in the temporary folder: {message}");
    assert!(message.contains("3 Images"), "its files are of the kinds that are tidied: {message}");
    std::fs::remove_dir_all(folder).expect("the sample is ours to remove");
}

#[tokio::test]
async fn a_folder_without_known_files_needs_no_question() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut peer = Peer::start(quick());
    let call = declaring(
        json!({"name": "tidy_downloads", "arguments": {"folder": folder.path()}}),
        json!({"elicitation": {}}),
    );
    let result = peer.result("tools/call", call).await;
    assert!(text(&result).starts_with("Nothing to tidy"), "{result}");
}

/// The question of `plan_sorting` and its result with this answer.
async fn plan(arguments: Value, answer: Value) -> (Value, Value) {
    let mut peer = Peer::start(quick());
    let forms = json!({"elicitation": {}});
    let mut call = json!({"name": "plan_sorting", "arguments": arguments});
    let asked = peer.result("tools/call", declaring(call.clone(), forms.clone())).await;
    assert_eq!(asked["resultType"], "input_required", "it asks first: {asked}");
    call["requestState"] = asked["requestState"].clone();
    call["inputResponses"] = json!({"question-1": answer});
    let question = asked["inputRequests"]["question-1"]["params"].clone();
    (question, peer.result("tools/call", declaring(call, forms)).await)
}

fn sorted_by(word: &str) -> Value {
    json!({"action": "accept", "content": {"by": word}})
}

#[tokio::test]
async fn a_plan_says_which_file_would_go_where_and_touches_none() {
    let folder = tempfile::tempdir().expect("a folder");
    for name in ["photo.jpg", "paper.pdf", "notes.md", "strange.xyz"] {
        std::fs::write(folder.path().join(name), "x").expect("a file");
    }
    let before = snapshot(folder.path());
    let (question, result) = plan(json!({"folder": folder.path()}), sorted_by("kind")).await;
    let message = question["message"].as_str().expect("words");
    assert!(message.starts_with("How should 3 files be sorted? I found 1 image and 2 documents."), "{message}");
    assert!(!message.contains('/'), "no path is in the question: {message}");
    let golden = "3 files would be moved into 2 folders. No file was touched.\n\
                  Documents (2): notes.md, paper.pdf\nImages (1): photo.jpg\n";
    assert_eq!(text(&result), golden);
    assert_eq!(result["structuredContent"]["wouldMove"], 3, "text and data say the same: {result}");
    let (_, by_month) = plan(json!({"folder": folder.path()}), sorted_by("month")).await;
    let months = shell(folder.path(), "date -u -r photo.jpg +%Y-%m");
    assert_eq!(by_month["structuredContent"]["folders"][0]["folder"], months.trim(), "as `date` says: {by_month}");
    for answer in [json!({"action": "decline"}), json!({"action": "cancel"}), sorted_by("none"), sorted_by("size")] {
        let (_, result) = plan(json!({"folder": folder.path()}), answer.clone()).await;
        assert!(!text(&result).contains("would be moved"), "{answer}: {result}");
    }
    assert_eq!(snapshot(folder.path()), before, "nothing was touched");
}

#[tokio::test]
async fn without_a_folder_a_plan_is_made_of_a_sample_that_is_gone_afterwards() {
    let (question, result) = plan(json!({}), sorted_by("month")).await;
    let message = question["message"].as_str().expect("words");
    assert!(message.starts_with("How should 8 sample files be sorted?"), "{message}");
    let kinds = question["requestedSchema"]["properties"]["by"]["oneOf"].as_array().expect("choices").clone();
    assert_eq!(kinds.len(), 3, "one choice of three: {question}");
    assert_eq!(result["structuredContent"]["wouldMove"], 8, "{result}");
    let months = result["structuredContent"]["folders"].as_array().expect("folders").len();
    assert!(months >= 3, "the samples are of several months: {result}");
}
