//! `hash_tree`: the SHA-256 of every regular file, in the format of `sha256sum`.
//!
//! The list equals `find . -type f -print0 | LC_ALL=C sort -z | xargs -0 sha256sum` in the folder, and the digest is
//! the SHA-256 of that list. Names that are not UTF-8 are shown with replacement characters but hashed as they are.
//! Unreadable files are counted.

use std::path::Path;

use crate::script_server::script::{ToolCard, ToolLength, ToolNeeds};
use domain::policy::ServingPolicy;
use domain::tokens::grouped;
use serde_json::json;
use sha2::{Digest, Sha256};

use super::schemas::{folder_schema, reads_only, schema};
use crate::folder_walk::{existing, read_all, walk};
use crate::tool_context::{ToolContext, ToolOutcome};

pub(super) fn card(limits: &ServingPolicy) -> ToolCard {
    ToolCard {
        name: "hash_tree",
        title: "Hash a tree",
        description: "Computes the SHA-256 of every regular file below a folder, in the format of `sha256sum`, and \
                      one digest over the whole list. Changes nothing.",
        input_schema: schema(json!({"path": folder_schema("The folder to hash.", limits)}), &["path"]),
        output_schema: Some(json!({
            "type": "object",
            "properties": {
                "lines": {"type": "array", "items": {"type": "string"}}, "linesLeftOut": {"type": "integer"},
                "files": {"type": "integer"}, "unreadable": {"type": "integer"}, "digest": {"type": "string"},
            },
            "required": ["lines", "linesLeftOut", "files", "unreadable", "digest"],
        })),
        annotations: reads_only(),
        length: ToolLength::Long,
        needs: ToolNeeds::Nobody,
    }
}

pub(super) async fn run(context: ToolContext) -> ToolOutcome {
    let root = match existing(context.path("path")).await {
        Ok(root) => root,
        Err(why) => return ToolOutcome::ToolError(why),
    };
    let tell = |found: usize| context.say(format!("{} files found so far", grouped(found as u64)));
    let found = match walk(&root, &context.limits, tell).await {
        Ok(found) => found,
        Err(why) => return ToolOutcome::ToolError(why),
    };
    let mut names: Vec<(Vec<u8>, _)> = found.files.into_iter().map(|path| (bytes_of(&path), path)).collect();
    names.sort_unstable();
    let total = names.len() as u64;
    let (mut hashed, mut unreadable, mut left_out) = (0_u64, found.unreadable, 0_u64);
    let mut whole = Sha256::new();
    let (mut text, mut lines) = (String::new(), Vec::new());
    context.report(format!("0 of {} files", grouped(total)), 0, Some(total));
    for (at, (name, path)) in names.iter().enumerate() {
        let mut digest = Sha256::new();
        match read_all(&root.join(path), |piece| digest.update(piece)).await {
            Ok(()) => {
                let line = line(&hex(&digest.finalize()), name);
                whole.update(&line);
                hashed += 1;
                // The lines are sent twice, as text and as data. The digest and the JSON around them have ample room in
                // half of the cap, escapes included.
                if text.len() + line.len() <= context.limits.result_cap_bytes / 4 {
                    let line = String::from_utf8_lossy(&line);
                    lines.push(line.trim_end_matches('\n').to_owned());
                    text.push_str(&line);
                } else {
                    left_out += 1;
                }
            }
            Err(_) => unreadable += 1,
        }
        let done = at as u64 + 1;
        context.report(format!("{} of {} files", grouped(done), grouped(total)), done, Some(total));
    }
    let digest = hex(&whole.finalize());
    if left_out > 0 {
        text.push_str(&format!("({} more lines left out here, all in the digest)\n", grouped(left_out)));
    }
    if unreadable > 0 {
        text.push_str(&format!("({} files or folders could not be read)\n", grouped(unreadable)));
    }
    text.push_str(&format!("{} files, digest of the list {digest}\n", grouped(hashed)));
    let data = json!({
        "lines": lines, "linesLeftOut": left_out, "files": hashed, "unreadable": unreadable, "digest": digest,
    });
    ToolOutcome::Text(text, Some(data))
}

/// One line of `sha256sum`: names with a backslash or a line break are escaped and marked.
fn line(digest: &str, name: &[u8]) -> Vec<u8> {
    let mut shown = Vec::with_capacity(name.len() + 2);
    shown.extend_from_slice(b"./");
    let mut escaped = false;
    for byte in name {
        let replaced: &[u8] = match byte {
            b'\\' => b"\\\\",
            b'\n' => b"\\n",
            b'\r' => b"\\r",
            other => {
                shown.push(*other);
                continue;
            }
        };
        escaped = true;
        shown.extend_from_slice(replaced);
    }
    let mut line = Vec::with_capacity(digest.len() + shown.len() + 4);
    if escaped {
        line.push(b'\\');
    }
    line.extend_from_slice(digest.as_bytes());
    line.extend_from_slice(b"  ");
    line.extend_from_slice(&shown);
    line.push(b'\n');
    line
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(unix)]
fn bytes_of(path: &Path) -> Vec<u8> {
    use std::os::unix::ffi::OsStrExt;
    path.as_os_str().as_bytes().to_vec()
}

/// Not run here. Separators as `find` has them.
#[cfg(not(unix))]
fn bytes_of(path: &Path) -> Vec<u8> {
    path.to_string_lossy().replace('\\', "/").into_bytes()
}
