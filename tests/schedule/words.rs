//! Schedules in English, and what is said about the ones that look unintended.

use flatline::schedule::Schedule;
use flatline::time::Span;

fn words(expression: &str) -> String {
    let schedule =
        Schedule::parse(expression, "Europe/Riga").unwrap_or_else(|error| panic!("{expression}: {error}"));
    schedule.in_words().trim_end_matches(", Europe/Riga").to_owned()
}

#[test]
fn schedules_are_said_as_people_say_them() {
    for (expression, said) in [
        ("30 6 * * 1-5", "every weekday at 06:30"),
        ("0 0 * * *", "every day at 00:00"),
        ("@hourly", "every hour"),
        ("* * * * *", "every minute"),
        ("*/5 * * * *", "every 5 minutes"),
        ("*/30 * * * *", "every 30 minutes"),
        ("*/5 9-16 * * MON-FRI", "every 5 minutes from 09:00 to 16:55 on weekdays"),
        ("* 9 * * *", "every minute from 09:00 to 09:59"),
        ("15 * * * *", "every hour at 15 minutes past"),
        ("1 * * * *", "every hour at 1 minute past"),
        ("2,17,32,47 * * * *", "every 15 minutes from 2 minutes past the hour"),
        ("5,20 * * * *", "every hour at 5 and 20 minutes past"),
        ("0 */2 * * *", "every 2 hours"),
        ("22 1-23/3 * * *", "every 3 hours from 01:22"),
        ("0 6,18 * * *", "every day at 06:00 and 18:00"),
        ("0 9-17 * * 1-5", "every hour from 09:00 to 17:00 on weekdays"),
        ("0 0 * * 0", "every Sunday at 00:00"),
        ("0 0 * * 0,6", "every Saturday and Sunday at 00:00"),
        ("0 19 * * 0-4", "every Monday to Thursday and Sunday at 19:00"),
        ("0 * * * 2,4", "every hour on Tuesdays and Thursdays"),
        ("0 0 1 * *", "at 00:00 on the 1st of every month"),
        ("0 0 1,15 * *", "at 00:00 on the 1st and 15th of every month"),
        ("15 3 1-7 * *", "at 03:15 on the 1st to 7th of every month"),
        ("0 0 1 1 *", "at 00:00 on 1 January"),
        ("0 12 24-26 12 *", "at 12:00 on 24 to 26 December"),
        ("0 0 1 2-8/6 *", "at 00:00 on the 1st of February and August"),
        ("0 0 * 2 *", "every day in February at 00:00"),
        ("0 0 L * *", "at 00:00 on the last day of every month"),
        ("0 0 LW * *", "at 00:00 on the last weekday of every month"),
        ("0 0 * * 1#2", "at 00:00 on the second Monday of every month"),
        ("0 0 * * 5L", "at 00:00 on the last Friday of every month"),
        ("0 0 * * 1#2,5,6", "at 00:00 on every Friday, Saturday and the second Monday of every month"),
        ("0 0 13 jun 5,1#1", "at 00:00 on 13 June and on every Friday and the first Monday in June"),
        ("0 0 13 * 5", "at 00:00 on the 13th of every month and on every Friday"),
        ("0 0 */100 * MON", "at 00:00 on the 1st of every month if that is a Monday"),
        (
            "0 3 2-31/2 * */2",
            "at 03:00 on the 2nd, 4th, 6th, 8th, 10th, 12th, 14th, 16th, 18th, 20th, 22nd, 24th, 26th, \
         28th and 30th of every month if that is a Tuesday, a Thursday, a Saturday or a Sunday",
        ),
        ("*/25 1-5/2 * * *", "every day at 01:00, 01:25, 01:50, 03:00, 03:25, 03:50, 05:00, 05:25 and 05:50"),
        ("*/7 1,5 * * *", "at 0, 7, 14, 21, 28, 35, 42, 49 and 56 minutes past in the hours 01 and 05"),
        ("Mon..Fri 06:30", "every weekday at 06:30"),
        ("Sat *-*-1..7 04:00", "at 04:00 on the first Saturday of every month"),
        ("Sun *-*~7/1 03:00", "at 03:00 on the last Sunday of every month"),
        ("*-*~03 03:00", "at 03:00 on the 3rd to last day of every month"),
        ("*:*:0/20", "every 20 seconds"),
        ("*-*-* *:25:10", "every hour at 25 minutes past, at second 10"),
        ("05:40:23/3.17", "every day at 05:40, at seconds 23, 26, 29, 32, 35, 38, 42, 45, 48, 51, 54 and 57"),
        ("9..11:00:0/30", "every day at 09:00, 10:00 and 11:00, at seconds 0 and 30"),
        ("23:59:40", "every day at 23:59:40"),
        ("2003-03-05 05:40", "at 05:40 on 5 March in 2003"),
        ("2026/2-*-01", "at 00:00 on the 1st of every month in 2026, 2028, 2030 and so on until 2198"),
        ("2027..2029-02-01", "at 00:00 on 1 February from 2027 to 2029"),
        ("06:00\n18:30", "every day at 06:00; every day at 18:30"),
    ] {
        assert_eq!(words(expression), said, "{expression}");
    }
}

#[test]
fn the_zone_stands_at_the_end_or_behind_each_line_that_names_one() {
    let in_riga = |expression: &str| Schedule::parse(expression, "Europe/Riga").unwrap().in_words();
    assert_eq!(in_riga("30 6 * * 1-5"), "every weekday at 06:30, Europe/Riga");
    assert_eq!(in_riga("06:00\n18:00 UTC"), "every day at 06:00, Europe/Riga; every day at 18:00, UTC");
}

#[test]
fn a_period_is_said_in_its_largest_units() {
    let every = |seconds| Schedule::simple(Span::seconds(seconds)).in_words();
    assert_eq!(every(3600), "every hour");
    assert_eq!(every(300), "every 5 minutes");
    assert_eq!(every(5400), "every 1 hour 30 minutes");
    assert_eq!(every(86_400), "every day");
    assert_eq!(every(604_800), "every week");
    assert_eq!(every(8 * 86_400), "every 8 days");
}

#[test]
fn traps_are_pointed_out_and_plain_schedules_are_not() {
    let warnings = |expression: &str| Schedule::parse(expression, "UTC").unwrap().warnings();
    for plain in ["30 6 * * 1-5", "* * * * *", "*/15 9-17 * * *", "0 9 1-31 * 1", "6:00", "6:00,18"] {
        assert_eq!(warnings(plain), Vec::<String>::new(), "{plain}");
    }
    assert_eq!(
        warnings("0 9 1-7 * MON"),
        [
            "cron runs this when the day of month (1-7) or the day of week (MON) matches, not only when both do. If both \
          should match, write * as the day of month and MON#1 as the day of week."
        ]
    );
    assert_eq!(
        warnings("0 0 13 * 5"),
        [
            "cron runs this when the day of month (13) or the day of week (5) matches, not only when both do. If both \
          should match, write an OnCalendar expression, such as Fri *-*-13 00:00."
        ]
    );
    assert_eq!(
        warnings("*/45 * * * *"),
        [
            "*/45 starts again at 0 every hour: after minute 45 the next run is minute 0, sooner than 45 minutes later."
        ]
    );
    assert_eq!(
        warnings("*-*-* 6:00,18:00"),
        ["6:00,18:00 is hour 6, minutes 00,18, second 00. For several times of day, write a line for each."]
    );
    let never = "This never runs: no year has that day, or its years are over. To switch the check off, pause it instead.";
    assert_eq!(warnings("*-02-30"), [never]);
    assert_eq!(warnings("1999-01-01"), [never]);
}
