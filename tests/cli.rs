//! Transcripts: what the commands print, word for word. `TRYCMD=overwrite cargo test --test cli` writes them anew.

#[test]
fn transcripts() {
    let cases = trycmd::TestCases::new();
    cases.env("HOME", "/nonexistent").env("XDG_CONFIG_HOME", "/nonexistent").env("NO_COLOR", "1");
    cases.default_bin_name("orphand").case("tests/cli/*.md");
    cases.run();
}
