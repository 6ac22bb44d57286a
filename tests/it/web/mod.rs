//! The pages, on the real stack: who gets in, who sees what, and what strangers can do with them.

mod access;
mod badges;
pub mod browser;
mod channels;
mod check;
mod checks;
mod docs;
mod edit;
mod email_change;
mod leaving;
mod live;
mod moving;
mod passkey_answers;
pub mod passkeys;
mod projects;
mod second_factor;
mod settings;
pub mod sign_in;
mod sign_up;
mod team;
mod transfer;
mod usage;
mod wall;
mod weight;
