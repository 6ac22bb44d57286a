//! Members and invitations: who comes in, as what, how many, and who decides.

use flatline::accounts::Role;
use flatline::time::Span;

use super::browser::Browser;
use crate::support::{Answer, Engine, World, on_both};

const OWNER: &str = "owner@example.org";
const FRIEND: &str = "friend@example.org";

fn team(world: &World) -> String {
    format!("/projects/{}/team", world.owner.project)
}

async fn invite(world: &World, browser: &Browser, email: &str, role: &str) -> Answer {
    let path = format!("{}/invitations", team(world));
    browser.post_from(&team(world), &path, &[("email", email), ("role", role)]).await
}

/// The path of the link in the newest letter of an invitation to an address.
async fn link_to(world: &World, email: &str) -> String {
    world.tick().await;
    let letters = world.outbox().await;
    let to = format!("To: {email}");
    let mut ours: Vec<&String> = letters.iter().filter(|letter| letter.contains(&to)).collect();
    ours.sort_by_key(|letter| letter.lines().find(|line| line.starts_with("Date:")).map(str::to_owned));
    let rest =
        ours.last().and_then(|letter| letter.split("/invitations/").nth(1)).expect("a letter with a link");
    format!("/invitations/{}", &rest[..40])
}

/// The action of the form in the row of a member or an invitation.
fn action_at(page: &str, email: &str, ending: &str) -> String {
    let row = page.split(&format!("<bdi>{email}</bdi>")).nth(1).expect("a row");
    let row = row.split("</tr>").next().expect("its end");
    let mut actions = row.split("action=\"").skip(1).filter_map(|rest| rest.split('"').next());
    actions.find(|action| action.ends_with(ending)).expect("a form").to_owned()
}

async fn role_of(world: &World, email: &str) -> Option<Role> {
    let mut tx = world.app.db.begin_read().await.expect("a read");
    let user = flatline::accounts::store::find_user_by_email(&mut tx, email).await.expect("a read");
    let memberships = flatline::accounts::store::list_memberships(&mut tx, user?.id).await.expect("a read");
    memberships.into_iter().find(|one| one.project.uuid == world.owner.project).map(|one| one.role)
}

async fn doctor(world: &World) {
    assert_eq!(flatline::cli::examine(&world.app.db).await.expect("it can look"), Vec::<String>::new());
}

