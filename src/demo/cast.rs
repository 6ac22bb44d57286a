//! The jobs of a demonstration: what each is called, when it runs, how long it takes, and what becomes of it.

use Fate::{
    AwayFor, Fails, FailsFor, Flaps, HangsFor, Misses, Paused, RunsFor, SilentFor, Slows, Steady, Unpinged,
};
use Prints::{Archive, Dump, Nothing, Rows, Web};
use When::{Cron, Every, OnCalendar};

use crate::checks::{Kind, Settings};
use crate::time::Span;

/// One watched job.
#[derive(Clone, Copy, Debug)]
pub struct Job {
    pub name: &'static str,
    /// Space-separated.
    pub tags: &'static str,
    /// The check's description.
    pub note: &'static str,
    pub when: When,
    pub grace_minutes: i64,
    /// 0 is a job that says only that it lives.
    pub takes_seconds: i64,
    pub prints: Prints,
    pub fate: Fate,
}

/// When a job runs.
#[derive(Clone, Copy, Debug)]
pub enum When {
    Every {
        minutes: i64,
    },
    /// An expression and its zone.
    Cron(&'static str, &'static str),
    /// An expression and its zone.
    OnCalendar(&'static str, &'static str),
}

/// What kind of output a job sends along.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Prints {
    Nothing,
    Dump,
    Archive,
    Web,
    Rows,
}

/// What becomes of a job in its month; spans count back from the end of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    Steady,
    /// Every so many runs, by chance, one ends badly.
    Fails {
        one_in: u32,
    },
    /// Every so many runs, by chance, nothing is heard of one.
    Misses {
        one_in: u32,
    },
    /// Every run of the last while ended badly.
    FailsFor(Span),
    /// Nothing was heard in the last while.
    SilentFor(Span),
    /// The last run began that long ago and never ended.
    HangsFor(Span),
    /// A run began that long ago and goes on.
    RunsFor(Span),
    /// Nothing was heard for a while, once.
    AwayFor {
        from: Span,
        length: Span,
    },
    /// Good and bad runs took turns on two days.
    Flaps,
    /// Each run takes a little longer than the one before.
    Slows,
    /// Somebody paused the check on the last day.
    Paused,
    /// Never sent anything.
    Unpinged,
}

impl When {
    /// Puts the schedule into a check's settings.
    pub fn write_to(self, settings: &mut Settings) {
        let (kind, text, zone) = match self {
            Self::Every { minutes } => {
                settings.period_ms = Span::minutes(minutes);
                return;
            }
            Self::Cron(text, zone) => (Kind::Cron, text, zone),
            Self::OnCalendar(text, zone) => (Kind::OnCalendar, text, zone),
        };
        settings.kind = kind;
        text.clone_into(&mut settings.schedule);
        zone.clone_into(&mut settings.zone);
    }
}

/// A job with no note: name, tags, when it runs, grace in minutes, usual length in seconds, output, fate.
const fn job(
    name: &'static str,
    tags: &'static str,
    when: When,
    grace_minutes: i64,
    takes_seconds: i64,
    prints: Prints,
    fate: Fate,
) -> Job {
    Job { name, tags, note: "", when, grace_minutes, takes_seconds, prints, fate }
}

impl Job {
    const fn noting(self, note: &'static str) -> Self {
        Self { note, ..self }
    }
}

/// The slug of a job's name.
pub fn slug(name: &str) -> String {
    name.to_lowercase().replace(' ', "-")
}

