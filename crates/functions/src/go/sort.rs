//! Go's `sort.Sort`, whose order of equal entries shows in what the functions SDK
//! writes: an insertion sort up to twelve entries, else a quicksort that picks its
//! pivots by the pattern of the input (pdqsort), with a heapsort as its way out.
//! It is not stable, but it is the same for the same input; and it ends, whatever
//! the comparison says.

use std::cmp::Ordering;

const INSERTION: usize = 12;

/// The order of `keys` after Go's sort: the place in the input of each entry.
pub(crate) fn order<K>(keys: &[K], compare: impl Fn(&K, &K) -> Ordering) -> Vec<usize> {
    let mut sort = Sort {
        keys,
        compare,
        order: (0..keys.len()).collect(),
    };
    let limit = usize::BITS - keys.len().leading_zeros();
    sort.pdq(0, keys.len(), limit);
    sort.order
}

/// The items in an order that [`order`] has found.
pub(crate) fn arranged<T>(items: Vec<T>, order: Vec<usize>) -> Vec<T> {
    let mut items: Vec<Option<T>> = items.into_iter().map(Some).collect();
    let taken = order.into_iter().filter_map(|at| items[at].take());
    taken.collect()
}

struct Sort<'a, K, C> {
    keys: &'a [K],
    compare: C,
    order: Vec<usize>,
}

/// What choosing a pivot found out about the input.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Hint {
    Unknown,
    Increasing,
    Decreasing,
}

