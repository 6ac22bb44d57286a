//! What the jobs of a demonstration print.

use super::cast::Prints;
use super::{Event, JOBS};
use crate::checks::Signal;

/// The output that comes with an event; empty where a job sends none.
pub fn body(event: &Event) -> String {
    let failed = event.signal == Signal::Fail;
    if event.signal == Signal::Start {
        return String::new();
    }
    // A number that differs from run to run and is the same each time.
    let n = event.at.0 / 1000 % 97;
    match JOBS[event.job].prints {
        Prints::Nothing => String::new(),
        Prints::Dump if failed => format!(
            "pg_dump: error: connection to server at \"db1\" failed: FATAL:  remaining connection slots are \
             reserved\npg_dump: detail: tried {} times\n",
            2 + n % 3
        ),
        Prints::Dump => format!("dumped 214 tables, {},{:03} MB, in {} s\n", 4 + n % 3, n * 10, 300 + n),
        Prints::Archive if failed => format!(
            "Creating archive at \"backup::nightly-{n}\"\nRemote: ssh: connect to host vault port 22: Connection timed \
             out\nConnection closed by remote host. Is borg working on the server?\n"
        ),
        Prints::Archive => format!(
            "Archive name: nightly-{n}\nNumber of files: {}\nOriginal size: 412.{n} GB\nDeduplicated size: 1.{n} GB\n",
            81_000 + n * 7
        ),
        Prints::Web if failed => "HTTP 502 after 10.0 s: upstream closed the connection\n".to_owned(),
        Prints::Web => format!("HTTP 200 in {} ms\n", 40 + n),
        Prints::Rows if failed => {
            format!(
                "\u{1b}[31mERROR\u{1b}[0m row {n}: amount is not a number: \"12,5O\"\n1 error, nothing was written\n"
            )
        }
        Prints::Rows => format!("read {} rows, wrote {}, skipped {}\n", 9_000 + n, 8_990 + n, 10),
    }
}
