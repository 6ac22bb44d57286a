//! What stands around every page of somebody who is signed in.

use uuid::Uuid;

use super::visitor::{Opened, Visitor};
use crate::accounts::Membership;
use crate::accounts::sessions::SignedIn;
use crate::app::App;

/// The tabs of a project: what they are called, and where they are under the project's address.
const TABS: &[(&str, &str)] = &[
    ("Checks", ""),
    ("Channels", "/channels"),
    ("Badges", "/badges"),
    ("Team", "/team"),
    (SETTINGS, "/settings"),
];
/// The tab of members who may change things.
const SETTINGS: &str = "Settings";

/// Head, menus and foot.
#[derive(Debug)]
pub struct Shell {
    pub email: String,
    pub zone: String,
    /// For every form of the page.
    pub token: String,
    pub projects: Vec<ProjectLink>,
    /// The project that the page is about.
    pub project: Option<Uuid>,
    tab: &'static str,
    /// Whether the member may change things in the project.
    may_change: bool,
    /// Whether letters and alerts only reach a folder.
    pub mail_is_kept: bool,
}

/// An entry of the menu of projects.
#[derive(Debug)]
pub struct ProjectLink {
    pub uuid: Uuid,
    pub name: String,
    pub is_current: bool,
}

/// A tab of the project.
#[derive(Debug)]
pub struct Tab {
    pub name: &'static str,
    pub path: &'static str,
    pub is_current: bool,
}

impl Shell {
    /// Around a page of a project; `tab` is one of [`TABS`].
    pub fn of_project(app: &App, visitor: &Visitor, opened: &Opened, tab: &'static str) -> Self {
        let project = Some(opened.membership.project.uuid);
        Self::new(app, visitor, &opened.signed_in, &opened.memberships, project, tab)
    }

    /// Around a page that belongs to no project.
    pub fn of_account(
        app: &App,
        visitor: &Visitor,
        signed_in: &SignedIn,
        memberships: &[Membership],
    ) -> Self {
        Self::new(app, visitor, signed_in, memberships, None, "")
    }

    fn new(
        app: &App,
        visitor: &Visitor,
        signed_in: &SignedIn,
        memberships: &[Membership],
        project: Option<Uuid>,
        tab: &'static str,
    ) -> Self {
        let link = |one: &Membership| ProjectLink {
            uuid: one.project.uuid,
            name: one.project.name.clone(),
            is_current: Some(one.project.uuid) == project,
        };
        Self {
            email: signed_in.user.email.clone(),
            zone: signed_in.user.zone.clone(),
            token: visitor.form_token(),
            projects: memberships.iter().map(link).collect(),
            project,
            tab,
            may_change: memberships
                .iter()
                .any(|one| Some(one.project.uuid) == project && one.role.may_change()),
            mail_is_kept: app.settings.smtp_url.is_none(),
        }
    }

    pub fn project_name(&self) -> &str {
        self.projects.iter().find(|one| one.is_current).map_or("Projects", |one| &one.name)
    }

    pub fn tabs(&self) -> Vec<Tab> {
        let shown = TABS.iter().filter(|(name, _)| self.may_change || *name != SETTINGS);
        shown.map(|(name, path)| Tab { name, path, is_current: *name == self.tab }).collect()
    }
}
