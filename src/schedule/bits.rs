//! A set of small numbers, one bit each: the values of one field of a schedule.

/// A set of numbers from 0 to 63.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Bits(pub(super) u64);

impl Bits {
    pub(super) const EMPTY: Self = Self(0);

    pub(super) const fn one(number: u32) -> Self {
        Self(1 << number)
    }

    /// Every number from `low` to `high`, both included.
    pub(super) const fn range(low: u32, high: u32) -> Self {
        Self((u64::MAX >> (63 - high)) & (u64::MAX << low))
    }

    /// `low`, `low + step` and so on, none above `high`.
    pub(super) fn steps(low: u32, high: u32, step: usize) -> Self {
        (low..=high).step_by(step).map(Self::one).collect()
    }

    pub(super) const fn has(self, number: u32) -> bool {
        self.0 >> number & 1 == 1
    }

    /// The lowest member that is not below `number`.
    pub(super) fn from(self, number: u32) -> Option<u32> {
        let rest = self.0 & u64::MAX.checked_shl(number)?;
        (rest != 0).then(|| rest.trailing_zeros())
    }

    pub(super) fn first(self) -> Option<u32> {
        self.from(0)
    }

    pub(super) fn last(self) -> Option<u32> {
        (self.0 != 0).then(|| 63 - self.0.leading_zeros())
    }

    pub(super) const fn count(self) -> u32 {
        self.0.count_ones()
    }

    pub(super) const fn and(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    pub(super) const fn or(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// The members in rising order.
    pub(super) fn members(self) -> impl Iterator<Item = u32> {
        std::iter::successors(self.first(), move |last| self.from(last + 1))
    }
}

impl FromIterator<Bits> for Bits {
    fn from_iter<I: IntoIterator<Item = Bits>>(sets: I) -> Self {
        sets.into_iter().fold(Self::EMPTY, Self::or)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_answers_its_next_member_from_any_number() {
        let quarters = Bits::steps(0, 59, 15);
        assert_eq!(quarters.members().collect::<Vec<_>>(), [0, 15, 30, 45]);
        assert_eq!(quarters.from(16), Some(30));
        assert_eq!(quarters.from(46), None);
        assert_eq!(quarters.from(64), None);
        assert_eq!(Bits::range(0, 63).0, u64::MAX);
        assert_eq!(Bits::range(1, 31).count(), 31);
        assert_eq!(Bits::EMPTY.last(), None);
    }
}
