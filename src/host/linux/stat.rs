//! `/proc/PID/stat`, read of every process in every look. Parsed by hand: the procfs crate reads all 52 fields, which
//! costs as much as the kernel takes to write them.

/// `PF_FORKNOEXEC`: forked, and still the program of its parent.
const NEVER_RAN_A_PROGRAM: u32 = 0x40;

/// The fields that a look needs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Stat {
    /// State letter.
    pub(super) state: u8,
    /// Parent, 0 for none in this namespace.
    pub(super) parent: i32,
    /// `PF_*` flags.
    pub(super) flags: u32,
    /// Processor time in user and kernel mode, its own and that of the children it has waited for, in ticks.
    pub(super) cpu_ticks: u64,
    /// Page faults of the children that it has waited for: they grow with every child that ends.
    pub(super) waited_faults: u64,
    /// Start after boot, in ticks.
    pub(super) start_ticks: u64,
    /// Digest of name, size and the beginning of the stack, which the kernel places anew at every `exec`.
    pub(super) program: u64,
}

impl Stat {
    /// Parses a line. The name in parentheses may hold anything, also `) Z 1 (`: only the last parenthesis ends it.
    /// `None` for what is no such line.
    pub(super) fn parse(line: &[u8]) -> Option<Stat> {
        let end = line.iter().rposition(|byte| *byte == b')')?;
        let start = line.iter().position(|byte| *byte == b'(')?;
        let name = line.get(start..end)?;
        // Numbered as in proc_pid_stat(5): the state is field 3.
        let mut fields = line.get(end + 2..)?.split(|byte| *byte == b' ');
        let mut field = |skipped: usize| fields.nth(skipped);
        let state = *field(0)?.first()?;
        let parent = i32::try_from(number(field(0)?)?).ok()?;
        let flags = number(field(4)?)? as u32;
        let waited_faults = number(field(1)?)?;
        let user = number(field(2)?)?;
        let kernel = number(field(0)?)?;
        let children = number(field(0)?)?.saturating_add(number(field(0)?)?);
        let start_ticks = number(field(4)?)?;
        let (size, stack) = (number(field(0)?)?, number(field(4)?)?);
        let forked = u64::from(flags & NEVER_RAN_A_PROGRAM);
        let numbers = [size, stack, forked];
        let program = numbers.into_iter().chain(name.iter().map(|byte| u64::from(*byte))).fold(0, mix);
        let cpu_ticks = user.saturating_add(kernel).saturating_add(children);
        Some(Stat { state, parent, flags, cpu_ticks, waited_faults, start_ticks, program })
    }
}

/// A number in decimal; a negative one counts as nothing. Times of waited-for children are signed, and never below zero.
fn number(digits: &[u8]) -> Option<u64> {
    if let [b'-', rest @ ..] = digits {
        return number(rest).map(|_| 0);
    }
    let valid = !digits.is_empty() && digits.iter().all(u8::is_ascii_digit);
    let add = |sum: u64, digit: &u8| sum.wrapping_mul(10).wrapping_add(u64::from(digit - b'0'));
    valid.then(|| digits.iter().fold(0, add))
}

fn mix(mark: u64, part: u64) -> u64 {
    (mark ^ part).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29)
}

#[cfg(test)]
mod tests {
    use super::*;
    use procfs::FromRead;

    const REST: &str = "S 7 10 11 0 -1 4194560 100 200 3 4 55 66 5 6 20 0 1 0 987654 1000 200 18446744073709551615 1 1 0 \
                        0 0 0 0 4096 0 0 0 0 17 1 0 0 0 0 0 0 0 0 0 0 0 0 0\n";

    #[test]
    fn a_hostile_name_changes_nothing() {
        let names = ["sleep", "a) Z 1 (", ")", "(", "a b) R 0 ", "\n", "x) S 1 1 1 0 -1 0 0", ""];
        for name in names {
            let line = format!("42 ({name}) {REST}");
            let parsed = Stat::parse(line.as_bytes());
            let expected = Stat {
                program: parsed.map_or(0, |stat| stat.program),
                state: b'S',
                parent: 7,
                flags: 4_194_560,
                cpu_ticks: 132,
                waited_faults: 200,
                start_ticks: 987_654,
            };
            assert_eq!(parsed, Some(expected), "{name:?}");
        }
        let mut line = b"42 (\xff\xfe) ".to_vec();
        line.extend_from_slice(REST.as_bytes());
        assert!(Stat::parse(&line).is_some());
    }

    #[test]
    fn another_name_stack_or_size_is_another_program() {
        let mark = |name: &str, rest: &str| {
            Stat::parse(format!("42 ({name}) {rest}").as_bytes()).expect("a line").program
        };
        let usual = mark("node", REST);
        assert_eq!(usual, mark("node", &REST.replace(" 55 66 ", " 77 88 ")), "time goes on");
        assert_eq!(usual, mark("node", &REST.replacen("S 7", "R 1", 1)), "it is adopted");
        let others = [
            mark("npm exec x", REST),
            mark("node", &REST.replace("987654 1000 ", "987654 1004 ")),
            mark("node", &REST.replace("18446744073709551615 1 1 0 ", "18446744073709551615 1 1 7 ")),
            mark("node", &REST.replace("4194560", "4194624")),
        ];
        for (at, other) in others.iter().enumerate() {
            assert_ne!(usual, *other, "{at}");
        }
    }

    #[test]
    fn anything_else_is_nothing() {
        for line in ["", ")", "42 (x", "42 (x) S", "42 (x) S seven 1", "no line at all"] {
            assert_eq!(Stat::parse(line.as_bytes()), None, "{line:?}");
        }
    }

    #[test]
    fn the_procfs_crate_reads_the_same_of_this_very_process() {
        let line = std::fs::read("/proc/thread-self/stat").expect("readable");
        let own = Stat::parse(&line).expect("a line");
        let theirs = procfs::process::Stat::from_read(line.as_slice()).expect("a line");
        assert_eq!((own.parent, own.flags, own.start_ticks), (theirs.ppid, theirs.flags, theirs.starttime));
        assert_eq!(own.waited_faults, theirs.cminflt);
        let theirs_cpu = theirs.utime + theirs.stime + (theirs.cutime + theirs.cstime) as u64;
        assert_eq!((own.cpu_ticks, char::from(own.state)), (theirs_cpu, theirs.state));
    }
}
