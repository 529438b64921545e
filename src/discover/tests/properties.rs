use super::*;
use proptest::prelude::*;

fn word() -> impl Strategy<Value = String> {
    let known: Vec<&'static str> = vec![
        "npx",
        "-y",
        "uvx",
        "--from",
        "uv",
        "run",
        "node",
        "python3",
        "-m",
        "docker",
        "-i",
        "sh",
        "-c",
        "bun",
        "--cwd",
        "env",
        "A=1",
        "--",
        "server.js",
        "dist/index.js",
        "/opt/acme/x.js",
        "acme-billing",
        "@acme/billing",
        "claude",
        "vim",
        "mcp",
        "serve",
        "bash",
        "git",
        "make",
        "pytest",
        "code",
        "ssh",
        "mcp/time",
        "$X",
        "${Y}/z.js",
        "-e",
        "start",
        "npm",
        "exec",
        "exec npx -y acme",
        "tmux",
        "python",
        "~/x",
    ];
    prop_oneof![4 => proptest::sample::select(known).prop_map(str::to_owned), 1 => "[ -~]{0,12}"]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 120, failure_persistence: None, ..ProptestConfig::default() })]

    /// Whatever stands in a configuration: the pattern that comes of it names no ordinary line, no client and no host,
    /// can be loaded, and has no word of the arguments in it.
    #[test]
    fn a_configuration_makes_nothing_else_a_server(words in proptest::collection::vec(word(), 1..7)) {
        thread_local!(static GUARD: Guard = Guard::new());
        let mut words = words;
        words.push("hunter2".to_owned());
        GUARD.with(|guard| {
            let is_argument = Invocation::of(&words).is_some_and(|it| it.arguments.last() == words.last());
            let Derived::Named { pattern, known: None, lines } = derive::derive("it", &words, Path::new("/home/u"), catalog(), guard) else { return Ok(()) };
            let entry = pattern.entry("it");
            prop_assert!(!is_argument || !entry.contains("hunter2"), "{words:?}: {entry}");
            prop_assert!(!is_argument || lines.iter().all(|line| !line.contains("hunter2")), "{words:?}: {lines:?}");
            let body = entry.replacen("[[server]]\n", "", 1);
            let text: crate::catalog::PatternText = toml::from_str(&body).expect("TOML");
            let alone = Catalog::compile([(Role::Server, true, text)]).expect("a good pattern");
            let ordinary = crate::config::ordinary_lines().map(str::to_owned);
            let others = crate::config::shipped();
            let others = others.iter().filter(|(role, _)| *role != Role::Server).flat_map(|(_, text)| text.examples.as_slice().to_vec());
            for line in ordinary.chain(others) {
                let words = shell_words::split(&line).unwrap_or_default();
                let named = Invocation::of_line(&line).is_some_and(|line| !alone.matching(&line, &words).is_empty());
                prop_assert!(!named, "{entry} names {line:?}");
            }
            Ok(())
        })?;
    }
}
