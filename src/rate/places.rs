//! Places: how many of something one subject may hold at once, in this process; a place is given back when it is
//! dropped. For what lasts, such as an open page, where a window over time would say nothing.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The places that are taken, by subject.
#[derive(Clone, Debug, Default)]
pub struct Places(Arc<Mutex<HashMap<String, i64>>>);

/// One place, held until it is dropped.
#[derive(Debug)]
pub struct Place {
    subject: String,
    places: Places,
}

impl Places {
    /// Takes a place, if the subject holds fewer than `most`.
    pub fn take(&self, subject: &str, most: Option<i64>) -> Option<Place> {
        let mut taken = self.lock();
        let held = taken.get(subject).copied().unwrap_or(0);
        if most.is_some_and(|most| held >= most) {
            return None;
        }
        taken.insert(subject.to_owned(), held + 1);
        Some(Place { subject: subject.to_owned(), places: self.clone() })
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, i64>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut taken = self.places.lock();
        if let Some(held) = taken.get_mut(&self.subject) {
            *held -= 1;
            if *held <= 0 {
                taken.remove(&self.subject);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_free_again_when_it_is_dropped() {
        let places = Places::default();
        let held: Vec<Place> = (0..3).filter_map(|_| places.take("one", Some(2))).collect();
        assert_eq!(held.len(), 2);
        assert!(places.take("other", Some(2)).is_some());
        assert!(places.take("one", None).is_some(), "no limit");
        drop(held);
        assert!(places.take("one", Some(1)).is_some());
        assert!(places.lock().is_empty());
    }
}
