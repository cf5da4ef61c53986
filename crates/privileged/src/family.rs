//! Of which processes the privileged process hands on the mappings: those its caller had followed, and those that they create.
//!
//! ```text
//!   follow(shell) ── fork ──► make ── fork ──► cc        handed on
//!                       └───► su (setuid) ──► anything   withheld: it has rights that the caller has not
//!   any other process                                    withheld
//! ```
//! The kernel writes a ring for each processor, so a mapping can be read before the creation of its process: one of an unknown process is
//! kept until the next round. After a loss it is not known any more who is who: each member is looked at, and those into which the
//! caller may not look, or that are gone, are no members any more.

use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use rustc_hash::FxHashMap;

use crate::mapping_rings::{RingMapping, RingNews};
use crate::privacy::Privacy;

/// Bytes of the ids that end each record: pid and tid, time.
const TRAILER_BYTES: usize = 16;
/// Where the name begins in the body of a mapping.
const NAME_AT: usize = 64;

/// The processes that a recorder follows.
#[derive(Debug)]
pub(crate) struct Family {
    /// By pid, since when, nanoseconds of the records' clock.
    members: FxHashMap<u32, u64>,
    privacy: Option<Privacy>,
    kept: Vec<(u64, RingNews)>,
    /// Of the records that were read.
    latest: u64,
}

impl Family {
    /// Nobody yet.
    pub(crate) fn of(privacy: Option<Privacy>) -> Family {
        Family { members: FxHashMap::default(), privacy, kept: Vec::new(), latest: 0 }
    }

    /// The caller may look into this process, and follows it. What is not among these news, which are to be selected from later, came
    /// after that.
    pub(crate) fn follow(&mut self, pid: u32, news: &[RingNews]) {
        self.latest = news.iter().filter_map(time_of).fold(self.latest, u64::max);
        self.members.entry(pid).or_insert(self.latest);
    }

    /// What of the news is handed on. `is_last`: there will be no other round.
    pub(crate) fn select(&mut self, fresh: Vec<RingNews>, is_last: bool) -> Vec<RingMapping> {
        self.latest = fresh.iter().filter_map(time_of).fold(self.latest, u64::max);
        let mut news = std::mem::take(&mut self.kept);
        let old = news.len();
        news.extend(fresh.into_iter().filter_map(|news| Some((time_of(&news)?, news))));
        let mut order: Vec<usize> = (0..news.len()).collect();
        order.sort_by_key(|&index| news[index].0);
        let mut news: Vec<_> = news.into_iter().map(Some).collect();
        let mut selected = Vec::new();
        for index in order {
            let Some((time, record)) = news[index].take() else { continue };
            match record {
                RingNews::Fork(body) => self.fork(&body, time),
                RingNews::Mapping(mapping) => match pid_of(&mapping.body) {
                    Some(pid) if self.members.get(&pid).is_some_and(|&since| since <= time) => {
                        selected.extend(self.may_see(pid, &mapping).then_some(mapping));
                    }
                    Some(_) if index >= old && !is_last => self.kept.push((time, RingNews::Mapping(mapping))),
                    _ => {}
                },
            }
        }
        selected
    }

    /// Records were lost, and that somebody gained rights may have been among them. Whoever is a member still, and whose mappings are handed
    /// on, has to be one into which the caller may look.
    pub(crate) fn lose(&mut self, selected: &mut Vec<RingMapping>, may_watch: impl Fn(u32) -> bool) {
        selected.retain(|mapping| pid_of(&mapping.body).is_some_and(&may_watch));
        self.members.retain(|&pid, _| may_watch(pid));
        self.kept.clear();
    }

    fn fork(&mut self, body: &[u8], time: u64) {
        let (Some(child), Some(parent)) = (word_at(body, 0), word_at(body, 4)) else { return };
        if child == parent {
            return;
        }
        if let Some(privacy) = &mut self.privacy {
            privacy.fork(parent, child);
        }
        if self.members.contains_key(&parent) {
            self.members.insert(child, time);
        } else if self.members.get(&child).is_some_and(|&since| since < time) {
            // Another process with the number of one that has ended.
            self.members.remove(&child);
        }
    }

    fn may_see(&mut self, pid: u32, mapping: &RingMapping) -> bool {
        let Some(privacy) = &mut self.privacy else { return true };
        let name = mapping.body.get(NAME_AT..).unwrap_or_default();
        let name = &name[..name.iter().position(|&byte| byte == 0).unwrap_or(name.len())];
        privacy.map(pid, Path::new(std::ffi::OsStr::from_bytes(name)));
        privacy.look_at(pid);
        !privacy.is_private(pid)
    }
}

fn pid_of(body: &[u8]) -> Option<u32> {
    word_at(body, 0)
}

/// The time at the end of a record.
fn time_of(news: &RingNews) -> Option<u64> {
    let body = match news {
        RingNews::Mapping(mapping) => &mapping.body,
        RingNews::Fork(body) => body,
    };
    if body.len() < TRAILER_BYTES {
        return None;
    }
    Some(u64::from_ne_bytes(body[body.len() - 8..].try_into().ok()?))
}