impl<K, C: Fn(&K, &K) -> Ordering> Sort<'_, K, C> {
    fn less(&self, a: usize, b: usize) -> bool {
        let [a, b] = [a, b].map(|at| &self.keys[self.order[at]]);
        (self.compare)(a, b) == Ordering::Less
    }

    fn swap(&mut self, a: usize, b: usize) {
        self.order.swap(a, b);
    }

    fn insertion(&mut self, a: usize, b: usize) {
        for i in a + 1..b {
            let mut j = i;
            while j > a && self.less(j, j - 1) {
                self.swap(j, j - 1);
                j -= 1;
            }
        }
    }

    fn pdq(&mut self, mut a: usize, mut b: usize, mut limit: u32) {
        let (mut was_balanced, mut was_partitioned) = (true, true);
        loop {
            let length = b - a;
            if length <= INSERTION {
                self.insertion(a, b);
                return;
            }
            if limit == 0 {
                self.heap(a, b);
                return;
            }
            if !was_balanced {
                self.break_patterns(a, b);
                limit -= 1;
            }
            let (mut pivot, mut hint) = self.choose_pivot(a, b);
            if hint == Hint::Decreasing {
                self.reverse(a, b);
                pivot = (b - 1) - (pivot - a);
                hint = Hint::Increasing;
            }
            if was_balanced
                && was_partitioned
                && hint == Hint::Increasing
                && self.partial_insertion(a, b)
            {
                return;
            }
            // Many equal entries: those are put aside at once.
            if a > 0 && !self.less(a - 1, pivot) {
                a = self.partition_equal(a, b, pivot);
                continue;
            }
            let (mid, already) = self.partition(a, b, pivot);
            was_partitioned = already;
            let (left, right) = (mid - a, b - mid);
            let balance = length / 8;
            if left < right {
                was_balanced = left >= balance;
                self.pdq(a, mid, limit);
                a = mid + 1;
            } else {
                was_balanced = right >= balance;
                self.pdq(mid + 1, b, limit);
                b = mid;
            }
        }
    }

    fn partition(&mut self, a: usize, b: usize, pivot: usize) -> (usize, bool) {
        self.swap(a, pivot);
        let (mut i, mut j) = (a + 1, b - 1);
        while i <= j && self.less(i, a) {
            i += 1;
        }
        while i <= j && !self.less(j, a) {
            j -= 1;
        }
        if i > j {
            self.swap(j, a);
            return (j, true);
        }
        self.swap(i, j);
        i += 1;
        j -= 1;
        loop {
            while i <= j && self.less(i, a) {
                i += 1;
            }
            while i <= j && !self.less(j, a) {
                j -= 1;
            }
            if i > j {
                break;
            }
            self.swap(i, j);
            i += 1;
            j -= 1;
        }
        self.swap(j, a);
        (j, false)
    }

    fn partition_equal(&mut self, a: usize, b: usize, pivot: usize) -> usize {
        self.swap(a, pivot);
        let (mut i, mut j) = (a + 1, b - 1);
        loop {
            while i <= j && !self.less(a, i) {
                i += 1;
            }
            while i <= j && self.less(a, j) {
                j -= 1;
            }
            if i > j {
                return i;
            }
            self.swap(i, j);
            i += 1;
            j -= 1;
        }
    }

    fn partial_insertion(&mut self, a: usize, b: usize) -> bool {
        const MOST_STEPS: usize = 5;
        const SHORTEST_SHIFTED: usize = 50;
        let mut i = a + 1;
        for _ in 0..MOST_STEPS {
            while i < b && !self.less(i, i - 1) {
                i += 1;
            }
            if i == b {
                return true;
            }
            if b - a < SHORTEST_SHIFTED {
                return false;
            }
            self.swap(i, i - 1);
            if i - a >= 2 {
                for j in (1..i).rev() {
                    if !self.less(j, j - 1) {
                        break;
                    }
                    self.swap(j, j - 1);
                }
            }
            if b - i >= 2 {
                for j in i + 1..b {
                    if !self.less(j, j - 1) {
                        break;
                    }
                    self.swap(j, j - 1);
                }
            }
        }
        false
    }

    fn break_patterns(&mut self, a: usize, b: usize) {
        let length = b - a;
        if length < 8 {
            return;
        }
        let mut random = length as u64;
        let modulus = length.next_power_of_two() * usize::from(!length.is_power_of_two())
            + 2 * length * usize::from(length.is_power_of_two());
        let middle = a + (length / 4) * 2;
        for i in 0..3 {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            let mut other = usize::try_from(random & (modulus as u64 - 1)).unwrap_or(0);
            if other >= length {
                other -= length;
            }
            self.swap(middle - 1 + i, a + other);
        }
    }

    fn choose_pivot(&self, a: usize, b: usize) -> (usize, Hint) {
        const SHORTEST_NINTHER: usize = 50;
        const MOST_SWAPS: usize = 4 * 3;
        let length = b - a;
        let mut swaps = 0;
        let (mut i, mut j, mut k) = (a + length / 4, a + length / 4 * 2, a + length / 4 * 3);
        if length >= 8 {
            if length >= SHORTEST_NINTHER {
                i = self.median(i - 1, i, i + 1, &mut swaps);
                j = self.median(j - 1, j, j + 1, &mut swaps);
                k = self.median(k - 1, k, k + 1, &mut swaps);
            }
            j = self.median(i, j, k, &mut swaps);
        }
        match swaps {
            0 => (j, Hint::Increasing),
            MOST_SWAPS => (j, Hint::Decreasing),
            _ => (j, Hint::Unknown),
        }
    }

    fn median(&self, mut a: usize, mut b: usize, mut c: usize, swaps: &mut usize) -> usize {
        if self.less(b, a) {
            *swaps += 1;
            (a, b) = (b, a);
        }
        if self.less(c, b) {
            *swaps += 1;
            (b, c) = (c, b);
        }
        let _ = c;
        if self.less(b, a) {
            *swaps += 1;
            b = a;
        }
        b
    }

    fn reverse(&mut self, a: usize, b: usize) {
        self.order[a..b].reverse();
    }

    fn heap(&mut self, first: usize, b: usize) {
        let high = b - first;
        for i in (0..=(high - 1) / 2).rev() {
            self.sift_down(i, high, first);
        }
        for i in (0..high).rev() {
            self.swap(first, first + i);
            self.sift_down(0, i, first);
        }
    }

    fn sift_down(&mut self, low: usize, high: usize, first: usize) {
        let mut root = low;
        loop {
            let mut child = 2 * root + 1;
            if child >= high {
                return;
            }
            if child + 1 < high && self.less(first + child, first + child + 1) {
                child += 1;
            }
            if !self.less(first + root, first + child) {
                return;
            }
            self.swap(first + root, first + child);
            root = child;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_input_comes_out_sorted() {
        let patterns: [fn(usize) -> usize; 6] = [
            |at| at,
            |at| 1000 - at,
            |at| at % 7,
            |_| 1,
            |at| (at * 7919) % 613,
            |at| if at % 2 == 0 { at } else { 1000 - at },
        ];
        for length in [0, 1, 2, 12, 13, 49, 50, 51, 100, 999] {
            for pattern in patterns {
                let keys: Vec<usize> = (0..length).map(pattern).collect();
                let order = order(&keys, usize::cmp);
                assert!(order.is_sorted_by_key(|at| keys[*at]), "{keys:?}");
                let mut places = order;
                places.sort_unstable();
                assert!(places.into_iter().eq(0..length));
            }
        }
    }

    #[test]
    fn up_to_twelve_equal_entries_stay_in_order() {
        assert!(order(&[1; 12], usize::cmp).into_iter().eq(0..12));
    }
}
