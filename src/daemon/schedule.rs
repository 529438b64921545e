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

/// Deaths come in bursts: a terminal that closes takes all its clients with it. A look waits until nobody has died for so
/// long,
const QUIET: Duration = Duration::from_millis(5);
/// but no longer than this.
const BURST: Duration = Duration::from_millis(50);
/// Looking because of deaths takes a twentieth of the time in the long run, however many there are.
const SHARE: u32 = 20;
/// Looks may follow each other as if this much time had gone by without any.
const CREDIT: Duration = Duration::from_secs(20);
/// Nothing is put off for longer than this.
const LONGEST_REST: Duration = Duration::from_secs(30);
/// A verdict that waits is looked at a little later, so that its time is over for sure.
const MARGIN: Duration = Duration::from_millis(20);

/// The next look.
#[derive(Clone, Debug)]
pub struct Schedule {
    interval: Duration,
    due: Duration,
    because: Because,
    /// What led to the last look that has begun.
    going_on: Because,
    /// When the burst of deaths began that the next look is for.
    burst_began: Option<Duration>,
    /// By this time all looks up to now will have had no more than their share.
    paid_at: Duration,
    looking: bool,
}

impl Schedule {
    /// The first look is due at once.
    pub fn new(interval: Duration) -> Schedule {
        Schedule {
            interval,
            due: Duration::ZERO,
            because: Because::Tick,
            going_on: Because::Tick,
            burst_began: None,
            paid_at: Duration::ZERO,
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
        let soon = if because == Because::Exit {
            let began = *self.burst_began.get_or_insert(now);
            (now + QUIET).min(began + BURST)
        } else {
            now
        };
        let due = soon.max(self.not_before());
        let same_burst = because == Because::Exit && self.because == Because::Exit;
        if because == Because::Asked {
            // A person does not wait.
            (self.due, self.because) = (self.due.min(now), because);
        } else if due < self.due || same_burst {
            (self.due, self.because) = (due, because);
        }
    }

    fn not_before(&self) -> Duration {
        self.paid_at.saturating_sub(CREDIT)
    }

    /// A look begins, and why.
    pub fn begin(&mut self) -> Because {
        self.looking = true;
        self.burst_began = None;
        self.due = Duration::MAX;
        self.going_on = self.because;
        self.because
    }

    /// It is over and took so long. `wait`: how long until a verdict can be made that could not be made yet.
    pub fn end(&mut self, now: Duration, took: Duration, wait: Option<Duration>) {
        self.looking = false;
        if self.going_on != Because::Asked {
            let paid_at = self.paid_at.max(now.saturating_sub(took)) + took * SHARE;
            self.paid_at = paid_at.min(now + CREDIT + LONGEST_REST);
        }
        if self.due != Duration::MAX {
            // Somebody has asked meanwhile.
            let not_before = if self.because == Because::Asked { now } else { self.not_before() };
            self.due = self.due.max(not_before);
            return;
        }
        (self.due, self.because) = (now + self.interval, Because::Tick);
        if let Some(wait) = wait.filter(|wait| *wait < self.interval) {
            (self.due, self.because) = ((now + wait + MARGIN).max(self.not_before()), Because::Wait);
        }
    }

    /// Another interval is in force.
    pub fn set_interval(&mut self, now: Duration, interval: Duration) {
        self.interval = interval;
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
        let mut schedule = Schedule::new(Duration::from_secs(60));
        schedule.begin();
        schedule.end(now, took, None);
        schedule
    }

    #[test]
    fn the_first_look_is_due_at_once_and_the_next_after_the_interval() {
        let mut schedule = Schedule::new(Duration::from_secs(60));
        assert_eq!(schedule.due(), Some(Duration::ZERO));
        assert_eq!(schedule.begin(), Because::Tick);
        assert_eq!(schedule.due(), None, "one at a time");
        schedule.end(ms(500), ms(3), None);
        assert_eq!(schedule.due(), Some(ms(60_500)));
    }

    #[test]
    fn a_death_leads_to_a_look_at_once_and_many_lead_to_one() {
        let mut schedule = after_a_look(ms(100), ms(1));
        schedule.ask(ms(5000), Because::Exit);
        assert_eq!(schedule.due(), Some(ms(5005)));
        for at in 0..40 {
            schedule.ask(ms(5000 + at / 2), Because::Exit);
        }
        assert_eq!(schedule.due(), Some(ms(5024)), "as long as they go on dying");
        schedule.ask(ms(5049), Because::Exit);
        assert_eq!(schedule.due(), Some(ms(5050)), "but not for ever");
        assert_eq!(schedule.begin(), Because::Exit);
        schedule.end(ms(5060), ms(10), None);
        assert_eq!(schedule.due(), Some(ms(65_060)), "the burst is dealt with");
    }

    #[test]
    fn a_death_during_a_look_leads_to_another_one() {
        let mut schedule = after_a_look(ms(100), ms(1));
        schedule.begin();
        schedule.ask(ms(60_200), Because::Exit);
        schedule.end(ms(60_250), ms(50), Some(Duration::from_secs(20)));
        assert!(schedule.due().is_some_and(|due| due <= ms(60_250)), "at once");
        assert_eq!(schedule.begin(), Because::Exit);
    }

    #[test]
    fn looking_takes_a_bounded_share_of_the_time_whatever_happens() {
        let mut schedule = Schedule::new(Duration::from_secs(60));
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
        // Five percent, and what was saved up before.
        assert!(
            looked <= Duration::from_secs(4) && looked >= Duration::from_secs(3),
            "{looked:?} of a minute"
        );
    }

    #[test]
    fn who_waits_is_looked_at_again_when_his_time_is_over() {
        let mut schedule = Schedule::new(Duration::from_secs(3600));
        schedule.begin();
        schedule.end(ms(0), ms(1), Some(Duration::from_secs(20)));
        assert_eq!(schedule.due(), Some(ms(20_020)));
        assert_eq!(schedule.begin(), Because::Wait);
        schedule.end(ms(20_030), ms(1), Some(Duration::from_secs(7200)));
        assert_eq!(schedule.due(), Some(ms(3_620_030)), "no later than the interval");
    }

    #[test]
    fn asking_never_puts_a_look_off() {
        // Two seconds of looking, which are paid for after forty.
        let mut schedule = after_a_look(ms(2000), ms(2000));
        schedule.ask(ms(2100), Because::Exit);
        assert_eq!(schedule.due(), Some(ms(20_000)), "rests first");
        schedule.ask(ms(2200), Because::Asked);
        assert_eq!(schedule.due(), Some(ms(2200)), "but a person does not wait");
        schedule.ask(ms(2300), Because::Exit);
        assert_eq!((schedule.due(), schedule.begin()), (Some(ms(2200)), Because::Asked));
        schedule.ask(ms(2400), Because::Exit);
        schedule.ask(ms(2500), Because::Asked);
        schedule.end(ms(4200), ms(2000), None);
        assert_eq!(schedule.due(), Some(ms(4200)), "nor while a look is going on");
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
        let mut schedule = Schedule::new(Duration::from_secs(3600));
        schedule.begin();
        schedule.end(ms(0), ms(1), None);
        schedule.set_interval(ms(1000), Duration::from_secs(60));
        assert_eq!(schedule.due(), Some(ms(61_000)));
        schedule.set_interval(ms(2000), Duration::from_secs(3600));
        assert_eq!(schedule.due(), Some(ms(61_000)), "a longer one from the next look on");
    }
}
