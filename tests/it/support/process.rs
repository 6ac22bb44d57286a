//! The real program as a process of its own, for what one process cannot show: races between several, and what
//! is left after it was killed.

use std::process::Stdio;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, Command};

use super::{Client, Place};

/// A running `flatline serve`; killed with the test. What it logged is shown if the test fails.
pub struct Process {
    child: Child,
    pub client: Client,
    said: Arc<Mutex<Vec<String>>>,
}

/// The program with a place's settings and nothing else of ours in its environment.
pub fn program(place: &Place, changes: &[(&str, &str)]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_flatline"));
    command
        .env_remove("NOTIFY_SOCKET")
        .env("FLATLINE_DATABASE_URL", &place.url)
        .env("FLATLINE_DATA_DIR", place.folder.path())
        .env("FLATLINE_LISTEN", "127.0.0.1:0")
        .env("FLATLINE_SITE_URL", "http://flatline.test")
        .env("FLATLINE_PRIVATE_TARGETS", "127.0.0.0/8")
        .kill_on_drop(true);
    for (name, value) in changes {
        command.env(format!("FLATLINE_{name}"), value);
    }
    command
}

impl Process {
    /// Starts it and waits until it says where it listens.
    pub async fn start(place: &Place, changes: &[(&str, &str)]) -> Self {
        Self::of(program(place, changes)).await
    }

    /// The same for a command that ends in the program.
    pub async fn of(mut command: Command) -> Self {
        let mut child = command.arg("serve").stderr(Stdio::piped()).spawn().expect("the program starts");
        let stderr = child.stderr.take().expect("it is piped");
        let mut lines = BufReader::new(stderr).lines();
        let address = tokio::time::timeout(Duration::from_secs(60), async {
            let mut said = Vec::new();
            while let Ok(Some(line)) = lines.next_line().await {
                if let Some((_, rest)) = line.split_once("address=") {
                    return rest.split(' ').next().unwrap_or_default().to_owned();
                }
                said.push(line);
            }
            panic!("the program ended before it listened: {said:?}");
        })
        .await
        .expect("it says where it listens within a minute");
        // Its later words are read, so that it never blocks on a full pipe.
        let said = Arc::new(Mutex::new(Vec::new()));
        let keeping = Arc::clone(&said);
        tokio::spawn(async move {
            while let Ok(Some(line)) = lines.next_line().await {
                keeping.lock().expect("no test panics while it holds it").push(line);
            }
        });
        Self { child, client: Client::new(&format!("http://{address}")), said }
    }

    /// The process's number.
    pub fn id(&self) -> u32 {
        self.child.id().expect("it runs")
    }

    /// What it logged since it listens.
    pub fn said(&self) -> Vec<String> {
        self.said.lock().expect("no test panics while it holds it").clone()
    }

    /// Ends it as a power cut does.
    pub async fn kill(&mut self) {
        self.child.kill().await.expect("it can be killed");
    }

    /// Ends it in order, and waits for its end.
    pub async fn terminate(&mut self) -> std::process::ExitStatus {
        let sent = Command::new("kill").args(["-TERM", &self.id().to_string()]).status().await;
        assert!(sent.expect("kill is there").success());
        self.child.wait().await.expect("it ends")
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("the process said:\n{}", self.said().join("\n"));
        }
    }
}
