//! The audit log as an auditor reads it from a terminal.

use crate::home::Home;

#[test]
fn rows_are_listed_by_filter_and_one_is_shown_with_its_neighbours() {
    let (home, core) = Home::with_demo();
    let id = home.call("tool_error", "{}");
    home.watch(&id);
    let all = home.ok(&["audit", "list", "--json"]).json();
    let rows = all["rows"].as_array().expect("rows").clone();
    assert!(rows.len() > 3 && rows.iter().all(|row| row["fits"] == true), "{all}");
    let newest = rows[0]["number"].as_u64().expect("a number");
    assert_eq!(all["last"].as_u64(), Some(newest), "the newest is first: {all}");

    let of_task = home.ok(&["audit", "list", "--task", &id, "--json"]).json();
    let of_task = of_task["rows"].as_array().expect("rows");
    assert!(!of_task.is_empty() && of_task.len() < rows.len(), "only the rows of the task");
    assert!(of_task.iter().all(|row| row["subject"].as_str().is_some_and(|text| text.contains(&id))), "{of_task:?}");
    assert!(of_task.iter().all(|row| row["server"] == "demo"), "they name its server: {of_task:?}");
    let of_server = home.ok(&["audit", "list", "--server", "demo", "--verb", "serverAdded", "--json"]).json();
    assert_eq!(of_server["rows"].as_array().map(Vec::len), Some(1), "filters narrow each other: {of_server}");

    let page = home.ok(&["audit", "list", "--limit", "2", "--json"]).json();
    let next = page["next"].to_string();
    let second = home.ok(&["audit", "list", "--limit", "2", "--before", &next, "--json"]).json();
    assert_eq!(second["rows"][0], rows[2], "the next page goes on behind the first");

    let added = of_server["rows"][0]["number"].to_string();
    let shown = home.ok(&["audit", "show", &added, "--json"]).json();
    assert_eq!(shown["row"]["detail"]["door"], "terminal", "a decision names its door: {shown}");
    assert_eq!((&shown["isLinked"], &shown["row"]["fits"]), (&true.into(), &true.into()), "{shown}");
    let text = home.ok(&["audit", "show", &added]).out;
    assert!(text.contains("serverAdded") && text.contains("executable:"), "{text}");

    for (args, code, says) in [
        (vec!["audit", "show", "99999"], 4, "there is no row 99999"),
        (vec!["audit", "show", "-1"], 2, "rows have the numbers 1, 2, 3"),
        (vec!["audit", "show", "0"], 2, "rows have the numbers 1, 2, 3"),
        (vec!["audit", "export", "--first", "0"], 2, "rows have the numbers 1, 2, 3"),
        (vec!["audit", "export", "--last", "-4"], 2, "rows have the numbers 1, 2, 3"),
        (vec!["audit", "export", "--first", "3", "--last", "2"], 2, "the range is empty"),
        (vec!["audit", "list", "--verb", "serverAded"], 2, "Did you mean `serverAdded`"),
        (vec!["audit", "list", "--since", "soon"], 2, "`since`"),
        (vec!["audit", "list", "--actor", "robot"], 2, "`person`"),
        (vec!["audit", "list", "--server", "dmeo"], 4, "`demo`"),
    ] {
        let ran = home.run(&args);
        assert_eq!(ran.code, Some(code), "{args:?}: {ran:?}");
        assert!(ran.err.contains(says), "{args:?} says `{says}`: {}", ran.err);
    }
    drop(core);
    let alone = home.ok(&["audit", "list", "--verb", "serverAdded", "--json"]).json();
    assert_eq!(alone["rows"], of_server["rows"], "and without a core, too");
}

#[test]
fn no_export_and_no_report_is_written_into_the_data_folder() {
    let home = Home::new();
    let core = home.serve();
    home.ok(&["agents", "add", "bee"]);
    let link = home.data().with_file_name("report.html");
    std::os::unix::fs::symlink(home.data().join("registry.db"), &link).expect("a link to the registry");
    let places =
        [home.data().join("registry.db"), home.data().join("new.jsonl"), home.data().join("../data/config.toml"), link];
    for place in &places {
        for what in ["export", "report"] {
            let place = place.to_str().expect("a path of text");
            let refused = home.run(&["audit", what, "-o", place]);
            assert_eq!(refused.code, Some(2), "{what}: {refused:?}");
            assert!(refused.err.contains("is in the data folder of Taskwarden"), "{what}: {refused:?}");
        }
    }
    assert!(!places[1].exists() && !home.data().join("config.toml").exists(), "nothing was written");
    drop(core);
    let _core = home.serve();
    let rows = home.ok(&["audit", "list", "--verb", "agentAdded", "--json"]).json();
    assert_eq!(rows["rows"].as_array().map(Vec::len), Some(1), "the registry is whole: {rows}");
}
