//! The marks that stand before a word: framed ones are states, bare ones are events.

use std::fmt;

use askama::filters::HtmlSafe;

/// One mark; written as a reference to the shapes that every page begins with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mark {
    Up,
    Down,
    Late,
    Running,
    New,
    Paused,
    Unseen,
    Tick,
    Cross,
    Play,
    Dot,
    Again,
    Info,
}

impl Mark {
    const fn id(self) -> &'static str {
        match self {
            Self::Up => "up",
            Self::Down => "down",
            Self::Late => "late",
            Self::Running => "running",
            Self::New => "new",
            Self::Paused => "paused",
            Self::Unseen => "unseen",
            Self::Tick => "tick",
            Self::Cross => "cross",
            Self::Play => "play",
            Self::Dot => "dot",
            Self::Again => "again",
            Self::Info => "info",
        }
    }
}

impl fmt::Display for Mark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "<svg class=\"mark\" aria-hidden=\"true\"><use href=\"#m-{}\"/></svg>", self.id())
    }
}

impl HtmlSafe for Mark {}
