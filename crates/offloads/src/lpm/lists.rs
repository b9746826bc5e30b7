//! Many short lists of words in one array. Most nodes of a trie have a list of one word, which
//! takes no space in the array.

/// A list. The owner knows its length.
#[derive(Clone, Copy, Default)]
pub(super) struct List {
    /// The word of a list of one word, or the first index of a longer list.
    word: u32,
}

/// The words of all longer lists. Freed runs are kept by length and reused.
#[derive(Default)]
pub(super) struct Lists {
    words: Vec<u32>,
    free: Vec<Vec<u32>>,
}

impl Lists {
    /// Returns the words of a list.
    pub(super) fn words<'a>(&'a self, list: &'a List, count: usize) -> &'a [u32] {
        match count {
            0 => &[],
            1 => std::slice::from_ref(&list.word),
            _ => &self.words[list.word as usize..][..count],
        }
    }

    /// Returns the words of a list for changes.
    pub(super) fn words_mut<'a>(&'a mut self, list: &'a mut List, count: usize) -> &'a mut [u32] {
        match count {
            0 => &mut [],
            1 => std::slice::from_mut(&mut list.word),
            _ => &mut self.words[list.word as usize..][..count],
        }
    }

    /// Inserts a word at index `at` into a list of `count` words.
    pub(super) fn insert(&mut self, list: &mut List, count: usize, at: usize, word: u32) {
        let mut longer = self.take(count + 1);
        for place in 0..=count {
            let word = match place {
                _ if place == at => word,
                _ => self.words(list, count)[place - usize::from(place > at)],
            };
            self.words_mut(&mut longer, count + 1)[place] = word;
        }
        self.give(*list, count);
        *list = longer;
    }

    /// Removes and returns the word at index `at` of a list of `count` words.
    pub(super) fn remove(&mut self, list: &mut List, count: usize, at: usize) -> u32 {
        let removed = self.words(list, count)[at];
        let mut shorter = self.take(count - 1);
        for place in 0..count - 1 {
            let word = self.words(list, count)[place + usize::from(place >= at)];
            self.words_mut(&mut shorter, count - 1)[place] = word;
        }
        self.give(*list, count);
        *list = shorter;
        removed
    }

    /// Allocates a list of `count` words.
    fn take(&mut self, count: usize) -> List {
        if count < 2 {
            return List::default();
        }
        if let Some(word) = self.free.get_mut(count).and_then(Vec::pop) {
            return List { word };
        }
        let word = self.words.len() as u32;
        self.words.resize(self.words.len() + count, 0);
        List { word }
    }

    fn give(&mut self, list: List, count: usize) {
        if count < 2 {
            return;
        }
        if self.free.len() <= count {
            self.free.resize_with(count + 1, Vec::new);
        }
        self.free[count].push(list.word);
    }

    /// Returns the memory in bytes.
    pub(super) fn memory(&self) -> usize {
        let free: usize = self.free.iter().map(|runs| runs.capacity() * 4).sum();
        self.words.capacity() * 4 + free + self.free.capacity() * size_of::<Vec<u32>>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_grow_and_shrink_like_vectors() {
        let (mut lists, mut own, mut plain) =
            (Lists::default(), [List::default(); 3], [const { Vec::new() }; 3]);
        let mut state = 1u32;
        for round in 0..5000u32 {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let (index, draw) = ((state >> 8) as usize % 3, (state >> 16) as usize);
            let (list, expected): (&mut List, &mut Vec<u32>) = (&mut own[index], &mut plain[index]);
            let count = expected.len();
            if count > 0 && draw % 5 < 2 {
                let at = draw / 5 % count;
                assert_eq!(lists.remove(list, count, at), expected.remove(at));
            } else {
                let at = draw / 5 % (count + 1);
                lists.insert(list, count, at, round);
                expected.insert(at, round);
            }
            for (list, expected) in own.iter().zip(&plain) {
                assert_eq!(lists.words(list, expected.len()), expected);
            }
        }
    }

    #[test]
    fn freed_words_are_used_again() {
        let (mut lists, mut list) = (Lists::default(), List::default());
        for _ in 0..1000 {
            (0..20).for_each(|count| lists.insert(&mut list, count, count, 7));
            (0..20).rev().for_each(|count| {
                lists.remove(&mut list, count + 1, 0);
            });
        }
        assert!(lists.words.len() <= (2..=20).sum(), "{}", lists.words.len());
    }
}
