//! Who is in a project and whose it is: places, invitations, roles, transfers, and the end of a project.

use std::sync::Arc;

use flatline::accounts::team::{self, Invitee};
use flatline::accounts::{self, Project, Role, User, projects};
use flatline::app::App;
use flatline::db::{Db, WriteTx};
use flatline::time::Time;
use flatline::{checks, id, plans};
use serde_json::json;

use super::ground::{Ground, Setting, count, jitter, on_all, race, rounds};
use crate::support::{Answer, sign_up};
use crate::web::browser::{Browser, token_in};

const OWNER: &str = "owner@example.org";
const HEIR: &str = "heir@example.org";
const MANAGER: &str = "manager@example.org";
/// Checks that may stand about between rounds.
const CLUTTER: usize = 60;

/// A form that is about to be sent, with its token.
#[derive(Clone)]
struct Form {
    browser: Browser,
    path: String,
    fields: Vec<(&'static str, String)>,
}

impl Form {
    async fn new(browser: &Browser, path: &str, fields: &[(&'static str, &str)]) -> Self {
        let token = token_in(&browser.open("/account").await).unwrap();
        let mut all = vec![("token", token)];
        all.extend(fields.iter().map(|(name, value)| (*name, (*value).to_owned())));
        Self { browser: browser.clone(), path: path.to_owned(), fields: all }
    }

    async fn send(&self) -> Answer {
        let fields: Vec<(&str, &str)> =
            self.fields.iter().map(|(name, value)| (*name, value.as_str())).collect();
        self.browser.post(&self.path, &fields).await
    }
}

/// Sends forms at the same moment; the statuses in their order.
async fn send_at_once(forms: Vec<Form>) -> Vec<u16> {
    let forms = Arc::new(forms);
    race(forms.len(), |index| {
        let forms = Arc::clone(&forms);
        async move {
            jitter().await;
            forms[index].send().await.status
        }
    })
    .await
}

/// Deletes the project's checks for good if there are many: rounds would be spent on what the ones before have made.
/// Whether it did.
async fn clear_up(ground: &Ground) -> bool {
    let listed = ground.client(0).get("checks/").await.json();
    let listed = listed["checks"].as_array().unwrap();
    if listed.len() < CLUTTER {
        return false;
    }
    for check in listed {
        let uuid = check["uuid"].as_str().unwrap();
        assert_eq!(ground.client(0).delete(&format!("checks/{uuid}")).await.status, 200);
    }
    let mut tx = ground.db.begin_write().await.unwrap();
    checks::store::purge(&mut tx, Time(i64::MAX), i64::MAX).await.unwrap();
    tx.commit().await.unwrap();
    true
}

/// A browser of a user at the server of the `index`th caller.
async fn browser(ground: &Ground, email: &str, index: usize) -> Browser {
    Browser::signed_in_at(&ground.app, &ground.client(index), email).await
}

async fn user(db: &Db, email: &str) -> User {
    let mut tx = db.begin_read().await.unwrap();
    accounts::store::find_user_by_email(&mut tx, email).await.unwrap().unwrap()
}

async fn first_project(ground: &Ground) -> Project {
    let mut tx = ground.db.begin_read().await.unwrap();
    accounts::store::find_project_by_uuid(&mut tx, ground.owner.project).await.unwrap().unwrap()
}

/// Another project of the owner's, with a manager, and offered to a member.
async fn offered_project(ground: &Ground) -> Project {
    let now = ground.app.clock.now();
    let (owner, heir, manager) =
        (user(&ground.db, OWNER).await, user(&ground.db, HEIR).await, user(&ground.db, MANAGER).await);
    let mut tx = ground.db.begin_write().await.unwrap();
    let project = projects::create(&mut tx, owner.account_id, owner.id, "offered", now).await.unwrap();
    for (user, role) in [(&heir, Role::Member), (&manager, Role::Manager)] {
        accounts::store::create_member(&mut tx, project.id, user.id, role, now).await.unwrap();
    }
    team::offer(&mut tx, project.id, owner.id, heir.uuid).await.unwrap().unwrap();
    tx.commit().await.unwrap();
    project
}

/// Lets a user take a project over that is offered to them.
async fn take_over(app: &App, tx: &mut WriteTx, user: &User, project_id: i64) {
    let project = accounts::store::find_project(tx, project_id).await.unwrap().unwrap();
    let account = app.account(tx, user.account_id).await.unwrap();
    plans::transfer::accept(tx, &account, user.id, &project).await.unwrap();
}

/// Whose account a project is on, and its owners: always the one user of that account.
async fn assert_one_owner(ground: &Ground, project_id: i64) {
    let mut tx = ground.db.begin_read().await.unwrap();
    let project = accounts::store::find_project(&mut tx, project_id).await.unwrap().unwrap();
    let of_account =
        accounts::store::find_user_of_account(&mut tx, project.account_id).await.unwrap().unwrap();
    let members = team::store::list_members(&mut tx, project_id).await.unwrap();
    let owners: Vec<i64> =
        members.iter().filter(|one| one.role == Role::Owner).map(|one| one.user_id).collect();
    assert_eq!(owners, [of_account.id], "{members:?}");
    for check in checks::store::list(&mut tx, project_id).await.unwrap() {
        assert_eq!(check.account_id, project.account_id);
    }
}

on_all! {
    async fn of_ten_invitations_with_two_places_left_two_are_sent(setting: Setting) {
        let ground = Ground::new(setting, "narrow").await;
        let project = first_project(&ground).await;
        let owner = user(&ground.db, OWNER).await;
        let path = format!("/projects/{}/team/invitations", project.uuid);
        let mut browsers = Vec::new();
        for index in 0..10 {
            browsers.push(browser(&ground, OWNER, index).await);
        }
        for round in 0..rounds() {
            let mut forms = Vec::new();
            for (index, browser) in browsers.iter().enumerate() {
                let email = format!("guest{index}.{round}@example.org");
                let fields = [("email", email.as_str()), ("role", "member")];
                forms.push(Form::new(browser, &path, &fields).await);
            }
            let statuses = send_at_once(forms).await;
            assert_eq!((count(&statuses, 303), count(&statuses, 422)), (2, 8), "round {round}: {statuses:?}");
            ground.end().await;
            let mut tx = ground.db.begin_write().await.unwrap();
            let now = ground.app.clock.now();
            for one in team::store::list_invitations(&mut tx, project.id, now).await.unwrap() {
                team::revoke(&mut tx, project.id, owner.id, one.uuid).await.unwrap().unwrap();
            }
            tx.commit().await.unwrap();
        }
        ground.end().await;
    }

    async fn of_ten_that_redeem_one_invitation_one_joins(setting: Setting) {
        let ground = Ground::new(setting, "narrow").await;
        sign_up(&ground.app, HEIR, Some("calm")).await;
        let (project, owner, friend) =
            (first_project(&ground).await, user(&ground.db, OWNER).await, user(&ground.db, HEIR).await);
        let mut browsers = Vec::new();
        for index in 0..10 {
            browsers.push(browser(&ground, HEIR, index).await);
        }
        for round in 0..rounds() {
            let (now, token) = (ground.app.clock.now(), id::token());
            let mut tx = ground.db.begin_write().await.unwrap();
            let account = ground.app.account(&mut tx, owner.account_id).await.unwrap();
            let invitee =
                Invitee { email: HEIR.to_owned(), role: Role::Member, invited_by: OWNER.to_owned() };
            let digest = id::digest(&token);
            let invited = team::invite(&mut tx, &account, project.id, owner.id, &invitee, &digest, now).await;
            invited.unwrap().unwrap();
            tx.commit().await.unwrap();
            let mut forms = Vec::new();
            for browser in &browsers {
                forms.push(Form::new(browser, &format!("/invitations/{token}"), &[]).await);
            }
            let statuses = send_at_once(forms).await;
            let late = count(&statuses, 404) + count(&statuses, 410);
            assert_eq!((count(&statuses, 303), late), (1, 9), "round {round}: {statuses:?}");
            ground.end().await;
            let mut tx = ground.db.begin_write().await.unwrap();
            team::remove(&mut tx, project.id, owner.id, friend.uuid).await.unwrap().unwrap();
            tx.commit().await.unwrap();
        }
        ground.end().await;
    }

    async fn whatever_is_made_while_a_project_changes_hands_is_counted_by_whose_it_is(setting: Setting) {
        let ground = Ground::new(setting, "calm").await;
        sign_up(&ground.app, HEIR, Some("slow")).await;
        let (project, owner, heir) =
            (first_project(&ground).await, user(&ground.db, OWNER).await, user(&ground.db, HEIR).await);
        let mut tx = ground.db.begin_write().await.unwrap();
        let now = ground.app.clock.now();
        accounts::store::create_member(&mut tx, project.id, heir.id, Role::Member, now).await.unwrap();
        tx.commit().await.unwrap();
        let accepting = browser(&ground, HEIR, 1).await;
        for round in 0..rounds() {
            let mut tx = ground.db.begin_write().await.unwrap();
            team::offer(&mut tx, project.id, owner.id, heir.uuid).await.unwrap().unwrap();
            tx.commit().await.unwrap();
            let accept = Form::new(&accepting, &format!("/projects/{}/team/accept", project.uuid), &[]).await;
            let old = ground.check("old").await;
            let statuses = race(10, |index| {
                let (client, accept, old) = (ground.client(index), accept.clone(), old.clone());
                let by_name = format!("/ping/{}/job-{round}-{index}?create=1", ground.owner.ping_key);
                async move {
                    jitter().await;
                    match index {
                        0 => accept.send().await.status,
                        1..4 => client.post("checks/", &json!({"name": "new"})).await.status,
                        4..7 => client.without_key().send("GET", &by_name, &[], Vec::new()).await.status,
                        7 => client.delete(&format!("checks/{old}")).await.status,
                        _ => client.ping(&old, ["/fail", ""][index - 8]).await.status,
                    }
                }
            })
            .await;
            assert_eq!(statuses[0], 303, "round {round}: {statuses:?}");
            assert_eq!(count(&statuses[1..7], 201), 6, "round {round}: {statuses:?}");
            assert_eq!(statuses[7], 200, "round {round}: {statuses:?}");
            assert_one_owner(&ground, project.id).await;
            ground.end().await;
            let mut tx = ground.db.begin_write().await.unwrap();
            team::offer(&mut tx, project.id, heir.id, owner.uuid).await.unwrap().unwrap();
            take_over(&ground.app, &mut tx, &owner, project.id).await;
            tx.commit().await.unwrap();
            assert_one_owner(&ground, project.id).await;
            clear_up(&ground).await;
        }
        ground.end().await;
    }

    async fn a_project_has_one_owner_whatever_becomes_of_the_member_it_is_offered_to(setting: Setting) {
        let ground = Ground::new(setting, "calm").await;
        sign_up(&ground.app, HEIR, Some("calm")).await;
        sign_up(&ground.app, MANAGER, Some("calm")).await;
        let heir = user(&ground.db, HEIR).await.uuid;
        let by = [
            browser(&ground, OWNER, 0).await,
            browser(&ground, HEIR, 1).await,
            browser(&ground, MANAGER, 2).await,
        ];
        let (mut taken_over, mut kept) = (0, 0);
        for round in 0..rounds() {
            let project = offered_project(&ground).await;
            let team = format!("/projects/{}/team", project.uuid);
            let mut forms = Vec::new();
            for (browser, verb) in [
                (&by[1], "accept".to_owned()),
                (&by[1], "accept".to_owned()),
                (&by[0], format!("members/{heir}/remove")),
                (&by[2], format!("members/{heir}/remove")),
                (&by[2], format!("members/{heir}/role")),
                (&by[1], "leave".to_owned()),
                (&by[0], "withdraw".to_owned()),
                (&by[0], "leave".to_owned()),
            ] {
                forms.push(Form::new(browser, &format!("{team}/{verb}"), &[("role", "readonly")]).await);
            }
            let statuses = send_at_once(forms).await;
            assert!(statuses.iter().all(|status| [303, 400, 403, 404].contains(status)), "{statuses:?}");
            let accepted = count(&statuses[..2], 303);
            assert!(accepted <= 1, "round {round}: {statuses:?}");
            if accepted == 1 { taken_over += 1 } else { kept += 1 }
            assert_one_owner(&ground, project.id).await;
            ground.end().await;
        }
        println!("taken over {taken_over} times, kept {kept} times");
    }

    async fn nothing_is_made_in_a_project_that_is_being_deleted(setting: Setting) {
        let ground = Ground::new(setting, "calm").await;
        let deleting = browser(&ground, OWNER, 1).await;
        let (project, uuid) = (first_project(&ground).await, ground.owner.project.to_string());
        let mut made = 0;
        for round in 0..rounds() {
            let delete = Form::new(&deleting, &format!("/projects/{uuid}/settings/delete"), &[]).await;
            let statuses = race(8, |index| {
                let (client, delete) = (ground.client(index), delete.clone());
                let by_name = format!("/ping/{}/job-{round}-{index}?create=1", ground.owner.ping_key);
                async move {
                    jitter().await;
                    match index {
                        0 => delete.send().await.status,
                        1..4 => client.post("checks/", &json!({"name": "new"})).await.status,
                        _ => client.without_key().send("GET", &by_name, &[], Vec::new()).await.status,
                    }
                }
            })
            .await;
            assert_eq!(statuses[0], 303, "round {round}: {statuses:?}");
            assert!(statuses[1..].iter().all(|status| [201, 401, 404].contains(status)), "{statuses:?}");
            made += count(&statuses, 201);
            let mut tx = ground.db.begin_read().await.unwrap();
            assert!(checks::store::list(&mut tx, project.id).await.unwrap().is_empty(), "round {round}");
            drop(tx);
            ground.end().await;
            let restore = Form::new(&deleting, "/projects/restore", &[("project", &uuid)]).await;
            assert_eq!(send_at_once(vec![restore.clone(), restore]).await.iter().filter(|one| **one == 303).count(), 1);
            let listed = ground.client(0).get("checks/").await.json();
            let listed = listed["checks"].as_array().unwrap();
            assert_eq!(listed.len(), made, "round {round}");
            ground.end().await;
            if clear_up(&ground).await {
                made = 0;
            }
        }
    }
}
