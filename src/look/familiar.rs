//! Processes that earlier looks found to be nobody, so that a daemon need not read their command lines each time.

use crate::memory::Memory;
use crate::process::{Fact, Pid, Process, ProcessTable};
use crate::tree::{Adopters, Roles};
use std::collections::HashMap;
use std::time::Duration;

/// A process younger than this may still become another program or take another name, in ways that its mark does not show.
const YOUNG: Duration = Duration::from_secs(60);

/// Whom no pattern names, by number: when it started and the mark of its program. Nothing else is kept of them.
///
/// Good for finding candidates only. Before anything is signalled everything is read anew, without this.
#[derive(Debug, Default)]
pub struct Familiar(HashMap<Pid, (u64, u64)>);

impl Familiar {
    /// Whether its command line need not be read: an earlier look knew it as nobody, and it still runs the same program.
    pub(super) fn knows(&self, process: &Process, memory: &Memory) -> bool {
        let known = self.0.get(&process.pid());
        known == Some(&(process.id.start_ticks, process.program)) && !memory.knows_kin(process.pid())
    }

    /// Learns from a look that is over: who was read and is nobody.
    pub(super) fn learn(&mut self, table: &ProcessTable, roles: &Roles, adopters: &Adopters) {
        let still = |pid: &Pid, known: &(u64, u64)| {
            table.get(*pid).is_some_and(|process| (process.id.start_ticks, process.program) == *known)
        };
        self.0.retain(|pid, known| still(pid, known));
        let nobody = |process: &&Process| {
            process.command.known().is_some_and(|command| !command.is_empty())
                && roles.role(process.pid()).is_none()
                && !adopters.is_adopter(process.pid())
                && table.age(process) >= YOUNG
        };
        // On WSL everyone whose command line was read may turn out to be an adopter.
        if !table.observer.wsl {
            let nobodies = table.iter().filter(nobody);
            self.0.extend(nobodies.map(|process| (process.pid(), (process.id.start_ticks, process.program))));
        }
    }
}

/// Whether a command line was asked for and is still to be read.
pub(super) fn is_unread(process: &Process) -> bool {
    process.command == Fact::Unread && !process.kernel
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::replay::Replay;
    use crate::look::{Judging, look_again};
    use crate::testing::{Table, pid};

    /// A machine with a nobody, and the looks that are taken at it.
    struct Looks {
        table: Table,
        familiar: Familiar,
    }

    impl Looks {
        /// Who of 10 and 20 was read by name in one more look, and how many trees there are.
        fn again(&mut self) -> (Vec<i32>, usize) {
            let settings = self.table.settings();
            let table = self.table.table();
            let memory = self.table.memory(&table);
            let judging = Judging { catalog: &settings.catalog, policy: &settings.policy };
            let look = look_again(&Replay::new(table), judging, &memory, &mut self.familiar).expect("a look");
            let read = |number: &i32| {
                look.table.get(pid(*number)).is_some_and(|process| process.command != Fact::Unread)
            };
            ([10, 20].into_iter().filter(read).collect(), look.plan.judgements.len())
        }

        fn command(&mut self, number: i32, line: &str) {
            let words = line.split(' ').map(str::to_owned).collect();
            self.table.process(number).process.command = Fact::Known(words);
        }
    }

    fn two_nobodies() -> Looks {
        let mut table = Table::new();
        table.add(10, 1, "bash");
        table.add(20, 1, "sleep 3600");
        let mut looks = Looks { table, familiar: Familiar::default() };
        assert_eq!(looks.again(), (vec![10, 20], 0), "nobody is known yet");
        assert_eq!(looks.again(), (vec![], 0));
        looks
    }

    #[test]
    fn who_runs_another_program_or_has_another_ones_number_is_read_again() {
        let mut looks = two_nobodies();
        looks.command(10, "foo-mcp");
        looks.table.process(10).process.program = 1;
        assert_eq!(looks.again(), (vec![10], 1), "exec");
        looks.command(20, "bar-mcp");
        looks.table.process(20).age(1800);
        assert_eq!(looks.again(), (vec![10, 20], 2), "a number that is used again");
        assert_eq!(looks.again(), (vec![10, 20], 2), "somebody stays somebody");
    }

    #[test]
    fn who_is_young_or_kin_is_read_each_time() {
        let mut looks = two_nobodies();
        looks.table.process(10).age(5);
        assert_eq!(looks.again().0, [10]);
        assert_eq!(looks.again().0, [10], "it may still become something");
        looks.table.was(20, 900, crate::memory::Part::Other, "serena");
        assert_eq!(looks.again().0, [10, 20], "it belongs to a server");
    }
}
