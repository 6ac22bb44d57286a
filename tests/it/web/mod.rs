//! The pages, on the real stack: who gets in, who sees what, and what strangers can do with them.

mod access;
pub mod browser;
mod check;
mod checks;
mod docs;
mod edit;
mod sign_in;
mod sign_up;
