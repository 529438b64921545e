use super::*;
use crate::catalog::Role;
use crate::judge::WithoutProof;
use std::fs;
use std::time::Duration;

/// Writes files `name -> text` into a folder and loads them in that order.
fn load_files(files: &[(&str, &str)], set: &[&str]) -> (tempfile::TempDir, Result<Settings, ConfigError>) {
    let folder = tempfile::tempdir().unwrap();
    let mut sources =
        Sources { set: set.iter().map(|set| (*set).to_owned()).collect(), ..Sources::default() };
    for (name, text) in files {
        let path = folder.path().join(name);
        fs::write(&path, text).unwrap();
        sources.files.push(path);
    }
    let loaded = load(&sources);
    (folder, loaded)
}

fn error(text: &str) -> String {
    let (folder, loaded) = load_files(&[("a.toml", text)], &[]);
    let error = loaded.expect_err(text).to_string();
    error.replace(&folder.path().display().to_string(), "DIR")
}

#[test]
fn the_shipped_defaults_are_good() {
    let settings = load(&Sources::default()).unwrap();
    assert_eq!(settings.policy.min_age, Duration::from_secs(120));
    assert_eq!(settings.policy.confirm, Duration::from_secs(20));
    assert_eq!(settings.policy.without_proof, WithoutProof::Report);
    assert_eq!((settings.mode, settings.policy.trees_per_sweep), (Mode::Enforce, 200));
    assert_eq!(settings.timing.browser_grace, Duration::from_secs(20));
    assert!(settings.own.is_empty());
}

#[test]
fn later_layers_win_and_say_where_a_value_comes_from() {
    let files =
        [("a.toml", "[orphan]\nmin_age = '5m'\nconfirm = '1s'\n"), ("b.toml", "orphan.min_age = '7m'\n")];
    let (_folder, loaded) =
        load_files(&files, &["orphan.confirm=3s", "mode=observe", "limits.trees_per_sweep=5"]);
    let settings = loaded.unwrap();
    assert_eq!(settings.policy.min_age, Duration::from_secs(420));
    assert_eq!(settings.policy.confirm, Duration::from_secs(3));
    assert_eq!((settings.mode, settings.policy.trees_per_sweep), (Mode::Observe, 5));
    let origin = |key: &str| settings.shown.iter().find(|shown| shown.key == key).unwrap().origin.to_string();
    assert!(origin("orphan.min_age").ends_with("b.toml:1"), "{}", origin("orphan.min_age"));
    assert_eq!(origin("orphan.confirm"), "--set orphan.confirm=3s");
    assert_eq!(origin("reap.grace"), "built-in default.toml");
}

#[test]
fn mistakes_are_named_with_file_line_and_a_way_out() {
    let rows = [
        (
            "[orphan]\nminage = '5m'\n",
            "DIR/a.toml:2: unknown key `orphan.minage`; did you mean `orphan.min_age`?",
        ),
        (
            "[reap]\ngrace = 5\n",
            "DIR/a.toml:2: `reap.grace` is 5, which is no duration; write it like \"20s\", \"2m\" or \"1h 30m\"",
        ),
        ("[reap]\ngrace = '-5s'\n", "no duration"),
        ("[reap]\ngrace = '290000y'\n", "no duration"),
        ("[reap]\ngrace = '9000000000000000000s'\n", "must not be longer than a year"),
        ("[reap]\ngrace = '0s'\n", "must be longer than 0s"),
        ("[reap]\nsettle = '60s'\n", "DIR/a.toml:2: `reap.settle` must not be longer than reap.grace"),
        ("[reap]\nbrowser_grace = '1s'\n", "must not be shorter than reap.grace"),
        ("[orphan]\nwithout_proof_after = '1s'\n", "must not be shorter than orphan.min_age"),
        (
            "mode = 'enforced'\n",
            "DIR/a.toml:1: `mode` is \"enforced\"; it must be \"enforce\" or \"observe\"",
        ),
        ("mode = true\n", "`mode` cannot be a boolean"),
        ("[limits]\ntrees_per_sweep = -1\n", "must be a whole number"),
        ("[limits]\ntrees_per_sweep = 0\n", "must be at least 1"),
        ("[state]\ndirectory = 'here'\n", "must be an absolute path"),
        ("[state]\nruntime_directory = 'here'\n", "must be an absolute path"),
        ("[look]\ninterval = '100ms'\n", "must be at least 1s"),
        ("a = [\n", "DIR/a.toml:1: is no TOML"),
        (
            "\n[[server]]\nname = 'x'\npakage = 'y'\n",
            "DIR/a.toml:4: [[server]]: unknown key `pakage`; did you mean `package`?",
        ),
        ("[[server]]\nprogram = 'y'\n", "missing field `name`"),
        ("[[server]]\nname = 'x'\n", "DIR/a.toml:1: pattern \"x\": names nothing"),
        ("[[server]]\nname = 'x'\ncmdline = '.*'\n", "matches everything"),
        ("[[server]]\nname = 'x'\ncmdline = '('\n", "no regular expression"),
        ("[[server]]\nname = 'x'\npackage = '*'\n", "matches everything"),
        ("[[server]]\nname = 'x'\nprogram = 'node'\n", "every Node.js program"),
        ("[[server]]\nname = 'x'\nprogram = 'python3.12'\n", "every Python program"),
        ("[[server]]\nname = 'x'\npath = '/usr/bin/node'\nsubcommand = ''\n", "every Node.js program"),
        ("[[server]]\nname = 'x'\npath = '**/xonsh'\n", "every shell"),
        ("[[server]]\nname = 'x'\ncmdline = '.'\n", "would also name `claude`"),
        ("[[server]]\nname = 'x'\ncmdline = 'sweep'\n", "would also name `orphand sweep`"),
        ("[[server]]\nname = 'x'\nprogram = 'c*'\n", "would also name `claude`"),
        ("[[spare]]\nname = 'x'\n", "has no condition"),
        ("[[spare]]\nname = 'x'\nuser = 'nobody-of-this-name'\n", "there is no user"),
        ("[[protect]]\nname = 'x'\nuzer = 'root'\n", "did you mean `user`?"),
        ("[spare]\nbrowser_for = '1h'\n[[spare]]\nname = 'x'\nuser = 'root'\n", "write [[protect]]"),
    ];
    for (text, expected) in rows {
        let found = error(text);
        assert!(found.contains(expected), "{text:?}\n  gives    {found}\n  expected {expected}");
    }
}

