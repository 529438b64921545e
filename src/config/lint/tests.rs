use super::*;
use crate::config::{Sources, load};
use std::io::Write;

fn warnings_of(text: &str) -> Vec<String> {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(text.as_bytes()).unwrap();
    let settings = load(&Sources { explicit: Some(file.path().to_owned()), ..Sources::default() }).unwrap();
    warnings(&settings).into_iter().map(|warning| warning.text).collect()
}

#[test]
fn no_word_of_the_shipped_catalog_is_dead() {
    for (role, text) in crate::config::shipped() {
        for sample in Sample::all_of(&text) {
            let never = sample.never_matches(role, &text);
            assert_eq!(never, None, "{role:?} {:?}, held against {:?}", text.name, sample.line);
        }
    }
}

#[test]
fn a_word_that_fits_no_command_line_is_said_with_what_to_write() {
    let rows = [
        ("package = \"acme@1.2\"", "without its version"),
        ("package = \"npx acme\"", "it is one name"),
        ("program = \"/usr/bin/acme\"", "write `path`"),
        ("script = \"/opt/acme.py\"", "write `path`"),
        ("script = \"~/acme.py\"", "`~` is not filled in"),
        ("module = \"tools/acme.py\"", "write `script`"),
        ("image = \"acme/x:2\"", "without its tag"),
        ("path = \"~/acme/x.js\"", "`~` is not filled in"),
        ("path = \"acme/x.js\"", "begin it with `/`"),
        ("directory = \"acme\"", "begin it with `/`"),
        ("package = \"acme\"\nsubcommand = \"--mcp\"", "write `argument`"),
        ("package = \"acme\"\nexcept = \"ac*\"", "takes it out again"),
    ];
    for (keys, hint) in rows {
        let found = warnings_of(&format!("[[server]]\nname = \"it\"\n{keys}\n"));
        assert!(
            found.len() == 1 && found[0].contains("never matches") && found[0].contains(hint),
            "{keys}: {found:?}"
        );
    }
    let rules = warnings_of(
        "[[protect]]\nname = \"p\"\nprogram = \"/usr/bin/acme\"\n[[protect]]\nname = \"q\"\ncgroup = \"system.slice/*\"\n",
    );
    assert!(rules.len() == 2 && rules.iter().all(|text| text.contains("protects nothing")), "{rules:?}");
}

#[test]
fn patterns_that_stand_in_each_others_way_are_said() {
    let twice = "[[server]]\nname = \"a\"\nprogram = \"acme\"\n[[server]]\nname = \"b\"\nprogram = [\"acme\", \"other\"]\n";
    let found = warnings_of(twice);
    assert!(
        found.len() == 1 && found[0].contains("\"b\": program = \"acme\" never counts: the server \"a\""),
        "{found:?}"
    );
    let found = warnings_of("[[server]]\nname = \"a\"\npackage = \"mcp-remote\"\n");
    assert!(
        found.len() == 1
            && found[0].contains("from the shipped server \"mcp-remote\", which says listens = true"),
        "{found:?}"
    );
    let found = warnings_of("[[server]]\nname = \"a\"\npath = \"/opt/**/claude\"\n");
    assert!(
        found.len() == 1 && found[0].contains("never counts: the shipped client \"claude\""),
        "{found:?}"
    );
    let found = warnings_of("[[server]]\nname = \"a\"\nprogram = \"pytest\"\n");
    assert!(found.len() == 1 && found[0].contains("also names `"), "{found:?}");
    let found = warnings_of(
        "[[server]]\nname = \"a\"\ncmdline = \"acme.*rpc\"\nexamples = [\"acme x\", \"acme rpc\", \"claude acme rpc\"]\n",
    );
    assert!(found.len() == 2 && found[0].contains("does not match its example `acme x`"), "{found:?}");
    assert!(found[1].contains("`claude acme rpc` goes to the shipped client \"claude\""), "{found:?}");
}

#[test]
fn good_patterns_are_not_complained_of() {
    let good = "[[server]]\nname = \"a\"\npackage = \"@acme/billing-mcp\"\n\
        [[server]]\nname = \"b\"\npath = [\"/opt/[[]x[]]/**/*.js\", \"**/acme/{a,b}/run\"]\nexamples = [\"node /opt/[x]/y/z.js\"]\n\
        [[server]]\nname = \"c\"\nprogram = \"acme\"\nsubcommand = [\"rpc serve\", \"mcp\"]\nargument = \"--std*\"\n\
        [[server]]\nname = \"d\"\ndirectory = \"/opt/acme\"\nrun_by = \"bun\"\nonly = \"serve\"\n\
        [[server]]\nname = \"h\"\npackage = \"@acme/tools\"\nonly = \"acme-mcp\"\n\
        [[server]]\nname = \"i\"\npath = \"/opt/acme/x.js\"\nsubcommand = \"\"\n\
        [[server]]\nname = \"j\"\npackage = \"@acme/files\"\nsubcommand = \"/**\"\n\
        [[launcher]]\nname = \"e\"\nscript = \"bin/wrap.py\"\n\
        [[client]]\nname = \"f\"\nprogram = \"our-agent\"\n\
        [[protect]]\nname = \"g\"\ncgroup = \"/system.slice/**\"\nuser = \"root\"\n";
    assert_eq!(warnings_of(good), Vec::<String>::new());
}
