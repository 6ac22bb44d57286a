//! A memory of a bounded number of checks: two generations, of which the older is dropped when the younger is full.
//!
//! It is kept in many parts. Each grows and loses a generation at a time of its own, which takes as long as it is large, and
//! pings wait for that.

use std::collections::HashMap;
use std::mem;

use uuid::Uuid;

/// A power of two.
const PARTS: usize = 64;

pub(super) struct Generations<V> {
    /// By the last bits of the uuids, which are chance.
    parts: Vec<Part<V>>,
    /// How many checks a generation of a part holds.
    size: usize,
}

struct Part<V> {
    young: HashMap<Uuid, V>,
    old: HashMap<Uuid, V>,
}

impl<V> Generations<V> {
    /// One that remembers about `size` checks at least, and twice as many at most.
    pub(super) fn of_size(size: usize) -> Self {
        let part = || Part { young: HashMap::new(), old: HashMap::new() };
        Self { parts: (0..PARTS).map(|_| part()).collect(), size: size.div_ceil(PARTS) }
    }

    pub(super) fn get(&self, check: Uuid) -> Option<&V> {
        let Part { young, old } = &self.parts[part_of(check)];
        young.get(&check).or_else(|| old.get(&check))
    }

    /// Keeps what a check's value becomes, in the place of what it was.
    pub(super) fn put(&mut self, check: Uuid, value: V) {
        let Part { young, old } = &mut self.parts[part_of(check)];
        if !young.contains_key(&check) {
            if young.len() >= self.size {
                *old = mem::take(young);
            }
            old.remove(&check);
        }
        young.insert(check, value);
    }

    /// Takes a check's value out.
    pub(super) fn take(&mut self, check: Uuid) -> Option<V> {
        let Part { young, old } = &mut self.parts[part_of(check)];
        young.remove(&check).or_else(|| old.remove(&check))
    }
}

fn part_of(check: Uuid) -> usize {
    usize::from(check.as_bytes()[15]) % PARTS
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(number: usize) -> Uuid {
        Uuid::from_u128(number as u128)
    }

    #[test]
    fn the_oldest_are_forgotten() {
        const SIZE: usize = 10 * PARTS;
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
        let [old, young] = [check(1), check(1 + PARTS)];
        memory.put(old, 1);
        memory.put(young, 2);
        assert_eq!([memory.take(old), memory.take(young), memory.take(check(3))], [Some(1), Some(2), None]);
        assert_eq!((memory.get(old), memory.get(young)), (None, None));
    }
}
