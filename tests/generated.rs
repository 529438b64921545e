//! What is made from the program and shipped with it. `GENERATED=overwrite cargo test --test generated` makes it anew.

use std::path::Path;
use std::process::Command;

fn orphand(arguments: &[&str]) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_orphand")).args(arguments).env("NO_COLOR", "1").output();
    let output = output.expect("orphand runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("UTF-8")
}

fn assert_is_committed(path: &str, wanted: &str) {
    if std::env::var("GENERATED").is_ok_and(|value| value == "overwrite") {
        std::fs::create_dir_all(Path::new(path).parent().expect("a folder")).expect("made");
        std::fs::write(path, wanted).expect("written");
    }
    let committed = std::fs::read_to_string(path).unwrap_or_default();
    assert!(committed == wanted, "{path} is stale: GENERATED=overwrite cargo test --test generated");
}

#[test]
fn the_manual_page_is_what_the_program_says() {
    let page = orphand(&["man"]);
    for word in ["SH NAME", "orphand sweep", "SH OPTIONS", "EXIT STATUS", "/etc/orphand/config.toml"] {
        assert!(page.contains(word), "no {word}");
    }
    assert_is_committed("packaging/orphand.1", &page);
}

#[test]
fn the_completions_are_what_the_program_says() {
    for (shell, path) in [
        ("bash", "packaging/completions/orphand.bash"),
        ("zsh", "packaging/completions/_orphand"),
        ("fish", "packaging/completions/orphand.fish"),
    ] {
        let text = orphand(&["completions", shell]);
        assert!(text.contains("uninstall") && text.contains("purge"), "{shell} knows too little");
        assert_is_committed(path, &text);
    }
}

/// The package's configuration file sets nothing: what is built in may become better with an upgrade.
#[test]
fn the_packaged_configuration_is_the_default_one_commented_out() {
    let default = orphand(&["config", "default"]);
    let (_, body) = default.split_once("\n\n").expect("a head");
    let head = "# The configuration of orphand for the whole machine; a user's own is ~/.config/orphand/config.toml.\n\
        # What is commented out below is built in. Files in conf.d/ beside this one win over it. `orphand config check` says what\n\
        # is wrong, `systemctl reload orphand` makes it count.\n#\n\
        # Durations are text: \"20s\", \"2m\", \"1h 30m\".\n\n";
    let quiet = |line: &str| {
        let is_setting = line.contains(" = ") && !line.starts_with('#');
        format!("{}{line}\n", if is_setting { "#" } else { "" })
    };
    let text = head.to_owned() + &body.lines().map(quiet).collect::<String>();
    assert_is_committed("packaging/config.toml", &text);
    let shown = orphand(&["--config", "packaging/config.toml", "config", "show"]);
    assert!(!shown.contains("packaging/config.toml"), "it sets something: {shown}");
    assert!(shown.contains("min_age"), "{shown}");
}