on_both! {
    async fn whoever_has_an_account_joins_by_the_button_of_the_page_once(engine: Engine) {
        let world = World::new(engine, "free").await;
        world.sign_up(FRIEND, "free").await;
        let owner = Browser::signed_in(&world, OWNER).await;
        assert_eq!(invite(&world, &owner, " Friend@Example.org ", "manager").await.status, 303);
        let page = owner.open(&team(&world)).await;
        assert!(page.contains("2 of the 3 places of the plan free are taken, 1 open invitation among them."), "{page}");
        let link = link_to(&world, FRIEND).await;

        let guest = Browser::new(&world);
        for _ in 0..2 {
            let page = guest.open(&link).await;
            assert!(page.contains("owner@example.org invites friend@example.org into this project, as a manager."));
            assert!(page.contains(&format!("href=\"/sign-in?next={link}\"")), "{page}");
        }
        let stays = guest.submit(&link, &[("password", "long enough")]).await;
        assert_eq!((stays.status, role_of(&world, FRIEND).await), (403, None), "a page without a form");
        assert!(owner.open(&link).await.contains("In this browser owner@example.org is signed in"));
        assert_eq!(owner.submit(&link, &[]).await.status, 200);
        assert_eq!(role_of(&world, FRIEND).await, None);

        let friend = Browser::signed_in(&world, FRIEND).await;
        let other = friend.clone();
        let joined = friend.submit(&link, &[]).await;
        let project = format!("/projects/{}", world.owner.project);
        assert_eq!((joined.status, joined.header("location")), (303, Some(project.as_str())));
        assert_eq!(role_of(&world, FRIEND).await, Some(Role::Manager));
        assert_eq!(other.get(&link).await.status, 410);
        assert_eq!(other.post_from("/account", &link, &[]).await.status, 410);
        assert_eq!(friend.get("/").await.header("location"), Some("/projects"));
        let again = invite(&world, &owner, FRIEND, "member").await;
        assert_eq!(again.status, 422);
        assert!(again.text().contains("friend@example.org is in the project already. Nobody was invited."));
        doctor(&world).await;
    }

    async fn whoever_has_no_account_makes_it_on_the_way_in(engine: Engine) {
        let world = World::with(engine, "unlimited", &[("SIGNUP", "closed")]).await;
        let owner = Browser::signed_in(&world, OWNER).await;
        assert_eq!(invite(&world, &owner, FRIEND, "readonly").await.status, 303);
        let link = link_to(&world, FRIEND).await;
        let browser = Browser::new(&world);
        let page = browser.open(&link).await;
        assert!(page.contains("as a read-only member") && page.contains("Make my account and join"), "{page}");
        let short = browser.submit(&link, &[("password", "short")]).await;
        assert_eq!(short.status, 422);
        let joined = browser.submit(&link, &[("password", "long enough")]).await;
        let project = format!("/projects/{}", world.owner.project);
        assert_eq!((joined.status, joined.header("location")), (303, Some(project.as_str())), "{}", joined.text());
        browser.open(&project).await;
        assert_eq!(role_of(&world, FRIEND).await, Some(Role::Readonly));
        assert!(browser.open("/projects").await.contains("2 projects"), "one is their own");
        let again = Browser::new(&world);
        let answer = again.submit("/sign-in", &[("email", FRIEND), ("password", "long enough")]).await;
        assert_eq!(answer.status, 303);
        doctor(&world).await;
    }

    async fn members_and_invitations_together_are_as_many_as_the_plan_says(engine: Engine) {
        let world = World::new(engine, "free").await;
        let owner = Browser::signed_in(&world, OWNER).await;
        for email in ["a@example.org", "b@example.org"] {
            assert_eq!(invite(&world, &owner, email, "member").await.status, 303);
        }
        let full = invite(&world, &owner, "c@example.org", "member").await;
        assert_eq!(full.status, 422);
        assert!(full.text().contains("The plan free has 3 places for members in a project"), "{}", full.text());
        assert!(full.text().contains("value=\"c@example.org\""), "what was typed is kept");
        let first = link_to(&world, "a@example.org").await;
        world.advance(Span::seconds(61));
        assert_eq!(invite(&world, &owner, "a@example.org", "readonly").await.status, 303, "it replaces the first");
        let second = link_to(&world, "a@example.org").await;
        let guest = Browser::new(&world);
        assert_eq!((guest.get(&first).await.status, guest.get(&second).await.status), (410, 200));
        doctor(&world).await;

        let page = owner.open(&team(&world)).await;
        let revoke = action_at(&page, "a@example.org", "/revoke");
        assert_eq!(owner.post_from(&team(&world), &revoke, &[]).await.status, 303);
        assert_eq!(owner.post_from(&team(&world), &revoke, &[]).await.status, 404, "once");
        assert_eq!(guest.get(&second).await.status, 410);
        assert_eq!(invite(&world, &owner, "c@example.org", "member").await.status, 303);
        doctor(&world).await;
    }

    async fn an_invitation_is_good_for_a_week_and_then_gives_its_place_back(engine: Engine) {
        let world = World::new(engine, "free").await;
        let owner = Browser::signed_in(&world, OWNER).await;
        for email in ["a@example.org", "b@example.org"] {
            assert_eq!(invite(&world, &owner, email, "member").await.status, 303);
        }
        let link = link_to(&world, "a@example.org").await;
        world.advance(Span::hours(24 * 7) - Span::seconds(1));
        assert_eq!(Browser::new(&world).get(&link).await.status, 200);
        world.advance(Span::seconds(1));
        assert_eq!(Browser::new(&world).get(&link).await.status, 410);
        assert_eq!(invite(&world, &owner, "c@example.org", "member").await.status, 303, "both places are free");
        world.tick().await;
        assert!(owner.open(&team(&world)).await.contains("2 of the 3 places"), "one is left");
        doctor(&world).await;
    }

    async fn a_manager_decides_about_all_but_the_owner(engine: Engine) {
        let world = World::new(engine, "unlimited").await;
        for (email, role) in [("manager@example.org", Role::Manager), (FRIEND, Role::Member)] {
            world.sign_up(email, "free").await;
            world.add_member(email, role).await;
        }
        let manager = Browser::signed_in(&world, "manager@example.org").await;
        let owner = Browser::signed_in(&world, OWNER).await;
        let page = manager.open(&team(&world)).await;
        let set = action_at(&page, FRIEND, "/role");
        assert_eq!(manager.post_from(&team(&world), &set, &[("role", "readonly")]).await.status, 303);
        assert_eq!(role_of(&world, FRIEND).await, Some(Role::Readonly));
        assert_eq!(manager.post_from(&team(&world), &set, &[("role", "owner")]).await.status, 303);
        assert_eq!(role_of(&world, FRIEND).await, Some(Role::Readonly), "nobody becomes an owner like this");

        let mut tx = world.app.db.begin_read().await.expect("a read");
        let user = flatline::accounts::store::find_user_by_email(&mut tx, OWNER).await.expect("read").expect("a user");
        drop(tx);
        for deed in ["role", "remove"] {
            let path = format!("{}/members/{}/{deed}", team(&world), user.uuid);
            let refused = manager.post_from(&team(&world), &path, &[("role", "member")]).await;
            assert_eq!(refused.status, 400);
            assert!(refused.text().contains("The owner stays in the project"), "{}", refused.text());
        }
        let own = action_at(&owner.open(&team(&world)).await, "manager@example.org", "/role");
        assert_eq!(owner.post_from(&team(&world), &own, &[("role", "member")]).await.status, 303);
        assert_eq!(manager.post_from(&team(&world), &set, &[("role", "member")]).await.status, 403, "demoted");

        let remove = action_at(&owner.open(&team(&world)).await, FRIEND, "/remove");
        assert_eq!(owner.post_from(&team(&world), &remove, &[]).await.status, 303);
        assert_eq!(role_of(&world, FRIEND).await, None);
        let left = manager.post_from(&team(&world), &format!("{}/leave", team(&world)), &[]).await;
        assert_eq!((left.status, left.header("location")), (303, Some("/projects")));
        assert_eq!(manager.get(&team(&world)).await.status, 404);
        assert!(owner.open(&team(&world)).await.contains("You are alone in this project"));
        doctor(&world).await;
    }

    async fn nobody_is_mailed_more_invitations_than_the_limit_says(engine: Engine) {
        let world = World::new(engine, "unlimited").await;
        let owner = Browser::signed_in(&world, OWNER).await;
        for _ in 0..6 {
            assert_eq!(invite(&world, &owner, FRIEND, "member").await.status, 303);
        }
        let refused = invite(&world, &owner, FRIEND, "member").await;
        assert_eq!(refused.status, 429);
        assert!(refused.text().contains("At most 6 per day are taken of this: invitations to a project."));
    }

    async fn a_letter_to_strangers_holds_no_more_of_a_name_than_a_line(engine: Engine) {
        let world = World::new(engine, "unlimited").await;
        let owner = Browser::signed_in(&world, OWNER).await;
        let settings = format!("/projects/{}/settings", world.owner.project);
        let evil = "<a href=\"http://evil.example\">Win</a> \u{202e}money";
        assert_eq!(owner.post_from(&settings, &format!("{settings}/name"), &[("name", evil)]).await.status, 303);
        invite(&world, &owner, FRIEND, "member").await;
        let link = link_to(&world, FRIEND).await;
        let page = Browser::new(&world).open(&link).await;
        assert!(!page.contains("<a href=\"http://evil"), "{page}");
        let letters = world.outbox().await;
        let letter = letters.iter().find(|letter| letter.contains("/invitations/")).expect("a letter");
        assert!(!letter.contains("<a href=3D\"http://evil") && !letter.contains('\u{202e}'), "{letter}");
        assert!(letter.contains("Subject: You are invited to a project at flatline.test"), "{letter}");
    }
}
