//! stub
use crate::config::Plan;
use crate::time::Time;
pub struct LetterText {
    pub subject: String,
    pub text: String,
    pub html: String,
}
pub struct UnseenSlot {
    pub name: String,
    pub slot_at: Time,
}
pub fn quota_letter(_plan: &Plan, _now: Time) -> LetterText {
    LetterText { subject: String::new(), text: String::new(), html: String::new() }
}
pub fn unseen_letter(_from: Time, _to: Time, _slots: &[UnseenSlot]) -> LetterText {
    LetterText { subject: String::new(), text: String::new(), html: String::new() }
}