/// All of them, as an office with a shop and somebody's home would have.
pub const JOBS: &[Job] = &[
    job(
        "Customer database dump",
        "db nightly prod",
        Cron("30 2 * * *", "Europe/Riga"),
        45,
        1320,
        Dump,
        FailsFor(Span::hours(30)),
    )
    .noting("Dumps all databases to the vault."),
    job(
        "Offsite backup",
        "backup nightly",
        Cron("15 3 * * *", "Europe/Riga"),
        60,
        2400,
        Archive,
        SilentFor(Span::hours(31)),
    )
    .noting("borg to the vault; see the runbook if it is silent."),
    job("Photo library backup", "backup home", Cron("0 4 * * *", "Europe/Riga"), 60, 900, Archive, Steady),
    job(
        "Mail server backup",
        "backup mail",
        Cron("40 3 * * *", "Europe/Riga"),
        60,
        600,
        Archive,
        Fails { one_in: 25 },
    ),
    job("Laptop of Ieva", "backup home", Every { minutes: 1440 }, 2880, 300, Archive, Misses { one_in: 6 })
        .noting("Only when it is at home."),
    job("Laptop of Karlis", "backup home", Every { minutes: 1440 }, 2880, 240, Archive, Misses { one_in: 9 }),
    job("NAS snapshot", "backup home", Every { minutes: 360 }, 60, 20, Nothing, Steady),
    job(
        "Vault integrity check",
        "backup weekly",
        Cron("0 5 * * 0", "Europe/Riga"),
        240,
        5400,
        Archive,
        Steady,
    ),
    job(
        "Billing run",
        "billing prod",
        Cron("0 6 * * 1-5", "Europe/Riga"),
        30,
        420,
        Rows,
        Fails { one_in: 12 },
    ),
    job("Invoice mails", "billing mail", Cron("30 7 * * 1-5", "Europe/Riga"), 30, 90, Rows, Steady),
    job("Dunning letters", "billing", Cron("0 8 * * 1", "Europe/Riga"), 120, 60, Rows, Steady),
    job(
        "Exchange rates",
        "billing",
        Cron("5 16 * * 1-5", "Europe/Berlin"),
        60,
        3,
        Rows,
        Fails { one_in: 18 },
    )
    .noting("The bank answers late on some days."),
    job("Payment queue", "billing worker", Every { minutes: 5 }, 10, 0, Nothing, Steady),
    job(
        "Order queue",
        "shop worker",
        Every { minutes: 5 },
        10,
        0,
        Nothing,
        AwayFor { from: Span::hours(52), length: Span::minutes(70) },
    ),
    job("Stock import", "shop prod", Every { minutes: 60 }, 20, 75, Rows, Flaps)
        .noting("The supplier's file is often broken."),
    job("Price feed", "shop", Every { minutes: 60 }, 15, 20, Rows, Steady),
    job("Search index", "shop", Every { minutes: 120 }, 45, 840, Nothing, Slows),
    job("Sitemap", "shop web", OnCalendar("01:10", "Europe/Berlin"), 60, 12, Nothing, Steady),
    job("Shop front page", "web prod", Every { minutes: 10 }, 5, 0, Web, Flaps),
    job("Customer portal", "web prod", Every { minutes: 10 }, 5, 0, Web, Steady),
    job("Status page", "web", Every { minutes: 10 }, 5, 0, Web, Steady),
    job("API smoke test", "web prod", Every { minutes: 15 }, 10, 8, Web, Fails { one_in: 400 }),
    job("Certificate renewal", "web tls", OnCalendar("03:20,15:20", "UTC"), 240, 15, Nothing, Steady),
    job("Certificate expiry report", "web tls", Cron("0 9 * * 1", "UTC"), 240, 5, Rows, Steady),
    job("Log rotation", "ops", Cron("0 0 * * *", "UTC"), 60, 6, Nothing, Steady),
    job("Disk space", "ops", Every { minutes: 30 }, 15, 1, Nothing, Steady),
    job("RAID scrub", "ops monthly", Cron("0 1 1 * *", "UTC"), 1440, 14_400, Nothing, Steady),
    job("ZFS scrub", "ops weekly", Cron("0 2 * * 6", "UTC"), 720, 9000, Nothing, Steady),
    job("Kernel updates", "ops weekly", Cron("30 4 * * 3", "UTC"), 120, 240, Nothing, Steady),
    job("Virus signatures", "ops mail", Every { minutes: 240 }, 120, 4, Nothing, Fails { one_in: 40 }),
    job("Spam filter training", "ops mail", Cron("20 1 * * *", "UTC"), 90, 180, Nothing, Steady),
    job("DNS zone check", "ops dns", Every { minutes: 60 }, 20, 2, Nothing, Steady),
    job("Time server", "ops", Every { minutes: 30 }, 15, 0, Nothing, Steady),
    job(
        "VPN to the warehouse",
        "ops net",
        Every { minutes: 10 },
        10,
        0,
        Nothing,
        AwayFor { from: Span::hours(200), length: Span::hours(3) },
    ),
    job(
        "Switch configuration backup",
        "ops net",
        Cron("0 23 * * 5", "Europe/Riga"),
        120,
        45,
        Nothing,
        Steady,
    ),
    job(
        "Metrics compaction",
        "ops metrics",
        Every { minutes: 180 },
        60,
        1100,
        Nothing,
        RunsFor(Span::minutes(11)),
    ),
    job("Trace sampling", "ops metrics", Every { minutes: 60 }, 30, 15, Nothing, Steady),
    job(
        "Data warehouse load",
        "data nightly",
        Cron("0 1 * * *", "Europe/Riga"),
        90,
        4200,
        Rows,
        HangsFor(Span::hours(5)),
    )
    .noting("Ends before the analysts come in."),
    job("Sales report", "data", Cron("30 6 * * 1-5", "Europe/Riga"), 60, 200, Rows, Steady),
    job("Churn model", "data weekly", Cron("0 4 * * 1", "Europe/Riga"), 360, 7200, Rows, Slows),
    job("Clickstream import", "data", Every { minutes: 60 }, 30, 240, Rows, Fails { one_in: 120 }),
    job("Data retention", "data gdpr", Cron("0 22 * * *", "Europe/Riga"), 120, 90, Rows, Steady)
        .noting("Deletes what is older than the law allows."),
    job("GDPR exports", "data gdpr", Every { minutes: 720 }, 120, 30, Rows, Steady),
    job("Sensor in cellar", "home device", Every { minutes: 15 }, 30, 0, Nothing, Misses { one_in: 300 }),
    job(
        "Sensor in greenhouse",
        "home device",
        Every { minutes: 15 },
        30,
        0,
        Nothing,
        AwayFor { from: Span::hours(320), length: Span::hours(9) },
    )
    .noting("Sleeps when the sun does not reach the panel."),
    job("Heating controller", "home device", Every { minutes: 30 }, 60, 0, Nothing, Steady),
    job("Sump pump", "home device", Every { minutes: 60 }, 60, 0, Nothing, SilentFor(Span::minutes(80))),
    job("Doorbell", "home device", Every { minutes: 60 }, 180, 0, Nothing, Steady),
    job("Rain gauge", "home device", Every { minutes: 60 }, 180, 0, Nothing, Unpinged)
        .noting("Still in its box."),
    job("Windows patch report", "office windows", Cron("0 10 * * 3", "Europe/Riga"), 240, 60, Rows, Steady),
    job(
        "File server shadow copies",
        "office windows",
        Cron("0 7,12 * * 1-5", "Europe/Riga"),
        60,
        40,
        Nothing,
        Steady,
    ),
    job("Directory sync", "office", Every { minutes: 30 }, 20, 25, Nothing, Steady),
    job("Badge reader import", "office", Every { minutes: 120 }, 60, 10, Rows, Paused)
        .noting("The reader is being replaced."),
    job("Room calendar", "office", Every { minutes: 60 }, 30, 3, Nothing, Steady),
    job("Phone system backup", "office backup", Cron("0 21 * * *", "Europe/Riga"), 120, 150, Archive, Steady),
    job("CI cleanup", "dev", Cron("0 4 * * *", "UTC"), 120, 500, Nothing, Steady),
    job("Nightly build", "dev nightly", Cron("30 0 * * *", "UTC"), 60, 1500, Nothing, Fails { one_in: 7 }),
    job("Dependency report", "dev weekly", Cron("0 6 * * 1", "UTC"), 120, 80, Rows, Steady),
    job("Staging refresh", "dev", Cron("0 5 * * 1-5", "UTC"), 90, 900, Dump, Fails { one_in: 14 }),
    job("Container registry sweep", "dev", Every { minutes: 720 }, 120, 60, Nothing, Steady),
];
