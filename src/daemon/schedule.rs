//! When to look: at ticks, when something has happened, when an orphan has waited for long enough. Pure: times are those of a
//! clock that only runs forward, counted from the daemon's start.

use std::time::Duration;

/// What led to a look.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Because {
    /// `look.interval` is over.
    Tick,
    /// A parent of a live tree has ended.
    Exit,
    /// A verdict asked for another look by now.
    Wait,
    /// Something was taken down.
    Swept,
    /// A person asked, by signal, by `sweep` or by a reload.
    Asked,
}

impl Because {
    /// The word of the JSON contract.
    pub fn word(self) -> &'static str {
        match self {
            Because::Tick => "tick",
            Because::Exit => "exit",
            Because::Wait => "wait",
            Because::Swept => "swept",
            Because::Asked => "asked",
        }
    }
}

/// Deaths come in bursts: a terminal that closes takes all its clients with it.
const BURST: Duration = Duration::from_millis(5);
/// A verdict that waits is looked at a little later, so that its time is over for sure.
const MARGIN: Duration = Duration::from_millis(20);

/// The next look.
#[derive(Clone, Debug)]
pub struct Schedule {
    interval: Duration,
    share: u32,
    due: Duration,
    because: Because,
    not_before: Duration,
    looking: bool,
}

impl Schedule {
    /// The first look is due at once. `share`: percent of the time that looking may take, whatever happens.
    pub fn new(interval: Duration, share: u32) -> Schedule {
        Schedule {
            interval,
            share: share.clamp(1, 100),
            due: Duration::ZERO,
            because: Because::Tick,
            not_before: Duration::ZERO,
            looking: false,
        }
    }

    /// When the next look is due; `None` while one is going on.
    pub fn due(&self) -> Option<Duration> {
        (!self.looking).then_some(self.due)
    }

    /// Time until then, for people.
    pub fn left(&self, now: Duration) -> Duration {
        self.due.saturating_sub(now)
    }

    /// Something has happened: look soon. While a look is going on, this is for the one after it, as that one may have read
    /// the process table before.
    pub fn ask(&mut self, now: Duration, because: Because) {
        let burst = if because == Because::Exit { BURST } else { Duration::ZERO };
        let due = (now + burst).max(self.not_before);
        if due < self.due || self.looking {
            (self.due, self.because) = (due, because);
        }
    }

    /// A look begins, and why.
    pub fn begin(&mut self) -> Because {
        self.looking = true;
        self.due = Duration::MAX;
        self.because
    }

    /// It is over and took so long. `wait`: how long until a verdict can be made that could not be made yet.
    pub fn end(&mut self, now: Duration, took: Duration, wait: Option<Duration>) {
        self.looking = false;
        self.not_before = now + took * (100 - self.share) / self.share;
        let asked = self.due != Duration::MAX;
        if asked {
            self.due = self.due.max(self.not_before);
            return;
        }
        (self.due, self.because) = (now + self.interval, Because::Tick);
        if let Some(wait) = wait.filter(|wait| *wait < self.interval) {
            (self.due, self.because) = ((now + wait + MARGIN).max(self.not_before), Because::Wait);
        }
    }

