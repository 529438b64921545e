//! What `KERN_PROCARGS2` gives: a count, the program's path, its arguments and its environment. Nothing here needs a Mac.

/// A process's arguments and the entries of its environment, as they stand in the buffer.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct Arguments {
    /// The program first; lossy UTF-8.
    pub(super) arguments: Vec<String>,
    /// `NAME=value`, each ended by NUL.
    pub(super) environment: Vec<u8>,
}

/// Takes the buffer apart; `None` for what is no such buffer.
pub(super) fn parse(buffer: &[u8]) -> Option<Arguments> {
    let (count, rest) = buffer.split_first_chunk::<4>()?;
    let count = usize::try_from(i32::from_ne_bytes(*count)).ok()?;
    // The path ends with as many NULs as it takes to align what follows.
    let end = rest.iter().position(|byte| *byte == 0)?;
    let rest = &rest[end..];
    let start = rest.iter().position(|byte| *byte != 0).unwrap_or(rest.len());
    let mut rest = &rest[start..];
    let mut arguments = Vec::new();
    while arguments.len() < count {
        let end = rest.iter().position(|byte| *byte == 0)?;
        arguments.push(String::from_utf8_lossy(&rest[..end]).into_owned());
        rest = &rest[end + 1..];
    }
    // The environment ends with an empty entry; what follows is the kernel's own.
    let end = rest.windows(2).position(|pair| pair == [0, 0]).map_or(rest.len(), |end| end + 1);
    Some(Arguments { arguments, environment: rest[..end].to_vec() })
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
}
