//! What earlier looks know already, so that a daemon need not read it each time: who is nobody, and what the servers of live
//! clients are connected with.

use super::Look;
use crate::judge::Code;
use crate::memory::Memory;
use crate::process::{Fact, Pid, PidMap, Process, ProcessTable};
use crate::tree::{Adopters, Roles};
use std::time::Duration;

/// A process younger than this may still become another program or take another name, in ways that its mark does not show.
const YOUNG: Duration = Duration::from_secs(60);

/// What is known of servers whose client lives is read anew after this time at the latest.
const GOOD_FOR: Duration = Duration::from_secs(600);

/// Start and mark of the program: the same process, and still running the same.
type Known = (u64, u64);

fn known(process: &Process) -> Known {
    (process.id.start_ticks, process.program)
}

/// Good for finding candidates only. Before anything is signalled everything is read anew, without this.
#[derive(Debug, Default)]
pub struct Familiar {
    /// Whom no pattern names. Nothing else is kept of them.
    nobodies: PidMap<Known>,
    /// Members of trees that are well, and what was read of them when.
    owned: PidMap<(Duration, Process)>,
}

impl Familiar {
    /// Whether its command line need not be read: an earlier look knew it as nobody, and it still runs the same program.
    pub(super) fn knows(&self, process: &Process, memory: &Memory) -> bool {
        self.nobodies.get(&process.pid()) == Some(&known(process)) && !memory.knows_kin(process.pid())
    }

    /// Fills in what an earlier look has read of a process that is well, except what changes all the time. `false`: it has to
    /// be read.
    pub(super) fn recall(&self, table: &mut ProcessTable, pid: Pid) -> bool {
        let now = table.at.awake;
        let (Some((read_at, before)), Some(process)) = (self.owned.get(&pid), table.get_mut(pid)) else {
            return false;
        };
        let same = is_unchanged(process, before) && now.saturating_sub(*read_at) < GOOD_FOR;
        if same {
            process.id = before.id;
            process.command.clone_from(&before.command);
            process.details.clone_from(&before.details);
        }
        same
    }

    /// Learns from a look that is over.
    pub(super) fn learn(&mut self, look: &Look, adopters: &Adopters) {
        self.learn_nobodies(&look.table, &look.roles, adopters);
        let table = &look.table;
        let owned = look.plan.judgements.iter().filter(|judgement| judgement.code() == Code::Owned);
        let members = owned.flat_map(|judgement| judgement.tree.members.iter().map(|member| member.pid));
        let mut before = std::mem::take(&mut self.owned);
        for process in members.filter_map(|pid| table.get(pid)).filter(|process| table.age(process) >= YOUNG)
        {
            let recalled = before.remove(&process.pid()).filter(|(read_at, before)| {
                is_unchanged(process, before) && table.at.awake.saturating_sub(*read_at) < GOOD_FOR
            });
            let read_now = || {
                let mut process = process.clone();
                process.details.far_ends = Default::default();
                process.details.listeners = Fact::Unread;
                process.details.channels = Fact::Unread;
                (table.at.awake, process)
            };
            self.owned.insert(process.pid(), recalled.unwrap_or_else(read_now));
        }
    }

    /// Who was read and is nobody.
    fn learn_nobodies(&mut self, table: &ProcessTable, roles: &Roles, adopters: &Adopters) {
        let still =
            |pid: &Pid, before: &Known| table.get(*pid).is_some_and(|process| known(process) == *before);
        self.nobodies.retain(|pid, before| still(pid, before));
        let nobody = |process: &&Process| {
            process.command.known().is_some_and(|command| !command.is_empty())
                && roles.role(process.pid()).is_none()
                && !adopters.is_adopter(process.pid())
                && table.age(process) >= YOUNG
        };
        // On WSL everyone whose command line was read may turn out to be an adopter.
        if !table.observer.wsl {
            let nobodies = table.iter().filter(nobody);
            self.nobodies.extend(nobodies.map(|process| (process.pid(), known(process))));
        }
    }
}

/// Whether what was read of a process before is still true of it, as far as its `stat` and its command line can tell.
fn is_unchanged(process: &Process, before: &Process) -> bool {
    known(process) == known(before)
        && process.parent == before.parent
        && process.state == before.state
        && (process.command == Fact::Unread || process.command == before.command)
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
    use crate::process::FarEnd;
    use crate::testing::{Table, pid};

    /// A machine with a nobody, and the looks that are taken at it.
    struct Looks {
        table: Table,
        familiar: Familiar,
    }

    impl Looks {
        /// Who of 10 and 20 was read by name in one more look, and how many trees there are.
        fn again(&mut self) -> (Vec<i32>, usize) {
            let look = self.look();
            let read = |number: &i32| {
                look.table.get(pid(*number)).is_some_and(|process| process.command != Fact::Unread)
            };
            ([10, 20].into_iter().filter(read).collect(), look.plan.judgements.len())
        }

        fn look(&mut self) -> Look {
            let settings = self.table.settings();
            let table = self.table.table();
            let memory = self.table.memory(&table);
            let judging = Judging { catalog: &settings.catalog, policy: &settings.policy };
            look_again(&Replay::new(table), judging, &memory, &mut self.familiar).expect("a look")
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
    fn a_server_that_is_well_is_read_again_when_it_has_changed_or_lost_its_client() {
        let mut table = Table::new();
        table.add(40, 1, "bash");
        table.add(50, 40, "claude");
        table.add(10, 50, "foo-mcp").held_by(&[50]);
        let mut looks = Looks { table, familiar: Familiar::default() };
        let look = |looks: &mut Looks| {
            let look = looks.look();
            let process = look.table.get(pid(10)).expect("there");
            let users = process.details.users.known().map(|users| users.real);
            let moved = process.details.moved.known().map(|moved| moved.disk);
            (look.plan.judgements[0].code().word(), users, moved)
        };
        assert_eq!(look(&mut looks), ("owned", Some(1000), Some(0)));
        // Nobody changes his user like that; it shows what is read.
        let process = looks.table.process(10).user(1001).process;
        process.details.moved = Fact::Known(crate::process::Moved { disk: 7, calls: 7 });
        assert_eq!(look(&mut looks), ("owned", Some(1000), Some(7)), "only what changes all the time");
        looks.table.process(10).process.program = 1;
        assert_eq!(look(&mut looks), ("owned", Some(1001), Some(7)), "another program");
        looks.table.process(10).user(1002).process.command = Fact::Known(vec!["bar-mcp".to_owned()]);
        assert_eq!(look(&mut looks), ("owned", Some(1002), Some(7)), "another command line");
        looks.table.process(10).user(1003).far_end(FarEnd::HungUp);
        looks.table.remove(50);
        looks.table.process(10).process.parent = Some(pid(1));
        assert_eq!(look(&mut looks), ("hung-up", Some(1003), Some(7)), "an orphan is read as a whole");
        looks.table.process(10).user(1004);
        assert_eq!(look(&mut looks), ("hung-up", Some(1004), Some(7)), "each time");
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