    /// Other settings are in force.
    pub fn set(&mut self, now: Duration, interval: Duration, share: u32) {
        (self.interval, self.share) = (interval, share.clamp(1, 100));
        if !self.looking && self.because == Because::Tick {
            self.due = self.due.min(now + interval);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    fn after_a_look(now: Duration, took: Duration) -> Schedule {
        let mut schedule = Schedule::new(Duration::from_secs(60), 5);
        schedule.begin();
        schedule.end(now, took, None);
        schedule
    }

    #[test]
    fn the_first_look_is_due_at_once_and_the_next_after_the_interval() {
        let mut schedule = Schedule::new(Duration::from_secs(60), 5);
        assert_eq!(schedule.due(), Some(Duration::ZERO));
        assert_eq!(schedule.begin(), Because::Tick);
        assert_eq!(schedule.due(), None, "one at a time");
        schedule.end(ms(500), ms(3), None);
        assert_eq!(schedule.due(), Some(ms(60_500)));
    }

    #[test]
    fn a_death_leads_to_a_look_at_once_and_many_lead_to_one() {
        let mut schedule = after_a_look(ms(100), ms(1));
        for at in 0..40 {
            schedule.ask(ms(5000 + at / 10), Because::Exit);
        }
        assert_eq!(schedule.due(), Some(ms(5005)));
        assert_eq!(schedule.begin(), Because::Exit);
        schedule.end(ms(5010), ms(5), None);
        assert_eq!(schedule.due(), Some(ms(65_010)), "the burst is dealt with");
    }

    #[test]
    fn a_death_during_a_look_leads_to_another_one() {
        let mut schedule = after_a_look(ms(100), ms(1));
        schedule.begin();
        schedule.ask(ms(60_200), Because::Exit);
        schedule.end(ms(60_250), ms(50), Some(Duration::from_secs(20)));
        assert_eq!(schedule.due(), Some(ms(61_200)), "after a rest of nineteen looks");
        assert_eq!(schedule.begin(), Because::Exit);
    }

    #[test]
    fn looking_takes_a_bounded_share_of_the_time_whatever_happens() {
        let mut schedule = Schedule::new(Duration::from_secs(60), 5);
        let (mut now, mut looked) = (Duration::ZERO, Duration::ZERO);
        while now < Duration::from_secs(60) {
            schedule.ask(now, Because::Exit);
            if schedule.due().is_some_and(|due| due <= now) {
                schedule.begin();
                now += ms(50);
                looked += ms(50);
                schedule.end(now, ms(50), Some(ms(1)));
            }
            now += ms(1);
        }
        assert!(looked <= Duration::from_secs(3), "{looked:?} of a minute");
    }

    #[test]
    fn who_waits_is_looked_at_again_when_his_time_is_over() {
        let mut schedule = Schedule::new(Duration::from_secs(3600), 5);
        schedule.begin();
        schedule.end(ms(0), ms(1), Some(Duration::from_secs(20)));
        assert_eq!(schedule.due(), Some(ms(20_020)));
        assert_eq!(schedule.begin(), Because::Wait);
        schedule.end(ms(20_030), ms(1), Some(Duration::from_secs(7200)));
        assert_eq!(schedule.due(), Some(ms(3_620_030)), "no later than the interval");
    }

    #[test]
    fn asking_never_puts_a_look_off() {
        let mut schedule = after_a_look(ms(0), ms(1000));
        schedule.ask(ms(100), Because::Asked);
        assert_eq!(schedule.due(), Some(ms(19_000)), "rests first");
        schedule.ask(ms(200), Because::Exit);
        assert_eq!((schedule.due(), schedule.begin()), (Some(ms(19_000)), Because::Asked));
    }

    #[test]
    fn a_clock_that_jumps_means_a_late_look_and_no_more() {
        // Suspended for a night: this clock has not moved. Stopped for an hour: it has.
        let mut schedule = after_a_look(ms(0), ms(1));
        let late = Duration::from_secs(3600);
        assert!(schedule.due().is_some_and(|due| due <= late));
        schedule.begin();
        schedule.end(late, ms(1), None);
        assert_eq!(
            schedule.due(),
            Some(late + Duration::from_secs(60)),
            "ticks that were missed are not made up for"
        );
    }

    #[test]
    fn a_shorter_interval_is_in_force_at_once() {
        let mut schedule = Schedule::new(Duration::from_secs(3600), 5);
        schedule.begin();
        schedule.end(ms(0), ms(1), None);
        schedule.set(ms(1000), Duration::from_secs(60), 5);
        assert_eq!(schedule.due(), Some(ms(61_000)));
        schedule.set(ms(2000), Duration::from_secs(3600), 5);
        assert_eq!(schedule.due(), Some(ms(61_000)), "a longer one from the next look on");
    }
}