#[test]
fn every_mistake_is_said_at_once() {
    let found = error("mode = 'x'\n[orphan]\nmin_age = 'y'\nfoo = 1\n");
    assert_eq!(found.lines().count(), 3, "{found}");
}

#[test]
fn files_that_are_missing_are_passed_over_unless_they_were_asked_for() {
    let mut sources = Sources { files: vec!["/nowhere/a.toml".into()], ..Sources::default() };
    assert!(load(&sources).is_ok());
    sources.explicit = Some("/nowhere/b.toml".into());
    let error = load(&sources).unwrap_err().to_string();
    assert!(error.contains("/nowhere/b.toml: cannot be read"), "{error}");
}

#[test]
fn the_machines_daemon_reads_only_files_that_nobody_else_can_write() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.toml");
    fs::write(&path, "").unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o666)).unwrap();
    let sources = Sources { files: vec![path], only_roots_files: true, ..Sources::default() };
    assert!(load(&sources).unwrap_err().to_string().contains("must belong to root"));
}

#[test]
fn set_takes_bare_words_and_toml_and_refuses_the_rest() {
    let set = |set: &str| load_files(&[], &[set]).1;
    assert!(
        set("mode=observe").is_ok() && set("mode=\"observe\"").is_ok() && set(" mode = observe ").is_ok()
    );
    assert!(set("protect=[{name='x', user='root'}]").is_ok());
    assert!(set("protect=[{name='x', program='bash'}]").is_ok(), "a rule may protect every shell");
    assert!(set("nonsense").unwrap_err().to_string().contains("key=value"));
    assert!(set("mode=").unwrap_err().to_string().contains("it must be"));
    assert!(set("orphan.min_agee=1s").unwrap_err().to_string().contains("did you mean `orphan.min_age`?"));
}

#[test]
fn what_discover_wrote_gives_way_to_what_a_person_wrote() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    std::fs::create_dir(path("conf.d")).unwrap();
    std::fs::write(
        path("config.toml"),
        "[live]\ncopies = 8\n[[server]]\nname = \"mine\"\nprogram = \"acme\"\n",
    )
    .unwrap();
    std::fs::write(
        path("conf.d/discovered.toml"),
        "[live]\ncopies = 3\nidle_for = \"2h\"\n[[server]]\nname = \"found\"\nprogram = [\"acme\", \"acme-mcp\"]\n",
    )
    .unwrap();
    let files = vec![path("config.toml"), path("conf.d/discovered.toml")];
    let settings = load(&Sources { files: files.clone(), ..Sources::default() }).unwrap();
    assert_eq!((settings.policy.live.copies, settings.policy.live.idle_for.as_secs()), (8, 7200));
    let named = |line: &str| {
        let found = settings.catalog.classify(&[line.to_owned()]).unwrap();
        settings.catalog.pattern(found.pattern.unwrap()).name.clone()
    };
    assert_eq!((named("acme"), named("acme-mcp")), ("mine".to_owned(), "found".to_owned()));
    // Whatever a person names comes first, be it by a weaker word.
    std::fs::write(path("config.toml"), "[[client]]\nname = \"agent\"\npath = \"/x/bin/acme-mcp\"\n")
        .unwrap();
    let settings = load(&Sources { files: files.clone(), ..Sources::default() }).unwrap();
    let found = settings.catalog.classify(&["/x/bin/acme-mcp".to_owned()]).unwrap();
    assert_eq!(found.role, Role::Client);
    // What a file would be like is read in its place, be it there or not.
    let instead = Some((path("conf.d/discovered.toml"), "[live]\ncopies = no\n".to_owned()));
    let error =
        load(&Sources { files: files[..1].to_vec(), instead, ..Sources::default() }).unwrap_err().to_string();
    assert!(error.contains("discovered.toml:2"), "{error}");
}
