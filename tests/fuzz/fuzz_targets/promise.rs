//! What holds for every text: no panic, no call longer than 10 ms, and no slot that is not later than the last.

use flatline::schedule::{Schedule, ScheduleError};
use flatline::time::Time;
use rustix::time::{ClockId, clock_gettime};

const ZONES: [&str; 5] = ["UTC", "Europe/Berlin", "Australia/Lord_Howe", "America/Havana", "Pacific/Apia"];
/// Before all, at 1970, at a gap, in an overlap, at the last year, and after all.
const STARTS_SECONDS: [i64; 6] =
    [i64::MIN / 1000, -1, 1_774_745_999, 1_792_891_800, 7_226_582_400, i64::MAX / 1000];
const CALL_SECONDS_MAX: f64 = 0.010;

type Read = fn(&str, &str) -> Result<Schedule, ScheduleError>;

pub fn hold(text: &str, read: Read) {
    let refused = quick(|| read(text, "UTC")).err();
    quick(|| Schedule::parse(text, "UTC").is_ok());
    if let Some(error) = refused {
        assert!(error.to_string().ends_with(['.', '?']), "{error}");
        return;
    }
    for zone in ZONES {
        let Ok(schedule) = read(text, zone) else { panic!("{text:?} is refused in {zone} alone") };
        for start in STARTS_SECONDS.map(Time::from_seconds) {
            let mut last = start;
            for _ in 0..5 {
                let Some(slot) = quick(|| schedule.next_after(last)) else { break };
                assert!(slot > last, "{text:?} in {zone}: {slot:?} after {last:?}");
                last = slot;
            }
        }
        assert!(!quick(|| schedule.in_words()).is_empty());
        quick(|| schedule.warnings());
        let stored = schedule.expression().expect("it was read from a text");
        assert_eq!(read(stored.text(), stored.zone().name()).as_ref(), Ok(&schedule), "read again");
    }
}

/// Runs `call` and holds it to its share of the processor: a busy machine is not a slow call.
fn quick<T>(call: impl Fn() -> T) -> T {
    let before = processor_seconds();
    let result = call();
    let spent = processor_seconds() - before;
    assert!(spent <= CALL_SECONDS_MAX, "a call took {spent} s");
    result
}

fn processor_seconds() -> f64 {
    let spent = clock_gettime(ClockId::ThreadCPUTime);
    spent.tv_sec as f64 + spent.tv_nsec as f64 / 1e9
}
