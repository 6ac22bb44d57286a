#![no_main]

mod promise;

use flatline::schedule::Schedule;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| promise::hold(text, Schedule::on_calendar));