fn word_at(body: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(body.get(at..at + 4)?.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trailer(pid: u32, time: u64) -> Vec<u8> {
        [&pid.to_ne_bytes()[..], &pid.to_ne_bytes(), &time.to_ne_bytes()].concat()
    }

    fn mapping(pid: u32, time: u64, path: &str) -> RingNews {
        let mut body = vec![0; NAME_AT];
        body[..4].copy_from_slice(&pid.to_ne_bytes());
        body.extend(path.bytes().chain([0]));
        body.extend(trailer(pid, time));
        RingNews::Mapping(RingMapping { cpu: 0, misc: 0, body })
    }

    fn fork(parent: u32, child: u32, time: u64) -> RingNews {
        let words = [child, parent, child, parent].map(u32::to_ne_bytes).concat();
        RingNews::Fork([words, time.to_ne_bytes().to_vec(), trailer(parent, time)].concat())
    }

    /// Beyond all that run.
    const FIRST: u32 = 0x4000_0001;

    fn family(privacy: Option<Privacy>) -> Family {
        let mut family = Family::of(privacy);
        family.follow(FIRST, &[]);
        family
    }

    fn pids(selected: &[RingMapping]) -> Vec<u32> {
        selected.iter().map(|mapping| pid_of(&mapping.body).unwrap() - FIRST).collect()
    }

    #[test]
    fn mappings_of_the_followed_and_their_children_are_handed_on() {
        let (child, other) = (FIRST + 1, FIRST + 2);
        let news = vec![
            mapping(FIRST, 1, "/bin/x"),
            mapping(child, 3, "/bin/y"),
            mapping(other, 4, "/bin/z"),
            fork(FIRST, child, 2),
        ];
        let mut family = family(None);
        assert_eq!(pids(&family.select(news, false)), [0, 1]);
        assert_eq!(pids(&family.select(Vec::new(), false)), [0; 0]);
    }

    #[test]
    fn a_mapping_that_is_read_before_its_process_is_created_waits_one_round() {
        let (child, other) = (FIRST + 1, FIRST + 2);
        let mut family = family(None);
        assert_eq!(pids(&family.select(vec![mapping(child, 3, "/bin/y")], false)), [0; 0]);
        let news =
            vec![fork(FIRST, child, 2), fork(FIRST, other, 9), mapping(other, 8, "/bin/of_one_before")];
        assert_eq!(pids(&family.select(news, false)), [1]);
        assert_eq!(
            pids(&family.select(Vec::new(), false)),
            [0; 0],
            "that was another process of the same number"
        );
    }

    #[test]
    fn another_process_with_the_number_of_an_ended_one_is_withheld() {
        let child = FIRST + 1;
        let mut family = family(None);
        // Its own creation is read before, and looked at later.
        let before = fork(7, child, 9);
        family.follow(child, std::slice::from_ref(&before));
        assert_eq!(pids(&family.select(vec![before, mapping(child, 11, "/bin/y")], false)), [1]);
        assert_eq!(
            pids(&family.select(vec![fork(7, child, 12), mapping(child, 13, "/bin/y")], true)),
            [0; 0]
        );
    }

    #[test]
    fn a_child_with_another_user_s_rights_is_withheld_and_so_is_all_below_it() {
        use std::fs;
        use std::os::unix::fs::{MetadataExt, PermissionsExt};
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("su");
        fs::write(&file, "").unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o4755)).unwrap();
        let own = fs::metadata(&file).unwrap();
        let mut family = family(Some(Privacy::of(own.uid() + 1, own.gid())));
        let (su, below, plain) = (FIRST + 1, FIRST + 2, FIRST + 3);
        let news = vec![
            fork(FIRST, su, 1),
            mapping(su, 2, file.to_str().unwrap()),
            mapping(su, 3, "/lib/libc.so.6"),
            fork(su, below, 4),
            mapping(below, 5, "/bin/sh"),
            fork(FIRST, plain, 6),
            mapping(plain, 7, "/bin/sh"),
        ];
        assert_eq!(pids(&family.select(news, false)), [3]);
    }

    #[test]
    fn after_a_loss_only_those_stay_into_which_the_caller_may_look() {
        let child = FIRST + 1;
        let mut family = family(None);
        family.follow(child, &[]);
        // What was lost may tell that the child executed a file with other rights.
        let news = || vec![mapping(FIRST, 1, "/bin/x"), mapping(child, 2, "/lib/libc.so.6")];
        let mut selected = family.select(news(), false);
        family.lose(&mut selected, |pid| pid == FIRST);
        assert_eq!(pids(&selected), [0]);
        assert_eq!(pids(&family.select(news(), true)), [0]);
    }

    #[test]
    fn cut_records_do_no_harm() {
        let whole = [fork(FIRST, FIRST + 1, 1), mapping(FIRST, 2, "/bin/x")];
        for end in 0..64 {
            let cut = whole.iter().map(|news| match news {
                RingNews::Fork(body) => RingNews::Fork(body[..end.min(body.len())].to_vec()),
                RingNews::Mapping(of) => {
                    RingNews::Mapping(RingMapping { body: of.body[..end].to_vec(), ..of.clone() })
                }
            });
            family(None).select(cut.collect(), true);
        }
    }
}
