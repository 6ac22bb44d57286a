//! The outbox: a folder of `*.eml` files for instances without a mail server.
//!
//! File names begin with the time, so a listing is in order, and end with the letter's id, so a letter that is sent
//! again replaces itself. A file is complete and on disk before it has its name, and readable by its owner only: it
//! may hold a sign-in link.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use uuid::Uuid;

use crate::time::Time;

const FILE_MODE: u32 = 0o600;
const FOLDER_MODE: u32 = 0o700;

#[derive(Debug)]
pub(super) struct Outbox {
    folder: PathBuf,
}

impl Outbox {
    pub(super) fn new(folder: PathBuf) -> Self {
        Self { folder }
    }

    /// Files a message and tells where.
    pub(super) async fn file(&self, id: Uuid, message: Vec<u8>, now: Time) -> io::Result<PathBuf> {
        let folder = self.folder.clone();
        tokio::task::spawn_blocking(move || place(&folder, id, &message, now))
            .await
            .map_err(io::Error::other)?
    }
}

fn place(folder: &Path, id: Uuid, message: &[u8], now: Time) -> io::Result<PathBuf> {
    DirBuilder::new().recursive(true).mode(FOLDER_MODE).create(folder)?;
    let path = match earlier(folder, id)? {
        Some(path) => path,
        None => folder.join(format!("{}-{id}.eml", now.utc().format("%Y%m%dT%H%M%S%.3fZ"))),
    };
    let unfinished = folder.join(format!(".{id}.tmp"));
    let mut file =
        OpenOptions::new().write(true).create(true).truncate(true).mode(FILE_MODE).open(&unfinished)?;
    file.write_all(message)?;
    file.sync_all()?;
    fs::rename(&unfinished, &path)?;
    File::open(folder)?.sync_all()?;
    Ok(path)
}

/// The file that this letter got when it was sent before.
fn earlier(folder: &Path, id: Uuid) -> io::Result<Option<PathBuf>> {
    let ending = format!("-{id}.eml");
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.file_name().and_then(|name| name.to_str()).is_some_and(|name| name.ends_with(&ending)) {
            return Ok(Some(path));
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;
    use crate::mail::{Letter, MailError, Mailbox, Post, Sent};
    use crate::time::Span;

    const NOW: Time = Time(1_774_494_720_987);

    struct Folder(PathBuf);

    impl Folder {
        fn new() -> Self {
            Self(std::env::temp_dir().join(format!("flatline-outbox-{}", crate::id::uuid())))
        }

        fn names(&self) -> Vec<String> {
            let mut names: Vec<String> = fs::read_dir(&self.0)
                .unwrap()
                .map(|e| e.unwrap().file_name().into_string().unwrap())
                .collect();
            names.sort();
            names
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    fn letter(id: u128, text: &str) -> Letter {
        Letter {
            id: Uuid::from_u128(id),
            follows: None,
            to: Mailbox::parse("bob@example.org").unwrap(),
            returns_to: None,
            subject: "DOWN".to_owned(),
            text: text.to_owned(),
            html: String::new(),
            unsubscribe: None,
        }
    }

    fn post(folder: &Folder) -> Post {
        Post::outbox(folder.0.join("outbox"), Mailbox::parse("alerts@mon.example").unwrap())
    }

    #[tokio::test]
    async fn letters_are_filed_in_order_for_their_owner_only_and_replace_themselves() {
        let folder = Folder::new();
        let post = post(&folder);
        assert!(post.is_outbox());
        post.send(&letter(9, "first"), NOW).await.unwrap();
        post.send(&letter(1, "second"), NOW + Span::millis(50)).await.unwrap();
        let again = post.send(&letter(9, "first again"), NOW + Span::hours(1)).await.unwrap();

        let outbox = Folder(folder.0.join("outbox"));
        let first = "20260326T031200.987Z-00000000-0000-0000-0000-000000000009.eml";
        assert_eq!(outbox.names(), [first, "20260326T031201.037Z-00000000-0000-0000-0000-000000000001.eml"]);
        let path = outbox.0.join(first);
        assert_eq!(again, Sent::Filed { path: path.clone() });
        assert!(fs::read_to_string(&path).unwrap().contains("\r\nfirst again\r\n"));
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(fs::metadata(&outbox.0).unwrap().permissions().mode() & 0o777, 0o700);
    }

    #[tokio::test]
    async fn a_file_left_by_a_crash_is_taken_over() {
        let folder = Folder::new();
        let outbox = Folder(folder.0.join("outbox"));
        fs::create_dir_all(&outbox.0).unwrap();
        let leftover = format!(".{}.tmp", Uuid::from_u128(1));
        fs::write(outbox.0.join(&leftover), "x".repeat(10_000)).unwrap();
        let Sent::Filed { path } = post(&folder).send(&letter(1, "whole"), NOW).await.unwrap() else {
            panic!()
        };
        assert_eq!(outbox.names().len(), 1);
        assert!(!fs::read_to_string(path).unwrap().contains("xxx"));
    }

    #[tokio::test]
    async fn a_folder_that_cannot_be_written_is_worth_another_try() {
        let folder = Folder::new();
        fs::create_dir_all(&folder.0).unwrap();
        fs::write(folder.0.join("outbox"), "a file").unwrap();
        let error = post(&folder).send(&letter(1, "lost"), NOW).await.unwrap_err();
        assert!(matches!(error, MailError::Outbox(_)) && !error.is_permanent());
    }
}
