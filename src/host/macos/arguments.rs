//! What `KERN_PROCARGS2` gives: a count, the program's path, its arguments and its environment. Nothing here needs a Mac.

/// A process's arguments and environment, as they stand in the buffer.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct Arguments {
    /// The program first; lossy UTF-8.
    pub(super) arguments: Vec<String>,
    /// `NAME=value`, each ended by NUL, up to the first empty one.
    pub(super) environment: Vec<u8>,
    /// Everything behind the program's path, whatever it is.
    pub(super) everything: Vec<u8>,
}

/// Takes the buffer apart; `None` for what is no such buffer, or cannot be told apart: a title that a process has written over
/// its arguments may have left no NULs between them, and then what is counted as arguments is environment in part.
pub(super) fn parse(buffer: &[u8]) -> Option<Arguments> {
    let (count, rest) = buffer.split_first_chunk::<4>()?;
    let count = usize::try_from(i32::from_ne_bytes(*count)).ok()?;
    // The path ends with as many NULs as it takes to align what follows.
    let end = rest.iter().position(|byte| *byte == 0)?;
    let everything = after_nuls(&rest[end..]);
    let mut rest = everything;
    let mut arguments = Vec::new();
    while arguments.len() < count {
        let end = rest.iter().position(|byte| *byte == 0)?;
        arguments.push(String::from_utf8_lossy(&rest[..end]).into_owned());
        rest = &rest[end + 1..];
    }
    // What was swallowed stands at the end.
    if arguments.iter().skip(1).rfind(|word| !word.is_empty()).is_some_and(|word| is_variable(word)) {
        return None;
    }
    // A short title is padded.
    while arguments.len() > 1 && arguments.last().is_some_and(String::is_empty) {
        arguments.pop();
    }
    let rest = after_nuls(rest);
    // What follows an empty entry is the kernel's own, and another one for each process.
    let end = rest.windows(2).position(|pair| pair == [0, 0]).map_or(rest.len(), |end| end + 1);
    Some(Arguments { arguments, environment: rest[..end].to_vec(), everything: everything.to_vec() })
}

fn after_nuls(bytes: &[u8]) -> &[u8] {
    &bytes[bytes.iter().position(|byte| *byte != 0).unwrap_or(bytes.len())..]
}

/// `NAME=value`, as an environment has it.
fn is_variable(word: &str) -> bool {
    let is_of_name = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
    word.split_once('=').is_some_and(|(name, _)| !name.is_empty() && name.chars().all(is_of_name))
}

#[cfg(test)]
mod tests {
    use super::parse;

    fn buffer(count: i32, rest: &[u8]) -> Vec<u8> {
        [&count.to_ne_bytes(), rest].concat()
    }

    #[test]
    fn arguments_and_environment_are_taken_apart() {
        let text = b"/usr/local/bin/node\0\0\0\0\0node\0/x/foo-mcp\0--stdio\0ORPHAND=keep\0HOME=/Users/ann\0\0ptr_munge=\0";
        let parsed = parse(&buffer(3, text)).unwrap();
        assert_eq!(parsed.arguments, ["node", "/x/foo-mcp", "--stdio"]);
        assert_eq!(parsed.environment, b"ORPHAND=keep\0HOME=/Users/ann\0");
    }

    #[test]
    fn empty_arguments_and_no_environment_are_kept_apart() {
        let parsed = parse(&buffer(3, b"/bin/x\0\0x\0\0y\0")).unwrap();
        assert_eq!(parsed.arguments, ["x", "", "y"]);
        assert!(parsed.environment.is_empty());
        assert!(parse(&buffer(0, b"/bin/x\0")).unwrap().arguments.is_empty());
    }

    #[test]
    fn what_was_cut_off_or_is_nonsense_gives_nothing() {
        for bad in [buffer(5, b"/bin/x\0x\0y\0"), buffer(-1, b"/x\0x\0"), buffer(1, b"/x"), vec![1, 2]] {
            assert_eq!(parse(&bad), None, "{bad:?}");
        }
    }

    #[test]
    fn a_title_over_the_arguments_does_not_make_arguments_of_the_environment() {
        // libuv pads a short title, and leaves one NUL behind a long one.
        let short =
            parse(&buffer(4, b"/x/node\0\0npm exec foo-mcp\0\0\0\0\0\0\0ORPHAND=keep\0HOME=/\0\0")).unwrap();
        assert_eq!(short.arguments, ["npm exec foo-mcp"]);
        assert_eq!(short.environment, b"ORPHAND=keep\0HOME=/\0");
        let long = buffer(
            3,
            b"/x/node\0\0my-mcp-server-with-a-long-title\0ORPHAND=keep\0API_KEY=secret\0HOME=/\0\0",
        );
        assert_eq!(parse(&long), None);
        // An empty program name is taken for padding, and shifts everything by one.
        assert_eq!(parse(&buffer(2, b"/x/y\0\0\0--stdio\0ORPHAND=keep\0HOME=/\0\0")), None);
        let docker = parse(&buffer(4, b"/x/docker\0docker\0-e\0A=1\0mcp/time\0HOME=/\0\0")).unwrap();
        assert_eq!(docker.arguments, ["docker", "-e", "A=1", "mcp/time"]);
    }

    #[test]
    fn marks_are_looked_for_behind_an_empty_entry_as_well() {
        let parsed = parse(&buffer(1, b"/x/y\0y\0A=1\0\0ORPHAND=keep\0\0")).unwrap();
        assert_eq!(parsed.environment, b"A=1\0");
        assert!(parsed.everything.windows(12).any(|part| part == b"ORPHAND=keep"));
    }
}
