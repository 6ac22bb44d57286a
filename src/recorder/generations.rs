//! A memory of a bounded number of checks: two generations, of which the older is dropped when the younger is full.

use std::collections::HashMap;
use std::mem;

use uuid::Uuid;

pub(super) struct Generations<V> {
    /// How many checks are remembered at least; twice as many at most.
    size: usize,
    young: HashMap<Uuid, V>,
    old: HashMap<Uuid, V>,
}

impl<V> Generations<V> {
    pub(super) fn of_size(size: usize) -> Self {
        Self { size, young: HashMap::new(), old: HashMap::new() }
    }

    pub(super) fn get(&self, check: Uuid) -> Option<&V> {
        self.young.get(&check).or_else(|| self.old.get(&check))
    }

    /// Keeps what a check's value becomes, in the place of what it was.
    pub(super) fn put(&mut self, check: Uuid, value: V) {
        if !self.young.contains_key(&check) {
            if self.young.len() >= self.size {
                self.old = mem::take(&mut self.young);
            }
            self.old.remove(&check);
        }
        self.young.insert(check, value);
    }

    /// Takes a check's value out.
    pub(super) fn take(&mut self, check: Uuid) -> Option<V> {
        self.young.remove(&check).or_else(|| self.old.remove(&check))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(number: usize) -> Uuid {
        Uuid::from_u128(number as u128)
    }

    #[test]
    fn the_oldest_are_forgotten() {
        const SIZE: usize = 100;
        let mut memory = Generations::of_size(SIZE);
        for number in 0..SIZE {
            memory.put(check(number), number);
        }
        memory.put(check(SIZE), SIZE);
        memory.put(check(7), 70);
        assert_eq!(memory.get(check(7)), Some(&70), "it moved to the younger");
        for number in SIZE..3 * SIZE {
            memory.put(check(number), number);
        }
        assert_eq!(memory.get(check(7)), None);
        let kept = (0..3 * SIZE).filter(|number| memory.get(check(*number)).is_some()).count();
        assert!((SIZE..=2 * SIZE).contains(&kept), "{kept}");
    }

    #[test]
    fn what_is_taken_out_is_gone() {
        let mut memory = Generations::of_size(1);
        memory.put(check(1), 1);
        memory.put(check(2), 2);
        assert_eq!(
            [memory.take(check(1)), memory.take(check(2)), memory.take(check(3))],
            [Some(1), Some(2), None]
        );
        assert_eq!((memory.get(check(1)), memory.get(check(2))), (None, None));
    }
}
